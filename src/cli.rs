//! The command line: types only. Help texts are the doc comments.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::{agent::stop_hook::HookClient, render::Language};

pub mod check;
pub mod plumbing;
pub mod run;
pub mod settings;
pub mod task;

use settings::SettingsArgs;

use plumbing::{ExitGateArgs, PhaseDetectorArgs, StagnationDetectorArgs, StatusGeneratorArgs};

const EXIT_CODES: &str = "\
Exit codes:
  0  yes, done            4  paused: stagnation        8  cannot judge
  1  gate closed, go on   5  paused: a limit           9  somebody else holds it
  2  usage or refused     6  needs a person           10  remote or tracker
  3  signal too early     7  no loop here             70  internal error
  128 git error, no repository                       130  interrupted";

/// Let git prove that the agent is done
///
/// Hooks derive completion indicators from the object database and keep the loop's state in refs/notes/nav-loop.
/// The gate opens when enough indicators are met and somebody has said explicitly that the task is finished.
#[derive(Debug, Parser)]
#[command(name = "git-nav-loop", bin_name = "git nav-loop", version, after_help = EXIT_CODES, max_term_width = 100)]
pub struct Cli {
    /// Language of what is printed
    #[arg(long, global = true, value_enum, value_name = "LANG")]
    pub lang: Option<Language>,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a loop on this branch
    Start(StartArgs),
    /// Show where the loop stands
    Status(AnswerArgs),
    /// Answer by exit code whether the task is done
    Gate(AnswerArgs),
    /// Say for each indicator why, with object ids to check by hand
    Explain(AnswerArgs),
    /// Run the tests and record for which code they passed
    Test(TestArgs),
    /// Give the explicit word that the task is finished, or cannot be
    Signal(SignalArgs),
    /// Record an indicator that git cannot show by itself
    Record(RecordArgs),
    /// Ask the tracker for the loop's ticket, or close it there
    Ticket(TicketArgs),
    /// Write a completion marker and record it
    Mark(MarkArgs),
    /// Complete the loop, when the gate is open
    Complete(CompleteArgs),
    /// End one iteration by hand and show where the loop stands
    Step(AnswerArgs),
    /// Let an agent work until the gate opens, the loop pauses, or a limit ends it
    Run(run::RunArgs),
    /// Work through a frozen, approved set of tasks
    Task(Box<task::TaskArgs>),
    /// Judge a range before it is merged, in any clone, believing nobody
    Check(check::CheckArgs),
    /// Write an in-toto statement on a recorded test run
    Attest(check::AttestArgs),
    /// Derive every recorded verdict again from objects
    Replay(check::ReplayArgs),
    /// Exchange the journal with a remote
    Sync(check::SyncArgs),
    /// Decide how a paused loop goes on
    Resume(ResumeArgs),
    /// Say what repeats and what is missing
    Diagnose(AnswerArgs),
    /// Show one row for each iteration
    Log(LogArgs),
    /// Tell whether the prompt on stdin asks for a loop
    Trigger,
    /// Answer an agent client's own hook, on stdin and stdout
    AgentHook(run::AgentHookArgs),
    /// Take over a loop that another clone started
    Adopt(AdoptArgs),
    /// Fold the journal of an ended loop
    Compact(CompactArgs),
    /// End the loop without completing it
    Abort(AbortArgs),
    /// List the loops of this repository
    List(AnswerArgs),
    /// Show the net change since the loop started
    Diff(DiffArgs),
    /// Put the hooks into this repository, or a stop hook into an agent's settings
    Install(InstallArgs),
    /// Take out what install put in
    Uninstall(UninstallArgs),
    /// Check hooks, journal and settings
    Doctor(DoctorArgs),
    /// Evaluate the gate from arguments alone
    ExitGate(ExitGateArgs),
    /// Tell the phase from arguments alone
    PhaseDetector(PhaseDetectorArgs),
    /// Print a status block from arguments alone
    StatusGenerator(StatusGeneratorArgs),
    /// Tell from arguments alone whether a loop goes round in place
    StagnationDetector(StagnationDetectorArgs),
    /// Print or write the man pages
    Man(ManArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
    /// What the hook programs hand their work to
    #[command(hide = true)]
    Hook(HookArgs),
}

/// Arguments of commands that answer a question.
#[derive(Debug, Args)]
pub struct AnswerArgs {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `log`.
#[derive(Debug, Args)]
pub struct LogArgs {
    /// Print what the agent printed in iteration N of a run
    #[arg(long, value_name = "N", conflicts_with = "json")]
    pub output: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `complete`.
#[derive(Debug, Args)]
pub struct CompleteArgs {
    /// Commit what is left, and what the completion itself writes
    #[arg(long)]
    pub commit: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `adopt`.
#[derive(Debug, Args)]
pub struct AdoptArgs {
    /// The loop's id
    #[arg(value_name = "LOOP")]
    pub loop_id: String,
}

/// Arguments of `compact`.
#[derive(Debug, Args)]
pub struct CompactArgs {
    /// The loop's id; the newest loop of this branch by default
    #[arg(value_name = "LOOP")]
    pub loop_id: Option<String>,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Mend what is ours: lost events, double notes, local files, the spool
    #[arg(long)]
    pub repair: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Write every page into this folder instead of printing the first
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Arguments of `start`.
#[derive(Debug, Args)]
pub struct StartArgs {
    /// The task, in words
    #[arg(value_name = "TASK", required_unless_present = "task_file")]
    pub task: Vec<String>,
    /// Take the task from this file; the text is frozen
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    pub task_file: Option<PathBuf>,
    /// The branch that the work will be merged into
    #[arg(long, value_name = "REF")]
    pub target: Option<String>,
    /// The ticket, e.g. 12, owner/repo#12, KEY-12
    #[arg(long, value_name = "TICKET")]
    pub ticket: Option<String>,
    /// The task is about documentation: it stands for code
    #[arg(long)]
    pub docs_only: bool,
    /// Accept <promise>TEXT</promise> as the exit signal, from an agent under run
    #[arg(long, value_name = "TEXT")]
    pub promise: Option<String>,
    /// Draw a secret word that every signal must carry
    #[arg(long)]
    pub nonce: bool,
    /// The loop's settings
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `test`.
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Kill the run after this time (90, 90s, 15m, 2h)
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Run in a clean temporary work tree of HEAD
    #[arg(long)]
    pub clean: bool,
    /// Wait for a run that is under way instead of giving up
    #[arg(long)]
    pub wait: bool,
    /// The command; without it, the loop's test command
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

/// Arguments of `signal`.
#[derive(Debug, Args)]
pub struct SignalArgs {
    /// What to say
    #[command(subcommand)]
    pub word: SignalWord,
}

/// What a signal says.
#[derive(Debug, Subcommand)]
pub enum SignalWord {
    /// The task is finished
    Exit {
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
        /// The loop's secret word
        #[arg(long, value_name = "WORD")]
        nonce: Option<String>,
    },
    /// The task is not finished: a veto
    False {
        /// Why
        #[arg(long, default_value = "")]
        reason: String,
        /// The loop's secret word
        #[arg(long, value_name = "WORD")]
        nonce: Option<String>,
    },
    /// The task cannot be finished: the loop pauses
    Fail {
        /// Why
        #[arg(long)]
        reason: String,
        /// The loop's secret word
        #[arg(long, value_name = "WORD")]
        nonce: Option<String>,
    },
}

/// Arguments of `record`.
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// The indicator: code_simplified
    pub indicator: String,
}

/// Arguments of `ticket`.
#[derive(Debug, Args)]
pub struct TicketArgs {
    /// What to do
    #[command(subcommand)]
    pub act: TicketAct,
}

/// What is done with a ticket.
#[derive(Debug, Subcommand)]
pub enum TicketAct {
    /// Answer by exit code whether the ticket is closed, and record it
    Check(TicketName),
    /// Close the ticket as completed, and record it
    Close(TicketName),
}

/// Which ticket.
#[derive(Debug, Args)]
pub struct TicketName {
    /// The ticket, e.g. 12 or owner/repo#12; the loop's by default
    pub ticket: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `mark`.
#[derive(Debug, Args)]
pub struct MarkArgs {
    /// A name for the file; the ticket or the task by default
    pub name: Option<String>,
}

/// Arguments of `resume`.
#[derive(Debug, Args)]
pub struct ResumeArgs {
    /// Point this branch at the loop that a marker names
    #[arg(long, value_name = "FILE")]
    pub marker: Option<PathBuf>,
    /// How to go on
    #[command(subcommand)]
    pub choice: Option<Choice>,
}

/// How a paused loop goes on.
#[derive(Debug, Subcommand)]
pub enum Choice {
    /// Try one more iteration
    Continue,
    /// Explain what blocks; the text goes into the next prompt
    Clarify {
        /// The explanation
        text: String,
    },
    /// Allow more iterations
    Extend {
        /// How many
        #[arg(default_value_t = 3)]
        n: u32,
    },
    /// Accept the current state as done
    Complete,
    /// Take the present configuration over
    Reconfigure,
}

/// Arguments of `abort`.
#[derive(Debug, Args)]
pub struct AbortArgs {
    /// Why
    #[arg(long, default_value = "")]
    pub reason: String,
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// Show the changes themselves, not the paths
    #[arg(short, long)]
    pub patch: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "patch")]
    pub json: bool,
}

/// Arguments of `install`.
#[derive(Debug, Args)]
pub struct InstallArgs {
    /// Keep a hook that is there and run it first
    #[arg(long)]
    pub chain: bool,
    /// Install even where core.hooksPath leads outside this repository
    #[arg(long)]
    pub into_global: bool,
    /// Copy the programs instead of linking to them
    #[arg(long)]
    pub copy: bool,
    /// Use hook.nav-loop-* settings (git 2.54 and newer)
    #[arg(long, conflicts_with_all = ["chain", "copy", "into_global"])]
    pub config_hooks: bool,
    /// Put the stop hook into this client's settings in the work tree, and touch no git hook
    #[arg(long, value_enum, value_name = "CLIENT", conflicts_with_all = ["chain", "copy", "into_global", "config_hooks"])]
    pub agent: Option<HookClient>,
}

/// Arguments of `uninstall`.
#[derive(Debug, Args)]
pub struct UninstallArgs {
    /// Delete the journal and everything recorded, too
    #[arg(long)]
    pub purge: bool,
    /// Take only this client's stop hook out of its settings
    #[arg(long, value_enum, value_name = "CLIENT", conflicts_with = "purge")]
    pub agent: Option<HookClient>,
}

/// Arguments of the hidden `hook`.
#[derive(Debug, Args)]
pub struct HookArgs {
    /// The hook's name
    pub name: String,
    /// What git handed it
    pub args: Vec<String>,
}

impl Command {
    /// Whether JSON was asked for; decides how an error is printed.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Status(a) | Self::Gate(a) | Self::Explain(a) | Self::Step(a) => a.json,
            Self::List(a) | Self::Diagnose(a) => a.json,
            Self::Log(a) => a.json,
            Self::Replay(a) => a.json,
            Self::Check(a) => a.format == check::Format::Json,
            Self::Task(a) => match &a.act {
                None => a.new.json,
                Some(
                    task::TaskAct::List { json, .. } | task::TaskAct::Show { json, .. } | task::TaskAct::Graph { json },
                ) => *json,
                Some(_) => false,
            },
            Self::Complete(a) => a.json,
            Self::Ticket(TicketArgs { act: TicketAct::Check(a) | TicketAct::Close(a) }) => a.json,
            Self::Doctor(a) => a.json,
            Self::Start(a) => a.json,
            Self::Diff(a) => a.json,
            _ => false,
        }
    }
}
