use std::fs;

use crate::support::{Format, SHA1, TestRepo};

// code_committed

#[test]
fn an_empty_commit_commits_no_code() {
    let repo = TestRepo::looping();
    repo.commit("nothing");
    assert_eq!(repo.indicator("code_committed"), "unmet");
    assert_eq!(repo.reason("code_committed"), "the commits of this loop leave no code changed");
}

#[test]
fn a_commit_and_its_revert_leave_no_net_change() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    assert_eq!(repo.indicator("code_committed"), "met");
    repo.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(repo.indicator("code_committed"), "unmet");
}

#[test]
fn a_dirty_tracked_code_file_is_not_committed() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.write("src/lib.rs", "half done\n");
    assert_eq!(repo.indicator("code_committed"), "unmet");
    assert!(repo.reason("code_committed").contains("src/lib.rs"));
    repo.git(&["add", "-A"]);
    assert_eq!(repo.indicator("code_committed"), "unmet", "staged is not committed");
    repo.git(&["checkout", "-q", "HEAD", "--", "src/lib.rs"]);
    repo.write("README.md", "dirty docs do not count here\n");
    repo.write("untracked.rs", "nor do untracked files\n");
    assert_eq!(repo.indicator("code_committed"), "met");
}

#[test]
fn a_file_flagged_assume_unchanged_or_skip_worktree_is_looked_at_all_the_same() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let repo = TestRepo::looping();
        repo.do_the_work();
        repo.git(&["update-index", flag, "src/lib.rs"]);
        assert_eq!(repo.indicator("code_committed"), "met");
        repo.write("src/lib.rs", "hidden change\n");
        assert_eq!(repo.indicator("code_committed"), "unmet", "{flag}");
    }
}

#[test]
fn in_a_docs_only_loop_documentation_stands_for_code() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&["--docs-only"]);
    repo.commit_file("README.md", "# A project\n\nmore words\n", "docs");
    assert_eq!(repo.indicator("code_committed"), "met");
    repo.write("README.md", "dirty\n");
    assert_eq!(repo.indicator("code_committed"), "unmet");
}

#[test]
fn scope_narrows_code() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&["--scope", "crates/a"]);
    repo.commit_file("crates/b/x.rs", "b\n", "elsewhere");
    assert_eq!(repo.indicator("code_committed"), "unmet");
    repo.commit_file("crates/a/x.rs", "a\n", "here");
    assert_eq!(repo.indicator("code_committed"), "met");
}

#[test]
fn configuration_state_markers_and_task_documents_are_no_code() {
    let repo = TestRepo::looping();
    repo.write(".agent/.nav-config.json", "{}");
    repo.write(".mino/x.yml", "a: 1\n");
    repo.write(".claude/settings.json", "{}");
    repo.write(".agent/tasks/TASK-1-x.md", "# x\n");
    repo.write(".agent/.context-markers/note.md", "# note\n");
    repo.commit("bookkeeping");
    assert_eq!(repo.indicator("code_committed"), "unmet");
}

// foreign commits

fn commit_on(repo: &TestRepo, branch: &str, path: &str, text: &str, message: &str) {
    let back = repo.git(&["branch", "--show-current"]);
    repo.git(&["switch", "-q", branch]);
    repo.commit_file(path, text, message);
    repo.git(&["switch", "-q", &back]);
}

#[test]
fn a_merge_of_the_default_branch_brings_no_indicator() {
    let repo = TestRepo::looping();
    commit_on(&repo, "main", "README.md", "# A project\n\nOthers' words.\n", "docs by others");
    commit_on(&repo, "main", "src/other.rs", "pub fn other() {}\n", "code by others, closes #7");
    repo.commit("own, empty");
    repo.git(&["merge", "-q", "--no-edit", "main"]);
    assert_eq!(repo.indicator("docs_updated"), "unmet");
    assert_eq!(repo.indicator("code_committed"), "unmet");
}

#[test]
fn own_change_of_a_path_that_others_changed_too_is_judged_against_theirs() {
    let repo = TestRepo::looping();
    repo.commit_file("a.rs", "own\n", "own a");
    commit_on(&repo, "main", "a.rs", "theirs\n", "their a");
    repo.try_git(&["merge", "-q", "--no-edit", "main"]);
    repo.write("a.rs", "theirs\n");
    repo.commit("merge, theirs wins");
    assert_eq!(repo.indicator("code_committed"), "unmet", "nothing own is left");
    repo.commit_file("a.rs", "theirs and own\n", "own again");
    assert_eq!(repo.indicator("code_committed"), "met");
}

#[test]
fn a_fast_forward_of_the_default_branch_takes_nothing_away() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["merge", "-q", "--ff-only", "feature"]);
    repo.git(&["switch", "-q", "feature"]);
    assert_eq!(repo.indicator("code_committed"), "met");
}

#[test]
fn a_fast_forward_keeps_commits_that_no_hook_saw_when_a_program_of_ours_ran_before() {
    let repo = TestRepo::looping();
    repo.write("src/lib.rs", "pub fn three() {}\n");
    repo.git(&["-c", "core.hooksPath=/dev/null", "commit", "-qam", "unseen"]);
    repo.nav(&["status"]).ok();
    repo.git(&["-c", "core.hooksPath=/dev/null", "switch", "-q", "main"]);
    repo.git(&["-c", "core.hooksPath=/dev/null", "merge", "-q", "--ff-only", "feature"]);
    repo.git(&["-c", "core.hooksPath=/dev/null", "switch", "-q", "feature"]);
    assert_eq!(repo.indicator("code_committed"), "met");
}

#[test]
fn a_pull_into_a_loop_on_the_default_branch_brings_nothing_in() {
    let origin = TestRepo::new();
    let repo = TestRepo::empty(SHA1);
    let url = origin.dir.to_str().unwrap();
    repo.git(&["remote", "add", "origin", url]);
    repo.git(&["fetch", "-q", "origin"]);
    repo.git(&["switch", "-q", "-c", "main", "origin/main"]);
    repo.nav(&["install"]).ok();
    repo.start(&[]);
    origin.commit_file("src/lib.rs", "theirs\n", "theirs");
    repo.git(&["pull", "-q", "--ff-only"]);
    assert_eq!(repo.indicator("code_committed"), "unmet");
    assert_eq!(repo.gate()["target"]["name"], "refs/remotes/origin/main");
    repo.commit_file("own.rs", "own\n", "own");
    assert_eq!(repo.indicator("code_committed"), "met");
    origin.git(&["config", "receive.denyCurrentBranch", "ignore"]);
    repo.git(&["push", "-q", "origin", "main"]);
    assert_eq!(repo.indicator("code_committed"), "met", "pushed, and seen being made here");
}

// tests_passing

#[test]
fn a_test_before_the_commit_of_the_same_content_holds() {
    let repo = TestRepo::looping();
    repo.write("check.sh", "grep -q two src/lib.rs\n");
    repo.write("src/lib.rs", "pub fn two() {}\n");
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "unmet", "not committed yet");
    repo.commit("two");
    assert_eq!(repo.indicator("tests_passing"), "met");
}

#[test]
fn a_scratch_file_beside_the_code_holds_and_a_forgotten_source_file_does_not() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.write("scratch.log", "x\n");
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.write("src/forgotten.rs", "pub fn f() {}\n");
    repo.nav(&["test"]).ok();
    repo.commit_file("src/lib.rs", "pub fn two() { f() }\n", "forgets a file");
    repo.git(&["rm", "-q", "--cached", "src/forgotten.rs", "scratch.log"]);
    repo.git(&["commit", "-q", "--amend", "-m", "forgets a file"]);
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "unmet", "what was tested is not what is committed");
}

#[test]
fn the_first_file_of_its_kind_holds_when_the_commit_takes_everything_in() {
    let repo = TestRepo::looping();
    repo.write("check.sh", "true\n");
    repo.write("new.py", "x = 1\n");
    repo.nav(&["test"]).ok();
    repo.commit("both");
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.write("other.rb", "x\n");
    repo.write("third.pl", "x\n");
    repo.nav(&["test"]).ok();
    repo.git(&["add", "other.rb"]);
    repo.git(&["commit", "-q", "-m", "only one of two"]);
    assert_eq!(repo.indicator("tests_passing"), "unmet");
}

#[test]
fn a_readme_commit_keeps_a_run_and_fixture_markdown_and_code_make_it_stale() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.commit_file("README.md", "# A project\n\nwords\n", "docs");
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.commit_file("tests/fixture.md", "read by a test\n", "fixture");
    assert_eq!(repo.indicator("tests_passing"), "unmet");
    assert!(repo.reason("tests_passing").starts_with("stale: passed at "));
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.commit_file("src/new.rs", "fn n() {}\n", "code");
    assert_eq!(repo.indicator("tests_passing"), "unmet");
    repo.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(repo.indicator("tests_passing"), "met", "changed and changed back holds again");
}

#[test]
fn assume_unchanged_content_is_what_was_tested() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.git(&["update-index", "--assume-unchanged", "src/lib.rs"]);
    repo.write("src/lib.rs", "two, but hidden\n");
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "unmet", "the tests saw other code than HEAD's");
}

#[test]
fn a_run_with_a_dirty_submodule_is_no_evidence() {
    let sub = TestRepo::new();
    let repo = TestRepo::looping();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub.dir.to_str().unwrap(), "sub"]);
    repo.write("check.sh", "true\n");
    repo.commit("submodule");
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.write("sub/src/lib.rs", "dirty\n");
    repo.write("src/lib.rs", "other\n");
    repo.nav(&["test"]).fails(8, "submodule sub has uncommitted changes");
    repo.git(&["checkout", "-q", "--", "src/lib.rs"]);
    assert_eq!(repo.indicator("tests_passing"), "met", "it neither adds nor takes evidence");
}

#[test]
fn a_killed_timed_out_or_missing_test_is_an_error_that_leaves_the_indicator_unmet() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.git(&["config", "navLoop.unused", "1"]);
    let killed = TestRepo::new();
    killed.git(&["switch", "-q", "-c", "feature"]);
    killed.nav(&["start", "x", "--test", "test -e killed || exit 0; kill -9 $$"]).ok();
    killed.commit_file("a.rs", "a\n", "a");
    killed.nav(&["test"]).ok();
    assert_eq!(killed.indicator("tests_passing"), "met");
    killed.write(".git/info/exclude", "killed\n");
    killed.write("killed", "");
    killed.nav(&["test"]).fails(8, "killed by signal 9");
    assert_eq!(killed.indicator("tests_passing"), "unmet");
    assert!(killed.reason("tests_passing").contains("killed by signal 9"));
    killed.git(&["switch", "-q", "-c", "other"]);
    killed.nav(&["start", "y", "--test", "sleep 60"]).ok();
    killed.nav(&["test", "--timeout", "1"]).fails(8, "timed out");
    killed.git(&["switch", "-q", "-c", "third"]);
    killed.nav(&["start", "z"]).ok();
    killed.nav(&["test", "--", "no-such-program-here"]).fails(8, "could not start");
    assert!(killed.nav(&["status"]).out.contains("no-such-program-here (pinned by first run)"));
}

#[test]
fn code_that_moves_during_the_run_makes_it_an_error() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x", "--test", "echo more >> src/lib.rs"]).ok();
    repo.nav(&["test"]).fails(8, "src/lib.rs changed during the run");
    repo.git(&["checkout", "-q", "--", "."]);
    repo.git(&["switch", "-q", "-c", "other"]);
    repo.nav(&["start", "y", "--test", "git commit -q --allow-empty -m x"]).ok();
    repo.nav(&["test"]).fails(8, "HEAD moved");
}

#[test]
fn a_pass_of_another_command_is_no_evidence_and_its_failure_counts_until_the_pinned_one_passes() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test", "--", "true"]).fails(0, "is not this loop's test command");
    assert_eq!(repo.indicator("tests_passing"), "unmet");
    assert!(repo.reason("tests_passing").contains("`true` passed, but"));
    repo.nav(&["test"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.nav(&["test", "--", "false"]).fails(1, "");
    assert_eq!(repo.indicator("tests_passing"), "unmet");
    repo.nav(&["test", "--", "sh", "check.sh"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met", "typed words that are the pinned command");
    repo.nav(&["test", "--", "no-such-program-here"]).fails(8, "");
    assert_eq!(repo.indicator("tests_passing"), "met", "another command's error changes nothing");
}

#[test]
fn the_first_run_pins_the_command() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    repo.nav(&["test"]).fails(2, "no test command yet");
    repo.commit_file("a.rs", "a\n", "a");
    repo.nav(&["test", "--", "true"]).ok();
    assert_eq!(repo.indicator("tests_passing"), "met");
    repo.nav(&["test", "--", "echo", "x"]).fails(0, "not this loop's test command");
    assert!(repo.nav(&["status"]).out.contains("Tests: true (pinned by first run)"));
}

#[test]
fn a_clean_run_tests_head_and_leaves_no_work_tree_behind() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.write("src/lib.rs", "broken, not committed\n");
    repo.nav(&["test"]).fails(1, "");
    repo.nav(&["test", "--clean"]).ok();
    repo.git(&["checkout", "-q", "--", "."]);
    assert_eq!(repo.indicator("tests_passing"), "met");
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_runner_that_collects_no_test_is_an_error() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x", "--test", "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'"]).ok();
    repo.commit_file("a.rs", "a\n", "a");
    repo.nav(&["test"]).fails(8, "collected no test");
    assert_eq!(repo.indicator("tests_passing"), "unmet");
}

#[test]
fn a_test_run_touches_neither_index_nor_objects_nor_refs() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.write("src/lib.rs", "pub fn two() {} // dirty\n");
    repo.write("new.rs", "untracked\n");
    let index = fs::read(repo.dir.join(".git/index")).unwrap();
    let status = repo.git(&["status", "--porcelain"]);
    let blob = repo.git(&["hash-object", "new.rs"]);
    repo.nav(&["test"]).ok();
    assert_eq!(fs::read(repo.dir.join(".git/index")).unwrap(), index);
    assert_eq!(repo.git(&["status", "--porcelain"]), status);
    assert_eq!(repo.try_git(&["cat-file", "-e", &blob]).code, 1, "the untracked file's blob was not written");
    assert!(!repo.dir.join(".git/nav-loop/tmp").read_dir().is_ok_and(|mut d| d.next().is_some()));
}

#[test]
fn a_second_test_while_one_runs_is_refused() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x", "--test", "touch .git/started; while [ ! -e .git/go ]; do sleep 0.02; done"]).ok();
    let mut first = repo.command(env!("CARGO_BIN_EXE_git-nav-loop")).arg("test").spawn().unwrap();
    while !repo.dir.join(".git/started").exists() {
        std::thread::yield_now();
    }
    repo.nav(&["test"]).fails(9, "a test run is under way");
    assert_eq!(repo.status()["phase"], "VERIFY");
    let mut waiting = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    let mut waiting = waiting.args(["test", "--wait"]).spawn().unwrap();
    fs::write(repo.dir.join(".git/go"), "").unwrap();
    assert!(first.wait().unwrap().success());
    assert!(waiting.wait().unwrap().success());
    assert_eq!(repo.events().iter().filter(|e| *e == "tests_ran").count(), 2);
}

// code_simplified

#[test]
fn a_marked_commit_after_the_first_simplifies_while_its_tests_do_not_fail() {
    let repo = TestRepo::looping();
    repo.commit_file("a.rs", "first\n", "refactor: the first is no simplification of itself");
    assert_eq!(repo.indicator("code_simplified"), "unmet");
    repo.commit_file("README.md", "words here\n", "refactor: touches no code");
    assert_eq!(repo.indicator("code_simplified"), "unmet");
    repo.commit_file("a.rs", "simpler\n", "Refactor(core)!: simpler");
    assert_eq!(repo.indicator("code_simplified"), "met");
    repo.write("check.sh", "false\n");
    repo.nav(&["test"]).fails(1, "");
    repo.commit("the failing check");
    assert_eq!(repo.reason("code_simplified"), "the newest test run on this code failed");
    repo.write("check.sh", "true\n");
    repo.commit("the passing check");
    repo.git(&["revert", "--no-edit", "HEAD~2"]);
    assert_eq!(repo.indicator("code_simplified"), "unmet", "a reverted simplification does not count");
}

#[test]
fn a_trailer_or_a_record_shows_simplification_too() {
    let repo = TestRepo::looping();
    repo.commit_file("a.rs", "first\n", "first");
    repo.nav(&["record", "code_simplified"]).fails(2, "after the first one");
    repo.commit_file("a.rs", "second\n", "second");
    assert_eq!(repo.indicator("code_simplified"), "unmet");
    repo.nav(&["record", "code_simplified"]).ok();
    assert_eq!(repo.indicator("code_simplified"), "met");
    let other = TestRepo::looping();
    other.commit_file("a.rs", "first\n", "first");
    other.commit_file("a.rs", "second\n", "second\n\nNav-Simplified: yes");
    assert_eq!(other.indicator("code_simplified"), "met");
    other.nav(&["record", "tests_passing"]).fails(2, "git nav-loop test");
}

#[test]
fn simplification_switched_off_leaves_the_total() {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", r#"{"simplification":{"enabled":false},"loop_mode":{}}"#);
    repo.commit("config");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&[]);
    assert_eq!(repo.indicator("code_simplified"), "skipped");
    assert_eq!(repo.gate()["total"], 4);
}

// docs_updated

#[test]
fn only_words_count_as_documentation() {
    let repo = TestRepo::looping();
    repo.commit_file("README.md", "#  A\n  project\n\n", "white space");
    assert_eq!(repo.indicator("docs_updated"), "unmet");
    repo.commit_file("docs/empty.md", "\n\n", "an empty page");
    assert_eq!(repo.indicator("docs_updated"), "unmet");
    repo.git(&["mv", "README.md", "README.txt"]);
    repo.commit("a rename");
    assert_eq!(repo.indicator("docs_updated"), "unmet");
    repo.commit_file("notes.MD", "words\n", "a page in capitals");
    assert_eq!(repo.indicator("docs_updated"), "met");
    repo.git(&["rm", "-q", "notes.MD", "README.txt"]);
    repo.commit("deletion");
    assert_eq!(repo.indicator("docs_updated"), "met", "a deletion says something");
}

// ticket_closed

#[test]
fn no_ticket_and_no_tracker_leave_a_total_of_five() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    assert_eq!(repo.indicator("ticket_closed"), "skipped");
    assert_eq!(repo.gate()["total"], 5);
}

#[test]
fn a_closing_word_closes_the_ticket_of_the_branch() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "fix/issue-12"]);
    repo.start(&[]);
    repo.commit_file("a.rs", "a\n", "work\n\nSee #12, fixes #120");
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
    repo.commit("more\n\nCloses: #12");
    assert_eq!(repo.indicator("ticket_closed"), "met");
    repo.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "Revert \"Closes #12\""]);
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
}

#[test]
fn project_management_none_skips_unless_a_ticket_is_typed() {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", r#"{"project_management":"none","loop_mode":{}}"#);
    repo.commit("config");
    repo.git(&["switch", "-q", "-c", "issue-5"]);
    repo.start(&[]);
    assert_eq!(repo.indicator("ticket_closed"), "skipped");
    repo.git(&["switch", "-q", "-c", "issue-6", "main"]);
    repo.start(&["--ticket", "6"]);
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
}

#[test]
fn an_archived_task_document_or_a_status_turned_to_done_closes_the_ticket() {
    let repo = TestRepo::new();
    repo.write(".agent/tasks/TASK-7-login.md", "# Login\n\n**Status**: 🚧 In Progress\n");
    repo.write(".agent/tasks/TASK-8-other.md", "# Other\n\n**Status**: 📋 Backlog\n");
    repo.commit("task docs");
    repo.git(&["switch", "-q", "-c", "task-7-login"]);
    repo.start(&[]);
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
    repo.commit_file(".agent/tasks/TASK-8-other.md", "# Other\n\n**Status**: ✅ Done\n", "another one's");
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
    repo.commit_file(".agent/tasks/TASK-7-login.md", "# Login\n\n**Status**: ✅ Completed\n", "done");
    assert_eq!(repo.indicator("ticket_closed"), "met");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
    fs::create_dir_all(repo.dir.join(".agent/tasks/archive")).unwrap();
    repo.git(&["mv", ".agent/tasks/TASK-7-login.md", ".agent/tasks/archive/"]);
    repo.commit("archive");
    assert_eq!(repo.indicator("ticket_closed"), "met");
}

// marker_created

fn marker(repo: &TestRepo, loop_id: &str) -> String {
    format!("# Context Marker: x\n\nLoop: {}\n", if loop_id.is_empty() { loop_id_of(repo) } else { loop_id.into() })
}

fn loop_id_of(repo: &TestRepo) -> String {
    repo.status()["loop"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn markers_in_the_tree_count_when_they_name_this_loop_or_none() {
    let repo = TestRepo::looping();
    repo.commit_file(".agent/.context-markers/a.md", &marker(&repo, "2020-01-01-0000-abcdef"), "another loop's");
    assert_eq!(repo.indicator("marker_created"), "unmet");
    repo.commit_file(".agent/.context-markers/x-partial.md", &marker(&repo, ""), "a partial one");
    repo.commit_file(".agent/.context-markers/before-compact-auto-1.md", "x\n", "a compaction's");
    assert_eq!(repo.indicator("marker_created"), "unmet");
    repo.commit_file(".agent/.context-markers/b.md", &marker(&repo, ""), "ours");
    assert_eq!(repo.indicator("marker_created"), "met");
}

#[test]
fn a_marker_that_git_ignores_counts_on_disk_only_when_it_names_this_loop() {
    let repo = TestRepo::new();
    repo.write(".gitignore", ".agent/.context-markers/\n");
    repo.commit("ignore markers");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&[]);
    repo.write(".agent/.context-markers/nameless.md", "# Context Marker: x\n");
    assert_eq!(repo.indicator("marker_created"), "unmet");
    repo.write(".agent/.context-markers/ours.md", &marker(&repo, ""));
    assert_eq!(repo.indicator("marker_created"), "met");
    assert!(repo.reason("marker_created").contains("seen on disk only"));
    fs::write(repo.dir.join(".gitignore"), "").unwrap();
    assert_eq!(repo.indicator("marker_created"), "unmet", "neither tracked nor ignored does not count");
}

#[test]
fn mark_writes_a_marker_and_records_it() {
    let repo = TestRepo::looping();
    let path = repo.nav(&["mark", "first half"]).ok();
    let text = repo.read(path.trim());
    for line in ["# Context Marker: first half", "Iteration: 1/20", "EXIT_SIGNAL: false", "- [ ] code_committed"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(text.contains(&format!("Loop: {}", loop_id_of(&repo))));
    assert_eq!(repo.indicator("marker_created"), "met");
    let second = repo.nav(&["mark", "first half"]).ok();
    assert_ne!(path, second, "never over one that is there");
}

// signals

#[test]
fn a_trailer_asks_for_exit_until_the_code_changes() {
    let repo = TestRepo::looping();
    repo.write("check.sh", "true\n");
    repo.commit_file("a.rs", "a\n", "work\n\nNav-Loop-Exit: all requirements met");
    repo.nav(&["test"]).ok();
    let gate = repo.gate();
    assert_eq!(
        (gate["verdict"].as_str(), gate["signal"]["reason"].as_str()),
        (Some("EXIT"), Some("all requirements met"))
    );
    repo.commit_file("README.md", "words\n", "docs do not end it");
    assert_eq!(repo.gate()["signal"]["state"], "valid");
    repo.commit_file("a.rs", "b\n", "code does");
    assert_eq!(repo.gate()["signal"]["state"], "stale");
}

#[test]
fn a_trailer_reachable_from_the_target_or_on_an_unreachable_commit_is_no_signal() {
    let repo = TestRepo::looping();
    repo.commit_file("a.rs", "a\n", "work\n\nNav-Loop-Exit: yes");
    assert_eq!(repo.gate()["signal"]["state"], "valid");
    repo.git(&["commit", "-q", "--amend", "-m", "work"]);
    assert_eq!(repo.gate()["signal"]["state"], "none");
    repo.git(&["switch", "-q", "main"]);
    repo.commit("theirs\n\nNav-Loop-Exit: forged");
    repo.git(&["switch", "-q", "feature"]);
    repo.git(&["merge", "-q", "--no-edit", "main"]);
    assert_eq!(repo.gate()["signal"]["state"], "none");
}

#[test]
fn done_in_prose_is_no_signal() {
    let repo = TestRepo::looping();
    repo.commit_file("a.rs", "a\n", "Everything is done and complete. EXIT_SIGNAL: true");
    assert_eq!(repo.gate()["signal"]["state"], "none");
}

#[test]
fn success_false_is_no_exit_and_pauses() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "fail", "--reason", "the API\nis down"]).ok();
    let status = repo.status();
    assert_eq!(
        (status["verdict"].as_str(), status["loop"]["paused_reason"].as_str()),
        (Some("PAUSED"), Some("agent_blocked"))
    );
    assert!(repo.nav(&["gate"]).fails(6, "PAUSED").out.contains("the API\\nis down"));
}

#[test]
fn with_a_nonce_only_a_signal_that_carries_it_counts() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    let started = repo.nav(&["start", "x", "--nonce", "--json"]).json();
    let nonce = started["nonce"].as_str().unwrap().to_owned();
    repo.nav(&["signal", "exit"]).fails(2, "nonce");
    repo.commit_file("a.rs", "a\n", "w\n\nNav-Loop-Exit: yes");
    assert_eq!(repo.gate()["signal"]["state"], "none");
    repo.commit(&format!("w\n\nNav-Loop-Exit: yes [{nonce}]"));
    assert_eq!(repo.gate()["signal"]["state"], "valid");
    repo.nav(&["signal", "false", "--nonce", &nonce]).ok();
    assert_eq!(repo.gate()["signal"]["state"], "vetoed");
    let journal = repo.git(&["notes", "--ref=nav-loop", "show", &repo.anchor()]);
    assert!(!journal.contains(&nonce), "only its hash is in the journal");
}

// frozen settings

#[test]
fn settings_edited_during_the_loop_do_not_move_the_gate() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let before = repo.nav(&["gate", "--json"]).out;
    repo.write(
        ".agent/.nav-config.json",
        r#"{"loop_mode":{"min_indicators":1,"exit_requires_explicit_signal":false,"docs_paths":["src/**"],"test_command":"true"}}"#,
    );
    assert_eq!(before, repo.nav(&["gate", "--json"]).out);
    assert!(repo.nav(&["gate"]).out.contains("The configuration changed since the loop started"));
    assert!(repo.nav(&["status"]).out.contains("The configuration changed since the loop started"));
    repo.nav(&["resume", "reconfigure"]).ok();
    assert_eq!(repo.nav(&["gate"]).code, 0);
}

#[test]
fn evidence_ids_are_objects_of_this_repository_in_both_hashes() {
    for objects in ["sha1", "sha256"] {
        let repo = TestRepo::looping_in(Format { objects, refs: "files" });
        repo.do_the_work();
        repo.commit_file("README.md", "words\n", "docs");
        for indicator in repo.gate()["indicators"].as_array().unwrap() {
            for id in indicator["evidence"].as_array().unwrap() {
                repo.git(&["cat-file", "-e", id.as_str().unwrap()]);
            }
        }
    }
}
