//! What a loop was told: the thresholds, lists and commands that `start` freezes into the journal (spec 1.2).
//!
//! In: values that `config.rs` found. Out: the effective settings, each with the source it came from.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

/// A command of the user's: words that are started as they are, or one line for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CommandSpec {
    /// Program and arguments, no shell between.
    Argv(Vec<String>),
    /// One line for `sh -c` (`cmd /C` on Windows).
    Shell(String),
}

impl CommandSpec {
    /// Whether words typed after `test --` are this command (spec 1.4).
    pub fn is_typed_as(&self, words: &[String]) -> bool {
        match self {
            Self::Argv(argv) => argv == words,
            Self::Shell(line) => *line == words.join(" "),
        }
    }
}

impl fmt::Display for CommandSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Argv(words) => f.write_str(&words.join(" ")),
            Self::Shell(line) => f.write_str(line),
        }
    }
}

/// When a person is asked between iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IterationApproval {
    /// Never.
    #[default]
    None,
    /// After each iteration.
    Strict,
    /// After each `periodic_interval`-th iteration.
    Periodic,
}

/// What an unattended loop tries instead of a stagnation pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiversifyStrategy {
    /// Combine approaches that were tried apart.
    #[default]
    Combine,
    /// Try something radically different.
    Radical,
    /// Read task and code again.
    Reread,
}

/// Navigator's `tom_features`, as far as a loop respects them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TomFeatures {
    /// In VERIFY the prompt asks what was checked and how.
    pub verification_checkpoints: bool,
    /// `.agent/.user-profile.json` goes into the prompt.
    pub profile_enabled: bool,
    /// The prompt anchors anew shortly before the streak reaches the threshold.
    pub belief_anchors: bool,
    /// A stagnation pause carries its diagnosis.
    pub diagnose_enabled: bool,
}

impl Default for TomFeatures {
    fn default() -> Self {
        Self { verification_checkpoints: false, profile_enabled: false, belief_anchors: true, diagnose_enabled: true }
    }
}

impl TomFeatures {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl DiversifyStrategy {
    /// The strategy of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Combine, Self::Radical, Self::Reread].into_iter().find(|s| s.name() == name)
    }

    /// The name in configuration and journal.
    pub fn name(self) -> &'static str {
        match self {
            Self::Combine => "combine",
            Self::Radical => "radical",
            Self::Reread => "reread",
        }
    }

    /// What the next prompt asks for.
    pub fn instruction(self) -> &'static str {
        match self {
            Self::Combine => "Combine the approaches that were tried one by one so far.",
            Self::Radical => "Drop the approach taken so far and take a radically different one.",
            Self::Reread => "Before you change anything, read the task and the code again from the beginning.",
        }
    }
}

/// Which tracker holds the tickets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProjectManagement {
    /// No tracker.
    None,
    /// Linear.
    Linear,
    /// GitHub issues.
    Github,
    /// Jira.
    Jira,
}

/// The settings of one loop, as frozen by `start`. Defaults and ranges: spec 1.2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Whether hooks start a loop on a new branch.
    pub enabled: bool,
    /// Iterations before the loop pauses, 1–20; `extend` may pass 20.
    pub max_iterations: u32,
    /// Equal states in a row before the loop pauses, 2–5.
    pub stagnation_threshold: u32,
    /// Whether the gate waits for somebody's explicit word.
    pub exit_requires_explicit_signal: bool,
    /// Whether the whole block is shown after an iteration, or one line.
    pub show_status_block: bool,
    /// When a person is asked between iterations.
    pub iteration_approval: IterationApproval,
    /// Iterations between two questions when the approval is periodic.
    pub periodic_interval: u32,
    /// Whether stagnation diversifies instead of pausing.
    pub never_pause_on_stagnation: bool,
    /// How it diversifies.
    pub stagnation_diversify_strategy: DiversifyStrategy,
    /// Indicators that must be met, 1–6.
    pub min_indicators: u32,
    /// Indicators of which each must be met.
    pub required_indicators: Vec<String>,
    /// Replaces the default list of documentation paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub docs_paths: Option<Vec<String>>,
    /// Replaces the default list of marker paths.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marker_paths: Option<Vec<String>>,
    /// Replaces the default list of paths whose change leaves a test run standing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inert_paths: Option<Vec<String>>,
    /// Code outside this path is not looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The pinned test command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test_command: Option<CommandSpec>,
    /// Seconds a test run may take.
    pub test_timeout: u64,
    /// How often a stop hook holds an agent before a person speaks again.
    pub max_stop_blocks: u32,
    /// Whether `code_simplified` is in the game.
    pub simplification: bool,
    /// The tracker, when the configuration names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_management: Option<ProjectManagement>,
    /// Prefix of task documents and tickets, `TASK` by default.
    pub task_prefix: String,
    /// Navigator's features for the person's side.
    #[serde(skip_serializing_if = "TomFeatures::is_default")]
    pub tom_features: TomFeatures,
    /// Key → where its value came from (`flag`, `environment`, `git config`, `local file`, `file`); absent = default.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sources: BTreeMap<String, String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            enabled: false,
            max_iterations: 5,
            stagnation_threshold: 3,
            exit_requires_explicit_signal: true,
            show_status_block: true,
            iteration_approval: IterationApproval::default(),
            periodic_interval: 3,
            never_pause_on_stagnation: false,
            stagnation_diversify_strategy: DiversifyStrategy::default(),
            min_indicators: 2,
            required_indicators: Vec::new(),
            docs_paths: None,
            marker_paths: None,
            inert_paths: None,
            scope: None,
            test_command: None,
            test_timeout: 900,
            max_stop_blocks: 5,
            simplification: true,
            project_management: None,
            task_prefix: "TASK".to_owned(),
            tom_features: TomFeatures::default(),
            sources: BTreeMap::new(),
        }
    }
}
