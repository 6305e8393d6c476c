//! Whether a loop goes round in place (spec 1.8).
//!
//! In: the fingerprints of ended iterations since the last human decision, oldest first. Out: the count to show and
//! the rule that holds, if one does.
//!
//! Worked examples, threshold 3 (letters are state hashes):
//!
//! | history | rule 1 streak | rule 2 repeats | stagnant |
//! |---|---|---|---|
//! | A A A | 3 | – | same state |
//! | A B A B A B | 1 | 3 of (A B) | cycle |
//! | A B A B A | 1 | 2 of (B A) | no |
//! | A B C, failing set the same five times, nothing newly met | 1 | 1 | same failures (streak 5 = threshold + 2) |

use std::collections::BTreeMap;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::event::IterationEnded;

/// What made a loop stagnant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StagnationRule {
    /// The same hash `threshold` times in a row.
    SameState,
    /// A cycle of this length seen `threshold` times.
    Cycle(usize),
    /// The same failing tests with nothing newly met.
    SameFailures,
}

/// The count to show and whether it is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stagnation {
    /// The largest of the three counts.
    pub count: u32,
    /// The rule that holds.
    pub rule: Option<StagnationRule>,
}

/// What one iteration is compared by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    /// The state hash.
    pub hash: String,
    /// The failing set; empty when nothing failed.
    pub failing: Vec<String>,
    /// Names of met indicators.
    pub met: Vec<String>,
}

impl From<&IterationEnded> for Fingerprint {
    fn from(ended: &IterationEnded) -> Self {
        Self { hash: ended.state_hash.clone(), failing: ended.failing.clone(), met: ended.met.clone() }
    }
}

/// Counts and decides.
pub fn assess(history: &[Fingerprint], threshold: u32) -> Stagnation {
    let same = streak(history);
    let (repeats, length) = longest_cycle(history);
    let failures = failure_streak(history);
    let rule = if same >= threshold {
        Some(StagnationRule::SameState)
    } else if repeats >= threshold {
        Some(StagnationRule::Cycle(length))
    } else if failures >= threshold + 2 {
        Some(StagnationRule::SameFailures)
    } else {
        None
    };
    Stagnation { count: same.max(repeats).max(failures.saturating_sub(2)), rule }
}

fn streak(history: &[Fingerprint]) -> u32 {
    let Some(last) = history.last() else { return 0 };
    history.iter().rev().take_while(|f| f.hash == last.hash).count() as u32
}

/// Full repeats of the best cycle of length 2–4 at the end; a run of one state is no cycle.
fn longest_cycle(history: &[Fingerprint]) -> (u32, usize) {
    let hashes: Vec<&str> = history.iter().map(|f| f.hash.as_str()).collect();
    let mut best = (0, 0);
    for length in 2..=4 {
        let mut blocks = hashes.rchunks_exact(length);
        let Some(last) = blocks.next().filter(|b| b.iter().any(|h| h != &b[0])) else {
            continue;
        };
        let repeats = 1 + blocks.take_while(|b| b == &last).count() as u32;
        if repeats > best.0 {
            best = (repeats, length);
        }
    }
    best
}

fn failure_streak(history: &[Fingerprint]) -> u32 {
    let Some(last) = history.last().filter(|f| !f.failing.is_empty()) else {
        return 0;
    };
    let mut count = 0;
    let mut later: Option<&Fingerprint> = None;
    for fingerprint in history.iter().rev() {
        let gained = later.is_some_and(|l| l.met.iter().any(|m| !fingerprint.met.contains(m)));
        if fingerprint.failing != last.failing || gained {
            break;
        }
        count += 1;
        later = Some(fingerprint);
    }
    count
}

/// What the state hash is made of.
#[derive(Debug, Clone, Default)]
pub struct StateInput<'a> {
    /// The phase's name.
    pub phase: &'a str,
    /// Met indicators.
    pub met: Vec<&'a str>,
    /// The code of the net change: path → blob (empty = deleted).
    pub code: BTreeMap<String, String>,
    /// Dirty tracked code paths with the ids of their content, where a command ends the iteration.
    pub dirty: Vec<String>,
    /// The failing set.
    pub failing: &'a [String],
}

/// The state hash: SHA-256 over canonical JSON, in hex. Six digits are shown.
pub fn state_hash(input: &StateInput<'_>) -> String {
    let mut met = input.met.clone();
    met.sort_unstable();
    let mut dirty = input.dirty.clone();
    dirty.sort_unstable();
    let canonical = json!({
        "code": input.code, "dirty": dirty, "failing": input.failing, "met": met, "phase": input.phase,
    });
    Sha256::digest(canonical.to_string().as_bytes()).iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(hashes: &str) -> Vec<Fingerprint> {
        let one = |h: char| Fingerprint { hash: h.to_string(), failing: vec![], met: vec![] };
        hashes.chars().map(one).collect()
    }

    #[test]
    fn equal_states_in_a_row_stagnate_at_the_threshold() {
        assert_eq!(assess(&history("AA"), 3), Stagnation { count: 2, rule: None });
        assert_eq!(assess(&history("BAAA"), 3).rule, Some(StagnationRule::SameState));
        assert_eq!(assess(&[], 3), Stagnation { count: 0, rule: None });
    }

    #[test]
    fn a_cycle_stagnates_when_seen_threshold_times() {
        assert_eq!(assess(&history("ABABAB"), 3).rule, Some(StagnationRule::Cycle(2)));
        assert_eq!(assess(&history("ABCABCABC"), 3).rule, Some(StagnationRule::Cycle(3)));
        assert_eq!(assess(&history("ABABA"), 3), Stagnation { count: 2, rule: None });
        assert_eq!(assess(&history("ABCDEF"), 3).rule, None);
    }

    #[test]
    fn the_same_failures_stagnate_only_when_nothing_is_newly_met() {
        let failing = |hash: &str, met: &[&str]| Fingerprint {
            hash: hash.into(),
            failing: vec!["t::a".into()],
            met: met.iter().map(ToString::to_string).collect(),
        };
        let still: Vec<_> = ["A", "B", "C", "D", "E"].iter().map(|h| failing(h, &["code_committed"])).collect();
        assert_eq!(assess(&still, 3), Stagnation { count: 3, rule: Some(StagnationRule::SameFailures) });
        let mut gained = still;
        gained[4].met.push("docs_updated".into());
        assert_eq!(assess(&gained, 3).rule, None);
    }
}
