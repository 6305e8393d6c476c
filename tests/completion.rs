use std::fs;

use crate::support::TestRepo;

/// A loop whose gate is open, started from a task document.
fn open_gate(tracked: bool) -> TestRepo {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.write("check.sh", "true\n");
    repo.commit("check");
    if !tracked {
        fs::create_dir_all(repo.dir.join(".git/info")).unwrap();
        fs::write(repo.dir.join(".git/info/exclude"), ".agent/\n").unwrap();
    }
    repo.write(".agent/tasks/TASK-9-login.md", "# Log in\n\n**Status**: 🚧 In Progress\n");
    repo.commit("task");
    repo.git(&["switch", "-q", "-c", "task-9-login"]);
    repo.nav(&["start", "--task-file", ".agent/tasks/TASK-9-login.md", "--test", "sh check.sh"]).ok();
    repo.commit_file("src/login.rs", "login\n", "add login");
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    repo
}

fn steps(repo: &TestRepo, args: &[&str]) -> Vec<(String, String)> {
    let said = repo.nav(&[&["complete", "--json"], args].concat()).json();
    let steps = said["steps"].as_array().unwrap_or_else(|| panic!("{said}"));
    steps.iter().map(|s| (s["step"].as_str().unwrap().into(), s["result"].as_str().unwrap().into())).collect()
}

fn pairs(expected: [&str; 5]) -> Vec<(String, String)> {
    let names = ["commit", "archive", "ticket", "marker", "compact"];
    names.iter().zip(expected).map(|(n, r)| ((*n).to_owned(), r.to_owned())).collect()
}

#[test]
fn without_commit_nothing_is_committed_and_what_is_left_is_named() {
    let repo = open_gate(true);
    repo.write("README.md", "# dirty\n");
    let head = repo.head();
    let said = repo.nav(&["complete"]).ok();
    assert_eq!(head, repo.head());
    for words in [
        "1. commit changes: skipped (left in the work tree without --commit: README.md)",
        "2. archive task document: done",
        "3. close ticket: skipped (TASK-9 is open",
        "4. create completion marker: done",
        "5. suggest compaction: done",
        "Left in the work tree: README.md",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(repo.dir.join(".agent/tasks/archive/TASK-9-login.md").exists());
    assert!(repo.git(&["status", "--porcelain"]).contains("R  .agent/tasks/TASK-9-login.md"), "moved by git mv");
}

#[test]
fn with_commit_the_rest_goes_in_one_commit_and_document_and_marker_in_another() {
    let repo = open_gate(true);
    repo.write("README.md", "# more\n");
    repo.write(".mino/state.yml", "never\n");
    let before = repo.head();
    assert_eq!(steps(&repo, &["--commit"]), pairs(["done", "done", "skipped", "done", "done"]));
    let log = repo.git(&["log", "--format=%s", &format!("{before}..HEAD")]);
    assert_eq!(log, "complete: Log in\nLog in");
    let first = repo.git(&["show", "--name-only", "--format=", "HEAD~1"]);
    assert_eq!(first, "README.md");
    let second = repo.git(&["show", "--name-status", "--format=", "--no-renames", "HEAD"]);
    assert!(
        second.contains("A\t.agent/.context-markers/") && second.contains("A\t.agent/tasks/archive/TASK-9-login.md"),
        "{second}"
    );
    assert!(!repo.git(&["ls-files"]).contains(".mino"), "bookkeeping of other tools goes into no commit of ours");
    assert_eq!(repo.nav(&["gate"]).code, 0, "{}", repo.nav(&["gate"]).out);
    assert_eq!(repo.indicator("ticket_closed"), "met");
}

#[test]
fn ignored_documents_and_markers_are_moved_and_written_without_git() {
    let repo = open_gate(false);
    let head = repo.head();
    assert_eq!(steps(&repo, &["--commit"]), pairs(["skipped", "done", "skipped", "done", "done"]));
    assert_eq!(head, repo.head());
    assert!(repo.dir.join(".agent/tasks/archive/TASK-9-login.md").exists());
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_untracked_document_whose_name_is_a_pattern_is_no_tracked_one() {
    let repo = TestRepo::new();
    repo.write("check.sh", "true\n");
    repo.write(".agent/tasks/abc.md", "# Another\n");
    repo.commit("check");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.write(".agent/tasks/a*.md", "# Mine\n");
    repo.nav(&["start", "--task-file", ".agent/tasks/a*.md", "--test", "sh check.sh"]).ok();
    repo.write("src/login.rs", "login\n");
    repo.git(&["add", "src"]);
    repo.git(&["commit", "-q", "-m", "add login"]);
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    assert_eq!(steps(&repo, &[])[1].1, "done");
    assert!(repo.dir.join(".agent/tasks/archive/a*.md").exists());
    assert!(repo.dir.join(".agent/tasks/abc.md").exists());
}

#[test]
fn completing_twice_changes_nothing() {
    let repo = open_gate(true);
    let first = steps(&repo, &["--commit"]);
    let (head, notes) = (repo.head(), repo.git(&["rev-parse", "refs/notes/nav-loop"]));
    assert_eq!(first, steps(&repo, &["--commit"]));
    repo.nav(&["status"]).ok();
    assert_eq!(head, repo.head());
    assert_eq!(notes, repo.git(&["rev-parse", "refs/notes/nav-loop"]));
    let markers = fs::read_dir(repo.dir.join(".agent/.context-markers")).unwrap().count();
    assert_eq!(markers, 1);
}

#[test]
fn status_and_log_end_with_the_five_criteria() {
    let repo = open_gate(true);
    assert!(repo.status()["success"].is_null());
    repo.nav(&["complete", "--commit"]).ok();
    let success = repo.status()["success"].clone();
    for key in [
        "within_max_iterations",
        "no_stagnation_pause",
        "signal_and_heuristics",
        "marker_with_state",
        "progress_each_iteration",
    ] {
        assert_eq!(success[key], true, "{key} {success}");
    }
    let said = repo.nav(&["--lang", "zh", "log"]).ok();
    assert!(said.contains("[x] EXIT_SIGNAL+启发式都满足"), "{said}");
}

#[cfg(feature = "failpoints")]
#[test]
fn after_a_crash_between_any_two_steps_it_goes_on_at_the_first_that_is_not_recorded() {
    for crash in ["commit", "archive", "ticket", "marker", "compact", "completed"] {
        let repo = open_gate(true);
        repo.write("README.md", "# more\n");
        let before = repo.head();
        let said = repo.nav_env(&[("NAV_LOOP_FAIL_AT", crash)], &["complete", "--commit"]);
        assert_ne!(said.code, 0);
        assert_eq!(steps(&repo, &["--commit"]), pairs(["done", "done", "skipped", "done", "done"]), "{crash}");
        assert_eq!(repo.git(&["rev-list", "--count", &format!("{before}..HEAD")]), "2", "{crash}");
        assert_eq!(repo.status()["loop"]["state"], "completed");
        assert_eq!(repo.events().iter().filter(|e| *e == "loop_completed").count(), 1);
    }
}

#[test]
fn a_closed_gate_completes_nothing_and_answers_as_the_gate() {
    let repo = TestRepo::looping();
    repo.nav(&["complete"]).fails(1, "CONTINUE");
    repo.nav(&["signal", "exit"]).ok();
    repo.nav(&["complete"]).fails(3, "BLOCKED");
    assert_eq!(repo.status()["loop"]["state"], "running");
}
