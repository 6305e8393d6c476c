//! Finds a loop's settings: flag, environment, git config, local file, file, default (spec 1.2).
//!
//! The only reader of the configuration files and, with `context.rs`, of the environment. `start` freezes what comes
//! out of here; nothing reads it again for that loop.
#![expect(clippy::disallowed_methods, reason = "this file reads the environment")]

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use serde_json::{Map, Value};

use crate::{
    domain::{
        indicator::Indicator,
        settings::{CommandSpec, ProjectManagement, Settings},
    },
    error::Error,
    git::{history::goes_through_link, repo::Repo},
};

const FILES: [(&str, &str); 2] = [(".agent/.nav-config.json", "file"), (".agent/.nav-config.local.json", "local file")];
const FILE_LIMIT: u64 = 1 << 20;

/// Keys that environment and git config may set, with how their text is read.
const KEYS: &[(&str, Shape)] = &[
    ("max_iterations", Shape::Number),
    ("stagnation_threshold", Shape::Number),
    ("exit_requires_explicit_signal", Shape::Flag),
    ("show_status_block", Shape::Flag),
    ("iteration_approval", Shape::Text),
    ("periodic_interval", Shape::Number),
    ("never_pause_on_stagnation", Shape::Flag),
    ("stagnation_diversify_strategy", Shape::Text),
    ("min_indicators", Shape::Number),
    ("required_indicators", Shape::List),
    ("docs_paths", Shape::List),
    ("marker_paths", Shape::List),
    ("inert_paths", Shape::List),
    ("scope", Shape::Text),
    ("test_command", Shape::Text),
    ("test_timeout", Shape::Duration),
    ("max_stop_blocks", Shape::Number),
];

#[derive(Clone, Copy)]
enum Shape {
    Number,
    Flag,
    Text,
    List,
    Duration,
}

/// What was found, and what was said about it on the way.
#[derive(Debug)]
pub struct Found {
    /// The effective settings.
    pub settings: Settings,
    /// Whether a `loop_mode` key was there; if not, `start` says so once.
    pub has_loop_mode: bool,
}

/// Values typed as flags, by key.
pub type Flags = BTreeMap<&'static str, Value>;

/// Finds the settings, strictly: bad JSON or a value out of range is an error that names file, key, value and range.
pub fn find(repo: &Repo, flags: Flags) -> Result<Found, Error> {
    let mut merged = Map::new();
    let mut sources = BTreeMap::new();
    let mut top = Map::new();
    let mut has_loop_mode = false;
    for (name, source) in FILES {
        let Some(file) = read_file(repo, name)? else { continue };
        if let Some(loop_mode) = file.get("loop_mode") {
            let object = loop_mode.as_object().ok_or_else(|| off(name, "loop_mode", loop_mode, "an object"))?;
            has_loop_mode = true;
            for (key, value) in object {
                take(&mut merged, &mut sources, key, value.clone(), source);
            }
        }
        for (key, value) in file {
            merge(&mut top, key, value);
        }
    }
    for (key, shape) in KEYS {
        let camel = camel(key);
        if let Some(text) = repo.config_string("navLoop", None, &camel) {
            take(&mut merged, &mut sources, key, read_text(key, &text, *shape, "git config")?, "git config");
        }
        let variable = format!("NAV_LOOP_{}", key.to_uppercase());
        if let Some(text) = std::env::var_os(&variable).filter(|v| !v.is_empty()) {
            let value = read_text(key, &text.to_string_lossy(), *shape, &variable)?;
            take(&mut merged, &mut sources, key, value, "environment");
        }
    }
    for (key, value) in flags {
        take(&mut merged, &mut sources, key, value, "flag");
    }
    let settings = settings_of(&merged, &top, sources)?;
    Ok(Found { settings, has_loop_mode })
}

/// The settings that `text`, a `.nav-config.json`, and flags give; neither environment, git config nor work tree is looked
/// at: what is judged must not set its own bar (spec 4.4).
pub fn of_text(place: &str, text: Option<&str>, flags: Flags) -> Result<Settings, Error> {
    let (mut merged, mut sources, mut top) = (Map::new(), BTreeMap::new(), Map::new());
    if let Some(text) = text {
        let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|e| Error::usage(format!("{place} is not valid JSON: {e}"), "mend it there"))?;
        let Value::Object(file) = value else { return Err(off(place, "(top)", &value, "a JSON object")) };
        if let Some(loop_mode) = file.get("loop_mode") {
            let object = loop_mode.as_object().ok_or_else(|| off(place, "loop_mode", loop_mode, "an object"))?;
            for (key, value) in object {
                take(&mut merged, &mut sources, key, value.clone(), "file");
            }
        }
        top = file;
    }
    for (key, value) in flags {
        take(&mut merged, &mut sources, key, value, "flag");
    }
    settings_of(&merged, &top, sources)
}

fn take(
    merged: &mut Map<String, Value>,
    sources: &mut BTreeMap<String, String>,
    key: &str,
    value: Value,
    source: &str,
) {
    merged.insert(key.to_owned(), value);
    if KEYS.iter().any(|(k, _)| *k == key) || key == "enabled" {
        sources.insert(key.to_owned(), source.to_owned());
    }
}

/// The local file's objects are laid over the file's, key by key.
fn merge(into: &mut Map<String, Value>, key: String, value: Value) {
    match (into.get_mut(&key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => new.into_iter().for_each(|(k, v)| merge(old, k, v)),
        (_, value) => drop(into.insert(key, value)),
    }
}

fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| name + &word[..1].to_uppercase() + &word[1..])
}

fn read_file(repo: &Repo, name: &str) -> Result<Option<Map<String, Value>>, Error> {
    let Some(top) = repo.work_tree() else { return Ok(None) };
    let path = top.join(name);
    if !path.exists() && !path.is_symlink() {
        return Ok(None);
    }
    if goes_through_link(top, &path) {
        let message = format!("{name} goes through a symbolic link");
        return Err(Error::usage(message, "replace the link by a real file"));
    }
    let size = fs::metadata(&path).map(|m| m.len()).unwrap_or(0);
    if size > FILE_LIMIT {
        return Err(Error::usage(format!("{name} is larger than 1 MiB"), "make it smaller"));
    }
    let text = read_text_file(&path, name)?;
    let value: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|e| Error::usage(format!("{name} is not valid JSON: {e}"), "mend that line, or move the file away"))?;
    match value {
        Value::Object(map) => Ok(Some(map)),
        other => Err(off(name, "(top)", &other, "a JSON object")),
    }
}

fn read_text_file(path: &Path, name: &str) -> Result<String, Error> {
    let bytes = fs::read(path).map_err(|e| Error::usage(format!("{name}: {e}"), "make it readable"))?;
    String::from_utf8(bytes).map_err(|_| Error::usage(format!("{name} is not UTF-8"), "save it as UTF-8"))
}

fn off(place: &str, key: &str, value: &Value, range: &str) -> Error {
    let shown: String = value.to_string().chars().take(60).collect();
    Error::usage(format!("{place}: {key} is {shown}, and must be {range}"), format!("set {key} to {range}"))
}

fn read_text(key: &str, text: &str, shape: Shape, place: &str) -> Result<Value, Error> {
    let bad = |range| off(place, key, &Value::from(text), range);
    match shape {
        Shape::Number => text.trim().parse::<u64>().map(Value::from).map_err(|_| bad("a whole number")),
        Shape::Duration => parse_duration(text).map(Value::from).ok_or_else(|| bad("seconds, or 90s, 15m, 2h")),
        Shape::Flag => match text.trim().to_lowercase().as_str() {
            "true" | "1" | "yes" | "on" => Ok(Value::Bool(true)),
            "false" | "0" | "no" | "off" => Ok(Value::Bool(false)),
            _ => Err(bad("true or false")),
        },
        Shape::Text => Ok(Value::from(text)),
        Shape::List => {
            let items = text.split([',', '\n']).map(str::trim).filter(|i| !i.is_empty());
            Ok(items.map(Value::from).collect::<Vec<_>>().into())
        }
    }
}

/// The agent: what was typed after `--`, else git config's `navLoop.agentCommand` or the environment's.
pub fn agent(repo: &Repo, words: &[String], usage: &str) -> Result<CommandSpec, Error> {
    match words {
        [] => agent_command(repo).map(CommandSpec::Shell).ok_or_else(|| {
            Error::usage("no agent is given", format!("{usage} -- claude -p, or git config navLoop.agentCommand"))
        }),
        words => Ok(CommandSpec::Argv(words.to_vec())),
    }
}

/// A time typed after `flag`.
pub fn time(flag: &str, typed: &str) -> Result<Duration, Error> {
    let seconds = parse_duration(typed).filter(|s| *s > 0);
    let off = || Error::usage(format!("{flag} {typed:?} is no time"), "write seconds, or 90s, 15m, 2h");
    seconds.map(Duration::from_secs).ok_or_else(off)
}

/// Seconds, or `90s`, `15m`, `2h`.
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, factor) = match text.char_indices().next_back()? {
        (at, 's') => (&text[..at], 1),
        (at, 'm') => (&text[..at], 60),
        (at, 'h') => (&text[..at], 3_600),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}

/// Reads the merged values; unknown keys are left alone.
fn settings_of(
    merged: &Map<String, Value>,
    top: &Map<String, Value>,
    sources: BTreeMap<String, String>,
) -> Result<Settings, Error> {
    let default = Settings::default();
    let read = Values { merged, sources: &sources };
    let known_names = Indicator::ALL.map(Indicator::name).join(", ");
    let required = read.list("required_indicators")?.unwrap_or_default();
    if required.iter().any(|n| Indicator::of_name(n).is_none()) {
        return Err(read.off("required_indicators", &format!("names out of {known_names}")));
    }
    let mut settings = Settings {
        enabled: read.flag("enabled")?.unwrap_or(default.enabled),
        max_iterations: read.number("max_iterations", 1, 20)?.unwrap_or(default.max_iterations),
        stagnation_threshold: read.number("stagnation_threshold", 2, 5)?.unwrap_or(default.stagnation_threshold),
        exit_requires_explicit_signal: read
            .flag("exit_requires_explicit_signal")?
            .unwrap_or(default.exit_requires_explicit_signal),
        show_status_block: read.flag("show_status_block")?.unwrap_or(default.show_status_block),
        iteration_approval: read.word("iteration_approval", "none, strict or periodic")?.unwrap_or_default(),
        periodic_interval: read.number("periodic_interval", 1, 1_000)?.unwrap_or(default.periodic_interval),
        never_pause_on_stagnation: read.flag("never_pause_on_stagnation")?.unwrap_or_default(),
        stagnation_diversify_strategy: read
            .word("stagnation_diversify_strategy", "combine, radical or reread")?
            .unwrap_or_default(),
        min_indicators: read.number("min_indicators", 1, 6)?.unwrap_or(default.min_indicators),
        required_indicators: required,
        docs_paths: read.list("docs_paths")?,
        marker_paths: read.list("marker_paths")?,
        inert_paths: read.list("inert_paths")?,
        scope: read.word("scope", "a path")?,
        test_command: read.word::<CommandSpec>("test_command", "a list of words, or one string")?,
        max_stop_blocks: read.number("max_stop_blocks", 0, 100)?.unwrap_or(default.max_stop_blocks),
        test_timeout: u64::from(read.number("test_timeout", 1, 604_800)?.unwrap_or(900)),
        ..default
    };
    settings.sources = sources.clone();
    read_top(top, &mut settings)?;
    Ok(settings)
}

/// Keys of Navigator's that stand beside `loop_mode`.
fn read_top(top: &Map<String, Value>, settings: &mut Settings) -> Result<(), Error> {
    let place = ".agent/.nav-config.json";
    if let Some(value) = top.get("simplification").and_then(|s| s.get("enabled")) {
        settings.simplification =
            value.as_bool().ok_or_else(|| off(place, "simplification.enabled", value, "true or false"))?;
    }
    let features = top.get("tom_features").and_then(Value::as_object);
    let tom = &mut settings.tom_features;
    for (key, feature) in [
        ("verification_checkpoints", &mut tom.verification_checkpoints),
        ("profile_enabled", &mut tom.profile_enabled),
        ("belief_anchors", &mut tom.belief_anchors),
        ("diagnose_enabled", &mut tom.diagnose_enabled),
    ] {
        if let Some(value) = features.and_then(|f| f.get(key)) {
            let name = format!("tom_features.{key}");
            *feature = value.as_bool().ok_or_else(|| off(place, &name, value, "true or false"))?;
        }
    }
    if let Some(value) = top.get("project_management") {
        let range = "none, linear, github or jira";
        let known: ProjectManagement =
            serde_json::from_value(value.clone()).map_err(|_| off(place, "project_management", value, range))?;
        settings.project_management = Some(known);
    }
    if let Some(value) = top.get("task_prefix") {
        let text = value.as_str().filter(|t| !t.is_empty() && t.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        settings.task_prefix = text.ok_or_else(|| off(place, "task_prefix", value, "letters and digits"))?.to_owned();
    }
    Ok(())
}

struct Values<'a> {
    merged: &'a Map<String, Value>,
    sources: &'a BTreeMap<String, String>,
}

impl Values<'_> {
    fn place(&self, key: &str) -> String {
        match self.sources.get(key).map(String::as_str) {
            Some("flag") => format!("--{}", key.replace('_', "-")),
            Some("environment") => format!("NAV_LOOP_{}", key.to_uppercase()),
            Some("git config") => format!("git config navLoop.{}", camel(key)),
            Some("local file") => FILES[1].0.to_owned(),
            _ => FILES[0].0.to_owned(),
        }
    }

    fn off(&self, key: &str, range: &str) -> Error {
        off(&self.place(key), key, self.merged.get(key).unwrap_or(&Value::Null), range)
    }

    fn number(&self, key: &str, low: u32, high: u32) -> Result<Option<u32>, Error> {
        let Some(value) = self.merged.get(key) else { return Ok(None) };
        let number = value.as_u64().and_then(|n| u32::try_from(n).ok()).filter(|n| (low..=high).contains(n));
        number.map(Some).ok_or_else(|| self.off(key, &format!("a whole number from {low} to {high}")))
    }

    fn flag(&self, key: &str) -> Result<Option<bool>, Error> {
        let Some(value) = self.merged.get(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.off(key, "true or false"))
    }

    fn list(&self, key: &str) -> Result<Option<Vec<String>>, Error> {
        self.word(key, "a list of strings")
    }

    fn word<T: serde::de::DeserializeOwned>(&self, key: &str, range: &str) -> Result<Option<T>, Error> {
        let Some(value) = self.merged.get(key) else { return Ok(None) };
        serde_json::from_value(value.clone()).map(Some).map_err(|_| self.off(key, range))
    }
}

/// The agent's command, from the environment or git config; never from a file of the work tree.
pub fn agent_command(repo: &Repo) -> Option<String> {
    let variable = std::env::var_os("NAV_LOOP_AGENT_COMMAND").map(|v| v.to_string_lossy().into_owned());
    let configured = || repo.config_string("navLoop", None, "agentCommand");
    variable.filter(|v| !v.trim().is_empty()).or_else(configured).filter(|v| !v.trim().is_empty())
}

/// Whether the files would now give other settings than `frozen`; `None` when they cannot be read.
pub fn has_changed(repo: &Repo, frozen: &Settings) -> Option<bool> {
    let found = find(repo, Flags::new()).ok()?.settings;
    let from_flags = |key: &str| matches!(frozen.sources.get(key).map(String::as_str), Some("flag"));
    let (Ok(Value::Object(now)), Ok(Value::Object(then))) = (serde_json::to_value(found), serde_json::to_value(frozen))
    else {
        return None;
    };
    let keys = now.keys().chain(then.keys()).filter(|k| *k != "sources" && !from_flags(k));
    Some(keys.into_iter().any(|k| now.get(k) != then.get(k)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_durations_are_read() {
        assert_eq!(camel("agent_command"), "agentCommand");
        let table =
            [("90", Some(90)), ("90s", Some(90)), ("15m", Some(900)), ("2h", Some(7_200)), ("x", None), ("", None)];
        for (text, expected) in table {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }

    #[test]
    fn a_value_out_of_range_names_place_key_value_and_range() {
        let merged = serde_json::from_str::<Map<String, Value>>(r#"{"max_iterations": 99, "future": 1}"#).unwrap();
        let error = settings_of(&merged, &Map::new(), BTreeMap::new()).unwrap_err();
        assert_eq!(
            error.message,
            ".agent/.nav-config.json: max_iterations is 99, and must be a whole number from 1 to 20"
        );
    }
}
