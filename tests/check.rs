use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use serde_json::{Value, json};

use crate::support::{Said, TestRepo};

const CONFIG: &str = r#"{"loop_mode":{"test_command":"sh check.sh","min_indicators":2}}"#;

/// A repository whose `main` holds a configuration; on `topic` the work is done, documented and signalled by a trailer.
fn topic() -> TestRepo {
    let repo = TestRepo::new();
    repo.write(".agent/.nav-config.json", CONFIG);
    repo.write("check.sh", "grep -q two src/lib.rs\n");
    repo.commit("settings");
    repo.git(&["switch", "-q", "-c", "topic"]);
    work(&repo);
    repo
}

fn work(repo: &TestRepo) {
    repo.commit_file("src/lib.rs", "pub fn one() -> u32 { 1 }\npub fn two() -> u32 { 2 }\n", "add two");
    repo.commit_file("README.md", "# A project\n\nwith two\n", "document two\n\nNav-Loop-Exit: two is there");
}

fn check(repo: &TestRepo, args: &[&str]) -> Said {
    repo.nav(&[&["check"], args].concat())
}

fn json_of(repo: &TestRepo, args: &[&str]) -> Value {
    let said = check(repo, &[args, &["--format", "json"]].concat());
    let json = said.json();
    assert_eq!(json["exit_code"].as_i64(), Some(i64::from(said.code)), "the same in every format");
    json
}

fn state(json: &Value, name: &str) -> String {
    let all = json["indicators"].as_array().unwrap_or_else(|| panic!("{json}"));
    all.iter().find(|i| i["name"] == name).unwrap()["state"].as_str().unwrap().to_owned()
}

#[test]
fn a_range_is_judged_without_hooks_loop_or_notes_and_by_the_base_commits_configuration() {
    let repo = topic();
    let json = json_of(&repo, &["--base", "main"]);
    assert_eq!((json["verdict"].as_str(), json["exit_code"].as_i64()), (Some("EXIT"), Some(0)), "{json}");
    assert_eq!(["code_committed", "docs_updated", "tests_passing"].map(|n| state(&json, n)), ["met", "met", "unmet"]);
    assert_eq!(json["merge_base"], repo.git(&["rev-parse", "main"]));
    assert!(json["loop_id"].is_null() && json["findings"] == json!([]) && json["vouched_by"] == json!([]));
    assert!(json["records"].as_str().unwrap().contains("unrecorded"));
    // The head lowers the bar: that is named, and moves nothing.
    repo.commit_file(
        ".agent/.nav-config.json",
        r#"{"loop_mode":{"min_indicators":1,"exit_requires_explicit_signal":false}}"#,
        "lower",
    );
    let json = json_of(&repo, &["--base", "main"]);
    assert_eq!((json["min_indicators"].as_i64(), json["findings"][0]["rule"].as_str()), (Some(2), Some("gate-config")));
    assert_eq!(check(&repo, &["--base", "main", "--strict"]).code, 1, "findings are errors when they are asked to be");
    assert_eq!(check(&repo, &["--base", "main", "--require", "tests_passing"]).code, 3);
    repo.git(&["switch", "-q", "-c", "docs", "main"]);
    repo.commit_file("README.md", "# Words\n", "words");
    assert_eq!(check(&repo, &["--base", "main", "--docs-only"]).code, 1);
    let own = repo.root.path().join("own.json");
    fs::write(&own, r#"{"loop_mode":{"min_indicators":1}}"#).unwrap();
    assert_eq!(
        check(&repo, &["--base", "main", "--docs-only", "--no-require-signal", "--config", own.to_str().unwrap()]).code,
        0
    );
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(check(&repo, &["--base", "main"]).code, 1, "an empty range proves nothing");
    check(&repo, &["--base", "nowhere"]).fails(8, "nowhere is not in this clone");
}

#[test]
fn pull_request_shapes_give_the_same_indicators_as_the_authors_clone() {
    type Shape = fn(&TestRepo);
    let shapes: [(&str, Shape); 8] = [
        ("ahead", |_| {}),
        ("behind and ahead", |r| {
            r.git(&["switch", "-q", "main"]);
            r.commit_file("other.rs", "other\n", "others work");
            r.git(&["switch", "-q", "topic"]);
        }),
        ("base merged in", |r| {
            r.git(&["switch", "-q", "main"]);
            r.commit_file("other.rs", "other\n", "others work");
            r.git(&["switch", "-q", "topic"]);
            r.git(&["merge", "-q", "--no-edit", "main"]);
        }),
        ("rebased", |r| {
            r.git(&["switch", "-q", "main"]);
            r.commit_file("other.rs", "other\n", "others work");
            r.git(&["switch", "-q", "topic"]);
            r.git(&["rebase", "-q", "main"]);
        }),
        ("squashed", |r| {
            r.git(&["reset", "-q", "--soft", "main"]);
            r.git(&["commit", "-q", "-m", "all\n\nNav-Loop-Exit: two is there"]);
        }),
        ("stacked", |r| {
            r.git(&["switch", "-q", "-c", "below", "main"]);
            r.commit_file("below.rs", "x\n", "below");
            r.git(&["rebase", "-q", "below", "topic"]);
        }),
        ("criss-cross", |r| {
            r.git(&["switch", "-q", "main"]);
            r.commit_file("other.rs", "other\n", "others work");
            r.git(&["branch", "-q", "was"]);
            r.git(&["merge", "-q", "--no-edit", "topic~1"]);
            r.git(&["switch", "-q", "topic"]);
            r.git(&["merge", "-q", "--no-edit", "was"]);
            r.commit_file("src/more.rs", "more\n", "more\n\nNav-Loop-Exit: more is there");
        }),
        ("fork", |r| {
            r.git(&["clone", "-q", "--no-local", ".", "../fork"]);
            r.git(&["fetch", "-q", "../fork", "+topic:topic-of-fork"]);
            r.git(&["switch", "-q", "topic-of-fork"]);
        }),
    ];
    for (name, shape) in shapes {
        let repo = topic();
        shape(&repo);
        let json = json_of(&repo, &["--base", "main"]);
        assert_eq!(state(&json, "code_committed"), "met", "{name}: {json}");
        assert_eq!(state(&json, "docs_updated"), "met", "{name}: {json}");
        let own = repo.git(&["rev-list", "--no-merges", "main..HEAD"]).lines().count();
        let shown = json["indicators"][0]["evidence"].as_array().unwrap().len();
        assert!(shown >= 1 && own >= 1, "{name}: {json}");
        if name != "criss-cross" {
            assert_eq!(json["exit_code"], 0, "{name}: {json}");
        }
        let said = check(&repo, &["--base", "main", "--head", "HEAD"]);
        assert_eq!(i64::from(said.code), json["exit_code"].as_i64().unwrap());
    }
}

#[test]
fn records_hold_for_their_code_where_notes_are_trusted_and_never_by_themselves() {
    let repo = TestRepo::new();
    repo.write("check.sh", "grep -q two src/lib.rs\n");
    repo.write(".agent/.nav-config.json", CONFIG);
    repo.commit("settings");
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.nav(&["start", "two", "--test", "sh check.sh"]).ok();
    repo.commit_file("src/lib.rs", "pub fn two() -> u32 { 2 }\n", "add two");
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    assert_eq!(repo.nav(&["gate"]).code, 0);
    let json = json_of(&repo, &["--base", "main"]);
    assert_eq!((state(&json, "tests_passing").as_str(), json["exit_code"].as_i64()), ("unmet", Some(1)), "{json}");
    assert!(json["records"].as_str().unwrap().contains("2 that nobody trusted here vouches for"), "{json}");
    let json = json_of(&repo, &["--base", "main", "--trust-notes"]);
    assert_eq!((state(&json, "tests_passing").as_str(), json["exit_code"].as_i64()), ("met", Some(0)), "{json}");
    let gate = repo.gate();
    for name in ["code_committed", "tests_passing", "docs_updated"] {
        assert_eq!(state(&json, name), state(&gate, name), "as in the author's clone: {name}");
    }
    let notes = repo.git(&["rev-parse", "refs/notes/nav-loop"]);
    repo.git(&["update-ref", "-d", "refs/notes/nav-loop"]);
    assert_eq!(json_of(&repo, &["--base", "main", "--trust-notes", "--notes", &notes])["exit_code"], 0);
    check(&repo, &["--base", "main", "--notes", "0123456789"]).fails(8, "is no commit here");
    repo.git(&["update-ref", "refs/notes/nav-loop", &notes]);
    repo.git(&["reset", "-q", "--soft", "main"]);
    repo.git(&["commit", "-q", "-m", "squashed"]);
    assert_eq!(
        state(&json_of(&repo, &["--base", "main", "--trust-notes"]), "tests_passing"),
        "met",
        "the tree counts, not the id"
    );
    repo.commit_file("src/lib.rs", "pub fn three() -> u32 { 3 }\n", "another tree");
    let json = json_of(&repo, &["--base", "main", "--trust-notes"]);
    assert_eq!(
        (state(&json, "tests_passing").as_str(), json["signal"]["state"].as_str()),
        ("unmet", Some("stale")),
        "{json}"
    );
}

#[test]
fn tests_run_here_count_on_a_clean_tree_without_secrets() {
    let repo = topic();
    repo.write("src/lib.rs", "broken in the work tree only\n");
    let said = repo.nav_env(
        &[("SECRET_TOKEN", "hunter2")],
        &["check", "--base", "main", "--run-tests", "--require", "tests_passing"],
    );
    assert_eq!(said.code, 0, "{said:?}");
    let look = "env > /dev/stderr; test -z \"$SECRET_TOKEN\"";
    let arg = format!("--run-tests={look}");
    let said = repo.nav_env(
        &[("SECRET_TOKEN", "hunter2"), ("GITHUB_TOKEN", "x")],
        &["check", "--base", "main", "--require", "tests_passing", &arg],
    );
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.err.contains("hunter2") && !said.err.contains("GITHUB_TOKEN"), "{said:?}");
    assert_eq!(check(&repo, &["--base", "main", "--run-tests=false"]).code, 3, "a failure is evidence against");
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1, "the clean tree is gone");
    repo.git(&["checkout", "-q", "-f", "-b", "bare", "main~1"]);
    repo.commit_file("x.rs", "x\n", "x");
    check(&repo, &["--base", "main~1", "--run-tests"]).fails(2, "no test command");
}

/// A key made for the test, and the line that allows it.
fn key(repo: &TestRepo, name: &str, options: &str) -> (String, String) {
    let path = repo.root.path().join(name).display().to_string();
    let said = repo.run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-C", name, "-f", &path]);
    assert_eq!(said.code, 0, "{said:?}");
    let public = fs::read_to_string(format!("{path}.pub")).unwrap();
    let mut words = public.split_whitespace();
    let line = format!("{name}@example.com {options}{} {}\n", words.next().unwrap(), words.next().unwrap());
    (path, line)
}

fn has_ssh(repo: &TestRepo) -> bool {
    let there = repo.run("sh", &["-c", "command -v ssh-keygen"]).code == 0;
    if !there {
        crate::support::skip("no ssh-keygen here");
    }
    there
}

/// A loop on `topic` whose run, signal and marker are recorded.
fn recorded() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("check.sh", "grep -q two src/lib.rs\n");
    repo.write(".agent/.nav-config.json", CONFIG);
    repo.commit("settings");
    repo.nav(&["install"]).ok();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.nav(&["start", "two", "--test", "sh check.sh"]).ok();
    repo.commit_file("src/lib.rs", "pub fn two() -> u32 { 2 }\n", "add two");
    repo.nav(&["test"]).ok();
    repo.nav(&["signal", "exit"]).ok();
    repo
}

#[test]
fn a_signed_attestation_counts_by_its_key_and_says_who_vouches_and_no_forgery_does() {
    let repo = recorded();
    if !has_ssh(&repo) {
        return;
    }
    let (own, allowed) = key(&repo, "author", "");
    let (_, expired) = key(&repo, "late", "valid-before=\"20200101\" ");
    let (stranger, _) = key(&repo, "stranger", "");
    let signers = repo.root.path().join("signers");
    fs::write(&signers, &allowed).unwrap();
    let signers = signers.display().to_string();
    let args = ["--base", "main", "--allowed-signers", &signers];
    assert_eq!(json_of(&repo, &args)["exit_code"], 1, "nothing is signed yet");
    repo.nav(&["attest", "--key", &stranger]).ok();
    assert_eq!(json_of(&repo, &args)["exit_code"], 1, "a stranger's signature");
    let file = repo.root.path().join("envelope.json");
    repo.nav(&["attest", "HEAD", "--key", &own, "-o", file.to_str().unwrap()]).ok();
    let json = json_of(&repo, &args);
    assert_eq!((json["exit_code"].as_i64(), state(&json, "tests_passing").as_str()), (Some(0), "met"), "{json}");
    assert_eq!(json["vouched_by"][0]["signer"], "author@example.com");
    assert!(json["vouched_by"][0]["records"].as_array().unwrap().contains(&json!("tests_ran")), "{json}");
    // The same signature by a key whose time is over, and over another namespace or text.
    fs::write(&signers, allowed.replace("author@example.com ", "author@example.com valid-before=\"20200101\" "))
        .unwrap();
    assert_eq!(json_of(&repo, &args)["exit_code"], 1, "an expired key");
    fs::write(&signers, allowed.replace("author@example.com ", "author@example.com namespaces=\"git\" ")).unwrap();
    assert_eq!(json_of(&repo, &args)["exit_code"], 1, "a key for something else");
    fs::write(&signers, expired).unwrap();
    assert_eq!(json_of(&repo, &args)["exit_code"], 1);
    fs::write(&signers, &allowed).unwrap();
    // Replayed on another tree: the run does not hold, and what is bound to the tree does not count.
    repo.commit_file("src/lib.rs", "pub fn two() -> u32 { 3 }\n", "another tree");
    let json = json_of(&repo, &args);
    assert_eq!((json["exit_code"].as_i64(), state(&json, "tests_passing").as_str()), (Some(1), "unmet"), "{json}");
    // An envelope with its text changed.
    let envelope: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
    assert!(envelope["signatures"][0]["keyid"].as_str().unwrap().starts_with("SHA256:"));
}

#[test]
fn an_attestation_is_a_statement_that_an_independent_reader_accepts() {
    let repo = recorded();
    let said = repo.nav(&["attest"]).ok();
    let statement: Value = serde_json::from_str(&said).unwrap();
    let hex = |v: &Value, n: usize| {
        v.as_str().is_some_and(|t| t.len() == n && t.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase()))
    };
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "https://in-toto.io/attestation/test-result/v0.1");
    let digest = &statement["subject"][0]["digest"];
    assert!(hex(&digest["gitCommit"], 40) && hex(&digest["gitTree"], 40), "{digest}");
    assert_eq!(digest["gitTree"], repo.git(&["rev-parse", "HEAD^{tree}"]));
    let predicate = &statement["predicate"];
    assert_eq!(predicate["result"], "PASSED");
    let configuration = &predicate["configuration"][0];
    assert!(
        configuration["digest"].is_object() || configuration["uri"].is_string() || configuration["content"].is_string()
    );
    assert!(hex(&configuration["digest"]["sha256"], 64));
    assert!(predicate["failedTests"].as_array().unwrap().is_empty());
    repo.commit_file("src/lib.rs", "other\n", "other");
    repo.nav(&["attest"]).fails(8, "no recorded test run holds");
    repo.nav(&["attest", "HEAD~1"]).ok();
    repo.nav(&["attest", "nowhere"]).fails(2, "is no commit here");
    repo.nav(&["test"]);
    let failed = repo.nav(&["attest"]);
    assert_eq!((failed.code, failed.json()["predicate"]["result"].as_str()), (1, Some("FAILED")));
}

#[test]
fn forged_notes_open_no_gate() {
    let repo = topic();
    repo.git(&["commit", "-q", "--amend", "-m", "document two"]);
    let donor = recorded();
    let note = donor.try_git(&["notes", "--ref=nav-loop", "show", &donor.anchor()]).out;
    let (from, to) = (donor.anchor(), repo.git(&["rev-parse", "main"]));
    let forged = note.replace(&from, &to);
    let file = repo.root.path().join("note");
    fs::write(&file, format!("{forged}{{\"v\":1,\"id\":\"f\",\"on\":\"{to}\",\"loop\":\"2026-01-01-0000-abcdef\",\"seq\":9,\"at\":\"2026-01-01T00:00:00.000Z\",\"by\":\"x\",\"type\":\"loop_completed\",\"basis\":\"verified\"}}\n")).unwrap();
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-F", file.to_str().unwrap(), &to]);
    let json = json_of(&repo, &["--base", "main"]);
    assert_eq!((json["exit_code"].as_i64(), json["signal"]["state"].as_str()), (Some(1), Some("none")), "{json}");
    assert_eq!(state(&json, "tests_passing"), "unmet");
    // Even believed, a run of another code holds for nothing here.
    assert_eq!(state(&json_of(&repo, &["--base", "main", "--trust-notes"]), "tests_passing"), "unmet");
    repo.git(&["notes", "--ref=nav-loop", "add", "-f", "-m", "not ours at all", &to]);
    assert_eq!(json_of(&repo, &["--base", "main"])["exit_code"], 1);
    repo.git(&["update-ref", "refs/notes/nav-loop", "HEAD"]);
    assert!(matches!(check(&repo, &["--base", "main"]).code, 1 | 8), "notes that are none");
}

/// A clone as a CI system makes it, with the documented variables.
struct Ci<'a> {
    repo: &'a TestRepo,
    dir: std::path::PathBuf,
}

impl<'a> Ci<'a> {
    fn of(repo: &'a TestRepo, refspec: &str, depth: Option<u32>) -> Self {
        let dir = repo.root.path().canonicalize().unwrap().join(format!("ci-{}", repo.git(&["rev-parse", refspec])));
        drop(fs::remove_dir_all(&dir));
        fs::create_dir_all(&dir).unwrap();
        let url = format!("file://{}", repo.dir.display());
        let ci = Self { repo, dir };
        ci.git(&["init", "-q"]);
        ci.git(&["remote", "add", "origin", &url]);
        let depth = depth.map(|n| format!("--depth={n}"));
        let mut args = vec!["fetch", "-q", "--no-tags"];
        args.extend(depth.as_deref());
        let spec = format!("+{refspec}:refs/remotes/pull/merge");
        args.extend(["origin", &spec]);
        ci.git(&args);
        ci.git(&["checkout", "-q", "--detach", "refs/remotes/pull/merge"]);
        ci
    }

    fn git(&self, args: &[&str]) -> String {
        self.repo.git_in(&self.dir, args).ok()
    }

    fn check(&self, env: &[(&str, &str)], args: &[&str]) -> Said {
        let mut command = self.repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
        command.current_dir(&self.dir).envs(env.iter().copied()).arg("check").args(args);
        Said::of(command.output().unwrap())
    }
}

/// GitHub's synthetic merge of `topic` into `main`, under `refs/pull/1/merge`, and the event of the pull request.
fn pull_request(repo: &TestRepo) -> String {
    repo.git(&["switch", "-q", "main"]);
    repo.commit_file("other.rs", "other\n", "others work");
    let tree = repo.git(&["merge-tree", "--write-tree", "main", "topic"]);
    let (base, head) = (repo.git(&["rev-parse", "main"]), repo.git(&["rev-parse", "topic"]));
    let message = format!("Merge {head} into {base}");
    let merge = repo.git(&["commit-tree", &tree, "-p", "main", "-p", "topic", "-m", &message]);
    repo.git(&["update-ref", "refs/pull/1/merge", &merge]);
    let event = json!({"pull_request": {
        "base": {"sha": repo.git(&["rev-parse", "main~1"]), "ref": "main"}, "head": {"sha": head, "ref": "topic"},
    }});
    let path = repo.root.path().join("event.json");
    fs::write(&path, event.to_string()).unwrap();
    path.display().to_string()
}

#[test]
fn github_pull_requests_are_judged_at_their_head_full_or_told_how_to_mend_at_depth_1() {
    let repo = topic();
    let event = pull_request(&repo);
    let env = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", &event),
        ("GITHUB_BASE_REF", "main"),
    ];
    let shallow = Ci::of(&repo, "refs/pull/1/merge", Some(1));
    let said = shallow.check(&env, &[]);
    assert_eq!(said.code, 8, "{said:?}");
    let mends = said.err.lines().last().unwrap().trim_start_matches("nav-loop: ").to_owned();
    assert_eq!(mends, "git fetch --unshallow origin");
    let words: Vec<&str> = mends.split(' ').skip(1).collect();
    shallow.git(&[&words[..1], &["-q"], &words[1..]].concat());
    assert_eq!(shallow.check(&env, &[]).code, 0, "the command that was named mends it");
    let full = Ci::of(&repo, "refs/pull/1/merge", None);
    full.git(&["fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
    let said = full.check(&env, &["--format", "json"]);
    let json = said.json();
    assert_eq!((said.code, json["head"].as_str()), (0, Some(repo.git(&["rev-parse", "topic"]).as_str())), "{json}");
    assert_eq!(json["base"], repo.git(&["rev-parse", "main"]), "the merge's own first parent");
    let head = Ci::of(&repo, "refs/heads/topic", None);
    head.git(&["fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
    assert_eq!(head.check(&env, &[]).code, 0, "the head itself checked out");
    // A forged event cannot make it judge less.
    let forge = |base: &str, head: &str, base_ref: &str| {
        let text = json!({"pull_request": {"base": {"sha": base, "ref": base_ref}, "head": {"sha": head, "ref": "x"}}});
        fs::write(&event, text.to_string()).unwrap();
    };
    let topic = repo.git(&["rev-parse", "topic"]);
    let below = repo.git(&["rev-parse", "topic~1"]);
    forge(&below, &topic, "main");
    assert_eq!(full.check(&env, &["--format", "json"]).json()["base"], repo.git(&["rev-parse", "main"]));
    let said = head.check(&env, &[]);
    assert!(said.code == 8 && said.err.contains("does not have it"), "a base inside the work: {said:?}");
    forge(&repo.git(&["rev-parse", "main"]), &below, "main");
    let said = full.check(&env, &[]);
    assert!(said.code == 8 && said.err.contains("names"), "another head: {said:?}");
    forge(&repo.git(&["rev-parse", "main"]), &topic, "elsewhere");
    assert_eq!(full.check(&env, &[]).code, 8, "another base branch");
    fs::write(&event, "not json").unwrap();
    assert_eq!(full.check(&env, &[]).code, 8);
}

#[test]
fn merge_queues_pushes_and_gitlab_pipelines_are_judged() {
    let repo = topic();
    let event = pull_request(&repo);
    let (main, topic_id) = (repo.git(&["rev-parse", "main"]), repo.git(&["rev-parse", "topic"]));
    let queue = Ci::of(&repo, "refs/pull/1/merge", None);
    queue.git(&["fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
    let merge = repo.git(&["rev-parse", "refs/pull/1/merge"]);
    fs::write(
        &event,
        json!({"merge_group": {"base_sha": main, "head_sha": merge, "base_ref": "refs/heads/main"}}).to_string(),
    )
    .unwrap();
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "merge_group"), ("GITHUB_EVENT_PATH", event.as_str())];
    let said = queue.check(&env, &["--format", "json"]);
    assert_eq!((said.code, said.json()["head"].as_str()), (0, Some(merge.as_str())), "{said:?}");
    fs::write(&event, json!({"before": "0".repeat(40), "after": topic_id, "ref": "refs/heads/topic", "repository": {"default_branch": "main"}}).to_string()).unwrap();
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "push"), ("GITHUB_EVENT_PATH", event.as_str())];
    let said = queue.check(&env, &[]);
    assert!(said.code == 8 && said.err.contains("the checkout is"), "another head than the checkout: {said:?}");
    let pushed = Ci::of(&repo, "refs/heads/topic", None);
    pushed.git(&["fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
    assert_eq!(pushed.check(&env, &[]).code, 0);
    let gitlab =
        [("GITLAB_CI", "true"), ("CI_MERGE_REQUEST_IID", "7"), ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")];
    let base = repo.git(&["merge-base", "main", "topic"]);
    let detached = Ci::of(&repo, "refs/heads/topic", Some(20));
    detached.git(&["fetch", "-q", "--depth=20", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
    let env = [&gitlab[..], &[("CI_COMMIT_SHA", topic_id.as_str()), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", base.as_str())]]
        .concat();
    assert_eq!(detached.check(&env, &[]).code, 0, "depth 20 holds the whole range");
    let merged = Ci::of(&repo, "refs/pull/1/merge", Some(20));
    merged.git(&["fetch", "-q", "--depth=20", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
    let env = [
        &gitlab[..],
        &[
            ("CI_COMMIT_SHA", merge.as_str()),
            ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", topic_id.as_str()),
            ("CI_MERGE_REQUEST_TARGET_BRANCH_SHA", main.as_str()),
        ],
    ]
    .concat();
    assert_eq!(merged.check(&env, &[]).code, 0);
    for n in 0..25 {
        repo.git(&["switch", "-q", "topic"]);
        repo.commit_file("src/n.rs", &format!("{n}\n"), "more");
    }
    let long = repo.git(&["rev-parse", "topic"]);
    let cut = Ci::of(&repo, "refs/heads/topic", Some(20));
    cut.git(&["fetch", "-q", "--depth=20", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
    let env =
        [&gitlab[..], &[("CI_COMMIT_SHA", long.as_str()), ("CI_MERGE_REQUEST_DIFF_BASE_SHA", main.as_str())]].concat();
    let said = cut.check(&env, &[]);
    assert!(said.code == 8 && said.err.contains("git fetch --unshallow origin"), "{said:?}");
    cut.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    cut.git(&["config", "--unset", "remote.origin.fetch"]);
    let said = cut.check(&env, &[]);
    let mends = "git fetch origin +refs/heads/main:refs/remotes/origin/main";
    assert!(said.code == 8 && said.err.contains(mends), "{said:?}");
    cut.git(&["fetch", "-q", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
    cut.git(&["fetch", "-q", "--unshallow", "origin"]);
    assert_eq!(cut.check(&env, &[]).code, 1, "judged once it is mended: the signal is stale by now");
}

#[test]
fn the_second_group_of_a_merge_queue_is_judged_from_the_first() {
    let repo = topic();
    let event = pull_request(&repo);
    let first = repo.git(&["rev-parse", "refs/pull/1/merge"]);
    repo.git(&["switch", "-q", "-c", "second", "main"]);
    repo.commit_file("src/three.rs", "pub fn three() -> u32 { 3 }\n", "add three");
    repo.commit_file("docs/three.md", "three\n", "document three\n\nNav-Loop-Exit: three is there");
    let tree = repo.git(&["merge-tree", "--write-tree", &first, "second"]);
    let merge = repo.git(&["commit-tree", &tree, "-p", &first, "-p", "second", "-m", "Merge second"]);
    repo.git(&["update-ref", "refs/pull/2/merge", &merge]);
    let env = [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "merge_group"), ("GITHUB_EVENT_PATH", event.as_str())];
    let judged = |refspec: &str, base_sha: &str, head_sha: &str| {
        let group = json!({"base_sha": base_sha, "head_sha": head_sha, "base_ref": "refs/heads/main"});
        fs::write(&event, json!({ "merge_group": group }).to_string()).unwrap();
        let ci = Ci::of(&repo, refspec, None);
        ci.git(&["fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
        let said = ci.check(&env, &["--format", "json"]);
        (said.code, said.json()["base"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(judged("refs/pull/2/merge", &first, &merge), (0, first.clone()), "not on main yet");
    let topic = repo.git(&["rev-parse", "second~1"]);
    assert_eq!(judged("refs/pull/2/merge", &topic, &merge), (0, first.clone()), "a forged base");
    // A squashed group has one parent, which could be any commit of its work: it is judged from the branch it goes to.
    let squashed = repo.git(&["commit-tree", &tree, "-p", &first, "-m", "second\n\nNav-Loop-Exit: three is there"]);
    repo.git(&["update-ref", "refs/pull/3/merge", &squashed]);
    let main = repo.git(&["rev-parse", "main"]);
    assert_eq!(judged("refs/pull/3/merge", &first, &squashed), (0, main));
}

#[test]
fn an_older_base_that_an_event_names_brings_no_older_configuration() {
    let repo = TestRepo::new();
    let weak = r#"{"loop_mode":{"min_indicators":1,"exit_requires_explicit_signal":false}}"#;
    repo.write(".agent/.nav-config.json", weak);
    repo.commit("weak settings");
    let old = repo.git(&["rev-parse", "HEAD"]);
    repo.write(".agent/.nav-config.json", CONFIG);
    repo.commit("settings");
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.commit_file("src/lib.rs", "pub fn two() -> u32 { 2 }\n", "add two");
    let (main, head) = (repo.git(&["rev-parse", "main"]), repo.git(&["rev-parse", "topic"]));
    let event = repo.root.path().join("event.json");
    let text = json!({"pull_request": {"base": {"sha": old, "ref": "main"}, "head": {"sha": head, "ref": "topic"}}});
    fs::write(&event, text.to_string()).unwrap();
    let event = event.display().to_string();
    let env =
        [("GITHUB_ACTIONS", "true"), ("GITHUB_EVENT_NAME", "pull_request"), ("GITHUB_EVENT_PATH", event.as_str())];
    let ci = Ci::of(&repo, "refs/heads/topic", None);
    ci.git(&["fetch", "-q", "origin", "+refs/heads/*:refs/remotes/origin/*"]);
    let said = ci.check(&env, &["--format", "json"]);
    assert_eq!((said.code, said.json()["min_indicators"].as_i64()), (1, Some(2)), "{said:?}");
    assert_eq!(said.json()["base"], main);
}

#[test]
fn findings_stand_with_file_and_line_in_every_format_and_hostile_names_break_out_of_none() {
    let repo = topic();
    repo.git(&["switch", "-q", "main"]);
    repo.write("tests/a.rs", "#[test]\nfn a() {}\n#[test]\nfn b() {}\n");
    repo.write("tests/gone.rs", "#[test]\nfn c() {}\n");
    repo.commit("tests");
    repo.git(&["switch", "-q", "-c", "bad"]);
    work(&repo);
    repo.write("tests/a.rs", "#[test]\n#[ignore]\nfn a() {}\n");
    fs::remove_file(repo.dir.join("tests/gone.rs")).unwrap();
    let hostile = "tests/x\n::error::pwned%0A]]><b>|`@all.rs";
    repo.write(hostile, "#[test]\n#[ignore = \"]]>&\"]\nfn x() {}\n");
    repo.write(".claude/settings.json", "{}");
    repo.commit("weaken");
    let json = json_of(&repo, &["--base", "main"]);
    let found: Vec<(String, Value)> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["rule"].as_str().unwrap().to_owned(), f["line"].clone()))
        .collect();
    for (rule, line) in [
        ("deleted-test", Value::Null),
        ("shrunk-test", Value::Null),
        ("skip-marker", json!(2)),
        ("hook-config", Value::Null),
    ] {
        assert!(found.contains(&(rule.to_owned(), line)), "{rule}: {found:?}");
    }
    let strict = |format: &str| check(&repo, &["--base", "main", "--strict", "--format", format]);
    for format in ["text", "json", "github", "gitlab", "junit", "markdown"] {
        assert_eq!(strict(format).code, strict("text").code, "{format}");
    }
    let github = strict("github").out;
    assert!(
        github.contains("::error file=tests/a.rs,line=2,title=nav-loop skip-marker::a test is skipped: #[ignore]\n"),
        "{github}"
    );
    assert!(
        github.lines().all(|l| l.starts_with("::error ") || l.starts_with("::notice ") || l.starts_with("nav-loop: ")),
        "{github}"
    );
    assert!(github.lines().filter(|l| l.starts_with("::error ")).count() <= 10 && !github.contains("\n::error::pwned"));
    let gitlab: Value = serde_json::from_str(&strict("gitlab").out).unwrap();
    for issue in gitlab.as_array().unwrap() {
        for key in ["description", "check_name", "fingerprint"] {
            assert!(issue[key].is_string(), "{issue}");
        }
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&issue["severity"].as_str().unwrap()));
        assert!(issue["location"]["path"].is_string() && issue["location"]["lines"]["begin"].is_u64());
    }
    let prints: std::collections::HashSet<&str> =
        gitlab.as_array().unwrap().iter().map(|i| i["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(prints.len(), gitlab.as_array().unwrap().len());
    let xml = strict("junit").out;
    let parsed = repo.root.path().join("report.xml");
    fs::write(&parsed, &xml).unwrap();
    let script = "import sys,xml.etree.ElementTree as e; t=e.parse(sys.argv[1]).getroot(); s=t[0]; assert int(s.get('tests'))==len(s), s.attrib; assert int(s.get('failures'))==len(s.findall('testcase/failure')); names=[(c.get('classname'),c.get('name')) for c in s]; assert len(names)==len(set(names))";
    let said = repo.run("python3", &["-c", script, parsed.to_str().unwrap()]);
    if said.code == 127 {
        crate::support::skip("no python3 here");
    } else {
        assert_eq!(said.code, 0, "{said:?}\n{xml}");
    }
    let markdown = strict("markdown").out;
    assert!(!markdown.contains("<b>") && !markdown.contains("\n::error"), "{markdown}");
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(markdown.lines().filter(|l| l.starts_with('|')).all(|row| cells(row) == 4), "{markdown}");
    let (outputs, summary) = (repo.root.path().join("out"), repo.root.path().join("summary"));
    let env = [("GITHUB_OUTPUT", outputs.to_str().unwrap()), ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    repo.nav_env(&env, &["check", "--base", "main", "--format", "github"]);
    assert!(fs::read_to_string(outputs).unwrap().starts_with("verdict=CONTINUE\nmet=2\n"));
    assert!(fs::read_to_string(summary).unwrap().starts_with("### nav-loop: CONTINUE"));
    assert!(check(&repo, &["--base", "main", "--format", "text"]).out.contains("warning skip-marker: tests/a.rs:2: "));
}

#[test]
fn commits_without_our_note_are_named_where_hooks_were_on() {
    let repo = recorded();
    repo.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "hooks off"]);
    let json = json_of(&repo, &["--base", "main"]);
    let rules: Vec<&str> = json["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["no-note"], "{json}");
    let plain = topic();
    assert_eq!(json_of(&plain, &["--base", "main"])["findings"], json!([]));
}

#[test]
fn the_pre_receive_hook_judges_inside_the_quarantine_and_tells_the_pusher_why() {
    let repo = topic();
    repo.git(&["branch", "-q", "bad", "main"]);
    let bare = repo.root.path().join("server.git");
    repo.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    repo.git(&["remote", "add", "server", bare.to_str().unwrap()]);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/pre-receive");
    fs::copy(source, bare.join("hooks/pre-receive")).unwrap();
    fs::set_permissions(bare.join("hooks/pre-receive"), fs::Permissions::from_mode(0o755)).unwrap();
    let push = |args: &[&str]| repo.try_git(&[&["push", "server"], args].concat());
    assert_eq!(push(&["main"]).code, 0, "the first push makes the branch");
    let good = push(&["topic:main"]);
    assert_eq!(good.code, 0, "{good:?}");
    repo.git(&["switch", "-q", "bad"]);
    repo.git(&["reset", "-q", "--hard", "topic"]);
    repo.commit_file("src/bad.rs", "bad\n", "bad");
    let bad = push(&["bad:main"]);
    assert!(bad.code != 0 && bad.err.contains("pre-receive hook declined"), "{bad:?}");
    let remote: Vec<&str> =
        bad.err.lines().filter(|l| l.starts_with("remote: ") && !l.trim_end().ends_with("remote:")).collect();
    assert!((1..=10).contains(&remote.len()) && bad.err.contains("CONTINUE"), "{bad:?}");
    assert_eq!(push(&["bad:elsewhere"]).code, 0, "a branch that nobody protects");
    assert_ne!(push(&["topic:other", "bad:main"]).code, 0, "of several refs one is bad: none is taken");
    assert!(repo.git_in(&bare, &["rev-parse", "-q", "--verify", "other"]).code != 0);
    repo.git_in(&bare, &["config", "navLoop.protected", "main release/*"]).ok();
    assert_eq!(push(&["topic:release/1"]).code, 0, "a new protected branch that brings nothing new");
    let many = push(&["bad:release/2", "bad:main", "bad:release/3"]);
    let told = many.err.lines().filter(|l| l.starts_with("remote: ") && !l.trim_end().ends_with("remote:")).count();
    assert!(many.code != 0 && (1..=10).contains(&told), "what is new in new protected branches is judged: {many:?}");
    assert_ne!(push(&["bad:release/2"]).code, 0);
    let forced = push(&["-f", "topic~1:main"]);
    assert!(forced.code != 0 && forced.err.contains("remote: "), "a rewind of a protected branch: {forced:?}");
    assert_ne!(push(&[":main"]).code, 0, "a protected branch is not deleted");
    assert_eq!(push(&[":elsewhere"]).code, 0);
    repo.git(&["switch", "-q", "-c", "long", "topic"]);
    for n in 0..200 {
        repo.git(&["commit", "-q", "--allow-empty", "-m", &format!("{n}")]);
    }
    repo.commit_file("src/long.rs", "long\n", "long\n\nNav-Loop-Exit: long is there");
    repo.commit_file("README.md", "# long\n", "document\n\nNav-Loop-Exit: long is there");
    assert_eq!(push(&["long:main"]).code, 0, "200 commits");
    assert!(!bare.join("nav-loop").exists(), "nothing of ours is written on the server");
    let left: Vec<_> = fs::read_dir(bare.join("objects"))
        .unwrap()
        .flatten()
        .filter(|e| e.file_name().to_string_lossy().starts_with("tmp_objdir"))
        .collect();
    assert!(left.is_empty());
}

#[test]
fn notes_in_the_same_push_are_read_from_the_quarantine_where_the_server_trusts_them() {
    let repo = recorded();
    let bare = repo.root.path().join("server.git");
    repo.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
    repo.git(&["remote", "add", "server", bare.to_str().unwrap()]);
    assert_eq!(repo.try_git(&["push", "-q", "server", "main"]).code, 0);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("ci/pre-receive");
    fs::copy(source, bare.join("hooks/pre-receive")).unwrap();
    fs::set_permissions(bare.join("hooks/pre-receive"), fs::Permissions::from_mode(0o755)).unwrap();
    let both = ["push", "-q", "server", "topic:main", "refs/notes/nav-loop"];
    assert_ne!(repo.try_git(&both).code, 0, "a pusher's notes are not believed");
    repo.git_in(&bare, &["config", "navLoop.checkArgs", "--trust-notes"]).ok();
    let said = repo.try_git(&both);
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn a_signature_is_good_for_its_own_bytes_and_key_only() {
    let repo = TestRepo::new();
    if !has_ssh(&repo) {
        return;
    }
    let (own, allowed) = key(&repo, "author", "");
    let signers = repo.root.path().join("signers");
    fs::write(&signers, allowed).unwrap();
    let signed = nav_loop::signature::sign(b"these bytes", Path::new(&own)).unwrap();
    let signer = |bytes: &[u8], sig: &str| nav_loop::signature::signer(bytes, sig, &signers).unwrap();
    assert_eq!(signer(b"these bytes", &signed.sig).as_deref(), Some("author@example.com"));
    assert_eq!(signer(b"other bytes", &signed.sig), None);
    for bad in ["", "AAAA", "not base64!", &signed.sig[..signed.sig.len() / 2], &"A".repeat(100_000)] {
        assert_eq!(signer(b"these bytes", bad), None);
    }
    assert!(nav_loop::signature::sign(b"x", Path::new("/no/such/key")).is_err());
    repo.nav(&["start", "x"]).ok();
    repo.nav(&["attest", "--key", "/no/such/key"]).fails(8, "no recorded test run");
}

#[test]
fn a_range_is_judged_in_every_repository_format() {
    for format in crate::support::formats() {
        let repo = TestRepo::of(format);
        repo.git(&["switch", "-q", "-c", "topic"]);
        work(&repo);
        let json = json_of(&repo, &["--base", "main"]);
        assert_eq!(json["exit_code"], 0, "{} {}: {json}", format.objects, format.refs);
    }
}
