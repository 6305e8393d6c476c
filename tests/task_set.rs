use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::support::{Said, TestRepo, terminal::Terminal, tracker::Tracker};

/// Eight tasks on two levels, with dependencies, criteria and checks.
const PRD: &str = "# Numbers\n\nA small library.\n\n## Task 1: Add one\n\n- [ ] one.txt says 1\n\n### Verification\n\n```sh\ntest -f one.txt\ngrep -q 1 one.txt\n```\n\n## Task 2: Add two\n\nDepends on: Task 1\n\nVerification:\n\n- `grep -q 2 two.txt`\n\n## Task 3: Words\n\nDepends on: Add one\n\n### Task: Red\n\nVerification:\n\n- `grep -q red red.txt`\n\n### Task: Green\n\nDepends on: Red\n\nVerification:\n\n- `grep -q green green.txt`\n\n## Task 4: Three\n\nVerification:\n\n- `grep -q 3 three.txt`\n\n## Task 5: Four\n\nDepends on: Task 4, Task 2\n\nVerification:\n\n- `grep -q 4 four.txt`\n\n## Task 6: Last\n\nDepends on: Words, Four\n\nVerification:\n\n- `test -f last.txt`\n";

/// An agent that does what its task asks for and claims that it is done: the title names the file.
const AGENT: &str = r#"#!/bin/sh
prompt=$(cat)
title=$(printf '%s\n' "$prompt" | sed -n 's/^#* *\(Task\|任务\)[ 0-9]*\(:\|：\) *//p' | head -n 1)
echo "$title" >>"$(dirname "$0")/titles"
printf '%s' "$prompt" >"$(dirname "$0")/prompt"
case $title in
'Add one' | 加一) echo 1 >one.txt ;;
'Add two' | 加二) echo 2 >two.txt ;;
Red | 红) echo red >red.txt ;;
Green | 绿) echo green >green.txt ;;
Three | 三) echo 3 >three.txt ;;
Four | 四) echo 4 >four.txt ;;
Last | 最后) echo end >last.txt ;;
esac
printf '```pilot-signal\n{"v":2,"type":"exit","success":true,"reason":"did it"}\n```\n'
"#;

fn put_agent(repo: &TestRepo, script: &str) -> String {
    let path = repo.root.path().join("agent");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn with(prd: &str, script: &str) -> (TestRepo, String) {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    repo.write("PRD.md", prd);
    repo.commit("prd");
    repo.git(&["switch", "-q", "-c", "feature"]);
    let agent = put_agent(&repo, script);
    (repo, agent)
}

fn revision(repo: &TestRepo, words: &[&str]) -> String {
    let said = repo.nav(&[&["task"], words, &["--plan", "--json"]].concat()).json();
    said["spec_revision"].as_str().unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// Approves and runs `words`.
fn start(repo: &TestRepo, words: &[&str], more: &[&str], agent: &str) -> Said {
    let revision = revision(repo, words);
    repo.nav(&[&["task"], words, &["--approve", &revision], more, &["--", agent]].concat())
}

fn set(repo: &TestRepo) -> Value {
    repo.nav(&["task", "list", "--json"]).json()
}

fn task(repo: &TestRepo, key: &str) -> Value {
    let set = set(repo);
    let found = set["tasks"].as_array().unwrap().iter().find(|t| t["task_key"] == key).cloned();
    found.unwrap_or_else(|| panic!("no {key} in {set}"))
}

fn id(repo: &TestRepo) -> String {
    set(repo)["loop_id"].as_str().unwrap().to_owned()
}

fn yaml(repo: &TestRepo, path: &str) -> yaml_rust2::Yaml {
    let text = repo.read(path);
    yaml_rust2::YamlLoader::load_from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}\n{text}")).remove(0)
}

#[test]
fn eight_tasks_on_two_levels_are_planned_approved_run_verified_and_done() {
    let (repo, agent) = with(PRD, AGENT);
    let plan = repo.nav(&["task", "PRD.md", "--plan"]).ok();
    for words in [
        "You are authorizing Loop Mode to autonomously execute the following plan.\n\nLoop ID:        20",
        "Goal:           set_done\nIntent:         PRD.md\nResolved query: n/a (file path)\n",
        "Tasks (8):      budget = 80 transitions\n  1. L1  Add one  add-one\n",
        "  4.   L4  Red  words-red\n",
        "Excluded (0, see notes):",
        "  add-one\n    | test -f one.txt\n    | grep -q 1 one.txt\n",
        "Halts on: approval-required, pending_acceptance, fail_terminal, blocked,\n          reapproval_required, loop_budget_exhausted.\n",
        "invoke git nav-loop task run|verify|checkup, or /mino-run, /mino-verify, /mino-checkup, directly.",
    ] {
        assert!(plan.contains(words), "{words:?}: {plan}");
    }
    let said = start(&repo, &["PRD.md"], &[], &agent);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(said.out.matches("/.mino/ is excluded in .git/info/exclude").count(), 1);
    let set = set(&repo);
    assert_eq!((set["status"].as_str(), set["goal_kind"].as_str()), (Some("completed"), Some("set_done")));
    let basis = |key: &str| task(&repo, key)["completion_basis"].as_str().unwrap().to_owned();
    assert_eq!(
        ["add-one", "words", "words-red", "last"].map(basis),
        ["verified", "aggregated", "verified", "verified"]
    );
    let order = fs::read_to_string(repo.root.path().join("titles")).unwrap();
    let at = |title: &str| order.lines().position(|l| l == title).unwrap_or_else(|| panic!("{title} in {order}"));
    assert!(at("Add one") < at("Add two") && at("Red") < at("Green") && at("Three") < at("Four"));
    assert!(at("Last") > at("Green") && at("Last") > at("Four"));
    assert!(
        said.out.contains("[run] L1: Add one") && said.out.contains("pilot-signal"),
        "what the agent says is passed through"
    );
    let log = repo.git(&["log", "--format=%s", "main..HEAD"]);
    for subject in ["[run] L1: Add one", "[run] L4: Red", "[run] L8: Last"] {
        assert_eq!(log.lines().filter(|l| *l == subject).count(), 1, "{log}");
    }
    assert!(!repo.git(&["log", "--format=", "--name-only", "main..HEAD"]).contains(".mino"));
    for task in set["tasks"].as_array().unwrap() {
        let commit = task["code_ref"].as_str().unwrap();
        assert_eq!(repo.git(&["cat-file", "-t", commit]), "commit", "every task is bound to a commit");
    }
    assert!(repo.git(&["ls-files"]).contains(".agent/.context-markers/"), "one marker for the set");
    assert_eq!(repo.git(&["ls-files", ".agent/.context-markers"]).lines().count(), 1);
    assert!(!repo.dir.join(".mino/loops/active.lock").exists() && !repo.dir.join(".mino/run.lock").exists());
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "nothing is left behind");
}

#[test]
fn the_same_document_in_chinese_runs_to_its_end_and_speaks_chinese() {
    let chinese = PRD
        .replace("Task 1: Add one", "任务 1：加一")
        .replace("Task 2: Add two", "任务 2：加二")
        .replace("Task 3: Words", "任务 3：词语")
        .replace("Task: Red", "任务：红")
        .replace("Task: Green", "任务：绿")
        .replace("Task 4: Three", "任务 4：三")
        .replace("Task 5: Four", "任务 5：四")
        .replace("Task 6: Last", "任务 6：最后")
        .replace("Depends on: Task 1", "依赖：任务 1")
        .replace("Depends on: Add one", "依赖：加一")
        .replace("Depends on: Red", "依赖：红")
        .replace("Depends on: Task 4, Task 2", "依赖：任务 4、任务 2")
        .replace("Depends on: Words, Four", "依赖：词语、四")
        .replace("Verification", "验证");
    let (repo, agent) = with(&chinese, AGENT);
    let plan = repo.nav(&["--lang", "zh", "task", "PRD.md", "--plan"]).ok();
    assert!(plan.contains("你将授权 Loop Mode 自主执行以下计划。") && plan.contains("任务 (8):"), "{plan}");
    let revision = revision(&repo, &["PRD.md"]);
    let said = repo.nav(&["--lang", "zh", "task", "PRD.md", "--approve", &revision, "--", &agent]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("已完成") && said.out.contains("[运行] L1: 加一"), "{}", said.out);
    assert_eq!(set(&repo)["status"], "completed");
    assert!(repo.nav(&["--lang", "zh", "task", "list"]).ok().contains("完成"));
}

#[test]
fn only_a_yes_on_a_terminal_or_the_revision_starts_a_set_and_a_cancel_leaves_nothing() {
    let (repo, agent) = with(PRD, AGENT);
    let notes = || repo.try_git(&["rev-parse", "-q", "--verify", "refs/notes/nav-loop"]).out;
    let before = notes();
    repo.nav(&["task", "PRD.md", "--", &agent]).fails(6, "approved by its revision");
    repo.nav(&["task", "PRD.md", "--yes", "--", &agent]).fails(6, "approved by its revision");
    repo.nav(&["task", "PRD.md", "--iteration-approval", "strict", "--", &agent]).fails(2, "asks at its halts");
    repo.nav(&["task", "PRD.md", "--approve", "00000000", "--", &agent]).fails(2, "is not this plan's revision");
    let inside = repo.nav_env(&[("NAV_LOOP_DRIVER", "x")], &["task", "PRD.md", "--approve", "x", "--", &agent]);
    inside.fails(6, "inside an agent");
    let line = format!("'{}' task PRD.md -- '{agent}'", env!("CARGO_BIN_EXE_git-nav-loop"));
    let Some(terminal) = Terminal::running(&repo, &line) else { return };
    terminal.shows("Approve and start Loop? (yes / edit / cancel)");
    terminal.keys(&["y", "Enter"]);
    terminal.keys(&["cancel", "Enter"]);
    terminal.shows("ended with 1");
    drop(terminal);
    assert_eq!((before, repo.dir.join(".mino").exists()), (notes(), false), "nothing was left");
    let terminal = Terminal::running(&repo, &line).unwrap();
    terminal.shows("Approve and start Loop?");
    for keys in ["edit", "drop last", "drop 5", "drop add-one", "order three add-one", "budget 60", "done"] {
        terminal.keys(&["-l", keys]);
        terminal.keys(&["Enter"]);
    }
    let shown = terminal.shows("budget = 60 transitions");
    assert!(shown.contains("hang on add-one: drop them first"), "{shown}");
    assert!(shown.contains("Tasks (6):") && shown.contains("- L") && shown.contains("dropped"), "{shown}");
    terminal.keys(&["yes", "Enter"]);
    terminal.shows("ended with 0");
    let set = set(&repo);
    assert_eq!((set["status"].as_str(), set["budget_max_transitions"].as_u64()), (Some("completed"), Some(60)));
    assert_eq!(
        fs::read_to_string(repo.root.path().join("titles")).unwrap().lines().next(),
        Some("Three"),
        "the order counts"
    );
    let approval = repo.note(&repo.git(&["rev-parse", "main"]));
    let started = approval.iter().find(|e| e["type"] == "set_started").unwrap();
    assert_eq!(started["approved_by"], "person");
}

#[test]
fn what_is_not_understood_or_leaves_nothing_is_refused() {
    let repo = TestRepo::new();
    for (words, says) in [
        (&["make", "it", "nice"][..], "is not understood"),
        (&[], "nothing was asked for"),
        (&["missing.md"], "is not understood"),
        (&["README.md"], "no task found: neither headings"),
    ] {
        repo.nav(&[&["task"], words, &["--plan"]].concat()).fails(2, says);
    }
    repo.write("cycle.md", "## Task: A\n\nDepends on: B\n\n## Task: B\n\nDepends on: A\n");
    repo.nav(&["task", "cycle.md", "--plan"]).fails(2, "a → b → a");
    repo.write(
        "prd.json",
        r#"{"userStories":[{"title":"Log in","acceptanceCriteria":["works"]},{"title":"Log out"}]}"#,
    );
    assert!(repo.nav(&["task", "prd.json", "--plan"]).ok().contains("  2. L2  Log out  log-out\n"));
    repo.nav(&["task", "list"]).fails(7, "no task set");
}

#[test]
fn issues_are_resolved_from_numbers_counts_and_queries_and_exclusions_say_why() {
    let repo = TestRepo::new();
    let tracker = Tracker::new(&repo);
    let adopted = json!({"labels": [{"name": "iron-tree:adopted"}]});
    for n in 1..=250 {
        tracker.issue(n, &format!("Issue number {n}"), if n == 4 { &Value::Null } else { &adopted });
    }
    tracker.issue(5, "Composite", &json!({"body": "- [ ] a\n- [ ] b\n- [ ] c\n", "labels": adopted["labels"]}));
    tracker.issue(6, "Closed", &json!({"state": "CLOSED"}));
    let plan = |words: &[&str]| tracker.nav(&[&["task"], words, &["--plan", "--json"]].concat());
    let keys = |said: Said| -> Vec<u64> {
        let json = said.json();
        json["tasks"]
            .as_array()
            .unwrap_or_else(|| panic!("{json}"))
            .iter()
            .map(|t| t["issue"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(keys(plan(&["#47", "#45"])), [47, 45]);
    assert_eq!(plan(&["#47"]).json()["goal_kind"], "task_done");
    assert_eq!(keys(plan(&["前", "3", "条", "issue"])), [1, 2, 3]);
    assert_eq!(keys(plan(&["first", "five"])), [1, 2, 3, 7, 8]);
    let all = plan(&["all", "open"]).json();
    assert_eq!(all["tasks"].as_array().unwrap().len(), 247, "no page limit cuts it");
    let reasons: Vec<String> = all["excluded"].as_array().unwrap().iter().map(Value::to_string).collect();
    assert!(reasons[0].contains("#4") && reasons[0].contains("not adopted"), "{reasons:?}");
    assert!(reasons[1].contains("#5") && reasons[1].contains("composite"), "{reasons:?}");
    assert_eq!(keys(plan(&["所有", "OPEN"])).len(), 247);
    assert_eq!(keys(plan(&["#4"])), [4], "a number that a person typed is adopted by the yes");
    plan(&["#6"]).fails(2, "leaves no task");
    tracker.nav(&["task", "#6", "--plan"]).fails(2, "#6 (closed)");
    tracker.nav(&["task", "#999", "--plan"]).fails(10, "the tracker has no #999");
    tracker.mode("logged-out");
    tracker.nav(&["task", "all", "open", "--plan"]).fails(10, "not logged in");
}

#[test]
fn an_issue_is_worked_on_and_closed_and_its_text_is_never_run() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    let tracker = Tracker::new(&repo);
    let body = format!(
        "Please.\n\n## Verification\n\n```sh\ntouch {}/pwned\n```\n\n{}",
        repo.root.path().display(),
        "x".repeat(1 << 20)
    );
    tracker.issue(12, "Add one", &json!({"body": body}));
    let agent = put_agent(&repo, &AGENT.replace("'Add one' | 加一)", "*)"));
    let plan = tracker.nav(&["task", "#12", "--plan", "--json", "--test", "test -f one.txt"]).json();
    assert_eq!(plan["tasks"][0]["checks"], json!([]), "commands in an issue are words");
    let revision = plan["spec_revision"].as_str().unwrap();
    let said = tracker.nav(&["task", "#12", "--approve", revision, "--test", "test -f one.txt", "--", &agent]);
    assert_eq!(said.code, 0, "{}", said.err);
    assert!(tracker.calls().contains("issue close 12 --reason completed"), "{}", tracker.calls());
    assert_eq!(repo.git(&["log", "--format=%s", "--grep=run", "main..HEAD"]), "[run] #12: Add one");
    assert!(!repo.root.path().join("pwned").exists());
    assert!(repo.dir.join(".mino/events/issue-12/0001-task-adopted.yml").exists());
}

#[test]
fn publishing_makes_an_issue_of_each_task_and_twice_doubles_none() {
    let (repo, agent) = with(
        "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n\n## Task: Add two\n\nDepends on: Add one\n",
        AGENT,
    );
    let tracker = Tracker::new(&repo);
    let revision = revision(&repo, &["PRD.md"]);
    let run = || tracker.nav(&["task", "PRD.md", "--publish", "--approve", &revision, "--", &agent]);
    let said = run();
    assert!(said.out.contains("#1  add-one  published\n#2  add-two  published\n"), "{said:?}");
    assert_eq!(repo.git(&["log", "--format=%s", "--grep=run", "main..HEAD"]).lines().last(), Some("[run] #1: Add one"));
    let json = tracker.nav(&["task", "PRD.md", "--publish", "--json", "--approve", &revision, "--", &agent]).json();
    assert_eq!((json["status"].as_str(), json["exit_code"].as_u64()), (Some("halted"), Some(6)), "{json}");
    let said = run();
    assert!(said.out.contains("#1  add-one  found again\n#2  add-two  found again\n"), "{said:?}");
    assert_eq!(tracker.calls().matches("issue create").count(), 2);
}

#[test]
fn failures_are_retried_with_their_text_and_the_fourth_is_terminal() {
    let (repo, agent) = with("## Task: Never\n\nVerification:\n\n- `echo the-reason; false`\n", AGENT);
    let said = start(&repo, &["PRD.md"], &[], &agent);
    assert_eq!(said.code, 6, "{said:?}");
    let never = task(&repo, "never");
    assert_eq!(
        (never["attempt_count"].as_u64(), never["pass_fail_outcome"].as_str()),
        (Some(4), Some("fail_terminal"))
    );
    let set = set(&repo);
    assert_eq!((set["halt_reason"].as_str(), &set["halt_also"]), (Some("fail_terminal"), &json!(["blocked"])));
    let prompt = fs::read_to_string(repo.root.path().join("prompt")).unwrap();
    assert!(prompt.contains("# What failed in attempt 3") && prompt.contains("the-reason"), "{prompt}");
    let outcomes: Vec<&str> =
        set["transitions"].as_array().unwrap().iter().map(|t| t["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes.iter().filter(|o| **o == "verify_failed_retryable").count(), 3);
    assert_eq!(outcomes.last(), Some(&"verify_failed_terminal"));
    let again = repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]);
    assert_eq!(again.code, 6, "a terminal failure stays one: {again:?}");
    let skipped = repo.nav(&["task", "resume", &id(&repo), "skip", "never", "--", &agent]);
    assert_eq!((skipped.code, crate::task_set::set(&repo)["status"].as_str()), (1, Some("cancelled")), "none is done");
}

#[test]
fn what_nothing_can_prove_waits_for_a_person_who_accepts_or_rejects() {
    let (repo, agent) = with(
        "## Task: Add one\n\n- [ ] looks good (manual)\n\nVerification:\n\n- `test -f one.txt`\n\n## Task: Add two\n",
        AGENT,
    );
    let said = start(&repo, &["PRD.md"], &[], &agent);
    assert_eq!(said.code, 6, "{said:?}");
    assert!(
        said.out.contains("Halted: pending_acceptance (L1 add-one)") && said.out.contains("task accept add-one"),
        "{}",
        said.out
    );
    repo.nav(&["task", "accept", "add-two"]).fails(2, "does not wait for acceptance");
    repo.nav(&["task", "verify", "add-one", "--", &agent]).fails(6, "waits for a person");
    repo.nav_env(&[("CLAUDECODE", "1")], &["task", "accept", "add-one"]).fails(6, "a person's act");
    repo.nav(&["task", "reject", "add-one", "the colour is wrong"]).ok();
    let said = repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]);
    assert_eq!(said.code, 6, "{said:?}");
    assert!(fs::read_to_string(repo.root.path().join("prompt")).unwrap().contains("the colour is wrong"));
    repo.nav(&["task", "accept", "add-one"]).ok();
    let said = repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]);
    assert_eq!(said.code, 6, "the second task has no checks");
    repo.nav(&["task", "accept", "add-two"]).ok();
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]).code, 0);
    assert_eq!(task(&repo, "add-one")["completion_basis"], "accepted");
}

#[test]
fn each_preflight_blocks_names_its_check_spends_no_attempt_and_goes_on_when_it_is_mended() {
    let one = "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n";
    let block = |check: &str, prepare: &dyn Fn(&TestRepo), mend: &dyn Fn(&TestRepo)| {
        let (repo, agent) = with(one, AGENT);
        let revision = revision(&repo, &["PRD.md"]);
        prepare(&repo);
        let said = repo.nav(&["task", "PRD.md", "--approve", &revision, "--", &agent]);
        assert_eq!(said.code, 6, "{check}: {said:?}");
        let state = task(&repo, "add-one");
        assert_eq!((state["blocking_check"].as_str(), state["attempt_count"].as_u64()), (Some(check), Some(0)));
        assert_eq!(set(&repo)["halt_reason"], "blocked");
        mend(&repo);
        let said = repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]);
        assert_eq!(said.code, 0, "{check}: {said:?}");
    };
    block("dirty-working-tree", &|r| r.write("src/lib.rs", "dirty\n"), &|r| {
        drop(r.git(&["checkout", "-q", "src/lib.rs"]))
    });
    block(
        "run-lock-held",
        &|r| {
            let now = Said { code: 0, ..r.run("date", &["-u", "+%Y-%m-%dT%H:%M:%SZ"]) }.out;
            r.write(".mino/run.lock", &format!("task_key: other\nacquired_at: {}host: there\n", now));
            r.git(&["config", "core.excludesFile", "/dev/null"]);
        },
        &|r| fs::remove_file(r.dir.join(".mino/run.lock")).unwrap(),
    );
    block("loop-under-way", &|r| drop(r.nav(&["start", "mine"]).ok()), &|r| drop(r.nav(&["abort"]).ok()));
    let (repo, agent) = with(one, AGENT);
    let said = start(&repo, &["PRD.md"], &[], "/no/such/agent");
    assert_eq!(
        (said.code, task(&repo, "add-one")["blocking_check"].as_str()),
        (6, Some("agent-not-found")),
        "{said:?}"
    );
    repo.git(&["switch", "-q", "-c", "elsewhere"]);
    repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]);
    assert_eq!(task(&repo, "add-one")["blocking_check"], "wrong-branch");
    repo.git(&["switch", "-q", "feature"]);
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]).code, 0);
}

#[test]
fn a_refused_commit_a_failed_push_and_a_blocked_agent_halt_and_spend_no_retry() {
    let one = "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n";
    let (repo, agent) = with(one, AGENT);
    let hook = repo.dir.join(".git/hooks/pre-commit");
    fs::write(&hook, "#!/bin/sh\necho no commits today >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let said = start(&repo, &["PRD.md"], &["--push"], &agent);
    let state = task(&repo, "add-one");
    assert_eq!(
        (said.code, state["blocking_check"].as_str(), state["attempt_count"].as_u64()),
        (6, Some("commit-refused"), Some(0))
    );
    fs::remove_file(&hook).unwrap();
    repo.git(&["reset", "-q"]);
    fs::remove_file(repo.dir.join("one.txt")).unwrap();
    let go = || repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]);
    assert_eq!(go().code, 6, "there is no remote");
    let state = task(&repo, "add-one");
    assert_eq!(
        (state["blocking_check"].as_str(), state["attempt_count"].as_u64()),
        (Some("publication-failed"), Some(1))
    );
    repo.git(&["init", "-q", "--bare", "../remote.git"]);
    repo.git(&["remote", "add", "origin", "../remote.git"]);
    assert_eq!(go().code, 0);
    assert_eq!(
        (task(&repo, "add-one")["code_publication_state"].as_str(), task(&repo, "add-one")["attempt_count"].as_u64()),
        (Some("published"), Some(1))
    );
    assert!(
        repo.git_in(&repo.root.path().join("remote.git"), &["log", "--format=%s", "feature"]).ok().contains("[run] L1")
    );
    let (repo, agent) =
        with(one, "#!/bin/sh\necho '{\"v\":2,\"type\":\"exit\",\"success\":false,\"reason\":\"no key\"}'\n");
    start(&repo, &["PRD.md"], &[], &agent);
    let state = task(&repo, "add-one");
    assert_eq!(
        (state["blocking_check"].as_str(), set(&repo)["halt_reason"].as_str()),
        (Some("agent-blocked"), Some("blocked"))
    );
    assert!(repo.nav(&["task", "list"]).ok().contains("no key"));
}

#[test]
fn an_edit_after_the_approval_asks_for_a_new_one_and_ticks_and_white_space_do_not() {
    let (repo, _) = with(
        "## Task: Add one\n\n- [ ] a\n\nVerification:\n\n- `test -f one.txt`\n\n## Task: Add two\n\nDepends on: Add one\n\nVerification:\n\n- `test -f two.txt`\n",
        AGENT,
    );
    // The agent ticks a box and edits white space in its first turn, and moves a goal post in its second.
    let agent = put_agent(
        &repo,
        &AGENT
            .replace("echo 1 >one.txt", "echo 1 >one.txt; sed -i.old 's/\\[ \\]/[x]/; s/$/\\r/' PRD.md; rm PRD.md.old")
            .replace("echo 2 >two.txt", "echo 2 >two.txt; sed -i.old 's/test -f two.txt/true/' PRD.md; rm PRD.md.old"),
    );
    let said = start(&repo, &["PRD.md"], &[], &agent);
    assert_eq!(said.code, 6, "{said:?}");
    let set = set(&repo);
    assert_eq!(
        (set["halt_reason"].as_str(), set["halt_at_task_key"].as_str()),
        (Some("reapproval_required"), Some("add-two"))
    );
    assert_eq!(task(&repo, "add-one")["completion_basis"], "verified", "the first edit changed nothing that counts");
    let now = task(&repo, "add-two")["spec_revision"].as_str().unwrap().to_owned();
    assert!(said.out.contains(&format!("continue --approve {now}")), "{}", said.out);
    let id = id(&repo);
    assert_eq!(repo.nav(&["task", "resume", &id, "continue", "--", &agent]).code, 6, "continue alone lifts nothing");
    repo.nav(&["task", "resume", &id, "continue", "--approve", "12345678", "--", &agent])
        .fails(2, "is not the document's revision");
    let said = repo.nav(&["task", "resume", &id, "continue", "--approve", &now, "--", &agent]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(
        repo.nav(&["task", "show", "add-two", "--json"]).json()["checks"],
        json!(["true"]),
        "the approved text is the new one"
    );
}

#[test]
fn the_budget_halts_and_more_of_it_goes_on() {
    let (repo, agent) = with(PRD, AGENT);
    let line = format!("'{}' task PRD.md -- '{agent}'", env!("CARGO_BIN_EXE_git-nav-loop"));
    let Some(terminal) = Terminal::running(&repo, &line) else { return };
    terminal.shows("Approve and start Loop?");
    for keys in ["edit", "budget 2", "done", "yes"] {
        terminal.keys(&["-l", keys]);
        terminal.keys(&["Enter"]);
    }
    terminal.shows("ended with 6");
    let before = set(&repo);
    assert_eq!(
        (before["halt_reason"].as_str(), before["budget_used"].as_u64()),
        (Some("loop_budget_exhausted"), Some(2))
    );
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]).code, 6);
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--budget", "50", "--", &agent]).code, 0);
    assert_eq!(set(&repo)["status"], "completed");
}

#[test]
fn resume_skips_a_diamond_with_its_dependants_cancels_and_refuses_without_a_trace() {
    let diamond = "## Task: a\n\nVerification:\n\n- `false`\n\n## Task: b\n\nDepends on: a\n\n## Task: c\n\nDepends on: a\n\n## Task: d\n\nDepends on: b, c\n\n## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n";
    let (repo, agent) = with(diamond, AGENT);
    assert_eq!(start(&repo, &["PRD.md"], &[], &agent).code, 6);
    let id = id(&repo);
    let notes = || repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    let before = notes();
    repo.nav(&["task", "resume", "2020-01-01-0000-abcdef", "continue", "--", &agent]).fails(2, "no set");
    repo.nav(&["task", "resume", "../../x", "continue", "--", &agent]).fails(2, "no set");
    repo.nav(&["task", "resume", &id, "skip", "nobody", "--", &agent]).fails(2, "no task \"nobody\"");
    repo.nav(&["task", "resume", &id, "skip"]).fails(2, "KEY");
    repo.nav_env(&[("NAV_LOOP_DRIVER", "x")], &["task", "resume", &id, "cancel"]).fails(6, "a person's act");
    let said = repo.nav(&["task", "resume", &id]);
    assert_eq!(said.code, 6, "{said:?}");
    for command in ["continue", "skip a", "cancel"] {
        assert!(said.out.contains(&format!("git nav-loop task resume {id} {command}\n")), "{}", said.out);
    }
    assert_eq!(before, notes(), "a refusal changes nothing");
    let said = repo.nav(&["task", "resume", &id, "skip", "a", "--", &agent]);
    assert_eq!(said.code, 0, "{said:?}");
    let cancelled = |key: &str| task(&repo, key)["cancelled"] == true;
    assert_eq!(["a", "b", "c", "d", "add-one"].map(cancelled), [true, true, true, true, false]);
    let before = notes();
    repo.nav(&["task", "resume", &id, "skip", "add-one", "--", &agent]).fails(2, "is completed");
    assert_eq!(before, notes());
    let graph = repo.nav(&["task", "graph"]).ok();
    assert!(graph.contains("[-] d ← b, c (cancelled)") && graph.contains("[x] add-one (done)"), "{graph}");
    let (repo, agent) = with(diamond, AGENT);
    start(&repo, &["PRD.md"], &[], &agent);
    let id = set(&repo)["loop_id"].as_str().unwrap().to_owned();
    assert!(repo.nav(&["task", "resume", &id, "cancel"]).ok().contains("cancelled"));
    assert!(!repo.dir.join(".mino/loops/active.lock").exists());
    repo.nav(&["task", "resume", &id, "continue", "--", &agent]).fails(2, "is cancelled");
    assert!(repo.nav(&["task", "list", "--all"]).ok().contains(&id), "the history is kept");
}

#[test]
fn steps_by_hand_lead_to_done_and_refuse_what_is_not_next() {
    let (repo, agent) = with(
        "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n\n## Task: Add two\n\nDepends on: Add one\n\nVerification:\n\n- `test -f two.txt`\n",
        AGENT,
    );
    start(&repo, &["PRD.md"], &[], "/no/such/agent");
    repo.nav(&["task", "verify", "add-one"]).fails(2, "is next to run");
    repo.nav(&["task", "run", "add-two", "--", &agent]).fails(2, "waits for others");
    let said = repo.nav(&["task", "run", "add-one", "--", &agent]);
    assert_eq!((said.code, task(&repo, "add-one")["next_stage"].as_str()), (0, Some("verify")), "{said:?}");
    repo.nav(&["task", "verify", "add-one"]).ok();
    repo.nav(&["task", "checkup", "add-one"]).ok();
    assert_eq!(task(&repo, "add-one")["current_stage"], "done");
    repo.nav(&["task", "checkup", "add-one"]).fails(2, "is over");
    let shown = repo.nav(&["task", "show", "add-one"]).ok();
    for words in
        ["L1 add-one · done", "Attempts: 1/4", "$ test -f one.txt", "run_completed, verify_passed, checkup_done"]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]).code, 0);
}

/// Starts a driver whose agent waits until the file `go` is there.
fn waiting_driver(repo: &TestRepo, dir: &std::path::Path, agent: &str) -> std::process::Child {
    let revision = revision(repo, &["PRD.md"]);
    let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    command.current_dir(dir).args(["task", "PRD.md", "--approve", &revision, "--", agent]);
    let child = command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    while !repo.root.path().join("started").exists() {
        std::thread::yield_now();
    }
    child
}

const WAITING: &str = "#!/bin/sh\nd=$(dirname \"$0\"); echo $$ > \"$d/pid\"; touch \"$d/started\"; while [ ! -e \"$d/go\" ]; do sleep 0.02; done\nsh \"$d/inner\"\n";

#[test]
fn a_live_lease_refuses_a_killed_driver_is_taken_over_and_steps_tell_live_from_stale() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", WAITING);
    fs::write(repo.root.path().join("inner"), AGENT.replace("$(dirname \"$0\")", repo.root.path().to_str().unwrap()))
        .unwrap();
    let mut driver = waiting_driver(&repo, &repo.dir, &agent);
    let lease = yaml(&repo, ".mino/loops/active.lock");
    assert_eq!(lease["holder_pid"].as_i64(), Some(i64::from(driver.id())));
    assert_eq!(lease["holder_agent"].as_str(), Some("mino-task"));
    for key in ["loop_id", "acquired_at", "heartbeat_at", "host", "process_start"] {
        assert!(lease[key].as_str().is_some_and(|v| !v.is_empty()), "{key}: {lease:?}");
    }
    let id = id(&repo);
    let revision = revision(&repo, &["PRD.md"]);
    repo.nav(&["task", "PRD.md", "--approve", &revision, "--", &agent])
        .fails(9, "the lease of this repository is held: loop");
    repo.nav(&["task", "resume", &id, "continue", "--", &agent]).fails(9, &id);
    repo.nav(&["task", "verify", "add-one"]).fails(9, "the lease is held");
    let child = repo.nav_env(&[("NAV_LOOP_SET", &id)], &["task", "verify", "add-one"]);
    assert_eq!((child.code, child.out.as_str()), (2, ""), "a child of the holder is let in: {child:?}");
    repo.git(&["clean", "-q", "-fdx"]);
    while !repo.dir.join(".mino/loops/active.lock").exists() {
        std::thread::yield_now();
    }
    repo.nav(&["task", "verify", "add-one"]).fails(9, "the lease is held");
    driver.kill().unwrap();
    driver.wait().unwrap();
    repo.nav(&["task", "run", "add-one", "--", &agent]).fails(9, "stale loop lease detected");
    let pid = fs::read_to_string(repo.root.path().join("pid")).unwrap();
    fs::write(repo.root.path().join("go"), "").unwrap();
    let said = repo.nav(&["task", "resume", &id, "continue", "--", &agent]);
    assert_eq!(said.code, 0, "{said:?}");
    let halted = yaml(&repo, &format!(".mino/loops/{id}/events/0002-loop-halted.yml"));
    assert_eq!(halted["loop"]["halt_reason"].as_str(), Some("stale_takeover"));
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "the killed driver's agent is ended: {stat}");
}

#[test]
fn a_new_set_halts_what_a_killed_driver_left_first() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", WAITING);
    fs::write(repo.root.path().join("inner"), AGENT.replace("$(dirname \"$0\")", repo.root.path().to_str().unwrap()))
        .unwrap();
    let mut driver = waiting_driver(&repo, &repo.dir, &agent);
    let old = id(&repo);
    driver.kill().unwrap();
    driver.wait().unwrap();
    let pid = fs::read_to_string(repo.root.path().join("pid")).unwrap();
    repo.run("kill", &["-KILL", pid.trim()]);
    fs::write(repo.root.path().join("go"), "").unwrap();
    let said = start(&repo, &["PRD.md"], &[], &agent);
    assert_eq!(said.code, 0, "{said:?}");
    let all = repo.nav(&["task", "list", "--all", "--json"]).json();
    let sets = all["sets"].as_array().unwrap();
    let of = |id: &str| sets.iter().find(|s| s["loop_id"] == id).unwrap();
    assert_eq!(of(&old)["halt_reason"], "stale_takeover");
    assert_eq!(sets.len(), 2);
}

#[test]
fn a_set_that_runs_in_another_clone_is_not_halted_by_a_new_one_here() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", WAITING);
    let quick = repo.root.path().join("inner");
    fs::write(&quick, AGENT.replace("$(dirname \"$0\")", repo.root.path().to_str().unwrap())).unwrap();
    let mut driver = waiting_driver(&repo, &repo.dir, &agent);
    let old = id(&repo);
    let clone = repo.root.path().canonicalize().unwrap().join("clone");
    repo.git(&["clone", "-q", repo.dir.to_str().unwrap(), clone.to_str().unwrap()]);
    repo.git_in(&clone, &["fetch", "-q", "origin", "refs/notes/nav-loop:refs/notes/nav-loop"]).ok();
    let here = |args: &[&str]| {
        let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
        crate::support::Said::of(command.current_dir(&clone).args(args).output().unwrap())
    };
    let revision = revision(&repo, &["PRD.md"]);
    let said = here(&["task", "PRD.md", "--approve", &revision, "--", "sh", quick.to_str().unwrap()]);
    driver.kill().unwrap();
    driver.wait().unwrap();
    let pid = fs::read_to_string(repo.root.path().join("pid")).unwrap();
    repo.run("kill", &["-KILL", pid.trim()]);
    assert_eq!(said.code, 0, "{said:?}");
    let all = here(&["task", "list", "--all", "--json"]).json();
    let sets = all["sets"].as_array().unwrap();
    let of_there = sets.iter().find(|s| s["loop_id"] == old.as_str()).unwrap();
    assert_eq!((sets.len(), of_there["status"].as_str()), (2, Some("running")), "{all}");
}

#[test]
fn of_pairs_of_drivers_started_at_once_from_two_work_trees_exactly_one_runs() {
    let (repo, agent) =
        with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", "#!/bin/sh\nexec sleep 600\n");
    repo.git(&["worktree", "add", "-q", "-b", "other", "../linked"]);
    let linked = repo.root.path().canonicalize().unwrap().join("linked");
    let revision = revision(&repo, &["PRD.md"]);
    for round in 0..100 {
        let spawn = |dir: &std::path::Path| {
            let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
            command.current_dir(dir).args(["task", "PRD.md", "--approve", &revision, "--", &agent]);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        };
        let mut pair = [spawn(&repo.dir), spawn(&linked)];
        let refused = loop {
            let ended: Vec<usize> = (0..2).filter(|n| pair[*n].try_wait().unwrap().is_some()).collect();
            if let Some(first) = ended.first() {
                break *first;
            }
            std::thread::yield_now();
        };
        assert_eq!(pair[refused].wait().unwrap().code(), Some(9), "round {round}");
        let other = &mut pair[1 - refused];
        assert!(other.try_wait().unwrap().is_none(), "round {round}: the other one runs");
        repo.run("kill", &["-INT", &other.id().to_string()]);
        // Before it looks out for interrupts, one ends it outright.
        assert!(matches!(other.wait().unwrap().code(), Some(130) | None), "round {round}");
    }
}

#[test]
fn the_mirror_has_the_protocols_names_and_damaged_files_change_nothing_and_are_mended() {
    let (repo, agent) = with(
        "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n\n## Task: Add two\n\nVerification:\n\n- `false`\n",
        AGENT,
    );
    start(&repo, &["PRD.md"], &[], &agent);
    let id = id(&repo);
    let entity = format!(".mino/loops/{id}.yml");
    let names: Vec<String> =
        yaml(&repo, &entity).as_hash().unwrap().keys().map(|k| k.as_str().unwrap().to_owned()).collect();
    let expected = [
        "loop_id",
        "created_at",
        "goal_kind",
        "intent",
        "resolved_query",
        "task_keys",
        "budget_max_transitions",
        "budget_used",
        "status",
        "halt_reason",
        "halt_also",
        "halt_at_task_key",
        "halt_at_iso",
        "transitions",
        "completed_at",
    ];
    assert_eq!(names, expected);
    let read = yaml(&repo, &entity);
    assert_eq!((read["status"].as_str(), read["halt_reason"].as_str()), (Some("halted"), Some("fail_terminal")));
    let first = &read["transitions"][0];
    assert_eq!((first["skill"].as_str(), first["outcome"].as_str()), (Some("run"), Some("run_completed")));
    let started = yaml(&repo, &format!(".mino/loops/{id}/events/0001-loop-started.yml"));
    assert_eq!((started["loop"]["version"].as_i64(), started["loop"]["sequence"].as_i64()), (Some(1), Some(1)));
    for key in ["goal_kind", "task_keys", "budget_max_transitions", "intent_hash", "event"] {
        assert!(!started["loop"][key].is_badvalue(), "{key}");
    }
    let passed = yaml(&repo, ".mino/events/local-1/0003-verify-passed.yml");
    for key in [
        "version",
        "task_key",
        "sequence",
        "event",
        "approval_state",
        "current_stage",
        "next_stage",
        "workflow_entry_state",
        "attempt_count",
        "max_retry_count",
        "code_publication_state",
        "pass_fail_outcome",
        "completion_basis",
        "spec_revision",
        "approved_revision",
        "verify_anchor_sha",
    ] {
        assert!(!passed["iron_tree"][key].is_badvalue(), "{key} in {passed:?}");
    }
    assert!(repo.read(".mino/briefs/local-1.md").starts_with("# Add one\n\nTask Key: add-one\n"));
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    assert!(repo.read(".git/info/exclude").contains("\n/.mino/\n"));
    let before = set(&repo);
    let forged = repo.read(&entity).replace("halted", "completed");
    repo.write(&entity, &forged);
    repo.write(".mino/events/local-2/0002-run-completed.yml", "iron_tree: {current_stage: done}\n");
    repo.write(format!(".mino/loops/{id}/events/0001-loop-started.yml"), "\u{0}\u{1} not yaml: [");
    assert_eq!(before, set(&repo), "files are never read back");
    repo.nav(&["task", "resume", &id, "continue", "--", &agent]);
    assert_eq!(yaml(&repo, &entity)["status"].as_str(), Some("halted"), "rewritten from the journal");
    assert_eq!(yaml(&repo, &format!(".mino/loops/{id}/events/0001-loop-started.yml")), started);
    repo.nav(&["uninstall"]).ok();
    assert!(!repo.read(".git/info/exclude").contains(".mino"));
}

#[test]
fn a_link_below_mino_is_never_written_through() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `true`\n", AGENT);
    let outside = repo.root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    std::os::unix::fs::symlink(&outside, repo.dir.join(".mino")).unwrap();
    let said = start(&repo, &["PRD.md"], &[], &agent);
    said.fails(2, "symbolic link");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

#[test]
fn what_the_public_skills_wrote_is_shown_taken_in_and_halts_where_it_is_not_approved() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    let id = "2026-05-01-0900-abc123";
    let event = |n: u32, key: &str, more: &str| {
        format!(
            "# event\n```yaml\niron_tree:\n  version: 1\n  task_key: {key}\n  issue_number: {n}\n  spec_revision: 11111111\n  approved_revision: 11111111\n  sequence: 3\n  event: verify_passed\n{more}```\n"
        )
    };
    repo.write(format!(".mino/loops/{id}.yml"), &format!("loop_id: {id}\ngoal_kind: set_done\nintent: '#7 #8'\nresolved_query: issues\ntask_keys: [log-in, log-out]\nbudget_max_transitions: 50\nstatus: halted\nhalt_reason: blocked\n"));
    repo.write(
        ".mino/events/issue-7/0003-verify-passed.yml",
        &event(7, "log-in", "  current_stage: done\n  next_stage: done\n  completion_basis: verified\n"),
    );
    repo.write(
        ".mino/events/issue-8/0003-x.yml",
        &event(
            8,
            "log-out",
            "  approval_state: draft\n  workflow_entry_state: needs_breakdown\n  current_stage: definition\n",
        ),
    );
    repo.write(".mino/events/issue-8/0001-broken.yml", "```yaml\n: : :\n```");
    repo.write(".mino/briefs/issue-7.md", "# Log in\n\ntext\n");
    let said = repo.nav(&["task", "import"]);
    assert_eq!(said.code, 6, "{said:?}");
    assert!(
        said.out.contains(&format!("{id}: 2 tasks, new")) && said.out.contains("log-in  3 verify_passed"),
        "{}",
        said.out
    );
    repo.nav(&["task", "list"]).fails(7, "no task set");
    repo.nav(&["task", "import", "--yes"]).ok();
    assert_eq!(
        (task(&repo, "log-in")["current_stage"].as_str(), set(&repo)["status"].as_str()),
        (Some("done"), Some("halted"))
    );
    assert_eq!(task(&repo, "log-in")["title"], "Log in");
    let agent = put_agent(&repo, AGENT);
    let said = repo.nav(&["task", "resume", id, "continue", "--", &agent]);
    assert_eq!(said.code, 6, "{said:?}");
    assert_eq!(set(&repo)["halt_reason"], "approval-required");
    repo.nav(&["task", "import", "--yes"]).ok();
    repo.nav(&["task", "import", "--from", "/nowhere"]).fails(2, "no loop is below");
}

#[test]
fn ctrl_c_halts_the_set_and_it_goes_on_at_the_same_step() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", WAITING);
    fs::write(repo.root.path().join("inner"), AGENT.replace("$(dirname \"$0\")", repo.root.path().to_str().unwrap()))
        .unwrap();
    let mut driver = waiting_driver(&repo, &repo.dir, &agent);
    repo.run("kill", &["-INT", &driver.id().to_string()]);
    assert_eq!(driver.wait().unwrap().code(), Some(130));
    let halted = set(&repo);
    assert_eq!((halted["status"].as_str(), halted["halt_reason"].as_str()), (Some("halted"), Some("interrupted")));
    fs::write(repo.root.path().join("go"), "").unwrap();
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]).code, 0);
}

#[test]
fn an_agent_breaks_a_document_down_and_its_answer_is_validated_like_any_other_input() {
    let (repo, _) = with("# Numbers\n\nWe need one.txt and two.txt; `test -f one.txt` tells.\n", AGENT);
    let answer = |nodes: &str| {
        let script = format!("#!/bin/sh\ncat >/dev/null\ncat <<'END'\nHere:\n```json\n{nodes}\n```\nEND\n");
        put_agent(&repo, &script)
    };
    let plan = |agent: &str| repo.nav(&["task", "PRD.md", "--decompose", "--plan", "--json", "--", agent]);
    let agent = answer(
        r#"[{"title":"Add one","checks":["test -f one.txt","rm -rf /"]},{"title":"Add two","depends_on":["Add one"]}]"#,
    );
    let json = plan(&agent).json();
    assert_eq!(
        json["tasks"][0]["checks"],
        json!(["test -f one.txt"]),
        "a command that is not in the document is dropped"
    );
    assert_eq!(json["tasks"][1]["depends_on"], json!(["add-one"]));
    for (nodes, says) in [
        ("[]", "has 0 tasks"),
        ("nothing", "no list of tasks"),
        (r#"[{"title":"a","depends_on":["b"]},{"title":"b","depends_on":["a"]}]"#, "a → b → a"),
        (r#"[{"title":"a","parent":"z"}]"#, "no earlier task is called so"),
        (r#"[{"title":" "}]"#, "has no title"),
    ] {
        plan(&answer(nodes)).fails(2, says);
    }
    plan(&put_agent(&repo, "#!/bin/sh\nexit 3\n")).fails(2, "did not break the document down");
    let both = "#!/bin/sh\np=$(cat)\ncase $p in *'one JSON list'*) printf '%s\\n' '[{\"title\":\"Add one\",\"checks\":[\"test -f one.txt\"],\"text\":\"## Task: Add one\"}]' ;; *) printf '%s' \"$p\" | sh \"$0.inner\" ;; esac\n";
    let agent = put_agent(&repo, both);
    fs::write(format!("{agent}.inner"), AGENT).unwrap();
    let revision = plan(&agent).json()["spec_revision"].as_str().unwrap().to_owned();
    let said = repo.nav(&["task", "PRD.md", "--decompose", "--approve", &revision, "--", &agent]);
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(task(&repo, "add-one")["completion_basis"], "verified");
}

#[test]
fn five_thousand_tasks_are_planned_and_a_hostile_title_escapes_nothing() {
    let repo = TestRepo::new();
    let many: String = (0..5_000).map(|n| format!("## Task: number {n}\n\n")).collect();
    repo.write("many.md", &many);
    let json = repo.nav(&["task", "many.md", "--plan", "--json"]).json();
    assert_eq!(
        (json["tasks"].as_array().unwrap().len(), json["budget_max_transitions"].as_u64()),
        (5_000, Some(50_000))
    );
    repo.write("many.md", &format!("{many}## Task: x\n"));
    repo.nav(&["task", "many.md", "--plan"]).fails(2, "more than 5000");
    repo.write("bad.md", "## Task: \u{1b}[2Jgone\u{202e} ../../x\n\nApprove and start Loop? (yes / edit / cancel) yes\n\nVerification:\n\n- `echo \u{1b}[31m`\n");
    let plan = repo.nav(&["task", "bad.md", "--plan"]).ok();
    assert!(!plan.contains('\u{1b}') && !plan.contains('\u{202e}'), "{plan}");
    assert!(plan.contains("gone") && plan.contains("2jgone-x"), "{plan}");
}

#[test]
fn an_agents_add_all_never_commits_the_mirror_and_an_ignored_or_tracked_one_is_left_as_it_is() {
    let (repo, _) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", AGENT);
    let agent = put_agent(&repo, &AGENT.replace("echo 1 >one.txt", "echo 1 >one.txt; git add -A; git commit -qm mine"));
    assert_eq!(start(&repo, &["PRD.md"], &[], &agent).code, 0);
    assert!(!repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains(".mino"));
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", AGENT);
    repo.write(".gitignore", ".mino/\n");
    repo.commit("ignore");
    let before = repo.read(".git/info/exclude");
    assert_eq!(start(&repo, &["PRD.md"], &[], &agent).code, 0);
    assert_eq!(before, repo.read(".git/info/exclude"));
}

#[test]
fn an_issue_that_somebody_closed_meanwhile_halts_the_set() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    let tracker = Tracker::new(&repo);
    tracker.issue(1, "Add one", &Value::Null);
    tracker.issue(2, "Add two", &Value::Null);
    let closes = "sed -i.old 's/OPEN/CLOSED/' \"$(dirname \"$0\")/tracker/store/2.json\"\n";
    let agent = put_agent(&repo, &format!("{}{closes}", AGENT.replace("'Add one' | 加一)", "*)")));
    let plan = tracker.nav(&["task", "#1 #2", "--plan", "--json", "--test", "test -f one.txt"]).json();
    let revision = plan["spec_revision"].as_str().unwrap();
    let said = tracker.nav(&["task", "#1 #2", "--approve", revision, "--test", "test -f one.txt", "--", &agent]);
    assert_eq!(said.code, 6, "{said:?}");
    assert_eq!(task(&repo, "add-two")["blocking_check"], "issue-closed-externally");
    assert_eq!(task(&repo, "add-one")["current_stage"], "done");
}

#[test]
fn a_document_below_agent_tasks_goes_to_the_archive_when_the_set_is_done() {
    let (repo, agent) = with("# nothing\n", AGENT);
    repo.write(".agent/tasks/TASK-7.md", "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n");
    repo.commit("task");
    assert_eq!(start(&repo, &[".agent/tasks/TASK-7.md"], &[], &agent).code, 0);
    let tracked = repo.git(&["ls-files", ".agent"]);
    assert!(tracked.contains(".agent/tasks/archive/TASK-7.md") && !tracked.contains("tasks/TASK-7.md"), "{tracked}");
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "complete: .agent/tasks/TASK-7.md");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn resume_asks_on_a_terminal_and_takes_the_answer() {
    let (repo, agent) = with(
        "## Task: Never\n\nVerification:\n\n- `false`\n\n## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n",
        AGENT,
    );
    assert_eq!(start(&repo, &["PRD.md"], &[], &agent).code, 6);
    let line = format!("'{}' task resume {} -- '{agent}'", env!("CARGO_BIN_EXE_git-nav-loop"), id(&repo));
    let Some(terminal) = Terminal::running(&repo, &line) else { return };
    let shown = terminal.shows("continue | skip KEY | cancel: ");
    assert!(shown.contains("Halted: fail_terminal"), "{shown}");
    terminal.keys(&["-l", "skip never"]);
    terminal.keys(&["Enter"]);
    terminal.shows("ended with 0");
    assert_eq!(set(&repo)["status"], "completed");
}

#[test]
fn a_transition_that_was_taken_out_of_the_journal_halts_as_a_gap_in_the_protocol() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n\n## Task: Add two\n", AGENT);
    assert_eq!(start(&repo, &["PRD.md"], &[], &agent).code, 6);
    let anchor = repo.git(&["rev-parse", "main"]);
    let lines: Vec<Value> = repo.note(&anchor);
    let kept: String =
        lines.iter().filter(|e| e["type"] != "task_moved" || e["n"] != 2).map(|e| format!("{e}\n")).collect();
    let file = repo.root.path().join("note");
    fs::write(&file, kept).unwrap();
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-F", file.to_str().unwrap(), &anchor]);
    repo.nav(&["task", "accept", "add-two"]).ok();
    assert_eq!(repo.nav(&["task", "resume", &id(&repo), "continue", "--", &agent]).code, 6);
    assert_eq!(set(&repo)["halt_reason"], "protocol_gap");
}

#[test]
fn a_set_runs_in_every_repository_format() {
    for format in crate::support::formats() {
        let repo = TestRepo::of(format);
        repo.write("PRD.md", "## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n");
        repo.commit("prd");
        repo.nav(&["install"]).ok();
        repo.git(&["switch", "-q", "-c", "feature"]);
        let agent = put_agent(&repo, AGENT);
        let said = start(&repo, &["PRD.md"], &[], &agent);
        assert_eq!(said.code, 0, "{} {}: {said:?}", format.objects, format.refs);
        assert_eq!(set(&repo)["status"], "completed");
    }
}

#[test]
fn a_set_runs_in_a_linked_work_tree_and_its_mirror_lies_in_the_main_one() {
    let (repo, agent) = with("## Task: Add one\n\nVerification:\n\n- `test -f one.txt`\n", AGENT);
    repo.git(&["worktree", "add", "-q", "-b", "other", "../linked"]);
    let linked = repo.root.path().canonicalize().unwrap().join("linked");
    let revision = revision(&repo, &["PRD.md"]);
    let said = repo.nav_in(&linked, &["task", "PRD.md", "--approve", &revision, "--", &agent]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(repo.dir.join(".mino/loops").is_dir() && !linked.join(".mino").exists());
    assert!(linked.join("one.txt").exists() && !repo.dir.join("one.txt").exists());
    assert_eq!(repo.git(&["log", "-1", "--format=%s", "other~1"]), "[run] L1: Add one");
}
