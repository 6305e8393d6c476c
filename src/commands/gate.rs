//! `gate`: answers by exit code whether this branch's newest loop is done. It reads only.

use crate::{
    config,
    context::Context,
    domain::{
        indicator::IndicatorState,
        state::LoopStatus,
        status::{Moment, Status},
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::repo::Repo,
    render::{json, text},
    turn::{Look, Turn},
};

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    match judge(&repo) {
        Ok((turn, status)) => {
            let code = ExitCode::of_gate(&status.gate);
            answer(context, &repo, &turn, &status, code);
            Ok(code)
        }
        Err(e) if context.json && matches!(e.kind, ErrorKind::NoLoop | ErrorKind::CannotJudge) => {
            let reason = if e.kind == ErrorKind::NoLoop { "no_loop" } else { "could_not_judge" };
            context.say(&json::no_gate(reason, &e).to_string());
            Ok(e.kind.exit_code())
        }
        Err(e) => Err(e),
    }
}

fn judge(repo: &Repo) -> Result<(Turn<'_>, Status), Error> {
    let turn = Turn::need(repo).map_err(Error::as_cannot_judge)?;
    if let LoopStatus::Aborted(_) = turn.state.status {
        let message = format!("the newest loop on this branch was aborted: {}", turn.state.id);
        return Err(Error::new(ErrorKind::NoLoop, message, "git nav-loop start \"what is to be done\""));
    }
    let status = turn.status(Look::WorkTree, Moment::Between).map_err(Error::as_cannot_judge)?;
    Ok((turn, status))
}

fn answer(context: &Context, repo: &Repo, turn: &Turn<'_>, status: &Status, code: ExitCode) {
    if context.json {
        return context.say(&json::gate(status, code).to_string());
    }
    let language = context.language;
    let p = language.phrases();
    context.say_verdict(&language.verdict_line(status), status.gate.verdict);
    for finding in status.indicators.0.iter().filter(|f| status.gate.missing.contains(&f.indicator)) {
        if finding.state == IndicatorState::Unmet {
            context.say(&format!("  {}{}{}", finding.indicator.name(), p.colon, language.reason(&finding.reason)));
        }
    }
    context.print(&text::target_line(p, status));
    if !status.looked {
        context.say(p.not_looked);
    }
    if config::has_changed(repo, &turn.state.settings) == Some(true) {
        context.say(p.config_changed);
    }
}
