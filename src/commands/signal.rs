//! `signal`: somebody's explicit word. It asks for exit, vetoes, or gives up; it is never evidence.

use super::recording::append_beside;
use crate::{
    cli::{SignalArgs, SignalWord},
    context::Context,
    domain::{
        event::{Event, PauseReason, SignalGiven, SignalKind},
        evidence::sha256_hex,
        state::LoopStatus,
    },
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    turn::{Look, Turn},
};

const REASON_LIMIT: usize = 500;

pub(super) fn run(context: &Context, args: SignalArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    refuse_aborted(&turn)?;
    let (kind, reason, nonce) = match args.word {
        SignalWord::Exit { reason, nonce } => (SignalKind::Exit, reason, nonce),
        SignalWord::False { reason, nonce } => (SignalKind::False, reason, nonce),
        SignalWord::Fail { reason, nonce } => (SignalKind::Failed, reason, nonce),
    };
    check_nonce(&turn, nonce.as_deref())?;
    let facts = turn.observe(Look::HeadOnly)?;
    let (head, code) = (facts.head.clone(), facts.code.clone());
    let reason: String = reason.chars().take(REASON_LIMIT).collect();
    let iteration = turn.state.shown_iteration();
    let given = SignalGiven { kind, dialect: "command".to_owned(), reason: reason.clone(), iteration, head, code };
    let mut events = vec![Event::SignalGiven(given)];
    if kind == SignalKind::Failed && turn.state.status == LoopStatus::Running {
        events.push(Event::LoopPaused { reason: PauseReason::AgentBlocked, why: reason });
    }
    append_beside(context, &turn, &facts, "signal", events)?;
    Ok(ExitCode::Done)
}

fn refuse_aborted(turn: &Turn<'_>) -> Result<(), Error> {
    if turn.state.is_aborted() {
        let message = format!("the newest loop on this branch is {}: {}", turn.state.status.name(), turn.state.id);
        return Err(Error::refused(message, "git nav-loop start \"what is to be done\""));
    }
    Ok(())
}

fn check_nonce(turn: &Turn<'_>, given: Option<&str>) -> Result<(), Error> {
    match &turn.state.started.nonce_sha {
        Some(expected) if given.map(sha256_hex).as_ref() != Some(expected) => {
            Err(Error::refused("the signal does not carry this loop's nonce", "--nonce WORD, as start printed it"))
        }
        _ => Ok(()),
    }
}
