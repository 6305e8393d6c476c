//! `list`: every loop that this clone knows, newest first.

use unicode_width::UnicodeWidthStr;

use crate::{
    context::Context,
    domain::state::LoopState,
    error::Error,
    exit_code::ExitCode,
    git::{journal::Journal, loops, repo::Repo},
    render::visible::visible_short,
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let journal = Journal::new(&repo);
    let mut states = Vec::new();
    for (id, anchor) in loops::known()? {
        states.extend(LoopState::fold(&journal.read(&anchor)?.records, &id));
    }
    states.sort_by(|a, b| b.id.cmp(&a.id));
    if context.json {
        let loops: Vec<_> = states.iter().map(as_json).collect();
        context.say(&serde_json::json!({"v": 1, "loops": loops, "exit_code": 0}).to_string());
        return Ok(ExitCode::Done);
    }
    let rows: Vec<[String; 5]> = states.iter().map(row).collect();
    let width = |column: usize| rows.iter().map(|r| r[column].width()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    for cells in &rows {
        let mut line = String::new();
        for (cell, width) in cells.iter().zip(widths) {
            line += &format!("{cell}{}  ", " ".repeat(width - cell.width()));
        }
        context.say(format!("{line}{}", cells[4]).trim_end());
    }
    Ok(ExitCode::Done)
}

fn row(state: &LoopState) -> [String; 5] {
    let place = state.branch.as_deref().unwrap_or("(detached)");
    [
        state.id.clone(),
        state.status.name().to_owned(),
        format!("{}/{}", state.shown_iteration(), state.settings.max_iterations),
        visible_short(place, 40),
        visible_short(&state.started.title, 80),
    ]
}

fn as_json(state: &LoopState) -> serde_json::Value {
    serde_json::json!({
        "id": state.id, "state": state.status.name(), "iteration": state.shown_iteration(),
        "max_iterations": state.settings.max_iterations, "branch": state.branch, "anchor": state.anchor,
        "task": state.started.title, "started_at": state.started_at, "ended_at": state.ended_at,
    })
}
