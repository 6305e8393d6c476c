//! The dual-condition exit gate (spec 1.6): enough indicators **and** somebody's explicit word.
//!
//! In: the indicators, the signal, the thresholds, a recorded failure, a pause. Out: one verdict with its reason.
//!
//! | enough | signal | verdict |
//! |---|---|---|
//! | yes | yes | EXIT |
//! | yes | no | CONTINUE, awaiting the signal (EXIT where none is required) |
//! | no | yes | BLOCKED |
//! | no | no | CONTINUE, more work |

use serde::{Deserialize, Serialize};

use super::{
    event::PauseReason,
    evidence::SignalState,
    indicator::{Indicator, IndicatorState, Indicators},
    settings::Settings,
};

/// The gate's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// The task is done.
    Exit,
    /// Go on.
    Continue,
    /// Exit was asked for, and it is not so.
    Blocked,
    /// A person decides.
    Paused,
    /// It cannot be told.
    Unknown,
}

impl Verdict {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exit => "EXIT",
            Self::Continue => "CONTINUE",
            Self::Blocked => "BLOCKED",
            Self::Paused => "PAUSED",
            Self::Unknown => "UNKNOWN",
        }
    }
}

/// Why the gate answered so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateReason {
    /// Both conditions hold.
    Exit,
    /// Enough indicators, no signal yet.
    AwaitingSignal,
    /// Neither.
    MoreWork,
    /// A signal without enough indicators.
    InsufficientIndicators,
    /// A holding test run failed.
    TestsFailed,
    /// An explicit false.
    Vetoed,
    /// The loop is paused.
    Paused,
}

impl GateReason {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::AwaitingSignal => "awaiting_signal",
            Self::MoreWork => "more_work",
            Self::InsufficientIndicators => "insufficient_indicators",
            Self::TestsFailed => "tests_failed",
            Self::Vetoed => "vetoed",
            Self::Paused => "paused",
        }
    }
}

/// What a loop asks of its gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thresholds {
    /// Indicators that must be met.
    pub min_indicators: u32,
    /// Indicators of which each must be met.
    pub required: Vec<Indicator>,
    /// Whether an explicit signal is needed.
    pub needs_signal: bool,
}

impl Thresholds {
    /// The thresholds of frozen settings.
    pub fn of(settings: &Settings) -> Self {
        Self {
            min_indicators: settings.min_indicators,
            required: settings.required_indicators.iter().filter_map(|n| Indicator::of_name(n)).collect(),
            needs_signal: settings.exit_requires_explicit_signal,
        }
    }
}

/// The gate's answer with what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// The answer.
    pub verdict: Verdict,
    /// Why.
    pub reason: GateReason,
    /// Met indicators.
    pub met: u32,
    /// Indicators that are not skipped.
    pub total: u32,
    /// What is missing, in the order of the six; empty when there is enough.
    pub missing: Vec<Indicator>,
    /// It opens with neither committed code nor passing tests.
    pub weak: bool,
    /// The pause that stands, when the loop is paused.
    pub pause: Option<PauseReason>,
}

impl Gate {
    /// Whether the gate is open.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::Exit
    }
}

/// Answers for one loop.
pub fn judge(
    indicators: &Indicators,
    signal: SignalState,
    tests_failed: bool,
    thresholds: &Thresholds,
    pause: Option<PauseReason>,
) -> Gate {
    let (met, total) = (indicators.met(), indicators.total());
    let counted = met >= thresholds.min_indicators && thresholds.required.iter().all(|i| indicators.is_met(*i));
    let enough = counted && !tests_failed;
    let (verdict, reason) = match (enough, signal) {
        (true, SignalState::Valid) => (Verdict::Exit, GateReason::Exit),
        (true, SignalState::Vetoed | SignalState::Failed) => (Verdict::Continue, GateReason::Vetoed),
        (true, _) if !thresholds.needs_signal => (Verdict::Exit, GateReason::Exit),
        (true, _) => (Verdict::Continue, GateReason::AwaitingSignal),
        (false, SignalState::Valid) if counted => (Verdict::Blocked, GateReason::TestsFailed),
        (false, SignalState::Valid) => (Verdict::Blocked, GateReason::InsufficientIndicators),
        (false, _) if counted => (Verdict::Continue, GateReason::TestsFailed),
        (false, _) => (Verdict::Continue, GateReason::MoreWork),
    };
    let (verdict, reason) = match pause {
        Some(_) if verdict != Verdict::Exit => (Verdict::Paused, GateReason::Paused),
        _ => (verdict, reason),
    };
    let weak = verdict == Verdict::Exit
        && !indicators.is_met(Indicator::CodeCommitted)
        && !indicators.is_met(Indicator::TestsPassing);
    Gate { verdict, reason, met, total, missing: missing(indicators, thresholds, counted, tests_failed), weak, pause }
}

/// Required ones that are unmet, or where none is required and the count is short, every unmet one.
fn missing(indicators: &Indicators, thresholds: &Thresholds, counted: bool, tests_failed: bool) -> Vec<Indicator> {
    if counted {
        return if tests_failed { vec![Indicator::TestsPassing] } else { Vec::new() };
    }
    let required = &thresholds.required;
    let short = indicators.met() < thresholds.min_indicators;
    let unmet = indicators.0.iter().filter(|f| f.state != IndicatorState::Met);
    let named = unmet.filter(|f| required.contains(&f.indicator) || (short && f.state == IndicatorState::Unmet));
    named.map(|f| f.indicator).collect()
}
