//! One file for each subcommand: arguments → turn → render. Commands do not call one another.

mod abort;
mod adopt;
mod agent_hook;
mod attest;
mod check;
mod compact;
mod complete;
mod completions;
mod diagnose;
mod diff;
mod doctor;
mod exit_gate;
mod explain;
mod gate;
mod hook;
mod install;
mod list;
mod log;
mod man;
mod mark;
mod phase_detector;
mod record;
mod replay;
mod resume;
mod run;
mod signal;
mod stagnation_detector;
mod start;
mod status;
mod status_generator;
mod step;
mod sync;
mod task;
mod test;
mod ticket;
mod trigger;
mod uninstall;

mod plumbing;
mod question;
mod recording;

use clap::Parser;

use crate::{
    cli::{Cli, Command, HookArgs},
    context::Context,
    error::Error,
    exit_code::ExitCode,
    render::{json, visible::visible},
};

/// Runs the program: parse, dispatch, print the error if there is one.
pub fn run() -> ExitCode {
    // The hook programs call us after every commit: building the whole command line costs more than the look at HEAD.
    let mut words = std::env::args_os().skip(1).map(|w| w.to_string_lossy().into_owned());
    if words.next().as_deref() == Some("hook")
        && let Some(name) = words.next()
    {
        return hook::run(&HookArgs { name, args: words.filter(|w| w != "--").collect() });
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            drop(e.print());
            return if e.use_stderr() { ExitCode::Usage } else { ExitCode::Done };
        }
    };
    let context = Context::new(cli.lang, cli.command.wants_json());
    dispatch(cli.command, &context).unwrap_or_else(|e| report(&context, &e))
}

fn dispatch(command: Command, context: &Context) -> Result<ExitCode, Error> {
    match command {
        Command::Start(args) => start::run(context, args),
        Command::Status(_) => status::run(context),
        Command::Gate(_) => gate::run(context),
        Command::Explain(_) => explain::run(context),
        Command::Test(args) => test::run(context, args),
        Command::Signal(args) => signal::run(context, args),
        Command::Record(args) => record::run(context, &args),
        Command::Ticket(args) => ticket::run(context, args.act),
        Command::Task(args) => task::run(context, *args),
        Command::Check(args) => check::run(context, &args),
        Command::Replay(args) => replay::run(context, &args),
        Command::Sync(args) => sync::run(context, &args),
        Command::Attest(args) => attest::run(context, &args),
        Command::Mark(args) => mark::run(context, args),
        Command::Complete(args) => complete::run(context, &args),
        Command::Step(_) => step::run(context),
        Command::Run(args) => run::run(context, args),
        Command::Resume(args) => resume::run(context, args),
        Command::Abort(args) => abort::run(context, args),
        Command::Diagnose(_) => diagnose::run(context),
        Command::Log(args) => log::run(context, &args),
        Command::Trigger => trigger::run(context),
        Command::AgentHook(args) => Ok(agent_hook::run(context, &args)),
        Command::Adopt(args) => adopt::run(context, &args),
        Command::Compact(args) => compact::run(context, &args),
        Command::List(_) => list::run(context),
        Command::Diff(args) => diff::run(context, &args),
        Command::Install(args) => install::run(context, &args),
        Command::Uninstall(args) => uninstall::run(context, &args),
        Command::Doctor(args) => doctor::run(context, &args),
        Command::ExitGate(args) => exit_gate::run(context, &args),
        Command::PhaseDetector(args) => phase_detector::run(context, &args),
        Command::StatusGenerator(args) => status_generator::run(context, &args),
        Command::StagnationDetector(args) => stagnation_detector::run(context, &args),
        Command::Man(args) => man::run(context, &args),
        Command::Completions(args) => completions::run(context, &args),
        Command::Hook(args) => Ok(hook::run(&args)),
    }
}

fn report(context: &Context, error: &Error) -> ExitCode {
    if context.json {
        context.say(&json::error(error).to_string());
    } else {
        context.warn(&visible(&error.message));
        if !error.hint.is_empty() {
            context.warn(&visible(&error.hint));
        }
    }
    error.kind.exit_code()
}
