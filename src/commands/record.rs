//! `record`: an indicator that git cannot show by itself. Only `code_simplified` is one.

use super::recording::append;
use crate::{
    cli::RecordArgs,
    context::Context,
    domain::{event::Event, indicator::Indicator},
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    turn::Turn,
};

pub(super) fn run(context: &Context, args: &RecordArgs) -> Result<ExitCode, Error> {
    let right = match Indicator::of_name(&args.indicator) {
        Some(Indicator::CodeSimplified) => None,
        Some(Indicator::CodeCommitted) => Some("git commit"),
        Some(Indicator::TestsPassing) => Some("git nav-loop test"),
        Some(Indicator::DocsUpdated) => Some("commit a change of the documentation"),
        Some(Indicator::TicketClosed) => Some("a commit with `Closes #N`"),
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
    let mut turn = Turn::need(&repo)?;
    if turn.state.is_aborted() {
        return Err(Error::refused(format!("loop {} was aborted", turn.state.id), "git nav-loop start"));
    }
    if turn.own_commits_touching_code()? < 2 {
        let message = "code_simplified needs a commit that touches code after the first one that does";
        return Err(Error::refused(message, "commit the simplification first"));
    }
    let (head, code) = turn.code_at_head()?;
    let event = Event::IndicatorRecorded { name: args.indicator.clone(), code, head };
    append(context, &mut turn, "record", vec![event])?;
    Ok(ExitCode::Done)
}
