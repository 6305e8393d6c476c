//! The flags of the seed's four functions: those of the Python functions that they replace, bare and with a value.

use clap::Args;

/// Arguments of `exit-gate`; those of the Python function it replaces.
#[derive(Debug, Args)]
pub struct ExitGateArgs {
    /// Indicators as a JSON object of name to true or false
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub indicators: String,
    /// Whether the exit signal was given
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    pub exit_signal: String,
    /// Whether it is needed
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "true", value_name = "BOOL")]
    pub require_explicit: String,
    /// It is not needed
    #[arg(long)]
    pub no_require_explicit: bool,
    /// Indicators that must be met
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub min_heuristics: u32,
    /// How to print
    #[arg(long, value_enum, default_value_t = OutputForm::Json)]
    pub output: OutputForm,
}

/// Arguments of `phase-detector`.
#[derive(Debug, Args)]
pub struct PhaseDetectorArgs {
    /// A loop begins: the phase is INIT
    #[arg(long)]
    pub init: bool,
    /// Indicators as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub indicators: String,
    /// Whether the exit signal was given
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    pub exit_signal: String,
    /// Whether tests run now
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    pub tests_running: String,
    /// How the last test run ended
    #[arg(long, value_name = "CODE", allow_hyphen_values = true)]
    pub test_exit_code: Option<i64>,
    /// Files changed: a JSON list, a number, or true
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "[]", value_name = "FILES")]
    pub files_changed: String,
    /// Files read: a JSON list, a number, or true
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "[]", value_name = "FILES")]
    pub files_read: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = OutputForm::Json)]
    pub output: OutputForm,
}

/// Arguments of `status-generator`.
#[derive(Debug, Args)]
pub struct StatusGeneratorArgs {
    /// The phase
    #[arg(long, default_value = "INIT")]
    pub phase: String,
    /// The iteration
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub iteration: u32,
    /// The limit of iterations
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub max_iterations: u32,
    /// Indicators as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub indicators: String,
    /// Whether the exit signal was given
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    pub exit_signal: String,
    /// The state hash
    #[arg(long, value_name = "HASH", default_value = "")]
    pub state_hash: String,
    /// The one before
    #[arg(long, value_name = "HASH", default_value = "")]
    pub prev_hash: String,
    /// Equal states in a row
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub stagnation_count: u32,
    /// How many are too many
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub stagnation_threshold: u32,
    /// Indicators that must be met
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub min_heuristics: u32,
    /// What to do next
    #[arg(long, value_name = "TEXT")]
    pub next_action: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = OutputForm::Text)]
    pub output: OutputForm,
}

/// Arguments of `stagnation-detector`.
#[derive(Debug, Args)]
pub struct StagnationDetectorArgs {
    /// The phase
    #[arg(long, default_value = "INIT")]
    pub phase: String,
    /// Indicators as a JSON object
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub indicators: String,
    /// Changed files as a JSON list
    #[arg(long, value_name = "JSON", default_value = "[]")]
    pub files_changed: String,
    /// Earlier hashes as a JSON list, oldest first
    #[arg(long, value_name = "JSON", default_value = "[]")]
    pub history: String,
    /// Equal states that are too many
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub threshold: u32,
    /// An error that stands
    #[arg(long, value_name = "TEXT")]
    pub error_state: Option<String>,
    /// Diversify instead of pausing
    #[arg(long, num_args = 0..=1, default_missing_value = "true", default_value = "false", value_name = "BOOL")]
    pub autonomous: String,
    /// How: combine, radical or reread
    #[arg(long, value_name = "STRATEGY", default_value = "combine")]
    pub diversify_strategy: String,
    /// How to print
    #[arg(long, value_enum, default_value_t = OutputForm::Json)]
    pub output: OutputForm,
}

/// How a plumbing function prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputForm {
    /// One JSON object.
    Json,
    /// Lines.
    Text,
}
