//! `task run|verify|checkup KEY` by hand, and a person's word on what no check can prove (spec 2.3, 2.7).

use super::{agent, place};
use crate::{
    cli::task::StepArgs,
    context::{Context, set_mark, who_acts},
    domain::task_set::{
        decision::{Skill, Step},
        plan::Shape,
        state::SetStatus,
        task::{Entry, Outcome, Stage, TaskState},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::repo::Repo,
    render::task_set as words,
    task_set::{
        drive::{decided, take},
        lease::{self, Worth},
        steps::Tools,
        store::Store,
    },
};

pub(super) fn run(context: &Context, args: &StepArgs, skill: Skill) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut store = Store::need(&repo)?;
    let is_child = set_mark().as_deref() == Some(&store.set.id);
    if !is_child {
        refuse_lease(&repo, &store)?;
    }
    let at = place(&store, &args.key)?;
    refuse_stage(&store, at, skill)?;
    let (spec, flags) = agent(&repo, &args.drive, skill == Skill::Run)?;
    if store.set.tasks[at].workflow_entry_state == Entry::Blocked {
        let state = store.set.tasks[at].clone().continued();
        store.append(vec![decided(&args.key, "task_continued", "stepwise", state)])?;
    }
    let quiet = Context { silent: is_child, ..*context };
    take(&mut store, &Step { at, skill }, &Tools { context: &quiet, spec: &spec, flags: &flags })?;
    Ok(code(&store.set.tasks[at]))
}

/// Anyone but the holder's own child is refused under a live lease, and told of a stale one.
fn refuse_lease(repo: &Repo, store: &Store<'_>) -> Result<(), Error> {
    match lease::holder(repo) {
        Some((known, Worth::Live)) => {
            let who = known.map_or_else(String::new, |l| format!(": loop {}, process {}", l.loop_id, l.holder_pid));
            Err(Error::new(ErrorKind::Held, format!("the lease is held{who}"), "wait for it, or end that driver"))
        }
        Some((_, Worth::Stale(why))) => {
            let hint = format!("git nav-loop task resume {}", store.set.id);
            Err(Error::new(ErrorKind::Held, format!("stale loop lease detected: {why}"), hint))
        }
        None if store.set.status == SetStatus::Running => {
            let hint = format!("git nav-loop task resume {}", store.set.id);
            Err(Error::new(ErrorKind::Held, "stale loop lease detected: its mirror is gone", hint))
        }
        None => Ok(()),
    }
}

fn refuse_stage(store: &Store<'_>, at: usize, skill: Skill) -> Result<(), Error> {
    let (task, state) = (&store.set.plan.tasks[at], &store.set.tasks[at]);
    let key = &task.task_key;
    let refused = |message: String, hint: String| Err(Error::refused(message, hint));
    if matches!(store.set.status, SetStatus::Completed | SetStatus::Cancelled) || state.is_over() {
        return refused(format!("task {key} is over"), "git nav-loop task list".to_owned());
    }
    if state.workflow_entry_state == Entry::PendingAcceptance {
        return Err(Error::new(
            ErrorKind::NeedsPerson,
            format!("task {key} waits for a person"),
            format!("git nav-loop task accept {key} | reject {key} \"…\""),
        ));
    }
    if state.pass_fail_outcome == Some(Outcome::FailTerminal) {
        let hint = format!("git nav-loop task resume {} skip {key}", store.set.id);
        return Err(Error::new(ErrorKind::NeedsPerson, format!("task {key} failed for the last time"), hint));
    }
    let next = match (task.shape, state.next_stage) {
        (Shape::Composite, _) => Skill::Checkup,
        (_, Stage::Verify) => Skill::Verify,
        (_, Stage::Checkup) => Skill::Checkup,
        _ => Skill::Run,
    };
    if next != skill {
        return refused(
            format!("task {key} is next to {}", next.name()),
            format!("git nav-loop task {} {key}", next.name()),
        );
    }
    if skill != Skill::Verify && !store.set.is_ready(at) {
        return refused(format!("task {key} waits for others"), "git nav-loop task graph".to_owned());
    }
    if state.spec_revision != state.approved_revision {
        let hint = format!("git nav-loop task resume {} continue --approve {}", store.set.id, state.spec_revision);
        return Err(Error::new(ErrorKind::NeedsPerson, format!("task {key} changed after its approval"), hint));
    }
    Ok(())
}

fn code(state: &TaskState) -> ExitCode {
    match (state.workflow_entry_state, state.pass_fail_outcome) {
        (Entry::Blocked | Entry::PendingAcceptance, _) => ExitCode::NeedsPerson,
        (_, Some(Outcome::FailRetryable)) => ExitCode::Closed,
        _ => ExitCode::Done,
    }
}

pub(super) fn accept(context: &Context, key: &str) -> Result<ExitCode, Error> {
    decide(context, key, "accept", |state| state.accepted())
}

pub(super) fn reject(context: &Context, key: &str, text: &str) -> Result<ExitCode, Error> {
    decide(context, key, "reject", |state| state.rejected(text))
}

fn decide(
    context: &Context,
    key: &str,
    word: &str,
    change: impl FnOnce(TaskState) -> TaskState,
) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let who = who_acts(&repo, word)?;
    let mut store = Store::need(&repo)?;
    refuse_lease(&repo, &store)?;
    let at = place(&store, key)?;
    let state = store.set.tasks[at].clone();
    if state.workflow_entry_state != Entry::PendingAcceptance || state.is_over() {
        return Err(Error::refused(format!("task {key} does not wait for acceptance"), "git nav-loop task list"));
    }
    let what = if word == "accept" { "checkup_accept_recorded" } else { "acceptance_rejected" };
    store.append(vec![decided(key, what, who, change(state))])?;
    context.print(&words::context(context.language, &store.set));
    Ok(ExitCode::Done)
}
