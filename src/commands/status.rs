//! `status`: the block, the verdict line, and what a reader should know besides.

use super::recording::catch_up;
use crate::{
    config,
    context::Context,
    domain::status::Moment,
    error::Error,
    exit_code::ExitCode,
    git::{incidents, repo::Repo},
    render::{json, text, visible::visible_short},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    drop(catch_up(&mut turn, "status"));
    let status = turn.status(Look::WorkTree, Moment::Between)?;
    if context.json {
        context.say(&json::status(&status, ExitCode::of_gate(&status.gate)).to_string());
        return Ok(ExitCode::Done);
    }
    let language = context.language;
    context.print(&text::status_block(language, &status));
    context.say_verdict(&language.verdict_line(&status), status.gate.verdict);
    context.print(&text::footnotes(language, &status));
    let p = language.phrases();
    if config::has_changed(&repo, &turn.state.settings) == Some(true) {
        context.say(p.config_changed);
    }
    if let Some(newest) = incidents::read(&repo).last() {
        context.say(&format!("{}{}{}", p.incidents, p.colon, visible_short(newest, 200)));
    }
    if turn.journal.waiting() > 0 {
        context.say(&format!("{}{}{}", p.waiting, p.colon, turn.journal.waiting()));
    }
    Ok(ExitCode::Done)
}
