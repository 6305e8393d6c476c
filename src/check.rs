//! One range judged in any clone, by what objects say, and by records only as far as they can be trusted (spec 4.4).
//!
//! In: which commits, whose records are believed. Out: the status by the same rules as everywhere, findings, and who
//! vouches. Whatever cannot be read is an error that fails closed.

mod evidence;

use evidence::Evidence;

use std::{collections::HashSet, path::PathBuf, time::Duration};

use bstr::ByteSlice;

use crate::{
    agent::process::{self, Ending, Job},
    config::{self, Flags},
    domain::{
        check::{
            ci::Asked,
            finding::{self, ChangedFile, Finding, Looker, Rule},
        },
        event::{Driver, Event, LoopStarted, Record},
        facts::{Facts, NetChange, Target, WorkTree},
        oid::Oid,
        path_rules::PathRules,
        settings::{CommandSpec, Settings},
        state::LoopState,
        status::{Moment, Status, view},
        test_run::{TestRun, TestVerdict},
    },
    error::{Error, ErrorKind},
    git::{
        history::{Range, Reader},
        program::REPOSITORY_VARIABLES,
        range::{self, cuts},
        repo::Repo,
        target::remote_slug,
        work_tree::CleanTree,
    },
};

/// Files of this size and less are looked into.
const TEXT_LIMIT: u64 = 1 << 20;
/// What a command of the judged range finds in its environment: nothing that a CI system keeps secrets in.
const KEPT_VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TERM",
    "TMPDIR",
    "TMP",
    "TEMP",
    "CI",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOCACHE",
    "GOMODCACHE",
    "JAVA_HOME",
    "M2_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "SystemRoot",
    "COMSPEC",
    "PATHEXT",
    "USERPROFILE",
    "LOCALAPPDATA",
    "APPDATA",
];

/// What is asked, beside the commits.
#[derive(Debug, Clone, Default)]
pub struct Terms {
    /// The notes commit that records are taken from.
    pub notes: Option<Oid>,
    /// Whether every record in it is believed.
    pub trust_notes: bool,
    /// Whose signatures are believed.
    pub allowed_signers: Option<PathBuf>,
    /// Whether the test command is run here; and which, where that is not the base commit's.
    pub run_tests: Option<Option<String>>,
    /// Settings typed as flags.
    pub flags: Flags,
    /// A configuration file in place of the base commit's.
    pub config: Option<PathBuf>,
    /// Documentation stands for code.
    pub docs_only: bool,
}

/// Somebody whose signature made records count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Voucher {
    /// Who, as the file of allowed signers names them.
    pub signer: String,
    /// For what: the kinds of the records.
    pub records: Vec<String>,
}

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// The status, by the rules of every gate.
    pub status: Status,
    /// The commit that the work is to be merged into.
    pub base: Oid,
    /// Their merge base.
    pub merge_base: Oid,
    /// What a reviewer should see.
    pub findings: Vec<Finding>,
    /// Who vouches.
    pub vouched_by: Vec<Voucher>,
    /// How many records there are that nobody trusted here vouches for.
    pub unvouched: usize,
    /// Whether there are notes at all.
    pub has_notes: bool,
}

/// An error that fails closed, with the one command that mends it.
fn cannot(message: impl Into<String>, mends: &str) -> Error {
    Error::new(ErrorKind::CannotJudge, message, mends)
}

/// The commits that are asked about: base, head, and their merge base. A CI system's word is compared with the checkout.
pub fn commits(repo: &Repo, asked: &Asked) -> Result<(Oid, Oid, Oid), Error> {
    let cut = cuts(repo);
    if range::commit(repo, "HEAD")?.is_some_and(|here| cut.contains(here.as_str())) {
        return Err(cannot("this clone holds no history below HEAD", mend_history(repo)));
    }
    let head = range::commit(repo, &asked.head)?
        .ok_or_else(|| cannot(format!("{} is not in this clone", asked.head), &fetch(&asked.head)))?;
    let base = base(repo, asked, &head)?;
    let merge_base = range::merge_base(repo, &base, &head)?;
    let merge_base = merge_base.ok_or_else(|| {
        let (base, head) = (base.short(), head.short());
        cannot(format!("{base} and {head} have no common ancestor in this clone"), mend_history(repo))
    })?;
    Ok((base, head, merge_base))
}

/// The commit that `head` is to be merged into: what a merge that the CI system made says itself, else what is named, as
/// far as its branch bears it out.
fn base(repo: &Repo, asked: &Asked, head: &Oid) -> Result<Oid, Error> {
    let here = if asked.at_checkout { range::commit(repo, "HEAD")? } else { None };
    if let Some(here) = here {
        // The parents of a merge that the CI system made cannot be lied about.
        match range::parents(repo, &here)?.as_slice() {
            [onto, _] if asked.queued && here == *head => return Ok(onto.clone()),
            [onto, merged] if asked.synthetic_merge && merged == head => return Ok(onto.clone()),
            _ if here == *head => {}
            _ => {
                let message = format!("the event names {} as head, and the checkout is {}", head.short(), here.short());
                return Err(cannot(message, "check the pull request's own head or merge commit out"));
            }
        }
    }
    let named = range::commit(repo, &asked.base)?;
    let Some(name) = &asked.base_ref else {
        return named.ok_or_else(|| cannot(format!("{} is not in this clone", asked.base), &fetch(&asked.base)));
    };
    let tip = range::commit(repo, name)?.ok_or_else(|| cannot(format!("{name} is not in this clone"), &fetch(name)))?;
    // An older commit of that branch has an older configuration; in a queue, what goes before may not be there yet.
    match named {
        Some(named) if !asked.queued && !range::is_ancestor(repo, &named, &tip)? => {
            let message = format!("{} is named as base, and {name} does not have it", named.short());
            Err(cannot(message, &fetch(name)))
        }
        None if !asked.queued => Err(cannot(format!("{} is not in this clone", asked.base), &fetch(&asked.base))),
        _ => Ok(tip),
    }
}

/// The command that brings a commit, or a branch of origin's, into this clone: also where no refspec is set up.
fn fetch(what: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.".contains(c);
    let what: String = what.chars().filter(|c| plain(*c)).collect();
    match what.strip_prefix("refs/remotes/origin/") {
        Some(branch) => format!("git fetch origin +refs/heads/{branch}:refs/remotes/origin/{branch}"),
        None => format!("git fetch origin {what}"),
    }
}

fn mend_history(repo: &Repo) -> &'static str {
    if cuts(repo).is_empty() { "git fetch origin" } else { "git fetch --unshallow origin" }
}

/// Judges base..head.
pub fn check(repo: &Repo, asked: &Asked, terms: &Terms) -> Result<Checked, Error> {
    let (base, head, merge_base) = commits(repo, asked)?;
    let settings = settings(repo, &base, terms)?;
    let rules = PathRules::new(&settings, None);
    let target = Some(Target { name: asked.base.clone(), id: base.clone() });
    let bounds = Range { anchor: merge_base.clone(), head: head.clone(), target: target.clone() };
    let closed = |e: crate::git::GitError| cannot(e.to_string(), mend_history(repo));
    let read = Reader::new(repo, &rules, &bounds).read_range(&base, &cuts(repo)).map_err(closed)?;
    let mut markers = read.markers;
    // Which loop a marker of the range names cannot be known here; that the range made it can.
    markers.iter_mut().filter(|m| m.own).for_each(|m| m.names = None);
    let facts = Facts {
        anchor: merge_base.clone(),
        head: head.clone(),
        target,
        own: read.own,
        net: read.net,
        code: read.code,
        work_tree: WorkTree::NotLooked,
        markers,
        remote_slug: remote_slug(repo, None),
        tests_running: false,
        task_changed: None,
    };
    let evidence = Evidence::of(repo, &facts, terms)?;
    let mut state = synthetic(&facts, settings, asked.branch.clone(), terms.docs_only, evidence.records)?;
    if let Some(run) = run_tests(repo, &facts, &state, terms)? {
        push_run(&mut state, run);
    }
    let mut findings = look(repo, &facts.net)?;
    findings.extend(without_note(&facts, &evidence.noted));
    let status = view(&facts, &state, Moment::Between);
    let (vouched_by, unvouched, has_notes) = (evidence.vouched_by, evidence.unvouched, evidence.has_notes);
    Ok(Checked { status, base, merge_base, findings, vouched_by, unvouched, has_notes })
}

/// The base commit's configuration, never the head's.
fn settings(repo: &Repo, base: &Oid, terms: &Terms) -> Result<Settings, Error> {
    let place = ".agent/.nav-config.json";
    let text = match &terms.config {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            Some(read.map_err(|e| Error::usage(format!("{}: {e}", path.display()), "name a readable file"))?)
        }
        None => range::file_at(repo, base, place)?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    let shown =
        terms.config.as_ref().map_or_else(|| format!("{place} of {}", base.short()), |p| p.display().to_string());
    let mut settings = config::of_text(&shown, text.as_deref(), terms.flags.clone())?;
    if let Some(Some(command)) = &terms.run_tests {
        settings.test_command = Some(CommandSpec::Shell(command.clone()));
    }
    Ok(settings)
}

/// A loop over the range, made from nothing but the terms and what may be believed.
fn synthetic(
    facts: &Facts,
    settings: Settings,
    branch: Option<String>,
    docs_only: bool,
    records: Vec<Record>,
) -> Result<LoopState, Error> {
    let started = LoopStarted {
        kind: "check".to_owned(),
        task_blob: facts.head.null_like(),
        title: "check".to_owned(),
        task_file: None,
        branch,
        target: facts.target.as_ref().map(|t| t.name.clone()),
        config: settings,
        clone: String::new(),
        driver: Driver::Commit,
        ticket: None,
        docs_only,
        promise_sha: None,
        nonce_sha: None,
    };
    let mut all = vec![record(facts, Event::LoopStarted(Box::new(started)), "0000")];
    for (n, mut other) in records.into_iter().enumerate() {
        (other.loop_id, other.on, other.epoch) = ("check".to_owned(), facts.anchor.clone(), 0);
        other.seq = n as u64 + 2;
        all.push(other);
    }
    LoopState::fold(all, "check").ok_or_else(|| Error::new(ErrorKind::Internal, "the range cannot be folded", ""))
}

fn record(facts: &Facts, event: Event, id: &str) -> Record {
    Record {
        v: 1,
        id: id.to_owned(),
        on: facts.anchor.clone(),
        loop_id: "check".to_owned(),
        seq: 1,
        at: String::new(),
        commit: None,
        by: "check".to_owned(),
        epoch: 0,
        event,
    }
}

fn push_run(state: &mut LoopState, run: TestRun) {
    state.runs.push(crate::domain::state::Dated { at: String::new(), seq: u64::MAX, what: run });
}

/// Runs the test command on a clean checkout of the judged tree, with an environment that holds no secret.
fn run_tests(repo: &Repo, facts: &Facts, state: &LoopState, terms: &Terms) -> Result<Option<TestRun>, Error> {
    if terms.run_tests.is_none() {
        return Ok(None);
    }
    let command = state.settings.test_command.clone().ok_or_else(|| {
        Error::usage("no test command: the base commit's configuration has none", "--run-tests='cargo test'")
    })?;
    if repo.scratch().is_some() {
        return Err(Error::usage("tests are not run inside a push", "run them in CI: git nav-loop check --run-tests"));
    }
    let tree = CleanTree::of(&facts.head)?;
    let limit = Duration::from_secs(state.settings.test_timeout);
    let ran = process::run(&Job {
        without: REPOSITORY_VARIABLES,
        only: Some(KEPT_VARIABLES),
        aside: true,
        ..Job::new(&command, &tree.dir, limit)
    });
    let (verdict, exit_code) = match ran.ending {
        Ending::Code(0) => (TestVerdict::Pass, Some(0)),
        Ending::Code(code) => (TestVerdict::Fail, Some(code)),
        _ => (TestVerdict::Error, None),
    };
    Ok(Some(TestRun {
        command,
        pinned: true,
        verdict,
        exit_code,
        ms: u64::try_from(ran.took.as_millis()).unwrap_or(u64::MAX),
        head: facts.head.clone(),
        head_after: facts.head.clone(),
        base: facts.anchor.clone(),
        code: facts.code.clone(),
        code_all: None,
        untracked: Vec::new(),
        clean: true,
        failing: Vec::new(),
        why: None,
    }))
}

/// Looks at each changed file; the text of one at a time is held.
fn look(repo: &Repo, net: &[NetChange]) -> Result<Vec<Finding>, Error> {
    let mut looker = Looker::default();
    for change in net.iter().map(|n| &n.change) {
        let path = change.path.to_str_lossy().into_owned();
        let needed = finding::needs_text(&path);
        let text = |entry: &Option<crate::domain::facts::Entry>| -> Result<Option<String>, Error> {
            let Some(entry) = entry else { return Ok(None) };
            if !needed || entry.mode == 0o160_000 {
                return Ok(Some(String::new()));
            }
            let bytes = repo.blob(&entry.id, TEXT_LIMIT)?.unwrap_or_default();
            Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
        };
        looker.add(&ChangedFile { before: text(&change.before)?, after: text(&change.after)?, path });
    }
    Ok(looker.finish())
}

/// Commits without our note, where hooks were on for others of the range.
fn without_note(facts: &Facts, noted: &HashSet<Oid>) -> Vec<Finding> {
    let first = facts.own.iter().position(|c| noted.contains(&c.id));
    let Some(first) = first else { return Vec::new() };
    let bare = facts.own[first..].iter().filter(|c| !noted.contains(&c.id));
    bare.map(|c| Finding {
        rule: Rule::NoNote,
        path: None,
        line: None,
        message: format!("{} carries no note, and earlier commits of the range do", c.id.short()),
    })
    .collect()
}
