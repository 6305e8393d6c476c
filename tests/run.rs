use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Stdio};

use crate::support::{Said, TestRepo};

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
        r#"echo $n >> src/lib.rs; echo '{"type":"result","subtype":"success","result":"go on","total_cost_usd":0.6}'"#,
    );
    let args = ["--task", "x", "--agent", "claude", "--max-cost", "1"];
    let said = run(&costly, &args);
    assert_eq!((said.code, turns(&costly)), (5, 2), "{said:?}");
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
fn a_flood_of_output_is_passed_through_and_bounded_on_disk_and_in_memory() {
    let repo = with_agent("head -c 104857600 /dev/zero | tr '\\0' 'x'; echo $n >> src/lib.rs");
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
