//! `abort`: a person ends the loop as it stands; a partial marker says what was done and what is left.

use super::recording::append;
use crate::{
    cli::AbortArgs,
    context::{Context, now, who_acts},
    domain::{event::Event, status::Moment},
    error::Error,
    exit_code::ExitCode,
    git::{loops, marker_file, repo::Repo},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: AbortArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    let who = who_acts(&repo, "abort")?;
    if turn.state.is_ended() {
        return Err(Error::refused(format!("loop {} has ended already", turn.state.id), "git nav-loop list"));
    }
    context.say(&end(context, &turn, &args.reason, who)?);
    Ok(ExitCode::Done)
}

/// Ends the loop; the path of its partial marker.
pub(super) fn end(context: &Context, turn: &Turn<'_>, reason: &str, who: &str) -> Result<String, Error> {
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    let (path, blob) = marker_file::write(turn.repo, &status, &status.title, &now(), true)?;
    let reason: String = reason.chars().take(500).collect();
    let marker = Event::MarkerCreated { path: path.clone(), blob, partial: true };
    append(context, turn, "abort", vec![marker, Event::LoopAborted { reason, who: who.to_owned() }])?;
    loops::unregister(turn.repo, &turn.state.id);
    Ok(path)
}
