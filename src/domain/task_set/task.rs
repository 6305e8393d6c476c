//! One task's state, and its transitions (spec 2.3).
//!
//! In: the state before, and what a step found. Out: the state after. Each transition is one event of the journal, which
//! carries the state after it, so that a reader needs no rule to know where a task stands.

use serde::{Deserialize, Serialize};

use super::plan::{Shape, Task};

/// Attempts 1 to 3 may be retried; the fourth failure is terminal.
pub const MAX_RETRIES: u32 = 3;
/// How much of a failure is kept for the next prompt, in characters.
const FAILURE_LIMIT: usize = 1_500;

/// Whether a person has approved the task as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalState {
    /// New, not looked at.
    Draft,
    /// Ready to be approved.
    ApprovalReady,
    /// Approved.
    Approved,
}

/// Where a task is, or comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Defined.
    Definition,
    /// To be broken down.
    Decompose,
    /// Worked on.
    Run,
    /// Checked.
    Verify,
    /// Finalized.
    Checkup,
    /// Done.
    Done,
}

/// Whether the next step may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It may.
    ReadyToStart,
    /// It has to be broken down first.
    NeedsBreakdown,
    /// A person has to accept it.
    PendingAcceptance,
    /// Something stands in the way.
    Blocked,
}

/// Where the work of a task lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Publication {
    /// There is no code.
    NotApplicable,
    /// In this repository.
    LocalOnly,
    /// Pushed.
    Published,
}

/// What verify found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All checks passed.
    Pass,
    /// A check failed; it may be tried again.
    FailRetryable,
    /// A check failed for the last time.
    FailTerminal,
}

/// Why a task counts as done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Its checks passed.
    Verified,
    /// A person accepted it.
    Accepted,
    /// Its sub-tasks are done.
    Aggregated,
}

/// What stands in the way (spec 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockingCheck {
    /// Tracked files are changed.
    DirtyWorkingTree,
    /// Another branch is checked out.
    WrongBranch,
    /// The agent cannot be started.
    AgentNotFound,
    /// Another run holds `.mino/run.lock`.
    RunLockHeld,
    /// A hook refused the commit.
    CommitRefused,
    /// The push failed.
    PublicationFailed,
    /// The agent says that it cannot go on, or failed three times running.
    AgentBlocked,
    /// Somebody closed the issue.
    IssueClosedExternally,
    /// A loop of another kind is under way on the branch.
    LoopUnderWay,
}

impl BlockingCheck {
    /// The name in the mirror.
    pub fn name(self) -> &'static str {
        match self {
            Self::DirtyWorkingTree => "dirty-working-tree",
            Self::WrongBranch => "wrong-branch",
            Self::AgentNotFound => "agent-not-found",
            Self::RunLockHeld => "run-lock-held",
            Self::CommitRefused => "commit-refused",
            Self::PublicationFailed => "publication-failed",
            Self::AgentBlocked => "agent-blocked",
            Self::IssueClosedExternally => "issue-closed-externally",
            Self::LoopUnderWay => "loop-under-way",
        }
    }
}

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of spec 2.3")]
pub struct TaskState {
    pub approval_state: ApprovalState,
    pub current_stage: Stage,
    pub next_stage: Stage,
    pub workflow_entry_state: Entry,
    pub attempt_count: u32,
    pub max_retry_count: u32,
    pub code_publication_state: Publication,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pass_fail_outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completion_basis: Option<Basis>,
    pub spec_revision: String,
    pub approved_revision: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub verify_anchor_sha: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub code_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub blocking_check: Option<BlockingCheck>,
    /// The end of what failed, or a person's words; goes into the next prompt.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub failure: String,
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub cancelled: bool,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// The agent worked; verify judges what is there.
    Completed,
    /// Something stood in the way before the agent was started: no attempt is spent.
    Preflight(BlockingCheck),
    /// A hook refused the commit: the attempt is given back.
    CommitRefused(String),
    /// The agent cannot go on; its words.
    AgentBlocked(String),
}

/// What a verify came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verified {
    /// All checks passed at this commit; whether the work was pushed.
    Passed {
        /// The commit.
        anchor: String,
        /// Whether it was pushed.
        published: bool,
    },
    /// A check failed; the end of its output.
    Failed {
        /// The commit.
        anchor: String,
        /// What it printed last.
        output: String,
    },
    /// Nothing here can prove it.
    Unprovable {
        /// The commit.
        anchor: String,
    },
    /// The checks passed, and the push failed.
    PublicationFailed {
        /// The commit.
        anchor: String,
        /// What git said.
        why: String,
    },
}

impl TaskState {
    /// A task as the person approved it.
    pub fn approved(task: &Task) -> Self {
        Self {
            approval_state: ApprovalState::Approved,
            current_stage: Stage::Definition,
            next_stage: if task.shape == Shape::Composite { Stage::Checkup } else { Stage::Run },
            workflow_entry_state: Entry::ReadyToStart,
            attempt_count: 0,
            max_retry_count: MAX_RETRIES,
            code_publication_state: Publication::NotApplicable,
            pass_fail_outcome: None,
            completion_basis: None,
            spec_revision: task.spec_revision.clone(),
            approved_revision: task.spec_revision.clone(),
            verify_anchor_sha: None,
            code_ref: None,
            blocking_check: None,
            failure: String::new(),
            cancelled: false,
        }
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.cancelled || self.is_done()
    }

    /// Whether it is done.
    pub fn is_done(&self) -> bool {
        self.current_stage == Stage::Done
    }

    fn blocked(mut self, check: BlockingCheck) -> Self {
        self.workflow_entry_state = Entry::Blocked;
        self.blocking_check = Some(check);
        self
    }

    /// After a run. Its attempt counts from the moment the agent was started.
    #[must_use]
    pub fn after_run(mut self, ran: Ran) -> Self {
        match ran {
            Ran::Preflight(check) => return self.blocked(check),
            Ran::CommitRefused(why) => {
                self.failure = bounded(&why);
                return self.blocked(BlockingCheck::CommitRefused);
            }
            // No failure: nothing was judged, and a person decides.
            Ran::AgentBlocked(words) => {
                self.failure = bounded(&words);
                return self.blocked(BlockingCheck::AgentBlocked);
            }
            Ran::Completed => {}
        }
        self.attempt_count = self.attempt_count.saturating_add(1);
        self.current_stage = Stage::Run;
        self.next_stage = Stage::Verify;
        self.pass_fail_outcome = None;
        self.failure = String::new();
        self
    }

    /// After a verify.
    #[must_use]
    pub fn after_verify(mut self, verified: Verified) -> Self {
        self.current_stage = Stage::Verify;
        match verified {
            Verified::Passed { anchor, published } => {
                self.verify_anchor_sha = Some(anchor);
                self.code_publication_state = if published { Publication::Published } else { Publication::LocalOnly };
                self.pass_fail_outcome = Some(Outcome::Pass);
                self.completion_basis = Some(Basis::Verified);
                self.next_stage = Stage::Checkup;
                self
            }
            Verified::Failed { anchor, output } => {
                self.verify_anchor_sha = Some(anchor);
                self.failed(&output)
            }
            Verified::Unprovable { anchor } => {
                self.verify_anchor_sha = Some(anchor);
                self.code_publication_state = Publication::LocalOnly;
                self.workflow_entry_state = Entry::PendingAcceptance;
                self.next_stage = Stage::Checkup;
                self
            }
            Verified::PublicationFailed { anchor, why } => {
                self.verify_anchor_sha = Some(anchor);
                self.code_publication_state = Publication::LocalOnly;
                self.failure = bounded(&why);
                self.next_stage = Stage::Verify;
                self.blocked(BlockingCheck::PublicationFailed)
            }
        }
    }

    /// One failure: to be tried again, or for good. A terminal one also blocks.
    fn failed(mut self, output: &str) -> Self {
        self.failure = bounded(output);
        self.completion_basis = None;
        self.next_stage = Stage::Run;
        if self.attempt_count > self.max_retry_count {
            self.pass_fail_outcome = Some(Outcome::FailTerminal);
            self.workflow_entry_state = Entry::Blocked;
        } else {
            self.pass_fail_outcome = Some(Outcome::FailRetryable);
            self.workflow_entry_state = Entry::ReadyToStart;
        }
        self
    }

    /// After a checkup, of a leaf or of a composite whose sub-tasks are over.
    #[must_use]
    pub fn after_checkup(mut self, code_ref: &str, basis: Option<Basis>) -> Self {
        self.code_ref = Some(code_ref.to_owned());
        self.completion_basis = basis.or(self.completion_basis);
        self.current_stage = Stage::Done;
        self.next_stage = Stage::Done;
        self.failure = String::new();
        self
    }

    /// A person accepts what no check can prove.
    #[must_use]
    pub fn accepted(mut self) -> Self {
        self.workflow_entry_state = Entry::ReadyToStart;
        self.pass_fail_outcome = Some(Outcome::Pass);
        self.completion_basis = Some(Basis::Accepted);
        self.next_stage = Stage::Checkup;
        self
    }

    /// A person rejects it: one failure, whose words go into the next prompt.
    #[must_use]
    pub fn rejected(mut self, words: &str) -> Self {
        self.workflow_entry_state = Entry::ReadyToStart;
        self.failed(words)
    }

    /// A person goes on: what blocked is looked at again. A terminal failure stays one.
    #[must_use]
    pub fn continued(mut self) -> Self {
        if self.workflow_entry_state == Entry::Blocked && self.pass_fail_outcome != Some(Outcome::FailTerminal) {
            self.workflow_entry_state = Entry::ReadyToStart;
            self.blocking_check = None;
        }
        self
    }

    /// A person approves the text as it is now.
    #[must_use]
    pub fn reapproved(mut self, revision: &str) -> Self {
        revision.clone_into(&mut self.spec_revision);
        revision.clone_into(&mut self.approved_revision);
        self.approval_state = ApprovalState::Approved;
        self
    }
}

fn bounded(text: &str) -> String {
    let text = text.trim();
    let excess = text.chars().count().saturating_sub(FAILURE_LIMIT);
    text.chars().skip(excess).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::task_set::document;

    fn task() -> TaskState {
        TaskState::approved(&document::read("x.md", "## Task: a\n").unwrap()[0])
    }

    fn fail(state: TaskState) -> TaskState {
        let failed = Verified::Failed { anchor: "1".into(), output: "not ok".into() };
        state.after_run(Ran::Completed).after_verify(failed)
    }

    #[test]
    fn three_failures_are_retried_and_the_fourth_is_terminal() {
        let mut state = task();
        for attempt in 1..=3 {
            state = fail(state);
            assert_eq!((state.attempt_count, state.pass_fail_outcome), (attempt, Some(Outcome::FailRetryable)));
            assert_eq!((state.next_stage, state.failure.as_str()), (Stage::Run, "not ok"));
        }
        state = fail(state);
        assert_eq!(
            (state.pass_fail_outcome, state.workflow_entry_state),
            (Some(Outcome::FailTerminal), Entry::Blocked)
        );
        assert_eq!(state.clone().continued(), state, "a person who goes on lifts no terminal failure");
    }

    #[test]
    fn a_refused_commit_a_failed_push_and_a_preflight_spend_no_attempt() {
        let refused = task().after_run(Ran::CommitRefused("hook says no".into()));
        assert_eq!((refused.attempt_count, refused.blocking_check), (0, Some(BlockingCheck::CommitRefused)));
        let push = task().after_run(Ran::Completed);
        let push = push.after_verify(Verified::PublicationFailed { anchor: "1".into(), why: "rejected".into() });
        assert_eq!((push.attempt_count, push.next_stage), (1, Stage::Verify));
        assert_eq!(push.continued().workflow_entry_state, Entry::ReadyToStart);
        let dirty = task().after_run(Ran::Preflight(BlockingCheck::DirtyWorkingTree));
        assert_eq!((dirty.attempt_count, dirty.next_stage, dirty.current_stage), (0, Stage::Run, Stage::Definition));
    }

    #[test]
    fn what_nothing_proves_waits_for_a_person_whose_no_is_a_failure() {
        let waits = task().after_run(Ran::Completed).after_verify(Verified::Unprovable { anchor: "1".into() });
        assert_eq!(waits.workflow_entry_state, Entry::PendingAcceptance);
        let done = waits.clone().accepted().after_checkup("1", None);
        assert_eq!((done.completion_basis, done.is_done()), (Some(Basis::Accepted), true));
        let again = waits.rejected("the button is missing");
        assert_eq!((again.next_stage, again.failure.as_str()), (Stage::Run, "the button is missing"));
        assert_eq!(again.pass_fail_outcome, Some(Outcome::FailRetryable));
    }

    #[test]
    fn long_failures_keep_their_end() {
        let long = format!("{}the end", "字".repeat(9_000));
        let state = task().after_run(Ran::Completed).rejected(&long);
        assert_eq!(state.failure.chars().count(), FAILURE_LIMIT);
        assert!(state.failure.ends_with("the end"));
    }
}
