//! `uninstall`: takes out what `install` put in, from hooks and from settings, and puts a set-aside hook back. A person's act.

use crate::{
    agent::{
        settings_file::{Change, SettingsFile},
        stop_hook::HookClient,
    },
    cli::UninstallArgs,
    context::{Context, who_acts},
    error::Error,
    exit_code::ExitCode,
    git::{
        exclude,
        install::{self, Found, HOOKS},
        repo::Repo,
    },
};

pub(super) fn run(context: &Context, args: &UninstallArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    who_acts(&repo, "uninstall")?;
    if let Some(client) = args.agent {
        if !out_of_settings(context, &repo, client)? {
            context.say("no hook of ours is in its settings here");
        }
        return Ok(ExitCode::Done);
    }
    let mut changed = false;
    for client in HookClient::ALL {
        // Somebody's unreadable settings are no reason to leave git's hooks in.
        changed |= out_of_settings(context, &repo, client).unwrap_or_else(|e| {
            context.warn(&e.message);
            false
        });
    }
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
    changed |= install::take_config_out(&repo)?;
    for name in HOOKS {
        if install::take_out(&dir.path, name)? {
            changed = true;
            context.say(&format!("{}: taken out", dir.path.join(name).display()));
        }
    }
    if exclude::remove(&repo)? {
        changed = true;
        context.say("/.mino/ in info/exclude: taken out");
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

/// Whether anything was there to take out.
fn out_of_settings(context: &Context, repo: &Repo, client: HookClient) -> Result<bool, Error> {
    let Some(top) = repo.work_tree() else { return Ok(false) };
    let file = SettingsFile::new(client, top, &repo.state_dir().join("settings"));
    let change =
        file.uninstall().map_err(|e| Error::refused(format!("{e}; it was left as it is"), "mend it, then again"))?;
    if change != Change::None {
        context.say(&format!("{}: taken out", file.path.display()));
    }
    Ok(change != Change::None)
}
