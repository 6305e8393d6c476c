//! `phase-detector`: the seed's phase function from arguments alone (spec 1.11).

use serde_json::json;

use super::plumbing::{flag, indicators, invalid_json, something};
use crate::{
    cli::plumbing::{OutputForm, PhaseDetectorArgs},
    context::Context,
    domain::{
        phase::Phase,
        plumbing::{PhaseQuestion, next_phase, phase},
    },
    error::Error,
    exit_code::ExitCode,
};

pub(super) fn run(context: &Context, args: &PhaseDetectorArgs) -> Result<ExitCode, Error> {
    let signal = flag("--exit-signal", &args.exit_signal)?;
    let tests_running = flag("--tests-running", &args.tests_running)?;
    let (Some(given), Some(changed), Some(read)) =
        (indicators(&args.indicators), something(&args.files_changed), something(&args.files_read))
    else {
        return Ok(invalid_json(context));
    };
    let test_exit_code = args.test_exit_code;
    let question = PhaseQuestion { init: args.init, given, signal, tests_running, test_exit_code, changed, read };
    let (found, percent, reason) = phase(&question);
    let confidence = f64::from(percent) / 100.0;
    match args.output {
        OutputForm::Json => {
            let next = next_phase(found).map(Phase::name);
            let said =
                json!({"phase": found.name(), "confidence": confidence, "reason": reason, "next_expected": next});
            context.say(&format!("{said:#}"));
        }
        OutputForm::Text => {
            context.say(&format!("Phase: {}", found.name()));
            context.say(&format!("Confidence: {confidence}"));
            context.say(&format!("Reason: {reason}"));
        }
    }
    Ok(ExitCode::Done)
}
