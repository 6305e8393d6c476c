//! The frozen set: what is approved, word for word, and never asked for again (spec 2.1, 2.2).
//!
//! In: nodes of a document, or issues. Out: a plan with its revision; it lies in the journal as JSON.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{intent::GoalKind, revision};

/// Whether a task is worked on, or stands for its sub-tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// Worked on.
    Leaf,
    /// Done when its sub-tasks are.
    Composite,
}

/// Whether verify can prove it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Executability {
    /// By its check commands.
    Auto,
    /// A criterion asks for a person.
    Manual,
}

/// One task as it was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its key.
    pub task_key: String,
    /// Its title.
    pub title: String,
    /// `task` unless the document says otherwise.
    #[serde(rename = "type")]
    pub kind: String,
    /// Leaf or composite.
    pub shape: Shape,
    /// Auto or manual.
    pub executability: Executability,
    /// Keys of the tasks that must be done before.
    pub depends_on: Vec<String>,
    /// The key of the composite that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// Check commands, each one script for `sh -e` or one command.
    pub checks: Vec<String>,
    /// Acceptance criteria.
    pub criteria: Vec<String>,
    /// Files that it is expected to touch.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub target_files: Vec<String>,
    /// The whole text of the task.
    pub text: String,
    /// The issue that it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub issue: Option<u64>,
    /// The revision of the text it was frozen from.
    pub spec_revision: String,
}

/// A task that is no part of the set, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excluded {
    /// How it is called: `#12` or a title.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// The whole set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// What the person typed.
    pub intent: String,
    /// One line on how the tasks were found.
    pub resolved_query: String,
    /// When the goal is reached.
    pub goal_kind: GoalKind,
    /// The document, relative to the top of the work tree.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub file: Option<String>,
    /// Whether an agent broke the document down into these tasks.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub decomposed: bool,
    /// The tasks, in their order.
    pub tasks: Vec<Task>,
    /// What was left out.
    pub excluded: Vec<Excluded>,
    /// How many transitions the driver may make.
    pub budget: u32,
}

/// Tasks lie in one another no deeper than this.
const DEPTH: usize = 64;

impl Plan {
    /// A plan as a record names it; `None` for one that was never frozen here: notes may come from anywhere. Keys are
    /// plain and distinct, dependencies are among them, and every parent leads to a task of the first level.
    pub fn read(text: &str) -> Option<Self> {
        let plan: Self = serde_json::from_str(text).ok()?;
        let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
        let are_keys =
            plan.tasks.iter().all(|t| (1..=64).contains(&t.task_key.len()) && t.task_key.bytes().all(is_plain));
        let parents: HashMap<&str, Option<&str>> =
            plan.tasks.iter().map(|t| (t.task_key.as_str(), t.parent.as_deref())).collect();
        let leads_up = |task: &Task| {
            let mut at = task.parent.as_deref();
            for _ in 0..DEPTH {
                match at.map(|key| parents.get(key)) {
                    None => return true,
                    Some(None) => return false,
                    Some(Some(parent)) => at = *parent,
                }
            }
            false
        };
        let knows = |task: &Task| task.depends_on.iter().all(|d| parents.contains_key(d.as_str()));
        let is_sound =
            are_keys && parents.len() == plan.tasks.len() && plan.tasks.iter().all(|t| knows(t) && leads_up(t));
        is_sound.then_some(plan)
    }

    /// The budget that a set of so many tasks gets.
    pub fn default_budget(tasks: usize) -> u32 {
        u32::try_from(tasks.saturating_mul(10)).unwrap_or(u32::MAX).max(50)
    }

    /// What a person approves: first 8 hex digits over budget, goal, and each task's key and revision.
    pub fn revision(&self) -> String {
        revision::of_plan(self)
    }

    /// The task of this key.
    pub fn task(&self, key: &str) -> Option<&Task> {
        self.tasks.iter().find(|t| t.task_key == key)
    }

    /// How a task is called in commits and lists: `#12`, else `L` and its place.
    pub fn label(&self, key: &str) -> String {
        match self.tasks.iter().position(|t| t.task_key == key) {
            Some(at) => self.tasks[at].issue.map_or_else(|| format!("L{}", at + 1), |n| format!("#{n}")),
            None => key.to_owned(),
        }
    }
}
