//! A new set: resolved once, shown whole, started by nothing but a person's yes (spec 2.2).

use std::io::IsTerminal;

use super::{agent, ask, go};
use crate::{
    cli::task::NewSetArgs,
    context::{Context, agent_mark, driver_mark, who_acts},
    domain::task_set::{
        graph,
        plan::{Excluded, Plan},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{exclude, loops, repo::Repo},
    render::task_set as words,
    task_set::{
        lease,
        resolve::{publish, resolve},
        store::{Beginning, Store, new_id},
    },
};

pub(super) fn run(context: &Context, args: &NewSetArgs) -> Result<ExitCode, Error> {
    if let Some(id) = driver_mark() {
        let message = format!("this runs inside an agent that loop {id} started");
        return Err(Error::new(ErrorKind::NeedsPerson, message, "a person starts a set, outside any agent"));
    }
    let repo = Repo::discover()?;
    let (spec, flags) = agent(&repo, &args.drive, !args.plan || args.decompose)?;
    let mut plan = resolve(&repo, &args.words.join(" "), args.decompose.then_some(&spec))?;
    let id = new_id()?;
    if args.plan {
        if context.json {
            context.say(&words::plan_json(&id, &plan).to_string());
        } else {
            context.print(&words::plan(context.language, &id, &plan));
        }
        return Ok(ExitCode::Done);
    }
    let who = who_acts(&repo, "approving a plan")?;
    if !context.json {
        context.print(&words::plan(context.language, &id, &plan));
    }
    match &args.approve {
        Some(revision) => approved_by_revision(&plan, revision)?,
        None if args.yes || !can_ask() => {
            let hint = format!("look at the plan, then --approve {}", plan.revision());
            let message = "a plan is approved by its revision where no terminal is there to ask";
            return Err(Error::new(ErrorKind::NeedsPerson, message, hint));
        }
        None => {
            if !answered_yes(context, &id, &mut plan) {
                return Ok(ExitCode::Closed);
            }
        }
    }
    let (_held, stale) = lease::take(&repo, &id)?;
    take_over(&repo, stale)?;
    if args.publish && plan.file.is_some() {
        publish(&repo, &mut plan)?.iter().filter(|_| !context.json).for_each(|line| context.say(line));
    }
    let test_command = crate::config::find(&repo, flags.clone())?.settings.test_command;
    let how = Beginning { approved_by: who.to_owned(), push: args.push, test_command };
    if exclude::add(&repo, &lease::main_tree(&repo)?)? && !context.json {
        context.say(words::excluded(context.language));
    }
    let mut store = Store::begin(&repo, &id, &plan, how)?;
    go(context, &mut store, &spec, &flags)
}

/// What a dead driver of this clone left running is halted first.
pub(super) fn take_over(repo: &Repo, stale: Option<String>) -> Result<(), Error> {
    if let Some(mut store) = stale.and_then(|id| Store::of(repo, &id).ok()) {
        store.take_over()?;
    }
    let is_here = |s: &Store<'_>| loops::clone_id(repo).is_some_and(|id| id == s.set.started.clone);
    if let Some(mut newest) = Store::newest(repo)?.filter(is_here) {
        newest.take_over()?;
    }
    Ok(())
}

fn approved_by_revision(plan: &Plan, revision: &str) -> Result<(), Error> {
    if plan.revision() == revision {
        return Ok(());
    }
    let message = format!("--approve {revision} is not this plan's revision, which is {}", plan.revision());
    Err(Error::usage(message, "look at the plan again: git nav-loop task … --plan"))
}

fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && agent_mark().is_none()
}

/// Only `yes` starts the loop. `edit` changes order, tasks or budget and shows the plan again.
fn answered_yes(context: &Context, id: &str, plan: &mut Plan) -> bool {
    loop {
        match ask(context, words::question(context.language)).as_deref() {
            Some("yes") => return true,
            Some("edit") => {
                edit(context, plan);
                context.print(&words::plan(context.language, id, plan));
            }
            Some("cancel" | "no") | None => return false,
            Some(_) => {}
        }
    }
}

fn edit(context: &Context, plan: &mut Plan) {
    while let Some(line) = ask(context, words::edit_help(context.language)) {
        let changed = match line.split_once(char::is_whitespace).unwrap_or((&line, "")) {
            ("done" | "", _) => return,
            ("order", rest) => reorder(plan, rest),
            ("drop", rest) => remove(plan, rest.trim()),
            ("budget", rest) => match rest.trim().parse() {
                Ok(budget) if budget > 0 => {
                    plan.budget = budget;
                    Ok(())
                }
                _ => Err("a budget is a number of transitions".to_owned()),
            },
            _ => Err("order, drop, budget or done".to_owned()),
        };
        if let Err(why) = changed {
            context.warn(&why);
        }
    }
}

/// Tasks named come first, in that order; the others follow as they were.
fn reorder(plan: &mut Plan, typed: &str) -> Result<(), String> {
    let mut order: Vec<usize> = Vec::new();
    for word in typed.split_whitespace() {
        let at = place(plan, word)?;
        if !order.contains(&at) {
            order.push(at);
        }
    }
    order.extend((0..plan.tasks.len()).filter(|at| !order.contains(at)).collect::<Vec<_>>());
    plan.tasks = order.into_iter().map(|at| plan.tasks[at].clone()).collect();
    Ok(())
}

fn remove(plan: &mut Plan, typed: &str) -> Result<(), String> {
    let key = plan.tasks[place(plan, typed)?].task_key.clone();
    let hanging: Vec<String> = graph::cascade(&plan.tasks, &key).into_iter().filter(|k| *k != key).collect();
    if !hanging.is_empty() {
        return Err(format!("{} hang on {key}: drop them first", hanging.join(", ")));
    }
    if plan.tasks.len() == 1 {
        return Err("the last task is not dropped; cancel ends the plan".to_owned());
    }
    plan.excluded.push(Excluded { name: plan.label(&key), reason: "dropped".to_owned() });
    plan.tasks.retain(|t| t.task_key != key);
    Ok(())
}

fn place(plan: &Plan, word: &str) -> Result<usize, String> {
    let number = word.parse::<usize>().ok().and_then(|n| n.checked_sub(1)).filter(|n| *n < plan.tasks.len());
    let named = || plan.tasks.iter().position(|t| t.task_key == word || plan.label(&t.task_key) == word);
    number.or_else(named).ok_or_else(|| format!("no task {word:?} in the plan"))
}
