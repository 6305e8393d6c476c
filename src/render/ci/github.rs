//! GitHub Actions: annotations on stdout, lines for `GITHUB_OUTPUT`, and the step summary.

use super::Report;
use crate::{domain::indicator::IndicatorState, render::visible::visible};

/// What one step may annotate at a level.
const LIMIT: usize = 10;

/// Annotations. What is data cannot become a command: line ends and `%` are escaped, and each line is one of ours.
pub fn annotations(report: &Report<'_>) -> String {
    let level = if report.passes() { "notice" } else { "error" };
    let mut text = annotation(level, None, None, "nav-loop", &report.verdict());
    let unmet = report.status.indicators.0.iter().filter(|f| f.state == IndicatorState::Unmet);
    for finding in unmet.take(LIMIT - 1).filter(|_| !report.passes()) {
        text += &annotation("notice", None, None, "nav-loop", &report.sentence(finding));
    }
    // The verdict itself may take one place among the errors.
    for finding in report.findings.iter().take(LIMIT - 1) {
        let title = format!("nav-loop {}", finding.rule.name());
        text += &annotation(report.level(), finding.path.as_deref(), finding.line, &title, &finding.message);
    }
    let left = report.findings.len().saturating_sub(LIMIT - 1);
    if left > 0 {
        text += &format!("nav-loop: {left} findings more; see the step summary\n");
    }
    text
}

fn annotation(level: &str, path: Option<&str>, line: Option<usize>, title: &str, message: &str) -> String {
    let mut properties = Vec::new();
    properties.extend(path.map(|p| format!("file={}", property(p))));
    properties.extend(line.map(|l| format!("line={l}")));
    properties.push(format!("title={}", property(title)));
    format!("::{level} {}::{}\n", properties.join(","), data(&visible(message)))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Lines for `GITHUB_OUTPUT`: words of ours and numbers only.
pub fn outputs(report: &Report<'_>) -> String {
    let gate = &report.status.gate;
    format!(
        "verdict={}\nmet={}\ntotal={}\nfindings={}\nexit_code={}\n",
        gate.verdict.name(),
        gate.met,
        gate.total,
        report.findings.len(),
        report.code.number()
    )
}
