//! The blocks of the seed, free of language: rulers, order, marks.

use super::{Language, Phrases, visible::visible_short};
use crate::domain::{
    diagnosis::Diagnosis,
    event::PauseReason,
    indicator::{Finding, Indicator, IndicatorState, Reason},
    state::{LoopStatus, ProtocolStep},
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
    let met: Vec<Indicator> = status.indicators.in_state(IndicatorState::Met).collect();
    plain_block(
        language,
        &PlainBlock {
            phase: status.phase.name(),
            iteration: status.iteration,
            max_iterations: status.max_iterations,
            progress: status.progress,
            met: &met,
            total: status.gate.total,
            min: status.min_indicators,
            signal: status.exit_signal,
            hash: short_hash(&status.state_hash),
            previous: status.previous_hash.as_deref().map_or("", short_hash),
            count: status.stagnation.count,
            threshold: status.threshold,
            next_action: Some(&language.next_action(&status.next_action)),
        },
    )
}

/// What a status block shows.
#[derive(Debug)]
#[expect(missing_docs, reason = "each field is the line it fills")]
pub struct PlainBlock<'a> {
    pub phase: &'a str,
    pub iteration: u32,
    pub max_iterations: u32,
    pub progress: u32,
    pub met: &'a [Indicator],
    pub total: u32,
    pub min: u32,
    pub signal: bool,
    pub hash: &'a str,
    pub previous: &'a str,
    pub count: u32,
    pub threshold: u32,
    pub next_action: Option<&'a str>,
}

/// A status block from its values alone.
pub fn plain_block(language: Language, block: &PlainBlock<'_>) -> String {
    let p = language.phrases();
    let mut body = String::new();
    let mut line = |text: String| {
        body.push_str(&text);
        body.push('\n');
    };
    let c = p.colon;
    line(format!("{}{c}{}", p.phase, visible_short(block.phase, 40)));
    line(format!("{}{c}{}/{}", p.iteration, block.iteration, block.max_iterations));
    line(format!("{}{c}{}%", p.progress, block.progress));
    line(format!("\n{}{}", p.indicators_heading, c.trim_end()));
    for indicator in Indicator::ALL {
        let mark = if block.met.contains(&indicator) { 'x' } else { ' ' };
        line(format!("  [{mark}] {}", (p.indicator)(indicator)));
    }
    line(format!("\n{}{}", p.exit_conditions, c.trim_end()));
    let (met, total, need) = (block.met.len(), block.total, (p.need)(block.min));
    line(format!("  {}{c}{met}/{total}{}{need}{}", p.heuristics, p.open, p.close));
    line(format!("  EXIT_SIGNAL{c}{}", block.signal));
    let hash = |h: &str| if h.is_empty() { p.none.to_owned() } else { visible_short(h, 64) };
    line(format!("\n{}{c}{}", p.state_hash, hash(block.hash)));
    line(format!("{}{c}{}", p.previous_hash, hash(block.previous)));
    line(format!("{}{c}{}/{}", p.stagnation, block.count, block.threshold));
    let next = block.next_action.map_or_else(|| (p.phase_action)(block.phase).to_owned(), |a| visible_short(a, 400));
    line(format!("\n{}{c}{next}", p.next_action));
    framed("NAVIGATOR_STATUS", &body)
}

/// The block of a pause, with the seed's options and the commands that take them.
pub fn pause_block(language: Language, status: &Status, reason: PauseReason) -> String {
    let p = language.phrases();
    let c = p.colon;
    let (met, total) = (status.gate.met, status.gate.total);
    let state = format!(
        "\n{}{}\n  {}{c}{}\n  {}{c}{met}/{total}\n",
        p.current_state,
        c.trim_end(),
        p.phase,
        status.phase.name(),
        p.indicators
    );
    let numbered =
        |items: &[&str]| items.iter().enumerate().map(|(i, t)| format!("{}. {t}\n", i + 1)).collect::<String>();
    match reason {
        PauseReason::Stagnation => {
            let mut body = format!("\n{}\n{state}", (p.same_state)(status.stagnation.count));
            body += &format!("  {}{c}{}\n", p.last_action, language.last_action(&status.last_action));
            body += &format!("\n{}{}\n{}", p.causes_heading, c.trim_end(), numbered(&p.causes));
            body += &format!("\n{}{}\n{}\n", p.options, c.trim_end(), numbered(&p.stagnation_options));
            framed(p.stagnation_detected, &body)
        }
        PauseReason::MaxIterations | PauseReason::Limit => {
            let mut body = format!("\n{}\n{state}", (p.without_completion)(status.max_iterations));
            body += &format!("  EXIT_SIGNAL{c}{}\n", status.exit_signal);
            body += &format!("\n{}{}\n{}", p.progress_made, c.trim_end(), items(p, &status.progress_items));
            body += &format!("\n{}{}\n{}\n", p.options, c.trim_end(), numbered(&p.limit_options));
            framed(p.max_reached, &body)
        }
        _ => format!(
            "{}{c}git nav-loop resume continue | resume clarify \"TEXT\" | resume complete | abort\n{}",
            p.person_decides,
            numbered(&p.other_options)
        ),
    }
}

/// The completion protocol, a line for each step, and what it left in the work tree.
pub fn protocol(language: Language, steps: &[ProtocolStep], left: &[String]) -> String {
    let p = language.phrases();
    let c = p.colon;
    let mut text = format!("{}{}\n", p.protocol, c.trim_end());
    for (n, step) in steps.iter().enumerate() {
        let result = (p.protocol_result)(&step.result);
        let why = if step.why.is_empty() {
            String::new()
        } else {
            format!("{}{}{}", p.open, visible_short(&step.why, 300), p.close)
        };
        text += &format!("{}. {}{c}{result}{why}\n", n + 1, (p.protocol_step)(&step.step));
    }
    if !left.is_empty() {
        let shown: Vec<String> = left.iter().map(|l| visible_short(l, 200)).collect();
        text += &format!("{}{c}{}\n", p.left, shown.join(p.comma));
    }
    text
}

/// What `diagnose` found.
pub fn diagnosis(language: Language, found: &Diagnosis) -> String {
    let p = language.phrases();
    let c = p.colon;
    let mut text = format!("{}\n", (p.repeats)(found));
    if !found.hashes.is_empty() {
        text += &format!("{}{c}{}\n", p.state_hash, found.hashes.join(" "));
    }
    for finding in &found.missing {
        text += &format!("{}{c}{} - {}\n", p.missing, finding.indicator.name(), language.reason(&finding.reason));
    }
    for name in found.failing.iter().take(10) {
        text += &format!("{}{c}{}\n", p.failing, visible_short(name, 160));
    }
    text
}

fn short_hash(hash: &str) -> &str {
    hash.get(..6).unwrap_or(hash)
}

fn indicator_line(p: &Phrases, finding: &Finding) -> String {
    let mark = if finding.state == IndicatorState::Met { 'x' } else { ' ' };
    let skipped = match (&finding.reason, finding.state) {
        (_, IndicatorState::Met | IndicatorState::Unmet) => "",
        (Reason::SimplificationDisabled, _) => p.skipped_disabled,
        (Reason::NoCodeToSimplify, _) => p.skipped_no_code,
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
        body += &indicator_line(p, finding);
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
