//! The seed's five criteria for a loop that did well.
//!
//! In: the folded loop. Out: five answers, once it has ended.

use serde_json::Value;

use super::state::{LoopState, LoopStatus};

/// One of the five.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The task was completed within the limit of iterations.
    WithinLimit,
    /// No stagnation pause, or it was resolved.
    NoStagnation,
    /// Indicators and signal both.
    BothConditions,
    /// The marker holds the loop's state.
    MarkerWritten,
    /// Each iteration left a row that people can see.
    ProgressSeen,
}

/// The five answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Success([(Criterion, bool); 5]);

/// Judges an ended loop; `None` while it goes on.
pub fn judge(state: &LoopState) -> Option<Success> {
    let completed = match &state.status {
        LoopStatus::Completed(basis) => Some(basis.as_str()),
        LoopStatus::Aborted(_) => None,
        _ => return None,
    };
    Some(Success([
        (Criterion::WithinLimit, completed.is_some() && state.iteration <= state.started.config.max_iterations),
        (Criterion::NoStagnation, state.stagnation_pauses == 0 || completed.is_some()),
        (Criterion::BothConditions, completed == Some("verified")),
        (Criterion::MarkerWritten, state.markers.iter().any(|m| !m.partial)),
        (Criterion::ProgressSeen, state.gate_opened || !state.history.is_empty()),
    ]))
}

impl Success {
    /// For people.
    pub fn as_words(self) -> Vec<(Criterion, bool)> {
        self.0.to_vec()
    }

    /// For JSON.
    pub fn as_pairs(self) -> Vec<(String, Value)> {
        self.0.iter().map(|(c, held)| (c.name().to_owned(), Value::Bool(*held))).collect()
    }
}

impl Criterion {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::WithinLimit => "within_max_iterations",
            Self::NoStagnation => "no_stagnation_pause",
            Self::BothConditions => "signal_and_heuristics",
            Self::MarkerWritten => "marker_with_state",
            Self::ProgressSeen => "progress_each_iteration",
        }
    }
}
