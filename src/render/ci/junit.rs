//! JUnit XML: each indicator, the gate and each finding is a test case.

use super::Report;
use crate::domain::indicator::IndicatorState;

/// The report.
pub fn xml(report: &Report<'_>) -> String {
    let mut cases = String::new();
    let (mut failures, mut skipped, mut count) = (0, 0, 0);
    let mut case = |class: &str, name: &str, inner: &str| {
        count += 1;
        let (class, name) = (escaped(class), escaped(name));
        cases += &format!("<testcase classname=\"nav-loop.{class}\" name=\"{name}\" time=\"0\">{inner}</testcase>\n");
    };
    for finding in &report.status.indicators.0 {
        let sentence = report.sentence(finding);
        let inner = match finding.state {
            IndicatorState::Met => String::new(),
            IndicatorState::Skipped => {
                skipped += 1;
                "<skipped/>".to_owned()
            }
            // A closed gate fails by its own case; an indicator that the gate did not need fails nothing.
            IndicatorState::Unmet => {
                skipped += 1;
                format!("<skipped message=\"{}\"/>", escaped(&sentence))
            }
        };
        case("indicators", finding.indicator.name(), &inner);
    }
    let verdict = report.verdict();
    let gate = if report.status.gate.is_open() { String::new() } else { failure(&verdict) };
    failures += usize::from(!gate.is_empty());
    case("gate", "verdict", &gate);
    for (n, finding) in report.findings.iter().enumerate() {
        let text = format!("{}{}", super::place(finding), finding.message);
        let inner = if report.strict {
            failures += 1;
            failure(&text)
        } else {
            format!("<system-out>{}</system-out>", escaped(&text))
        };
        case("findings", &format!("{} {}", finding.rule.name(), n + 1), &inner);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites><testsuite name=\"nav-loop\" tests=\"{count}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\" time=\"0\">\n{cases}</testsuite></testsuites>\n"
    )
}

fn failure(text: &str) -> String {
    let text = escaped(text);
    format!("<failure message=\"{text}\">{text}</failure>")
}

/// Text as XML may hold it: markup escaped, characters that XML 1.0 forbids replaced.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\t' | '\n' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
