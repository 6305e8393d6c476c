//! The seed's four functions as pure rules, stateless (spec 1.11).
//!
//! In: what was typed, already read. Out: the answer that is printed as JSON or text.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{
    indicator::Indicator,
    phase::{Phase, progress},
    settings::DiversifyStrategy,
};

/// Indicators as given: only the six known names count, and only `true`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    /// Known names that are true, in order.
    pub met: Vec<Indicator>,
    /// Known names given; none given = 6.
    pub total: u32,
}

impl Given {
    /// Reads a JSON object.
    pub fn of(object: &Map<String, Value>) -> Self {
        let known: Vec<Indicator> = Indicator::ALL.into_iter().filter(|i| object.contains_key(i.name())).collect();
        let met = known.iter().copied().filter(|i| object.get(i.name()) == Some(&Value::Bool(true))).collect();
        let total = if known.is_empty() { 6 } else { known.len() as u32 };
        Self { met, total }
    }

    /// How many are met.
    pub fn met_count(&self) -> u32 {
        self.met.len() as u32
    }
}

/// The exit gate's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitAnswer {
    /// Whether the loop may end.
    pub should_exit: bool,
    /// Begins with EXIT, BLOCKED or CONTINUE.
    pub reason: String,
    /// Why not.
    pub blocked_reason: Option<&'static str>,
}

/// The seed's four rows.
pub fn exit_gate(given: &Given, signal: bool, require: bool, min: u32) -> ExitAnswer {
    let (met, total) = (given.met_count(), given.total);
    let answer = |should_exit, reason: String, blocked_reason| ExitAnswer { should_exit, reason, blocked_reason };
    match (met >= min, signal) {
        (true, true) => answer(true, format!("EXIT: Task complete ({met}/{total} heuristics, explicit signal)"), None),
        (true, false) if !require => {
            answer(true, format!("EXIT: Heuristics satisfied ({met}/{total}), no signal required"), None)
        }
        (true, false) => {
            answer(false, "CONTINUE: Awaiting explicit completion signal".into(), Some("exit_signal_missing"))
        }
        (false, true) => {
            let reason = format!("BLOCKED: Cannot exit with insufficient indicators ({met}/{total}, need {min}+)");
            answer(false, reason, Some("insufficient_heuristics"))
        }
        (false, false) => answer(false, "CONTINUE: More work needed".into(), None),
    }
}

/// What the phase function is told.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the function that it replaces")]
pub struct PhaseQuestion {
    /// `--init`.
    pub init: bool,
    /// Indicators.
    pub given: Given,
    /// The exit signal.
    pub signal: bool,
    /// Tests run now.
    pub tests_running: bool,
    /// How the last test run ended.
    pub test_exit_code: Option<i64>,
    /// Files were changed.
    pub changed: bool,
    /// Files were read.
    pub read: bool,
}

/// Phase, confidence in percent, reason.
pub fn phase(question: &PhaseQuestion) -> (Phase, u32, String) {
    let met = question.given.met_count();
    if question.init {
        return (Phase::Init, 100, "Loop initialised".into());
    }
    if met >= 4 && question.signal {
        return (Phase::Complete, 100, format!("{met} indicators met and exit signal given"));
    }
    if question.tests_running {
        return (Phase::Verify, 95, "Tests are running".into());
    }
    match question.test_exit_code {
        Some(0) => return (Phase::Verify, 90, "Tests passed".into()),
        Some(code) => return (Phase::Impl, 85, format!("Tests failed (exit code {code})")),
        None => {}
    }
    if question.changed {
        (Phase::Impl, 90, "Files were changed".into())
    } else if question.read {
        (Phase::Research, 85, "Files were read".into())
    } else {
        (Phase::Init, 70, "No activity yet".into())
    }
}

/// The phase that comes after `phase`.
pub fn next_phase(phase: Phase) -> Option<Phase> {
    match phase {
        Phase::Init => Some(Phase::Research),
        Phase::Research => Some(Phase::Impl),
        Phase::Impl => Some(Phase::Verify),
        Phase::Verify => Some(Phase::Complete),
        Phase::Complete => None,
    }
}

/// What the stagnation function is told.
#[derive(Debug, Clone, Default)]
pub struct StagnationQuestion {
    /// The phase, as typed.
    pub phase: String,
    /// Indicators.
    pub given: Given,
    /// Changed files.
    pub files: Vec<String>,
    /// An error that stands.
    pub error_state: Option<String>,
    /// Earlier hashes, oldest first, without the current one.
    pub history: Vec<String>,
    /// Equal hashes in a row that are too many.
    pub threshold: u32,
    /// Diversify instead of pausing.
    pub autonomous: bool,
    /// How.
    pub strategy: DiversifyStrategy,
}

/// The stagnation function's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagnationAnswer {
    /// Six hex digits.
    pub hash: String,
    /// Equal hashes in a row, the current one with them.
    pub count: u32,
    /// Whether that is too many.
    pub is_stagnant: bool,
    /// Begins with OK, WARNING, PAUSE or AUTO-DIVERSIFY.
    pub recommendation: String,
}

/// Compares the current state with the history.
pub fn stagnation(question: &StagnationQuestion) -> StagnationAnswer {
    let hash = hash(question);
    let count = 1 + question.history.iter().rev().take_while(|h| **h == hash).count() as u32;
    let threshold = question.threshold;
    let is_stagnant = count >= threshold;
    let recommendation = if is_stagnant && question.autonomous {
        format!("AUTO-DIVERSIFY: {count} consecutive same states, strategy {}", strategy_name(question.strategy))
    } else if is_stagnant {
        format!("PAUSE: {count} consecutive same states, ask the user")
    } else if count + 1 >= threshold {
        format!("WARNING: {count}/{threshold} same states")
    } else {
        "OK: state is changing".into()
    };
    StagnationAnswer { hash, count, is_stagnant, recommendation }
}

/// SHA-256 over canonical JSON of phase, met indicators, files and error state; six hex digits.
fn hash(question: &StagnationQuestion) -> String {
    let mut met: Vec<&str> = question.given.met.iter().map(|i| i.name()).collect();
    met.sort_unstable();
    let mut files = question.files.clone();
    files.sort();
    let canonical = json!({
        "error_state": question.error_state, "files_changed": files, "met_indicators": met, "phase": question.phase,
    });
    Sha256::digest(canonical.to_string().as_bytes()).iter().take(3).map(|b| format!("{b:02x}")).collect()
}

/// The strategy's name.
pub fn strategy_name(strategy: DiversifyStrategy) -> &'static str {
    match strategy {
        DiversifyStrategy::Combine => "combine",
        DiversifyStrategy::Radical => "radical",
        DiversifyStrategy::Reread => "reread",
    }
}

/// Progress of a phase given by name; an unknown name counts as INIT.
pub fn progress_of(phase: &str, given: &Given) -> u32 {
    let all = [Phase::Init, Phase::Research, Phase::Impl, Phase::Verify, Phase::Complete];
    let phase = all.into_iter().find(|p| p.name() == phase).unwrap_or(Phase::Init);
    progress(phase, given.met_count(), given.total)
}
