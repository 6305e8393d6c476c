//! `trigger`: reads a prompt on stdin and answers by exit code whether it asks for a loop (spec 1.12).

use std::io::Read;

use crate::{
    context::{Context, is_switched_off},
    domain::trigger::{NoLoop, read},
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::repo::Repo,
    turn::Turn,
};

const PROMPT_LIMIT: u64 = 1 << 20;

pub(super) fn run(context: &Context) -> Result<ExitCode, Error> {
    let mut bytes = Vec::new();
    let stdin = std::io::stdin().lock().take(PROMPT_LIMIT).read_to_end(&mut bytes);
    stdin.map_err(|e| Error::new(ErrorKind::Internal, format!("stdin: {e}"), "git nav-loop trigger < PROMPT"))?;
    if is_switched_off() || runs_or_is_off_here() {
        return Ok(ExitCode::Closed);
    }
    match read(&String::from_utf8_lossy(&bytes)) {
        Ok(task) => {
            context.say(&crate::render::visible::visible(&task));
            Ok(ExitCode::Done)
        }
        Err(NoLoop::NoPhrase | NoLoop::Refused | NoLoop::NoTask) => Ok(ExitCode::Closed),
    }
}

/// A loop runs here, or `navLoop.trigger` is false. Outside a repository neither is so.
fn runs_or_is_off_here() -> bool {
    let Ok(repo) = Repo::discover() else { return false };
    let off = repo
        .config_string("navLoop", None, "trigger")
        .is_some_and(|v| matches!(v.as_str(), "false" | "0" | "off" | "no"));
    off || matches!(Turn::here(&repo), Ok(Some(turn)) if !turn.state.is_ended())
}
