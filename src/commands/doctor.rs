//! `doctor`: looks at everything that has to hold, says what does not and what mends it. Exit 0 only when all is well.

use std::path::Path;

use crate::{
    agent::{settings_file::SettingsFile, stop_hook::HookClient},
    cli::DoctorArgs,
    context::{COMMAND_PATIENCE, Context, writer},
    domain::state::read_note,
    error::Error,
    exit_code::ExitCode,
    git::{
        incidents,
        install::{self, Found, HOOKS, HooksDirKind},
        journal::Journal,
        repair,
        repo::Repo,
    },
    render::visible::visible,
};

/// One thing that was looked at.
struct Check {
    name: &'static str,
    problem: Option<String>,
    shown: String,
}

impl Check {
    fn ok(name: &'static str, shown: impl Into<String>) -> Self {
        Self { name, problem: None, shown: shown.into() }
    }

    fn bad(name: &'static str, problem: impl Into<String>) -> Self {
        Self { name, problem: Some(problem.into()), shown: String::new() }
    }
}

pub(super) fn run(context: &Context, args: &DoctorArgs) -> Result<ExitCode, Error> {
    if args.repair {
        mend(context, &Repo::discover()?)?;
    }
    let repo = Repo::discover()?;
    let mut checks = vec![git(), backend(&repo)];
    checks.extend(hooks(&repo));
    checks.push(hooks_path_everywhere(&repo));
    checks.push(agents(&repo));
    checks.push(notes(&repo));
    checks.push(fan_out(&repo));
    checks.push(lost(&repo));
    checks.push(local(&repo));
    checks.push(spool(&repo));
    checks.push(lock(&repo));
    checks.push(last_incident(&repo));
    let well = checks.iter().all(|c| c.problem.is_none());
    if context.json {
        let said: Vec<_> = checks
            .iter()
            .map(|c| serde_json::json!({"check": c.name, "ok": c.problem.is_none(), "says": c.problem.as_ref().unwrap_or(&c.shown)}))
            .collect();
        context.say(&serde_json::json!({"v": 1, "checks": said, "exit_code": u8::from(!well)}).to_string());
    } else {
        for check in &checks {
            let mark = if check.problem.is_none() { "ok " } else { "BAD" };
            let says = check.problem.as_ref().unwrap_or(&check.shown);
            context.say(&format!("{mark} {:10} {}", check.name, visible(says)));
        }
    }
    Ok(if well { ExitCode::Done } else { ExitCode::Closed })
}

/// Mends what is ours and says what was done.
fn mend(context: &Context, repo: &Repo) -> Result<(), Error> {
    let journal = Journal::new(repo);
    let writer = writer("doctor", COMMAND_PATIENCE);
    let say = |what: &str| {
        if !context.json {
            context.say(&format!("mended {what}"));
        }
    };
    if !journal.duplicates()?.is_empty() {
        let joined = journal.join_duplicates(&writer)?;
        say(&format!("{joined} objects with two notes"));
    }
    let lost = repair::lost_lines(repo, &Journal::new(repo))?;
    if !lost.is_empty() {
        journal.restore(&writer, &lost)?;
        say(&format!("{} lost events", lost.values().map(Vec::len).sum::<usize>()));
    }
    for what in repair::local_files(repo, &Journal::new(repo))? {
        say(&what);
    }
    let waiting = journal.waiting();
    Journal::new(repo).catch_up(&writer)?;
    if waiting > 0 && Journal::new(repo).waiting() == 0 {
        say(&format!("{waiting} waiting events"));
    }
    incidents::clear(repo);
    Ok(())
}

fn lost(repo: &Repo) -> Check {
    match repair::lost_lines(repo, &Journal::new(repo)) {
        Ok(lost) if lost.is_empty() => Check::ok("events", "none lost"),
        Ok(lost) => {
            let count: usize = lost.values().map(Vec::len).sum();
            Check::bad(
                "events",
                format!("{count} events were taken out by another writer; git nav-loop doctor --repair"),
            )
        }
        Err(e) => Check::bad("events", e.to_string()),
    }
}

fn local(repo: &Repo) -> Check {
    match repair::missing_local_files(repo, &Journal::new(repo)) {
        Ok(missing) if missing.is_empty() => Check::ok("files", "all there"),
        Ok(missing) => Check::bad("files", format!("missing: {}; git nav-loop doctor --repair", missing.join(", "))),
        Err(e) => Check::bad("files", e.to_string()),
    }
}

/// Clients whose settings call our stop hook; one that lost it is named.
fn agents(repo: &Repo) -> Check {
    let Some(top) = repo.work_tree() else { return Check::ok("agents", "no work tree") };
    let mut there = Vec::new();
    for client in HookClient::ALL {
        let file = SettingsFile::new(client, top, &repo.state_dir().join("settings"));
        match file.state() {
            (true, _) => there.push(client.name()),
            (false, true) => {
                let (path, name) = (file.path.display(), client.name());
                return Check::bad("agents", format!("{path} lost our hook; git nav-loop install --agent {name}"));
            }
            (false, false) => {}
        }
    }
    let shown = if there.is_empty() { "no stop hook is installed".to_owned() } else { there.join(", ") };
    Check::ok("agents", shown)
}

fn git() -> Check {
    match install::git_version() {
        Ok(version) if version >= (2, 39) => Check::ok("git", format!("{}.{}", version.0, version.1)),
        Ok((major, minor)) => Check::bad("git", format!("{major}.{minor} is older than 2.39; install a newer git")),
        Err(e) => Check::bad("git", e.to_string()),
    }
}

fn backend(repo: &Repo) -> Check {
    Check::ok("refs", format!("through {}, journal in {}", repo.refs().backend(), repo.journal_ref()))
}

fn hooks(repo: &Repo) -> Vec<Check> {
    if repo.config_subsections("hook").iter().any(|h| h.starts_with("nav-loop-")) {
        return HOOKS.iter().map(|name| probe(name)).collect();
    }
    let dir = match install::hooks_dir(repo) {
        Ok(dir) => dir,
        Err(e) => return vec![Check::bad("hooks", format!("{e}; git config --unset core.hooksPath"))],
    };
    if dir.kind != HooksDirKind::Common {
        let origin = dir.origin.clone().unwrap_or_default();
        let shadowed = HOOKS.iter().any(|n| install::look(&repo.common_dir().join("hooks"), n) != Found::Nothing);
        let extra = if shadowed { "; hooks in the repository's own folder are shadowed" } else { "" };
        if !HOOKS.iter().all(|n| install::probe(n).unwrap_or(false)) {
            return vec![Check::bad("hooks", format!("git looks in {} ({origin}){extra}", dir.path.display()))];
        }
    }
    HOOKS.iter().map(|name| hook(&dir.path, name)).collect()
}

fn hook(dir: &Path, name: &'static str) -> Check {
    let path = dir.join(name);
    let at = path.display();
    match install::look(dir, name) {
        Found::Nothing => Check::bad(name, format!("not installed in {}; git nav-loop install", dir.display())),
        Found::OwnLink(target) if !dir.join(&target).exists() => {
            Check::bad(name, format!("{at} leads to {}, which is gone; git nav-loop install", target.display()))
        }
        Found::OwnCopy { program, .. } if !program.exists() => Check::bad(
            name,
            format!("{at} hands over to {}, which is gone; git nav-loop install --copy", program.display()),
        ),
        Found::EditedCopy => {
            Check::bad(name, format!("{at} was changed by somebody; move it away, git nav-loop install"))
        }
        Found::Foreign { manager, .. } => match install::probe(name) {
            Ok(true) => Check::ok(name, format!("run by {at}")),
            _ => {
                let whose = manager.unwrap_or("somebody else");
                Check::bad(name, format!("{at} belongs to {whose} and does not run ours; git nav-loop install --chain"))
            }
        },
        Found::OwnLink(_) | Found::OwnCopy { .. } => probe(name),
    }
}

fn probe(name: &'static str) -> Check {
    match install::probe(name) {
        Ok(true) => Check::ok(name, "git runs it"),
        Ok(false) => Check::bad(name, "git does not run it: not executable, or another core.hooksPath"),
        Err(e) => Check::bad(name, e.to_string()),
    }
}

/// Every scope and work tree that sets `core.hooksPath`.
fn hooks_path_everywhere(repo: &Repo) -> Check {
    match install::hooks_paths(repo) {
        Ok(set) if set.is_empty() => Check::ok("hooksPath", "not set anywhere"),
        Ok(set) => {
            let missing: Vec<&String> = set.iter().filter(|(_, there)| !there).map(|(line, _)| line).collect();
            match missing.first() {
                Some(line) => Check::bad("hooksPath", format!("leads to no folder, so no hook runs: {line}")),
                None => Check::ok("hooksPath", set.into_iter().map(|(line, _)| line).collect::<Vec<_>>().join("; ")),
            }
        }
        Err(e) => Check::bad("hooksPath", e.to_string()),
    }
}

fn notes(repo: &Repo) -> Check {
    let journal = Journal::new(repo);
    let listed = match journal.list() {
        Ok(listed) => listed,
        Err(e) => return Check::bad("journal", format!("{} cannot be read: {e}", repo.journal_ref())),
    };
    match install::second_reading(repo, &listed) {
        Ok(differ) if differ.is_empty() => {}
        Ok(differ) => return Check::bad("journal", format!("git reads it differently: {}", differ[0])),
        Err(e) => return Check::bad("journal", e.to_string()),
    }
    let mut corrupt = 0;
    for (on, blob) in &listed {
        if on == blob {
            continue;
        }
        corrupt += match repo.blob(blob, 32 << 20) {
            Ok(Some(text)) => read_note(on, &text).corrupt,
            _ => 1,
        };
    }
    if corrupt > 0 {
        return Check::bad("journal", format!("{corrupt} lines are no events; they are kept and skipped"));
    }
    let gone = listed.iter().filter(|(on, _)| !repo.has_object(on)).count();
    let gone =
        if gone > 0 { format!("; {gone} annotate objects that are not here, and are kept") } else { String::new() };
    Check::ok("journal", format!("{} notes, read alike by git and by us{gone}", listed.len()))
}

fn fan_out(repo: &Repo) -> Check {
    match Journal::new(repo).duplicates() {
        Ok(twice) if twice.is_empty() => Check::ok("fan-out", "one path for each object"),
        Ok(twice) => Check::bad(
            "fan-out",
            format!("{} objects have two notes, e.g. {}; git nav-loop doctor --repair", twice.len(), twice[0]),
        ),
        Err(e) => Check::bad("fan-out", e.to_string()),
    }
}

fn spool(repo: &Repo) -> Check {
    match Journal::new(repo).waiting() {
        0 => Check::ok("spool", "empty"),
        n => Check::bad("spool", format!("{n} events wait; git nav-loop status writes them")),
    }
}

fn lock(repo: &Repo) -> Check {
    let path = repo.common_dir().join(format!("{}.lock", repo.journal_ref()));
    if path.exists() {
        return Check::bad(
            "lock",
            format!("{} is there; the next write removes it if nobody holds it", path.display()),
        );
    }
    Check::ok("lock", "free")
}

fn last_incident(repo: &Repo) -> Check {
    match incidents::read(repo).as_slice() {
        [] => Check::ok("incidents", "none"),
        [.., last] => Check::bad(
            "incidents",
            format!("{last}; when it is understood, remove {}", incidents::file(repo).display()),
        ),
    }
}
