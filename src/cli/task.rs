//! The command line of `task`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::settings::SettingsArgs;
use crate::agent::last_message::Client;

/// Arguments of `task`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct TaskArgs {
    /// What is done with a set that is there
    #[command(subcommand)]
    pub act: Option<TaskAct>,
    /// A new set
    #[command(flatten)]
    pub new: NewSetArgs,
}

/// A new set.
#[derive(Debug, Args)]
pub struct NewSetArgs {
    /// PRD.md, prd.json, '#12', '#45 #47', first 3, 前 3 条 issue, all open, 所有 OPEN
    #[arg(value_name = "WORDS")]
    pub words: Vec<String>,
    /// Print the plan and stop
    #[arg(long)]
    pub plan: bool,
    /// Approve the plan of this revision, where no terminal is there to ask
    #[arg(long, value_name = "REVISION")]
    pub approve: Option<String>,
    /// Never enough by itself
    #[arg(long, hide = true)]
    pub yes: bool,
    /// Ask the agent to break the document down into tasks
    #[arg(long)]
    pub decompose: bool,
    /// After the approval, make an issue of each task of a document
    #[arg(long)]
    pub publish: bool,
    /// Push what is verified; never by force
    #[arg(long)]
    pub push: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// How the tasks are worked on
    #[command(flatten)]
    pub drive: DriveArgs,
}

/// How the tasks are worked on.
#[derive(Debug, Args)]
pub struct DriveArgs {
    /// The settings of each task's loop
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// How the agent's output is read; told by the program's name otherwise
    #[arg(long, value_enum, value_name = "CLIENT")]
    pub agent: Option<Client>,
    /// Kill the agent when one iteration takes longer (90, 90s, 15m, 2h)
    #[arg(long, value_name = "TIME")]
    pub iteration_timeout: Option<String>,
    /// The agent; the prompt goes to its stdin, or in place of {prompt} or {prompt_file}
    #[arg(last = true, value_name = "AGENT")]
    pub command: Vec<String>,
}

/// What is done with a set that is there.
#[derive(Debug, Subcommand)]
pub enum TaskAct {
    /// Decide how a halted set goes on
    Resume(ResumeSetArgs),
    /// Run one task, by hand
    Run(StepArgs),
    /// Verify one task, by hand
    Verify(StepArgs),
    /// Finalize one task, by hand
    Checkup(StepArgs),
    /// Accept what no check can prove
    Accept {
        /// The task
        key: String,
    },
    /// Reject it: one failure, whose words go into the next prompt
    Reject {
        /// The task
        key: String,
        /// What is wrong
        text: String,
    },
    /// Show the newest set's tasks, or every set
    List {
        /// Every set of this repository
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one task whole
    Show {
        /// The task
        key: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw who waits for whom
    Graph {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take in what the public /mino-* skills wrote below .mino/
    Import {
        /// Take it in; without this it is only shown
        #[arg(long)]
        yes: bool,
        /// Another folder than the repository's .mino
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
    },
}

/// Arguments of `task resume`.
#[derive(Debug, Args)]
pub struct ResumeSetArgs {
    /// The set's id
    #[arg(value_name = "LOOP")]
    pub loop_id: String,
    /// How to go on
    #[arg(value_enum, value_name = "CHOICE")]
    pub choice: Option<SetChoice>,
    /// The task that is skipped, with everything that hangs on it
    #[arg(value_name = "KEY", required_if_eq("choice", "skip"))]
    pub key: Option<String>,
    /// Approve the document as it is now, by its revision
    #[arg(long, value_name = "REVISION")]
    pub approve: Option<String>,
    /// Allow so many transitions more
    #[arg(long, value_name = "N")]
    pub budget: Option<u32>,
    /// How the tasks are worked on
    #[command(flatten)]
    pub drive: DriveArgs,
}

/// How a halted set goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SetChoice {
    /// Look again at what halted it
    Continue,
    /// Cancel one task and everything that hangs on it
    Skip,
    /// End the set
    Cancel,
}

/// Arguments of a step by hand.
#[derive(Debug, Args)]
pub struct StepArgs {
    /// The task
    pub key: String,
    /// How it is worked on
    #[command(flatten)]
    pub drive: DriveArgs,
}
