//! GitLab's code quality report: one JSON list.

use serde_json::{Value, json};

use super::Report;
use crate::domain::{evidence::sha256_hex, indicator::IndicatorState};

/// The report: a closed gate's unmet indicators, and every finding.
pub fn code_quality(report: &Report<'_>) -> String {
    let mut issues: Vec<Value> = Vec::new();
    if !report.passes() {
        let unmet = report.status.indicators.0.iter().filter(|f| f.state == IndicatorState::Unmet);
        issues.extend(unmet.map(|f| issue(f.indicator.name(), "major", ".", 1, &report.sentence(f))));
    }
    let severity = if report.strict { "critical" } else { "minor" };
    issues.extend(report.findings.iter().map(|f| {
        let path = f.path.as_deref().unwrap_or(".");
        issue(f.rule.name(), severity, path, f.line.unwrap_or(1), &f.message)
    }));
    format!("{}\n", Value::Array(issues))
}

fn issue(check: &str, severity: &str, path: &str, line: usize, message: &str) -> Value {
    json!({
        "description": message, "check_name": format!("nav-loop/{check}"), "severity": severity,
        "fingerprint": sha256_hex(&format!("{check}\u{0}{path}\u{0}{line}\u{0}{message}")),
        "location": {"path": path, "lines": {"begin": line}},
    })
}
