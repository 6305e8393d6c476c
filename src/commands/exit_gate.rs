//! `exit-gate`: the seed's gate from arguments alone, inside or outside a repository (spec 1.11).

use serde_json::json;

use super::plumbing::{flag, indicators, invalid_json};
use crate::{
    cli::plumbing::{ExitGateArgs, OutputForm},
    context::Context,
    domain::plumbing::exit_gate,
    error::Error,
    exit_code::ExitCode,
};

pub(super) fn run(context: &Context, args: &ExitGateArgs) -> Result<ExitCode, Error> {
    let signal = flag("--exit-signal", &args.exit_signal)?;
    let require = flag("--require-explicit", &args.require_explicit)? && !args.no_require_explicit;
    let Some(given) = indicators(&args.indicators) else { return Ok(invalid_json(context)) };
    let min = args.min_heuristics;
    let answer = exit_gate(&given, signal, require, min);
    match args.output {
        OutputForm::Json => {
            let said = json!({
                "should_exit": answer.should_exit, "reason": answer.reason, "blocked_reason": answer.blocked_reason,
                "heuristics_met": given.met_count(), "heuristics_total": given.total,
                "heuristics_satisfied": given.met_count() >= min, "exit_signal": signal, "min_required": min,
                "require_explicit": require,
            });
            context.say(&format!("{said:#}"));
        }
        OutputForm::Text => {
            context.say(&format!("Decision: {}", if answer.should_exit { "EXIT" } else { "CONTINUE" }));
            context.say(&format!("Reason: {}", answer.reason));
        }
    }
    Ok(if answer.should_exit { ExitCode::Done } else { ExitCode::Closed })
}
