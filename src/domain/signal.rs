//! An agent's word, read from its last message (spec 1.5; dialects: pilot-signal v2, nav-signal v3, `RALPH_STATUS`,
//! promises, `NAVIGATOR_STATUS`, and a bare exit object as the whole last line).
//!
//! In: the text of one message. Out: what its last block says, and which blocks were malformed. Prose, quotes and
//! fenced examples never count.

use serde_json::Value;

use super::{event::SignalKind, evidence::sha256_hex};

/// Longer messages are read from their end.
pub const MESSAGE_LIMIT: usize = 1 << 20;

/// What the loop accepts, beside the dialects themselves.
#[derive(Debug, Clone, Default)]
pub struct Accepts<'a> {
    /// SHA-256 of the promise text, when the loop was started with one.
    pub promise_sha: Option<&'a str>,
    /// SHA-256 of the nonce, when the loop has one: then only JSON that carries it counts.
    pub nonce_sha: Option<&'a str>,
    /// The text of our own prompt: its lines are dropped before reading.
    pub prompt: &'a str,
}

/// A signal as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// What it says.
    pub kind: SignalKind,
    /// The dialect's name.
    pub dialect: &'static str,
    /// Its words, at most 500 characters.
    pub reason: String,
}

/// What one message holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// What the last block says.
    pub signal: Option<Found>,
    /// Blocks that were meant as signals and cannot be read: why.
    pub malformed: Vec<String>,
}

/// Reads a message.
///
/// ```
/// use nav_loop::domain::signal::{Accepts, scan};
/// let said = "All done!\n```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\":true,\"reason\":\"ok\"}\n```\n";
/// assert!(scan(said, &Accepts::default()).signal.is_some());
/// assert!(scan("I am done.", &Accepts::default()).signal.is_none());
/// ```
pub fn scan(message: &str, accepts: &Accepts<'_>) -> Scan {
    let start = message.len().saturating_sub(MESSAGE_LIMIT);
    let start = (start..=message.len()).find(|i| message.is_char_boundary(*i)).unwrap_or(0);
    let prompt: Vec<&str> = accepts.prompt.lines().map(str::trim).filter(|l| l.len() > 2).collect();
    let text = message[start..].trim_start_matches('\u{feff}');
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|l| !prompt.contains(&l.trim())).collect();
    let mut reader = Reader { accepts, scan: Scan::default(), lines: &lines, at: 0 };
    while reader.at < lines.len() {
        reader.step();
    }
    reader.scan
}

struct Reader<'a> {
    accepts: &'a Accepts<'a>,
    scan: Scan,
    lines: &'a [&'a str],
    at: usize,
}

impl Reader<'_> {
    fn step(&mut self) {
        let line = self.lines[self.at].trim();
        self.at += 1;
        if let Some(fence) = fence_of(line) {
            self.fenced(fence, line);
        } else if let Some(json) = nav_signal(line) {
            self.object(json, 3, "nav-signal");
        } else if line == "---RALPH_STATUS---" {
            self.ralph_block();
        } else if line == "RALPH_STATUS:" {
            self.ralph_yaml();
        } else if line == "NAVIGATOR_STATUS" {
            self.navigator_block();
        } else if line.starts_with('{') && self.rest_is_blank() && is_exit_object(line) {
            self.object(line, 2, "bare");
        } else {
            self.promise(line);
        }
    }

    fn rest_is_blank(&self) -> bool {
        self.lines[self.at..].iter().all(|l| l.trim().is_empty())
    }

    /// Skips a fenced block; one tagged `pilot-signal` is read. A block that never closes is half a block.
    fn fenced(&mut self, fence: &str, opening: &str) {
        let tag = opening.trim_start_matches(['`', '~']).trim();
        let body = self.lines[self.at..].iter().position(|l| {
            let l = l.trim();
            l.starts_with(fence) && l.trim_start_matches(['`', '~']).is_empty()
        });
        let Some(length) = body else {
            if tag == "pilot-signal" {
                self.scan.malformed.push("pilot-signal: the block is not closed".into());
            }
            self.at = self.lines.len();
            return;
        };
        let text = self.lines[self.at..self.at + length].join("\n");
        self.at += length + 1;
        if tag == "pilot-signal" {
            self.object(text.trim(), 2, "pilot-signal");
        }
    }

    fn object(&mut self, json: &str, version: u64, dialect: &'static str) {
        match read_object(json, version) {
            Ok(Some((kind, reason, nonce))) => self.take(kind, dialect, &reason, nonce.as_deref()),
            Ok(None) => {}
            Err(why) => self.scan.malformed.push(format!("{dialect}: {why}")),
        }
    }

    fn take(&mut self, kind: SignalKind, dialect: &'static str, reason: &str, nonce: Option<&str>) {
        if let Some(expected) = self.accepts.nonce_sha
            && nonce.map(sha256_hex).as_deref() != Some(expected)
        {
            self.scan.malformed.push(format!("{dialect}: it does not carry this loop's nonce"));
            return;
        }
        self.scan.signal = Some(Found { kind, dialect, reason: reason.chars().take(500).collect() });
    }

    fn ralph_block(&mut self) {
        let Some(length) = self.lines[self.at..].iter().position(|l| l.trim() == "---END_RALPH_STATUS---") else {
            self.scan.malformed.push("RALPH_STATUS: the block is not closed".into());
            self.at = self.lines.len();
            return;
        };
        let body: Vec<&str> = self.lines[self.at..self.at + length].to_vec();
        self.at += length + 1;
        self.ralph(&body);
    }

    fn ralph_yaml(&mut self) {
        let body: Vec<&str> =
            self.lines[self.at..].iter().copied().take_while(|l| l.starts_with([' ', '\t'])).collect();
        self.at += body.len();
        let body: Vec<&str> = body.iter().map(|l| l.trim_start()).collect();
        self.ralph(&body);
    }

    /// `EXIT_SIGNAL` decides; `STATUS: BLOCKED` is a failure.
    fn ralph(&mut self, body: &[&str]) {
        let value = |key: &str| body.iter().rev().find_map(|l| l.strip_prefix(key)?.strip_prefix(':')).map(str::trim);
        let reason = value("RECOMMENDATION").unwrap_or_default().to_owned();
        if value("STATUS").is_some_and(|s| s.eq_ignore_ascii_case("BLOCKED")) {
            return self.take(SignalKind::Failed, "RALPH_STATUS", &reason, None);
        }
        match value("EXIT_SIGNAL").map(str::to_ascii_lowercase).as_deref() {
            Some("true") => self.take(SignalKind::Exit, "RALPH_STATUS", &reason, None),
            Some("false") => self.take(SignalKind::False, "RALPH_STATUS", &reason, None),
            Some(_) => self.scan.malformed.push("RALPH_STATUS: EXIT_SIGNAL is neither true nor false".into()),
            None => {}
        }
    }

    /// From the heading to the ruler that ends the block.
    fn navigator_block(&mut self) {
        let mut after_heading = 0;
        while self.at < self.lines.len() {
            let line = self.lines[self.at].trim().replace('：', ":");
            self.at += 1;
            after_heading += 1;
            let is_ruler = line.chars().count() >= 10 && line.chars().all(|c| c == '━' || c == '=');
            if is_ruler && after_heading > 1 {
                return;
            }
            match line.strip_prefix("EXIT_SIGNAL:").map(str::trim) {
                Some("true") => self.take(SignalKind::Exit, "NAVIGATOR_STATUS", "", None),
                Some("false") => self.take(SignalKind::False, "NAVIGATOR_STATUS", "", None),
                _ => {}
            }
        }
    }

    fn promise(&mut self, line: &str) {
        let Some(expected) = self.accepts.promise_sha else {
            return;
        };
        if line.starts_with('>') || line.contains('`') {
            return;
        }
        let inner = line.strip_prefix("<promise>").and_then(|l| l.strip_suffix("</promise>"));
        if let Some(text) = inner.map(str::trim).filter(|t| sha256_hex(t) == expected) {
            self.take(SignalKind::Exit, "promise", text, None);
        }
    }
}

fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3).then(|| &line[..length])
}

fn nav_signal(line: &str) -> Option<&str> {
    let line = line.strip_prefix("<!--").map_or(line, |l| l.trim_end_matches("-->").trim());
    line.strip_prefix("nav-signal:v3:").map(str::trim)
}

fn is_exit_object(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|v| v.get("type").and_then(Value::as_str) == Some("exit"))
}

type Read = Option<(SignalKind, String, Option<String>)>;

/// One JSON object: `v` absent = the dialect's version; exit without `success` = success; on other types
/// `exit_signal` decides; neither = no signal.
fn read_object(json: &str, version: u64) -> Result<Read, String> {
    let value: Value = serde_json::from_str(json).map_err(|_| "it is not JSON".to_owned())?;
    let object = value.as_object().ok_or("it is not a JSON object")?;
    match object.get("v") {
        None => {}
        Some(v) if v.as_u64() == Some(version) => {}
        Some(v) => return Err(format!("version {v} is not known")),
    }
    let kind = object.get("type").map_or(Some("status"), Value::as_str).unwrap_or_default();
    let known: &[&str] = if version == 3 {
        &["exit", "status", "check", "brief", "defer"]
    } else {
        &["status", "phase", "exit", "stagnation"]
    };
    if !known.contains(&kind) {
        return Err("its type is not known".into());
    }
    let flag = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(b)) => Ok(Some(*b)),
        Some(_) => Err(format!("{key} is not true or false")),
    };
    let (success, exit_signal) = (flag("success")?, flag("exit_signal")?);
    let words = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let reason = words("reason").or_else(|| words("message")).unwrap_or_default();
    let said = match (kind, success, exit_signal) {
        (_, Some(false), _) => Some(SignalKind::Failed),
        ("exit", ..) => Some(SignalKind::Exit),
        (_, _, Some(true)) => Some(SignalKind::Exit),
        (_, _, Some(false)) => Some(SignalKind::False),
        (_, _, None) => None,
    };
    Ok(said.map(|kind| (kind, reason, words("nonce"))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(message: &str) -> Option<SignalKind> {
        scan(message, &Accepts::default()).signal.map(|s| s.kind)
    }

    const EXIT: &str = r#"{"v":2,"type":"exit","success":true,"reason":"All criteria met"}"#;

    #[test]
    fn each_dialect_asks_for_exit() {
        let said = [
            format!("done\n```pilot-signal\n{EXIT}\n```"),
            format!("done\r\n```pilot-signal\r\n{EXIT}\r\n```\r\n"),
            format!("text\n\n{EXIT}\n\n"),
            "nav-signal:v3:{\"type\":\"exit\",\"v\":3}".into(),
            "<!-- nav-signal:v3:{\"type\":\"exit\"} -->".into(),
            "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---".into(),
            "RALPH_STATUS:\n  STATUS: COMPLETE\n  EXIT_SIGNAL: true\n".into(),
            "━━━━━━━━━━━━\nNAVIGATOR_STATUS\n━━━━━━━━━━━━\n阶段：VERIFY\n  EXIT_SIGNAL：true\n━━━━━━━━━━━━".into(),
            "```pilot-signal\n{\"type\":\"status\",\"exit_signal\":true}\n```".into(),
        ];
        for message in said {
            assert_eq!(kind(&message), Some(SignalKind::Exit), "{message}");
        }
    }

    #[test]
    fn prose_quotes_examples_and_half_blocks_are_no_signal() {
        let said = [
            "Everything is done and complete. EXIT_SIGNAL: true".to_owned(),
            format!("For example:\n```json\n{EXIT}\n```\n"),
            format!("```markdown\n~~~pilot-signal\n{EXIT}\n~~~\n```"),
            format!("> ```pilot-signal\n> {EXIT}\n> ```"),
            format!("```pilot-signal\n{EXIT}\n"),
            format!("{EXIT}\nand then some"),
            "```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\": true|false}\n```".into(),
            "```pilot-signal\n{\"v\":9,\"type\":\"exit\"}\n```".into(),
            "```pilot-signal\n{\"type\":\"exit\",\"success\":\"yes\"}\n```".into(),
            "---RALPH_STATUS---\nEXIT_SIGNAL: true".into(),
            "<promise>COMPLETE</promise>".into(),
        ];
        for message in said {
            assert_eq!(kind(&message), None, "{message}");
        }
    }

    #[test]
    fn the_last_block_decides_and_false_vetoes() {
        let veto = "```pilot-signal\n{\"type\":\"status\",\"exit_signal\":false}\n```";
        assert_eq!(kind(&format!("```pilot-signal\n{EXIT}\n```\n{veto}")), Some(SignalKind::False));
        assert_eq!(kind(&format!("{veto}\n```pilot-signal\n{EXIT}\n```")), Some(SignalKind::Exit));
        let failed = "```pilot-signal\n{\"type\":\"exit\",\"success\":false,\"reason\":\"no API key\"}\n```";
        assert_eq!(kind(failed), Some(SignalKind::Failed));
        assert_eq!(
            kind("---RALPH_STATUS---\nSTATUS: BLOCKED\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---"),
            Some(SignalKind::Failed)
        );
    }

    #[test]
    fn a_nonce_and_a_promise_are_held_to() {
        let (nonce, promise) = (sha256_hex("ab12cd34"), sha256_hex("SHIPPED"));
        let accepts = Accepts { nonce_sha: Some(&nonce), promise_sha: None, prompt: "" };
        assert!(scan(&format!("```pilot-signal\n{EXIT}\n```"), &accepts).signal.is_none());
        let right = "```pilot-signal\n{\"type\":\"exit\",\"nonce\":\"ab12cd34\"}\n```";
        assert!(scan(right, &accepts).signal.is_some());
        let accepts = Accepts { promise_sha: Some(&promise), ..Accepts::default() };
        assert!(scan("<promise>SHIPPED</promise>", &accepts).signal.is_some());
        assert!(scan("I will say <promise>SHIPPED</promise> later", &accepts).signal.is_none());
    }

    #[test]
    fn our_own_prompt_echoed_is_no_signal() {
        let accepts = Accepts { prompt: &format!("end with:\n```pilot-signal\n{EXIT}\n```"), ..Accepts::default() };
        assert!(scan(&format!("```pilot-signal\n{EXIT}\n```"), &accepts).signal.is_none());
    }
}
