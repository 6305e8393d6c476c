//! Why a loop goes round in place (spec 1.9): what repeats and what is missing.
//!
//! In: a status and the ended iterations. Out: plain findings; words come in `render`.

use super::{
    event::IterationEnded,
    indicator::{Finding, IndicatorState},
    stagnation::StagnationRule,
    state::Dated,
    status::Status,
};

/// What `diagnose` found.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnosis {
    /// The rule that holds, if one does.
    pub rule: Option<StagnationRule>,
    /// How often the newest state was seen in a row.
    pub repeats: u32,
    /// Hashes of the newest iterations, six digits each, oldest first.
    pub hashes: Vec<String>,
    /// Names of the tests that keep failing.
    pub failing: Vec<String>,
    /// Unmet indicators with their reasons.
    pub missing: Vec<Finding>,
}

/// Looks for what repeats.
pub fn diagnose(status: &Status, history: &[Dated<IterationEnded>]) -> Diagnosis {
    let newest = history.iter().rev().take(8).rev();
    Diagnosis {
        rule: status.stagnation.rule,
        repeats: status.stagnation.count,
        hashes: newest.map(|h| h.what.state_hash.chars().take(6).collect()).collect(),
        failing: status.failing.clone(),
        missing: status.indicators.0.iter().filter(|f| f.state == IndicatorState::Unmet).cloned().collect(),
    }
}

impl Diagnosis {
    /// One line for the journal.
    pub fn summary(&self) -> String {
        let what = match self.rule {
            Some(StagnationRule::SameState) => format!("the same state {} times", self.repeats),
            Some(StagnationRule::Cycle(length)) => format!("a cycle of {length} states {} times", self.repeats),
            Some(StagnationRule::SameFailures) => "the same failing tests with nothing newly met".to_owned(),
            None => "nothing repeats".to_owned(),
        };
        let missing: Vec<&str> = self.missing.iter().map(|f| f.indicator.name()).collect();
        let failing = self.failing.first().map_or(String::new(), |f| format!("; failing: {f}"));
        let text = format!("{what}; missing: {}{failing}", missing.join(", "));
        text.chars().take(400).collect()
    }
}
