//! `mark`: writes a completion marker into the work tree and records it.

use super::recording::append;
use crate::{
    cli::MarkArgs,
    context::{Context, now},
    domain::{event::Event, evidence::ticket_of, status::Moment},
    error::Error,
    exit_code::ExitCode,
    git::{marker_file, repo::Repo},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: MarkArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    if turn.state.is_aborted() {
        return Err(Error::refused(format!("loop {} was aborted", turn.state.id), "git nav-loop start"));
    }
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    let ticket = ticket_of(&turn.state).map(|t| t.to_string());
    let name = args.name.or(ticket).unwrap_or_else(|| status.title.clone());
    let (path, blob) = marker_file::write(&repo, &status, &name, &now(), false)?;
    append(context, &turn, "mark", vec![Event::MarkerCreated { path: path.clone(), blob, partial: false }])?;
    context.say(&path);
    Ok(ExitCode::Done)
}
