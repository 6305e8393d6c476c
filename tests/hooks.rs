use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::Value;

use crate::support::{TestRepo, formats, programs};

/// What the gate answers with the notes it has, and with every commit's line taken away: the hooks only accelerate.
#[track_caller]
fn answers_as_from_scratch(repo: &TestRepo, after: &str) {
    let with = essence(&repo.gate());
    let journal = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    for line in repo.git(&["notes", "--ref=nav-loop", "list"]).lines() {
        let on = line.split(' ').nth(1).unwrap();
        if repo.try_git(&["merge-base", "--is-ancestor", on, "HEAD"]).code == 0 && on != repo.loop_anchor() {
            repo.git(&["-c", "core.hooksPath=/dev/null", "notes", "--ref=nav-loop", "remove", on]);
        }
    }
    let without = essence(&repo.gate());
    repo.git(&["update-ref", "refs/notes/nav-loop", &journal]);
    assert_eq!(with, without, "after {after}");
}

fn essence(gate: &Value) -> Value {
    serde_json::json!([gate["verdict"], gate["met"], gate["missing"], gate["indicators"], gate["head"]])
}

impl TestRepo {
    fn loop_anchor(&self) -> String {
        let refs = self.git(&["for-each-ref", "--format=%(objectname)", "refs/nav-loop/anchors/"]);
        refs.lines().next_back().unwrap().to_owned()
    }

    /// Lines of type `kind` in the notes of HEAD.
    fn lines_on_head(&self) -> Vec<Value> {
        self.note("HEAD").into_iter().filter(|l| l["on"] == self.head().as_str()).collect()
    }
}

#[test]
fn after_every_operation_the_answer_equals_what_is_derived_from_scratch() {
    for format in formats() {
        let repo = TestRepo::looping_in(format);
        let said = |args: &[&str]| {
            let said = repo.try_git(args);
            assert!(!said.err.contains("nav-loop"), "{format:?} {args:?}: {said:?}");
            assert_eq!(said.code, 0, "{format:?} {args:?}: {said:?}");
            answers_as_from_scratch(&repo, &format!("{format:?} git {args:?}"));
        };
        repo.do_the_work();
        repo.nav(&["test"]).ok();
        repo.write("src/a.rs", "a\n");
        repo.git(&["add", "-A"]);
        said(&["commit", "-q", "-m", "plain"]);
        assert_eq!(repo.lines_on_head()[0]["op"], "commit");
        said(&["commit", "-q", "--allow-empty", "-m", "empty"]);
        said(&["commit", "-q", "--amend", "--allow-empty", "-m", "amended"]);
        assert_eq!(repo.lines_on_head()[0]["op"], "amend");
        repo.commit_file("src/b.rs", "b\n", "b");
        said(&["commit", "-q", "--allow-empty", "--fixup", "HEAD"]);
        said(&["revert", "--no-edit", "HEAD~1"]);
        assert_eq!(repo.lines_on_head()[0]["op"], "revert");
        said(&["switch", "-q", "-c", "side", "HEAD~1"]);
        said(&["switch", "-q", "feature"]);
        said(&["cherry-pick", "--allow-empty", "--keep-redundant-commits", "side~1"]);
        said(&["switch", "-q", "main"]);
        repo.commit_file("src/main_only.rs", "m\n", "on main");
        said(&["switch", "-q", "feature"]);
        said(&["merge", "-q", "--no-edit", "main"]);
        said(&["switch", "-q", "main"]);
        repo.commit_file("src/main_only.rs", "m2\n", "on main again");
        said(&["switch", "-q", "feature"]);
        said(&["rebase", "-q", "main"]);
        said(&["rebase", "-q", "--no-ff", "HEAD~2"]);
        said(&["rebase", "-q", "--apply", "--no-ff", "HEAD~2"]);
        said(&["rebase", "-q", "-i", "--autosquash", "--root", "--onto", "main"]);
        repo.git(&["format-patch", "-q", "-1", "-o", "../patches"]);
        said(&["reset", "-q", "--hard", "HEAD~1"]);
        let patch = fs::read_dir(repo.root.path().join("patches")).unwrap().next().unwrap().unwrap().path();
        said(&["am", "-q", "--keep-cr", patch.to_str().unwrap()]);
        said(&["checkout", "-q", "HEAD~1", "--", "src/lib.rs"]);
        said(&["restore", "--staged", "--worktree", "--source=HEAD", "src/lib.rs"]);
        said(&["merge", "-q", "--squash", "side"]);
        said(&["commit", "-q", "--allow-empty", "-m", "squashed"]);
        said(&["branch", "-m", "feature", "renamed"]);
        said(&["stash", "list"]);
        said(&["worktree", "add", "-q", "../other tree", "-b", "other"]);
        said(&["gc", "-q"]);
        assert_eq!(repo.status()["loop"]["branch"], "feature", "the loop went with the branch");
        let before = repo.gate()["met"].clone();
        for bisect in
            [["bisect", "start"].as_slice(), &["bisect", "bad"], &["bisect", "good", "HEAD~3"], &["bisect", "reset"]]
        {
            let said = repo.try_git(bisect);
            assert!(said.code == 0 && !said.err.contains("nav-loop"), "{said:?}");
        }
        assert_eq!(before, repo.gate()["met"]);
        repo.git(&["fsck", "--strict"]);
    }
}

#[test]
fn checkouts_of_files_and_of_the_same_branch_append_nothing() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let before = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    repo.git(&["checkout", "-q", "HEAD", "--", "src/lib.rs"]);
    repo.git(&["restore", "src/lib.rs"]);
    repo.git(&["switch", "-q", "feature"]);
    repo.git(&["checkout", "-q"]);
    assert_eq!(before, repo.git(&["rev-parse", "refs/notes/nav-loop"]));
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(before, repo.git(&["rev-parse", "refs/notes/nav-loop"]), "no loop on main");
    repo.git(&["switch", "-q", "feature"]);
    assert_eq!(repo.events().last().unwrap(), "branch_entered");
}

#[test]
fn commits_that_no_hook_saw_are_filled_in_once() {
    let repo = TestRepo::looping();
    for n in 0..3 {
        repo.write("src/a.rs", &format!("{n}\n"));
        repo.git(&["add", "-A"]);
        repo.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "-m", "unseen"]);
    }
    assert!(repo.note("HEAD").is_empty());
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["switch", "-q", "feature"]);
    for commit in ["HEAD", "HEAD~1", "HEAD~2"] {
        let lines = repo.note(commit);
        assert_eq!(lines.len(), 1, "{commit}");
        assert_eq!((lines[0]["op"].as_str(), lines[0]["met"].as_str()), (Some("backfill"), None));
    }
    repo.nav(&["status"]).ok();
    assert_eq!(repo.note("HEAD").len(), 1);
}

#[test]
fn a_rebase_in_progress_records_nothing_and_the_gap_is_filled_after_it() {
    let repo = TestRepo::looping();
    repo.commit_file("src/a.rs", "1\n", "one");
    repo.commit_file("src/a.rs", "2\n", "two");
    let before = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    let mut command = repo.command("git");
    command.args(["rebase", "-q", "-i", "--no-ff", "HEAD~2"]).env("GIT_SEQUENCE_EDITOR", "sed -i s/^pick/edit/");
    command.status().unwrap();
    repo.git(&["commit", "-q", "--amend", "--allow-empty", "-m", "one, edited"]);
    assert_eq!(before, repo.git(&["rev-parse", "refs/notes/nav-loop"]));
    assert_eq!(repo.nav(&["gate"]).code, 1, "the loop of the branch is used in the middle of a rebase");
    repo.git(&["rebase", "--continue"]);
    repo.git(&["rebase", "--continue"]);
    repo.nav(&["status"]).ok();
    assert_eq!(repo.note("HEAD")[0]["op"], "backfill");
    assert_eq!(repo.note("HEAD~1")[0]["op"], "backfill");
}

#[test]
fn a_commit_line_is_short_and_tells_where_the_loop_is() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let line = repo.git(&["notes", "--ref=nav-loop", "show", "HEAD"]);
    assert!(line.len() <= 300, "{} bytes: {line}", line.len());
    let line: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["anchor"], repo.anchor().as_str());
    assert_eq!(
        (line["met"].as_str(), line["phase"].as_str(), line["verdict"].as_str()),
        (Some("C"), Some("IMPL"), Some("CONTINUE"))
    );
}

#[test]
fn hooks_move_nothing_of_the_users() {
    let repo = TestRepo::looping();
    let state = || {
        let refs = repo.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let refs: Vec<String> =
            refs.lines().filter(|l| !l.starts_with("refs/notes/nav-loop ")).map(str::to_owned).collect();
        let reflog = fs::read(repo.dir.join(".git/logs/HEAD")).unwrap();
        let index = fs::read(repo.dir.join(".git/index")).unwrap();
        let config = fs::read(repo.dir.join(".git/config")).unwrap();
        (refs, reflog, index, config, repo.git(&["status", "--porcelain"]))
    };
    repo.do_the_work();
    repo.write("dirty.rs", "x");
    repo.git(&["status"]);
    let before = state();
    for (hook, args) in [("post-commit", vec![]), ("post-checkout", vec!["main", "feature", "1"])] {
        let program = programs().join(format!("nav-loop-{hook}"));
        for index in [".git/index".to_owned(), repo.dir.join(".git/index").display().to_string()] {
            let output =
                repo.command(program.to_str().unwrap()).args(&args).env("GIT_INDEX_FILE", index).output().unwrap();
            assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
        }
    }
    assert_eq!(before, state());
}

#[test]
fn unborn_branches_orphans_clones_and_worktrees_pass_in_silence() {
    for format in formats() {
        let repo = TestRepo::empty(format);
        repo.nav(&["install"]).ok();
        repo.nav(&["start", "from nothing", "--test", "true"]).ok();
        let quiet = |args: &[&str]| {
            let said = repo.try_git(args);
            assert_eq!((said.code, said.err.contains("nav-loop")), (0, false), "{format:?} {args:?} {said:?}");
        };
        assert_eq!(repo.nav(&["gate"]).code, 1, "no commits yet");
        repo.write("a.rs", "a\n");
        repo.git(&["add", "-A"]);
        quiet(&["commit", "-q", "-m", "root"]);
        assert_eq!(repo.indicator("code_committed"), "met", "{format:?}");
        quiet(&["switch", "-q", "--orphan", "lonely"]);
        quiet(&["switch", "-q", "main"]);
        quiet(&["switch", "-q", "--detach"]);
        quiet(&["switch", "-q", "main"]);
        quiet(&["worktree", "add", "-q", "--detach", "../second"]);
        quiet(&["clone", "-q", ".", "../clone"]);
        repo.git(&["fsck"]);
    }
}

#[test]
fn a_loop_on_a_detached_head_goes_with_the_branch_that_is_made_there() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "--detach"]);
    repo.start(&[]);
    repo.do_the_work();
    assert_eq!(repo.indicator("code_committed"), "met");
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(repo.nav(&["gate"]).code, 7);
    repo.git(&["switch", "-q", "--detach", "HEAD@{1}"]);
    repo.git(&["switch", "-q", "-c", "made-there"]);
    assert_eq!(repo.status()["loop"]["branch"], "made-there");
    assert_eq!(repo.git(&["config", "branch.made-there.navLoop"]), repo.status()["loop"]["id"].as_str().unwrap());
}

#[test]
fn a_copied_branch_does_not_take_the_loop_along() {
    let repo = TestRepo::looping();
    repo.git(&["branch", "-c", "feature", "copy"]);
    repo.git(&["switch", "-q", "copy"]);
    assert_eq!(repo.nav(&["gate"]).code, 7);
    repo.git(&["switch", "-q", "feature"]);
    assert_eq!(repo.nav(&["gate"]).code, 1);
    repo.git(&["branch", "-m", "feature", "moved/über;x"]);
    assert_eq!(repo.nav(&["gate"]).code, 1, "a rename does");
}

#[test]
fn linked_worktrees_submodules_and_bare_repositories_with_worktrees_work() {
    let repo = TestRepo::looping();
    repo.git(&["worktree", "add", "-q", "../linked", "-b", "linked"]);
    let linked = repo.root.path().canonicalize().unwrap().join("linked");
    repo.nav_in(&linked, &["start", "in a linked tree", "--test", "true"]).ok();
    fs::write(linked.join("x.rs"), "x\n").unwrap();
    repo.git_in(&linked, &["add", "-A"]);
    let said = repo.git_in(&linked, &["commit", "-q", "-m", "x"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(repo.git_in(&linked, &["status", "--porcelain"]).out, "");
    assert!(repo.git_in(&linked, &["notes", "--ref=nav-loop", "show"]).out.contains("commit_seen"));
    assert_eq!(repo.nav_in(&linked, &["gate", "--json"]).json()["indicators"][0]["state"], "met");

    repo.git(&["clone", "-q", "--bare", ".", "../bare.git"]);
    let bare = repo.root.path().canonicalize().unwrap().join("bare.git");
    repo.git_in(&bare, &["worktree", "add", "-q", "../of-bare", "-b", "of-bare"]).ok();
    let tree = repo.root.path().canonicalize().unwrap().join("of-bare");
    repo.nav_in(&tree, &["install"]).ok();
    repo.nav_in(&tree, &["start", "in a tree of a bare repository", "--test", "true"]).ok();
    fs::write(tree.join("y.rs"), "y\n").unwrap();
    repo.git_in(&tree, &["add", "-A"]);
    repo.git_in(&tree, &["commit", "-q", "-m", "y"]).ok();
    assert_eq!(repo.nav_in(&tree, &["gate", "--json"]).json()["indicators"][0]["state"], "met");
    repo.nav_in(&bare, &["start", "nowhere"]).fails(128, "bare repository");

    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", linked.to_str().unwrap(), "sub"]);
    let sub = repo.dir.join("sub");
    repo.nav_in(&sub, &["install"]).ok();
    repo.git_in(&sub, &["switch", "-q", "-c", "work"]).ok();
    repo.nav_in(&sub, &["start", "in a submodule", "--test", "true"]).ok();
    fs::write(sub.join("z.rs"), "z\n").unwrap();
    repo.git_in(&sub, &["add", "-A"]);
    repo.git_in(&sub, &["commit", "-q", "-m", "z"]).ok();
    assert!(repo.git_in(&sub, &["notes", "--ref=nav-loop", "show"]).out.contains("commit_seen"));
}

#[test]
fn the_hook_survives_a_child_that_is_killed_hangs_or_is_missing() {
    let repo = TestRepo::looping();
    let fake = repo.root.path().join("fake");
    fs::create_dir(&fake).unwrap();
    for hook in ["post-commit", "post-checkout"] {
        let program = fake.join(format!("nav-loop-{hook}"));
        fs::copy(programs().join(format!("nav-loop-{hook}")), &program).unwrap();
        let at = repo.dir.join(".git/hooks").join(hook);
        fs::remove_file(&at).unwrap();
        std::os::unix::fs::symlink(&program, &at).unwrap();
    }
    let child = fake.join("git-nav-loop");
    let install = |script: &str| {
        fs::write(&child, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&child, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let commit = |words: &str| {
        let said = repo.try_git(&["commit", "-q", "--allow-empty", "-m", "x"]);
        assert_eq!(said.code, 0);
        assert!(said.err.contains(words) && said.err.lines().count() == 1, "{words}: {said:?}");
        let said = repo.try_git(&["switch", "-q", "main"]);
        assert_eq!((said.code, said.err.lines().count()), (0, 1), "{said:?}");
        repo.try_git(&["switch", "-q", "feature"]);
    };
    install("kill -9 $$");
    commit("signal: 9");
    install("kill -6 $$");
    commit("signal: 6");
    install(&format!("sleep 300 & echo $! > '{0}/left'; sleep 300", fake.display()));
    commit("took longer than 2 s");
    let left = fs::read_to_string(fake.join("left")).unwrap();
    assert!(
        !Path::new(&format!("/proc/{}", left.trim())).exists() || is_zombie(left.trim()),
        "a process is left behind"
    );
    fs::remove_file(&child).unwrap();
    commit("is gone");
    assert!(repo.nav(&["status"]).out.contains("Something went wrong in a hook"));
    repo.nav(&["doctor"]).fails(1, "BAD incidents");
}

fn is_zombie(id: &str) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|s| s.contains(") Z "))
}

#[test]
fn a_closed_or_broken_stderr_and_no_reader_change_no_exit_code() {
    let repo = TestRepo::looping();
    fs::write(repo.dir.join(".git/hooks/break"), "").unwrap();
    for redirect in ["2>&-", ">&- 2>&-", "2>&1 | true"] {
        let script = format!("git commit -q --allow-empty -m x {redirect}");
        assert_eq!(repo.run("sh", &["-c", &script]).code, 0, "{redirect}");
        let script = format!("set -o pipefail; git switch -q main {redirect} && git switch -q feature {redirect}");
        assert_eq!(repo.run("bash", &["-c", &script]).code, 0, "{redirect}");
    }
}

#[test]
fn nav_loop_0_skips_everything_and_a_hook_inside_a_hook_does_nothing() {
    let repo = TestRepo::looping();
    let before = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    for (key, value) in [("NAV_LOOP", "0"), ("NAV_LOOP_HOOK", "1")] {
        let status = repo.command("git").env(key, value).args(["commit", "-q", "--allow-empty", "-m", "x"]).status();
        assert!(status.unwrap().success());
        assert_eq!(before, repo.git(&["rev-parse", "refs/notes/nav-loop"]), "{key}");
    }
}

#[test]
fn a_users_reference_transaction_hook_that_fails_or_sleeps_is_not_run_by_our_write() {
    let repo = TestRepo::looping();
    let hook = repo.dir.join(".git/hooks/reference-transaction");
    fs::write(&hook, "#!/bin/sh\ncat >> \"$GIT_DIR/../../seen\" 2>/dev/null\nwhile read a b ref; do case $ref in refs/notes/*) exit 1;; esac; done\n")
        .unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let said = repo.try_git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    assert_eq!(repo.note("HEAD").len(), 1);
}

#[test]
fn the_journal_has_its_own_author_and_date() {
    let repo = TestRepo::looping();
    repo.git(&[
        "-c",
        "user.name=Somebody",
        "commit",
        "-q",
        "--allow-empty",
        "--author=X <x@y>",
        "--date=1999-01-01T00:00:00Z",
        "-m",
        "x",
    ]);
    let who = repo.git(&["log", "-1", "--format=%an <%ae> %cn <%ce> %ad", "--date=format:%Y", "refs/notes/nav-loop"]);
    assert!(who.starts_with("git nav-loop <nav-loop@localhost> git nav-loop <nav-loop@localhost> 20"), "{who}");
    assert!(!who.contains("1999"));
    repo.git(&["config", "user.name", "Me"]);
    repo.git(&["config", "user.email", "me@example.com"]);
    repo.git(&["config", "commit.gpgSign", "true"]);
    repo.nav(&["signal", "false"]).ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%an <%ae>", "refs/notes/nav-loop"]), "Me <me@example.com>");
}

#[test]
fn odd_paths_dates_and_branch_names_are_recorded() {
    let repo = TestRepo::looping();
    repo.write("new\nline \"quoted\" \u{202e}.rs", "x\n");
    #[cfg(target_os = "linux")]
    {
        use std::os::unix::ffi::OsStrExt;
        repo.write(std::ffi::OsStr::from_bytes(b"invalid \xff\xfe.rs"), "x\n");
    }
    repo.commit("odd paths");
    assert_eq!(repo.indicator("code_committed"), "met");
    assert!(!repo.nav(&["diff"]).ok().contains('\u{202e}'));
    for date in ["1970-01-01T00:00:01Z", "2099-12-31T23:59:59Z"] {
        let mut command = repo.command("git");
        command.env("GIT_COMMITTER_DATE", date).env("GIT_AUTHOR_DATE", date);
        assert!(command.args(["commit", "-q", "--allow-empty", "-m", date]).status().unwrap().success());
        assert_eq!(repo.note("HEAD").len(), 1, "{date}");
    }
    for branch in
        ["a.b", "a@b", "ünï/çødé", "x#1", "-x".trim_start_matches('-'), "q'uote\"d", "semi;colon", "$(x)", "%s"]
    {
        repo.git(&["switch", "-q", "-c", branch, "main"]);
        repo.nav(&["start", "on an odd branch"]).ok();
        assert_eq!(repo.status()["loop"]["branch"], branch);
        repo.commit("x");
        assert_eq!(repo.note("HEAD").len(), 1, "{branch}");
    }
}

#[test]
fn commits_end_iterations_until_the_limit_pauses_and_others_do_not() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x", "--max-iterations", "3"]).ok();
    repo.commit_file("a.rs", "1\n", "one");
    assert_eq!(repo.status()["iteration"], 2);
    repo.git(&["commit", "-q", "--amend", "-m", "one, amended"]);
    assert_eq!(repo.status()["iteration"], 2, "an amend ends none");
    repo.commit_file("a.rs", "2\n", "two");
    repo.commit_file("a.rs", "3\n", "three");
    let status = repo.status();
    assert_eq!((status["iteration"].as_u64(), status["loop"]["state"].as_str()), (Some(3), Some("paused")));
    repo.commit_file("a.rs", "4\n", "four");
    assert_eq!(repo.note("HEAD").len(), 1, "while paused, commits are recorded");
    assert_eq!(repo.status()["iteration"], 3, "and end no iteration");
    repo.nav(&["resume", "continue"]).fails(2, "resume extend");
    repo.nav(&["resume", "extend", "2"]).ok();
    let status = repo.status();
    assert_eq!((status["iteration"].as_u64(), status["max_iterations"].as_u64()), (Some(4), Some(5)));
}

#[test]
fn the_same_state_three_times_pauses_and_a_person_resumes() {
    let repo = TestRepo::looping();
    for _ in 0..3 {
        repo.commit("nothing changes");
    }
    let status = repo.status();
    assert_eq!((status["loop"]["paused_reason"].as_str(), status["exit_code"].as_i64()), (Some("stagnation"), Some(4)));
    assert_eq!(repo.nav_env(&[("CLAUDECODE", "1")], &["resume", "continue"]).code, 6);
    repo.nav(&["resume", "clarify", "the tests need a mock"]).ok();
    assert_eq!(repo.status()["loop"]["state"], "running");
    assert_eq!(repo.nav(&["gate"]).code, 1);
}

#[test]
fn installed_twice_or_run_twice_a_commit_is_recorded_once() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let hook = programs().join("nav-loop-post-commit");
    for _ in 0..2 {
        assert!(repo.command(hook.to_str().unwrap()).status().unwrap().success());
    }
    assert_eq!(repo.note("HEAD").len(), 1);
    assert_eq!(repo.events().iter().filter(|e| *e == "iteration_ended").count(), 1);
}

#[test]
fn notes_rewrite_ref_of_the_users_in_all_modes_does_not_move_the_answer() {
    for mode in ["concatenate", "cat_sort_uniq", "overwrite", "ignore"] {
        let repo = TestRepo::looping();
        repo.git(&["config", "notes.rewriteRef", "refs/notes/*"]);
        repo.git(&["config", "notes.rewriteMode", mode]);
        repo.do_the_work();
        repo.nav(&["test"]).ok();
        repo.commit_file("src/b.rs", "b\n", "b");
        repo.git(&["commit", "-q", "--amend", "-m", "b2"]);
        repo.commit_file("src/c.rs", "c\n", "c");
        repo.git(&["commit", "-q", "--allow-empty", "--fixup", "HEAD~1"]);
        repo.git(&["rebase", "-q", "-i", "--autosquash", "HEAD~3"]);
        repo.git(&["rebase", "-q", "--no-ff", "HEAD~2"]);
        answers_as_from_scratch(&repo, mode);
    }
}

#[test]
fn a_branch_created_here_starts_a_loop_once_where_the_configuration_says_so() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.write(".agent/.nav-config.json", r#"{"loop_mode":{"enabled":true,"max_iterations":7}}"#);
    repo.write(".agent/tasks/TASK-4-login.md", "# Log in with a key\n");
    repo.commit("enable");
    assert_eq!(repo.nav(&["gate"]).code, 7, "never on the default branch");
    let said = repo.try_git(&["switch", "-q", "-c", "task-4-login"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let status = repo.status();
    assert_eq!(
        (status["loop"]["task"].as_str(), status["max_iterations"].as_u64()),
        (Some("Log in with a key"), Some(7))
    );
    repo.nav(&["abort"]).ok();
    repo.git(&["switch", "-q", "main"]);
    repo.git(&["switch", "-q", "task-4-login"]);
    assert_eq!(repo.nav(&["list"]).ok().lines().count(), 1, "once");
    repo.git(&["switch", "-q", "-c", "plain-name", "main"]);
    assert_eq!(repo.status()["loop"]["task"], "plain-name");
}

#[test]
fn a_fetched_visited_or_default_branch_and_a_detached_head_never_start_a_loop() {
    let origin = TestRepo::new();
    origin.write(".agent/.nav-config.json", r#"{"loop_mode":{"enabled":true}}"#);
    origin.commit("enable");
    origin.git(&["branch", "theirs"]);
    origin.git(&["clone", "-q", ".", "../clone"]);
    let clone = origin.root.path().canonicalize().unwrap().join("clone");
    origin.nav_in(&clone, &["install"]).ok();
    let git = |args: &[&str]| origin.git_in(&clone, args).ok();
    git(&["switch", "-q", "theirs"]);
    git(&["switch", "-q", "--detach", "main"]);
    git(&["worktree", "add", "-q", "../pull-request", "origin/theirs"]);
    git(&["switch", "-q", "main"]);
    git(&["-c", "core.hooksPath=/dev/null", "branch", "old", "main"]);
    git(&["-c", "core.hooksPath=/dev/null", "switch", "-q", "old"]);
    git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "x"]);
    git(&["switch", "-q", "main"]);
    git(&["switch", "-q", "old"]);
    assert_eq!(origin.nav_in(&clone, &["list"]).ok(), "");
}

#[test]
fn front_matter_starts_a_loop_and_a_broken_configuration_is_one_line() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.write(".agent/tasks/TASK-5-x.md", "---\nloop_mode: true\n---\n# By front matter\n");
    repo.commit("task");
    repo.git(&["switch", "-q", "-c", "task-5-x"]);
    assert_eq!(repo.status()["loop"]["task"], "By front matter");
    repo.write(".agent/.nav-config.json", "{broken");
    let said = repo.try_git(&["switch", "-q", "-c", "other"]);
    assert_eq!((said.code, said.err.lines().count()), (0, 1), "{said:?}");
}
