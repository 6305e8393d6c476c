//! What an agent said last, read from its client's own output.
//!
//! In: what the client printed on stdout. Out: the last message and what the client said about the turn. Tool output,
//! prompts and thoughts are never part of the message. One file for each client whose output has a form of its own.

mod claude;
mod codex;
mod gemini;
mod mini_swe;
mod opencode;
mod plain;

use super::usage_limit::{self, Reset};

/// A client whose output can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Client {
    /// Claude Code: `--output-format json` or `stream-json`.
    Claude,
    /// Codex: `exec --json`.
    Codex,
    /// Gemini CLI: `--output-format json`.
    Gemini,
    /// opencode: `run --format json`.
    Opencode,
    /// Cursor's agent: `--output-format json` or `stream-json`.
    Cursor,
    /// Amp: `--stream-json`.
    Amp,
    /// mini-swe-agent: the trajectory on stdout.
    MiniSwe,
    /// Anything else: the last 200 lines of stdout.
    Plain,
}

/// What the client said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// The agent's last message.
    pub message: String,
    /// US dollars, in millionths, where the client says so.
    pub cost_micros: Option<u64>,
    /// The client's session, to be resumed.
    pub session: Option<String>,
    /// Why the turn failed, where the client says that it did.
    pub error: Option<String>,
    /// How many turns the agent took.
    pub turns: Option<u64>,
    /// Tools that its client did not let it use.
    pub denied: Vec<String>,
    /// The usage limit that the client ran into.
    pub limit: Option<Reset>,
}

impl Client {
    /// The client of a command, by its program's name.
    ///
    /// ```
    /// use nav_loop::agent::last_message::Client;
    /// assert_eq!(Client::of_program("/usr/bin/claude"), Client::Claude);
    /// assert_eq!(Client::of_program("aider"), Client::Plain);
    /// ```
    pub fn of_program(program: &str) -> Self {
        let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
        match name.trim_end_matches(".exe") {
            "claude" => Self::Claude,
            "codex" => Self::Codex,
            "gemini" => Self::Gemini,
            "opencode" => Self::Opencode,
            "cursor-agent" => Self::Cursor,
            "amp" => Self::Amp,
            "mini" | "mini-swe-agent" => Self::MiniSwe,
            _ => Self::Plain,
        }
    }

    /// Reads what the client printed. Where it did not print its own form, the last lines stand.
    pub fn read(self, stdout: &str) -> Report {
        let own = match self {
            Self::Claude | Self::Cursor | Self::Amp => claude::read(stdout),
            Self::Codex => codex::read(stdout),
            Self::Gemini => gemini::read(stdout),
            Self::Opencode => opencode::read(stdout),
            Self::MiniSwe => mini_swe::read(stdout),
            Self::Plain => None,
        };
        let mut report = own.unwrap_or_else(|| plain::read(stdout));
        report.limit = (self != Self::Plain).then(|| usage_limit::find(stdout)).flatten();
        report
    }
}

/// Every line that is a JSON object.
pub(super) fn objects(stdout: &str) -> impl DoubleEndedIterator<Item = serde_json::Value> + '_ {
    let lines = stdout.lines().map(|l| l.trim().trim_start_matches('\u{feff}')).filter(|l| l.starts_with('{'));
    lines.filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok()).filter(serde_json::Value::is_object)
}

/// The whole output as one JSON object, where it is one.
pub(super) fn whole(stdout: &str) -> Option<serde_json::Value> {
    let text = stdout.trim().trim_start_matches('\u{feff}');
    serde_json::from_str(text).ok().filter(serde_json::Value::is_object)
}

fn text(value: &serde_json::Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_is_read_in_its_own_form() {
        let claude = concat!(
            "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s1\"}\n",
            "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"working\"}]}}\n",
            "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"all done\",\"session_id\":\"s1\",\"total_cost_usd\":0.0125,\"num_turns\":7,\"permission_denials\":[{\"tool_name\":\"Edit\"},{\"tool_name\":\"Bash\"},{\"tool_name\":\"Bash\"}]}\n",
        );
        let report = Client::Claude.read(claude);
        assert_eq!(
            (report.message.as_str(), report.cost_micros, report.session.as_deref()),
            ("all done", Some(12_500), Some("s1"))
        );
        assert_eq!((report.turns, report.denied), (Some(7), vec!["Bash".to_owned(), "Edit".to_owned()]));
        let codex = concat!(
            "{\"type\":\"thread.started\",\"thread_id\":\"t1\"}\n",
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"first\"}}\n",
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"command_execution\",\"aggregated_output\":\"EXIT_SIGNAL: true\"}}\n",
            "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\"last\"}}\n",
            "{\"type\":\"turn.completed\",\"usage\":{}}\n",
        );
        let report = Client::Codex.read(codex);
        assert_eq!((report.message.as_str(), report.session.as_deref(), report.error), ("last", Some("t1"), None));
        let failed = "{\"type\":\"turn.failed\",\"error\":{\"message\":\"no quota\"}}\n";
        assert_eq!(Client::Codex.read(failed).error.as_deref(), Some("no quota"));
        let gemini = "{\"session_id\":\"g\",\"response\":\"said\",\"stats\":{}}";
        assert_eq!(Client::Gemini.read(gemini).message, "said");
        let opencode = "{\"type\":\"text\",\"sessionID\":\"o\",\"part\":{\"text\":\"hello\"}}\n{\"type\":\"step_finish\",\"sessionID\":\"o\",\"part\":{\"cost\":0.5}}\n";
        let report = Client::Opencode.read(opencode);
        assert_eq!(
            (report.message.as_str(), report.session.as_deref(), report.cost_micros),
            ("hello", Some("o"), Some(500_000))
        );
        let mini = "{\"info\":{\"exit_status\":\"LimitsExceeded\",\"submission\":\"\",\"model_stats\":{\"instance_cost\":1.0}},\"messages\":[{\"role\":\"assistant\",\"content\":\"m\"},{\"role\":\"user\",\"content\":\"tool says\"}]}";
        let report = Client::MiniSwe.read(mini);
        assert_eq!((report.message.as_str(), report.error.as_deref()), ("m", Some("LimitsExceeded")));
    }

    #[test]
    fn output_in_no_known_form_is_read_as_its_last_lines() {
        let long: String = (0..500).map(|n| format!("line {n}\n")).collect();
        for client in [Client::Plain, Client::Claude, Client::Codex] {
            let report = client.read(&long);
            assert!(report.message.starts_with("line 300\n") && report.message.ends_with("line 499"), "{client:?}");
        }
    }
}
