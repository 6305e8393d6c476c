//! mini-swe-agent: the trajectory; its exit code is 0 even where a limit ended it, so `exit_status` is read.

use super::{Report, text, whole};

pub(super) fn read(stdout: &str) -> Option<Report> {
    let trajectory = whole(stdout).filter(|v| v.get("info").is_some())?;
    let info = &trajectory["info"];
    let messages = trajectory["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let said = messages.iter().rfind(|m| m["role"] == "assistant").and_then(|m| text(&m["content"]));
    let status = text(&info["exit_status"]);
    Some(Report {
        message: text(&info["submission"]).filter(|s| !s.is_empty()).or(said).unwrap_or_default(),
        cost_micros: info["model_stats"]["instance_cost"].as_f64().map(|usd| (usd * 1e6).round() as u64),
        session: None,
        error: status.filter(|s| s != "Submitted"),
        turns: info["model_stats"]["api_calls"].as_u64(),
        denied: Vec::new(),
        limit: None,
    })
}
