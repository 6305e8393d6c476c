//! What happens at the end of an iteration (spec 1.9): the loop's only brain.
//!
//! In: the verdict and the counters. Out: one decision, first match in the order of the spec.

use super::event::PauseReason;

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The gate is open: complete.
    Complete,
    /// A person decides.
    Pause(PauseReason),
    /// Try another way instead of pausing.
    Diversify,
    /// The next iteration.
    Next,
}

/// What is known when an iteration ends.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations, each a row of the rule")]
pub struct EndOfIteration {
    /// The gate answers EXIT.
    pub gate_open: bool,
    /// The newest signal says that the agent failed.
    pub agent_failed: bool,
    /// A person's approval is due.
    pub approval_due: bool,
    /// A stagnation rule holds.
    pub stagnant: bool,
    /// Stagnation diversifies instead of pausing.
    pub never_pause: bool,
    /// The iteration that ends.
    pub iteration: u32,
    /// The limit.
    pub max_iterations: u32,
}

/// Decides.
pub fn decide(end: EndOfIteration) -> Decision {
    if end.gate_open {
        Decision::Complete
    } else if end.agent_failed {
        Decision::Pause(PauseReason::AgentBlocked)
    } else if end.approval_due {
        Decision::Pause(PauseReason::Approval)
    } else if end.stagnant && !end.never_pause {
        Decision::Pause(PauseReason::Stagnation)
    } else if end.stagnant {
        Decision::Diversify
    } else if end.iteration >= end.max_iterations {
        Decision::Pause(PauseReason::MaxIterations)
    } else {
        Decision::Next
    }
}
