//! `test`: runs a test command in the work tree and records for which code it ended how (spec 1.4).

use std::time::Duration;

use super::recording::append;
use crate::{
    agent::process::{Ending, Ran},
    cli::TestArgs,
    config::parse_duration,
    context::Context,
    domain::{
        event::Event,
        settings::CommandSpec,
        test_run::{TestRun, TestVerdict},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{repo::Repo, work_tree::Unfaithful},
    testing::{self, Manner},
    turn::Turn,
};

pub(super) fn run(context: &Context, args: TestArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    if turn.state.is_aborted() {
        return Err(Error::refused(format!("loop {} was aborted", turn.state.id), "git nav-loop start"));
    }
    let manner = Manner { limit: limit(&turn, &args)?, clean: args.clean, wait: args.wait };
    let command = command(&turn, &args)?;
    match testing::run(&turn, &command, manner)? {
        Ok((run, ran)) => conclude(context, &mut turn, run, &ran),
        Err(Unfaithful(why)) => {
            let what = format!("a run of `{command}` is no evidence: {why}");
            let event = Event::EvaluationFailed { what: what.chars().take(500).collect() };
            append(context, &turn, "test", vec![event])?;
            Err(Error::new(ErrorKind::CannotJudge, what, "mend that, or use git nav-loop test --clean"))
        }
    }
}

fn limit(turn: &Turn<'_>, args: &TestArgs) -> Result<Duration, Error> {
    let seconds = match &args.timeout {
        None => turn.state.settings.test_timeout,
        Some(typed) => parse_duration(typed)
            .filter(|s| *s > 0)
            .ok_or_else(|| Error::usage(format!("--timeout {typed:?} is no time"), "write seconds, or 90s, 15m, 2h"))?,
    };
    Ok(Duration::from_secs(seconds))
}

/// What was typed, or the pinned command; typed words that are the pinned command run it in its own form.
fn command(turn: &Turn<'_>, args: &TestArgs) -> Result<CommandSpec, Error> {
    let pinned = turn.state.pinned_command();
    if args.command.is_empty() {
        let none = || Error::usage("this loop has no test command yet", "git nav-loop test -- COMMAND");
        return pinned.cloned().ok_or_else(none);
    }
    match pinned {
        Some(pinned) if pinned.is_typed_as(&args.command) => Ok(pinned.clone()),
        _ => Ok(CommandSpec::Argv(args.command.clone())),
    }
}

fn conclude(context: &Context, turn: &mut Turn<'_>, run: TestRun, ran: &Ran) -> Result<ExitCode, Error> {
    let (verdict, why, is_pinned, command) = (run.verdict, run.why.clone(), run.pinned, run.command.to_string());
    append(context, turn, "test", vec![Event::TestsRan(Box::new(run))])?;
    turn.refresh()?;
    if !is_pinned && let Some(pinned) = turn.state.pinned_command() {
        context.warn(&format!("`{command}` is not this loop's test command, `{pinned}`: its pass is no evidence"));
    }
    if ran.ending == Ending::Interrupted {
        return Ok(ExitCode::Interrupted);
    }
    match verdict {
        TestVerdict::Pass => Ok(ExitCode::Done),
        TestVerdict::Fail => Ok(ExitCode::Closed),
        TestVerdict::Error => {
            context.warn(&format!("`{command}`: {}; this is neither pass nor fail", why.unwrap_or_default()));
            Ok(ExitCode::CannotJudge)
        }
    }
}
