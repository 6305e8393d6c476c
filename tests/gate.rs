use serde_json::{Value, json};

use nav_loop::{
    domain::{
        evidence::SignalState,
        gate::{Thresholds, judge},
        indicator::{Finding, Indicator, IndicatorState, Indicators, Reason},
    },
    exit_code::ExitCode,
};

use crate::support::TestRepo;

const NAMES: [&str; 6] =
    ["code_committed", "tests_passing", "code_simplified", "docs_updated", "ticket_closed", "marker_created"];

/// The table of spec 1.6, written out once more.
fn expected(met: u32, signal: bool, require: bool, min: u32) -> (bool, &'static str) {
    match (met >= min, signal) {
        (true, true) => (true, "EXIT"),
        (true, false) if !require => (true, "EXIT"),
        (true, false) => (false, "CONTINUE"),
        (false, true) => (false, "BLOCKED"),
        (false, false) => (false, "CONTINUE"),
    }
}

#[test]
fn exit_gate_answers_its_truth_table_over_all_indicator_sets() {
    let repo = TestRepo::new();
    for set in 0u32..64 {
        let indicators: serde_json::Map<String, Value> =
            NAMES.iter().enumerate().map(|(i, n)| ((*n).to_owned(), json!(set >> i & 1 == 1))).collect();
        let indicators = Value::from(indicators).to_string();
        for (signal, require) in [(true, true), (true, false), (false, true), (false, false)] {
            let met = set.count_ones();
            for min in 1..=6 {
                let (signal_text, require_text) = (signal.to_string(), require.to_string());
                let said = repo.nav(&[
                    "exit-gate",
                    "--indicators",
                    &indicators,
                    "--exit-signal",
                    &signal_text,
                    "--require-explicit",
                    &require_text,
                    "--min-heuristics",
                    &min.to_string(),
                ]);
                let (exit, word) = expected(met, signal, require, min);
                let answer = said.json();
                assert_eq!(said.code, i32::from(!exit), "{said:?}");
                assert_eq!(answer["should_exit"], exit);
                assert!(answer["reason"].as_str().unwrap().starts_with(word), "{answer}");
                assert_eq!(answer["heuristics_met"], met);
            }
        }
    }
}

fn indicators(set: u32) -> Indicators {
    let finding = |(i, indicator): (usize, Indicator)| Finding {
        indicator,
        state: if set >> i & 1 == 1 { IndicatorState::Met } else { IndicatorState::Unmet },
        reason: Reason::NoDocs,
        evidence: Vec::new(),
    };
    Indicators(Indicator::ALL.into_iter().enumerate().map(finding).collect())
}

#[test]
fn gate_answers_its_truth_table_over_all_indicator_sets_with_and_without_a_failed_run() {
    for set in 0u32..64 {
        for min in 1..=6 {
            for (signal, require) in [(true, true), (true, false), (false, true), (false, false)] {
                let state = if signal { SignalState::Valid } else { SignalState::None };
                let thresholds = Thresholds { min_indicators: min, required: vec![], needs_signal: require };
                let gate = judge(&indicators(set), state, false, &thresholds, None);
                let (exit, word) = expected(set.count_ones(), signal, require, min);
                assert_eq!(gate.verdict.name(), word, "{set:06b} {signal} {require} {min}");
                let code = match word {
                    "EXIT" => 0,
                    "BLOCKED" => 3,
                    _ => 1,
                };
                assert_eq!(ExitCode::of_gate(&gate).number(), code);
                assert_eq!(gate.missing.is_empty(), set.count_ones() >= min);
                assert_eq!(exit && set & 3 == 0, gate.weak);
                let failed = judge(&indicators(set), state, true, &thresholds, None);
                assert_eq!(failed.verdict.name(), if signal { "BLOCKED" } else { "CONTINUE" });
                let vetoed = judge(&indicators(set), SignalState::Vetoed, false, &thresholds, None);
                assert_eq!(vetoed.verdict.name(), "CONTINUE");
            }
        }
    }
}

#[test]
fn exit_gate_runs_outside_a_repository_and_takes_both_flag_forms() {
    let repo = TestRepo::new();
    let outside = repo.root.path();
    let two = r#"{"code_committed":true,"tests_passing":true}"#;
    let forms: [&[&str]; 4] =
        [&["--exit-signal"], &["--exit-signal=true"], &["--exit-signal", "true"], &["--no-require-explicit"]];
    for form in forms {
        let mut args = vec!["exit-gate", "--indicators", two];
        args.extend(form);
        assert_eq!(repo.nav_in(outside, &args).code, 0, "{form:?}");
    }
    let said = repo.nav_in(outside, &["exit-gate", "--indicators", two, "--exit-signal", "false"]);
    assert_eq!(said.code, 1);
    repo.nav(&["exit-gate", "--indicators", "{nope"]).fails(1, "Invalid JSON");
    let text = repo.nav(&["exit-gate", "--indicators", two, "--output", "text"]).fails(1, "Decision: CONTINUE");
    assert!(text.out.contains("Reason: CONTINUE"));
}

#[test]
fn gate_goes_from_more_work_to_blocked_to_awaiting_to_exit() {
    let repo = TestRepo::looping();
    let said = repo.nav(&["gate"]);
    assert_eq!((said.code, said.out.lines().next().unwrap()), (1, "CONTINUE: more work"));
    repo.nav(&["signal", "exit", "--reason", "all there"]).ok();
    let blocked = repo.nav(&["gate"]);
    assert_eq!(blocked.code, 3);
    assert!(blocked.out.starts_with("BLOCKED: insufficient indicators, missing code_committed, tests_passing"));
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    let waiting = repo.nav(&["gate"]);
    assert_eq!((waiting.code, waiting.out.lines().next().unwrap()), (1, "CONTINUE: awaiting explicit signal"));
    assert_eq!(repo.gate()["signal"]["state"], "stale");
    repo.nav(&["signal", "exit"]).ok();
    let open = repo.nav(&["gate"]);
    assert_eq!((open.code, open.out.lines().next().unwrap()), (0, "EXIT: all criteria met"));
}

#[test]
fn gate_json_and_exit_code_never_disagree() {
    let repo = TestRepo::looping();
    let check = |expected: i32| {
        let text = repo.nav(&["gate"]);
        let json = repo.nav(&["gate", "--json"]);
        assert_eq!((text.code, json.code), (expected, expected), "{text:?} {json:?}");
        assert_eq!(json.json()["exit_code"], expected);
    };
    check(1);
    repo.nav(&["signal", "exit"]).ok();
    check(3);
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    check(0);
    repo.nav(&["signal", "false"]).ok();
    assert_eq!(repo.gate()["reason"], "vetoed");
    check(1);
    repo.nav(&["signal", "fail", "--reason", "no network"]).ok();
    assert_eq!(repo.gate()["reason"], "paused");
    check(6);
    repo.nav(&["abort"]).ok();
    check(7);
    repo.git(&["switch", "-q", "main"]);
    check(7);
}

#[test]
fn a_recorded_failure_closes_the_gate_whatever_the_count() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.commit_file("README.md", "# A project\n\nIt has two functions.\n", "docs");
    repo.nav(&["mark"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    assert_eq!(repo.nav(&["gate"]).code, 0);
    repo.write("check.sh", "exit 1\n");
    repo.commit("break the check");
    repo.nav(&["test"]).fails(1, "");
    repo.nav(&["signal", "exit"]).ok();
    let gate = repo.gate();
    assert_eq!((gate["verdict"].as_str(), gate["reason"].as_str()), (Some("BLOCKED"), Some("tests_failed")));
    assert_eq!(gate["exit_code"], 3);
}

#[test]
fn gate_without_required_signal_opens_and_says_weak_where_nothing_hard_shows_it() {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", r#"{"loop_mode":{"exit_requires_explicit_signal":false}}"#);
    repo.commit("config");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&[]);
    repo.commit_file("README.md", "# A project\n\nNew words.\n", "docs");
    repo.nav(&["mark"]).ok();
    let gate = repo.gate();
    assert_eq!((gate["verdict"].as_str(), gate["weak"].as_bool()), (Some("EXIT"), Some(true)), "{gate}");
    assert!(repo.nav(&["gate"]).out.contains("weak"));
}

#[test]
fn a_required_indicator_holds_the_gate_shut() {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", r#"{"loop_mode":{"required_indicators":["docs_updated"]}}"#);
    repo.commit("config");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&[]);
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    let gate = repo.gate();
    assert_eq!(gate["verdict"], "BLOCKED");
    assert_eq!(gate["missing"], json!(["docs_updated"]));
}

#[test]
fn gate_reads_only() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let before = repo.git(&["for-each-ref"]);
    let objects = repo.git(&["count-objects"]);
    for command in ["gate", "explain", "diff", "list"] {
        repo.nav(&[command]);
    }
    assert_eq!(before, repo.git(&["for-each-ref"]));
    assert_eq!(objects, repo.git(&["count-objects"]));
}

#[test]
fn a_completed_loop_is_judged_anew_at_head() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    assert!(repo.nav(&["complete"]).ok().contains("LOOP COMPLETE"));
    assert_eq!(repo.nav(&["gate"]).code, 0);
    let before = repo.note(&repo.anchor()).len();
    assert!(repo.nav(&["complete"]).ok().contains("LOOP COMPLETE"));
    assert_eq!(before, repo.note(&repo.anchor()).len(), "completing twice changes nothing");
    repo.commit_file("src/lib.rs", "broken\n", "after the end");
    assert_eq!(repo.nav(&["gate"]).code, 1);
}

#[test]
fn evidence_that_opens_the_gate_wins_over_a_pause() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x", "--max-iterations", "1", "--test", "sh check.sh"]).ok();
    repo.do_the_work();
    assert_eq!(repo.status()["loop"]["paused_reason"], "max_iterations");
    assert_eq!(repo.nav(&["gate"]).code, 5);
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    assert_eq!(repo.nav(&["gate"]).code, 0);
}
