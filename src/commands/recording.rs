//! What the recording commands share: catching up before, appending, and saying so when an event has to wait.

use crate::{
    context::{COMMAND_PATIENCE, Context, writer},
    domain::{event::Event, facts::Facts},
    error::Error,
    git::journal::Appended,
    turn::{Look, Turn},
};

/// Appends loop-level `events`, with lines for commits that no hook saw.
pub(super) fn append(context: &Context, turn: &Turn<'_>, by: &str, events: Vec<Event>) -> Result<(), Error> {
    let facts = turn.observe(Look::HeadOnly)?;
    append_beside(context, turn, &facts, by, events)
}

/// As [`append`], where the facts are at hand.
pub(super) fn append_beside(
    context: &Context,
    turn: &Turn<'_>,
    facts: &Facts,
    by: &str,
    events: Vec<Event>,
) -> Result<(), Error> {
    let mut drafts = turn.back_fill(facts, None)?;
    drafts.extend(events.into_iter().map(|e| turn.draft(e)));
    match turn.journal.append(&writer(by, COMMAND_PATIENCE), drafts)? {
        Appended::Written => {}
        Appended::Waiting(why) => {
            context.warn(&format!("recorded in {}, not yet in the notes: {why}", turn.repo.state_dir().display()));
        }
    }
    Ok(())
}

/// Brings the journal up to date as far as that is possible now; what cannot be written waits.
pub(super) fn catch_up(turn: &mut Turn<'_>, by: &str) -> Result<(), Error> {
    let idle = turn.state.is_ended() || turn.repo.is_in_sequence();
    let drafts = if idle { Vec::new() } else { turn.back_fill(&turn.observe(Look::HeadOnly)?, None)? };
    let writer = writer(by, COMMAND_PATIENCE);
    if drafts.is_empty() {
        drop(turn.journal.catch_up(&writer));
    } else {
        drop(turn.journal.append(&writer, drafts)?);
    }
    turn.refresh()
}
