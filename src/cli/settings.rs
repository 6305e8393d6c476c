//! A flag for each setting of a loop: what is typed wins over environment, git config and files.

use clap::Args;
use serde_json::Value;

use crate::config::Flags;

/// The settings of a loop, as flags.
#[derive(Debug, Args)]
#[command(next_help_heading = "Settings of the loop")]
pub struct SettingsArgs {
    /// Iterations before the loop pauses (1-20)
    #[arg(long, value_name = "N")]
    pub max_iterations: Option<u64>,
    /// Equal states before the loop pauses (2-5)
    #[arg(long, value_name = "N")]
    pub stagnation_threshold: Option<u64>,
    /// Indicators that must be met (1-6)
    #[arg(long, value_name = "N")]
    pub min_indicators: Option<u64>,
    /// Indicators of which each must be met
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub required_indicators: Option<Vec<String>>,
    /// Whether the gate waits for an explicit signal
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub exit_requires_explicit_signal: Option<bool>,
    /// The test command, one line for the shell
    #[arg(long, value_name = "CMD", alias = "test-command")]
    pub test: Option<String>,
    /// Kill a test run after this time (90, 90s, 15m, 2h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub test_timeout: Option<u64>,
    /// Look at code below this path only
    #[arg(long, value_name = "PATH")]
    pub scope: Option<String>,
    /// What counts as documentation, as in a .gitignore
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub docs_paths: Option<Vec<String>>,
    /// What counts as a marker
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub marker_paths: Option<Vec<String>>,
    /// What may change without making a test run stale
    #[arg(long, value_name = "PATTERN", value_delimiter = ',')]
    pub inert_paths: Option<Vec<String>>,
    /// When a person is asked: none, strict or periodic
    #[arg(long, value_name = "WHEN")]
    pub iteration_approval: Option<String>,
    /// Iterations between two questions
    #[arg(long, value_name = "N")]
    pub periodic_interval: Option<u64>,
    /// Diversify instead of pausing
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub never_pause_on_stagnation: Option<bool>,
    /// How: combine, radical or reread
    #[arg(long, value_name = "STRATEGY")]
    pub stagnation_diversify_strategy: Option<String>,
    /// The whole block after each iteration, or one line
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
    pub show_status_block: Option<bool>,
    /// How often a stop hook holds an agent before a person speaks again
    #[arg(long, value_name = "N")]
    pub max_stop_blocks: Option<u64>,
}

fn duration(text: &str) -> Result<u64, String> {
    crate::config::parse_duration(text).ok_or_else(|| "write seconds, or 90s, 15m, 2h".to_owned())
}

impl SettingsArgs {
    /// What was typed, by key. Every field is named, so that a new one cannot be forgotten.
    pub fn flags(&self) -> Flags {
        let Self {
            max_iterations,
            stagnation_threshold,
            min_indicators,
            required_indicators,
            exit_requires_explicit_signal,
            test,
            test_timeout,
            scope,
            docs_paths,
            marker_paths,
            inert_paths,
            iteration_approval,
            periodic_interval,
            never_pause_on_stagnation,
            stagnation_diversify_strategy,
            show_status_block,
            max_stop_blocks,
        } = self;
        let typed: [(&'static str, Option<Value>); 17] = [
            ("max_iterations", max_iterations.map(Value::from)),
            ("stagnation_threshold", stagnation_threshold.map(Value::from)),
            ("min_indicators", min_indicators.map(Value::from)),
            ("required_indicators", required_indicators.clone().map(Value::from)),
            ("exit_requires_explicit_signal", exit_requires_explicit_signal.map(Value::from)),
            ("test_command", test.clone().map(Value::from)),
            ("test_timeout", test_timeout.map(Value::from)),
            ("scope", scope.clone().map(Value::from)),
            ("docs_paths", docs_paths.clone().map(Value::from)),
            ("marker_paths", marker_paths.clone().map(Value::from)),
            ("inert_paths", inert_paths.clone().map(Value::from)),
            ("iteration_approval", iteration_approval.clone().map(Value::from)),
            ("periodic_interval", periodic_interval.map(Value::from)),
            ("never_pause_on_stagnation", never_pause_on_stagnation.map(Value::from)),
            ("stagnation_diversify_strategy", stagnation_diversify_strategy.clone().map(Value::from)),
            ("show_status_block", show_status_block.map(Value::from)),
            ("max_stop_blocks", max_stop_blocks.map(Value::from)),
        ];
        typed.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}
