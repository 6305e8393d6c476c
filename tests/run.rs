use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use crate::support::{Said, TestRepo, skip, terminal::Terminal};

const EXIT: &str =
    r#"printf '```pilot-signal\n{"v":2,"type":"exit","success":true,"reason":"isPrime is there and tested"}\n```\n'"#;

/// A repository on `feature` with an agent that runs `script`; `$n` is the number of its turn.
fn with_agent(script: &str) -> TestRepo {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "feature"]);
    agent(&repo, script);
    repo
}

fn agent(repo: &TestRepo, script: &str) {
    let path = repo.root.path().join("agent");
    let count = repo.root.path().join("turns");
    let head = format!("#!/bin/sh\necho x >> '{0}'\nn=$(wc -l < '{0}')\n", count.display());
    fs::write(&path, format!("{head}{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(repo: &TestRepo, args: &[&str]) -> Said {
    let path = repo.root.path().join("agent").display().to_string();
    repo.nav(&[&["run"], args, &["--", &path]].concat())
}

fn turns(repo: &TestRepo) -> usize {
    fs::read_to_string(repo.root.path().join("turns")).unwrap_or_default().lines().count()
}

#[test]
fn the_first_example_of_the_seed_completes_at_three() {
    let script = format!(
        "case $n in\n1) cat README.md src/lib.rs ;;\n2) echo 'pub fn is_prime() {{}}' > src/prime.rs; echo 'test -f src/prime.rs' > check.sh ;;\n3) git add -A; git commit -q -m 'add isPrime with tests'; git nav-loop test -- sh check.sh; {EXIT} ;;\nesac"
    );
    let repo = with_agent(&script);
    let said = run(&repo, &["--task", "添加isPrime函数及测试"]);
    assert_eq!(said.code, 0, "{said:?}");
    for words in [
        "LOOP MODE ACTIVATED",
        "Phase: RESEARCH\nIteration: 1/5",
        "Iteration: 2/5",
        "LOOP COMPLETE",
        "Iterations: 3/5",
        "4. create completion marker: done",
    ] {
        assert!(said.out.contains(words), "{words}: {}", said.out);
    }
    assert_eq!(turns(&repo), 3);
    assert_eq!(repo.status()["loop"]["state"], "completed");
    assert_eq!(repo.nav(&["log"]).out.lines().filter(|l| l.contains("/5 ")).count(), 3);
}

#[test]
fn a_claim_that_is_too_early_is_held_back_and_the_driver_runs_the_tests_at_a_claim() {
    let script = format!("case $n in\n2) echo 'pub fn two() {{}}' > src/lib.rs; git commit -qam two ;;\nesac\n{EXIT}");
    let repo = with_agent(&script);
    repo.nav(&["start", "add two", "--test", "grep -q two src/lib.rs"]).ok();
    let said = run(&repo, &[]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.out.contains("BLOCKED: a recorded test run failed") || said.out.contains("BLOCKED: insufficient"),
        "{}",
        said.out
    );
    assert_eq!((turns(&repo), repo.events().iter().filter(|e| *e == "tests_ran").count()), (2, 2));
}

#[test]
fn an_agent_that_echoes_our_prompt_gives_no_signal_and_goes_round_until_it_is_paused() {
    let repo = with_agent("cat");
    let said = run(&repo, &["--task", "unique words of the task"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.out.contains("STAGNATION DETECTED") && said.out.contains("resume clarify"), "{}", said.out);
    assert_eq!(turns(&repo), 3);
    let output = repo.nav(&["log", "--output", "1"]).ok();
    assert!(output.contains("unique words of the task") && output.contains("true|false"), "{output}");
    repo.nav(&["log", "--output", "9"]).fails(2, "no output");
    assert_eq!(run(&repo, &[]).code, 4, "a paused loop is not lifted without a person");
    repo.nav(&["resume", "clarify", "look into src"]).ok();
    agent(&repo, &format!("cat > prompt; echo x >> src/lib.rs; git commit -qam x; {EXIT}"));
    repo.git(&["config", "navLoop.unused", "x"]);
    run(&repo, &["--resume"]);
    let prompt = repo.read("prompt");
    assert!(
        prompt.contains("look into src") && prompt.contains("# What repeated") || prompt.contains("look into src"),
        "{prompt}"
    );
}

#[test]
fn success_false_pauses_with_the_agents_words() {
    let repo = with_agent(r#"echo '{"v":2,"type":"exit","success":false,"reason":"no API key"}'"#);
    let said = run(&repo, &["--task", "x"]);
    assert_eq!(said.code, 6, "{said:?}");
    assert!(said.out.contains("PAUSED: the agent says it cannot go on: no API key"), "{}", said.out);
}

#[test]
fn an_agent_that_is_missing_fails_or_dies_is_told_apart() {
    let repo = with_agent("exit 3");
    repo.nav(&["run", "--task", "x", "--", "/no/such/agent"]).fails(2, "cannot be started");
    let said = run(&repo, &[]);
    assert_eq!((said.code, turns(&repo)), (6, 3), "{said:?}");
    assert!(said.err.contains("the agent failed (3 of 3): exit code 3"), "{said:?}");
    assert_eq!(repo.status()["loop"]["paused_reason"], "agent_failed");
    repo.nav(&["resume", "continue"]).ok();
    agent(&repo, "kill -9 $$");
    assert!(run(&repo, &[]).err.contains("killed by signal 9"));
    repo.nav(&["resume", "continue"]).ok();
    agent(&repo, &format!("echo y >> src/lib.rs; git commit -qam y; {EXIT}; exit 1"));
    repo.git(&["config", "navLoop.unused", "x"]);
    let said = run(&repo, &[]);
    assert!(!said.err.contains("the agent failed"), "a signal counts whatever the exit code: {said:?}");
}

#[test]
fn what_the_agent_leaves_in_its_group_does_not_outlive_the_turn() {
    let repo = with_agent("sleep 300 & echo $! > ../left; exec >&- 2>&-; sleep 0.1; exit 0");
    let said = run(&repo, &["--task", "x"]);
    assert_eq!(said.code, 4, "{said:?}");
    let id = fs::read_to_string(repo.root.path().join("left")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
}

#[test]
fn limits_of_time_and_cost_pause_and_their_totals_survive_resume() {
    let repo = with_agent("echo $n >> src/lib.rs; sleep 30");
    let said = run(&repo, &["--task", "x", "--iteration-timeout", "1"]);
    assert_eq!(said.code, 6, "{said:?}");
    assert!(said.err.contains("it took longer than 1 s"), "{said:?}");
    let costly = with_agent(
        r#"echo $n >> src/lib.rs; echo '{"type":"result","subtype":"success","result":"go on","total_cost_usd":0.6,"num_turns":4,"permission_denials":[{"tool_name":"Bash"}]}'"#,
    );
    let args = ["--task", "x", "--agent", "claude", "--max-cost", "1"];
    let said = run(&costly, &args);
    assert_eq!((said.code, turns(&costly)), (5, 2), "{said:?}");
    assert!(said.out.contains(" s · 4 turns") && said.err.contains("did not let it use Bash"), "{said:?}");
    assert_eq!(costly.status()["loop"]["paused_reason"], "limit");
    costly.nav(&["resume", "extend"]).ok();
    assert_eq!(run(&costly, &["--agent", "claude", "--max-cost", "1"]).code, 5);
    assert_eq!(turns(&costly), 2, "the total is over every run");
    costly.nav(&["resume", "extend"]).ok();
    assert_eq!(run(&costly, &["--agent", "claude", "--max-time", "1ms"]).code, 2);
    let slow = with_agent("echo $n >> src/lib.rs; sleep 1.1");
    assert_eq!(run(&slow, &["--task", "x", "--max-time", "1"]).code, 5);
    assert_eq!(turns(&slow), 1);
}

#[test]
fn one_driver_at_a_time_and_none_inside_a_run() {
    let repo = with_agent(
        "touch ../started; while [ ! -e ../go ]; do sleep 0.02; done; git nav-loop run --task y -- true; echo $? > ../nested; exit 5",
    );
    let path = repo.root.path().join("agent").display().to_string();
    let mut first = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    let mut first =
        first.args(["run", "--task", "x", "--", &path]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !repo.root.path().join("started").exists() {
        std::thread::yield_now();
    }
    assert_eq!(repo.status()["loop"]["driver"], "run");
    run(&repo, &[]).fails(9, "is driven already");
    run(&repo, &["--task", "z"]).fails(2, "under way here already");
    fs::write(repo.root.path().join("go"), "").unwrap();
    first.wait().unwrap();
    assert_eq!(fs::read_to_string(repo.root.path().join("nested")).unwrap().trim(), "2");
    assert_eq!(repo.status()["loop"]["driver"], "commit");
}

/// Starts a run whose agent waits, sends `signal` to the driver, and gives its exit status.
fn interrupt(repo: &TestRepo, args: &[&str], signal: &str) -> std::process::ExitStatus {
    let path = repo.root.path().join("agent").display().to_string();
    let started = repo.root.path().join("started");
    drop(fs::remove_file(&started));
    let mut driver = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    let mut driver =
        driver.arg("run").args(args).args(["--", &path]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while !started.exists() {
        std::thread::yield_now();
    }
    assert_eq!(repo.run("kill", &[signal, &driver.id().to_string()]).code, 0);
    driver.wait().unwrap()
}

#[test]
fn an_interrupted_or_killed_driver_is_resumed_at_the_same_iteration() {
    let repo = with_agent(
        "trap '' TERM; echo $$ > ../pid; touch ../started; while [ ! -e ../go ]; do sleep 0.02; done; echo $n >> src/lib.rs",
    );
    assert_eq!(interrupt(&repo, &["--task", "x"], "-INT").code(), Some(130));
    assert_eq!(repo.status()["iteration"], 1);
    assert!(!is_alive(&repo), "nothing of the agent's is left");
    assert_eq!(interrupt(&repo, &["--resume"], "-KILL").code(), None);
    let pid = fs::read_to_string(repo.root.path().join("pid")).unwrap();
    repo.run("kill", &["-KILL", pid.trim()]);
    let status = repo.status();
    assert_eq!((status["iteration"].as_u64(), status["loop"]["state"].as_str()), (Some(1), Some("running")));
    fs::write(repo.root.path().join("go"), "").unwrap();
    let said = run(&repo, &["--resume"]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.out.contains("Iteration: 1/5"), "goes on at the same iteration");
    let other = TestRepo::new();
    other.nav(&["run", "--resume", "--", "true"]).fails(2, "no loop to resume");
}

fn is_alive(repo: &TestRepo) -> bool {
    let pid = fs::read_to_string(repo.root.path().join("pid")).unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn with_commit_what_the_agent_left_is_committed_and_what_lay_there_is_not() {
    let repo = with_agent(&format!("echo 'pub fn two() {{}}' > src/two.rs; mkdir -p .mino; echo x > .mino/y; {EXIT}"));
    repo.write("scratch.txt", "mine\n");
    repo.nav(&["start", "add two", "--test", "test -f src/two.rs"]).ok();
    let said = run(&repo, &["--commit", "--tests", "turn"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(repo.git(&["show", "--name-only", "--format=%s", "HEAD"]), "[run] iteration 1: add two\n\nsrc/two.rs");
    assert!(repo.git(&["status", "--porcelain"]).contains("?? scratch.txt"));
}

#[test]
fn the_prompt_goes_to_stdin_or_where_it_is_asked_for_and_a_dry_run_changes_nothing() {
    let repo = with_agent("cat > ../stdin; printf '%s' \"$1\" > ../argument; cp \"$2\" ../file");
    repo.nav(&["start", "the very task", "--nonce", "--promise", "SHIPPED"]).ok();
    let notes = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    let path = repo.root.path().join("agent").display().to_string();
    let dry = repo.nav(&["run", "--dry-run", "--", &path]).ok();
    for words in [
        "# Task\n\nthe very task",
        "NAVIGATOR_STATUS",
        "code_committed: no commit of this loop yet",
        "\"nonce\":\"",
        "<promise> SHIPPED </promise>",
        "would run: ",
    ] {
        assert!(dry.contains(words), "{words}: {dry}");
    }
    assert_eq!((notes, turns(&repo)), (repo.git(&["rev-parse", "refs/notes/nav-loop"]), 0));
    repo.nav(&["run", "--iteration-timeout", "60", "--", &path, "{prompt}", "{prompt_file}"]);
    let read = |name: &str| fs::read_to_string(repo.root.path().join(name)).unwrap();
    assert!(read("argument").contains("the very task"));
    assert_eq!(read("argument").trim_end(), read("file").trim_end());
    assert_eq!(read("stdin"), "");
}

#[test]
fn a_promise_and_a_nonce_are_heard_from_the_agents_last_message() {
    let repo =
        with_agent("echo 'pub fn two() {}' > src/lib.rs; git commit -qam two; echo '<promise>SHIPPED</promise>'");
    repo.nav(&["start", "two", "--test", "true", "--promise", "SHIPPED"]).ok();
    assert_eq!(run(&repo, &[]).code, 0);
    let nonce = with_agent(&format!("echo $n >> src/lib.rs; git commit -qam two; {EXIT}"));
    nonce.nav(&["start", "two", "--test", "true", "--nonce", "--max-iterations", "1"]).ok();
    assert_eq!(run(&nonce, &[]).code, 5, "a signal without the word does not count");
    nonce.nav(&["resume", "extend"]).ok();
    agent(
        &nonce,
        r#"word=$(sed -n 's/.*"nonce":"\([0-9a-f]*\)".*/\1/p'); printf '```pilot-signal\n{"type":"exit","nonce":"%s"}\n```\n' "$word""#,
    );
    assert_eq!(run(&nonce, &[]).code, 0);
}

#[test]
fn the_agent_command_comes_from_flag_environment_or_git_config_and_never_from_a_file() {
    let repo = with_agent("exit 7");
    repo.write(".agent/.nav-config.json", r#"{"loop_mode":{"agent_command":"touch ../pwned"}}"#);
    repo.nav(&["run", "--task", "x"]).fails(2, "no agent is given");
    assert!(!repo.root.path().join("pwned").exists());
    repo.git(&["config", "navLoop.agentCommand", "touch ../configured; exit 1"]);
    repo.nav(&["run", "--task", "x"]).fails(6, "");
    assert!(repo.root.path().join("configured").exists());
}

#[test]
fn a_usage_limit_is_waited_for_until_the_time_the_client_gave_and_costs_no_iteration() {
    let limit = r#"printf '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":%s}}\n{"type":"result","subtype":"success","is_error":true,"result":"You have hit your limit"}\n' "$reset"; exit 1"#;
    let script = format!(
        "reset=$(($(date +%s) + 1))\ncase $n in\n1|2|3|4) {limit} ;;\n*) echo 'pub fn two() {{}}' > src/lib.rs; git commit -qam two; {EXIT} ;;\nesac"
    );
    let repo = with_agent(&script);
    repo.nav(&["start", "two", "--test", "true"]).ok();
    let said = run(&repo, &["--agent", "claude", "--on-limit", "stop"]);
    assert_eq!((said.code, turns(&repo)), (5, 1), "{said:?}");
    assert!(said.err.contains("usage limit is reached: You have hit your limit"), "{said:?}");
    assert_eq!(
        (repo.status()["loop"]["state"].as_str(), repo.status()["iteration"].as_u64()),
        (Some("running"), Some(1))
    );
    let said = run(&repo, &["--agent", "claude"]);
    assert_eq!((said.code, turns(&repo)), (0, 5), "{said:?}");
    assert!(said.err.contains("going on in 0:0") && said.err.contains("The wait for the usage limit is over."));
    assert!(!said.err.contains("the agent failed"), "a limit is no failure: {said:?}");
    assert_eq!(repo.status()["iteration"], 1);
}

#[test]
fn a_claim_behind_more_output_than_the_log_keeps_is_heard() {
    let repo = with_agent(&format!(
        "echo 'pub fn two() {{}}' > src/lib.rs; git commit -qam two; head -c 70000000 /dev/zero | tr '\\0' '\\n'; {EXIT}"
    ));
    repo.nav(&["start", "two", "--test", "true"]).ok();
    assert_eq!(run(&repo, &[]).code, 0);
}

#[test]
fn what_a_killed_driver_left_at_work_is_ended_by_the_next_run_and_status_says_that_it_is_gone() {
    let repo = with_agent("echo $$ > ../pid; touch ../started; while [ ! -e ../go ]; do sleep 0.02; done; exit 5");
    assert_eq!(interrupt(&repo, &["--task", "x"], "-KILL").code(), None);
    assert!(is_alive(&repo), "nobody ends the agent of a killed driver");
    assert!(repo.nav(&["status"]).ok().contains("The driver of this loop is gone"));
    assert_eq!(repo.status()["loop"]["driver_gone"], true);
    assert!(repo.nav(&["--lang", "zh", "status"]).ok().contains("驱动进程已不存在"));
    let first = fs::read_to_string(repo.root.path().join("pid")).unwrap();
    agent(&repo, "exit 5");
    let said = run(&repo, &["--resume"]);
    assert!(said.err.contains("the last driver was killed, and its agent was ended; iteration 1 again"), "{said:?}");
    assert_eq!(fs::read_to_string(repo.root.path().join("pid")).unwrap(), first);
    assert!(!is_alive(&repo) || !cfg!(target_os = "linux"));
    assert!(!repo.nav(&["status"]).ok().contains("is gone"));
}

#[test]
fn the_task_is_frozen_and_a_later_edit_of_its_file_is_reported_and_changes_nothing() {
    let repo = with_agent("cat > ../prompt; exit 5");
    repo.write("TASK.md", "# Port the parser\n\nwith the words of the start\n");
    repo.commit("task");
    repo.nav(&["start", "--task-file", "TASK.md"]).ok();
    assert!(!repo.nav(&["status"]).ok().contains("TASK.md changed"));
    repo.write("TASK.md", "# Delete everything\n");
    assert!(repo.nav(&["status"]).ok().contains("TASK.md changed since the loop started"));
    assert!(repo.nav(&["--lang", "zh", "status"]).ok().contains("TASK.md 在循环开始后已更改"));
    assert_eq!(repo.status()["task_changed"], "TASK.md");
    repo.commit("edit");
    repo.git(&["reflog", "expire", "--expire=now", "--all"]);
    repo.git(&["gc", "-q", "--prune=now"]);
    run(&repo, &[]);
    let prompt = fs::read_to_string(repo.root.path().join("prompt")).unwrap();
    assert!(prompt.contains("with the words of the start") && !prompt.contains("Delete"), "{prompt}");
    repo.nav(&["resume", "continue"]).ok();
    agent(&repo, "echo $n >> src/lib.rs");
    let said = run(&repo, &[]);
    assert_eq!(said.err.matches("TASK.md changed since").count(), 1, "said once: {said:?}");
    let started = repo.note(&repo.anchor()).into_iter().find(|e| e["type"] == "loop_started").unwrap();
    let blob = started["task_blob"].as_str().unwrap().to_owned();
    repo.git(&["init", "-q", "--bare", "../remote.git"]);
    repo.git(&["push", "-q", "../remote.git", "main", "refs/notes/nav-loop"]);
    repo.git(&["clone", "-q", "-b", "main", "../remote.git", "../clone"]);
    let clone = repo.root.path().join("clone");
    repo.git_in(&clone, &["fetch", "-q", "origin", "refs/notes/nav-loop:refs/notes/nav-loop"]).ok();
    let text = repo.git_in(&clone, &["cat-file", "-p", &blob]).ok();
    assert!(text.contains("with the words of the start"), "{text}");
}

#[test]
fn an_agent_that_may_not_write_dot_git_reaches_exit_under_commit() {
    let sandbox = "mount --bind .git .git && mount -o remount,ro,bind .git";
    let repo = with_agent(&format!(
        "exec unshare -m sh -c '{sandbox} && echo \"pub fn two() {{}}\" > src/lib.rs && ! git commit -qam two && {}'",
        EXIT.replace('\'', "'\\''")
    ));
    if repo.run("unshare", &["-m", "sh", "-c", &format!("{sandbox} && ! touch .git/x")]).code != 0 {
        return skip("no mount namespaces here");
    }
    repo.nav(&["start", "two", "--test", "grep -q two src/lib.rs"]).ok();
    let said = run(&repo, &["--commit"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.contains("Read-only file system") && said.out.contains("LOOP COMPLETE"), "{said:?}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "[run] iteration 1: two");
}

#[test]
fn the_prompt_respects_the_strategies_and_the_tom_features_of_the_configuration() {
    for (strategy, words) in [
        ("combine", "Combine the approaches"),
        ("radical", "radically different"),
        ("reread", "read the task and the code again"),
    ] {
        let repo = with_agent("cat > ../prompt.$n; echo \"$strategy $words\" > /dev/null");
        let config = format!(
            r#"{{"loop_mode":{{"never_pause_on_stagnation":true,"stagnation_diversify_strategy":"{strategy}"}},"tom_features":{{"profile_enabled":true,"verification_checkpoints":true,"belief_anchors":false}}}}"#
        );
        repo.write(".agent/.nav-config.json", &config);
        repo.write(".agent/.user-profile.json", r#"{"style": "terse"}"#);
        repo.commit("config");
        assert_eq!(run(&repo, &["--task", "x"]).code, 4, "{strategy}");
        let prompt = |n: u32| fs::read_to_string(repo.root.path().join(format!("prompt.{n}"))).unwrap();
        assert!(!prompt(3).contains("# Another way") && prompt(4).contains(words), "{}", prompt(4));
        assert!(prompt(1).contains(r#"{"style": "terse"}"#) && !prompt(3).contains("# What repeated"));
        assert!(!prompt(1).contains("what you checked and how"), "only in VERIFY");
    }
    let repo = with_agent("cat > ../prompt.$n");
    repo.write(
        ".agent/.nav-config.json",
        r#"{"tom_features":{"verification_checkpoints":true,"diagnose_enabled":false}}"#,
    );
    repo.commit("config");
    repo.nav(&["start", "x", "--test", "true"]).ok();
    repo.commit_file("src/lib.rs", "x\n", "work");
    repo.nav(&["test"]).ok();
    assert_eq!(run(&repo, &[]).code, 4);
    let prompt = |n: u32| fs::read_to_string(repo.root.path().join(format!("prompt.{n}"))).unwrap();
    assert!(prompt(1).contains("what you checked and how") && prompt(3).contains("# What repeated"), "{}", prompt(3));
    let paused = repo.note(&repo.anchor()).into_iter().find(|e| e["type"] == "loop_paused").unwrap();
    assert_eq!(paused["why"].as_str().unwrap_or(""), "", "no diagnosis: {paused}");
    repo.write(".agent/.nav-config.json", r#"{"tom_features":{"belief_anchors":"yes"}}"#);
    repo.nav(&["abort"]).ok();
    repo.nav(&["start", "x"]).fails(2, "tom_features.belief_anchors");
}

/// The command line of a run whose agent is the test's, for a shell.
fn line(repo: &TestRepo, args: &str) -> String {
    let agent = repo.root.path().join("agent");
    format!("'{}' {args} -- '{}'", env!("CARGO_BIN_EXE_git-nav-loop"), agent.display())
}

#[test]
fn ctrl_c_on_a_terminal_asks_the_agent_to_end_and_twice_ends_it_at_once() {
    for (times, traps) in [(1, "trap 'echo asked to end; exit 9' INT"), (2, "trap '' INT TERM")] {
        let repo = with_agent(&format!(
            "{traps}; echo $$ > ../pid; sleep 600 & echo 'at work'; while :; do wait; sleep 0.05; done"
        ));
        let Some(terminal) = Terminal::running(&repo, &line(&repo, "run --task x")) else { return };
        terminal.shows("at work");
        for _ in 0..times {
            terminal.keys(&["C-c"]);
        }
        let shown = terminal.shows("ended with 130");
        assert!(shown.contains("interrupted; git nav-loop run --resume goes on here, git nav-loop abort"), "{shown}");
        assert_eq!(shown.contains("asked to end"), times == 1, "{shown}");
        assert!(!is_alive(&repo), "nothing of the agent's is left");
        let status = repo.status();
        assert_eq!((status["iteration"].as_u64(), status["loop"]["state"].as_str()), (Some(1), Some("running")));
    }
}

#[test]
fn on_a_terminal_a_pause_is_decided_by_number_or_word_in_both_languages() {
    for (lang, heading, choose, word) in
        [("en", "STAGNATION DETECTED", "Your choice (1-3): ", "2"), ("zh", "检测到停滞", "请选择（1-3）：", "澄清")]
    {
        let repo = with_agent(&format!(
            "case $n in [123]) cat > /dev/null ;; *) cat > ../prompt; echo 'pub fn two() {{}}' > src/lib.rs; git commit -qam two; {EXIT} ;; esac"
        ));
        repo.nav(&["start", "two", "--test", "true"]).ok();
        let Some(terminal) = Terminal::running(&repo, &line(&repo, &format!("--lang {lang} run"))) else { return };
        let shown = terminal.shows(choose);
        assert!(shown.contains(heading), "{shown}");
        terminal.keys(&["maybe", "Enter"]);
        terminal.shows(if lang == "en" { "Answer with a number" } else { "请输入列表中的编号" });
        terminal.keys(&[word, "Enter"]);
        terminal.shows(if lang == "en" { "What blocks: " } else { "阻塞点：" });
        terminal.keys(&["-l", "the tests need a mock"]);
        terminal.keys(&["Enter"]);
        terminal.shows("ended with 0");
        let prompt = fs::read_to_string(repo.root.path().join("prompt")).unwrap();
        assert!(prompt.contains("the tests need a mock"), "{prompt}");
        assert_eq!(repo.status()["loop"]["state"], "completed");
        let resumed = repo.note(&repo.anchor()).into_iter().find(|e| e["type"] == "loop_resumed").unwrap();
        assert_eq!((resumed["choice"].as_str(), resumed["who"].as_str()), (Some("clarify"), Some("person")));
    }
}

#[test]
fn on_a_terminal_a_limit_is_extended_approval_is_given_and_an_abort_or_ctrl_c_ends_the_run() {
    let repo = with_agent("echo $n >> src/lib.rs");
    repo.nav(&["start", "two", "--max-iterations", "1"]).ok();
    let Some(terminal) = Terminal::running(&repo, &line(&repo, "run")) else { return };
    terminal.shows("Your choice (1-3): ");
    terminal.keys(&["extend 2", "Enter"]);
    terminal.shows("Completed 3 iterations");
    terminal.keys(&["C-c"]);
    terminal.shows("ended with 130");
    assert_eq!((turns(&repo), repo.status()["loop"]["state"].as_str()), (3, Some("paused")));
    drop(terminal);
    repo.nav(&["abort"]).ok();
    repo.nav(&["start", "two", "--iteration-approval", "strict"]).ok();
    let Some(terminal) = Terminal::running(&repo, &line(&repo, "run")) else { return };
    terminal.shows("Your choice (1-4): ");
    terminal.keys(&["1", "Enter"]);
    terminal.shows("Iteration: 2/5");
    terminal.shows("Iteration 2/5 ");
    let began = std::time::Instant::now();
    while repo.status()["loop"]["state"] != "paused" && began.elapsed().as_secs() < 30 {}
    terminal.keys(&["abort", "Enter"]);
    let shown = terminal.shows("ended with 6");
    assert!(shown.contains("-partial.md"), "{shown}");
    assert_eq!(repo.status()["loop"]["state"], "aborted");
}

#[test]
fn a_flood_of_output_is_passed_through_and_bounded_on_disk_and_in_memory() {
    let repo = with_agent("head -c 1073741824 /dev/zero | tr '\\0' 'x'; echo $n >> src/lib.rs");
    let path = repo.root.path().join("agent").display().to_string();
    let script = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    repo.nav(&["start", "x", "--max-iterations", "1"]).ok();
    let said = repo.run("python3", &["-c", script, env!("CARGO_BIN_EXE_git-nav-loop"), "run", "--", &path]);
    if said.code != 0 {
        return crate::support::skip("no python3 here");
    }
    let kib: u64 = said.out.trim().parse().unwrap();
    assert!(kib < 64 << 10, "{kib} KiB");
    let logs = repo.dir.join(".git/nav-loop/logs");
    let log = fs::read_dir(fs::read_dir(logs).unwrap().next().unwrap().unwrap().path()).unwrap();
    let size = log.flatten().map(|e| e.metadata().unwrap().len()).max().unwrap();
    assert!((64 << 20..(64 << 20) + (64 << 10)).contains(&size), "{size}");
    assert!(Path::new(&path).exists());
}
