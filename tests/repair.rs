use std::fs;

use crate::support::{TestRepo, formats};

fn seconds_racing(repo: &TestRepo) {
    // What a plain `git notes append` does that read the ref before our write and moved it after: our line is gone.
    let before = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    repo.nav(&["signal", "exit", "--reason", "taken out"]).ok();
    let ours = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    repo.git(&["update-ref", "refs/notes/nav-loop", &before]);
    repo.git(&[
        "-c",
        "core.hooksPath=/dev/null",
        "notes",
        "--ref=nav-loop",
        "append",
        "-m",
        "somebody's words",
        &repo.loop_anchor_of(),
    ]);
    assert_ne!(ours, repo.git(&["rev-parse", "refs/notes/nav-loop"]));
}

impl TestRepo {
    fn loop_anchor_of(&self) -> String {
        self.git(&["for-each-ref", "--format=%(objectname)", "refs/nav-loop/anchors/"])
    }
}

#[test]
fn events_lost_to_a_racing_append_come_back_from_history_and_reflog() {
    for format in formats() {
        let repo = TestRepo::looping_in(format);
        repo.do_the_work();
        seconds_racing(&repo);
        assert_eq!(repo.gate()["signal"]["state"], "none");
        repo.nav(&["doctor"]).fails(1, "1 events were taken out");
        let said = repo.nav(&["doctor", "--repair"]);
        assert!(said.out.contains("mended 1 lost events"), "{format:?} {said:?}");
        assert_eq!(repo.gate()["signal"]["state"], "valid", "{format:?}");
        let note = repo.git(&["notes", "--ref=nav-loop", "show", &repo.loop_anchor_of()]);
        assert!(note.contains("somebody's words") && note.matches("taken out").count() == 1, "{note}");
        assert!(!repo.nav(&["doctor"]).out.contains("BAD events"));
    }
}

#[test]
fn deleted_local_files_are_rebuilt_from_the_journal() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let anchor_ref = repo.git(&["for-each-ref", "--format=%(refname)", "refs/nav-loop/anchors/"]);
    fs::remove_dir_all(repo.dir.join(".git/nav-loop")).unwrap();
    repo.git(&["config", "--unset", "branch.feature.navLoop"]);
    assert_eq!(repo.nav(&["gate"]).code, 7);
    repo.nav(&["doctor"]).fails(1, "branch.feature.navLoop");
    repo.nav(&["doctor", "--repair"]).ok();
    assert_eq!(repo.nav(&["gate"]).code, 1);
    repo.git(&["update-ref", "-d", &anchor_ref]);
    repo.nav(&["doctor", "--repair"]).ok();
    assert_eq!(repo.git(&["for-each-ref", "--format=%(refname)", "refs/nav-loop/anchors/"]), anchor_ref);
    repo.commit_file("src/more.rs", "x\n", "hooks see it again");
    assert_eq!(repo.note("HEAD").len(), 1);
}

#[test]
fn double_notes_stale_locks_and_waiting_events_are_mended() {
    let repo = TestRepo::looping();
    let anchor = repo.anchor();
    let index = repo.root.path().join("index");
    let with_index = |args: &[&str]| {
        let output = repo.command("git").env("GIT_INDEX_FILE", &index).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let blob = repo.git(&["rev-parse", &format!("refs/notes/nav-loop:{anchor}")]);
    with_index(&["read-tree", "refs/notes/nav-loop"]);
    with_index(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{}/{}", &anchor[..2], &anchor[2..])]);
    let tree = with_index(&["write-tree"]);
    let commit = repo.git(&["commit-tree", "-p", "refs/notes/nav-loop", "-m", "mixed", &tree]);
    repo.git(&["update-ref", "refs/notes/nav-loop", &commit]);
    fs::write(repo.dir.join(".git/refs/notes/nav-loop.lock"), "").unwrap();
    repo.nav(&["doctor"]).fails(1, "BAD lock");
    repo.nav(&["doctor", "--repair"]).ok();
    assert!(!repo.dir.join(".git/refs/notes/nav-loop.lock").exists());
    repo.git(&["notes", "--ref=nav-loop", "show", &anchor]);
    repo.nav(&["doctor"]).ok();
}

#[test]
fn an_ended_loop_is_compacted_with_the_same_answers() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    for n in 0..6 {
        repo.nav(&["signal", "exit", "--reason", &format!("again {n}")]).ok();
        repo.nav(&["test"]).ok();
    }
    repo.nav(&["compact"]).fails(2, "only an ended loop");
    repo.nav(&["complete"]).ok();
    let answers = |repo: &TestRepo| {
        let mut status = repo.status();
        status.as_object_mut().unwrap().remove("last_action");
        (repo.nav(&["gate"]).out, status, repo.nav(&["log"]).out, repo.nav(&["explain"]).out, repo.nav(&["list"]).out)
    };
    let (before, lines) = (answers(&repo), repo.note(&repo.anchor()).len());
    let said = repo.nav(&["compact"]).ok();
    assert!(said.contains("9 of "), "{said}");
    assert_eq!(before, answers(&repo));
    assert_eq!(repo.note(&repo.anchor()).len(), lines - 9 + 1);
    repo.nav(&["doctor"]).ok();
    assert!(repo.nav(&["doctor", "--repair"]).ok().contains("ok  events"), "what a compaction took out is not lost");
    assert!(repo.nav(&["compact", "2020-01-01-0000-abcdef"]).fails(2, "holds no loop").out.is_empty());
}
