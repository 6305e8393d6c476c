//! `status`: the block, the verdict line, and what a reader should know besides.

use super::recording::catch_up;
use crate::{
    config,
    context::Context,
    domain::status::Moment,
    driver,
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
    let driver_gone = driver::is_orphaned(&turn);
    if context.json {
        let mut said = json::status(&status, ExitCode::of_gate(&status.gate));
        said["loop"]["driver_gone"] = driver_gone.into();
        context.say(&said.to_string());
        return Ok(ExitCode::Done);
    }
    let language = context.language;
    context.print(&text::status_block(language, &status));
    context.say_verdict(&language.verdict_line(&status), status.gate.verdict);
    context.print(&text::footnotes(language, &status));
    let p = language.phrases();
    if driver_gone {
        context.say(p.driver_gone);
    }
    if let Some(file) = &status.task_changed {
        context.say(&(p.task_changed)(&visible_short(file, 200)));
    }
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
