//! `diagnose`: what repeats, what is missing, and how the newest test run ended in words.

use crate::{
    context::Context,
    domain::{diagnosis::diagnose, status::Moment},
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::{text, visible::visible_short},
    turn::{Look, Turn, last_test_output},
};

const TAIL: usize = 20;

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    let status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
    let found = diagnose(&status, &turn.state.history);
    let output = std::fs::read(last_test_output(&repo)).unwrap_or_default();
    let output = String::from_utf8_lossy(&output).into_owned();
    let tail: Vec<&str> = if found.failing.is_empty() { Vec::new() } else { last_lines(&output) };
    if context.json {
        let missing: Vec<&str> = found.missing.iter().map(|f| f.indicator.name()).collect();
        let said = serde_json::json!({
            "v": 1, "loop_id": status.loop_id, "summary": found.summary(), "repeats": found.repeats,
            "hashes": found.hashes, "failing": found.failing, "missing": missing, "output_tail": tail, "exit_code": 0,
        });
        context.say(&said.to_string());
        return Ok(ExitCode::Done);
    }
    context.print(&text::diagnosis(context.language, &found));
    for line in tail {
        context.say(&format!("  | {}", visible_short(line, 200)));
    }
    Ok(ExitCode::Done)
}

fn last_lines(output: &str) -> Vec<&str> {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].to_vec()
}
