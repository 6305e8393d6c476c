//! What the seed's four functions share: reading flags and JSON as they are typed.

use serde_json::{Map, Value};

use crate::{context::Context, domain::plumbing::Given, error::Error, exit_code::ExitCode};

/// What stands where JSON should: said on stderr, exit 1, as the public functions do.
pub(super) fn invalid_json(context: &Context) -> ExitCode {
    context.warn("Invalid JSON");
    ExitCode::Closed
}

/// Indicators; `None` when the text is no JSON object.
pub(super) fn indicators(text: &str) -> Option<Given> {
    object(text).map(|o| Given::of(&o))
}

/// A JSON object.
pub(super) fn object(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// A JSON list of strings; other items are taken as they print.
pub(super) fn list(text: &str) -> Option<Vec<String>> {
    let items: Vec<Value> = serde_json::from_str(text).ok()?;
    let text = |v: Value| v.as_str().map_or_else(|| v.to_string(), str::to_owned);
    Some(items.into_iter().map(text).collect())
}

/// Whether a list, a number or a word says that there is something; `None` = invalid JSON.
pub(super) fn something(text: &str) -> Option<bool> {
    match serde_json::from_str(text).ok()? {
        Value::Array(items) => Some(!items.is_empty()),
        Value::Number(n) => Some(n.as_f64().is_some_and(|n| n > 0.0)),
        Value::Bool(yes) => Some(yes),
        Value::Null => Some(false),
        _ => None,
    }
}

/// `true` or `false` after a flag.
pub(super) fn flag(name: &str, text: &str) -> Result<bool, Error> {
    match text.trim().to_lowercase().as_str() {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" | "" => Ok(false),
        _ => Err(Error::usage(
            format!("{name} {text:?} is neither true nor false"),
            format!("{name}=true or {name}=false"),
        )),
    }
}
