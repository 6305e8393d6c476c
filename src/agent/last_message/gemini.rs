//! Gemini CLI: one object with `response`.

use super::{Report, objects, text, whole};

pub(super) fn read(stdout: &str) -> Option<Report> {
    let is_answer = |v: &serde_json::Value| v.get("response").is_some() || v.get("error").is_some();
    let answer = whole(stdout).filter(is_answer).or_else(|| objects(stdout).rfind(is_answer))?;
    Some(Report {
        message: text(&answer["response"]).unwrap_or_default(),
        cost_micros: None,
        session: text(&answer["session_id"]),
        error: text(&answer["error"]["message"]),
        turns: None,
        denied: Vec::new(),
        limit: None,
    })
}
