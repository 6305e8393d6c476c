//! `task import`: takes in what the public `/mino-*` skills wrote below `.mino/`. Shown first; a person's act.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    context::{Context, who_acts},
    domain::{
        event::Event,
        task_set::{
            halt::HaltReason,
            intent::GoalKind,
            plan::{Executability, Plan, Shape, Task},
            task::TaskState,
        },
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{loops, repo::Repo},
    render::visible::visible,
    task_set::{
        drive::decided,
        lease::main_tree,
        store::{Beginning, Store},
    },
};

const FILES_LIMIT: usize = 20_000;

/// The newest event of one task.
struct Found {
    key: String,
    issue: Option<u64>,
    sequence: u64,
    event: String,
    fields: Value,
}

pub(super) fn run(context: &Context, yes: bool, from: Option<&Path>) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let who = who_acts(&repo, "import")?;
    let root = match from {
        Some(dir) => dir.to_owned(),
        None => main_tree(&repo)?.join(".mino"),
    };
    let found = newest_events(&root);
    let entities = entities(&root);
    let mut shown = 0;
    for (id, entity) in &entities {
        let known = Store::of(&repo, id).is_ok();
        let tasks = own_tasks(entity, &found);
        shown += 1;
        context.say(&format!("{id}: {} tasks, {}", tasks.len(), if known { "known" } else { "new" }));
        for task in tasks {
            context.say(&format!("  {}  {} {}", task.key, task.sequence, visible(&task.event)));
        }
    }
    if shown == 0 {
        return Err(Error::refused(format!("no loop is below {}", root.display()), "name the folder with --from"));
    }
    if !yes {
        let hint = "look at it, then git nav-loop task import --yes";
        return Err(Error::new(ErrorKind::NeedsPerson, "nothing was taken in yet", hint));
    }
    for (id, entity) in &entities {
        take_in(&repo, &root, id, entity, &own_tasks(entity, &found), who)?;
    }
    Ok(ExitCode::Done)
}

fn take_in(repo: &Repo, root: &Path, id: &str, entity: &Value, tasks: &[&Found], who: &str) -> Result<(), Error> {
    if let Ok(mut store) = Store::of(repo, id) {
        let mut events = Vec::new();
        for found in tasks {
            let Some(at) = store.set.place(&found.key) else { continue };
            let known = store.set.task_events[at].len() as u64;
            let state = merged(&store.set.tasks[at], &found.fields);
            if found.sequence > known && state != store.set.tasks[at] {
                events.push(decided(&found.key, &found.event, who, state));
            }
        }
        return if events.is_empty() { Ok(()) } else { store.append(events) };
    }
    let plan = plan(root, entity, tasks);
    if plan.tasks.is_empty() {
        return Ok(());
    }
    let how = Beginning { approved_by: format!("import by {who}"), push: false, test_command: None };
    let mut store = Store::begin(repo, id, &plan, how)?;
    let mut events: Vec<Event> = Vec::new();
    for found in tasks {
        if let Some(state) = store.set.task(&found.key) {
            events.push(decided(&found.key, &found.event, who, merged(state, &found.fields)));
        }
    }
    events.push(match entity["status"].as_str() {
        Some("completed") => Event::SetCompleted {},
        Some("cancelled") => Event::SetCancelled { who: who.to_owned() },
        _ => {
            let reason = serde_json::from_value(entity["halt_reason"].clone()).unwrap_or(HaltReason::StaleTakeover);
            let task_key = entity["halt_at_task_key"].as_str().map(str::to_owned);
            Event::SetHalted { reason, also: Vec::new(), task_key }
        }
    });
    store.append(events)
}

/// Our state with the fields that the file has; a field that does not fit is left.
fn merged(state: &TaskState, fields: &Value) -> TaskState {
    let mut merged = state.clone();
    let Value::Object(fields) = fields else { return merged };
    for (key, value) in fields {
        let mut whole = serde_json::to_value(&merged).unwrap_or_default();
        if let Some(object) = whole.as_object_mut() {
            object.insert(key.clone(), value.clone());
        }
        if let Ok(fits) = serde_json::from_value::<TaskState>(whole) {
            merged = fits;
        }
    }
    merged
}

fn plan(root: &Path, entity: &Value, tasks: &[&Found]) -> Plan {
    let task = |found: &&Found| {
        let brief =
            found.issue.and_then(|n| loops::read_file(&root.join(format!("briefs/issue-{n}.md")))).unwrap_or_default();
        let title = brief.lines().find_map(|l| l.strip_prefix("# ")).unwrap_or(&found.key).trim();
        Task {
            task_key: found.key.clone(),
            title: title.chars().take(300).collect(),
            kind: "task".to_owned(),
            shape: Shape::Leaf,
            executability: Executability::Auto,
            depends_on: Vec::new(),
            parent: None,
            checks: Vec::new(),
            criteria: Vec::new(),
            target_files: Vec::new(),
            text: if brief.is_empty() { found.key.clone() } else { brief.clone() },
            issue: found.issue,
            spec_revision: found.fields["spec_revision"].as_str().unwrap_or_default().chars().take(8).collect(),
        }
    };
    let word = |key: &str| entity[key].as_str().unwrap_or_default().to_owned();
    Plan {
        intent: word("intent"),
        resolved_query: word("resolved_query"),
        goal_kind: if entity["goal_kind"] == "task_done" { GoalKind::TaskDone } else { GoalKind::SetDone },
        file: None,
        decomposed: false,
        tasks: tasks.iter().map(task).collect(),
        excluded: Vec::new(),
        budget: entity["budget_max_transitions"].as_u64().and_then(|b| u32::try_from(b).ok()).unwrap_or(50),
    }
}

/// The tasks of an entity, in its order, each once and with its newest event.
fn own_tasks<'a>(entity: &Value, found: &'a [Found]) -> Vec<&'a Found> {
    let keys = entity["task_keys"].as_array().or(entity["frozen_task_set"].as_array());
    let keys = keys.into_iter().flatten().filter_map(Value::as_str);
    let mut seen = HashSet::new();
    keys.filter(|key| seen.insert(*key)).filter_map(|key| found.iter().find(|f| f.key == key)).collect()
}

fn entities(root: &Path) -> Vec<(String, Value)> {
    let mut entities = Vec::new();
    for path in yaml_files(&root.join("loops")) {
        let Some(value) = yaml(&path) else { continue };
        let id = value["loop_id"].as_str().unwrap_or_default().to_owned();
        if loops::is_loop_id(&id) {
            entities.push((id, value));
        }
    }
    entities
}

fn newest_events(root: &Path) -> Vec<Found> {
    let mut newest: Vec<Found> = Vec::new();
    let folders = std::fs::read_dir(root.join("events")).into_iter().flatten().flatten().map(|e| e.path());
    for path in folders.flat_map(|dir| yaml_files(&dir)).take(FILES_LIMIT) {
        let Some(value) = yaml(&path) else { continue };
        let fields = value["iron_tree"].clone();
        let key = fields["task_key"].as_str().unwrap_or_default().to_owned();
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        if key.is_empty() || key.len() > 64 || !key.bytes().all(plain) {
            continue;
        }
        let found = Found {
            issue: fields["issue_number"].as_u64(),
            sequence: fields["sequence"].as_u64().unwrap_or(0),
            event: fields["event"].as_str().unwrap_or("imported").chars().take(60).collect(),
            key,
            fields,
        };
        match newest.iter_mut().find(|f| f.key == found.key) {
            Some(there) if there.sequence < found.sequence => *there = found,
            Some(_) => {}
            None => newest.push(found),
        }
    }
    newest.sort_by(|a, b| (a.issue, &a.key).cmp(&(b.issue, &b.key)));
    newest
}

fn yaml_files(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|e| e.path());
    let is_yaml = |p: &PathBuf| p.extension().is_some_and(|e| e == "yml" || e == "yaml") && p.is_file();
    let mut files: Vec<PathBuf> = entries.filter(is_yaml).collect();
    files.sort();
    files
}

/// YAML, also where a Markdown fence is around it: the public templates write it so.
fn yaml(path: &Path) -> Option<Value> {
    let text = loops::read_file(path)?;
    let fenced = text.split_once("```yaml").or_else(|| text.split_once("```yml")).map(|(_, rest)| rest);
    let body = fenced.map_or(text.as_str(), |rest| rest.split("```").next().unwrap_or_default());
    serde_saphyr::from_str(body).ok()
}
