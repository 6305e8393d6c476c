use std::fs;

use crate::support::{TestRepo, formats};

const STEPS: [&str; 7] = ["spool-written", "spooled", "locked", "commit-written", "swapped", "read-back", "none"];

#[test]
fn a_crash_at_every_step_of_a_write_loses_nothing_and_leaves_git_alone() {
    for format in formats() {
        let repo = TestRepo::looping_in(format);
        for step in STEPS {
            let said = repo.nav_env(&[("NAV_LOOP_FAIL_AT", step)], &["signal", "exit", "--reason", step]);
            assert_eq!(said.code == 0, step == "none", "{step}: {said:?}");
            let status = repo
                .command("git")
                .env("NAV_LOOP_FAIL_AT", step)
                .args(["commit", "-q", "--allow-empty", "-m", step])
                .output();
            assert!(status.unwrap().status.success());
            repo.git(&["fsck", "--strict"]);
            repo.git(&["branch", step]);
            repo.nav(&["status"]).ok();
            repo.nav(&["signal", "exit", "--reason", "after"]).ok();
            assert_eq!(repo.try_git(&["notes", "--ref=nav-loop", "show", "HEAD"]).code, 0, "{format:?} {step}");
        }
        let journal = repo.git(&["notes", "--ref=nav-loop", "show", &repo.anchor()]);
        // Before `spooled` nothing was acknowledged; from there on nothing may be lost.
        for step in &STEPS[1..] {
            let found = journal.lines().filter(|l| l.contains(&format!("\"reason\":\"{step}\""))).count();
            assert_eq!(found, 1, "{format:?} {step}");
        }
        let left = fs::read_dir(repo.dir.join(".git/nav-loop/spool")).unwrap().flatten();
        let left: Vec<_> = left.filter(|e| e.path().extension().is_some_and(|x| x == "json")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
