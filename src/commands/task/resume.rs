//! `task resume`: a person decides how a halted set goes on (spec 2.5). A refusal changes nothing.

use std::io::IsTerminal;

use super::{agent, ask, go, place, plan::take_over};
use crate::{
    cli::task::{ResumeSetArgs, SetChoice},
    context::{COMMAND_PATIENCE, Context, who_acts, writer},
    domain::{
        event::Event,
        task_set::{graph, state::SetStatus, task::Entry},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{journal::Journal, repo::Repo},
    render::task_set as words,
    task_set::{drive::decided, lease, resolve, steps, store::Store},
};

pub(super) fn run(context: &Context, args: &ResumeSetArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let who = who_acts(&repo, "resuming a set")?;
    let store = Store::of(&repo, &args.loop_id)?;
    if matches!(store.set.status, SetStatus::Completed | SetStatus::Cancelled) {
        let message = format!("set {} is {}", store.set.id, store.set.status.name());
        return Err(Error::refused(message, "git nav-loop task PRD.md -- AGENT starts a new one"));
    }
    let Some((choice, key)) = chosen(context, args, &store)? else { return Ok(ExitCode::NeedsPerson) };
    let decision = Decision { choice, key, approve: args.approve.clone(), budget: args.budget, who };
    check(&store, &decision)?;
    let drives = choice != SetChoice::Cancel;
    let (spec, flags) = agent(&repo, &args.drive, drives)?;
    let (_held, stale) = lease::take(&repo, &store.set.id)?;
    take_over(&repo, stale)?;
    let mut store = Store::of(&repo, &args.loop_id)?;
    store.take_over()?;
    let events = events(&repo, &store, &decision)?;
    store.append(events)?;
    if !drives {
        context.print(&words::context(context.language, &store.set));
        return Ok(ExitCode::Done);
    }
    go(context, &mut store, &spec, &flags)
}

struct Decision<'a> {
    choice: SetChoice,
    key: Option<String>,
    approve: Option<String>,
    budget: Option<u32>,
    who: &'a str,
}

/// The choice: typed, or asked for on a terminal; elsewhere the commands are printed.
fn chosen(
    context: &Context,
    args: &ResumeSetArgs,
    store: &Store<'_>,
) -> Result<Option<(SetChoice, Option<String>)>, Error> {
    if let Some(choice) = args.choice {
        return Ok(Some((choice, args.key.clone())));
    }
    context.print(&words::context(context.language, &store.set));
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        return Ok(None);
    }
    loop {
        let Some(line) = ask(context, "continue | skip KEY | cancel: ") else { return Ok(None) };
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        match (word, rest.trim()) {
            ("continue", _) => return Ok(Some((SetChoice::Continue, None))),
            ("cancel", _) => return Ok(Some((SetChoice::Cancel, None))),
            ("skip", key) if !key.is_empty() => return Ok(Some((SetChoice::Skip, Some(key.to_owned())))),
            ("", _) => return Err(Error::new(ErrorKind::NeedsPerson, "nothing was chosen", "")),
            _ => {}
        }
    }
}

/// Everything that can be refused, before anything is written.
fn check(store: &Store<'_>, decision: &Decision<'_>) -> Result<(), Error> {
    if let Some((_, lease::Worth::Live)) = lease::holder(store.repo) {
        return lease::take(store.repo, &store.set.id).map(drop);
    }
    if let (SetChoice::Skip, Some(key)) = (decision.choice, &decision.key) {
        let at = place(store, key)?;
        let state = &store.set.tasks[at];
        if state.is_over() {
            let word = if state.cancelled { "cancelled" } else { "done" };
            return Err(Error::refused(format!("task {key} is {word} already"), "git nav-loop task list"));
        }
    }
    if let Some(revision) = &decision.approve {
        let now = steps::revision_now(store.repo, &store.set)?;
        if now.as_deref() != Some(revision) {
            let now = now.unwrap_or_else(|| "nothing to approve".to_owned());
            return Err(Error::usage(
                format!("--approve {revision} is not the document's revision: {now}"),
                "read it again",
            ));
        }
    }
    Ok(())
}

fn events(repo: &Repo, store: &Store<'_>, decision: &Decision<'_>) -> Result<Vec<Event>, Error> {
    let who = decision.who.to_owned();
    let resumed =
        |choice: &str, plan_blob| Event::SetResumed { choice: choice.to_owned(), who: who.clone(), plan_blob };
    match (decision.choice, &decision.key) {
        (SetChoice::Cancel, _) => Ok(vec![Event::SetCancelled { who }]),
        (SetChoice::Skip, Some(key)) => {
            let over = |k: &String| store.set.task(k).is_none_or(|s| s.is_over());
            let cancelled = graph::cascade(&store.set.plan.tasks, key).into_iter().filter(|k| !over(k)).collect();
            let skipped = Event::TasksSkipped { task_key: key.clone(), cancelled, who: who.clone() };
            Ok(vec![skipped, resumed("skip", None)])
        }
        _ => {
            let mut events = Vec::new();
            for (task, state) in store.set.each().filter(|(_, s)| !s.is_over()) {
                let mut after = state.clone();
                if state.workflow_entry_state == Entry::Blocked {
                    after = after.continued();
                }
                if let Some(revision) = &decision.approve {
                    after = after.reapproved(revision);
                }
                if after != *state {
                    events.push(decided(&task.task_key, "task_continued", decision.who, after));
                }
            }
            let plan_blob = new_plan(repo, store, decision)?;
            events.push(resumed("continue", plan_blob));
            Ok(events)
        }
    }
}

/// The plan with the document's text as it is now, or with a larger budget. A set never grows.
fn new_plan(repo: &Repo, store: &Store<'_>, decision: &Decision<'_>) -> Result<Option<crate::domain::oid::Oid>, Error> {
    if decision.approve.is_none() && decision.budget.is_none() {
        return Ok(None);
    }
    let mut plan = store.set.plan.clone();
    plan.budget = plan.budget.saturating_add(decision.budget.unwrap_or(0));
    if decision.approve.is_some()
        && !plan.decomposed
        && let Some(file) = plan.file.clone()
    {
        let (now, _) = resolve::of_file(repo, &repo.need_work_tree()?.join(file))?;
        for task in &mut plan.tasks {
            if let Some(new) = now.iter().find(|t| t.task_key == task.task_key) {
                let (issue, depends_on, parent) = (task.issue, task.depends_on.clone(), task.parent.clone());
                *task = crate::domain::task_set::plan::Task { issue, depends_on, parent, ..new.clone() };
            }
        }
    }
    let text = serde_json::to_string(&plan).unwrap_or_default();
    Ok(Some(Journal::new(repo).keep_text(&writer("task", COMMAND_PATIENCE), text.as_bytes())?))
}
