//! The context marker: a file that says where a loop stood (spec 1.12).
//!
//! In: a status. Out: its name and text; or, of a file that lies there, whether it may count and which loop it names.

use super::{
    indicator::{Indicator, IndicatorState},
    status::Status,
};

/// The directory that markers are written to, below the top of the work tree.
pub const MARKER_DIR: &str = ".agent/.context-markers";

/// Whether a marker of this file name may count as completion: partial ones and bookkeeping never do.
pub fn may_count(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    !(name.starts_with("before-compact-") || name == ".active" || name == ".marker-log" || stem.ends_with("-partial"))
}

/// The loop id on the `Loop:` line.
pub fn names(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find_map(|l| {
        let l = l.trim_start_matches(['-', '*', ' ']);
        l.strip_prefix("Loop:").or_else(|| l.strip_prefix("Loop**:"))
    })?;
    line.split_whitespace().next().map(|id| id.trim_matches(['`', '*']).to_owned())
}

/// The words of a title as a file name: lower-case ASCII, `-` between, at most 40 bytes, `task` when nothing is left.
pub fn slug(title: &str) -> String {
    let mut slug = String::new();
    for c in title.chars() {
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 40 {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

/// The file name: `{YYYY-MM-DD-HHmm}_{ticket or slug}-{complete|partial}.md`. `at` is a journal time.
pub fn file_name(at: &str, name: &str, partial: bool) -> String {
    let stamp: String = at.get(..16).unwrap_or(at).replace('T', "-").replace(':', "");
    format!("{stamp}_{}-{}.md", slug(name), if partial { "partial" } else { "complete" })
}

/// The text of a marker.
pub fn text(status: &Status, name: &str, partial: bool) -> String {
    let kind = if partial { "partial" } else { "complete" };
    let mut text = format!("# Context Marker: {} ({kind})\n\n", one_line(name));
    let previous = status.previous_hash.as_deref().map_or("none", |h| h.get(..6).unwrap_or(h));
    let mut line = |key: &str, value: &str| text.push_str(&format!("{key}: {value}\n"));
    line("Loop", &status.loop_id);
    line("Task", &one_line(&status.title));
    line("Anchor", status.anchor.as_str());
    line("HEAD", status.head.as_str());
    line("Branch", status.branch.as_deref().unwrap_or("(detached HEAD)"));
    line("Iteration", &format!("{}/{}", status.iteration, status.max_iterations));
    line("Phase", status.phase.name());
    line("State Hash", status.state_hash.get(..6).unwrap_or(&status.state_hash));
    line("Previous Hash", previous);
    line("Stagnation", &format!("{}/{}", status.stagnation.count, status.threshold));
    line("EXIT_SIGNAL", if status.exit_signal { "true" } else { "false" });
    text.push_str("\n## Completion Indicators\n\n");
    for finding in &status.indicators.0 {
        let mark = if finding.state == IndicatorState::Met { 'x' } else { ' ' };
        let skipped = if finding.state == IndicatorState::Skipped { " (skipped)" } else { "" };
        text.push_str(&format!("- [{mark}] {}{skipped}\n", finding.indicator.name()));
    }
    section(&mut text, "Progress", &status.progress_items);
    let open: Vec<String> =
        status.indicators.in_state(IndicatorState::Unmet).map(|i: Indicator| i.name().into()).collect();
    section(&mut text, "Remaining", &open);
    text
}

fn section(text: &mut String, heading: &str, items: &[String]) {
    text.push_str(&format!("\n## {heading}\n\n"));
    if items.is_empty() {
        text.push_str("- nothing\n");
    }
    for item in items {
        text.push_str(&format!("- {}\n", one_line(item)));
    }
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_never_count_are_told_apart() {
        for never in ["a/before-compact-auto-1.md", ".active", "m/.marker-log", "m/2026_x-partial.md"] {
            assert!(!may_count(never), "{never}");
        }
        assert!(may_count(".agent/.context-markers/2026-11-30-0900_TASK-1-complete.md"));
    }

    #[test]
    fn loop_line_is_read_and_file_names_are_safe() {
        assert_eq!(names(b"# x\n\nLoop: 2026-11-30-0900-abcdef\n").as_deref(), Some("2026-11-30-0900-abcdef"));
        assert_eq!(names(b"no line"), None);
        assert_eq!(file_name("2026-11-30T09:05:00.000Z", "../../Fix: a B", true), "2026-11-30-0905_fix-a-b-partial.md");
        assert_eq!(slug("修复"), "task");
    }
}
