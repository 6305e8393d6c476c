//! The blocks of the seed, free of language: rulers, order, marks.

use super::{Language, Phrases, visible::visible_short};
use crate::domain::{
    indicator::{Finding, IndicatorState, Reason},
    state::LoopStatus,
    status::Status,
};

const RULER: &str = "━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━";
const TITLE_LIMIT: usize = 200;

fn framed(heading: &str, body: &str) -> String {
    format!("{RULER}\n{heading}\n{RULER}\n{body}{RULER}\n")
}

/// The block that `start` prints.
pub fn start_block(language: Language, title: &str, max_iterations: u32, threshold: u32) -> String {
    let p = language.phrases();
    let title = visible_short(title, TITLE_LIMIT);
    let body = format!(
        "\n{}{}{title}\n{}{}{max_iterations}\n{}{}{threshold}\n\n{}\n",
        p.task, p.colon, p.max_iterations, p.colon, p.stagnation_threshold, p.colon, p.starting,
    );
    framed(p.activated, &body)
}

/// The `NAVIGATOR_STATUS` block.
pub fn status_block(language: Language, status: &Status) -> String {
    let p = language.phrases();
    let mut body = String::new();
    let mut line = |text: String| {
        body.push_str(&text);
        body.push('\n');
    };
    let c = p.colon;
    line(format!("{}{c}{}", p.phase, status.phase.name()));
    line(format!("{}{c}{}/{}", p.iteration, status.iteration, status.max_iterations));
    line(format!("{}{c}{}%", p.progress, status.progress));
    line(format!("\n{}{}", p.indicators_heading, c.trim_end()));
    status.indicators.0.iter().for_each(|f| line(indicator_line(p, f, false)));
    line(format!("\n{}{}", p.exit_conditions, c.trim_end()));
    let need = (p.need)(status.min_indicators);
    line(format!("  {}{c}{}/{}{}{need}{}", p.heuristics, status.gate.met, status.gate.total, p.open, p.close));
    line(format!("  EXIT_SIGNAL{c}{}", status.exit_signal));
    line(format!("\n{}{c}{}", p.state_hash, short_hash(&status.state_hash)));
    line(format!("{}{c}{}", p.previous_hash, status.previous_hash.as_deref().map_or(p.none, short_hash)));
    line(format!("{}{c}{}/{}", p.stagnation, status.stagnation.count, status.threshold));
    line(format!("\n{}{c}{}", p.next_action, language.next_action(&status.next_action)));
    framed("NAVIGATOR_STATUS", &body)
}

fn short_hash(hash: &str) -> &str {
    hash.get(..6).unwrap_or(hash)
}

fn indicator_line(p: &Phrases, finding: &Finding, with_skips: bool) -> String {
    let mark = if finding.state == IndicatorState::Met { 'x' } else { ' ' };
    let skipped = match (&finding.reason, finding.state, with_skips) {
        (_, IndicatorState::Met | IndicatorState::Unmet, _) | (_, _, false) => "",
        (Reason::SimplificationDisabled, ..) => p.skipped_disabled,
        (Reason::NoCodeToSimplify, ..) => p.skipped_no_code,
        _ => p.skipped_no_tracker,
    };
    format!("  [{mark}] {}{skipped}", (p.indicator)(finding.indicator))
}

/// The exit signal in the form of the seed.
pub fn exit_signal_block() -> &'static str {
    "```pilot-signal\n{\"v\":2,\"type\":\"exit\",\"success\":true,\"reason\":\"All criteria met\"}\n```\n"
}

/// The `LOOP COMPLETE` block.
pub fn complete_block(language: Language, status: &Status) -> String {
    let p = language.phrases();
    let c = p.colon;
    let mut body = format!("\n{}{c}{}\n", p.task, visible_short(&status.title, TITLE_LIMIT));
    body += &format!("{}{c}{}/{}\n{}\n\n", p.iterations, status.iteration, status.max_iterations, p.final_phase);
    body += &format!("{}{}\n", p.indicators_heading, c.trim_end());
    for finding in &status.indicators.0 {
        body += &indicator_line(p, finding, true);
        body.push('\n');
    }
    let passed = |ok: bool| format!("{}{}{}", p.open, if ok { p.passed } else { p.accepted }, p.close);
    body += &format!("\n{}{}\n", p.exit_conditions, c.trim_end());
    let open = status.gate.is_open();
    body += &format!("  {}{c}{}/{}{}\n", p.heuristics, status.gate.met, status.gate.total, passed(open));
    body += &format!("  EXIT_SIGNAL{c}{}{}\n", status.exit_signal, passed(open));
    body += &format!("\n{}{}\n{}\n", p.summary, c.trim_end(), items(p, &status.progress_items));
    framed(p.loop_complete, &body)
}

fn items(p: &Phrases, items: &[String]) -> String {
    if items.is_empty() {
        return format!("- {}\n", p.nothing_committed);
    }
    items.iter().map(|i| format!("- {}\n", visible_short(i, 120))).collect()
}

/// One line for an iteration, where the block is switched off.
pub fn one_line(language: Language, status: &Status) -> String {
    let p = language.phrases();
    format!(
        "{} {}/{} · {} · {}/{} · {}\n",
        p.iteration,
        status.iteration,
        status.max_iterations,
        status.phase.name(),
        status.gate.met,
        status.gate.total,
        language.verdict_line(status),
    )
}

/// What stands below the block of `status`: loop, tests, target, and what a reader should know.
pub fn footnotes(language: Language, status: &Status) -> String {
    let p = language.phrases();
    let c = p.colon;
    let mut text = format!("{}{c}{} ({})\n", p.loop_id, status.loop_id, status.loop_status.name());
    if let LoopStatus::Paused(_) = status.loop_status
        && !status.pause_why.is_empty()
    {
        text += &format!("  {}\n", visible_short(&status.pause_why, 300));
    }
    text += &format!("{}{c}{}\n", p.last_action, language.last_action(&status.last_action));
    if let Some(tests) = &status.tests {
        let by = if status.tests_pinned_by_first_run { p.pinned_by_first_run } else { "" };
        text += &format!("{}{c}{}{by}\n", p.tests, visible_short(tests, 200));
    }
    text + &target_line(p, status)
}

/// The target with its id: it stands in every verdict.
pub fn target_line(p: &Phrases, status: &Status) -> String {
    match &status.target {
        Some((name, id)) => format!("{}{}{} {}\n", p.target, p.colon, visible_short(name, 100), id.short()),
        None => format!("{}{}{}\n", p.target, p.colon, p.no_target),
    }
}

/// Every indicator with its reason and the ids that show it.
pub fn explanation(language: Language, status: &Status) -> String {
    let p = language.phrases();
    let mut text = String::new();
    for finding in &status.indicators.0 {
        let mark = match finding.state {
            IndicatorState::Met => 'x',
            IndicatorState::Unmet => ' ',
            IndicatorState::Skipped => '-',
        };
        let reason = language.reason(&finding.reason);
        text +=
            &format!("[{mark}] {} ({})\n    {reason}\n", (p.indicator)(finding.indicator), finding.indicator.name());
        for id in &finding.evidence {
            text += &format!("    {id}\n");
        }
    }
    text
}
