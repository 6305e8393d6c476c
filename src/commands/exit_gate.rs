//! `exit-gate`: the seed's gate from arguments alone, inside or outside a repository (spec 1.11).

use serde_json::{Value, json};

use crate::{
    cli::{ExitGateArgs, OutputForm},
    context::Context,
    domain::indicator::Indicator,
    error::Error,
    exit_code::ExitCode,
};

pub(super) fn run(context: &Context, args: &ExitGateArgs) -> Result<ExitCode, Error> {
    let Ok(Value::Object(given)) = serde_json::from_str::<Value>(&args.indicators) else {
        context.warn("Invalid JSON");
        return Ok(ExitCode::Closed);
    };
    let exit_signal = read_flag("--exit-signal", &args.exit_signal)?;
    let require = read_flag("--require-explicit", &args.require_explicit)? && !args.no_require_explicit;
    let known = Indicator::ALL.iter().filter_map(|i| given.get(i.name()));
    let met = known.clone().filter(|v| **v == Value::Bool(true)).count() as u32;
    let total = if known.clone().count() == 0 { 6 } else { known.count() as u32 };
    let min = args.min_heuristics;
    let (should_exit, reason, blocked) = decide(met, total, exit_signal, require, min);
    match args.output {
        OutputForm::Json => {
            let said = json!({
                "should_exit": should_exit, "reason": reason, "blocked_reason": blocked, "heuristics_met": met,
                "heuristics_total": total, "heuristics_satisfied": met >= min, "exit_signal": exit_signal,
                "min_required": min, "require_explicit": require,
            });
            context.say(&format!("{said:#}"));
        }
        OutputForm::Text => {
            context.say(&format!("Decision: {}", if should_exit { "EXIT" } else { "CONTINUE" }));
            context.say(&format!("Reason: {reason}"));
        }
    }
    Ok(if should_exit { ExitCode::Done } else { ExitCode::Closed })
}

/// The seed's four rows.
fn decide(met: u32, total: u32, signal: bool, require: bool, min: u32) -> (bool, String, Option<&'static str>) {
    match (met >= min, signal) {
        (true, true) => (true, format!("EXIT: Task complete ({met}/{total} heuristics, explicit signal)"), None),
        (true, false) if !require => {
            (true, format!("EXIT: Heuristics satisfied ({met}/{total}), no signal required"), None)
        }
        (true, false) => {
            (false, "CONTINUE: Awaiting explicit completion signal".to_owned(), Some("exit_signal_missing"))
        }
        (false, true) => {
            let reason = format!("BLOCKED: Cannot exit with insufficient indicators ({met}/{total}, need {min}+)");
            (false, reason, Some("insufficient_heuristics"))
        }
        (false, false) => (false, "CONTINUE: More work needed".to_owned(), None),
    }
}

fn read_flag(name: &str, text: &str) -> Result<bool, Error> {
    match text.trim().to_lowercase().as_str() {
        "true" | "1" | "yes" => Ok(true),
        "false" | "0" | "no" | "" => Ok(false),
        _ => Err(Error::usage(
            format!("{name} {text:?} is neither true nor false"),
            format!("{name}=true or {name}=false"),
        )),
    }
}
