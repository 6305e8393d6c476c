use std::{collections::HashSet, fs, os::unix::fs::PermissionsExt, path::PathBuf, thread};

use crate::support::{Said, TestRepo};

/// A bare repository and a clone of it on a branch of its own, with a loop.
fn server(repo: &TestRepo) -> PathBuf {
    let bare = repo.root.path().canonicalize().unwrap().join("server.git");
    repo.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    repo.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
    repo.git(&["push", "-q", "origin", "main"]);
    bare
}

fn clone(repo: &TestRepo, name: &str) -> PathBuf {
    let dir = repo.root.path().canonicalize().unwrap().join(name);
    repo.git(&["clone", "-q", repo.root.path().join("server.git").to_str().unwrap(), dir.to_str().unwrap()]);
    repo.git_in(&dir, &["switch", "-q", "-c", name]).ok();
    repo.nav_in(&dir, &["start", name]).ok();
    dir
}

/// Ids of every event in the notes of a repository.
fn ids(repo: &TestRepo, dir: &std::path::Path) -> HashSet<String> {
    let listed = repo.git_in(dir, &["notes", "--ref=nav-loop", "list"]).out;
    let mut ids = HashSet::new();
    for line in listed.lines() {
        let text = repo.git_in(dir, &["cat-file", "-p", line.split(' ').next().unwrap()]).out;
        let events = text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok());
        ids.extend(events.filter(|e| e["type"] == "signal_given").map(|e| e["id"].as_str().unwrap().to_owned()));
    }
    ids
}

#[test]
fn sixteen_clones_with_fifty_events_each_converge_and_lose_nothing() {
    let repo = TestRepo::new();
    let bare = server(&repo);
    let clones: Vec<PathBuf> = (0..16).map(|n| clone(&repo, &format!("clone-{n}"))).collect();
    let run = |args: &[&str], dir: &PathBuf| {
        let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
        command.current_dir(dir).args(args);
        command
    };
    let mut work: Vec<Vec<std::process::Command>> = Vec::new();
    for dir in &clones {
        let mut commands: Vec<std::process::Command> =
            (0..50).map(|n| run(&["signal", "exit", "--reason", &n.to_string()], dir)).collect();
        commands.push(run(&["sync", "--timeout", "10m"], dir));
        work.push(commands);
    }
    thread::scope(|scope| {
        for commands in work {
            scope.spawn(move || {
                for mut command in commands {
                    let said = Said::of(command.output().unwrap());
                    assert_eq!(said.code, 0, "{said:?}");
                }
            });
        }
    });
    for dir in &clones {
        repo.nav_in(dir, &["sync"]).ok();
    }
    let all = ids(&repo, &bare);
    assert_eq!(all.len(), 800);
    for dir in &clones {
        assert_eq!(ids(&repo, dir), all);
    }
    repo.git_in(&bare, &["fsck"]).ok();
}

#[test]
fn a_first_sync_makes_the_ref_a_second_says_so_and_nothing_of_the_users_moves() {
    let repo = TestRepo::new();
    let bare = server(&repo);
    let config = repo.read(".git/config");
    let said = repo.nav(&["sync"]).ok();
    assert_eq!(said, "origin: 0 notes received, nothing to push\n");
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.nav(&["start", "x"]).ok();
    let before = repo.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]);
    assert_eq!(repo.nav(&["sync", "origin"]).ok(), "origin: 0 notes received, ours pushed\n");
    assert_eq!(repo.nav(&["sync"]).ok(), "origin: 0 notes received, nothing to push\n");
    assert_eq!(repo.nav(&["--lang", "zh", "sync"]).ok(), "origin：收到 0 条注释，没有可推送的内容\n");
    assert_eq!(before, repo.git(&["for-each-ref", "refs/heads", "refs/tags", "refs/remotes"]));
    let now = repo.read(".git/config");
    assert_eq!(
        config,
        now.replace("[branch \"topic\"]\n", "")
            .lines()
            .filter(|l| !l.contains("navLoop"))
            .map(|l| format!("{l}\n"))
            .collect::<String>()
    );
    assert!(repo.git_in(&bare, &["notes", "--ref=nav-loop", "list"]).ok().lines().count() >= 1);
    let other = clone(&repo, "other");
    let received = repo.nav_in(&other, &["sync"]).ok();
    assert!(received.contains("notes received, ours pushed"), "{received}");
    assert!(repo.nav(&["sync"]).ok().contains("notes received"));
}

#[test]
fn offline_unknown_and_rejected_remotes_have_their_own_messages_and_lose_nothing() {
    let repo = TestRepo::new();
    let bare = server(&repo);
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.nav(&["start", "x"]).ok();
    let tip = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    repo.nav(&["sync", "nowhere"]).fails(2, "is no remote of this repository: origin");
    repo.nav(&["sync", "--timeout", "soon"]).fails(2, "is no time");
    repo.git(&["remote", "add", "gone", "/no/such/place.git"]);
    repo.nav(&["sync", "gone"]).fails(10, "gone cannot be reached");
    let hook = bare.join("hooks/pre-receive");
    fs::write(&hook, "#!/bin/sh\necho no notes here please\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let said = repo.nav(&["sync"]);
    assert_eq!(said.code, 10, "{said:?}");
    assert!(
        said.err.contains(
            "origin refused the notes: [remote rejected] (pre-receive hook declined) remote: no notes here please"
        ),
        "{said:?}"
    );
    assert_eq!(tip, repo.git(&["rev-parse", "refs/notes/nav-loop"]));
    repo.nav_env(&[("NAV_LOOP_HOOK", "1")], &["sync"]).fails(2, "inside a git hook");
    fs::remove_file(&hook).unwrap();
    repo.nav(&["sync"]).ok();
}

#[test]
fn a_humans_plain_notes_a_foreign_push_in_between_and_duplicate_paths_are_all_kept() {
    let repo = TestRepo::new();
    let bare = server(&repo);
    let (a, b) = (clone(&repo, "a"), clone(&repo, "b"));
    repo.nav_in(&a, &["sync"]).ok();
    // Somebody writes a plain note with git and pushes it.
    repo.git_in(&b, &["fetch", "-q", "origin", "+refs/notes/nav-loop:refs/notes/theirs"]).ok();
    repo.git_in(&b, &["notes", "--ref=theirs", "append", "-m", "a human was here", "main"]).ok();
    repo.git_in(&b, &["push", "-q", "origin", "refs/notes/theirs:refs/notes/nav-loop"]).ok();
    repo.nav_in(&a, &["signal", "exit", "--reason", "mine"]).ok();
    repo.nav_in(&a, &["sync"]).ok();
    repo.nav_in(&b, &["sync"]).ok();
    let note = repo.git_in(&bare, &["notes", "--ref=nav-loop", "show", "main"]).out;
    assert!(note.contains("a human was here") && note.contains("signal_given"), "{note}");
    // The same object at two depths, as a careless tool leaves it: git's own merge dies on such a tree.
    let on = repo.git(&["rev-parse", "main"]);
    let tip = repo.git_in(&bare, &["rev-parse", "refs/notes/nav-loop"]).out;
    let blob = repo.run("sh", &["-c", &format!("echo twice | git -C '{}' hash-object -w --stdin", bare.display())]).out;
    let (tip, blob, deep) = (tip.trim(), blob.trim(), [&on[..2], &on[2..]].join("/"));
    let script = format!(
        "cd '{}' && export GIT_INDEX_FILE=x.index && git read-tree {tip} && git update-index --add --cacheinfo 100644,{blob},{on} && git update-index --add --cacheinfo 100644,{blob},{deep} && t=$(git write-tree) && c=$(git commit-tree $t -p {tip} -m dup) && git update-ref refs/notes/nav-loop $c",
        bare.display()
    );
    let made = repo.run("sh", &["-c", &script]);
    assert_eq!(made.code, 0, "{made:?}");
    repo.nav_in(&a, &["signal", "false"]).ok();
    repo.nav_in(&a, &["sync"]).ok();
    let note = repo.git_in(&a, &["notes", "--ref=nav-loop", "show", "main"]).ok();
    assert!(note.contains("twice") && note.contains("a human was here"), "{note}");
    repo.nav_in(&b, &["sync"]).ok();
    assert_eq!(ids(&repo, &a), ids(&repo, &bare));
    assert_eq!(ids(&repo, &b), ids(&repo, &bare));
    let listed = repo.git_in(&bare, &["notes", "--ref=nav-loop", "list"]).ok();
    let objects: Vec<&str> = listed.lines().map(|l| l.split(' ').nth(1).unwrap()).collect();
    assert_eq!(objects.iter().collect::<HashSet<_>>().len(), objects.len(), "one path for each object");
}
