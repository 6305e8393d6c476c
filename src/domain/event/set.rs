//! The larger events of a task set (spec 2.6).

use serde::{Deserialize, Serialize};

use crate::domain::{oid::Oid, settings::CommandSpec, task_set::task::TaskState};

/// How a set of tasks began: the frozen plan, and who approved it (spec 2.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the format of spec 2.6")]
pub struct SetStarted {
    pub plan_blob: Oid,
    pub revision: String,
    pub intent_hash: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub branch: Option<String>,
    pub approved_by: String,
    pub clone: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub push: bool,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub test_command: Option<CommandSpec>,
}

/// One transition of one task; it carries the state after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the format of spec 2.6")]
pub struct TaskMoved {
    pub n: u32,
    pub task_key: String,
    pub skill: String,
    pub outcome: String,
    pub state: TaskState,
}

/// What a person decided about one task; no transition, but the state after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are the format of spec 2.6")]
pub struct TaskDecided {
    pub task_key: String,
    pub what: String,
    pub who: String,
    pub state: TaskState,
}
