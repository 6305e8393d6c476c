use std::{io::Write, process::Stdio};

use crate::support::TestRepo;

fn trigger(repo: &TestRepo, prompt: &str, env: &[(&str, &str)]) -> (i32, String) {
    let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    command.arg("trigger").envs(env.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap().trim().to_owned())
}

/// `+` starts a loop, with the task after `→`; `-` does not.
const PROMPTS: &str = include_str!("data/prompts.txt");

#[test]
fn prompts_start_a_loop_where_a_phrase_opens_or_closes_them_and_nowhere_else() {
    let repo = TestRepo::new();
    let mut count = 0;
    for line in PROMPTS.lines().filter(|l| !l.is_empty() && !l.starts_with('#')) {
        let (sign, rest) = line.split_at(1);
        let (prompt, task) = rest.split_once('→').unwrap_or((rest, ""));
        let prompt = prompt.trim().replace("\\n", "\n");
        let (code, said) = trigger(&repo, &prompt, &[]);
        assert_eq!(code, i32::from(sign == "-"), "{prompt:?} {said:?}");
        if !task.trim().is_empty() {
            assert_eq!(said, task.trim(), "{prompt:?}");
        }
        count += 1;
    }
    assert!(count >= 80, "{count}");
}

#[test]
fn a_loop_that_runs_here_the_environment_and_git_config_switch_it_off() {
    let repo = TestRepo::new();
    let prompt = "run until done: add isPrime";
    assert_eq!(trigger(&repo, prompt, &[]).0, 0);
    assert_eq!(trigger(&repo, prompt, &[("NAV_LOOP", "0")]).0, 1);
    repo.git(&["config", "navLoop.trigger", "false"]);
    assert_eq!(trigger(&repo, prompt, &[]).0, 1);
    repo.git(&["config", "navLoop.trigger", "true"]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "x"]).ok();
    assert_eq!(trigger(&repo, prompt, &[]).0, 1);
    repo.nav(&["abort"]).ok();
    assert_eq!(trigger(&repo, prompt, &[]).0, 0);
}
