//! `compact`: folds the journal of an ended loop; every answer stays what it was.

use crate::{
    cli::CompactArgs,
    context::{COMMAND_PATIENCE, Context, writer},
    domain::compaction::superseded,
    domain::state::LoopState,
    error::Error,
    exit_code::ExitCode,
    git::{journal::Journal, loops, repo::Repo},
};

pub(super) fn run(context: &Context, args: &CompactArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let journal = Journal::new(&repo);
    let id = match &args.loop_id {
        Some(id) => id.clone(),
        None => loops::here(&repo)?.ok_or_else(Error::no_loop)?.id,
    };
    let unknown = || Error::refused(format!("the journal holds no loop {id:?}"), "git nav-loop list shows them");
    let (anchor, records) = journal.find_loop(&id)?.ok_or_else(unknown)?;
    let state = LoopState::fold(records.clone(), &id).ok_or_else(unknown)?;
    if !state.is_ended() {
        return Err(Error::refused(format!("loop {id} is {}", state.status.name()), "only an ended loop is compacted"));
    }
    let drop = superseded(&records, &id);
    let dropped = journal.compact(&writer("compact", COMMAND_PATIENCE), &anchor, &id, &drop)?;
    context.say(&format!("{id}: {dropped} of {} events folded", records.iter().filter(|r| r.loop_id == id).count()));
    Ok(ExitCode::Done)
}
