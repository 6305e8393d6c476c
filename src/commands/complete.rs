//! `complete`: the exit signal, the `LOOP COMPLETE` block and the completion protocol, when the gate is open.

use super::recording::catch_up;
use crate::{
    cli::CompleteArgs,
    completion::{Completed, LEFT, complete, newest_of_each},
    context::Context,
    domain::{
        state::LoopStatus,
        status::{Moment, Status},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::repo::Repo,
    render::{json, text},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: &CompleteArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    catch_up(&mut turn, "complete")?;
    let status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
    let is_left = turn.state.steps.iter().any(|s| s.why == LEFT);
    match &turn.state.status {
        LoopStatus::Aborted(_) => {
            let message = format!("the newest loop on this branch was aborted: {}", turn.state.id);
            return Err(Error::new(ErrorKind::NoLoop, message, "git nav-loop start \"what is to be done\""));
        }
        LoopStatus::Completed(_) if !is_left => {
            announce(context, &status);
            let steps = newest_of_each(&turn.state.steps);
            conclude(context, &status, &Completed { steps, left: Vec::new() });
            return Ok(ExitCode::Done);
        }
        LoopStatus::Completed(_) => {}
        _ if !status.gate.is_open() => {
            let code = ExitCode::of_gate(&status.gate);
            if context.json {
                context.say(&json::status(&status, code).to_string());
            } else {
                context.say_verdict(&context.language.verdict_line(&status), status.gate.verdict);
            }
            return Ok(code);
        }
        _ => {}
    }
    announce(context, &status);
    let completed = complete(&mut turn, &status, "complete", args.commit)?;
    conclude(context, &status, &completed);
    Ok(ExitCode::Done)
}

/// The exit signal and the block stand before the protocol.
fn announce(context: &Context, status: &Status) {
    if !context.json {
        context.print(text::exit_signal_block());
        context.print("\n");
        context.print(&text::complete_block(context.language, status));
    }
}

fn conclude(context: &Context, status: &Status, completed: &Completed) {
    if context.json {
        return context.say(&json::completed(status, &completed.steps, &completed.left).to_string());
    }
    context.print(&text::protocol(context.language, &completed.steps, &completed.left));
}
