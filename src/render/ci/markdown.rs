//! Markdown: a table for a step summary or a comment.

use super::Report;
use crate::{domain::indicator::IndicatorState, render::visible::visible};

/// What a step summary may hold, with room for what stands around it.
const LIMIT: usize = 900 << 10;

/// The report.
pub fn summary(report: &Report<'_>) -> String {
    let mut text = format!("### nav-loop: {}\n\n| | indicator | why |\n|---|---|---|\n", cell(&report.verdict()));
    for finding in &report.status.indicators.0 {
        let mark = match finding.state {
            IndicatorState::Met => "x",
            IndicatorState::Unmet => " ",
            IndicatorState::Skipped => "-",
        };
        let why = report.language.reason(&finding.reason);
        text += &format!("| {mark} | {} | {} |\n", cell(finding.indicator.name()), cell(&why));
    }
    text += &format!(
        "\nbase {} · merge base {} · head {}\n\n{}\n",
        report.base.short(),
        report.merge_base.short(),
        report.status.head.short(),
        cell(&report.records)
    );
    for (signer, records) in &report.vouched_by {
        text += &format!("\nvouched by {}: {}\n", cell(signer), cell(&records.join(", ")));
    }
    if !report.findings.is_empty() {
        text += "\n| finding | where | what |\n|---|---|---|\n";
    }
    for finding in report.findings {
        let line = finding.line.map_or_else(String::new, |l| format!(":{l}"));
        let place = finding.path.as_deref().map_or_else(String::new, |p| format!("{}{line}", cell(p)));
        let row = format!("| {} {} | {place} | {} |\n", report.level(), finding.rule.name(), cell(&finding.message));
        if text.len() + row.len() > LIMIT {
            text += "| | | and more |\n";
            break;
        }
        text += &row;
    }
    text
}

/// Text that stays in its cell and is nothing but text: no markup, no HTML, no line end, no mention.
fn cell(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars().take(2_000) {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '\n' | '\r' => out.push(' '),
            '@' => out += "@\u{200b}",
            '|' | '`' | '*' | '_' | '[' | ']' | '!' | '#' | '~' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}
