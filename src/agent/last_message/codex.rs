//! Codex: `item.completed` lines of type `agent_message`; the last one is the message.

use super::{Report, objects, text};

pub(super) fn read(stdout: &str) -> Option<Report> {
    let mut report = None;
    for event in objects(stdout) {
        let kind = event["type"].as_str().unwrap_or_default();
        if !matches!(kind.split('.').next(), Some("thread" | "turn" | "item" | "error")) {
            continue;
        }
        let report = report.get_or_insert_with(Report::default);
        match kind {
            "thread.started" => report.session = text(&event["thread_id"]),
            "item.completed" if event["item"]["type"] == "agent_message" => {
                report.message = text(&event["item"]["text"]).unwrap_or_default();
            }
            "turn.failed" => report.error = text(&event["error"]["message"]),
            "error" => report.error = text(&event["message"]),
            "turn.completed" => report.error = None,
            _ => {}
        }
    }
    report
}
