//! `list`: every loop in the journal, newest first.

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
    for (id, _, records) in journal.loops()? {
        states.extend(LoopState::fold(records, &id));
    }
    let own = loops::clone_id(&repo);
    states.sort_by(|a, b| b.id.cmp(&a.id));
    if context.json {
        let loops: Vec<_> = states.iter().map(as_json).collect();
        context.say(&serde_json::json!({"v": 1, "loops": loops, "exit_code": 0}).to_string());
        return Ok(ExitCode::Done);
    }
    let rows: Vec<[String; 5]> = states.iter().map(|s| row(s, own.as_deref())).collect();
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

/// A loop of another clone is history here: its state stands in brackets.
fn row(state: &LoopState, own: Option<&str>) -> [String; 5] {
    let place = state.branch.as_deref().unwrap_or("(detached)");
    let is_own = own.is_none_or(|o| o == state.owner);
    let name = state.status.name();
    [
        state.id.clone(),
        if is_own { name.to_owned() } else { format!("({name})") },
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
