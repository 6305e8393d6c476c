//! The driver of a set (spec 2.4): read the journal anew, goal, halts, decision, one step, transition; and again.
//!
//! In: a set whose lease is held. Out: how it ended. Nothing is decided from memory.

use crate::{
    agent::process::is_interrupted,
    context::Context,
    domain::{
        event::{Event, TaskMoved},
        task_set::{
            decision::{Skill, Step, decide},
            halt::{HaltReason, halts},
            state::SetStatus,
            task::{Entry, Outcome, Ran, TaskState, Verified},
        },
    },
    error::{Error, ErrorKind},
    render::{task_set as words, visible::visible},
    task_set::{
        finish,
        steps::{self, Tools},
        store::Store,
    },
};

/// Drives until the goal is reached or something halts the set.
pub fn drive(store: &mut Store<'_>, tools: &Tools<'_>) -> Result<(), Error> {
    loop {
        store.refresh()?;
        store.mirror()?;
        if store.set.status != SetStatus::Running {
            return Ok(());
        }
        if is_interrupted() {
            store.halt(HaltReason::Interrupted, Vec::new(), None)?;
            return Err(steps::interrupted());
        }
        look_for_edits(store)?;
        if let Some(any_done) = store.set.goal() {
            return end(store, tools.context, any_done);
        }
        let found = halts(&store.set);
        if let Some((reason, key)) = found.first().cloned() {
            let also = found.iter().skip(1).map(|(reason, _)| *reason).collect();
            return store.halt(reason, also, key);
        }
        let Some(step) = decide(&store.set) else {
            return store.halt(HaltReason::ProtocolGap, Vec::new(), None);
        };
        match take(store, &step, tools) {
            Ok(()) => {}
            Err(e) if e.kind == ErrorKind::Interrupted || is_interrupted() => {
                let key = store.set.plan.tasks[step.at].task_key.clone();
                store.halt(HaltReason::Interrupted, Vec::new(), Some(key))?;
                return Err(steps::interrupted());
            }
            Err(e) => {
                let key = store.set.plan.tasks[step.at].task_key.clone();
                store.halt(HaltReason::Blocked, Vec::new(), Some(key))?;
                return Err(e);
            }
        }
    }
}

fn end(store: &mut Store<'_>, context: &Context, any_done: bool) -> Result<(), Error> {
    if !any_done {
        return store.append(vec![Event::SetCancelled { who: "nav-loop".to_owned() }]);
    }
    for path in finish::finish(store.repo, &store.set)? {
        context.say(&path);
    }
    store.append(vec![Event::SetCompleted {}])
}

/// A document that was edited after its approval asks for a new one, task by task.
fn look_for_edits(store: &mut Store<'_>) -> Result<(), Error> {
    let Some(revision) = steps::revision_now(store.repo, &store.set)? else { return Ok(()) };
    let mut events = Vec::new();
    for (task, state) in store.set.each() {
        if state.spec_revision != revision && !state.is_over() {
            let state = TaskState { spec_revision: revision.clone(), ..state.clone() };
            events.push(decided(&task.task_key, "spec_revision_changed", "nav-loop", state));
        }
    }
    if events.is_empty() { Ok(()) } else { store.append(events) }
}

/// What was decided about a task, as an event.
pub fn decided(key: &str, what: &str, who: &str, state: TaskState) -> Event {
    let (task_key, what, who) = (key.to_owned(), what.to_owned(), who.to_owned());
    Event::TaskDecided(Box::new(crate::domain::event::TaskDecided { task_key, what, who, state }))
}

/// Takes one step and records its transition.
pub fn take(store: &mut Store<'_>, step: &Step, tools: &Tools<'_>) -> Result<(), Error> {
    let task = store.set.plan.tasks[step.at].clone();
    let label = store.set.plan.label(&task.task_key);
    let before = store.set.tasks[step.at].clone();
    let language = tools.context.language;
    tools.context.say(&words::step_line(language, step.skill, &label, &visible(&task.title), before.attempt_count));
    let (outcome, state) = match step.skill {
        Skill::Run => {
            let ran = steps::run(store.repo, &store.set, step.at, tools)?;
            let outcome = match &ran {
                Ran::Completed => "run_completed",
                Ran::CommitRefused(_) => "run_commit_failed",
                Ran::AgentBlocked(_) => "run_blocked",
                Ran::Preflight(_) => "checkup_preflight_blocked",
            };
            (outcome, before.after_run(ran))
        }
        Skill::Verify => {
            let verified = steps::verify(store.repo, &store.set, step.at, tools)?;
            let after = before.after_verify(verified.clone());
            (verify_outcome(&verified, &after), after)
        }
        Skill::Checkup => {
            let (code_ref, basis, said) = steps::checkup(store.repo, &store.set, step.at)?;
            said.iter().for_each(|line| tools.context.warn(line));
            let outcome = if basis.is_some() { "checkup_aggregate_recorded" } else { "checkup_done" };
            (outcome, before.after_checkup(&code_ref, basis))
        }
    };
    tools.context.say(&words::outcome_line(language, outcome, &state));
    let moved = TaskMoved {
        n: store.set.used() + 1,
        task_key: task.task_key,
        skill: step.skill.name().to_owned(),
        outcome: outcome.to_owned(),
        state,
    };
    store.append(vec![Event::TaskMoved(Box::new(moved))])
}

fn verify_outcome(verified: &Verified, after: &TaskState) -> &'static str {
    match verified {
        Verified::PublicationFailed { .. } => "verify_publication_failed",
        _ if after.workflow_entry_state == Entry::PendingAcceptance => "verify_pending_acceptance",
        _ => match after.pass_fail_outcome {
            Some(Outcome::FailTerminal) => "verify_failed_terminal",
            Some(Outcome::FailRetryable) => "verify_failed_retryable",
            _ => "verify_passed",
        },
    }
}
