//! The tasks that an agent made of a document: looked at like any other input (spec 2.1).

use serde::Deserialize;

use super::{Problem, Raw, TASK_LIMIT, resolve};
use crate::domain::task_set::{graph, plan::Task, revision};

/// What an agent that breaks a document down is asked for.
pub const NODES_WANTED: &str = "Break the document below into tasks. Answer with one JSON list in a ```json block and \
nothing after it. Each element: {\"title\": text, \"parent\": title of the composite it belongs to or null, \
\"depends_on\": [titles], \"type\": text, \"criteria\": [texts], \"checks\": [commands that stand in the document word for \
word], \"target_files\": [paths], \"text\": what is to be done}.";

#[derive(Deserialize)]
struct Node {
    title: String,
    #[serde(default)]
    parent: Option<String>,
    #[serde(default)]
    depends_on: Vec<String>,
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    criteria: Vec<String>,
    #[serde(default)]
    checks: Vec<String>,
    #[serde(default)]
    target_files: Vec<String>,
    #[serde(default)]
    text: String,
}

/// Reads the nodes that an agent made of `document`, like any other input. A check command counts only where it stands in
/// the document word for word: a person named the document, nobody named the agent's words.
pub fn nodes(answer: &str, document: &str) -> Result<Vec<Task>, Problem> {
    let fenced = answer.rsplit_once("```json").and_then(|(_, rest)| rest.split("```").next());
    let json = fenced.unwrap_or(answer).trim();
    let nodes: Vec<Node> =
        serde_json::from_str(json).map_err(|e| Problem(format!("the agent's answer is no list of tasks: {e}")))?;
    if nodes.is_empty() || nodes.len() > TASK_LIMIT {
        return Err(Problem(format!("the agent's answer has {} tasks", nodes.len())));
    }
    let mut raw: Vec<Raw> = Vec::new();
    for node in &nodes {
        if node.title.trim().is_empty() {
            return Err(Problem("a task of the agent's answer has no title".to_owned()));
        }
        let parent = match node.parent.as_deref().map(str::trim).filter(|p| !p.is_empty()) {
            None => None,
            Some(name) => Some(raw.iter().position(|r| r.title == name).ok_or_else(|| {
                Problem(format!("task {:?} belongs to {name:?}, and no earlier task is called so", node.title))
            })?),
        };
        let mut task = Raw::new(&node.title, None, 0, parent, 0, 0);
        if !node.kind.trim().is_empty() {
            task.kind = node.kind.trim().to_lowercase();
        }
        task.depends.clone_from(&node.depends_on);
        task.criteria.clone_from(&node.criteria);
        task.targets.clone_from(&node.target_files);
        task.checks =
            node.checks.iter().filter(|c| !c.trim().is_empty() && document.contains(c.trim())).cloned().collect();
        raw.push(task);
    }
    let mut tasks = resolve(raw, "")?;
    for (task, node) in tasks.iter_mut().zip(nodes) {
        task.text = format!("{}\n\n{}", task.title, node.text).trim_end().to_owned();
    }
    graph::check(&tasks).map_err(Problem)?;
    let revision = revision::of_text(document, &tasks);
    tasks.iter_mut().for_each(|t| t.spec_revision.clone_from(&revision));
    Ok(tasks)
}
