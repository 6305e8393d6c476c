use crate::support::TestRepo;

/// A loop in `origin`, and a clone that fetched its branch and its notes by plain git.
fn two_clones() -> (TestRepo, std::path::PathBuf, String) {
    let origin = TestRepo::looping();
    origin.do_the_work();
    origin.git(&["clone", "-q", ".", "../second"]);
    let second = origin.root.path().canonicalize().unwrap().join("second");
    let git = |args: &[&str]| origin.git_in(&second, args).ok();
    git(&["fetch", "-q", "origin", "refs/notes/nav-loop:refs/notes/nav-loop"]);
    git(&["switch", "-q", "feature"]);
    origin.nav_in(&second, &["install"]).ok();
    let id = origin.status()["loop"]["id"].as_str().unwrap().to_owned();
    (origin, second, id)
}

#[test]
fn one_clones_loop_is_history_in_the_other() {
    let (origin, second, id) = two_clones();
    assert_eq!(origin.nav_in(&second, &["gate"]).code, 7);
    assert!(origin.nav_in(&second, &["list"]).ok().contains(&id), "shown");
    assert_eq!(origin.git_in(&second, &["commit", "-q", "--allow-empty", "-m", "x"]).err, "");
    assert_eq!(origin.git_in(&second, &["notes", "--ref=nav-loop", "show", "HEAD"]).code, 1, "nothing recorded");
    origin.nav_in(&second, &["start", "another one"]).ok();
    assert_eq!(origin.nav_in(&second, &["gate"]).code, 1, "never in the way");
}

#[test]
fn adopt_takes_a_loop_over_and_late_events_of_the_old_owner_are_kept_and_not_folded() {
    let (origin, second, id) = two_clones();
    origin.nav_in(&second, &["adopt", "no-id"]).fails(2, "no loop id");
    origin.nav_in(&second, &["adopt", "2020-01-01-0000-abcdef"]).fails(2, "holds no loop");
    origin.nav(&["adopt", &id]).fails(2, "a loop is running here already");
    origin.nav_in(&second, &["adopt", &id]).ok();
    assert_eq!(origin.nav_in(&second, &["gate"]).code, 1);
    let iteration = |dir: &std::path::Path| origin.nav_in(dir, &["status", "--json"]).json()["iteration"].clone();
    assert_eq!(iteration(&second), 2, "the iteration number goes on");
    // The old owner does not know yet, and writes on.
    origin.nav(&["signal", "exit", "--reason", "late"]).ok();
    origin.nav(&["abort"]).ok();
    let url = origin.dir.display().to_string();
    let git = |args: &[&str]| origin.git_in(&second, args).ok();
    git(&["fetch", "-q", &url, "+refs/notes/nav-loop:refs/notes/theirs"]);
    git(&[
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@y",
        "notes",
        "--ref=nav-loop",
        "merge",
        "-q",
        "-s",
        "cat_sort_uniq",
        "refs/notes/theirs",
    ]);
    let gate = origin.nav_in(&second, &["gate", "--json"]).json();
    assert_eq!((gate["exit_code"].as_i64(), gate["signal"]["state"].as_str()), (Some(1), Some("none")), "{gate}");
    let anchor = origin.nav_in(&second, &["status", "--json"]).json()["loop"]["anchor"].as_str().unwrap().to_owned();
    assert!(git(&["notes", "--ref=nav-loop", "show", &anchor]).contains("\"late\""), "kept");
    // Back in the old clone, the merged journal makes it history there.
    origin.git(&["fetch", "-q", second.to_str().unwrap(), "+refs/notes/nav-loop:refs/notes/nav-loop"]);
    assert_eq!(origin.nav(&["gate"]).code, 7);
}

#[test]
fn an_agent_may_not_adopt_and_an_ended_loop_cannot_be_adopted() {
    let (origin, second, id) = two_clones();
    let mut command = origin.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    command.current_dir(&second).env("CLAUDECODE", "1").args(["adopt", &id]);
    assert_eq!(command.status().unwrap().code(), Some(6));
    origin.nav(&["abort"]).ok();
    origin.git_in(&second, &["fetch", "-q", "origin", "+refs/notes/nav-loop:refs/notes/nav-loop"]).ok();
    origin.nav_in(&second, &["adopt", &id]).fails(2, "has ended");
}

#[test]
fn a_marker_points_a_branch_at_its_loop() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let marker = repo.nav(&["mark"]).ok();
    repo.git(&["-c", "core.hooksPath=/dev/null", "switch", "-q", "-c", "elsewhere"]);
    assert_eq!(repo.nav(&["gate"]).code, 7);
    repo.nav(&["resume", "--marker", "README.md"]).fails(2, "names no loop");
    repo.nav(&["resume", "--marker", marker.trim()]).ok();
    assert_eq!(repo.nav(&["gate"]).code, 1);
    assert_eq!(repo.status()["loop"]["branch"], "elsewhere");
    repo.nav(&["resume"]).fails(2, "needs a choice");
}
