//! `complete`: the exit signal, the `LOOP COMPLETE` block and `loop_completed`, when the gate is open.

use super::recording::{append, catch_up};
use crate::{
    context::Context,
    domain::{
        event::Event,
        state::LoopStatus,
        status::{Moment, Status},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{loops, repo::Repo},
    render::{json, text},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    catch_up(&mut turn, "complete")?;
    let status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
    match &turn.state.status {
        LoopStatus::Aborted(_) => {
            let message = format!("the newest loop on this branch was aborted: {}", turn.state.id);
            return Err(Error::new(ErrorKind::NoLoop, message, "git nav-loop start \"what is to be done\""));
        }
        LoopStatus::Completed(_) => return Ok(show(context, &status, ExitCode::Done)),
        _ if !status.gate.is_open() => {
            let code = ExitCode::of_gate(&status.gate);
            if context.json {
                context.say(&json::status(&status, code).to_string());
            } else {
                context.say(&context.language.verdict_line(&status));
            }
            return Ok(code);
        }
        _ => {}
    }
    let mut events = Vec::new();
    if !turn.state.gate_opened {
        let (met, total) = (status.gate.met, status.gate.total);
        events.push(Event::GateOpened { head: status.head.clone(), met, total });
    }
    events.push(Event::LoopCompleted { basis: "verified".to_owned() });
    append(context, &turn, "complete", events)?;
    loops::unregister(&repo, &turn.state.id);
    Ok(show(context, &status, ExitCode::Done))
}

fn show(context: &Context, status: &Status, code: ExitCode) -> ExitCode {
    if context.json {
        context.say(&json::status(status, code).to_string());
    } else {
        context.print(text::exit_signal_block());
        context.print("\n");
        context.print(&text::complete_block(context.language, status));
    }
    code
}
