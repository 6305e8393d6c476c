use std::{fs, io::Write, path::Path, process::Stdio};

use serde_json::{Value, json};

use crate::support::{Said, TestRepo};

/// Hands `stdin` to the hook of `client`, in a folder that is not the repository: the input's `cwd` counts.
fn hook(repo: &TestRepo, client: &str, stdin: &[u8]) -> Said {
    let mut command = repo.command(env!("CARGO_BIN_EXE_git-nav-loop"));
    command.current_dir(repo.root.path()).args(["agent-hook", client]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let stdin = stdin.to_vec();
    let writer = std::thread::spawn(move || drop(pipe.write_all(&stdin)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Said {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn stop(repo: &TestRepo, client: &str, session: &str, turn: &str, message: &str) -> Said {
    let cwd = repo.dir.display().to_string();
    let input = match client {
        "gemini" => {
            json!({"session_id": session, "cwd": cwd, "hook_event_name": "AfterAgent", "prompt": "p", "prompt_response": message, "prompt_id": turn})
        }
        "cursor" => {
            json!({"conversation_id": session, "generation_id": turn, "workspace_roots": [cwd], "hook_event_name": "stop", "status": "completed"})
        }
        _ => {
            json!({"session_id": session, "turn_id": turn, "cwd": cwd, "hook_event_name": "Stop", "stop_hook_active": false, "last_assistant_message": message})
        }
    };
    hook(repo, client, input.to_string().as_bytes())
}

fn prompt(repo: &TestRepo, client: &str, words: &str) -> Said {
    let cwd = repo.dir.display().to_string();
    let input = json!({"session_id": "s", "cwd": cwd, "hook_event_name": "UserPromptSubmit", "prompt": words});
    hook(repo, client, input.to_string().as_bytes())
}

#[track_caller]
fn allows(said: &Said) {
    assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
}

#[test]
fn each_client_is_held_in_its_own_form_and_let_go_when_it_is_proven_done() {
    for client in ["claude", "codex", "copilot", "gemini", "cursor"] {
        let repo = TestRepo::looping();
        let held = stop(&repo, client, "s", "1", "I am done!");
        assert_eq!((held.code, held.err.as_str()), (0, ""), "{client}");
        let answer: Value = serde_json::from_str(&held.out).unwrap();
        let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
        let text = if client == "cursor" {
            assert_eq!(keys, ["followup_message"]);
            answer["followup_message"].as_str().unwrap()
        } else {
            assert_eq!(keys, ["decision", "reason"]);
            assert_eq!(answer["decision"], "block");
            answer["reason"].as_str().unwrap()
        };
        for words in ["NAVIGATOR_STATUS", "CONTINUE: more work", "git nav-loop test  (sh check.sh)"] {
            assert!(text.contains(words), "{client} {words}: {text}");
        }
        assert!(text.chars().count() <= 9_000);
        assert_eq!(repo.status()["loop"]["driver"], "hook");
        repo.do_the_work();
        repo.nav(&["test"]).ok();
        repo.nav(&["signal", "exit"]).ok();
        allows(&stop(&repo, client, "s", "2", "Now it is."));
        assert_eq!(repo.status()["loop"]["state"], "completed", "{client}");
        assert_eq!(repo.indicator("marker_created"), "met", "the marker is written");
        let said = repo.nav(&["complete"]).ok();
        assert!(
            said.contains("1. commit changes: skipped") && !said.contains("left to complete"),
            "a later complete goes on: {said}"
        );
        allows(&stop(&repo, client, "s", "3", "x"));
    }
}

#[test]
fn a_signal_block_in_the_last_message_is_heard() {
    let repo = TestRepo::looping();
    repo.do_the_work();
    repo.nav(&["test"]).ok();
    let message = "Done.\n```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\":true,\"reason\":\"all there\"}\n```";
    allows(&stop(&repo, "claude", "s", "1", message));
    assert_eq!(repo.status()["loop"]["state"], "completed");
    let other = TestRepo::looping();
    let held = stop(&other, "claude", "s", "1", message);
    assert!(held.out.contains("BLOCKED: insufficient indicators"), "{held:?}");
    let failed = "```pilot-signal\n{\"type\":\"exit\",\"success\":false,\"reason\":\"no network\"}\n```";
    allows(&stop(&other, "claude", "s", "2", failed));
    assert_eq!(other.status()["loop"]["paused_reason"], "agent_blocked");
}

#[test]
fn one_stop_gets_one_answer_and_ends_one_iteration() {
    let repo = TestRepo::looping();
    let first = stop(&repo, "claude", "s", "1", "same");
    let again = stop(&repo, "claude", "s", "1", "same");
    assert_eq!(first.out, again.out);
    assert_eq!(repo.status()["iteration"], 2);
    stop(&repo, "claude", "s", "2", "same");
    assert_eq!(repo.status()["iteration"], 3);
}

#[test]
fn other_sessions_background_work_pauses_drivers_and_places_without_a_loop_are_left_alone() {
    let repo = TestRepo::looping();
    assert!(!stop(&repo, "claude", "owner", "1", "x").out.is_empty());
    allows(&stop(&repo, "claude", "another", "1", "x"));
    let cwd = repo.dir.display().to_string();
    let busy = json!({"session_id": "owner", "cwd": cwd, "hook_event_name": "Stop", "background_tasks": [{"id": 1}]});
    allows(&hook(&repo, "claude", busy.to_string().as_bytes()));
    let lock = repo.dir.join(".git/nav-loop/drivers");
    fs::create_dir_all(&lock).unwrap();
    let id = repo.status()["loop"]["id"].as_str().unwrap().to_owned();
    let file = fs::File::create(lock.join(format!("{id}.lock"))).unwrap();
    file.lock().unwrap();
    allows(&stop(&repo, "claude", "owner", "2", "driven by run"));
    drop(file);
    repo.nav(&["signal", "fail", "--reason", "x"]).ok();
    allows(&stop(&repo, "claude", "owner", "3", "paused"));
    repo.git(&["switch", "-q", "main"]);
    allows(&stop(&repo, "claude", "owner", "4", "no loop here"));
    let nowhere = json!({"session_id": "s", "cwd": "/no/such/place", "hook_event_name": "Stop"});
    allows(&hook(&repo, "claude", nowhere.to_string().as_bytes()));
}

#[test]
fn an_agent_is_held_five_times_and_again_after_its_user_speaks() {
    let repo = TestRepo::looping();
    for turn in 1..=5 {
        repo.write("src/lib.rs", &format!("{turn}\n"));
        assert!(!stop(&repo, "codex", "s", &turn.to_string(), "x").out.is_empty(), "{turn}");
    }
    repo.write("src/lib.rs", "6\n");
    allows(&stop(&repo, "codex", "s", "6", "x"));
    assert!(repo.events().contains(&"evaluation_failed".to_owned()), "a warning is recorded");
    repo.write("src/lib.rs", "7\n");
    allows(&stop(&repo, "codex", "s", "7", "x"));
    allows(&prompt(&repo, "codex", "go on please"));
    repo.write("src/lib.rs", "8\n");
    assert!(!stop(&repo, "codex", "s", "8", "x").out.is_empty());
}

#[test]
fn a_transcript_of_any_size_or_none_is_never_opened() {
    let repo = TestRepo::looping();
    let transcript = repo.root.path().join("transcript.jsonl");
    fs::File::create(&transcript).unwrap().set_len(100 << 20).unwrap();
    let cwd = repo.dir.display().to_string();
    for (turn, path) in [transcript.to_str().unwrap(), "/no/such/transcript", ""].into_iter().enumerate() {
        let input = json!({"session_id": "s", "turn_id": turn.to_string(), "cwd": cwd, "hook_event_name": "Stop", "transcript_path": path, "stop_hook_active": turn > 0});
        repo.write("src/lib.rs", &format!("{turn}\n"));
        let said = hook(&repo, "claude", input.to_string().as_bytes());
        assert!(said.code == 0 && said.out.starts_with("{\"decision\":\"block\""), "{said:?}");
    }
}

#[test]
fn cursor_is_held_anew_when_its_count_of_continuations_starts_again() {
    let repo = TestRepo::looping();
    let cwd = repo.dir.display().to_string();
    let stop = |count: u32, turn: u32| {
        repo.write("src/lib.rs", &format!("{turn}\n"));
        let input = json!({"conversation_id": "s", "generation_id": turn.to_string(), "workspace_roots": [cwd], "hook_event_name": "stop", "status": "completed", "loop_count": count});
        hook(&repo, "cursor", input.to_string().as_bytes())
    };
    for turn in 0..5 {
        assert!(!stop(turn, turn).out.is_empty(), "{turn}");
    }
    allows(&stop(5, 5));
    assert!(stop(0, 6).out.starts_with("{\"followup_message\":"));
}

#[test]
fn codex_is_told_what_to_do_where_its_sandbox_makes_dot_git_read_only() {
    let repo = TestRepo::looping();
    assert!(stop(&repo, "codex", "s", "1", "x").out.contains(".git read-only"));
    assert!(!stop(&TestRepo::looping(), "claude", "s", "1", "x").out.contains("read-only"));
}

#[test]
fn a_prompt_that_asks_for_a_loop_starts_one_that_its_session_owns() {
    let repo = TestRepo::new();
    repo.git(&["switch", "-q", "-c", "feature"]);
    allows(&prompt(&repo, "claude", "what does run until done mean?"));
    let said = prompt(&repo, "claude", "Run until done: add isPrime");
    assert!(said.out.contains("LOOP MODE ACTIVATED") && said.out.contains("Task: add isPrime"), "{said:?}");
    allows(&prompt(&repo, "claude", "Run until done: nested"));
    assert_eq!(repo.nav(&["list"]).ok().lines().count(), 1);
    allows(&stop(&repo, "claude", "another", "1", "x"));
    assert!(!stop(&repo, "claude", "s", "1", "x").out.is_empty());
    let cwd = repo.dir.display().to_string();
    for _ in 0..3 {
        let read = json!({"session_id": "s", "cwd": cwd, "hook_event_name": "PostToolUse", "tool_name": "Read"});
        allows(&hook(&repo, "claude", read.to_string().as_bytes()));
    }
    assert_eq!(repo.events().iter().filter(|e| *e == "files_reported").count(), 1);
    assert_eq!(repo.status()["phase"], "RESEARCH");
}

#[test]
fn garbage_floods_and_closed_pipes_change_no_exit_code() {
    let repo = TestRepo::looping();
    for stdin in [&b""[..], b"not json", b"\xff\xfe\x00", b"[]", b"{}", b"{\"hook_event_name\":\"Stop\"}"] {
        let said = hook(&repo, "claude", stdin);
        assert_eq!((said.code, said.out.as_str()), (0, ""), "{said:?}");
    }
    let mut flood = b"{\"hook_event_name\":\"Stop\",\"transcript\":\"".to_vec();
    flood.extend(std::iter::repeat_n(b'x', 100 << 20));
    flood.extend(format!("\",\"session_id\":\"s\",\"cwd\":{:?}}}", repo.dir.display().to_string()).bytes());
    let said = hook(&repo, "claude", &flood);
    assert!(said.code == 0 && said.out.contains("\"decision\":\"block\""), "{}", said.out.len());
    let input =
        json!({"session_id": "s", "cwd": repo.dir.display().to_string(), "hook_event_name": "Stop"}).to_string();
    let script = format!("printf '%s' '{input}' | '{}' agent-hook claude >&-", env!("CARGO_BIN_EXE_git-nav-loop"));
    assert_eq!(repo.run("sh", &["-c", &script]).code, 0);
    fs::write(repo.dir.join(".git/refs/notes/nav-loop"), "garbage\n").unwrap();
    let said = stop(&repo, "claude", "s", "9", "x");
    assert_eq!((said.code, said.out.as_str(), said.err.lines().count()), (0, "", 1), "{said:?}");
    let said = stop(&repo, "gemini", "s", "9", "x");
    assert_eq!((said.code, said.err.as_str()), (0, ""), "gemini would read stderr as the answer");
    assert!(Path::new(&repo.dir).exists());
}

#[test]
fn nav_loop_0_switches_the_agents_hook_off() {
    let repo = TestRepo::looping();
    let input =
        json!({"session_id": "s", "cwd": repo.dir.display().to_string(), "hook_event_name": "Stop"}).to_string();
    let script =
        format!("printf '%s' '{input}' | NAV_LOOP=0 '{}' agent-hook claude stop", env!("CARGO_BIN_EXE_git-nav-loop"));
    allows(&repo.run("sh", &["-c", &script]));
}
