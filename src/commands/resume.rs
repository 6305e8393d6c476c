//! `resume`: a person decides how a paused loop goes on (spec 1.9).

use super::recording::append;
use crate::{
    cli::{Choice, ResumeArgs},
    config,
    context::{COMMAND_PATIENCE, Context, who_acts, writer},
    domain::{
        event::{Event, PauseReason},
        state::LoopStatus,
        status::Moment,
    },
    error::Error,
    exit_code::ExitCode,
    git::{loops, repo::Repo},
    render::text,
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: ResumeArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    let who = who_acts(&repo, "resume")?.to_owned();
    if turn.state.is_ended() {
        return Err(Error::refused(format!("loop {} has ended", turn.state.id), "git nav-loop start"));
    }
    let resumed = |choice: &str, text_blob, n| Event::LoopResumed { choice: choice.to_owned(), text_blob, n, who };
    let events = match args.choice {
        Choice::Reconfigure => {
            let config = Box::new(config::find(&repo, config::Flags::new())?.settings);
            vec![Event::ConfigChanged { config }]
        }
        Choice::Complete => vec![Event::LoopCompleted { basis: "accepted".to_owned() }],
        choice => {
            let reason = paused(&turn)?;
            match choice {
                Choice::Continue => {
                    refuse_limit(reason)?;
                    vec![resumed("continue", None, None)]
                }
                Choice::Clarify { text } => {
                    refuse_limit(reason)?;
                    let blob = turn.journal.keep_text(&writer("resume", COMMAND_PATIENCE), text.as_bytes())?;
                    vec![resumed("clarify", Some(blob), None)]
                }
                Choice::Extend { n } => vec![resumed("extend", None, Some(n))],
                Choice::Complete | Choice::Reconfigure => Vec::new(),
            }
        }
    };
    append(context, &turn, "resume", events)?;
    turn.refresh()?;
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    if turn.state.is_ended() {
        loops::unregister(&repo, &turn.state.id);
        context.print(&text::complete_block(context.language, &status));
    } else {
        context.print(&text::one_line(context.language, &status));
    }
    Ok(ExitCode::Done)
}

fn paused(turn: &Turn<'_>) -> Result<PauseReason, Error> {
    match turn.state.status {
        LoopStatus::Paused(reason) => Ok(reason),
        _ => Err(Error::refused(format!("loop {} is not paused", turn.state.id), "git nav-loop status")),
    }
}

fn refuse_limit(reason: PauseReason) -> Result<(), Error> {
    if matches!(reason, PauseReason::MaxIterations | PauseReason::Limit) {
        let message = "the loop is paused by its limit of iterations, which continue and clarify do not lift";
        return Err(Error::refused(message, "git nav-loop resume extend [N] | resume complete | abort"));
    }
    Ok(())
}
