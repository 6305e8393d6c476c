//! `task`: plan, approval, and what a person does with a set (spec 2). One file below for each group of acts.

mod import;
mod plan;
mod resume;
mod step;
mod view;

use crate::{
    agent::last_message::Client,
    cli::task::{DriveArgs, TaskAct, TaskArgs},
    config::{self, Flags},
    context::Context,
    domain::{settings::CommandSpec, task_set::state::SetStatus},
    driver::{OnLimit, Spec, TestPolicy},
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::task_set as words,
    task_set::{drive::drive, steps::Tools, store::Store},
};

pub(super) fn run(context: &Context, args: TaskArgs) -> Result<ExitCode, Error> {
    match args.act {
        None => plan::run(context, &args.new),
        Some(TaskAct::Resume(args)) => resume::run(context, &args),
        Some(TaskAct::Run(args)) => step::run(context, &args, crate::domain::task_set::decision::Skill::Run),
        Some(TaskAct::Verify(args)) => step::run(context, &args, crate::domain::task_set::decision::Skill::Verify),
        Some(TaskAct::Checkup(args)) => step::run(context, &args, crate::domain::task_set::decision::Skill::Checkup),
        Some(TaskAct::Accept { key }) => step::accept(context, &key),
        Some(TaskAct::Reject { key, text }) => step::reject(context, &key, &text),
        Some(TaskAct::List { all, .. }) => view::list(context, all),
        Some(TaskAct::Show { key, .. }) => view::show(context, &key),
        Some(TaskAct::Graph { .. }) => view::graph(context),
        Some(TaskAct::Import { yes, from }) => import::run(context, yes, from.as_deref()),
    }
}

/// How the agent is started, and the flags of each task's loop.
fn agent(repo: &Repo, args: &DriveArgs, needed: bool) -> Result<(Spec, Flags), Error> {
    let command = match config::agent(repo, &args.command, "git nav-loop task …") {
        Err(_) if !needed => CommandSpec::Argv(Vec::new()),
        found => found?,
    };
    if args.settings.iteration_approval.is_some() {
        let message = "--iteration-approval is no part of a set, which asks at its halts";
        return Err(Error::usage(message, "git nav-loop run --iteration-approval"));
    }
    let program = command.to_string().split_whitespace().next().unwrap_or_default().to_owned();
    let timeout = args.iteration_timeout.as_ref().map(|t| config::time("--iteration-timeout", t)).transpose()?;
    let spec = Spec {
        client: args.agent.unwrap_or_else(|| Client::of_program(&program)),
        command,
        tests: TestPolicy::Claim,
        iteration_timeout: timeout,
        max_time: None,
        max_cost_micros: None,
        on_limit: OnLimit::Stop,
        commit: true,
        aside: false,
        commit_subject: None,
        set: None,
    };
    Ok((spec, args.settings.flags()))
}

/// Drives, and says how it ended.
fn go(context: &Context, store: &mut Store<'_>, spec: &Spec, flags: &Flags) -> Result<ExitCode, Error> {
    let quiet = Context { silent: context.json, ..*context };
    let spec = Spec { aside: context.json, ..spec.clone() };
    let driven = drive(store, &Tools { context: &quiet, spec: &spec, flags });
    if let Err(e) = driven {
        quiet.print(&words::context(context.language, &store.set));
        return Err(e);
    }
    let code = code_of(store);
    if context.json {
        context.say(&words::set_json(&store.set, code.number()).to_string());
    } else {
        context.print(&words::context(context.language, &store.set));
    }
    Ok(code)
}

fn code_of(store: &Store<'_>) -> ExitCode {
    match store.set.status {
        SetStatus::Completed => ExitCode::Done,
        SetStatus::Cancelled => ExitCode::Closed,
        SetStatus::Halted | SetStatus::Running => ExitCode::NeedsPerson,
    }
}

/// One line from a person on a terminal; `None` at its end, or on an interrupt.
fn ask(context: &Context, question: &str) -> Option<String> {
    context.print(question);
    let mut line = String::new();
    let read = std::io::stdin().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim().to_owned())
}

fn place(store: &Store<'_>, key: &str) -> Result<usize, Error> {
    store.set.place(key).ok_or_else(|| {
        let hint = format!("git nav-loop task list names those of {}", store.set.id);
        Error::refused(format!("no task {key:?} in this set"), hint)
    })
}
