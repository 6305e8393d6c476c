//! What the end of an iteration writes into the journal (spec 1.9).
//!
//! In: the status at that end, and who ends it. Out: events, in order. Nothing is written here.

use super::{
    decision::{Decision, EndOfIteration, decide},
    diagnosis::diagnose,
    event::{Driver, Event, IterationEnded, PauseReason},
    evidence::SignalState,
    indicator::IndicatorState,
    settings::IterationApproval,
    state::LoopState,
    status::Status,
};

/// How often a loop may diversify before it ends.
const DIVERSIFICATIONS: u32 = 3;

/// Ends the iteration under way.
pub fn end(status: &Status, state: &LoopState, driver: Driver) -> Vec<Event> {
    let settings = &state.settings;
    let iteration = state.shown_iteration();
    let decision = decide(EndOfIteration {
        gate_open: status.gate.is_open(),
        agent_failed: status.signal_state == SignalState::Failed,
        approval_due: approval_due(state, iteration),
        stagnant: status.stagnation.rule.is_some(),
        never_pause: settings.never_pause_on_stagnation,
        iteration,
        max_iterations: settings.max_iterations,
    });
    let opened = Event::GateOpened { head: status.head.clone(), met: status.gate.met, total: status.gate.total };
    // Under `commit` an open gate is only noted: the number stays and nothing pauses.
    if decision == Decision::Complete && driver == Driver::Commit {
        return if state.gate_opened { Vec::new() } else { vec![opened] };
    }
    let mut events = vec![Event::IterationEnded(Box::new(ended(status, iteration, driver)))];
    match decision {
        Decision::Complete => events.push(opened),
        Decision::Pause(reason) => events.push(Event::LoopPaused { reason, why: why(status, state, reason) }),
        Decision::Diversify if state.diversified + 1 >= DIVERSIFICATIONS => events.push(Event::LoopAborted {
            reason: "stagnation: the third diversification".to_owned(),
            who: "nav-loop".to_owned(),
        }),
        Decision::Diversify => {
            let strategy = settings.stagnation_diversify_strategy.name().to_owned();
            events.push(Event::Diversified { strategy });
        }
        Decision::Next => {}
    }
    events
}

fn approval_due(state: &LoopState, iteration: u32) -> bool {
    match state.settings.iteration_approval {
        IterationApproval::None => false,
        IterationApproval::Strict => true,
        IterationApproval::Periodic => iteration.is_multiple_of(state.settings.periodic_interval.max(1)),
    }
}

fn why(status: &Status, state: &LoopState, reason: PauseReason) -> String {
    match reason {
        PauseReason::AgentBlocked => status.signal_reason.clone(),
        PauseReason::Stagnation if state.settings.tom_features.diagnose_enabled => {
            diagnose(status, &state.history).summary()
        }
        _ => String::new(),
    }
}

fn ended(status: &Status, iteration: u32, driver: Driver) -> IterationEnded {
    let names = |state| status.indicators.in_state(state).map(|i| i.name().to_owned()).collect();
    IterationEnded {
        iteration,
        driver,
        turn: None,
        head: status.head.clone(),
        target_oid: status.target.as_ref().map(|(_, id)| id.clone()),
        dirty: status.dirty,
        disk_marker: status.disk_marker,
        phase: status.phase,
        met: names(IndicatorState::Met),
        skipped: names(IndicatorState::Skipped),
        state_hash: status.state_hash.clone(),
        failing: status.failing.clone(),
        streak: status.stagnation.count,
        verdict: status.gate.verdict,
        ms: None,
        cost_micros: None,
    }
}
