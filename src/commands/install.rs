//! `install`: puts the hooks into this repository, or says what stands in the way and which ways there are.

use std::path::{Path, PathBuf};

use crate::{
    agent::{
        settings_file::{Change, SettingsFile},
        stop_hook::HookClient,
    },
    cli::InstallArgs,
    context::Context,
    error::Error,
    exit_code::ExitCode,
    git::{
        install::{self, Found, HOOKS, HooksDir, HooksDirKind},
        repo::Repo,
    },
};

pub(super) fn run(context: &Context, args: &InstallArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    if let Some(client) = args.agent {
        return into_settings(context, &repo, client);
    }
    let program = own_program()?;
    for name in HOOKS {
        let hook = install::hook_program(&program, name);
        if !hook.is_file() {
            let message = format!("{} is not there", hook.display());
            return Err(Error::refused(message, "install all three programs into one folder: ./install.sh"));
        }
    }
    if args.config_hooks {
        return config_form(context, &program);
    }
    let dir =
        install::hooks_dir(&repo).map_err(|e| Error::usage(e.to_string(), "git config --unset core.hooksPath"))?;
    refuse_foreign_dir(&dir, args, &program)?;
    let mut to_chain = Vec::new();
    for name in HOOKS {
        if check(&dir.path, name, args, &program)? {
            to_chain.push(name);
        }
    }
    for name in HOOKS {
        if to_chain.contains(&name) {
            install::set_aside(&dir.path, name)?;
        }
        let hook = install::hook_program(&program, name);
        let written = install::put(&dir.path, name, &hook, args.copy.then_some(program.as_path()))?;
        let state = if written { "installed" } else { "in place" };
        context.say(&format!("{}: {state}", dir.path.join(name).display()));
    }
    verify(&dir)?;
    Ok(ExitCode::Done)
}

fn into_settings(context: &Context, repo: &Repo, client: HookClient) -> Result<ExitCode, Error> {
    let file = SettingsFile::new(client, repo.need_work_tree()?, &repo.state_dir().join("settings"));
    let change =
        file.install().map_err(|e| Error::refused(format!("{e}; nothing was changed"), "mend it, then again"))?;
    let state = if change == Change::None { "in place" } else { "installed" };
    context.say(&format!("{}: {state}", file.path.display()));
    match client {
        HookClient::Codex => context.say("Codex runs it once the project is trusted and the hook approved in /hooks"),
        HookClient::Gemini => context.say("Gemini CLI runs it in a trusted folder only"),
        HookClient::Claude | HookClient::Copilot | HookClient::Cursor => {}
    }
    Ok(ExitCode::Done)
}

/// The program that runs now, links resolved: the hooks link to its neighbours.
fn own_program() -> Result<PathBuf, Error> {
    let own = std::env::current_exe().and_then(|p| p.canonicalize());
    own.map_err(|e| Error::refused(format!("this program cannot find itself: {e}"), "run it by its full path"))
}

fn refuse_foreign_dir(dir: &HooksDir, args: &InstallArgs, program: &Path) -> Result<(), Error> {
    let origin = dir.origin.as_deref().unwrap_or("core.hooksPath");
    match dir.kind {
        HooksDirKind::Common => Ok(()),
        HooksDirKind::Outside if args.into_global => Ok(()),
        HooksDirKind::Outside => Err(Error::refused(
            format!("hooks lie outside this repository, in {} ({origin})", dir.path.display()),
            "they would run in every repository; if you want that: git nav-loop install --into-global",
        )),
        HooksDirKind::InWorkTree => {
            let manager = install::manager_of_dir(&dir.path).unwrap_or("a hook manager or the project");
            let lines: Vec<String> =
                HOOKS.iter().map(|name| format!("to {name}: {}", line_to_add(program, name))).collect();
            Err(Error::refused(
                format!("hooks lie in the work tree, in {} ({origin}): they belong to {manager}", dir.path.display()),
                format!("add these lines there: {}", lines.join(" | ")),
            ))
        }
    }
}

fn line_to_add(program: &Path, name: &str) -> String {
    format!("\"{}\" \"$@\"", install::hook_program(program, name).display())
}

/// Whether hook `name` has to be set aside; an error where it may not be touched.
fn check(dir: &Path, name: &str, args: &InstallArgs, program: &Path) -> Result<bool, Error> {
    let path = dir.join(name);
    match install::look(dir, name) {
        Found::Nothing | Found::OwnLink(_) => Ok(false),
        Found::OwnCopy { version, .. } if is_newer(&version) => Err(Error::refused(
            format!("{} was installed by the newer version {version}", path.display()),
            "install that version's programs",
        )),
        Found::OwnCopy { .. } => Ok(false),
        Found::EditedCopy => Err(Error::refused(
            format!("{} is our hook, changed by somebody", path.display()),
            "look at it, move it away, and install again",
        )),
        Found::Foreign { odd: true, .. } => {
            Err(Error::refused(format!("{} is no file", path.display()), "move it away and install again"))
        }
        Found::Foreign { .. } if args.chain && install::previous(dir, name).symlink_metadata().is_ok() => {
            let aside = install::previous(dir, name);
            Err(Error::refused(format!("{} is there already", aside.display()), "move one of the two away"))
        }
        Found::Foreign { .. } if args.chain => Ok(true),
        Found::Foreign { manager, .. } => {
            let whose = manager.map_or("somebody else's".to_owned(), |m| format!("{m}'s"));
            let hint = format!(
                "git nav-loop install --chain runs it first and keeps its exit status; or add to it: {}",
                line_to_add(program, name)
            );
            Err(Error::refused(format!("{} is {whose} hook", path.display()), hint))
        }
    }
}

fn is_newer(version: &str) -> bool {
    let parts = |v: &str| v.split('.').map(|p| p.parse::<u32>().unwrap_or(0)).collect::<Vec<_>>();
    parts(version) > parts(env!("CARGO_PKG_VERSION"))
}

/// Git itself is asked whether it would run ours.
fn verify(dir: &HooksDir) -> Result<(), Error> {
    for name in HOOKS {
        if !install::probe(name)? {
            return Err(Error::refused(
                format!("git does not run {}", dir.path.join(name).display()),
                "git nav-loop doctor tells why",
            ));
        }
    }
    Ok(())
}

fn config_form(context: &Context, program: &Path) -> Result<ExitCode, Error> {
    let (major, minor) = install::git_version()?;
    if (major, minor) < (2, 54) {
        let message = format!("hooks from the configuration need git 2.54, and this is git {major}.{minor}");
        return Err(Error::refused(message, "git nav-loop install"));
    }
    install::put_config(program)?;
    context.say("hook.nav-loop-post-commit, hook.nav-loop-post-checkout: installed in the configuration");
    for name in HOOKS {
        if !install::probe(name)? {
            return Err(Error::refused(format!("git does not run {name}"), "git nav-loop doctor tells why"));
        }
    }
    Ok(ExitCode::Done)
}
