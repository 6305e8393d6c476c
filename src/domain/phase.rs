//! Which phase the work is in (spec 1.8).
//!
//! In: what the evidence says. Out: one of five phases, first match in the order COMPLETE, VERIFY, IMPL, RESEARCH, INIT.

use serde::{Deserialize, Serialize};

/// The phase of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Phase {
    /// Nothing has happened yet.
    Init,
    /// Reading, no change yet.
    Research,
    /// Changing code.
    Impl,
    /// Testing, or tested.
    Verify,
    /// The gate is open.
    Complete,
}

impl Phase {
    /// Its name, the same in every language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "INIT",
            Self::Research => "RESEARCH",
            Self::Impl => "IMPL",
            Self::Verify => "VERIFY",
            Self::Complete => "COMPLETE",
        }
    }

    /// Where the progress of this phase starts, in percent.
    pub fn base_percent(self) -> u32 {
        match self {
            Self::Init => 10,
            Self::Research => 25,
            Self::Impl => 50,
            Self::Verify => 75,
            Self::Complete => 100,
        }
    }
}

/// What the phase is told from.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "six independent observations")]
pub struct PhaseInput {
    /// The gate answers EXIT.
    pub gate_open: bool,
    /// A test run is under way.
    pub tests_running: bool,
    /// The newest run on this code passed.
    pub newest_passed: bool,
    /// The newest run on this code failed.
    pub newest_failed: bool,
    /// Code differs from the anchor, or the work tree is dirty.
    pub code_changed: bool,
    /// A turn ended, or files were reported read.
    pub turn_ended: bool,
}

/// Tells the phase.
///
/// ```
/// use nav_loop::domain::phase::{Phase, PhaseInput, detect};
/// assert_eq!(detect(PhaseInput::default()), Phase::Init);
/// assert_eq!(detect(PhaseInput { code_changed: true, ..Default::default() }), Phase::Impl);
/// ```
pub fn detect(input: PhaseInput) -> Phase {
    if input.gate_open {
        Phase::Complete
    } else if input.tests_running || input.newest_passed {
        Phase::Verify
    } else if input.code_changed || input.newest_failed {
        Phase::Impl
    } else if input.turn_ended {
        Phase::Research
    } else {
        Phase::Init
    }
}

/// Progress in percent: the phase's base plus 25 × met/total, at most 100, rounded down.
pub fn progress(phase: Phase, met: u32, total: u32) -> u32 {
    let share = (25 * met).checked_div(total).unwrap_or(0);
    (phase.base_percent() + share).min(100)
}
