//! The command lines of `run` and `agent-hook`.

use std::path::PathBuf;

use clap::Args;

use super::settings::SettingsArgs;
use crate::{
    agent::{last_message::Client, stop_hook::HookClient},
    driver::{OnLimit, TestPolicy},
};

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The task, where no loop is under way
    #[arg(long, value_name = "TASK", conflicts_with = "task_file")]
    pub task: Option<String>,
    /// Take the task from this file
    #[arg(long, value_name = "FILE")]
    pub task_file: Option<PathBuf>,
    /// The settings of a loop that this starts
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Go on with the loop that is here; never start one
    #[arg(long)]
    pub resume: bool,
    /// How the agent's output is read; told by the program's name otherwise
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub agent: Option<Client>,
    /// When the loop's test command is run
    #[arg(long, value_enum, default_value_t = TestPolicy::Claim, value_name = "WHEN")]
    pub tests: TestPolicy,
    /// Kill the agent when one iteration takes longer (90, 90s, 15m, 2h)
    #[arg(long, value_name = "TIME")]
    pub iteration_timeout: Option<String>,
    /// Pause when the agent has worked so long, over all runs of this loop
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<String>,
    /// Pause when the agent has cost so much, in US dollars, where its client tells
    #[arg(long, value_name = "USD")]
    pub max_cost: Option<f64>,
    /// What to do when the agent's client reaches its usage limit
    #[arg(long, value_enum, default_value_t = OnLimit::Wait, value_name = "WHAT")]
    pub on_limit: OnLimit,
    /// Commit what the agent left after each iteration, before it is judged
    #[arg(long)]
    pub commit: bool,
    /// Print the prompt and the command, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// The agent; the prompt goes to its stdin, or in place of {prompt} or {prompt_file}
    #[arg(last = true, value_name = "AGENT")]
    pub command: Vec<String>,
}

/// Arguments of `agent-hook`.
#[derive(Debug, Args)]
pub struct AgentHookArgs {
    /// The client
    #[arg(value_enum)]
    pub client: HookClient,
    /// The event, where the input does not name it
    pub event: Option<String>,
}
