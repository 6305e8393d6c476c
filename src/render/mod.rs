//! Status → words. Layout is in `text`, words are in `en` and `zh` (a missing phrase does not compile), the stable
//! machine form is in `json`. Whatever came from a repository or an agent passes through `visible` first.

pub mod ci;
pub mod en;
pub mod json;
pub mod task_set;
pub mod text;
pub mod visible;
pub mod zh;

use crate::domain::{
    diagnosis::Diagnosis,
    indicator::{Indicator, Reason},
    status::{LastAction, NextAction, Status},
    success::Criterion,
};

/// The languages that are spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// English.
    En,
    /// 中文.
    Zh,
}

impl Language {
    /// The language of a locale name such as `zh_CN.UTF-8`.
    pub fn of_locale(name: &str) -> Self {
        if name.to_lowercase().starts_with("zh") { Self::Zh } else { Self::En }
    }

    /// Its fixed phrases.
    pub fn phrases(self) -> &'static Phrases {
        match self {
            Self::En => &en::PHRASES,
            Self::Zh => &zh::PHRASES,
        }
    }

    /// Why an indicator is what it is.
    pub fn reason(self, reason: &Reason) -> String {
        match self {
            Self::En => en::reason(reason),
            Self::Zh => zh::reason(reason),
        }
    }

    /// What to do next.
    pub fn next_action(self, action: &NextAction) -> String {
        match self {
            Self::En => en::next_action(action),
            Self::Zh => zh::next_action(action),
        }
    }

    /// What happened last.
    pub fn last_action(self, action: &LastAction) -> String {
        match self {
            Self::En => en::last_action(action),
            Self::Zh => zh::last_action(action),
        }
    }

    /// The one line that says the gate's answer.
    pub fn verdict_line(self, status: &Status) -> String {
        match self {
            Self::En => en::verdict_line(status),
            Self::Zh => zh::verdict_line(status),
        }
    }
}

/// The fixed phrases of one language. `{…}` never stands in them: layout puts values beside them.
#[derive(Debug)]
#[expect(missing_docs, reason = "each field is the phrase it names; the table is in the spec")]
pub struct Phrases {
    pub colon: &'static str,
    pub comma: &'static str,
    pub open: &'static str,
    pub close: &'static str,
    pub activated: &'static str,
    pub task: &'static str,
    pub max_iterations: &'static str,
    pub stagnation_threshold: &'static str,
    pub starting: &'static str,
    pub phase: &'static str,
    pub iteration: &'static str,
    pub progress: &'static str,
    pub indicators_heading: &'static str,
    pub exit_conditions: &'static str,
    pub heuristics: &'static str,
    pub need: fn(u32) -> String,
    pub state_hash: &'static str,
    pub previous_hash: &'static str,
    pub none: &'static str,
    pub stagnation: &'static str,
    pub next_action: &'static str,
    pub loop_complete: &'static str,
    pub iterations: &'static str,
    pub final_phase: &'static str,
    pub passed: &'static str,
    pub accepted: &'static str,
    pub summary: &'static str,
    pub nothing_committed: &'static str,
    pub no_config: &'static str,
    pub using_defaults: &'static str,
    pub skipped_no_tracker: &'static str,
    pub skipped_disabled: &'static str,
    pub skipped_no_code: &'static str,
    pub stagnation_detected: &'static str,
    pub max_reached: &'static str,
    pub indicator: fn(Indicator) -> &'static str,
    pub loop_id: &'static str,
    pub tests: &'static str,
    pub pinned_by_first_run: &'static str,
    pub target: &'static str,
    pub no_target: &'static str,
    pub not_looked: &'static str,
    pub config_changed: &'static str,
    pub incidents: &'static str,
    pub waiting: &'static str,
    pub last_action: &'static str,
    pub anchor: &'static str,
    pub evidence: &'static str,
    pub signal: &'static str,
    pub check_with: &'static str,
    pub weak: &'static str,
    pub time: &'static str,
    pub commit: &'static str,
    pub indicators: &'static str,
    pub verdict: &'static str,
    pub success: fn(Criterion) -> &'static str,
    pub same_state: fn(u32) -> String,
    pub current_state: &'static str,
    pub causes_heading: &'static str,
    pub causes: [&'static str; 4],
    pub options: &'static str,
    pub stagnation_options: [&'static str; 3],
    pub without_completion: fn(u32) -> String,
    pub progress_made: &'static str,
    pub limit_options: [&'static str; 3],
    pub person_decides: &'static str,
    pub protocol: &'static str,
    pub protocol_step: fn(&str) -> &'static str,
    pub protocol_result: fn(&str) -> &'static str,
    pub left: &'static str,
    pub ticket_open: &'static str,
    pub synced: fn(&str, usize, bool) -> String,
    pub replay_same: fn(usize) -> String,
    pub rests_on_record: &'static str,
    pub choose: fn(usize) -> String,
    pub what_blocks: &'static str,
    pub not_understood: &'static str,
    pub other_options: [&'static str; 4],
    pub driver_gone: &'static str,
    pub task_changed: fn(&str) -> String,
    pub usage_limit: fn(u64) -> String,
    pub usage_limit_over: &'static str,
    pub ticket_closed: &'static str,
    pub repeats: fn(&Diagnosis) -> String,
    pub missing: &'static str,
    pub failing: &'static str,
    pub phase_action: fn(&str) -> &'static str,
}

/// Hours, minutes and seconds as a countdown shows them.
fn clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}
