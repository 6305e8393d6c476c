//! `status-generator`: the seed's status block from arguments alone (spec 1.11).

use serde_json::{Map, Value, json};

use super::plumbing::{flag, object};
use crate::{
    cli::plumbing::{OutputForm, StatusGeneratorArgs},
    context::Context,
    domain::{
        indicator::Indicator,
        plumbing::{Given, progress_of},
    },
    error::Error,
    exit_code::ExitCode,
    render::text::{PlainBlock, plain_block},
};

pub(super) fn run(context: &Context, args: &StatusGeneratorArgs) -> Result<ExitCode, Error> {
    let signal = flag("--exit-signal", &args.exit_signal)?;
    // This function alone goes on where the JSON is invalid: with no indicators.
    let given_object = object(&args.indicators).unwrap_or_default();
    let given = Given::of(&given_object);
    let progress = progress_of(&args.phase, &given);
    let indicators = known(&given_object);
    let said = json!({
        "v": 2, "type": "status", "phase": args.phase, "progress": progress, "iteration": args.iteration,
        "max_iterations": args.max_iterations, "indicators": indicators, "exit_signal": signal,
    });
    match args.output {
        OutputForm::Json => context.say(&format!("{said:#}")),
        OutputForm::Text => {
            let block = PlainBlock {
                phase: &args.phase,
                iteration: args.iteration,
                max_iterations: args.max_iterations,
                progress,
                met: &given.met,
                total: given.total,
                min: args.min_heuristics,
                signal,
                hash: &args.state_hash,
                previous: &args.prev_hash,
                count: args.stagnation_count,
                threshold: args.stagnation_threshold,
                next_action: args.next_action.as_deref(),
            };
            context.print(&plain_block(context.language, &block));
            context.print(&format!("\n```pilot-signal\n{said}\n```\n"));
        }
    }
    Ok(ExitCode::Done)
}

fn known(object: &Map<String, Value>) -> Map<String, Value> {
    let pairs = Indicator::ALL.iter().filter_map(|i| Some((i.name(), object.get(i.name())? == &Value::Bool(true))));
    pairs.map(|(name, met)| (name.to_owned(), Value::Bool(met))).collect()
}
