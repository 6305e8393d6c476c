//! The files below `.mino/`: the journal's fold as people and the public skills read it (spec 2.6).
//!
//! In: a set. Out: paths, relative to the top of the work tree, with their content. Nothing is ever read back from them
//! while a set runs.

use serde_json::{Map, Value, json};

use super::{
    plan::Task,
    state::{SetEvent, SetState, TaskEvent},
};

/// Content of a mirror file.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// To be written as YAML.
    Yaml(Value),
    /// As it is.
    Text(String),
}

/// The entity of a set.
pub fn entity_path(id: &str) -> String {
    format!(".mino/loops/{id}.yml")
}

/// Every file of a set.
pub fn files(set: &SetState) -> Vec<(String, Content)> {
    let mut files = vec![(entity_path(&set.id), Content::Yaml(entity(set)))];
    for (n, event) in set.events.iter().enumerate() {
        let (name, fields) = set_event(set, event);
        let mut body = json!({"version": 1, "sequence": n + 1, "event": name});
        extend(&mut body, fields);
        let path = format!(".mino/loops/{}/events/{:04}-{}.yml", set.id, n + 1, kebab(name));
        files.push((path, Content::Yaml(json!({"loop": body}))));
    }
    for (at, task) in set.plan.tasks.iter().enumerate() {
        let place = place(task, at);
        files.push((format!(".mino/briefs/{place}.md"), Content::Text(brief(task))));
        for (n, event) in set.task_events[at].iter().enumerate() {
            let path = format!(".mino/events/{place}/{:04}-{}.yml", n + 1, kebab(&event.event));
            files.push((path, Content::Yaml(json!({"iron_tree": task_event(task, n + 1, event)}))));
        }
    }
    files
}

fn place(task: &Task, at: usize) -> String {
    task.issue.map_or_else(|| format!("local-{}", at + 1), |n| format!("issue-{n}"))
}

/// Letters, digits and `-`: a name from the journal becomes no path.
fn kebab(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().take(60).map(plain).collect()
}

fn extend(into: &mut Value, fields: Value) {
    if let (Value::Object(into), Value::Object(fields)) = (into, fields) {
        into.extend(fields);
    }
}

/// The entity's fields, in the protocol's order.
pub fn entity(set: &SetState) -> Value {
    let keys: Vec<&str> = set.plan.tasks.iter().map(|t| t.task_key.as_str()).collect();
    let transition = |t: &super::state::Transition| json!({"iso": t.iso, "task_key": t.task_key, "skill": t.skill, "outcome": t.outcome});
    json!({
        "loop_id": set.id, "created_at": set.created_at, "goal_kind": set.plan.goal_kind.name(),
        "intent": set.plan.intent, "resolved_query": set.plan.resolved_query, "task_keys": keys,
        "budget_max_transitions": set.plan.budget, "budget_used": set.used(), "status": set.status.name(),
        "halt_reason": set.halt_reason.map(super::halt::HaltReason::name),
        "halt_also": set.halt_also.iter().map(|h| h.name()).collect::<Vec<_>>(),
        "halt_at_task_key": set.halt_at_task_key, "halt_at_iso": set.halt_at_iso,
        "transitions": set.transitions.iter().map(transition).collect::<Vec<_>>(),
        "completed_at": set.completed_at,
    })
}

fn set_event(set: &SetState, event: &SetEvent) -> (&'static str, Value) {
    let keys: Vec<&str> = set.plan.tasks.iter().map(|t| t.task_key.as_str()).collect();
    match event {
        SetEvent::Started => (
            "loop_started",
            json!({
                "goal_kind": set.plan.goal_kind.name(), "task_keys": keys,
                "budget_max_transitions": set.plan.budget, "intent_hash": set.started.intent_hash,
            }),
        ),
        SetEvent::Halted { reason, task_key, used } => (
            "loop_halted",
            json!({"halt_reason": reason.name(), "halt_at_task_key": task_key, "transitions_used": used}),
        ),
        SetEvent::Resumed { previous, used } => (
            "loop_resumed",
            json!({"previous_halt_reason": previous.map(super::halt::HaltReason::name), "transitions_used": used}),
        ),
        SetEvent::Completed { at, used } => ("loop_completed", json!({"completed_at": at, "transitions_used": used})),
        SetEvent::Cancelled { at, task_key } => {
            let scope = if task_key.is_some() { "task" } else { "loop" };
            ("loop_cancelled", json!({"cancelled_at": at, "cancellation_scope": scope, "task_key": task_key}))
        }
    }
}

fn task_event(task: &Task, sequence: usize, event: &TaskEvent) -> Value {
    let mut body = Map::new();
    body.insert("version".to_owned(), 1.into());
    body.insert("task_key".to_owned(), task.task_key.clone().into());
    body.insert("issue_number".to_owned(), task.issue.into());
    body.insert("sequence".to_owned(), sequence.into());
    body.insert("event".to_owned(), event.event.clone().into());
    let state = serde_json::to_value(&event.state).unwrap_or_default();
    let fields = ["failure", "cancelled"];
    if let Value::Object(state) = state {
        body.extend(state.into_iter().filter(|(key, _)| !fields.contains(&key.as_str())));
    }
    Value::Object(body)
}

/// The task for people: its text, and what is checked.
fn brief(task: &Task) -> String {
    let mut text = format!("# {}\n\nTask Key: {}\n", task.title.replace('\n', " "), task.task_key);
    if !task.depends_on.is_empty() {
        text += &format!("Depends on: {}\n", task.depends_on.join(", "));
    }
    text += &format!("\n{}\n", task.text.trim_end());
    if !task.criteria.is_empty() {
        text += "\n## Acceptance\n\n";
        task.criteria.iter().for_each(|c| text += &format!("- [ ] {}\n", c.replace('\n', " ")));
    }
    if !task.checks.is_empty() {
        text += "\n## Verification\n\n";
        task.checks.iter().for_each(|c| text += &format!("    {}\n", c.replace('\n', "\n    ")));
    }
    text
}
