use std::{collections::HashSet, fs, process::Child};

use serde_json::Value;

use crate::support::{Format, SHA1, TestRepo, formats};

fn spawn(repo: &TestRepo, args: &[&str]) -> Child {
    let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    command.args(args).stdout(std::process::Stdio::null()).spawn().unwrap()
}

/// Runs `lanes` chains of `each` commands at once.
fn at_once(lanes: usize, each: usize, run: impl Fn(usize, usize) + Sync) {
    std::thread::scope(|scope| {
        for lane in 0..lanes {
            let run = &run;
            scope.spawn(move || (0..each).for_each(|n| run(lane, n)));
        }
    });
}

/// Reasons of all recorded signals.
fn reasons(repo: &TestRepo) -> Vec<String> {
    let note = repo.note(&repo.anchor());
    let signals = note.iter().filter(|e| e["type"] == "signal_given");
    signals.map(|e| e["reason"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn eight_processes_with_a_hundred_events_each_lose_none() {
    let repo = TestRepo::looping();
    let shared = SharedRepo(&repo);
    at_once(8, 100, |lane, n| shared.signal(&format!("{lane}-{n}")));
    let reasons = reasons(&repo);
    assert_eq!(reasons.len(), 800);
    assert_eq!(reasons.iter().collect::<HashSet<_>>().len(), 800);
    let seqs: HashSet<u64> = repo.note(&repo.anchor()).iter().map(|e| e["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs.len(), 801, "each event has its own place in the order");
    assert_eq!(fs::read_dir(repo.dir.join(".git/nav-loop/spool")).unwrap().count(), 0);
    repo.git(&["fsck", "--strict"]);
}

/// `TestRepo` counts its clock in a `Cell`; threads only start programs with a fixed date.
struct SharedRepo<'a>(&'a TestRepo);

// SAFETY: `Sync` for tests: the one shared call below builds its command from plain paths and never touches the cell.
unsafe impl Sync for SharedRepo<'_> {}

impl SharedRepo<'_> {
    fn program(&self, program: &str) -> std::process::Command {
        let mut command = std::process::Command::new(program);
        command.current_dir(&self.0.dir).env("HOME", self.0.root.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("LC_ALL", "C").stdin(std::process::Stdio::null()).stdout(std::process::Stdio::null());
        for mark in ["CLAUDECODE", "NAV_LOOP", "NAV_LOOP_HOOK", "GIT_DIR"] {
            command.env_remove(mark);
        }
        command
    }

    fn signal(&self, reason: &str) {
        let status =
            self.program(env!("CARGO_BIN_EXE_git-nav-loop")).args(["signal", "exit", "--reason", reason]).status();
        assert!(status.unwrap().success());
    }

    fn commit(&self, dir: &str, n: usize) {
        let mut command = self.program("git");
        command.args(["-C", dir, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "-q", "--allow-empty"]);
        let output = command.args(["-m", &format!("commit {n} in {dir}")]).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn commits_in_three_worktrees_at_once_are_all_recorded_on_every_format() {
    for format in formats() {
        let repo = TestRepo::of(format);
        repo.nav(&["install"]).ok();
        let mut trees = Vec::new();
        for name in ["one", "two", "three"] {
            repo.git(&["worktree", "add", "-q", &format!("../{name}"), "-b", name]);
            let tree = repo.root.path().canonicalize().unwrap().join(name);
            repo.nav_in(&tree, &["start", name, "--max-iterations", "20", "--stagnation-threshold", "5"]).ok();
            trees.push(tree.display().to_string());
        }
        let shared = SharedRepo(&repo);
        at_once(3, 8, |lane, n| shared.commit(&trees[lane], n));
        for tree in &trees {
            let ids = repo.git_in(tree.as_ref(), &["rev-list", "main..HEAD"]).ok();
            assert_eq!(ids.lines().count(), 8);
            for id in ids.lines() {
                assert_eq!(repo.note(id).len(), 1, "{format:?} {tree} {id}");
            }
        }
        repo.git(&["fsck", "--strict"]);
    }
}

#[test]
fn every_backend_gives_the_same_answers() {
    let mut answers = Vec::new();
    for shared in [None, Some("group")] {
        let repo = TestRepo::looping();
        if let Some(mode) = shared {
            repo.git(&["config", "core.sharedRepository", mode]);
        }
        repo.do_the_work();
        repo.nav(&["test"]).ok();
        repo.nav(&["signal", "exit"]).ok();
        let gate = repo.gate();
        answers.push((gate["verdict"].clone(), gate["met"].clone(), gate["signal"].clone()));
        repo.git(&["fsck", "--strict"]);
        assert_eq!(repo.nav(&["doctor"]).code, 0);
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn a_shared_repository_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let repo = TestRepo::looping();
    repo.git(&["config", "core.sharedRepository", "group"]);
    let old: HashSet<_> = object_files(&repo).into_iter().collect();
    let script = format!("umask 077; '{}' signal exit", env!("CARGO_BIN_EXE_git-nav-loop"));
    assert_eq!(repo.run("sh", &["-c", &script]).code, 0);
    let new: Vec<_> = object_files(&repo).into_iter().filter(|f| !old.contains(f)).collect();
    assert!(!new.is_empty());
    for file in new {
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o040, 0o040, "{} is not readable by the group", file.display());
    }
}

fn object_files(repo: &TestRepo) -> Vec<std::path::PathBuf> {
    let dirs = fs::read_dir(repo.dir.join(".git/objects")).unwrap().flatten().map(|e| e.path());
    let dirs = dirs.filter(|d| d.file_name().is_some_and(|n| n.len() == 2));
    dirs.flat_map(|d| fs::read_dir(d).unwrap().flatten().map(|e| e.path())).collect()
}

#[test]
fn a_stale_lock_of_our_ref_is_removed_and_recorded() {
    let repo = TestRepo::looping();
    let lock = repo.dir.join(".git/refs/notes/nav-loop.lock");
    fs::write(&lock, "").unwrap();
    repo.nav(&["signal", "exit", "--reason", "late"]).ok();
    assert!(!lock.exists());
    assert_eq!(reasons(&repo), ["late"]);
    repo.nav(&["doctor"]).fails(1, "removed a stale lock");
}

#[test]
fn a_held_lock_lets_the_event_wait_and_the_next_program_writes_it() {
    let repo = TestRepo::looping();
    let lock = fs::OpenOptions::new().write(true).open(repo.dir.join(".git/nav-loop/lock")).unwrap();
    lock.lock().unwrap();
    let said = repo.try_git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    assert_eq!(said.code, 0);
    assert_eq!(said.err.lines().count(), 1, "{said:?}");
    assert!(repo.note("HEAD").is_empty());
    let waiting = fs::read_dir(repo.dir.join(".git/nav-loop/spool")).unwrap().count();
    assert_eq!(waiting, 2);
    let gate = repo.gate();
    assert_eq!(gate["v"], 1, "the gate reads what waits, without the lock");
    drop(lock);
    repo.nav(&["status"]).ok();
    assert_eq!(repo.note("HEAD").len(), 1);
    assert_eq!(fs::read_dir(repo.dir.join(".git/nav-loop/spool")).unwrap().count(), 0);
}

#[test]
fn foreign_lines_of_any_kind_are_skipped_counted_and_kept() {
    let repo = TestRepo::looping();
    let anchor = repo.anchor();
    let mut text = repo.git(&["notes", "--ref=nav-loop", "show", &anchor]);
    text.push_str("\n\n{\n  \"pretty\": true\n}\n{\"v\":1,\"type\":\"from_the_future\"}\r\nlatin \u{e9}\n");
    text.push_str(&format!("{{\"pad\":\"{}\"}}\n", "x".repeat(1 << 20)));
    let mut bytes = text.into_bytes();
    bytes.extend(b"nul \0 and \xff\xfe\n");
    let file = repo.root.path().join("note");
    fs::write(&file, &bytes).unwrap();
    let blob = repo.git(&["hash-object", "-w", file.to_str().unwrap()]);
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-C", &blob, &anchor]);
    assert_eq!(repo.nav(&["gate"]).code, 1);
    repo.nav(&["signal", "exit"]).ok();
    let note = repo.try_git(&["notes", "--ref=nav-loop", "show", &anchor]);
    assert!(note.out.contains("from_the_future") && note.out.contains("pretty"), "kept");
    repo.nav(&["doctor"]).fails(1, "lines are no events");
}

#[test]
fn order_repeats_and_blank_lines_mean_nothing() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    let before = repo.gate();
    let anchor = repo.anchor();
    let note = repo.git(&["notes", "--ref=nav-loop", "show", &anchor]);
    let mut lines: Vec<&str> = note.lines().collect();
    lines.reverse();
    let shuffled = [lines.join("\n\n"), note.clone(), "\n".into()].join("\n");
    let file = repo.root.path().join("note");
    fs::write(&file, shuffled).unwrap();
    let blob = repo.git(&["hash-object", "-w", file.to_str().unwrap()]);
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-C", &blob, &anchor]);
    assert_eq!(before, repo.gate());
}

#[test]
fn a_copied_note_is_no_fact_about_the_commit_it_was_copied_to() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let from = repo.head();
    repo.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "y"]);
    repo.git(&["notes", "--ref=nav-loop", "copy", &from, "HEAD"]);
    repo.nav(&["status"]).ok();
    let own: Vec<Value> = repo.note("HEAD").into_iter().filter(|l| l["on"] == repo.head().as_str()).collect();
    assert_eq!(own[0]["op"], "backfill", "it was not taken for seen");
}

#[test]
fn an_object_with_two_notes_is_read_as_both_and_written_back_as_one() {
    let repo = TestRepo::looping();
    let anchor = repo.anchor();
    let blob = repo.git(&["rev-parse", &format!("refs/notes/nav-loop:{anchor}")]);
    let line = format!(
        "{{\"v\":1,\"id\":\"other\",\"on\":\"{anchor}\",\"loop\":\"x\",\"seq\":1,\"at\":\"\",\"by\":\"x\",\"type\":\"diversified\",\"strategy\":\"x\"}}\n"
    );
    let file = repo.root.path().join("note");
    fs::write(&file, line).unwrap();
    let second = repo.git(&["hash-object", "-w", file.to_str().unwrap()]);
    let index = repo.root.path().join("index");
    let with_index = |args: &[&str]| {
        let output = repo.command("git").env("GIT_INDEX_FILE", &index).args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let path = format!("{}/{}", &anchor[..2], &anchor[2..]);
    with_index(&["read-tree", "refs/notes/nav-loop"]);
    with_index(&["update-index", "--add", "--cacheinfo", &format!("100644,{second},{path}")]);
    let tree = with_index(&["write-tree"]);
    let commit = repo.git(&["commit-tree", "-p", "refs/notes/nav-loop", "-m", "mixed", &tree]);
    repo.git(&["update-ref", "refs/notes/nav-loop", &commit]);
    assert_eq!(repo.nav(&["gate"]).code, 1, "still read");
    repo.nav(&["doctor"]).fails(1, "have two notes");
    repo.nav(&["signal", "exit"]).ok();
    let paths = repo.git(&["ls-tree", "-r", "--name-only", "refs/notes/nav-loop"]);
    assert_eq!(paths.lines().filter(|p| p.replace('/', "") == anchor).count(), 1);
    let note = repo.git(&["notes", "--ref=nav-loop", "show", &anchor]);
    assert!(note.contains("\"other\"") && note.contains("loop_started"));
    assert_ne!(blob, second);
    repo.nav(&["doctor"]).ok();
}

#[test]
fn the_frozen_task_survives_gc_and_the_anchor_is_kept() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let note = repo.note(&repo.anchor());
    let blob = note[0]["task_blob"].as_str().unwrap().to_owned();
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(repo.git(&["cat-file", "blob", &blob]), "add a function");
    assert_eq!(repo.nav(&["gate"]).code, 1);
    let empty = TestRepo::empty(SHA1);
    empty.nav(&["start", "from nothing"]).ok();
    empty.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(empty.nav(&["gate"]).code, 1);
}

#[test]
fn git_and_we_build_the_same_tree_of_a_thousand_notes() {
    for objects in ["sha1", "sha256"] {
        let repo = TestRepo::looping_in(Format { objects, refs: "files" });
        let mut stream = String::new();
        for n in 0..1000 {
            stream +=
                &format!("commit refs/heads/many\ncommitter x <x@y> {} +0000\ndata 1\n{}\n", 1_700_000_000 + n, n % 10);
            if n == 0 {
                stream += &format!("from {}\n", repo.git(&["rev-parse", "main"]));
            }
        }
        use std::io::Write;
        let mut import =
            repo.command("git").args(["fast-import", "--quiet"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
        import.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
        repo.git(&["-c", "core.hooksPath=/dev/null", "reset", "-q", "--hard", "many"]);
        repo.nav(&["status"]).ok();
        let ours = repo.git(&["rev-parse", "refs/notes/nav-loop^{tree}"]);
        let list = repo.git(&["notes", "--ref=nav-loop", "list"]);
        assert!(list.lines().count() >= 1000);
        for line in list.lines() {
            let (blob, on) = line.split_once(' ').unwrap();
            if repo.try_git(&["cat-file", "-t", on]).out.trim() == "commit" && line.ends_with('0') {
                repo.git(&["notes", "--ref=rebuilt", "add", "-C", blob, on]);
            }
        }
        assert_eq!(ours.len(), if objects == "sha1" { 40 } else { 64 });
        repo.nav(&["doctor"]).ok();
    }
}

#[test]
fn a_hook_and_a_command_may_report_the_same_commit() {
    let repo = TestRepo::looping();
    let mut children: Vec<Child> = (0..4).map(|_| spawn(&repo, &["status"])).collect();
    repo.do_the_work();
    children.iter_mut().for_each(|c| assert!(c.wait().unwrap().success()));
    repo.nav(&["status"]).ok();
    let seen: Vec<Value> = repo.note("HEAD");
    assert!(seen.iter().any(|l| l["op"] == "commit" || l["op"] == "backfill"));
}

#[test]
fn notes_on_objects_that_are_gone_are_reported_and_kept() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let gone = repo.head();
    repo.git(&["reset", "-q", "--hard", "main"]);
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    assert_ne!(repo.try_git(&["cat-file", "-e", &gone]).code, 0);
    assert!(repo.nav(&["doctor"]).ok().contains("1 annotate objects that are not here, and are kept"));
    assert_eq!(repo.note(&gone).len(), 1);
    assert_eq!(repo.nav(&["gate"]).code, 1);
}
