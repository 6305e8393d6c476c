//! `sync`: exchanges the journal with a remote. Never inside a git hook; the user's own pushes are never touched.

use std::time::Instant;

use crate::{
    cli::check::SyncArgs,
    config,
    context::{COMMAND_PATIENCE, Context, variable, writer},
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{
        exchange::{self, Refusal},
        journal::Journal,
        repo::Repo,
    },
    render::visible::visible_short,
};

pub(super) fn run(context: &Context, args: &SyncArgs) -> Result<ExitCode, Error> {
    if variable("NAV_LOOP_HOOK").is_some() || variable("GIT_QUARANTINE_PATH").is_some() {
        return Err(Error::refused("this runs inside a git hook", "run git nav-loop sync by hand, or in CI"));
    }
    let repo = Repo::discover()?;
    let remotes = repo.config_subsections("remote");
    if !remotes.contains(&args.remote) {
        let known = if remotes.is_empty() { "none is set up".to_owned() } else { remotes.join(", ") };
        return Err(Error::usage(
            format!("{:?} is no remote of this repository: {known}", args.remote),
            "git remote -v",
        ));
    }
    let deadline = Instant::now() + config::time("--timeout", &args.timeout)?;
    let writer = writer("sync", COMMAND_PATIENCE);
    Journal::new(&repo).catch_up(&writer)?;
    let synced = exchange::sync(&repo, &args.remote, &writer, deadline).map_err(|r| refused(&args.remote, r))?;
    let p = context.language.phrases();
    context.say(&(p.synced)(&visible_short(&args.remote, 100), synced.received, synced.pushed));
    Ok(ExitCode::Done)
}

fn refused(remote: &str, refusal: Refusal) -> Error {
    match refusal {
        Refusal::Offline(why) => {
            Error::new(ErrorKind::Remote, format!("{remote} cannot be reached: {why}"), "try again when it can")
        }
        Refusal::Rejected(why) => {
            let hint = "ask who keeps that server; everything is recorded here";
            Error::new(ErrorKind::Remote, format!("{remote} refused the notes: {why}"), hint)
        }
        Refusal::Busy => {
            let hint = "git nav-loop sync --timeout 5m";
            Error::new(ErrorKind::Remote, format!("others were faster at {remote} each time"), hint)
        }
        Refusal::Git(error) => error.into(),
    }
}
