use std::fs;

use serde_json::Value;

use crate::support::TestRepo;

/// A loop with three iterations: nothing, a failing test, and done.
fn three() -> TestRepo {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.nav(&["start", "two", "--test", "sh check.sh", "--max-iterations", "9"]).ok();
    repo.nav(&["step"]);
    repo.write("check.sh", "grep -q two src/lib.rs\n");
    repo.commit_file("src/lib.rs", "one\n", "not yet");
    repo.nav(&["test"]);
    repo.nav(&["step"]);
    repo.do_the_work();
    repo.write("README.md", "dirty\n");
    repo.write("src/lib.rs", "two and dirty\n");
    repo.nav(&["step"]);
    repo.git(&["checkout", "-q", "."]);
    repo.nav(&["test"]).ok();
    repo.nav(&["mark"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    repo.nav(&["step"]);
    repo
}

/// Rewrites the loop's note by `change`, as somebody who may write notes can.
fn tamper(repo: &TestRepo, change: impl Fn(&mut Value)) {
    let anchor = repo.anchor();
    let lines: String = repo
        .note(&anchor)
        .into_iter()
        .map(|mut event| {
            change(&mut event);
            format!("{event}\n")
        })
        .collect();
    let file = repo.root.path().join("note");
    fs::write(&file, lines).unwrap();
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-F", file.to_str().unwrap(), &anchor]);
}

#[test]
fn every_verdict_that_was_recorded_is_what_objects_and_stored_inputs_give() {
    let repo = three();
    let said = repo.nav(&["replay", "--json"]).json();
    let events = said["events"].as_array().unwrap();
    assert!(events.len() >= 6, "{said}");
    assert_eq!(events.iter().filter(|e| e["what"].as_str().unwrap().starts_with("commit ")).count(), 2, "{said}");
    assert!(events.iter().all(|e| e["differs"].as_array().unwrap().is_empty()), "{said}");
    let only: Vec<&str> = said["record_only"].as_array().unwrap().iter().map(|o| o.as_str().unwrap()).collect();
    assert_eq!(only, ["exit_signal", "marker_created", "tests_passing"], "{said}");
    let text = repo.nav(&["replay"]).ok();
    assert!(
        text.contains("recorded verdicts are what the objects give")
            && text.contains("Rests on record only: exit_signal"),
        "{text}"
    );
    assert!(repo.nav(&["--lang", "zh", "replay"]).ok().contains("仅依据记录"));
    let id = repo.status()["loop"]["id"].as_str().unwrap().to_owned();
    repo.git(&["switch", "-q", "main"]);
    repo.nav(&["replay", &id]).ok();
    repo.nav(&["replay"]).fails(7, "no loop");
    repo.nav(&["replay", "2020-01-01-0000-abcdef"]).fails(2, "no loop 2020");
}

#[test]
fn a_tampered_journal_is_named_event_by_event() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 3] = [
        ("the verdict is recorded as EXIT, and the objects give CONTINUE", |e| {
            if e["type"] == "iteration_ended" && e["iteration"] == 1 {
                e["verdict"] = "EXIT".into();
            }
        }),
        ("what is met is recorded as code_committed tests_passing docs_updated", |e| {
            if e["type"] == "iteration_ended" && e["iteration"] == 1 {
                e["met"] = serde_json::json!(["code_committed", "tests_passing", "docs_updated"]);
            }
        }),
        ("and the objects give", |e| {
            if e["type"] == "tests_ran" && e["verdict"] == "fail" {
                e["verdict"] = "pass".into();
            }
        }),
    ];
    for (words, change) in cases {
        let repo = three();
        tamper(&repo, change);
        let said = repo.nav(&["replay"]);
        assert_eq!(said.code, 1, "{words}: {said:?}");
        assert!(said.out.contains(words) && said.out.contains("iteration "), "{words}: {said:?}");
    }
}

#[test]
fn a_tampered_line_on_a_commit_is_named_and_a_target_that_moved_on_names_nothing() {
    let repo = three();
    let head = repo.head();
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["merge", "-q", "--ff-only", "topic"]);
    repo.git(&["switch", "-q", "topic"]);
    repo.nav(&["replay"]).ok();
    let line = repo.note(&head).remove(0).to_string();
    let forged = line.replace("\"CONTINUE\"", "\"EXIT\"");
    assert_ne!(line, forged);
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-m", &forged, &head]);
    let said = repo.nav(&["replay"]);
    assert_eq!(said.code, 1, "{said:?}");
    assert!(
        said.out.contains(&format!("commit {} (event", &head[..7])) && said.out.contains("recorded as EXIT"),
        "{said:?}"
    );
}
