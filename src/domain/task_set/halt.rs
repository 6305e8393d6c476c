//! What stops a set (spec 2.4): the first reason in the seed's order is reported, all are recorded.
//!
//! In: the set's state. Out: every reason that holds, with the task it is about, in order.

use serde::{Deserialize, Serialize};

use super::{
    decision,
    state::SetState,
    task::{ApprovalState, Entry, Outcome, TaskState},
};

/// Why a set waits for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum HaltReason {
    /// A node was not approved, or needs breakdown.
    #[serde(rename = "approval-required")]
    ApprovalRequired,
    /// Verify cannot prove it.
    #[serde(rename = "pending_acceptance")]
    PendingAcceptance,
    /// The retries are used up.
    #[serde(rename = "fail_terminal")]
    FailTerminal,
    /// Something stands in the way.
    #[serde(rename = "blocked")]
    Blocked,
    /// The text is not what was approved.
    #[serde(rename = "reapproval_required")]
    ReapprovalRequired,
    /// Every transition is used up.
    #[serde(rename = "loop_budget_exhausted")]
    LoopBudgetExhausted,
    /// No decision fits, or the chain of events has a gap.
    #[serde(rename = "protocol_gap")]
    ProtocolGap,
    /// A dead driver's set was taken over.
    #[serde(rename = "stale_takeover")]
    StaleTakeover,
    /// Somebody interrupted the driver.
    #[serde(rename = "interrupted")]
    Interrupted,
}

impl HaltReason {
    /// The name, as the seed has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ApprovalRequired => "approval-required",
            Self::PendingAcceptance => "pending_acceptance",
            Self::FailTerminal => "fail_terminal",
            Self::Blocked => "blocked",
            Self::ReapprovalRequired => "reapproval_required",
            Self::LoopBudgetExhausted => "loop_budget_exhausted",
            Self::ProtocolGap => "protocol_gap",
            Self::StaleTakeover => "stale_takeover",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The order of the seed.
const ORDER: [HaltReason; 5] = [
    HaltReason::ApprovalRequired,
    HaltReason::PendingAcceptance,
    HaltReason::FailTerminal,
    HaltReason::Blocked,
    HaltReason::ReapprovalRequired,
];

fn holds(reason: HaltReason, task: &TaskState) -> bool {
    match reason {
        HaltReason::ApprovalRequired => {
            task.approval_state != ApprovalState::Approved || task.workflow_entry_state == Entry::NeedsBreakdown
        }
        HaltReason::PendingAcceptance => task.workflow_entry_state == Entry::PendingAcceptance,
        HaltReason::FailTerminal => task.pass_fail_outcome == Some(Outcome::FailTerminal),
        HaltReason::Blocked => task.workflow_entry_state == Entry::Blocked,
        HaltReason::ReapprovalRequired => task.spec_revision != task.approved_revision,
        _ => false,
    }
}

/// Every reason that holds, in order, with the first task that it is about.
pub fn halts(set: &SetState) -> Vec<(HaltReason, Option<String>)> {
    let open = || set.each().filter(|(_, state)| !state.is_over());
    let mut found: Vec<(HaltReason, Option<String>)> = Vec::new();
    for reason in ORDER {
        let task = open().find(|(_, state)| holds(reason, state));
        found.extend(task.map(|(task, _)| (reason, Some(task.task_key.clone()))));
    }
    if set.used() >= set.plan.budget {
        found.push((HaltReason::LoopBudgetExhausted, None));
    }
    if set.has_gap || (found.is_empty() && decision::decide(set).is_none()) {
        found.push((HaltReason::ProtocolGap, None));
    }
    found
}
