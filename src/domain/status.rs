//! The one view that rendering sees: everything a status block, a verdict line or their JSON say.
//!
//! In: facts and state of one moment. Out: plain values; the rules for next action, last action and progress items
//! are here (spec 1.8).

use std::collections::BTreeMap;

use super::{
    event::{Driver, PauseReason, SignalKind},
    evidence::{Evidence, SignalState, gather},
    facts::Facts,
    gate::{Gate, Thresholds, judge},
    indicator::{Indicator, Indicators, assess},
    oid::Oid,
    phase::{Phase, PhaseInput, detect, progress},
    stagnation::{self, Fingerprint, Stagnation, StateInput, state_hash},
    state::{LoopState, LoopStatus},
    success::{self, Success},
    test_run::TestVerdict,
};

/// What to do next, first that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is worded in render/en.rs")]
pub enum NextAction {
    Resume(PauseReason),
    Ended,
    Complete,
    Missing(Vec<Indicator>),
    LoadContext,
    Explore,
    FixTest(String),
    RunTests(Option<String>),
    CommitWork { simplify_first: bool },
    Do(Indicator),
    GiveSignal,
}

/// What happened last.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is worded in render/en.rs")]
pub enum LastAction {
    Started,
    Committed(String),
    Tested(String, TestVerdict),
    Signalled(SignalKind),
    TurnEnded(u32),
}

/// A loop at one moment.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the field names are those of `status --json` (spec 1.10)")]
pub struct Status {
    pub loop_id: String,
    pub title: String,
    pub branch: Option<String>,
    pub anchor: Oid,
    pub head: Oid,
    pub target: Option<(String, Oid)>,
    pub loop_status: LoopStatus,
    pub pause_why: String,
    pub driver: Driver,
    pub iteration: u32,
    pub max_iterations: u32,
    pub phase: Phase,
    pub progress: u32,
    pub indicators: Indicators,
    pub gate: Gate,
    pub min_indicators: u32,
    pub signal_state: SignalState,
    pub signal_reason: String,
    pub exit_signal: bool,
    pub state_hash: String,
    pub previous_hash: Option<String>,
    pub stagnation: Stagnation,
    pub threshold: u32,
    pub last_action: LastAction,
    pub next_action: NextAction,
    pub progress_items: Vec<String>,
    pub tests: Option<String>,
    pub tests_pinned_by_first_run: bool,
    pub looked: bool,
    pub dirty: Option<u32>,
    pub disk_marker: bool,
    pub failing: Vec<String>,
    pub show_block: bool,
    pub task_changed: Option<String>,
    pub success: Option<Success>,
}

/// Which moment is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Between two iterations.
    Between,
    /// At the end of one: its own record counts, and its phase is never INIT.
    IterationEnd,
}

/// Derives the view.
pub fn view(facts: &Facts, state: &LoopState, moment: Moment) -> Status {
    let evidence = gather(facts, state);
    let indicators = assess(&evidence);
    let pause = match state.status {
        LoopStatus::Paused(reason) => Some(reason),
        _ => None,
    };
    let thresholds = Thresholds::of(&state.settings);
    let gate = judge(&indicators, evidence.signal.state, evidence.tests.failure.is_some(), &thresholds, pause);
    let phase = detect(phase_input(facts, state, &evidence, &gate, moment));
    let hash = hash(facts, state, &evidence, &indicators, phase);
    let failing = failing(&evidence);
    let stagnation = stagnant(state, &hash, &failing, &indicators, moment);
    Status {
        loop_id: state.id.clone(),
        title: state.started.title.clone(),
        branch: state.branch.clone(),
        anchor: facts.anchor.clone(),
        head: facts.head.clone(),
        target: facts.target.as_ref().map(|t| (t.name.clone(), t.id.clone())),
        loop_status: state.status.clone(),
        pause_why: state.pause_why.clone(),
        driver: state.driver,
        iteration: state.shown_iteration(),
        max_iterations: state.settings.max_iterations,
        progress: progress(phase, indicators.met(), indicators.total()),
        next_action: next_action(state, &evidence, &indicators, &gate, phase),
        last_action: last_action(facts, state),
        progress_items: progress_items(facts, state, &indicators),
        exit_signal: evidence.signal.state == SignalState::Valid,
        signal_state: evidence.signal.state,
        signal_reason: evidence.signal.reason.clone(),
        previous_hash: state.history.last().map(|h| h.what.state_hash.clone()),
        threshold: state.settings.stagnation_threshold,
        min_indicators: state.settings.min_indicators,
        tests: evidence.tests.pinned.clone(),
        tests_pinned_by_first_run: evidence.tests.pinned_by_first_run,
        looked: evidence.dirty.is_some(),
        dirty: evidence.dirty.as_ref().map(|d| d.len() as u32),
        disk_marker: matches!(evidence.marker, Some(super::evidence::MarkerEvidence::OnDisk(_))),
        show_block: state.settings.show_status_block,
        task_changed: facts.task_changed.clone(),
        success: success::judge(state),
        state_hash: hash,
        failing,
        stagnation,
        phase,
        indicators,
        gate,
    }
}

fn phase_input(facts: &Facts, state: &LoopState, evidence: &Evidence, gate: &Gate, moment: Moment) -> PhaseInput {
    let newest = evidence.tests.newest.as_ref().map(|r| r.verdict);
    let changed = !evidence.work.is_empty() || facts.net_code().next().is_some();
    PhaseInput {
        gate_open: gate.is_open(),
        tests_running: facts.tests_running,
        newest_passed: newest == Some(TestVerdict::Pass),
        newest_failed: newest == Some(TestVerdict::Fail),
        code_changed: changed || evidence.dirty.as_ref().is_some_and(|d| !d.is_empty()),
        turn_ended: state.files_read || !state.history.is_empty() || moment == Moment::IterationEnd,
    }
}

fn failing(evidence: &Evidence) -> Vec<String> {
    evidence.tests.failure.as_ref().map(|r| r.failing.clone()).unwrap_or_default()
}

fn hash(facts: &Facts, state: &LoopState, evidence: &Evidence, indicators: &Indicators, phase: Phase) -> String {
    let counted = facts.net.iter().filter(|n| if state.started.docs_only { n.says_something } else { n.is_code });
    let code: BTreeMap<String, String> = counted
        .map(|n| (n.change.path.to_string(), n.change.after.as_ref().map(|e| e.id.to_string()).unwrap_or_default()))
        .collect();
    let met = indicators.in_state(super::indicator::IndicatorState::Met).map(Indicator::name).collect();
    let dirty = evidence.dirty_content.clone();
    state_hash(&StateInput { phase: phase.name(), met, code, dirty, failing: &failing(evidence) })
}

fn stagnant(state: &LoopState, hash: &str, failing: &[String], indicators: &Indicators, moment: Moment) -> Stagnation {
    let mut history: Vec<Fingerprint> = state.streak_history().iter().map(|h| Fingerprint::from(&h.what)).collect();
    if moment == Moment::IterationEnd {
        let met = indicators.in_state(super::indicator::IndicatorState::Met).map(|i| i.name().to_owned()).collect();
        history.push(Fingerprint { hash: hash.to_owned(), failing: failing.to_vec(), met });
    }
    stagnation::assess(&history, state.settings.stagnation_threshold)
}

fn next_action(
    state: &LoopState,
    evidence: &Evidence,
    indicators: &Indicators,
    gate: &Gate,
    phase: Phase,
) -> NextAction {
    if state.is_ended() {
        return NextAction::Ended;
    }
    if gate.is_open() {
        return NextAction::Complete;
    }
    if let Some(reason) = gate.pause {
        return NextAction::Resume(reason);
    }
    if evidence.signal.state == SignalState::Valid {
        return NextAction::Missing(gate.missing.clone());
    }
    match phase {
        Phase::Init => NextAction::LoadContext,
        Phase::Research => NextAction::Explore,
        Phase::Impl => match &evidence.tests.failure {
            Some(run) => NextAction::FixTest(run.failing.first().cloned().unwrap_or_else(|| run.command.to_string())),
            None => NextAction::RunTests(evidence.tests.pinned.clone()),
        },
        Phase::Verify | Phase::Complete => after_tests(state, evidence, indicators, gate),
    }
}

/// VERIFY: commit what is not committed, else the first unmet indicator, else the signal.
fn after_tests(state: &LoopState, evidence: &Evidence, indicators: &Indicators, gate: &Gate) -> NextAction {
    let is_unmet =
        |i| indicators.0.iter().any(|f| f.indicator == i && f.state == super::indicator::IndicatorState::Unmet);
    if is_unmet(Indicator::CodeCommitted) && evidence.dirty.as_ref().is_none_or(|d| !d.is_empty()) {
        let simplify_first = state.settings.simplification && is_unmet(Indicator::CodeSimplified);
        return NextAction::CommitWork { simplify_first };
    }
    if gate.missing.is_empty() {
        return NextAction::GiveSignal;
    }
    let order = [
        Indicator::TestsPassing,
        Indicator::CodeSimplified,
        Indicator::DocsUpdated,
        Indicator::TicketClosed,
        Indicator::MarkerCreated,
    ];
    order.into_iter().find(|i| is_unmet(*i)).map_or(NextAction::GiveSignal, NextAction::Do)
}

fn last_action(facts: &Facts, state: &LoopState) -> LastAction {
    let commit = facts.own.last().map(|c| (c.at.clone(), LastAction::Committed(c.subject.clone())));
    let run = state.runs.last().map(|r| (r.at.clone(), LastAction::Tested(r.what.command.to_string(), r.what.verdict)));
    let signal = state.signals.last().map(|s| (s.at.clone(), LastAction::Signalled(s.what.kind)));
    let ended = state.history.last().filter(|h| h.what.driver != Driver::Commit);
    let turn = ended.map(|h| (h.at.clone(), LastAction::TurnEnded(h.what.iteration)));
    let newest = [turn, commit, run, signal].into_iter().flatten().max_by(|a, b| a.0.cmp(&b.0));
    newest.map_or(LastAction::Started, |(_, action)| action)
}

/// Subjects of own commits that touch the net change, newly met indicators, or nothing: at most five and a count.
fn progress_items(facts: &Facts, _state: &LoopState, indicators: &Indicators) -> Vec<String> {
    let subjects: Vec<String> = facts.own.iter().rev().map(|c| c.subject.clone()).collect();
    let mut items = if facts.net.is_empty() || subjects.is_empty() {
        indicators.in_state(super::indicator::IndicatorState::Met).map(|i| i.name().to_owned()).collect()
    } else {
        subjects
    };
    let more = items.len().saturating_sub(5);
    items.truncate(5);
    if more > 0 {
        items.push(format!("… and {more} more"));
    }
    items
}
