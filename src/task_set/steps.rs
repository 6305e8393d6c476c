//! The three steps of one task: run, verify, checkup (spec 2.3). Each looks, acts, and says what it came to.
//!
//! In: a set, a task, how the agent is started. Out: the outcome for the journal. The agent is believed nothing.

use std::{collections::HashSet, time::Duration};

use crate::{
    agent::process::{self, Ending, Job},
    begin::{self, Options},
    config::{self, Flags},
    context::{COMMAND_PATIENCE, Context, writer},
    domain::{
        event::{Driver, Event},
        path_rules::PathClass,
        settings::{CommandSpec, IterationApproval, Settings},
        state::LoopStatus,
        task_set::{
            plan::{Executability, Plan, Shape, Task},
            revision,
            state::SetState,
            task::{Basis, BlockingCheck, Ran, Verified},
        },
        ticket::Ticket,
    },
    driver::{self, Outcome, Spec},
    error::{Error, ErrorKind},
    git::{
        commit,
        lock::Lock,
        loops,
        program::{Git, REPOSITORY_VARIABLES},
        repo::Repo,
        work_tree::CleanTree,
    },
    task_set::{
        lease::main_tree,
        resolve,
        run_lock::{RunLock, Untouched},
    },
    tracker,
    turn::Turn,
};

/// Failures of the agent in a row that block the task.
const FAILURES: u32 = 3;

/// Everything a step needs beside the set.
#[derive(Debug)]
pub struct Tools<'a> {
    /// What is printed, and in which language.
    pub context: &'a Context,
    /// The agent, and its limits.
    pub spec: &'a Spec,
    /// Flags of the inner loop.
    pub flags: &'a Flags,
}

/// The interrupt of a step, as an error that the driver tells apart.
pub fn interrupted() -> Error {
    Error::new(ErrorKind::Interrupted, "interrupted", "git nav-loop task resume")
}

/// Runs task `at`: pre-flight, then the inner loop until it ends.
pub fn run(repo: &Repo, set: &SetState, at: usize, tools: &Tools<'_>) -> Result<Ran, Error> {
    let task = &set.plan.tasks[at];
    close_orphan(repo)?;
    if let Some(check) = preflight(repo, set, task)? {
        return Ok(Ran::Preflight(check));
    }
    let _run_lock = match RunLock::take(repo, set, task)? {
        Some(lock) => lock,
        None => return Ok(Ran::Preflight(BlockingCheck::RunLockHeld)),
    };
    if begin::refuse_nested(repo).is_err() {
        return Ok(Ran::Preflight(BlockingCheck::LoopUnderWay));
    }
    let untouched = Untouched::of(repo, set, task)?;
    let settings = settings(repo, set, task, tools.flags)?;
    let words = begin::Task { text: prompt_text(set, at), title: task.title.clone(), file: None };
    let options = Options { docs_only: task.kind == "docs" || task.kind == "documentation", ..Options::default() };
    begin::begin(repo, &writer("task", COMMAND_PATIENCE), &words, settings, options)?;
    let repo = Repo::discover()?;
    let mut turn = Turn::need(&repo)?;
    let _driver = Lock::try_take(driver::lock_file(&repo, &turn.state.id))?;
    driver::append(&mut turn, vec![Event::DriverChanged { driver: Driver::Task }])?;
    let subject = format!("[run] {}: {}", set.plan.label(&task.task_key), task.title);
    let spec = Spec { commit: true, commit_subject: Some(subject), set: Some(set.id.clone()), ..tools.spec.clone() };
    let ran = iterations(&mut turn, &spec, tools, &untouched.paths);
    end_inner(&mut turn)?;
    if matches!(ran, Ok(Ran::Completed)) {
        untouched.forget();
    }
    ran
}

/// Goes round the inner loop. It ends in `loop_completed`, or is closed as it stands: verify judges what is there.
fn iterations(turn: &mut Turn<'_>, spec: &Spec, tools: &Tools<'_>, untouched: &HashSet<String>) -> Result<Ran, Error> {
    let mut failures = 0;
    loop {
        match driver::iterate_as(turn, spec, tools.context.language, untouched, Driver::Task)? {
            Outcome::Ended(status, _) => {
                failures = 0;
                let line = crate::render::text::one_line(tools.context.language, &status);
                tools.context.say(line.trim_end());
                if status.gate.is_open() {
                    driver::append(turn, vec![Event::LoopCompleted { basis: "verified".to_owned() }])?;
                    return Ok(Ran::Completed);
                }
                match &turn.state.status {
                    LoopStatus::Running => {}
                    LoopStatus::Paused(crate::domain::event::PauseReason::AgentBlocked) => {
                        return Ok(Ran::AgentBlocked(turn.state.pause_why.clone()));
                    }
                    _ => return Ok(Ran::Completed),
                }
            }
            Outcome::AgentFailed(why) => {
                failures += 1;
                tools.context.warn(&format!(
                    "the agent failed ({failures} of {FAILURES}): {}",
                    crate::render::visible::visible(&why)
                ));
                if failures >= FAILURES {
                    return Ok(Ran::AgentBlocked(format!("the agent failed {FAILURES} times running: {why}")));
                }
            }
            Outcome::NotFound(_) => return Ok(Ran::Preflight(BlockingCheck::AgentNotFound)),
            Outcome::CommitRefused(why) => return Ok(Ran::CommitRefused(why)),
            Outcome::Limit(_) => return Ok(Ran::Completed),
            Outcome::UsageLimit(_, why) => return Ok(Ran::AgentBlocked(format!("usage limit: {why}"))),
            Outcome::Interrupted => return Err(interrupted()),
        }
    }
}

fn end_inner(turn: &mut Turn<'_>) -> Result<(), Error> {
    if !turn.state.is_ended() {
        let reason = "run_ended".to_owned();
        driver::append(turn, vec![Event::LoopAborted { reason, who: "nav-loop".to_owned() }])?;
    }
    loops::unregister(turn.repo, &turn.state.id);
    Ok(())
}

/// An inner loop that a killed driver left is closed, and its agent ended.
fn close_orphan(repo: &Repo) -> Result<(), Error> {
    let Some(mut turn) = Turn::here(repo)?.filter(|t| !t.state.is_ended() && t.state.driver == Driver::Task) else {
        return Ok(());
    };
    process::end_leftover(&driver::leader_file(repo, &turn.state.id));
    end_inner(&mut turn)
}

/// What stands in the way before the agent is started.
fn preflight(repo: &Repo, set: &SetState, task: &Task) -> Result<Option<BlockingCheck>, Error> {
    if loops::branch_here(repo)? != set.started.branch {
        return Ok(Some(BlockingCheck::WrongBranch));
    }
    let rules = crate::domain::path_rules::PathRules::new(&Settings::default(), None);
    let untracked: HashSet<String> = commit::untracked(repo)?.into_iter().collect();
    let dirty = commit::uncommitted(repo, |class| class != PathClass::State, &rules)?;
    if dirty.iter().any(|p| !untracked.contains(p)) {
        return Ok(Some(BlockingCheck::DirtyWorkingTree));
    }
    // A tracker that does not answer says nothing.
    let closed =
        task.issue.filter(|_| task_is_of_tracker(&set.plan)).map(|n| tracker::issue(repo.work_tree()?, n).ok());
    if closed.flatten().is_some_and(|issue| issue.closed) {
        return Ok(Some(BlockingCheck::IssueClosedExternally));
    }
    Ok(None)
}

fn task_is_of_tracker(plan: &Plan) -> bool {
    plan.tasks.iter().any(|t| t.issue.is_some())
}

/// The settings of the inner loop: the task's checks are its pinned test command.
fn settings(repo: &Repo, set: &SetState, task: &Task, flags: &Flags) -> Result<Settings, Error> {
    let found = config::find(repo, flags.clone())?.settings;
    let command = check_command(task).or_else(|| set.started.test_command.clone()).or(found.test_command.clone());
    // A set asks a person at its halts, and nowhere in between.
    Ok(Settings { test_command: command, iteration_approval: IterationApproval::None, ..found })
}

/// The checks of a task as one command: each is one script for `sh -e`, in order, and all must exit 0.
pub fn check_command(task: &Task) -> Option<CommandSpec> {
    if task.checks.is_empty() {
        return None;
    }
    let script: String = task.checks.iter().map(|c| format!("(\nset -e\n{}\n)\n", c.trim_end())).collect();
    Some(CommandSpec::Argv(vec!["sh".to_owned(), "-e".to_owned(), "-c".to_owned(), script]))
}

/// The frozen text, with what failed the last time.
fn prompt_text(set: &SetState, at: usize) -> String {
    let (task, state) = (&set.plan.tasks[at], &set.tasks[at]);
    let mut text = String::new();
    if let Some(parent) = task.parent.as_deref().and_then(|p| set.plan.task(p)) {
        text += &format!("Part of: {}\n\n", parent.title);
    }
    text += &task.text;
    if !task.criteria.is_empty() && !task.text.contains(&task.criteria[0]) {
        text += "\n\nAcceptance criteria:\n";
        task.criteria.iter().for_each(|c| text += &format!("- {c}\n"));
    }
    if !state.failure.is_empty() {
        text += &format!("\n\n# What failed in attempt {}\n\n{}\n", state.attempt_count, state.failure);
    }
    text
}

/// Verifies task `at` at HEAD, in a clean temporary work tree, and pushes where that was asked for.
pub fn verify(repo: &Repo, set: &SetState, at: usize, tools: &Tools<'_>) -> Result<Verified, Error> {
    let task = &set.plan.tasks[at];
    let head = repo.head()?.id.ok_or_else(|| Error::refused("there is no commit to verify yet", "git commit"))?;
    let anchor = head.as_str().to_owned();
    let found = config::find(repo, tools.flags.clone())?.settings;
    let command = check_command(task).or_else(|| set.started.test_command.clone()).or(found.test_command);
    let Some(command) = command else { return Ok(Verified::Unprovable { anchor }) };
    let tree = CleanTree::of(&head)?;
    let limit = Duration::from_secs(found.test_timeout);
    let job = Job { without: REPOSITORY_VARIABLES, aside: tools.spec.aside, ..Job::new(&command, &tree.dir, limit) };
    let ran = process::run(&job);
    let output = match &ran.ending {
        Ending::Code(0) => None,
        Ending::Code(code) => Some(format!("exit code {code}\n{}", ran.tail)),
        Ending::Signal(n) => Some(format!("{}\nkilled by signal {n}", ran.tail)),
        Ending::TimedOut => Some(format!("{}\ntimed out after {} s", ran.tail, limit.as_secs())),
        Ending::CannotStart(why) => Some(format!("the checks cannot be started: {why}")),
        Ending::Interrupted => return Err(interrupted()),
    };
    drop(tree);
    if let Some(output) = output {
        return Ok(Verified::Failed { anchor, output });
    }
    if task.executability == Executability::Manual {
        return Ok(Verified::Unprovable { anchor });
    }
    if !set.started.push {
        return Ok(Verified::Passed { anchor, published: false });
    }
    Ok(match push(repo) {
        Ok(()) => Verified::Passed { anchor, published: true },
        Err(why) => Verified::PublicationFailed { anchor, why: why.message },
    })
}

/// A plain push of this branch, never a forced one, with the user's own hooks.
fn push(repo: &Repo) -> Result<(), Error> {
    let branch = loops::branch_here(repo)?
        .ok_or_else(|| Error::refused("a detached HEAD is not pushed", "git switch -c BRANCH"))?;
    let remote = repo.config_string("branch", Some(&branch), "remote").filter(|r| r != ".");
    let remote = remote.unwrap_or_else(|| "origin".to_owned());
    let call = Git::with_own_hooks("push").without_env("NAV_LOOP_HOOK").arg("--quiet").arg(remote);
    call.arg(format!("refs/heads/{branch}:refs/heads/{branch}")).output()?;
    Ok(())
}

/// Finalizes task `at`: what it is bound to, and on what basis. An issue is closed, unless a person does that.
pub fn checkup(repo: &Repo, set: &SetState, at: usize) -> Result<(String, Option<Basis>, Vec<String>), Error> {
    let task = &set.plan.tasks[at];
    let head = repo.head()?.id.map(|id| id.as_str().to_owned()).unwrap_or_default();
    let mut said = Vec::new();
    if let Some(number) = task.issue.filter(|_| closes_on_done(repo)) {
        let dir = repo.need_work_tree()?;
        if let Err(e) = tracker::close(dir, &Ticket::Number(number)) {
            said.push(format!("#{number} is not closed: {}", e.message));
        }
    }
    let basis = (task.shape == Shape::Composite).then_some(Basis::Aggregated);
    Ok((head, basis, said))
}

/// `issue.close_on_done: manual` in `.mino/config.yml` leaves it to a person.
fn closes_on_done(repo: &Repo) -> bool {
    let Ok(top) = main_tree(repo) else { return true };
    let text = loops::read_file(&top.join(".mino/config.yml")).unwrap_or_default();
    let config: serde_json::Value = serde_saphyr::from_str(&text).unwrap_or_default();
    config["issue"]["close_on_done"] != "manual"
}

/// The revision that the set's document has now; `None` where there is none to look at. Issues are never asked again.
pub fn revision_now(repo: &Repo, set: &SetState) -> Result<Option<String>, Error> {
    let Some(file) = &set.plan.file else { return Ok(None) };
    let path = repo.need_work_tree()?.join(file);
    if !path.exists() {
        return Ok(None);
    }
    if set.plan.decomposed {
        let (text, _) = resolve::text_of(repo, &path)?;
        return Ok(Some(revision::of_text(&text, &set.plan.tasks)));
    }
    // A document that no longer holds a set is not what was approved, either.
    let revision = resolve::of_file(repo, &path).ok().and_then(|(tasks, _)| Some(tasks.first()?.spec_revision.clone()));
    Ok(Some(revision.unwrap_or_else(|| "unreadable".to_owned())))
}
