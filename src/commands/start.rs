//! `start`: begins a loop on this branch and prints the banner.

use std::path::Path;

use crate::{
    begin::{Begun, Options, Task, begin, refuse_nested},
    cli::StartArgs,
    config::{self, Found},
    context::{COMMAND_PATIENCE, Context, writer},
    domain::settings::Settings,
    error::Error,
    exit_code::ExitCode,
    git::repo::Repo,
    render::text,
};

pub(super) fn run(context: &Context, args: StartArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let top = repo.need_work_tree()?.to_owned();
    refuse_nested(&repo)?;
    let task = read_task(&top, &args)?;
    let Found { settings, has_loop_mode } = config::find(&repo, args.settings.flags())?;
    let options = Options {
        target: args.target,
        ticket: args.ticket,
        docs_only: args.docs_only,
        promise: args.promise,
        nonce: args.nonce,
    };
    let begun = begin(&repo, &writer("start", COMMAND_PATIENCE), &task, settings.clone(), options)?;
    if let Some(why) = &begun.waiting {
        context.warn(&format!("recorded, not yet in the notes: {why}"));
    }
    show(context, &begun, &task, &settings, has_loop_mode);
    Ok(ExitCode::Done)
}

fn show(context: &Context, begun: &Begun, task: &Task, settings: &Settings, has_loop_mode: bool) {
    let (max, threshold) = (settings.max_iterations, settings.stagnation_threshold);
    if context.json {
        let pointer = &begun.pointer;
        let said = serde_json::json!({
            "v": 1, "loop_id": pointer.id, "anchor": pointer.anchor, "branch": pointer.branch, "task": task.title,
            "max_iterations": max, "stagnation_threshold": threshold, "nonce": begun.nonce, "exit_code": 0,
        });
        return context.say(&said.to_string());
    }
    let p = context.language.phrases();
    if !has_loop_mode {
        context.say(p.no_config);
        context.say(p.using_defaults);
    }
    context.print(&text::start_block(context.language, &task.title, max, threshold));
    context.say(&format!("{}{}{}", p.loop_id, p.colon, begun.pointer.id));
    if let Some(nonce) = &begun.nonce {
        context.say(&format!("nonce{}{nonce}", p.colon));
    }
}

fn read_task(top: &Path, args: &StartArgs) -> Result<Task, Error> {
    match &args.task_file {
        Some(path) => Task::of_file(top, path),
        None => Task::of_words(args.task.join(" "))
            .ok_or_else(|| Error::usage("the task is empty", "git nav-loop start \"what is to be done\"")),
    }
}
