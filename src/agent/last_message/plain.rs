//! Any other agent: the last 200 lines of stdout.

use super::Report;

const LINES: usize = 200;

pub(super) fn read(stdout: &str) -> Report {
    let lines: Vec<&str> = stdout.lines().collect();
    let message = lines[lines.len().saturating_sub(LINES)..].join("\n");
    Report { message, ..Report::default() }
}
