use serde_json::Value;

use crate::support::{Said, TestRepo};

fn step(repo: &TestRepo) -> Value {
    repo.nav(&["step", "--json"]).json()
}

fn paused(status: &Value) -> &str {
    status["loop"]["paused_reason"].as_str().unwrap_or("")
}

#[test]
fn the_same_state_at_the_threshold_pauses_with_the_seeds_block_in_both_languages() {
    for (lang, words) in [
        (
            "en",
            vec![
                "STAGNATION DETECTED",
                "Same state detected for 3 consecutive iterations.",
                "Current State:\n  Phase: RESEARCH\n  Indicators: 0/4\n  Last Action: ",
                "Possible causes:\n1. Blocked by external dependency\n2. Unclear requirements\n3. Test failures preventing progress\n4. Missing context or permissions\n",
                "Options:\n1. [Continue] - Try one more iteration\n2. [Clarify] - Explain what's blocking\n3. [Abort] - End loop, manual intervention\n",
                "PAUSED: stagnation",
            ],
        ),
        (
            "zh",
            vec![
                "检测到停滞",
                "连续3次迭代检测到相同状态。",
                "当前状态：\n  阶段：RESEARCH\n  指标：0/4\n  上次行动：",
                "可能的原因：\n1. 被外部依赖阻塞\n2. 需求不明确\n3. 测试失败阻止进度\n4. 缺少上下文或权限\n",
                "选项：\n1. [继续] - 再试一次迭代\n2. [澄清] - 用户解释阻塞点，纳入并继续\n3. [中止] - 手动干预，结束循环\n",
                "暂停：停滞",
            ],
        ),
    ] {
        let repo = TestRepo::looping();
        assert_eq!(repo.nav(&["step"]).code, 1);
        assert_eq!(repo.nav(&["step"]).code, 1);
        let said = repo.nav(&["--lang", lang, "step"]);
        assert_eq!(said.code, 4, "{said:?}");
        for words in words {
            assert!(said.out.contains(words), "{words:?} is not in {}", said.out);
        }
        let journal = repo.git(&["notes", "--ref=nav-loop", "show", &repo.anchor()]);
        assert!(journal.contains("the same state 3 times; missing: code_committed"), "the diagnosis is recorded");
        assert_eq!(repo.nav(&["gate"]).code, 4);
    }
}

#[test]
fn a_cycle_of_two_states_pauses_and_moving_content_does_not() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.start(&["--min-indicators", "3"]);
    repo.commit_file("src/a.rs", "start\n", "start");
    for round in 0..3 {
        repo.write("src/a.rs", "one way\n");
        assert_eq!(paused(&step(&repo)), "", "round {round}");
        repo.write("src/a.rs", "start\n");
        let status = step(&repo);
        assert_eq!(paused(&status), if round == 2 { "stagnation" } else { "" }, "{status}");
    }
    let moving = TestRepo::looping();
    moving.commit_file("src/a.rs", "start\n", "start");
    for round in 0..8 {
        moving.write("src/a.rs", &format!("{round}\n"));
        assert_eq!(paused(&step(&moving)), "", "content that moves in the same file is no stagnation");
    }
}

#[test]
fn a_scratch_or_log_file_per_turn_hides_nothing() {
    let repo = TestRepo::looping();
    for round in 0..3 {
        repo.write(format!("scratch-{round}.log"), "x");
        repo.write("tracked.log", "x");
        let status = step(&repo);
        assert_eq!(paused(&status), if round == 2 { "stagnation" } else { "" });
    }
}

#[test]
fn the_same_failures_with_moving_code_pause_after_threshold_and_two() {
    let repo = TestRepo::looping();
    repo.write("check.sh", "echo 'not ok 1 - login'; exit 1\n");
    for round in 1..=5 {
        repo.commit_file("src/a.rs", &format!("{round}\n"), "another try");
        repo.nav(&["test"]).fails(1, "");
        let status = step(&repo);
        assert_eq!(
            paused(&status),
            if round == 5 { "stagnation" } else { "" },
            "round {round}: {}",
            status["stagnation"]
        );
    }
    let said = repo.nav(&["diagnose"]).ok();
    for words in ["The same failing tests, and nothing newly met", "Failing: login", "  | not ok 1 - login"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    let json = repo.nav(&["diagnose", "--json"]).json();
    assert_eq!(json["failing"][0], "login");
}

#[test]
fn the_second_example_of_the_seed_pauses_clarifies_and_completes_at_four() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "fix-auth"]);
    repo.nav(&["start", "修复认证错误", "--test", "sh check.sh"]).ok();
    repo.write("check.sh", "grep -q mock src/auth.rs || { echo 'not ok 1 - auth'; exit 1; }\n");
    repo.write("src/auth.rs", "no service\n");
    repo.git(&["add", "-A"]);
    for n in 1..=3 {
        repo.nav(&["test"]).fails(1, "");
        let status = step(&repo);
        assert_eq!((status["iteration"].as_u64(), status["phase"].as_str()), (Some(n), Some("IMPL")));
    }
    assert_eq!(paused(&repo.status()), "stagnation");
    repo.nav(&["resume", "clarify", "测试需要auth服务的模拟"]).ok();
    assert_eq!(repo.status()["iteration"], 4);
    repo.commit_file("src/auth.rs", "with a mock\n", "add the mock");
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit", "--reason", "认证错误修复及模拟服务"]).ok();
    let said = repo.nav(&["--lang", "zh", "step"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("循环完成") && said.out.contains("迭代次数：4/5"), "{}", said.out);
}

#[test]
fn the_limit_pauses_with_the_seeds_block_and_extends_by_three() {
    for (lang, words) in [
        (
            "en",
            [
                "MAX ITERATIONS REACHED",
                "Completed 1 iterations without full completion.",
                "EXIT_SIGNAL: false",
                "Progress made:\n- add two\n",
                "1. [Extend] - Add 3 more iterations\n2. [Complete] - Accept current state as done\n3. [Abort] - Exit without completion\n",
            ],
        ),
        (
            "zh",
            [
                "达到最大迭代次数",
                "在没有完全完成的情况下完成了1次迭代。",
                "EXIT_SIGNAL：false",
                "取得的进展：\n- add two\n",
                "1. [扩展] - 增加3次迭代\n2. [完成] - 接受当前状态作为完成\n3. [中止] - 未完成退出\n",
            ],
        ),
    ] {
        let repo = TestRepo::new();
        repo.git(&["switch", "-q", "-c", "feature"]);
        repo.nav(&["start", "x", "--max-iterations", "1"]).ok();
        repo.do_the_work();
        let said = repo.nav(&["--lang", lang, "step"]);
        assert_eq!(said.code, 5);
        for words in words {
            assert!(said.out.contains(words), "{words:?} is not in {}", said.out);
        }
        repo.nav(&["resume", "continue"]).fails(2, "extend");
        repo.nav(&["resume", "clarify", "x"]).fails(2, "extend");
        repo.nav(&["resume", "extend"]).ok();
        let status = repo.status();
        assert_eq!((status["iteration"].as_u64(), status["max_iterations"].as_u64()), (Some(2), Some(4)));
    }
}

#[test]
fn a_person_completes_as_it_stands_or_aborts_with_a_partial_marker() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let said = repo.nav(&["resume", "complete"]).ok();
    assert!(said.contains("LOOP COMPLETE") && said.contains("accepted as it stands"), "{said}");
    assert_eq!(repo.status()["loop"]["state"], "completed");
    assert_eq!(repo.nav(&["gate"]).code, 1, "accepting moves no verdict");
    let other = TestRepo::looping();
    other.do_the_work();
    let marker = other.nav(&["abort", "--reason", "no time"]).ok();
    let text = other.read(marker.trim());
    assert!(marker.trim().ends_with("-partial.md"));
    for words in ["(partial)", "## Progress\n\n- add two", "## Remaining\n\n- tests_passing"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    other.nav(&["step"]).fails(7, "aborted");
    other.nav(&["resume", "continue"]).fails(2, "has ended");
}

#[test]
fn approval_is_asked_for_after_each_or_each_nth_iteration() {
    for (mode, pauses) in [("strict", [true, true, true, true]), ("periodic", [false, true, false, true])] {
        let repo = TestRepo::new();
        repo.write(
            ".agent/.nav-config.json",
            &format!(r#"{{"loop_mode":{{"iteration_approval":"{mode}","periodic_interval":2,"max_iterations":20}}}}"#),
        );
        repo.commit("config");
        repo.git(&["switch", "-q", "-c", "feature"]);
        repo.nav(&["start", "x"]).ok();
        for (round, due) in pauses.into_iter().enumerate() {
            repo.write("src/lib.rs", &format!("{round}\n"));
            let status = step(&repo);
            assert_eq!(paused(&status), if due { "approval" } else { "" }, "{mode} {round}");
            assert_eq!(status["exit_code"], if due { 6 } else { 1 });
            if due {
                repo.nav(&["resume", "continue"]).ok();
            }
        }
    }
}

#[test]
fn never_pausing_diversifies_and_the_third_time_ends_the_loop() {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", r#"{"loop_mode":{"never_pause_on_stagnation":true,"stagnation_diversify_strategy":"radical","max_iterations":20}}"#);
    repo.commit("config");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    for _ in 0..4 {
        assert_eq!(paused(&step(&repo)), "");
    }
    assert_eq!(repo.events().iter().filter(|e| *e == "diversified").count(), 2);
    step(&repo);
    let status = repo.status();
    assert_eq!(status["loop"]["state"], "aborted");
}

#[test]
fn gate_open_comes_before_everything_that_pauses() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x", "--max-iterations", "1", "--test", "sh check.sh"]).ok();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    assert_eq!(repo.nav(&["step"]).code, 0);
    assert_eq!(repo.status()["loop"]["state"], "completed");
    let before = repo.events().len();
    assert_eq!(repo.nav(&["step"]).code, 0, "as the gate");
    assert_eq!(repo.events().len(), before);
}

#[test]
fn the_iteration_number_never_goes_back() {
    let repo = TestRepo::looping();
    repo.write("src/lib.rs", "1\n");
    step(&repo);
    repo.write("src/lib.rs", "2\n");
    step(&repo);
    assert_eq!(repo.status()["iteration"], 3);
    repo.git(&["stash", "-q"]);
    repo.git(&["branch", "-m", "feature", "renamed"]);
    std::fs::remove_dir_all(repo.dir.join(".git/nav-loop/running")).unwrap();
    assert_eq!(repo.status()["iteration"], 3);
    repo.git(&["reset", "-q", "--hard", "main"]);
    assert_eq!(repo.status()["iteration"], 3);
    let shown: Said = repo.nav(&["log"]);
    let rows: Vec<&str> = shown.out.lines().collect();
    assert_eq!(rows.len(), 3, "{shown:?}");
    assert!(rows[0].starts_with("Iteration  Time") && rows[2].starts_with("2/20"), "{shown:?}");
}

#[test]
fn one_line_stands_for_the_block_where_the_configuration_says_so() {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", r#"{"loop_mode":{"show_status_block":false}}"#);
    repo.commit("config");
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    let said = repo.nav(&["step"]);
    assert_eq!(said.out.lines().count(), 1, "{said:?}");
    assert!(said.out.starts_with("Iteration 1/5 · RESEARCH · 0/4 · CONTINUE: more work"), "{said:?}");
}
