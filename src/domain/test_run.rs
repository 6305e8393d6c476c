//! One run of a test command: what was run, how it ended, and for which code that holds (spec 1.4).

use serde::{Deserialize, Serialize};

use super::{oid::Oid, settings::CommandSpec};

/// One run of a test command (spec 1.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestRun {
    /// The command.
    pub command: CommandSpec,
    /// Whether it was the loop's test command.
    pub pinned: bool,
    /// How it ended.
    pub verdict: TestVerdict,
    /// The exit code, when it had one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub exit_code: Option<i32>,
    /// Milliseconds.
    pub ms: u64,
    /// HEAD before the run.
    pub head: Oid,
    /// HEAD after it.
    pub head_after: Oid,
    /// What `code` is a difference to: the anchor.
    pub base: Oid,
    /// Digest of the code that was tested.
    pub code: String,
    /// Digest of the same code with every untracked file, where that is another: the run holds for a commit that
    /// takes them all in, also the first file of its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code_all: Option<String>,
    /// Untracked files that were there, counted or not; at most 20 names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub untracked: Vec<String>,
    /// Whether it ran in a clean temporary work tree of HEAD.
    pub clean: bool,
    /// Names of failing tests, sorted, or one digest of the output's tail.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failing: Vec<String>,
    /// Why it is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl TestRun {
    /// Whether what was tested is the code with digest `code` against `base`.
    pub fn holds_for(&self, base: &Oid, code: &str) -> bool {
        self.base == *base && (self.code == code || self.code_all.as_deref() == Some(code))
    }
}

/// How a test run ended. An error is neither pass nor fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TestVerdict {
    /// Exit code 0.
    Pass,
    /// Another exit code.
    Fail,
    /// Killed, timed out, could not start, or the code moved meanwhile.
    Error,
}
