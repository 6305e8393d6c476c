//! Revisions: what was approved, in eight hex digits (spec 2.1).
//!
//! In: a text and its nodes, or a plan. Out: the first 8 hex digits of a SHA-256 over their canonical form.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};

use super::plan::{Plan, Task};
use crate::domain::evidence::sha256_hex;

#[expect(clippy::unwrap_used, reason = "constant pattern; the tests below compile it")]
static CHECKBOX: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(\s*[-*+]\s+)\[[ xX]\](\s)").unwrap());

/// The text as far as it matters: LF, no trailing blanks, one blank line at most, checkboxes without their state.
///
/// ```
/// use nav_loop::domain::task_set::revision::normalised;
/// assert_eq!(normalised("a  \r\n\r\n\r\n- [x] b\r\n"), normalised("a\n\n- [ ] b\n\n\n"));
/// assert_ne!(normalised("a b"), normalised("ab"));
/// ```
pub fn normalised(text: &str) -> String {
    let mut out = String::new();
    let mut blank = false;
    for line in text.replace("\r\n", "\n").trim_start_matches('\u{feff}').lines() {
        let line = line.trim_end();
        if line.is_empty() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&CHECKBOX.replace(line, "$1[ ]$2"));
        out.push('\n');
    }
    out
}

/// The revision of a text with its nodes.
pub fn of_text(text: &str, tasks: &[Task]) -> String {
    let nodes: Vec<Value> = tasks.iter().map(node).collect();
    short(&format!("{}\n---\n{}", normalised(text), Value::Array(nodes)))
}

/// The keys stand in their order, without blanks.
fn node(task: &Task) -> Value {
    json!({
        "checks": task.checks, "depends_on": task.depends_on, "executability": task.executability, "shape": task.shape,
        "task_key": task.task_key, "title": task.title, "type": task.kind,
    })
}

pub(super) fn of_plan(plan: &Plan) -> String {
    let task = |t: &Task| json!({"spec_revision": t.spec_revision, "task_key": t.task_key});
    let tasks: Vec<Value> = plan.tasks.iter().map(task).collect();
    short(&json!({"budget": plan.budget, "goal_kind": plan.goal_kind, "tasks": tasks}).to_string())
}

fn short(text: &str) -> String {
    sha256_hex(text).chars().take(8).collect()
}
