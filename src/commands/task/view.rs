//! `task list`, `task show`, `task graph`: reading only.

use super::place;
use crate::{
    context::Context,
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::task_set as words,
    task_set::store::{self, Store},
};

pub(super) fn list(context: &Context, all: bool) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    if all {
        let sets = store::all(&repo)?;
        if context.json {
            let sets: Vec<_> = sets.iter().map(|s| words::set_json(s, 0)).collect();
            context.say(&serde_json::json!({"v": 1, "sets": sets, "exit_code": 0}).to_string());
        } else {
            sets.iter().for_each(|set| context.print(&words::context(context.language, set)));
        }
        return Ok(ExitCode::Done);
    }
    let store = Store::need(&repo)?;
    if context.json {
        context.say(&words::set_json(&store.set, 0).to_string());
    } else {
        context.print(&words::context(context.language, &store.set));
        context.print(&words::list(context.language, &store.set));
    }
    Ok(ExitCode::Done)
}

pub(super) fn show(context: &Context, key: &str) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let store = Store::need(&repo)?;
    let at = place(&store, key)?;
    if context.json {
        let mut value = words::set_json(&store.set, 0)["tasks"][at].clone();
        value["text"] = store.set.plan.tasks[at].text.clone().into();
        value["checks"] = store.set.plan.tasks[at].checks.clone().into();
        value["exit_code"] = 0.into();
        context.say(&value.to_string());
    } else {
        context.print(&words::show(context.language, &store.set, at));
    }
    Ok(ExitCode::Done)
}

pub(super) fn graph(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let store = Store::need(&repo)?;
    if context.json {
        let edges: Vec<_> = store
            .set
            .plan
            .tasks
            .iter()
            .map(|t| serde_json::json!({"task_key": t.task_key, "parent": t.parent, "depends_on": t.depends_on}))
            .collect();
        context.say(&serde_json::json!({"v": 1, "tasks": edges, "exit_code": 0}).to_string());
    } else {
        context.print(&words::graph(context.language, &store.set));
    }
    Ok(ExitCode::Done)
}
