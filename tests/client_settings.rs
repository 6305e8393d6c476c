use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use serde_json::Value;

use crate::support::TestRepo;

const FILES: [(&str, &str); 5] = [
    ("claude", ".claude/settings.json"),
    ("codex", ".codex/hooks.json"),
    ("copilot", ".github/hooks/nav-loop.json"),
    ("gemini", ".gemini/settings.json"),
    ("cursor", ".cursor/hooks.json"),
];

/// Settings with other hooks, comments, an odd order and a trailing comma.
const THEIRS: &str = "{\n    \"zeta\": 1, // theirs\n    \"hooks\": {\n        /* a gate */\n        \"Stop\": [ { \"hooks\": [ { \"type\": \"command\", \"command\": \"their-gate\" } ] } ]\n    },\n    \"alpha\": [1,2,\n      3],\n}";

#[test]
fn without_settings_a_file_is_made_that_each_client_understands_and_goes_again() {
    let repo = TestRepo::looping();
    let key = [
        ("claude", "/hooks/Stop/0/hooks/0/command"),
        ("codex", "/hooks/Stop/0/hooks/0/command"),
        ("copilot", "/hooks/agentStop/0/bash"),
        ("gemini", "/hooks/AfterAgent/0/hooks/0/command"),
        ("cursor", "/hooks/stop/0/command"),
    ];
    for ((client, file), (_, pointer)) in FILES.into_iter().zip(key) {
        let said = repo.nav(&["install", "--agent", client]).ok();
        assert!(said.contains(&format!("{file}: installed")), "{said}");
        let value: Value = serde_json::from_str(&repo.read(file)).unwrap();
        let command = value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{value}"));
        assert!(command.starts_with(&format!("git nav-loop agent-hook {client}")));
        if matches!(client, "copilot" | "cursor") {
            assert_eq!(value["version"], 1);
        }
        assert!(repo.nav(&["install", "--agent", client]).ok().contains("in place"));
        assert_eq!(repo.indicator("code_committed"), "unmet", "nothing is committed yet");
        assert!(!repo.reason("code_committed").contains("settings"), "the file is no change of the agent's");
        repo.nav(&["uninstall", "--agent", client]).ok();
        assert!(!repo.dir.join(file).parent().unwrap().exists(), "file and folder were ours");
        assert!(repo.nav(&["uninstall", "--agent", client]).ok().contains("no hook of ours"));
    }
    assert!(!repo.dir.join(".github").exists());
}

#[test]
fn the_command_in_the_settings_holds_the_agent() {
    let repo = TestRepo::looping();
    for (client, file) in FILES {
        repo.nav(&["install", "--agent", client]).ok();
        let settings = repo.read(file);
        let command = settings.split('"').find(|w| w.starts_with("git nav-loop agent-hook")).unwrap().to_owned();
        let name = if client == "gemini" { "AfterAgent" } else { "Stop" };
        let cwd = repo.dir.display();
        let input =
            format!(r#"{{"session_id":"s-{client}","cwd":"{cwd}","hook_event_name":"{name}","conversation_id":"s"}}"#);
        let script = format!("printf '%s' '{input}' | {command}");
        repo.nav(&["abort"]).ok();
        repo.start(&[]);
        let said = repo.run("sh", &["-c", &script]).ok();
        assert!(said.contains("NAVIGATOR_STATUS"), "{client}: {said}");
    }
}

#[test]
fn settings_with_other_hooks_comments_odd_order_crlf_bom_and_no_last_line_end_come_back_to_the_byte() {
    let repo = TestRepo::new();
    let forms = [
        THEIRS.to_owned(),
        THEIRS.replace('\n', "\r\n"),
        format!("\u{feff}{THEIRS}\n"),
        "{}".to_owned(),
        "{\"hooks\":{\"Stop\":[],\"agentStop\":[{\"bash\":\"x\"}]},\"version\":1}".to_owned(),
        "\n\n{\n\t\"model\": \"x\" }\n\n\n".to_owned(),
        String::new(),
    ];
    for (client, file) in FILES {
        for before in &forms {
            repo.write(file, before);
            repo.nav(&["install", "--agent", client]).ok();
            let merged = repo.read(file);
            assert!(merged.contains("nav-loop agent-hook"), "{client}: {merged}");
            for line in before.lines().map(str::trim).filter(|l| l.starts_with('"') && !l.contains("}}")) {
                assert!(merged.contains(line.trim_end_matches([',', ' ', '}', ']'])), "{line:?} in {merged}");
            }
            repo.nav(&["uninstall"]).ok();
            assert_eq!(&repo.read(file), before, "{client}");
        }
        fs::remove_dir_all(repo.dir.join(file).parent().unwrap()).unwrap();
    }
}

#[test]
fn settings_edited_after_install_keep_the_edit_and_lose_exactly_our_entries() {
    let repo = TestRepo::new();
    repo.write(".claude/settings.json", THEIRS);
    repo.nav(&["install", "--agent", "claude"]).ok();
    let edited = repo.read(".claude/settings.json").replace("\"zeta\": 1,", "\"zeta\": 2, \"new\": true,");
    repo.write(".claude/settings.json", &edited);
    repo.nav(&["uninstall", "--agent", "claude"]).ok();
    let expected = THEIRS.replace("\"zeta\": 1,", "\"zeta\": 2, \"new\": true,");
    let plain = |text: &str| text.replace(char::is_whitespace, "");
    assert_eq!(plain(&repo.read(".claude/settings.json")), plain(&expected));
}

#[test]
fn a_link_is_written_through_and_a_read_only_file_keeps_its_mode() {
    let repo = TestRepo::new();
    let real = repo.dir.join("dotfiles/claude.json");
    repo.write("dotfiles/claude.json", THEIRS);
    fs::create_dir_all(repo.dir.join(".claude")).unwrap();
    let link = repo.dir.join(".claude/settings.json");
    symlink("../dotfiles/claude.json", &link).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o444)).unwrap();
    let mode = || real.metadata().unwrap().permissions().mode() & 0o777;
    repo.nav(&["install", "--agent", "claude"]).ok();
    assert!(fs::read_to_string(&real).unwrap().contains("nav-loop"));
    assert_eq!((mode(), link.is_symlink()), (0o444, true));
    repo.nav(&["uninstall", "--agent", "claude"]).ok();
    assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(), link.is_symlink()), (THEIRS, 0o444, true));
    let names: Vec<_> = fs::read_dir(repo.dir.join("dotfiles")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["claude.json"], "nothing is left beside it");
    fs::remove_file(&real).unwrap();
    repo.nav(&["install", "--agent", "claude"]).fails(2, "leads nowhere");
}

#[test]
fn settings_that_cannot_be_merged_are_named_and_left_alone() {
    let repo = TestRepo::new();
    let table = [
        ("{\n  \"a\": ,\n}", "line 2"),
        ("[]", "no JSON object"),
        ("{\"hooks\": []}", "\"hooks\" is no object"),
        ("{\"hooks\": {\"Stop\": {}}}", "\"Stop\" is no list"),
        ("{\"hooks\": {}, \"hooks\": {}}", "2 times"),
    ];
    for (text, words) in table {
        repo.write(".claude/settings.json", text);
        repo.nav(&["install", "--agent", "claude"]).fails(2, words);
        assert_eq!(repo.read(".claude/settings.json"), text);
        repo.nav(&["uninstall"]).ok();
    }
    fs::write(repo.dir.join(".claude/settings.json"), b"{\"a\": \"\xff\"}").unwrap();
    repo.nav(&["install", "--agent", "claude"]).fails(2, "not UTF-8");
    assert!(repo.nav(&["uninstall"]).ok().contains("no hook of ours"), "other settings stop no uninstall");
}

#[test]
fn doctor_names_the_clients_that_are_held_and_one_that_lost_its_hook() {
    let repo = TestRepo::new();
    repo.nav(&["install"]).ok();
    assert!(repo.nav(&["doctor"]).ok().contains("ok  agents     no stop hook is installed"));
    repo.nav(&["install", "--agent", "claude"]).ok();
    repo.nav(&["install", "--agent", "gemini"]).ok();
    assert!(repo.nav(&["doctor"]).ok().contains("ok  agents     claude, gemini"));
    repo.write(".gemini/settings.json", "{}");
    let said = repo.nav(&["doctor"]);
    assert!(said.code == 1 && said.out.contains("lost our hook; git nav-loop install --agent gemini"), "{said:?}");
    repo.nav(&["uninstall", "--agent", "gemini"]).ok();
    assert!(repo.nav(&["doctor"]).ok().contains("ok  agents     claude\n"));
}
