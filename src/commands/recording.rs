//! What the recording commands share: catching up before, appending, and saying so when an event has to wait.

use crate::{
    context::{COMMAND_PATIENCE, Context, writer},
    domain::event::Event,
    error::Error,
    git::journal::{Appended, Draft},
    turn::Turn,
};

/// Appends loop-level `events`, with lines for commits that no hook saw, and reads the state anew.
pub(super) fn append(context: &Context, turn: &mut Turn<'_>, by: &str, events: Vec<Event>) -> Result<(), Error> {
    let mut drafts = turn.back_fill(None)?;
    drafts.extend(events.into_iter().map(|e| turn.draft(e)));
    write(context, turn, by, drafts)?;
    turn.refresh()
}

fn write(context: &Context, turn: &Turn<'_>, by: &str, drafts: Vec<Draft>) -> Result<(), Error> {
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
    let drafts = if turn.state.is_ended() || turn.repo.is_in_sequence() { Vec::new() } else { turn.back_fill(None)? };
    let writer = writer(by, COMMAND_PATIENCE);
    if drafts.is_empty() {
        drop(turn.journal.catch_up(&writer));
    } else {
        drop(turn.journal.append(&writer, drafts)?);
    }
    turn.refresh()
}
