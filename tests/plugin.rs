use std::{fs, path::Path};

use clap::Parser;
use nav_loop::{
    agent::{client_settings::merge, stop_hook::HookClient},
    cli::Cli,
};
use serde_json::Value;

use crate::support::TestRepo;

fn plugin(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/claude-plugin");
    fs::read_to_string(root.join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The words of a command line, with `"…"` as one word.
fn words(line: &str) -> Vec<String> {
    let quoted = line.split('"').enumerate();
    quoted
        .flat_map(|(i, part)| match i % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

#[test]
fn the_plugin_has_the_documented_layout_and_the_hooks_of_install_agent() {
    let manifest: Value = serde_json::from_str(&plugin(".claude-plugin/plugin.json")).unwrap();
    let name = manifest["name"].as_str().unwrap();
    assert!(name.chars().all(|c| c.is_ascii_lowercase() || c == '-'));
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    assert!(
        manifest["description"].is_string() && manifest["keywords"].as_array().unwrap().iter().all(Value::is_string)
    );
    let hooks: Value = serde_json::from_str(&plugin("hooks/hooks.json")).unwrap();
    let settings: Value = serde_json::from_str(&merge(HookClient::Claude, "").unwrap()).unwrap();
    assert_eq!(hooks["hooks"], settings["hooks"]);
    assert!(hooks.as_object().unwrap().keys().all(|k| k == "hooks" || k == "description"));
}

#[test]
fn each_skill_has_the_seeds_front_matter_and_names_the_program_in_place_of_the_four_functions() {
    for name in ["nav-loop", "nav-loop-zh"] {
        let text = plugin(&format!("skills/{name}/SKILL.md"));
        let (front, body) = text.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
        let field = |key: &str| front.lines().find_map(|l| l.strip_prefix(&format!("{key}: "))).unwrap().to_owned();
        assert_eq!(field("name"), name);
        assert!(field("description").chars().count() <= 1_536);
        assert_eq!(field("allowed-tools"), "Read, Write, Edit, Bash, Grep, Glob, AskUserQuestion");
        assert_eq!(field("version"), "1.0.0");
        assert!(!text.contains("python3") && !text.contains("functions/"));
        for words in
            ["git nav-loop resume continue", "git nav-loop resume clarify", "git nav-loop abort", "AskUserQuestion"]
        {
            assert!(body.contains(words), "{name}: {words}");
        }
        let inline = body.split('`').filter(|code| code.starts_with("git nav-loop "));
        for code in inline {
            let parsed = Cli::try_parse_from(words(code).into_iter().skip(1));
            assert!(parsed.is_ok(), "{name}: {code}: {}", parsed.unwrap_err());
        }
    }
}

#[test]
fn the_commands_of_each_skill_lead_from_no_loop_to_complete() {
    for name in ["nav-loop", "nav-loop-zh"] {
        let repo = TestRepo::new();
        repo.git(&["switch", "-q", "-c", "feature"]);
        let text = plugin(&format!("skills/{name}/SKILL.md"));
        let blocks = text.split("```sh\n").skip(1).flat_map(|b| b.split("```").next().unwrap().lines());
        let lines: Vec<&str> = blocks.filter(|l| !l.is_empty()).collect();
        let expected = [
            ("status", 7),
            ("start", 0),
            ("test", 0),
            ("record", 0),
            ("status", 0),
            ("gate", 1),
            ("signal", 0),
            ("diagnose", 0),
            ("complete", 0),
        ];
        assert_eq!(lines.len(), expected.len(), "{lines:?}");
        for (line, (command, code)) in lines.iter().zip(expected) {
            assert!(line.contains(command), "{line}");
            let args: Vec<String> = words(&line.replace("cargo test", "sh check.sh")).split_off(2);
            let said = repo.nav(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(said.code, code, "{name}: {line}: {said:?}");
            if command == "start" {
                repo.do_the_work();
                repo.commit_file("src/lib.rs", "pub fn two() -> u32 { 2 }\n", "simplify");
            }
        }
    }
}
