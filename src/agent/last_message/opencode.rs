//! opencode: `text` lines since the last tool call make the message.

use super::{Report, objects, text};

pub(super) fn read(stdout: &str) -> Option<Report> {
    let mut report = None;
    for event in objects(stdout).filter(|e| e.get("sessionID").is_some()) {
        let report = report.get_or_insert_with(Report::default);
        report.session = text(&event["sessionID"]);
        match event["type"].as_str() {
            Some("text") => {
                if !report.message.is_empty() {
                    report.message.push('\n');
                }
                report.message += event["part"]["text"].as_str().unwrap_or_default();
            }
            Some("tool_use") => report.message.clear(),
            Some("error") => report.error = Some(event["error"].to_string().chars().take(300).collect()),
            Some("step_finish") => {
                let cost = event["part"]["cost"].as_f64().map(|usd| (usd * 1e6).round() as u64);
                report.cost_micros = cost.map(|c| c + report.cost_micros.unwrap_or(0)).or(report.cost_micros);
            }
            _ => {}
        }
    }
    report
}
