//! Real agent clients against a scripted model on a loopback port. They run where `NAV_LOOP_CLIENTS` names the folder into
//! which `tests/clients.sh` installed them; what the hooks were sent is kept in `tests/data/clients` for the tests that
//! always run, and compared with what they are sent now.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use serde_json::Value;

use crate::support::{
    Said, TestRepo,
    model::{Model, Step},
    skip,
};

const EARLY: &str =
    "All done!\n```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\":true,\"reason\":\"early\"}\n```";
const DONE: &str = "Tested.\n```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\":true,\"reason\":\"tested\"}\n```";
const WRITE: &str =
    "printf 'pub fn two() -> u32 { 2 }\\n' >> src/lib.rs; printf 'grep -q two src/lib.rs\\n' > check.sh";
const COMMIT: &str = "git add -A src check.sh && git commit -q -m 'add two' && git nav-loop test";
const STEPS: [Step; 4] = [("Writing.", Some(WRITE)), (EARLY, None), ("As told.", Some(COMMIT)), (DONE, None)];

/// The folder with the clients; says why the test does not run without it.
#[expect(clippy::disallowed_methods, reason = "the one switch of these tests")]
fn clients(program: &str) -> Option<PathBuf> {
    let found = std::env::var_os("NAV_LOOP_CLIENTS").map(|d| PathBuf::from(d).join("node_modules/.bin").join(program));
    let found = found.filter(|p| p.exists());
    if found.is_none() {
        skip(&format!("{program} is not in NAV_LOOP_CLIENTS: sh tests/clients.sh DIR installs it"));
    }
    found
}

/// `command` with the client on its PATH, its settings in HOME, and nothing else of the user's.
fn with_client(repo: &TestRepo, program: &std::path::Path, command: &mut Command) {
    let recorder = repo.root.path().join("recorder");
    fs::create_dir_all(&recorder).unwrap();
    let wrapper = recorder.join("git-nav-loop");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = agent-hook ] || exec '{own}' \"$@\"\ntee -a '{log}' | '{own}' \"$@\"\nprintf '\\n' >> '{log}'\n",
        own = env!("CARGO_BIN_EXE_git-nav-loop"),
        log = repo.root.path().join("inputs").display()
    );
    fs::write(&wrapper, script).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let first = [recorder, program.parent().unwrap().to_owned()];
    let paths = first.into_iter().chain([crate::support::programs()]).chain(std::env::split_paths(&path));
    let paths = std::env::join_paths(paths).unwrap();
    // Codex runs its commands in a login shell.
    let profile = format!("export PATH='{}'\n", paths.display());
    fs::write(repo.root.path().join("home/.bash_profile"), profile).unwrap();
    command.env("PATH", paths).env("MODEL_KEY", "none").env("LC_ALL", "C.UTF-8");
    for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{name}"), "1");
    }
}

fn codex_settings(repo: &TestRepo, model: &Model) {
    let home = repo.root.path().join("home/.codex");
    fs::create_dir_all(&home).unwrap();
    let text = format!(
        "model = \"scripted\"\nmodel_provider = \"loopback\"\ncheck_for_update_on_startup = false\n[model_providers.loopback]\nname = \"loopback\"\nbase_url = \"http://127.0.0.1:{}/v1\"\nwire_api = \"responses\"\nenv_key = \"MODEL_KEY\"\nrequest_max_retries = 0\nstream_max_retries = 0\n[analytics]\nenabled = false\n[feedback]\nenabled = false\n[projects.\"{}\"]\ntrust_level = \"trusted\"\n",
        model.port,
        repo.dir.display()
    );
    fs::write(home.join("config.toml"), text).unwrap();
}

/// What the hooks were sent, this repository's paths and every id made plain.
fn recorded(repo: &TestRepo) -> Vec<Value> {
    let text = fs::read_to_string(repo.root.path().join("inputs")).unwrap_or_default();
    let inputs = text.lines().filter(|l| !l.trim().is_empty()).map(|l| serde_json::from_str::<Value>(l).unwrap());
    let plain = |mut input: Value| {
        for (key, value) in input.as_object_mut().unwrap() {
            match key.as_str() {
                "cwd" => *value = "REPOSITORY".into(),
                "session_id" => *value = "session".into(),
                "turn_id" => *value = "turn".into(),
                "transcript_path" => *value = "TRANSCRIPT".into(),
                _ => {}
            }
        }
        input
    };
    inputs.map(plain).collect()
}

/// Compares with what is kept, or keeps it where nothing is.
fn keep(client: &str, inputs: &[Value]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/clients/{client}.jsonl"));
    let text: String = inputs.iter().map(|i| format!("{i}\n")).collect();
    let Ok(kept) = fs::read_to_string(&path) else {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        return fs::write(path, text).unwrap();
    };
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let kept: Vec<Value> = kept.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(kept.iter().map(keys).collect::<Vec<_>>(), inputs.iter().map(keys).collect::<Vec<_>>());
}

#[test]
fn the_real_codex_claims_too_early_is_blocked_once_commits_and_may_stop() {
    let Some(codex) = clients("codex") else { return };
    let repo = TestRepo::looping();
    let model = Model::saying(&STEPS);
    codex_settings(&repo, &model);
    repo.nav(&["install", "--agent", "codex"]).ok();
    let mut command = repo.command("codex");
    with_client(&repo, &codex, &mut command);
    command.args(["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]);
    let said = Said::of(command.arg("add two and commit it").output().unwrap());
    assert_eq!(said.code, 0, "{said:?}");
    assert_eq!(repo.status()["loop"]["state"], "completed", "{said:?}");
    let told: Vec<String> = model.requests().iter().map(Value::to_string).collect();
    let last = told.last().unwrap();
    assert_eq!(last.matches("<hook_prompt").count(), 1, "blocked once: {last}");
    assert!(last.contains("BLOCKED: insufficient indicators") && last.contains("git nav-loop test  (sh check.sh)"));
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "add two");
    keep("codex", &recorded(&repo));
}

#[test]
fn codex_and_opencode_go_on_in_their_own_session_under_run() {
    for (name, script) in [
        (
            "codex",
            "codex exec ${NAV_LOOP_SESSION:+resume \"$NAV_LOOP_SESSION\"} --json --dangerously-bypass-approvals-and-sandbox -",
        ),
        (
            "opencode",
            "opencode run --format json --auto -m loopback/scripted ${NAV_LOOP_SESSION:+--session \"$NAV_LOOP_SESSION\"} \"$(cat)\"",
        ),
    ] {
        let Some(client) = clients(name) else { continue };
        let repo = TestRepo::looping();
        let model = Model::saying(&STEPS);
        codex_settings(&repo, &model);
        opencode_settings(&repo, &model, &client);
        let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
        with_client(&repo, &client, &mut command);
        let said = Said::of(command.args(["run", "--agent", name, "--", "sh", "-c", script]).output().unwrap());
        assert_eq!(said.code, 0, "{name}: {said:?}");
        assert!(said.out.contains("BLOCKED: insufficient indicators") && said.out.contains("LOOP COMPLETE"), "{name}");
        assert_eq!(repo.status()["iteration"], 2, "{name}");
        let printed = repo.nav(&["log", "--output", "1"]).ok() + &repo.nav(&["log", "--output", "2"]).ok();
        let printed = printed.replace(repo.root.path().to_str().unwrap(), "ROOT");
        let kept = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/clients/{name}-run.jsonl"));
        if !kept.exists() {
            fs::write(kept, printed).unwrap();
        }
        let last = model.requests().last().unwrap().to_string();
        assert!(last.contains("early"), "{name}: the second turn remembers the first: {last}");
    }
}

#[test]
fn the_real_claude_code_accepts_the_plugin() {
    let Some(claude) = clients("claude") else { return };
    let repo = TestRepo::new();
    let plugin = concat!(env!("CARGO_MANIFEST_DIR"), "/integrations/claude-plugin");
    let said = repo.run(claude.to_str().unwrap(), &["plugin", "validate", plugin]);
    assert_eq!(said.code, 0, "{said:?}");
}

fn fixture(name: &str) -> String {
    fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/clients").join(name)).unwrap()
}

#[test]
fn what_the_real_codex_sent_is_answered_with_one_block_and_then_with_nothing() {
    let repo = TestRepo::looping();
    repo.nav(&["install", "--agent", "codex"]).ok();
    let answers: Vec<String> = fixture("codex.jsonl")
        .lines()
        .enumerate()
        .map(|(i, line)| {
            if i == 2 {
                repo.run("sh", &["-c", COMMIT]).ok();
            }
            let input = line.replace("REPOSITORY", repo.dir.to_str().unwrap());
            fs::write(repo.root.path().join("input"), input).unwrap();
            let before = if i == 1 { WRITE } else { ":" };
            let said = repo.run("sh", &["-c", &format!("{before}; git nav-loop agent-hook codex < ../input")]);
            assert_eq!((said.code, said.err.as_str()), (0, ""), "{line}");
            said.out
        })
        .collect();
    assert_eq!(answers.len(), 3);
    assert!(answers[0].is_empty() && answers[2].is_empty(), "{answers:?}");
    assert!(answers[1].starts_with("{\"decision\":\"block\",\"reason\":\"") && answers[1].contains("BLOCKED"));
    assert_eq!(repo.status()["loop"]["state"], "completed");
}

#[test]
fn what_the_real_codex_and_opencode_printed_drives_run_to_its_end_and_names_their_session() {
    for (name, end) in [("codex", "\"turn.completed\""), ("opencode", "\"reason\":\"stop\"")] {
        let repo = TestRepo::looping();
        let text = fixture(&format!("{name}-run.jsonl"));
        let cut = text.find(end).map(|at| at + text[at..].find('\n').unwrap() + 1).unwrap();
        for (file, part) in [("first", &text[..cut]), ("second", &text[cut..])] {
            fs::write(repo.root.path().join(file), part).unwrap();
        }
        let script = format!(
            "if [ -z \"$NAV_LOOP_SESSION\" ]; then {WRITE}; cat ../first; else {COMMIT} >&2; cat ../second; echo \"$NAV_LOOP_SESSION\" > ../session; fi"
        );
        let said = repo.nav(&["run", "--agent", name, "--", "sh", "-c", &script]).ok();
        assert!(said.contains("BLOCKED: insufficient indicators") && said.contains("LOOP COMPLETE"), "{name}: {said}");
        let session = fs::read_to_string(repo.root.path().join("session")).unwrap();
        assert!(text.contains(&format!("\"{}\"", session.trim())) && session.len() > 20, "{session}");
    }
}

fn opencode_settings(repo: &TestRepo, model: &Model, client: &std::path::Path) {
    let home = repo.root.path().join("home/.config/opencode");
    fs::create_dir_all(&home).unwrap();
    let settings = serde_json::json!({
        "model": "loopback/scripted", "small_model": "loopback/scripted", "autoupdate": false, "share": "disabled",
        "permission": {"*": "allow"},
        "provider": {"loopback": {
            "npm": "@ai-sdk/openai-compatible", "name": "loopback",
            "options": {"baseURL": format!("http://127.0.0.1:{}/v1", model.port), "apiKey": "none"},
            "models": {"scripted": {"name": "scripted", "limit": {"context": 100_000, "output": 4_096}}},
        }},
    });
    fs::write(home.join("opencode.json"), settings.to_string()).unwrap();
    // Offline, opencode waits for ever to install its own plugin package; it takes one that is there.
    let modules = client.parent().unwrap().parent().unwrap();
    std::os::unix::fs::symlink(modules, home.join("node_modules")).unwrap();
    let top = modules.parent().unwrap();
    for file in ["package.json", "package-lock.json"] {
        drop(fs::copy(top.join(file), home.join(file)));
    }
}
