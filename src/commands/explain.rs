//! `explain`: why each indicator is what it is, with ids that a person can check with plain git.

use crate::{
    context::Context,
    domain::status::Moment,
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::{json, text},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    let status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
    if context.json {
        context.say(&json::gate(&status, ExitCode::of_gate(&status.gate)).to_string());
        return Ok(ExitCode::Done);
    }
    let language = context.language;
    let p = language.phrases();
    context.say_verdict(&language.verdict_line(&status), status.gate.verdict);
    context.print(&text::explanation(language, &status));
    context.say(&format!("{}{}{}", p.anchor, p.colon, status.anchor));
    context.print(&text::target_line(p, &status));
    context.say(&format!("{}{}", p.check_with, p.colon.trim_end()));
    let range = format!("{}..HEAD", status.anchor.short());
    let range = if status.anchor == repo.empty_tree() { "HEAD".to_owned() } else { range };
    let not_target = status.target.as_ref().map_or(String::new(), |(_, id)| format!(" --not {}", id.short()));
    context.say(&format!("  git log --no-merges --oneline {range}{not_target}"));
    context.say(&format!("  git diff --raw {} HEAD", status.anchor.short()));
    context.say(&format!("  git notes --ref={} show {}", notes_name(&repo), status.anchor.short()));
    Ok(ExitCode::Done)
}

fn notes_name(repo: &Repo) -> String {
    repo.journal_ref().trim_start_matches("refs/notes/").to_owned()
}
