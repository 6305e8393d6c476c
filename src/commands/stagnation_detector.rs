//! `stagnation-detector`: the seed's stagnation function from arguments alone (spec 1.11).

use serde_json::json;

use super::plumbing::{flag, indicators, invalid_json, list};
use crate::{
    cli::plumbing::{OutputForm, StagnationDetectorArgs},
    context::Context,
    domain::{
        plumbing::{StagnationQuestion, stagnation, strategy_name},
        settings::DiversifyStrategy,
    },
    error::Error,
    exit_code::ExitCode,
};

pub(super) fn run(context: &Context, args: &StagnationDetectorArgs) -> Result<ExitCode, Error> {
    let autonomous = flag("--autonomous", &args.autonomous)?;
    let strategy = strategy(&args.diversify_strategy)?;
    let (Some(given), Some(files), Some(history)) =
        (indicators(&args.indicators), list(&args.files_changed), list(&args.history))
    else {
        return Ok(invalid_json(context));
    };
    let question = StagnationQuestion {
        phase: args.phase.clone(),
        given,
        files,
        error_state: args.error_state.clone(),
        history,
        threshold: args.threshold,
        autonomous,
        strategy,
    };
    let answer = stagnation(&question);
    match args.output {
        OutputForm::Json => {
            let met: Vec<&str> = question.given.met.iter().map(|i| i.name()).collect();
            let said = json!({
                "current_hash": answer.hash, "previous_hash": question.history.last(),
                "is_stagnant": answer.is_stagnant, "consecutive_count": answer.count, "threshold": args.threshold,
                "recommendation": answer.recommendation, "autonomous": autonomous,
                "diversify_strategy": strategy_name(strategy),
                "state_components": {
                    "phase": question.phase, "met_indicators": met, "files_changed_count": question.files.len(),
                },
            });
            context.say(&format!("{said:#}"));
        }
        OutputForm::Text => {
            context.say(&format!("Hash: {}", answer.hash));
            context.say(&format!("Stagnant: {} ({}/{})", answer.is_stagnant, answer.count, args.threshold));
            context.say(&format!("Reason: {}", answer.recommendation));
        }
    }
    Ok(if answer.is_stagnant { ExitCode::Closed } else { ExitCode::Done })
}

fn strategy(name: &str) -> Result<DiversifyStrategy, Error> {
    match name {
        "combine" => Ok(DiversifyStrategy::Combine),
        "radical" => Ok(DiversifyStrategy::Radical),
        "reread" => Ok(DiversifyStrategy::Reread),
        _ => Err(Error::usage(format!("--diversify-strategy {name:?} is not known"), "combine, radical or reread")),
    }
}
