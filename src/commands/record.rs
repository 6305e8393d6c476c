//! `record`: an indicator that git cannot show by itself. Only `code_simplified` is one.

use super::recording::append_beside;
use crate::{
    cli::RecordArgs,
    context::Context,
    domain::{event::Event, indicator::Indicator},
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: &RecordArgs) -> Result<ExitCode, Error> {
    let right = match Indicator::of_name(&args.indicator) {
        Some(Indicator::CodeSimplified) => None,
        Some(Indicator::CodeCommitted) => Some("git commit"),
        Some(Indicator::TestsPassing) => Some("git nav-loop test"),
        Some(Indicator::DocsUpdated) => Some("commit a change of the documentation"),
        Some(Indicator::TicketClosed) => Some("a commit with `Closes #N`, or git nav-loop ticket close"),
        Some(Indicator::MarkerCreated) => Some("git nav-loop mark"),
        None => Some("git nav-loop record code_simplified"),
    };
    if let Some(right) = right {
        return Err(Error::usage(
            format!("{:?} cannot be recorded by hand", args.indicator),
            format!("instead: {right}"),
        ));
    }
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    if turn.state.is_aborted() {
        return Err(Error::refused(format!("loop {} was aborted", turn.state.id), "git nav-loop start"));
    }
    if turn.own_commits_touching_code()? < 2 {
        let message = "code_simplified needs a commit that touches code after the first one that does";
        return Err(Error::refused(message, "commit the simplification first"));
    }
    let facts = turn.observe(Look::HeadOnly)?;
    let (head, code) = (facts.head.clone(), facts.code.clone());
    let event = Event::IndicatorRecorded { name: args.indicator.clone(), code, head };
    append_beside(context, &turn, &facts, "record", vec![event])?;
    Ok(ExitCode::Done)
}
