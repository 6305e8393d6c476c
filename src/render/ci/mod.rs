//! What a check found, in the form that each CI system reads. One file for each; every one escapes what came from a
//! repository or an agent, keeps its system's limits, and never decides an exit code.

pub mod github;
pub mod gitlab;
pub mod junit;
pub mod markdown;

use serde_json::{Value, json};

use super::{Language, visible::visible};
use crate::{
    domain::{
        check::finding::Finding,
        indicator::{Finding as IndicatorFinding, IndicatorState},
        oid::Oid,
        status::Status,
    },
    exit_code::ExitCode,
};

/// Everything that a format shows.
#[derive(Debug)]
pub struct Report<'a> {
    /// The language of sentences.
    pub language: Language,
    /// The status.
    pub status: &'a Status,
    /// The base commit.
    pub base: &'a Oid,
    /// The merge base.
    pub merge_base: &'a Oid,
    /// What a reviewer should see.
    pub findings: &'a [Finding],
    /// Whether findings are errors.
    pub strict: bool,
    /// Who vouches, and for what.
    pub vouched_by: Vec<(String, Vec<String>)>,
    /// One line on records that nobody trusted vouches for, or on missing notes.
    pub records: String,
    /// The exit code.
    pub code: ExitCode,
}

impl Report<'_> {
    /// One sentence on the verdict.
    pub fn verdict(&self) -> String {
        self.language.verdict_line(self.status)
    }

    /// Whether the check passes.
    pub fn passes(&self) -> bool {
        self.code == ExitCode::Done
    }

    fn level(&self) -> &'static str {
        if self.strict { "error" } else { "warning" }
    }

    fn sentence(&self, finding: &IndicatorFinding) -> String {
        format!("{}: {}", finding.indicator.name(), self.language.reason(&finding.reason))
    }

    /// Plain text.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict());
        for finding in &self.status.indicators.0 {
            let mark = match finding.state {
                IndicatorState::Met => 'x',
                IndicatorState::Unmet => ' ',
                IndicatorState::Skipped => '-',
            };
            text += &format!("  [{mark}] {}\n", visible(&self.sentence(finding)));
        }
        let (base, merge_base, head) = (self.base.short(), self.merge_base.short(), self.status.head.short());
        text += &format!("base {base} · merge base {merge_base} · head {head}\n{}\n", self.records);
        for (signer, records) in &self.vouched_by {
            text += &format!("vouched by {}: {}\n", visible(signer), records.join(", "));
        }
        for finding in self.findings {
            text +=
                &format!("{} {}: {}{}\n", self.level(), finding.rule.name(), place(finding), visible(&finding.message));
        }
        text
    }

    /// JSON: the gate's keys, and the check's.
    pub fn json(&self) -> Value {
        let mut value = super::json::gate(self.status, self.code);
        let findings: Vec<Value> = self
            .findings
            .iter()
            .map(|f| {
                json!({"rule": f.rule.name(), "level": self.level(), "path": f.path, "line": f.line, "message": f.message})
            })
            .collect();
        let vouched: Vec<Value> = self.vouched_by.iter().map(|(s, r)| json!({"signer": s, "records": r})).collect();
        value["loop_id"] = Value::Null;
        value["base"] = self.base.as_str().into();
        value["merge_base"] = self.merge_base.as_str().into();
        value["findings"] = findings.into();
        value["vouched_by"] = vouched.into();
        value["records"] = self.records.clone().into();
        value
    }
}

fn place(finding: &Finding) -> String {
    match (&finding.path, finding.line) {
        (Some(path), Some(line)) => format!("{}:{line}: ", visible(path)),
        (Some(path), None) => format!("{}: ", visible(path)),
        _ => String::new(),
    }
}
