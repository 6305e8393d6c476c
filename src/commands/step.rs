//! `step`: ends one iteration by hand, prints the block, and completes or pauses the loop where that is due.

use super::recording::{append_beside, catch_up};
use crate::{
    completion::complete,
    context::Context,
    domain::{
        event::{Driver, Event},
        iteration,
        state::LoopStatus,
        status::{Moment, Status, view},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::repo::Repo,
    render::{json, text},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    if turn.state.is_aborted() {
        let message = format!("the newest loop on this branch was aborted: {}", turn.state.id);
        return Err(Error::new(ErrorKind::NoLoop, message, "git nav-loop start \"what is to be done\""));
    }
    catch_up(&mut turn, "step")?;
    // A paused or completed loop ends no iteration: it is judged as the gate judges it.
    if turn.state.status != LoopStatus::Running {
        let status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
        return Ok(show(context, &turn, &status));
    }
    let facts = turn.observe(Look::WorkTree).map_err(Error::as_cannot_judge)?;
    let mut status = view(&facts, &turn.state, Moment::IterationEnd);
    let mut events = Vec::new();
    if turn.state.driver != Driver::Step {
        events.push(Event::DriverChanged { driver: Driver::Step });
    }
    events.extend(iteration::end(&status, &turn.state, Driver::Step));
    append_beside(context, &turn, &facts, "step", events)?;
    turn.refresh()?;
    if let LoopStatus::Paused(reason) = turn.state.status {
        status.gate.pause = Some(reason);
        status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
    }
    let code = show(context, &turn, &status);
    if status.gate.is_open() {
        if !context.json {
            context.print(text::exit_signal_block());
            context.print("\n");
            context.print(&text::complete_block(context.language, &status));
        }
        let completed = complete(&mut turn, &status, "step", false)?;
        if !context.json {
            context.print(&text::protocol(context.language, &completed.steps, &completed.left));
        }
    }
    Ok(code)
}

fn show(context: &Context, turn: &Turn<'_>, status: &Status) -> ExitCode {
    let code = ExitCode::of_gate(&status.gate);
    if context.json {
        context.say(&json::status(status, code).to_string());
        return code;
    }
    let language = context.language;
    if status.show_block {
        context.print(&text::status_block(language, status));
        context.say_verdict(&language.verdict_line(status), status.gate.verdict);
    } else {
        context.print(&text::one_line(language, status));
    }
    if let LoopStatus::Paused(reason) = turn.state.status {
        context.print(&text::pause_block(language, status, reason));
    }
    code
}
