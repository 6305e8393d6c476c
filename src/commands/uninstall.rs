//! `uninstall`: takes out what `install` put in, and puts a set-aside hook back. A person's act.

use crate::{
    cli::UninstallArgs,
    context::{Context, who_acts},
    error::Error,
    exit_code::ExitCode,
    git::{
        install::{self, Found, HOOKS},
        repo::Repo,
    },
};

pub(super) fn run(context: &Context, args: &UninstallArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    who_acts(&repo, "uninstall")?;
    let dir =
        install::hooks_dir(&repo).map_err(|e| Error::usage(e.to_string(), "git config --unset core.hooksPath"))?;
    for name in HOOKS {
        if install::look(&dir.path, name) == Found::EditedCopy {
            let message = format!("{} is our hook, changed by somebody", dir.path.join(name).display());
            return Err(Error::refused(
                message,
                "its first part is not what was installed; look at it and remove it by hand",
            ));
        }
    }
    let mut changed = install::take_config_out(&repo)?;
    for name in HOOKS {
        if install::take_out(&dir.path, name)? {
            changed = true;
            context.say(&format!("{}: taken out", dir.path.join(name).display()));
        }
    }
    if !changed {
        context.say("no hook of ours is installed here");
    }
    if args.purge {
        install::purge(&repo)?;
        context.say(&format!("{}: deleted, with everything recorded", repo.journal_ref()));
    }
    Ok(ExitCode::Done)
}
