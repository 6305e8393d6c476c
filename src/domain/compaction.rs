//! Which events of an ended loop no answer rests on any more (spec 3.1).
//!
//! In: the loop's records. Out: ids that may go. What stays gives the same state for every question: each newest run of
//! a command with a verdict on a code, each newest signal of a kind on a code, every iteration, every decision.

use std::collections::HashSet;

use super::event::{Event, Record};

/// Ids of events that others supersede.
pub fn superseded(records: &[Record], loop_id: &str) -> HashSet<String> {
    let mut own: Vec<&Record> = records.iter().filter(|r| r.loop_id == loop_id).collect();
    own.sort_by(|a, b| (a.seq, &a.at, &a.id).cmp(&(b.seq, &b.at, &b.id)));
    let first_run = own.iter().position(|r| matches!(r.event, Event::TestsRan(_)));
    let newest_signal = own.iter().rposition(|r| matches!(r.event, Event::SignalGiven(_)));
    let mut kept = HashSet::new();
    let mut drop = HashSet::new();
    for (place, record) in own.iter().enumerate().rev() {
        let Some(key) = key(&record.event) else { continue };
        let is_newest = kept.insert(key);
        if !is_newest && Some(place) != first_run && Some(place) != newest_signal {
            drop.insert(record.id.clone());
        }
    }
    drop
}

/// Events with equal keys say the same; the newest is enough. `None` = always kept.
fn key(event: &Event) -> Option<String> {
    match event {
        Event::TestsRan(run) => Some(format!("run {} {:?} {} {:?}", run.command, run.verdict, run.code, run.code_all)),
        Event::SignalGiven(signal) => Some(format!("signal {:?} {}", signal.kind, signal.code)),
        Event::BranchEntered { branch, .. } => Some(format!("branch {branch}")),
        Event::FilesReported { read, .. } => Some(format!("files {}", *read > 0)),
        Event::EvaluationFailed { .. } => Some("evaluation".to_owned()),
        Event::GateOpened { .. } => Some("gate".to_owned()),
        _ => None,
    }
}
