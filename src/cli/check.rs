//! The command lines of `check`, `attest`, `replay` and `sync`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// How a check is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// The gate's keys and the check's.
    Json,
    /// Annotations of GitHub Actions, with step summary and outputs.
    Github,
    /// GitLab's code quality report.
    Gitlab,
    /// JUnit XML.
    Junit,
    /// A Markdown table.
    Markdown,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The commit or branch that the work is to be merged into; told by GitHub Actions and GitLab CI otherwise
    #[arg(long, value_name = "COMMIT")]
    pub base: Option<String>,
    /// The commit that is judged; HEAD where no CI system tells
    #[arg(long, value_name = "COMMIT")]
    pub head: Option<String>,
    /// Run the test command on a clean checkout of the judged tree, without secrets in its environment
    #[arg(long, value_name = "CMD", num_args = 0..=1, require_equals = true)]
    pub run_tests: Option<Option<String>>,
    /// Indicators of which each must be met
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub require: Vec<String>,
    /// Documentation stands for code
    #[arg(long)]
    pub docs_only: bool,
    /// Open the gate without an exit signal
    #[arg(long)]
    pub no_require_signal: bool,
    /// How to print it
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    pub format: Format,
    /// Believe records that one of these keys has signed (ssh's allowed signers)
    #[arg(long, value_name = "FILE")]
    pub allowed_signers: Option<PathBuf>,
    /// The notes commit that records are taken from; refs/notes/nav-loop by default
    #[arg(long, value_name = "COMMIT")]
    pub notes: Option<String>,
    /// Believe every record in the notes
    #[arg(long)]
    pub trust_notes: bool,
    /// Let each finding fail the check
    #[arg(long)]
    pub strict: bool,
    /// Take the settings from this file, not from the base commit
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// Arguments of `attest`.
#[derive(Debug, Args)]
pub struct AttestArgs {
    /// The commit
    #[arg(default_value = "HEAD")]
    pub commit: String,
    /// Sign it with this SSH key, and record the envelope
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Write it to this file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The loop's id; that of this branch by default
    #[arg(value_name = "LOOP")]
    pub loop_id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `sync`.
#[derive(Debug, Args)]
pub struct SyncArgs {
    /// The remote
    #[arg(default_value = "origin")]
    pub remote: String,
    /// How long to try (90, 90s, 15m)
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub timeout: String,
}
