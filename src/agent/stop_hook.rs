//! What agent clients send to a hook of theirs, and the answer each understands (spec 4.2).
//!
//! In: the client's JSON. Out: one plain view of it; or the exact bytes of an answer. No other key is ever printed: one
//! client drops the whole answer for an unknown one.

use serde_json::{Value, json};

/// A client with hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum HookClient {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// Cursor.
    Cursor,
}

/// What happened in the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    /// The agent wants to stop.
    Stop,
    /// A person sent this prompt.
    Prompt(String),
    /// A tool read or changed files.
    Tool {
        /// It read.
        read: bool,
        /// It changed.
        changed: bool,
    },
    /// Anything else.
    Other,
}

/// The client's input, plain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// What happened.
    pub happened: Happened,
    /// The session, empty when the client names none.
    pub session: String,
    /// The turn, where the client names it.
    pub turn: Option<String>,
    /// Where the client works.
    pub cwd: Option<String>,
    /// The agent's last message, where the client sends it.
    pub message: Option<String>,
    /// Work goes on in the background: this is no end.
    pub in_background: bool,
    /// The client counts no continuation since its user spoke (Cursor, which tells nothing else of its user).
    pub is_first: bool,
}

/// Longer reasons are cut: clients cap a text at 10,000 characters.
pub const REASON_LIMIT: usize = 9_000;

/// Reads the input; `event` is what the hook's own command line says, where it says something.
pub fn read(stdin: &[u8], event: Option<&str>) -> Option<Input> {
    let text = String::from_utf8_lossy(stdin);
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}').trim()).ok()?;
    let object = value.as_object()?;
    let word =
        |keys: &[&str]| keys.iter().find_map(|k| object.get(*k)?.as_str()).filter(|w| !w.is_empty()).map(str::to_owned);
    let name = event.map(str::to_owned).or_else(|| word(&["hook_event_name", "hookEventName"])).unwrap_or_default();
    let roots = object.get("workspace_roots").and_then(|r| r.get(0)).and_then(Value::as_str).map(str::to_owned);
    let busy = |key: &str| object.get(key).and_then(Value::as_array).is_some_and(|a| !a.is_empty());
    let given_up = matches!(object.get("status").and_then(Value::as_str), Some("aborted" | "error"));
    Some(Input {
        happened: happened(&name, object),
        session: word(&["session_id", "sessionId", "conversation_id"]).unwrap_or_default(),
        turn: word(&["turn_id", "generation_id", "prompt_id"]),
        cwd: word(&["cwd"]).or(roots),
        message: word(&["last_assistant_message", "prompt_response"]),
        in_background: busy("background_tasks") || busy("session_crons") || given_up,
        is_first: object.get("loop_count").and_then(Value::as_u64) == Some(0),
    })
}

fn happened(name: &str, object: &serde_json::Map<String, Value>) -> Happened {
    let prompt = || object.get("prompt").and_then(Value::as_str).unwrap_or_default().to_owned();
    match name.to_ascii_lowercase().replace(['-', '_'], "").as_str() {
        "stop" | "afteragent" | "agentstop" => Happened::Stop,
        "userpromptsubmit" | "userpromptsubmitted" | "beforeagent" | "beforesubmitprompt" => Happened::Prompt(prompt()),
        "posttooluse" | "posttoolusefailure" | "aftertool" | "post" => tool(object),
        _ => Happened::Other,
    }
}

fn tool(object: &serde_json::Map<String, Value>) -> Happened {
    let name = object.get("tool_name").and_then(Value::as_str).unwrap_or_default();
    let read = ["Read", "Grep", "Glob", "read_file", "grep", "glob"].contains(&name);
    let changed = ["Edit", "Write", "write_file", "replace"].contains(&name);
    if read || changed { Happened::Tool { read, changed } } else { Happened::Other }
}

/// The answer that keeps the agent at work.
pub fn block(client: HookClient, reason: &str) -> String {
    let reason: String = reason.chars().take(REASON_LIMIT).collect();
    match client {
        HookClient::Cursor => json!({ "followup_message": reason }),
        _ => json!({ "decision": "block", "reason": reason }),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_each_client_to_the_byte() {
        for client in [HookClient::Claude, HookClient::Codex, HookClient::Copilot, HookClient::Gemini] {
            assert_eq!(block(client, "go on\n\"now\""), r#"{"decision":"block","reason":"go on\n\"now\""}"#);
        }
        assert_eq!(block(HookClient::Cursor, "go on"), r#"{"followup_message":"go on"}"#);
        let long: Value = serde_json::from_str(&block(HookClient::Claude, &"字".repeat(20_000))).unwrap();
        assert_eq!(long["reason"].as_str().unwrap().chars().count(), REASON_LIMIT);
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn inputs_of_each_client_are_read() {
        let table = [
            (
                r#"{"session_id":"s","cwd":"/x","hook_event_name":"Stop","stop_hook_active":true,"last_assistant_message":"m","background_tasks":[]}"#,
                Happened::Stop,
                "s",
                Some("m"),
                false,
            ),
            (
                r#"{"session_id":"s","turn_id":"t","cwd":"/x","hook_event_name":"Stop","last_assistant_message":"m"}"#,
                Happened::Stop,
                "s",
                Some("m"),
                false,
            ),
            (
                r#"{"session_id":"s","cwd":"/x","hook_event_name":"AfterAgent","prompt":"p","prompt_response":"m"}"#,
                Happened::Stop,
                "s",
                Some("m"),
                false,
            ),
            (
                r#"{"hook_event_name":"Stop","session_id":"s","cwd":"/x","stop_reason":"end_turn"}"#,
                Happened::Stop,
                "s",
                None,
                false,
            ),
            (
                "\u{feff}{\"conversation_id\":\"s\",\"generation_id\":\"g\",\"hook_event_name\":\"stop\",\"workspace_roots\":[\"/x\"],\"status\":\"completed\"}",
                Happened::Stop,
                "s",
                None,
                false,
            ),
            (
                r#"{"conversation_id":"s","hook_event_name":"stop","workspace_roots":["/x"],"status":"aborted"}"#,
                Happened::Stop,
                "s",
                None,
                true,
            ),
            (
                r#"{"session_id":"s","cwd":"/x","hook_event_name":"Stop","background_tasks":[{}]}"#,
                Happened::Stop,
                "s",
                None,
                true,
            ),
            (
                r#"{"session_id":"s","cwd":"/x","hook_event_name":"PostToolUse","tool_name":"Read"}"#,
                Happened::Tool { read: true, changed: false },
                "s",
                None,
                false,
            ),
            (
                r#"{"session_id":"s","cwd":"/x","hook_event_name":"UserPromptSubmit","prompt":"p"}"#,
                Happened::Prompt("p".into()),
                "s",
                None,
                false,
            ),
        ];
        for (stdin, happened, session, message, in_background) in table {
            let input = read(stdin.as_bytes(), None).unwrap();
            assert_eq!(
                (&input.happened, input.session.as_str(), input.message.as_deref()),
                (&happened, session, message),
                "{stdin}"
            );
            assert_eq!((input.in_background, input.cwd.as_deref()), (in_background, Some("/x")), "{stdin}");
        }
        for garbage in ["", "not json", "[]", "\u{0}\u{1}"] {
            assert!(read(garbage.as_bytes(), None).is_none());
        }
    }
}
