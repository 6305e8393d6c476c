use std::{fs, path::Path};

use clap::CommandFactory;
use nav_loop::cli::Cli;

use crate::support::{TestRepo, programs, skip};

#[test]
fn every_command_and_option_in_help_is_exercised_by_a_test_and_every_word_of_it_is_shown() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut tests = String::new();
    for entry in fs::read_dir(&root).unwrap().flatten().chain(fs::read_dir(root.join("data")).unwrap().flatten()) {
        tests += &fs::read_to_string(entry.path()).unwrap_or_default();
    }
    tests += &fs::read_to_string(root.join("../README.md")).unwrap();
    let repo = TestRepo::new();
    for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        let name = command.get_name();
        assert!(tests.contains(&format!("\"{name}\"")), "no test runs {name}");
        let help = repo.nav(&[name, "-h"]).ok();
        for option in command.get_arguments().filter(|a| !a.is_hide_set()).filter_map(clap::Arg::get_long) {
            assert!(help.contains(&format!("--{option}")), "{name}: {option}");
            assert!(tests.contains(&format!("--{option}")), "no test uses {name} --{option}");
        }
    }
    let help = repo.nav(&["-h"]).ok();
    assert!(help.contains("Exit codes:") && help.contains("0  yes, done"), "{help}");
    assert!(repo.nav(&["--version"]).ok().contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn man_pages_are_made_for_every_command() {
    let repo = TestRepo::new();
    let dir = repo.root.path().join("share/man/man1");
    repo.nav(&["man", "--dir", dir.to_str().unwrap()]).ok();
    let pages: Vec<String> =
        fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    for command in Cli::command().get_subcommands().filter(|c| !c.is_hide_set()) {
        assert!(pages.contains(&format!("git-nav-loop-{}.1", command.get_name())), "{pages:?}");
    }
    for nested in ["task-resume", "signal-exit", "ticket-close", "resume-clarify"] {
        assert!(pages.contains(&format!("git-nav-loop-{nested}.1")), "{pages:?}");
    }
    let first = repo.nav(&["man"]).ok();
    assert_eq!(first, fs::read_to_string(dir.join("git-nav-loop.1")).unwrap());
    assert!(first.contains("Exit codes"));
}

#[test]
fn git_nav_loop_help_shows_the_man_page_after_install_sh() {
    let repo = TestRepo::new();
    if repo.run("man", &["--version"]).code != 0 {
        return skip("no man program here");
    }
    let prefix = repo.root.path().join("prefix");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("install.sh");
    let args = [script.to_str().unwrap(), "--from", programs().to_str().unwrap(), "--prefix", prefix.to_str().unwrap()]
        .map(str::to_owned);
    assert!(repo.command("sh").args(&args).output().unwrap().status.success());
    let path = format!("{}:{}", prefix.join("bin").display(), std::env::var("PATH").unwrap());
    let mut command = repo.command("git");
    let shown = command
        .env("PATH", path)
        .env("MANPAGER", "cat")
        .env("MANWIDTH", "80")
        .args(["nav-loop", "--help"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(text.contains("Let git prove that the agent is done"), "{shown:?}");
}

#[test]
fn completions_load_and_complete() {
    let repo = TestRepo::new();
    for (shell, check) in [
        (
            "bash",
            "source ./completions; COMP_WORDS=(git nav-loop sta); COMP_CWORD=2; _git_nav_loop; echo \"${COMPREPLY[*]}\"",
        ),
        (
            "zsh",
            "autoload -U compinit; compinit -u -d ./dump; source ./completions; print -l ${(ok)_comps} | grep nav-loop; echo start status",
        ),
        ("fish", "source ./completions; complete -C 'git-nav-loop sta'"),
    ] {
        let text = repo.nav(&["completions", shell]).ok();
        fs::write(repo.dir.join("completions"), text).unwrap();
        if repo.run(shell, &["--version"]).code != 0 {
            skip(&format!("no {shell} here"));
            continue;
        }
        let said = repo.run(shell, &["-c", check]);
        assert_eq!(said.code, 0, "{shell}: {said:?}");
        for word in ["start", "status"] {
            assert!(said.out.contains(word), "{shell}: {said:?}");
        }
    }
}
