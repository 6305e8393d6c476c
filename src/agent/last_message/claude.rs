//! Claude Code, and clients that print its lines: one `result` object, alone or as the last line of a stream.

use super::{Report, objects, text, whole};

pub(super) fn read(stdout: &str) -> Option<Report> {
    let is_result = |v: &serde_json::Value| v["type"] == "result";
    let result = whole(stdout).filter(is_result).or_else(|| objects(stdout).rfind(is_result))?;
    let failed = result["is_error"] == true || result["subtype"].as_str().is_some_and(|s| s.starts_with("error"));
    Some(Report {
        message: text(&result["result"]).unwrap_or_default(),
        cost_micros: result["total_cost_usd"].as_f64().map(|usd| (usd * 1e6).round() as u64),
        session: text(&result["session_id"]),
        error: failed.then(|| why(&result)),
        turns: result["num_turns"].as_u64(),
        denied: denied(&result),
        limit: None,
    })
}

/// The sort of error, else what the client said instead of a result.
fn why(result: &serde_json::Value) -> String {
    let sort = text(&result["subtype"]).filter(|s| s.starts_with("error"));
    sort.or_else(|| text(&result["result"])).unwrap_or_else(|| "error".to_owned()).chars().take(300).collect()
}

fn denied(result: &serde_json::Value) -> Vec<String> {
    let tools = result["permission_denials"].as_array().into_iter().flatten();
    let mut names: Vec<String> = tools.filter_map(|d| text(&d["tool_name"])).collect();
    names.sort();
    names.dedup();
    names.truncate(20);
    names
}
