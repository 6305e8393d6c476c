//! `log`: one row for each iteration, and once the loop has ended, how it did.

use unicode_width::UnicodeWidthStr;

use crate::{
    cli::LogArgs,
    context::Context,
    domain::{
        event::IterationEnded,
        state::{Dated, LoopState},
        success::{Success, judge},
    },
    driver::log_file,
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::visible::visible,
    turn::Turn,
};

pub(super) fn run(context: &Context, args: &LogArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    if let Some(n) = args.output {
        return output(context, &repo, &turn, n);
    }
    let state = &turn.state;
    let success = judge(state);
    if context.json {
        let rows: Vec<_> = state.history.iter().map(as_json).collect();
        let said = serde_json::json!({
            "v": 1, "loop_id": state.id, "state": state.status.name(), "iterations": rows,
            "success": success.map(Success::as_pairs).map(serde_json::Map::from_iter), "exit_code": 0,
        });
        context.say(&said.to_string());
        return Ok(ExitCode::Done);
    }
    let p = context.language.phrases();
    let mut rows = vec![[p.iteration, p.time, p.commit, p.phase, p.indicators, p.verdict].map(str::to_owned)];
    rows.extend(state.history.iter().map(|h| row(state, h)));
    let width = |column: usize| rows.iter().map(|r| r[column].width()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    for cells in &rows {
        let padded = cells.iter().zip(&widths).map(|(c, w)| format!("{c}{}", " ".repeat(w - c.width())));
        context.say(padded.collect::<Vec<_>>().join("  ").trim_end());
    }
    for (name, held) in success.map(Success::as_words).unwrap_or_default() {
        context.say(&format!("[{}] {}", if held { 'x' } else { ' ' }, (p.success)(name)));
    }
    Ok(ExitCode::Done)
}

/// What the agent printed, with everything that could play with the terminal written out.
fn output(context: &Context, repo: &Repo, turn: &Turn<'_>, n: u32) -> Result<ExitCode, Error> {
    let path = log_file(repo, &turn.state.id, n);
    let bytes = std::fs::read(&path);
    let bytes = bytes.map_err(|_| Error::usage(format!("no output of iteration {n} is kept"), "git nav-loop log"))?;
    for line in String::from_utf8_lossy(&bytes).lines() {
        context.say(&visible(line));
    }
    Ok(ExitCode::Done)
}

fn row(state: &LoopState, ended: &Dated<IterationEnded>) -> [String; 6] {
    let what = &ended.what;
    let total = 6 - what.skipped.len();
    [
        format!("{}/{}", what.iteration, state.settings.max_iterations),
        ended.at.get(..19).unwrap_or(&ended.at).replace('T', " "),
        what.head.short().to_owned(),
        what.phase.name().to_owned(),
        format!("{}/{total}", what.met.len()),
        what.verdict.name().to_owned(),
    ]
}

fn as_json(ended: &Dated<IterationEnded>) -> serde_json::Value {
    let what = &ended.what;
    serde_json::json!({
        "iteration": what.iteration, "at": ended.at, "head": what.head, "phase": what.phase, "met": what.met,
        "skipped": what.skipped, "verdict": what.verdict, "state_hash": what.state_hash, "streak": what.streak,
        "driver": what.driver,
    })
}
