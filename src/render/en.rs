//! English.

use super::{
    Phrases, clock,
    visible::{visible, visible_short},
};
use crate::domain::{
    diagnosis::Diagnosis,
    event::{PauseReason, SignalKind},
    gate::{GateReason, Verdict},
    indicator::{Indicator, Reason},
    stagnation::StagnationRule,
    status::{LastAction, NextAction, Status},
    success::Criterion,
    test_run::TestVerdict,
};

/// The fixed phrases.
pub const PHRASES: Phrases = Phrases {
    colon: ": ",
    comma: ", ",
    open: " (",
    close: ")",
    activated: "LOOP MODE ACTIVATED",
    task: "Task",
    max_iterations: "Max iterations",
    stagnation_threshold: "Stagnation threshold",
    starting: "Starting iteration 1...",
    phase: "Phase",
    iteration: "Iteration",
    progress: "Progress",
    indicators_heading: "Completion Indicators",
    exit_conditions: "Exit Conditions",
    heuristics: "Heuristics",
    need: |n| format!("need {n}+"),
    state_hash: "State Hash",
    previous_hash: "Previous Hash",
    none: "none",
    stagnation: "Stagnation",
    next_action: "Next Action",
    loop_complete: "LOOP COMPLETE",
    iterations: "Iterations",
    final_phase: "Final Phase: COMPLETE",
    passed: "passed",
    accepted: "accepted as it stands",
    summary: "Summary",
    nothing_committed: "nothing committed",
    no_config: "Loop mode config not found in .nav-config.json.",
    using_defaults: "Using defaults: max_iterations=5, stagnation_threshold=3",
    skipped_no_tracker: " (skipped - no PM tool)",
    skipped_disabled: " (skipped - simplification is off)",
    skipped_no_code: " (skipped - no code changes)",
    stagnation_detected: "STAGNATION DETECTED",
    max_reached: "MAX ITERATIONS REACHED",
    indicator,
    loop_id: "Loop",
    tests: "Tests",
    pinned_by_first_run: " (pinned by first run)",
    target: "Target",
    no_target: "none",
    not_looked: "worktree: not looked at",
    config_changed: "The configuration changed since the loop started; the loop keeps what it was started with.",
    incidents: "Something went wrong in a hook; see git nav-loop doctor. Newest",
    waiting: "Events wait to be written into the journal",
    last_action: "Last Action",
    anchor: "Anchor",
    evidence: "Evidence",
    signal: "Signal",
    check_with: "Check with plain git",
    weak: "weak: the gate opens with neither committed code nor passing tests",
    time: "Time",
    commit: "Commit",
    indicators: "Indicators",
    verdict: "Verdict",
    success,
    same_state: |n| format!("Same state detected for {n} consecutive iterations."),
    current_state: "Current State",
    causes_heading: "Possible causes",
    causes: [
        "Blocked by external dependency",
        "Unclear requirements",
        "Test failures preventing progress",
        "Missing context or permissions",
    ],
    options: "Options",
    stagnation_options: [
        "[Continue] - Try one more iteration",
        "[Clarify] - Explain what's blocking",
        "[Abort] - End loop, manual intervention",
    ],
    without_completion: |max| format!("Completed {max} iterations without full completion."),
    progress_made: "Progress made",
    limit_options: [
        "[Extend] - Add 3 more iterations",
        "[Complete] - Accept current state as done",
        "[Abort] - Exit without completion",
    ],
    person_decides: "A person decides",
    protocol: "Completion protocol",
    protocol_step,
    protocol_result: |result| match result {
        "done" => "done",
        "failed" => "failed",
        _ => "skipped",
    },
    left: "Left in the work tree",
    choose: |n| format!("Your choice (1-{n}): "),
    what_blocks: "What blocks: ",
    not_understood: "Answer with a number of the list, or with its word.",
    other_options: [
        "[Continue] - Try one more iteration",
        "[Clarify] - Explain what's blocking",
        "[Complete] - Accept current state as done",
        "[Abort] - End loop, manual intervention",
    ],
    driver_gone: "The driver of this loop is gone; git nav-loop run --resume goes on at this iteration.",
    task_changed: |file| format!("{file} changed since the loop started; the loop keeps the text it was started with."),
    usage_limit: |left| format!("The agent's usage limit is reached; going on in {}. Ctrl-C stops.", clock(left)),
    usage_limit_over: "The wait for the usage limit is over.",
    synced: |remote, n, pushed| {
        format!("{remote}: {n} notes received, {}", if pushed { "ours pushed" } else { "nothing to push" })
    },
    replay_same: |n| format!("{n} recorded verdicts are what the objects give"),
    rests_on_record: "Rests on record only",
    ticket_open: "open",
    ticket_closed: "closed",
    repeats,
    missing: "Missing",
    failing: "Failing",
    phase_action: |phase| match phase {
        "RESEARCH" => "Explore codebase, find patterns",
        "IMPL" => "Write code, make changes",
        "VERIFY" => "Run tests, validate functionality, simplify code",
        "COMPLETE" => "All indicators met, ready to exit",
        _ => "Load context, understand requirements",
    },
};

fn success(criterion: Criterion) -> &'static str {
    match criterion {
        Criterion::WithinLimit => "task completed within max_iterations",
        Criterion::NoStagnation => "no stagnation pause, or resolved",
        Criterion::BothConditions => "EXIT_SIGNAL and heuristics both satisfied",
        Criterion::MarkerWritten => "completion marker includes the loop state",
        Criterion::ProgressSeen => "clear progress at each iteration",
    }
}

fn protocol_step(step: &str) -> &'static str {
    match step {
        "commit" => "commit changes",
        "archive" => "archive task document",
        "ticket" => "close ticket",
        "marker" => "create completion marker",
        _ => "suggest compaction",
    }
}

fn repeats(found: &Diagnosis) -> String {
    match found.rule {
        Some(StagnationRule::SameState) => format!("The same state {} times", found.repeats),
        Some(StagnationRule::Cycle(n)) => format!("A cycle of {n} states {} times", found.repeats),
        Some(StagnationRule::SameFailures) => "The same failing tests, and nothing newly met".into(),
        None => "Nothing repeats".into(),
    }
}

fn indicator(indicator: Indicator) -> &'static str {
    match indicator {
        Indicator::CodeCommitted => "Code changes committed",
        Indicator::TestsPassing => "Tests passing",
        Indicator::CodeSimplified => "Code simplified",
        Indicator::DocsUpdated => "Documentation updated",
        Indicator::TicketClosed => "Ticket closed",
        Indicator::MarkerCreated => "Marker created",
    }
}

fn plural(n: usize, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// Why an indicator is what it is.
pub fn reason(reason: &Reason) -> String {
    let v = |text: &String| visible_short(text, 160);
    match reason {
        Reason::Committed { commits, paths, looked } => {
            let note = if *looked { "" } else { "; worktree: not looked at" };
            {
                let verb = if *commits == 1 { "changes" } else { "change" };
                format!("{} {verb} {}{note}", plural(*commits, "own commit"), plural(*paths, "path"))
            }
        }
        Reason::NoOwnCommit => "no commit of this loop yet".into(),
        Reason::NoNetChange => "the commits of this loop leave no code changed".into(),
        Reason::Dirty { first, count } => format!("not committed: {} ({} in all)", v(first), plural(*count, "path")),
        Reason::TestsPassed { command, head } => format!("`{}` passed on this code, at {}", v(command), head.short()),
        Reason::NoTestRun { pinned: Some(command) } => format!("no run of `{}` is recorded for this code", v(command)),
        Reason::NoTestRun { pinned: None } => "no test run is recorded: git nav-loop test -- COMMAND".into(),
        Reason::TestsFailed { command, failing } => match failing.first() {
            Some(first) => format!("`{}` failed on this code: {}", v(command), v(first)),
            None => format!("`{}` failed on this code", v(command)),
        },
        Reason::TestsError { command, why } => format!("`{}` ended in an error on this code: {}", v(command), v(why)),
        Reason::TestsStale { passed: true, head } => format!("stale: passed at {}, code changed since", head.short()),
        Reason::TestsStale { passed: false, head } => {
            format!("stale: did not pass at {}, code changed since", head.short())
        }
        Reason::OtherCommandPassed { command, pinned } => {
            format!("`{}` passed, but the loop's test command is `{}`", v(command), v(pinned))
        }
        Reason::SimplificationDisabled => "simplification.enabled is false".into(),
        Reason::NoCodeToSimplify => "the net change holds no code".into(),
        Reason::SimplifiedBy { commit } => format!("commit {} simplifies", commit.short()),
        Reason::SimplifiedRecorded { commit } => format!("recorded at {}", commit.short()),
        Reason::NoSimplification => "no commit after the first simplifies code (refactor:, simplify:, cleanup:)".into(),
        Reason::SimplifiedButFailing => "the newest test run on this code failed".into(),
        Reason::DocsChanged { path, count: 1 } => format!("{} changed", v(path)),
        Reason::DocsChanged { path, count } => format!("{} and {} more changed", v(path), count - 1),
        Reason::NoDocs => "no documentation changed".into(),
        Reason::DocsWhiteSpaceOnly => "documentation changed in white space, name or not at all in words".into(),
        Reason::NoTracker => "no PM tool, and nothing names a ticket".into(),
        Reason::NoTicketNamed => "nothing names the ticket: start --ticket N, or a branch named after it".into(),
        Reason::TicketOpen { ticket } => format!("nothing closes {}", v(ticket)),
        Reason::TicketClosedBy { ticket, commit } => format!("commit {} closes {}", commit.short(), v(ticket)),
        Reason::TaskDocArchived { path } => format!("{} was moved to the archive", v(path)),
        Reason::TaskDocDone { path } => format!("the status of {} turned to done", v(path)),
        Reason::TrackerClosed { ticket } => format!("the tracker says that {} is closed", v(ticket)),
        Reason::MarkerInTree { path } => format!("{} is committed", v(path)),
        Reason::MarkerRecorded { path } => format!("{} is recorded in the journal", v(path)),
        Reason::MarkerOnDisk { path } => format!("{}: seen on disk only, ignored by git", v(path)),
        Reason::NoMarker => "no completion marker: git nav-loop mark".into(),
    }
}

/// What to do next.
pub fn next_action(action: &NextAction) -> String {
    match action {
        NextAction::Resume(PauseReason::MaxIterations | PauseReason::Limit) => {
            "a person decides: git nav-loop resume extend | resume complete | abort".into()
        }
        NextAction::Resume(_) => {
            "a person decides: git nav-loop resume continue | resume clarify \"TEXT\" | abort".into()
        }
        NextAction::Ended => "none, the loop has ended".into(),
        NextAction::Complete => "git nav-loop complete".into(),
        NextAction::Missing(missing) => format!("Missing: {}", names(missing)),
        NextAction::LoadContext => "Load context, understand requirements".into(),
        NextAction::Explore => "Explore codebase, find patterns".into(),
        NextAction::FixTest(test) => format!("Fix {}", visible_short(test, 120)),
        NextAction::RunTests(Some(command)) => format!("Run tests: git nav-loop test ({})", visible_short(command, 80)),
        NextAction::RunTests(None) => "Run tests: git nav-loop test -- COMMAND".into(),
        NextAction::CommitWork { simplify_first: true } => "Simplify code, then commit".into(),
        NextAction::CommitWork { simplify_first: false } => "Commit changes".into(),
        NextAction::Do(Indicator::TestsPassing) => "Run tests: git nav-loop test".into(),
        NextAction::Do(Indicator::CodeSimplified) => "Simplify code (commit subject refactor: …)".into(),
        NextAction::Do(Indicator::DocsUpdated) => "Update documentation".into(),
        NextAction::Do(Indicator::TicketClosed) => "Close the ticket".into(),
        NextAction::Do(Indicator::MarkerCreated) => "Create a completion marker: git nav-loop mark".into(),
        NextAction::Do(Indicator::CodeCommitted) => "Commit changes".into(),
        NextAction::GiveSignal => {
            "Give the exit signal if nothing is left: git nav-loop signal exit --reason \"…\"".into()
        }
    }
}

/// What happened last.
pub fn last_action(action: &LastAction) -> String {
    match action {
        LastAction::Started => "start".into(),
        LastAction::Committed(subject) => format!("commit: {}", visible_short(subject, 120)),
        LastAction::Tested(command, verdict) => {
            let verdict = match verdict {
                TestVerdict::Pass => "passed",
                TestVerdict::Fail => "failed",
                TestVerdict::Error => "error",
            };
            format!("test: {} {verdict}", visible_short(command, 100))
        }
        LastAction::Signalled(SignalKind::Exit) => "signal: exit".into(),
        LastAction::Signalled(SignalKind::False) => "signal: not yet".into(),
        LastAction::Signalled(SignalKind::Failed) => "signal: failed".into(),
        LastAction::TurnEnded(n) => format!("turn {n} ended"),
    }
}

fn names(indicators: &[Indicator]) -> String {
    indicators.iter().map(|i| i.name()).collect::<Vec<_>>().join(", ")
}

/// The one line that says the gate's answer.
pub fn verdict_line(status: &Status) -> String {
    let gate = &status.gate;
    match (gate.verdict, gate.reason) {
        (Verdict::Exit, _) if gate.weak => {
            "EXIT: all criteria met (weak: neither committed code nor passing tests)".into()
        }
        (Verdict::Exit, _) => "EXIT: all criteria met".into(),
        (Verdict::Continue, GateReason::AwaitingSignal) => "CONTINUE: awaiting explicit signal".into(),
        (Verdict::Continue, GateReason::Vetoed) => match visible_short(&status.signal_reason, 160).as_str() {
            "" => "CONTINUE: vetoed by an explicit false".into(),
            reason => format!("CONTINUE: vetoed: {reason}"),
        },
        (Verdict::Continue, GateReason::TestsFailed) => "CONTINUE: more work, a recorded test run failed".into(),
        (Verdict::Continue, _) => "CONTINUE: more work".into(),
        (Verdict::Blocked, GateReason::TestsFailed) => {
            "BLOCKED: a recorded test run failed, missing tests_passing".into()
        }
        (Verdict::Blocked, _) => format!("BLOCKED: insufficient indicators, missing {}", names(&gate.missing)),
        (Verdict::Paused, _) => format!("PAUSED: {}", pause(gate.pause, &status.pause_why)),
        (Verdict::Unknown, _) => "UNKNOWN: it cannot be judged".into(),
    }
}

fn pause(reason: Option<PauseReason>, why: &str) -> String {
    match reason {
        Some(PauseReason::Stagnation) => "stagnation".into(),
        Some(PauseReason::MaxIterations) => "max iterations reached".into(),
        Some(PauseReason::Limit) => "a limit is reached".into(),
        Some(PauseReason::Approval) => "a person's approval is due".into(),
        Some(PauseReason::AgentFailed) => "the agent failed three times running".into(),
        Some(PauseReason::AgentBlocked) | None => format!("the agent says it cannot go on: {}", visible(why)),
    }
}
