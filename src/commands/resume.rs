//! `resume`: a person decides how a paused loop goes on (spec 1.9).

use super::recording::append;
use crate::{
    cli::{Choice, ResumeArgs},
    config,
    context::{COMMAND_PATIENCE, Context, who_acts, writer},
    domain::{
        event::{Event, PauseReason},
        state::{LoopState, LoopStatus},
        status::Moment,
    },
    error::Error,
    exit_code::ExitCode,
    git::{
        journal::Journal,
        loops::{self, LoopPointer},
        repair,
        repo::Repo,
    },
    render::text,
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context, args: ResumeArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let who = who_acts(&repo, "resume")?.to_owned();
    let repo = match &args.marker {
        Some(marker) => {
            point_at(&repo, marker)?;
            Repo::discover()?
        }
        None => repo,
    };
    let mut turn = Turn::need(&repo)?;
    let Some(choice) = args.choice else {
        let status = turn.status(Look::WorkTree, Moment::Between)?;
        context.print(&text::one_line(context.language, &status));
        let hint = "git nav-loop resume continue | clarify \"TEXT\" | extend [N] | complete | reconfigure";
        return if args.marker.is_some() {
            Ok(ExitCode::Done)
        } else {
            Err(Error::usage("resume needs a choice", hint))
        };
    };
    decide(context, &mut turn, choice, &who)?;
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    if turn.state.is_ended() {
        context.print(&text::complete_block(context.language, &status));
    } else {
        context.print(&text::one_line(context.language, &status));
    }
    Ok(ExitCode::Done)
}

/// Records how `who` lets the loop go on, or end.
pub(super) fn decide(context: &Context, turn: &mut Turn<'_>, choice: Choice, who: &str) -> Result<(), Error> {
    if turn.state.is_ended() {
        return Err(Error::refused(format!("loop {} has ended", turn.state.id), "git nav-loop start"));
    }
    let resumed = |choice: &str, text_blob, n| Event::LoopResumed {
        choice: choice.to_owned(),
        text_blob,
        n,
        who: who.to_owned(),
    };
    let events = match choice {
        Choice::Reconfigure => {
            let config = Box::new(config::find(turn.repo, config::Flags::new())?.settings);
            vec![Event::ConfigChanged { config }]
        }
        Choice::Complete => vec![Event::LoopCompleted { basis: "accepted".to_owned() }],
        choice => {
            let reason = paused(turn)?;
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
    append(context, turn, "resume", events)?;
    turn.refresh()?;
    if turn.state.is_ended() {
        loops::unregister(turn.repo, &turn.state.id);
    }
    Ok(())
}

/// Points this branch at the loop that a marker names.
fn point_at(repo: &Repo, marker: &std::path::Path) -> Result<(), Error> {
    let shown = marker.display();
    let named = repair::loop_of_marker(repo, marker)?;
    let id = named.ok_or_else(|| Error::refused(format!("{shown} names no loop"), "a marker has a line `Loop: ID`"))?;
    let anchor = loops::anchor_of(repo, &id)?;
    let hint = "git nav-loop adopt LOOP takes over a loop of another clone";
    let anchor = anchor.ok_or_else(|| Error::refused(format!("loop {id} is not this clone's"), hint))?;
    let records = Journal::new(repo).read(&anchor)?.records;
    let state = LoopState::fold(records, &id).ok_or_else(|| Error::refused(format!("no journal of {id}"), hint))?;
    if state.is_ended() {
        return Err(Error::refused(format!("loop {id} has ended"), "git nav-loop start"));
    }
    let branch = loops::branch_here(repo)?;
    let pointer = LoopPointer { id, anchor, branch: branch.clone() };
    loops::register(repo, &pointer)?;
    let Some(branch) = branch.filter(|b| state.branch.as_ref() != Some(b)) else { return Ok(()) };
    let turn = Turn::of(repo, pointer, state);
    let status = turn.status(Look::HeadOnly, Moment::Between)?;
    let entered = Event::BranchEntered {
        branch,
        head: status.head.clone(),
        met: status.indicators.letters(),
        phase: status.phase,
        verdict: status.gate.verdict,
    };
    turn.journal.append(&writer("resume", COMMAND_PATIENCE), vec![turn.draft(entered)])?;
    Ok(())
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
