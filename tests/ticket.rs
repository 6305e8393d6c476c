use serde_json::json;

use crate::support::{TestRepo, tracker::Tracker};

const GITHUB: &str = r#"{"project_management":"github"}"#;

/// A loop on ticket 12 with a tracker that has it open.
fn ticketed(repo: &TestRepo) -> Tracker<'_> {
    repo.write(".agent/.nav-config.json", GITHUB);
    repo.write("check.sh", "true\n");
    repo.commit("settings");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "log in", "--ticket", "12", "--test", "sh check.sh"]).ok();
    let tracker = Tracker::new(repo);
    tracker.issue(12, "Log in", &json!({}));
    tracker
}

#[test]
fn an_open_ticket_is_checked_and_closed_and_both_are_recorded() {
    let repo = TestRepo::new();
    let tracker = ticketed(&repo);
    let said = tracker.nav(&["ticket", "check"]);
    assert_eq!((said.code, said.out.as_str()), (1, "#12: open · Log in\n"), "{said:?}");
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
    let said = tracker.nav(&["ticket", "close"]).ok();
    assert_eq!(said, "#12: closed · Log in\n");
    assert_eq!(repo.indicator("ticket_closed"), "met");
    assert!(repo.reason("ticket_closed").contains("tracker"), "{}", repo.reason("ticket_closed"));
    let json = tracker.nav(&["ticket", "check", "--json"]);
    assert_eq!((json.code, json.json()["state"].as_str()), (0, Some("closed")));
    tracker.issue(12, "Log in", &json!({}));
    assert_eq!(tracker.nav(&["--lang", "zh", "ticket", "check"]).out, "#12：未关闭 · Log in\n");
    assert_eq!(repo.indicator("ticket_closed"), "unmet", "opened again");
    assert!(tracker.calls().contains("issue view 12 --json number,state,title,url"), "{}", tracker.calls());
}

#[test]
fn not_installed_not_logged_in_offline_and_unknown_are_four_messages_and_change_no_indicator() {
    let repo = TestRepo::new();
    let tracker = ticketed(&repo);
    tracker.nav(&["ticket", "close"]).ok();
    for (mode, words) in [
        ("offline", "cannot be reached: error connecting"),
        ("logged-out", "gh is not logged in"),
        ("garbage", "gh failed: no JSON"),
    ] {
        tracker.mode(mode);
        for act in ["check", "close"] {
            tracker.nav(&["ticket", act]).fails(10, words);
            assert_eq!(repo.indicator("ticket_closed"), "met", "{mode}");
        }
    }
    tracker.mode("online");
    tracker.nav(&["ticket", "check", "99"]).fails(10, "the tracker has no #99");
    let only_git = repo.root.path().join("only git");
    std::fs::create_dir(&only_git).unwrap();
    let git = repo.run("sh", &["-c", "command -v git"]).ok();
    std::os::unix::fs::symlink(git.trim(), only_git.join("git")).unwrap();
    repo.nav_env(&[("PATH", only_git.to_str().unwrap())], &["ticket", "check"]).fails(10, "gh is not installed");
    assert_eq!(repo.indicator("ticket_closed"), "met");
    let json = tracker.nav(&["ticket", "check", "99", "--json"]).json();
    assert_eq!((json["error"]["kind"].as_str(), json["exit_code"].as_u64()), (Some("remote"), Some(10)));
}

#[test]
fn another_ticket_than_the_loops_is_answered_and_not_recorded() {
    let repo = TestRepo::new();
    let tracker = ticketed(&repo);
    tracker.issue(13, "Other", &json!({"state": "CLOSED"}));
    tracker.nav(&["ticket", "check", "13"]).ok();
    assert_eq!(repo.indicator("ticket_closed"), "unmet");
    assert!(!repo.events().contains(&"ticket_checked".to_owned()));
    tracker.nav(&["ticket", "check", "other/repo#13"]).ok();
    assert!(tracker.calls().contains("issue view 13 --repo other/repo"));
    tracker.nav(&["ticket", "check", "soon"]).fails(2, "is no ticket");
    tracker.nav(&["ticket", "check", "NAV-7"]).fails(2, "NAV-7 is no GitHub issue");
    repo.git(&["switch", "-q", "main"]);
    tracker.nav(&["ticket", "check"]).fails(2, "nothing names a ticket");
}

#[test]
fn completing_closes_the_ticket_where_the_tracker_is_configured() {
    for (mode, result) in
        [("online", "3. close ticket: done (#12)"), ("offline", "3. close ticket: failed (the tracker")]
    {
        let repo = TestRepo::new();
        let tracker = ticketed(&repo);
        repo.commit_file("src/login.rs", "login\n", "add login");
        repo.nav(&["test"]).ok();
        repo.nav(&["signal", "exit"]).ok();
        tracker.mode(mode);
        let said = tracker.nav(&["complete"]).ok();
        assert!(said.contains(result), "{said}");
        assert_eq!(repo.status()["loop"]["state"], "completed", "a tracker that is away holds nothing up");
        assert_eq!(repo.indicator("ticket_closed"), if mode == "online" { "met" } else { "unmet" });
    }
}
