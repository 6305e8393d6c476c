//! The stable machine form (spec 1.10). Keys are added, never renamed.

use serde_json::{Value, json};

use super::Language;
use crate::{
    domain::{
        evidence::SignalState,
        gate::Verdict,
        indicator::Indicator,
        state::{LoopStatus, ProtocolStep},
        status::Status,
    },
    error::Error,
    exit_code::ExitCode,
};

fn signal_name(state: SignalState) -> &'static str {
    match state {
        SignalState::None => "none",
        SignalState::Valid => "valid",
        SignalState::Stale => "stale",
        SignalState::Vetoed => "vetoed",
        SignalState::Failed => "failed",
    }
}

/// The gate's answer.
pub fn gate(status: &Status, code: ExitCode) -> Value {
    let gate = &status.gate;
    let indicators: Vec<Value> = status
        .indicators
        .0
        .iter()
        .map(|f| {
            json!({
                "name": f.indicator.name(), "state": f.state.name(),
                "reason": Language::En.reason(&f.reason), "evidence": f.evidence,
            })
        })
        .collect();
    json!({
        "v": 1,
        "loop_id": status.loop_id,
        "head": status.head,
        "target": status.target.as_ref().map(|(name, id)| json!({"name": name, "id": id})),
        "verdict": gate.verdict.name(),
        "exit_code": code.number(),
        "met": gate.met,
        "total": gate.total,
        "min_indicators": status.min_indicators,
        "weak": gate.weak,
        "missing": gate.missing.iter().map(|i| Indicator::name(*i)).collect::<Vec<_>>(),
        "reason": gate.reason.name(),
        "reason_text": Language::En.verdict_line(status),
        "signal": {"state": signal_name(status.signal_state), "reason": status.signal_reason},
        "worktree": if status.looked { "looked at" } else { "not looked at" },
        "indicators": indicators,
    })
}

/// An answer that could not be given: no loop, or it cannot be judged.
pub fn no_gate(reason: &str, error: &Error) -> Value {
    json!({
        "v": 1, "loop_id": null, "head": null, "verdict": Verdict::Unknown.name(),
        "exit_code": error.kind.exit_code().number(), "met": 0, "total": 0, "min_indicators": 0, "weak": false,
        "missing": [], "reason": reason, "reason_text": error.message, "signal": {"state": "none", "reason": ""},
        "indicators": [],
    })
}

/// The whole status: the gate's keys and the loop's.
pub fn status(status: &Status, code: ExitCode) -> Value {
    let mut value = gate(status, code);
    let paused = match status.loop_status {
        LoopStatus::Paused(reason) => Some(reason.name()),
        _ => None,
    };
    let more = json!({
        "loop": {
            "id": status.loop_id, "task": status.title, "branch": status.branch, "anchor": status.anchor,
            "state": status.loop_status.name(), "paused_reason": paused, "driver": status.driver,
        },
        "phase": status.phase.name(),
        "iteration": status.iteration,
        "max_iterations": status.max_iterations,
        "progress": status.progress,
        "state_hash": status.state_hash,
        "previous_hash": status.previous_hash,
        "stagnation": {"count": status.stagnation.count, "threshold": status.threshold},
        "last_action": Language::En.last_action(&status.last_action),
        "next_action": Language::En.next_action(&status.next_action),
        "tests": status.tests,
        "task_changed": status.task_changed,
        "success": status.success.map(|s| serde_json::Map::from_iter(s.as_pairs())),
    });
    if let (Value::Object(into), Value::Object(more)) = (&mut value, more) {
        into.extend(more);
    }
    value
}

/// The status with the completion protocol's steps.
pub fn completed(status: &Status, steps: &[ProtocolStep], left: &[String]) -> Value {
    let mut value = self::status(status, ExitCode::Done);
    let steps: Vec<Value> = steps.iter().map(|s| json!({"step": s.step, "result": s.result, "why": s.why})).collect();
    if let Value::Object(into) = &mut value {
        into.insert("steps".to_owned(), steps.into());
        into.insert("left".to_owned(), left.into());
    }
    value
}

/// An error.
pub fn error(error: &Error) -> Value {
    json!({
        "v": 1,
        "error": {"kind": error.kind.name(), "message": error.message, "hint": error.hint},
        "exit_code": error.kind.exit_code().number(),
    })
}
