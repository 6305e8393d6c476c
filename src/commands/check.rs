//! `check`: the pre-merge check of a range, in any clone (spec 4.4).

use std::io::Write;

use serde_json::Value;

use crate::{
    check::{Checked, Terms, check},
    cli::check::{CheckArgs, Format},
    config::Flags,
    context::{Context, variable},
    domain::{
        check::ci::{self, Asked},
        gate::Verdict,
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{
        range::{self, Scratch},
        repo::Repo,
        target,
    },
    render::ci::{Report, github, gitlab, junit, markdown},
};

const EVENT_LIMIT: u64 = 16 << 20;

pub(super) fn run(context: &Context, args: &CheckArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let asked = asked(&repo, args)?;
    let notes = notes(&repo, args)?;
    let scratch = match (variable("GIT_QUARANTINE_PATH"), variable("GIT_OBJECT_DIRECTORY")) {
        (Some(_), Some(objects)) => {
            let alternates = variable("GIT_ALTERNATE_OBJECT_DIRECTORIES").unwrap_or_default();
            Some(Scratch::beside(&repo, &objects, &alternates)?)
        }
        _ => None,
    };
    let (repo, asked) = match &scratch {
        None => (repo, asked),
        // Names are looked up where the refs are; everything after that is ids.
        Some(scratch) => {
            let base = range::commit(&repo, &asked.base)?.map_or(asked.base.clone(), |id| id.as_str().to_owned());
            (repo.through_scratch(&scratch.dir)?, Asked { base, base_ref: None, ..asked })
        }
    };
    let terms = Terms {
        notes,
        trust_notes: args.trust_notes,
        allowed_signers: args.allowed_signers.clone(),
        run_tests: args.run_tests.clone(),
        flags: flags(args),
        config: args.config.clone(),
        docs_only: args.docs_only,
    };
    let checked = check(&repo, &asked, &terms)?;
    print(context, args, &checked)
}

fn flags(args: &CheckArgs) -> Flags {
    let mut flags = Flags::new();
    if !args.require.is_empty() {
        flags.insert("required_indicators", args.require.iter().map(|n| Value::from(n.as_str())).collect());
    }
    if args.no_require_signal {
        flags.insert("exit_requires_explicit_signal", false.into());
    }
    flags
}

/// Flags win; a CI system tells the rest; elsewhere HEAD against its target.
fn asked(repo: &Repo, args: &CheckArgs) -> Result<Asked, Error> {
    let plain = |base: String, head: Option<String>| Asked {
        base,
        head: head.unwrap_or_else(|| "HEAD".to_owned()),
        branch: crate::git::loops::branch_here(repo).ok().flatten(),
        base_ref: None,
        synthetic_merge: false,
        queued: false,
        at_checkout: false,
    };
    if let Some(base) = &args.base {
        return Ok(plain(base.clone(), args.head.clone()));
    }
    let event = variable("GITHUB_EVENT_PATH").map(|path| read_event(&path)).transpose()?;
    let unclear = |e: ci::Unclear| {
        Error::new(ErrorKind::CannotJudge, e.to_string(), "git nav-loop check --base BRANCH --head COMMIT")
    };
    if let Some(asked) = ci::read(&|name| variable(name), event.as_ref()).map_err(unclear)? {
        let at_checkout = asked.at_checkout && args.head.is_none();
        return Ok(Asked { head: args.head.clone().unwrap_or(asked.head), at_checkout, ..asked });
    }
    let branch = crate::git::loops::branch_here(repo)?;
    let target = target::default_target(repo, branch.as_deref())?;
    let target = target.ok_or_else(|| Error::usage("nothing names the base of the range", "--base main"))?;
    Ok(plain(target, args.head.clone()))
}

fn read_event(path: &str) -> Result<Value, Error> {
    let unreadable =
        |why: String| Error::new(ErrorKind::CannotJudge, format!("GITHUB_EVENT_PATH: {why}"), "--base and --head");
    let size = std::fs::metadata(path).map_err(|e| unreadable(e.to_string()))?.len();
    if size > EVENT_LIMIT {
        return Err(unreadable("larger than 16 MiB".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| unreadable(e.to_string()))
}

/// The notes that are named, or those of this clone; none is no error.
fn notes(repo: &Repo, args: &CheckArgs) -> Result<Option<crate::domain::oid::Oid>, Error> {
    match &args.notes {
        None => Ok(repo.refs().read(repo.journal_ref())?),
        Some(named) => match range::commit(repo, named)? {
            Some(id) => Ok(Some(id)),
            None => Err(Error::new(
                ErrorKind::CannotJudge,
                format!("--notes {named:?} is no commit here"),
                "git fetch origin '+refs/notes/nav-loop:refs/notes/nav-loop'",
            )),
        },
    }
}

fn print(context: &Context, args: &CheckArgs, checked: &Checked) -> Result<ExitCode, Error> {
    let gate = match checked.status.gate.verdict {
        Verdict::Exit => ExitCode::Done,
        Verdict::Blocked => ExitCode::Blocked,
        Verdict::Continue | Verdict::Paused | Verdict::Unknown => ExitCode::Closed,
    };
    let fails = args.strict && !checked.findings.is_empty();
    let code = if gate == ExitCode::Done && fails { ExitCode::Closed } else { gate };
    let report = Report {
        language: context.language,
        status: &checked.status,
        base: &checked.base,
        merge_base: &checked.merge_base,
        findings: &checked.findings,
        strict: args.strict,
        vouched_by: checked.vouched_by.iter().map(|v| (v.signer.clone(), v.records.clone())).collect(),
        records: records(checked, args),
        code,
    };
    match args.format {
        Format::Text => context.print(&report.text()),
        Format::Json => context.say(&report.json().to_string()),
        Format::Gitlab => context.print(&gitlab::code_quality(&report)),
        Format::Junit => context.print(&junit::xml(&report)),
        Format::Markdown => context.print(&markdown::summary(&report)),
        Format::Github => {
            context.print(&github::annotations(&report));
            append("GITHUB_OUTPUT", &github::outputs(&report))?;
            append("GITHUB_STEP_SUMMARY", &markdown::summary(&report))?;
        }
    }
    Ok(code)
}

fn records(checked: &Checked, args: &CheckArgs) -> String {
    match (checked.has_notes, checked.unvouched) {
        _ if args.trust_notes => "records: believed as they stand in the notes".to_owned(),
        (false, _) => "records: no notes here; what needs one is unrecorded".to_owned(),
        (true, 0) => "records: none without a voucher".to_owned(),
        (true, n) => format!("records: {n} that nobody trusted here vouches for do not count"),
    }
}

/// Appends to the file that a variable of GitHub's names, where it names one.
fn append(name: &str, text: &str) -> Result<(), Error> {
    let Some(path) = variable(name) else { return Ok(()) };
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut f| f.write_all(text.as_bytes()));
    written.map_err(|e| Error::usage(format!("{name}: {e}"), "make it writable"))
}
