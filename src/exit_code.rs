//! What the program's exit code means, and its number (spec 1.7). Text and JSON never disagree with it.

use crate::domain::{
    event::PauseReason,
    gate::{Gate, Verdict},
};

/// A meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum ExitCode {
    /// Yes, or done.
    Done,
    /// The gate is closed; go on. Also: a test failed, a plumbing function says no.
    Closed,
    /// Usage, configuration, refused.
    Usage,
    /// An exit signal without enough indicators.
    Blocked,
    /// Paused by stagnation.
    Stagnated,
    /// Paused by a limit.
    Limited,
    /// A person is needed.
    NeedsPerson,
    /// No loop here.
    NoLoop,
    /// It cannot be judged.
    CannotJudge,
    /// Somebody else holds the lease or runs the tests.
    Held,
    /// A remote or tracker is unreachable or refused.
    Remote,
    /// A defect of ours.
    Internal,
    /// Git failed, or there is no repository.
    Git,
    /// Interrupted by a signal.
    Interrupted,
}

impl ExitCode {
    /// The number.
    pub fn number(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Closed => 1,
            Self::Usage => 2,
            Self::Blocked => 3,
            Self::Stagnated => 4,
            Self::Limited => 5,
            Self::NeedsPerson => 6,
            Self::NoLoop => 7,
            Self::CannotJudge => 8,
            Self::Held => 9,
            Self::Remote => 10,
            Self::Internal => 70,
            Self::Git => 128,
            Self::Interrupted => 130,
        }
    }

    /// The code of a gate's answer.
    pub fn of_gate(gate: &Gate) -> Self {
        match (gate.verdict, gate.pause) {
            (Verdict::Exit, _) => Self::Done,
            (Verdict::Continue, _) => Self::Closed,
            (Verdict::Blocked, _) => Self::Blocked,
            (Verdict::Paused, Some(reason)) => Self::of_pause(reason),
            (Verdict::Paused, None) => Self::NeedsPerson,
            (Verdict::Unknown, _) => Self::CannotJudge,
        }
    }

    /// The code of a pause.
    pub fn of_pause(reason: PauseReason) -> Self {
        match reason {
            PauseReason::Stagnation => Self::Stagnated,
            PauseReason::MaxIterations | PauseReason::Limit => Self::Limited,
            PauseReason::AgentBlocked | PauseReason::Approval | PauseReason::AgentFailed => Self::NeedsPerson,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
