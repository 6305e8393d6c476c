use crate::support::TestRepo;

fn in_both(repo: &TestRepo, args: &[&str]) -> [String; 2] {
    ["en", "zh"].map(|lang| {
        let mut all = vec!["--lang", lang];
        all.extend(args);
        repo.nav(&all).out
    })
}

/// Digits of hashes and ids are random; everything else is compared to the letter.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.split_once([':', '：']) {
            Some((key, _))
                if ["State Hash", "Previous Hash", "状态哈希", "上一个哈希", "Loop", "循环", "Target", "目标分支"]
                    .contains(&key) =>
            {
                key
            }
            _ => line,
        };
        out += line;
        out.push('\n');
    }
    out
}

const RULER: &str = "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━";

#[test]
fn the_start_block_is_the_seeds_in_both_languages() {
    let repo = TestRepo::new();
    let en = repo.nav(&["start", "add isPrime"]).out;
    repo.nav(&["abort"]).ok();
    let zh = repo.nav(&["--lang", "zh", "start", "添加isPrime函数及测试"]).out;
    let expected = format!(
        "Loop mode config not found in .nav-config.json.\nUsing defaults: max_iterations=5, stagnation_threshold=3\n{RULER}\nLOOP MODE ACTIVATED\n{RULER}\n\nTask: add isPrime\nMax iterations: 5\nStagnation threshold: 3\n\nStarting iteration 1...\n{RULER}\nLoop\n"
    );
    assert_eq!(masked(&en), expected);
    let expected = format!(
        "在.nav-config.json中未找到循环模式配置。\n使用默认值：max_iterations=5, stagnation_threshold=3\n{RULER}\n循环模式激活\n{RULER}\n\n任务：添加isPrime函数及测试\n最大迭代次数：5\n停滞阈值：3\n\n开始第1次迭代...\n{RULER}\n循环\n"
    );
    assert_eq!(masked(&zh), expected);
}

#[test]
fn the_status_block_is_the_seeds_in_both_languages() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    let [en, zh] = in_both(&repo, &["status"]).map(|t| masked(&t));
    let block = |t: &str| t.split_inclusive('\n').take(28).collect::<String>();
    let expected = format!(
        "{RULER}\nNAVIGATOR_STATUS\n{RULER}\nPhase: IMPL\nIteration: 2/20\nProgress: 55%\n\nCompletion Indicators:\n  [x] Code changes committed\n  [ ] Tests passing\n  [ ] Code simplified\n  [ ] Documentation updated\n  [ ] Ticket closed\n  [ ] Marker created\n\nExit Conditions:\n  Heuristics: 1/5 (need 2+)\n  EXIT_SIGNAL: false\n\nState Hash\nPrevious Hash\nStagnation: 1/3\n\nNext Action: Run tests: git nav-loop test (sh check.sh)\n{RULER}\nCONTINUE: more work\n"
    );
    assert!(block(&en).starts_with(&expected), "{en}");
    let expected = format!(
        "{RULER}\nNAVIGATOR_STATUS\n{RULER}\n阶段：IMPL\n迭代：2/20\n进度：55%\n\n完成指标：\n  [x] 代码更改已提交\n  [ ] 测试通过\n  [ ] 代码简化\n  [ ] 文档更新\n  [ ] 工单关闭\n  [ ] 创建标记\n\n退出条件：\n  启发式：1/5（需要2+）\n  EXIT_SIGNAL：false\n\n状态哈希\n上一个哈希\n停滞：1/3\n\n下一个行动：运行测试：git nav-loop test（sh check.sh）\n{RULER}\n继续：需要更多工作\n"
    );
    assert!(block(&zh).starts_with(&expected), "{zh}");
}

#[test]
fn the_complete_block_is_the_seeds_in_both_languages() {
    let [en, zh] = ["en", "zh"].map(|lang| {
        let repo = TestRepo::looping();
        repo.do_the_work();
        repo.nav(&["test"]).ok();
        repo.nav(&["signal", "exit"]).ok();
        let said = repo.nav(&["--lang", lang, "complete"]).ok();
        let end = said.rfind(RULER).unwrap() + RULER.len() + 1;
        said[..end].to_owned()
    });
    let signal =
        "```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\":true,\"reason\":\"All criteria met\"}\n```\n\n";
    let expected = format!(
        "{signal}{RULER}\nLOOP COMPLETE\n{RULER}\n\nTask: add a function\nIterations: 2/20\nFinal Phase: COMPLETE\n\nCompletion Indicators:\n  [x] Code changes committed\n  [x] Tests passing\n  [ ] Code simplified\n  [ ] Documentation updated\n  [ ] Ticket closed (skipped - no PM tool)\n  [ ] Marker created\n\nExit Conditions:\n  Heuristics: 2/5 (passed)\n  EXIT_SIGNAL: true (passed)\n\nSummary:\n- add two\n\n{RULER}\n"
    );
    assert_eq!(en, expected);
    let expected = format!(
        "{signal}{RULER}\n循环完成\n{RULER}\n\n任务：add a function\n迭代次数：2/20\n最终阶段：COMPLETE\n\n完成指标：\n  [x] 代码更改已提交\n  [x] 测试通过\n  [ ] 代码简化\n  [ ] 文档更新\n  [ ] 工单关闭（跳过 - 无PM工具）\n  [ ] 创建标记\n\n退出条件：\n  启发式：2/5（通过）\n  EXIT_SIGNAL：true（通过）\n\n摘要：\n- add two\n\n{RULER}\n"
    );
    assert_eq!(zh, expected);
}

#[test]
fn verdict_lines_and_locales() {
    let repo = TestRepo::looping();
    let [en, zh] = in_both(&repo, &["gate"]);
    assert!(en.starts_with("CONTINUE: more work\n") && zh.starts_with("继续：需要更多工作\n"));
    repo.nav(&["signal", "exit"]).ok();
    let [en, zh] = in_both(&repo, &["gate"]);
    assert!(en.starts_with("BLOCKED: insufficient indicators, missing ") && zh.starts_with("阻塞：指标不足，缺少 "));
    let by_locale = |env: &[(&str, &str)]| repo.nav_env(env, &["gate"]).out.starts_with("阻塞");
    assert!(by_locale(&[("LC_ALL", ""), ("LC_MESSAGES", ""), ("LANG", "zh_CN.UTF-8")]));
    assert!(by_locale(&[("LC_ALL", "zh_TW.UTF-8"), ("LANG", "en_US.UTF-8")]));
    assert!(!by_locale(&[("LC_ALL", "en_US.UTF-8"), ("LANG", "zh_CN.UTF-8")]));
}

#[test]
fn explain_shows_reasons_and_ids_that_git_knows() {
    let repo = TestRepo::looping();
    let head = repo.do_the_work();
    let [en, zh] = in_both(&repo, &["explain"]);
    assert!(en.contains("[x] Code changes committed (code_committed)\n    1 own commit changes 2 paths\n"), "{en}");
    assert!(zh.contains("1 个自有提交更改了 2 个路径"), "{zh}");
    assert!(en.contains(&head) && en.contains("Target: refs/heads/main "));
    for line in en.lines().filter(|l| l.starts_with("  git ")) {
        let said = repo.run("sh", &["-c", line]);
        assert_eq!(said.code, 0, "{line}: {said:?}");
    }
}

#[test]
fn diff_shows_the_net_change_as_paths_as_json_and_as_a_patch() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.commit_file("README.md", "words\n", "docs");
    assert_eq!(repo.nav(&["diff"]).ok(), "M docs     README.md\nA code     check.sh\nM code     src/lib.rs\n");
    let json = repo.nav(&["diff", "--json"]).json();
    assert_eq!(json["paths"][1]["status"], "A");
    let patch = repo.nav(&["diff", "--patch"]).ok();
    assert_eq!(patch.trim_end(), repo.git(&["diff", &repo.anchor(), "HEAD"]));
}

/// On a real terminal, columns stand under one another whatever the width of their characters.
#[test]
fn chinese_titles_keep_their_columns_on_a_real_terminal() {
    let repo = TestRepo::new();
    if repo.run("tmux", &["-V"]).code != 0 {
        return crate::support::skip("no tmux here");
    }
    for (branch, task) in [("主题分支", "添加isPrime函数及测试"), ("plain", "add isPrime")] {
        repo.git(&["switch", "-q", "-c", branch, "main"]);
        repo.nav(&["start", task]).ok();
    }
    let socket = repo.root.path().join("tmux").display().to_string();
    let line = format!("'{}' list; tmux -S '{socket}' wait-for -S shown; cat", env!("CARGO_BIN_EXE_git-nav-loop"));
    let tmux = |args: &[&str]| {
        let mut command = repo.command("tmux");
        command.env("LC_ALL", "C.UTF-8").env("TERM", "screen").args(["-u", "-S", &socket]).args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    tmux(&["new-session", "-d", "-x", "120", "-y", "20", &line]);
    tmux(&["wait-for", "shown"]);
    let shown = tmux(&["capture-pane", "-p"]);
    tmux(&["kill-server"]);
    let rows: Vec<&str> = shown.lines().filter(|l| l.contains("running")).collect();
    assert_eq!(rows.len(), 2, "{shown}");
    let column = |row: &str, word: &str| unicode_width::UnicodeWidthStr::width(&row[..row.find(word).unwrap()]);
    let (a, b) = if rows[0].contains("plain") { (rows[1], rows[0]) } else { (rows[0], rows[1]) };
    assert_eq!(column(a, "添加"), column(b, "add isPrime"), "{shown}");
}
