//! `adopt`: a person takes over a loop that another clone started: a new epoch, with this clone as its owner.

use crate::{
    begin::refuse_nested,
    cli::AdoptArgs,
    context::{COMMAND_PATIENCE, Context, who_acts, writer},
    domain::{event::Event, state::LoopState},
    error::Error,
    exit_code::ExitCode,
    git::{
        journal::{Appended, Draft, Journal},
        loops::{self, LoopPointer},
        repo::Repo,
    },
};

pub(super) fn run(context: &Context, args: &AdoptArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let id = &args.loop_id;
    if !loops::is_loop_id(id) {
        return Err(Error::usage(format!("{id:?} is no loop id"), "git nav-loop list shows them"));
    }
    who_acts(&repo, "adopt")?;
    refuse_nested(&repo)?;
    let journal = Journal::new(&repo);
    let found = journal.find_loop(id)?;
    let unknown =
        || Error::refused(format!("the journal holds no loop {id}"), "git fetch the notes first; git nav-loop list");
    let (anchor, records) = found.ok_or_else(unknown)?;
    let state = LoopState::fold(records, id).ok_or_else(unknown)?;
    let clone = loops::make_clone_id(&repo)?;
    if state.is_ended() {
        return Err(Error::refused(format!("loop {id} has ended"), "git nav-loop start"));
    }
    if state.owner == clone && loops::anchor_of(&repo, id)?.is_some() {
        return Err(Error::refused(format!("loop {id} is this clone's own"), "git nav-loop list shows its branch"));
    }
    let Some(epoch) = state.epoch.checked_add(1) else {
        return Err(Error::refused(
            format!("loop {id} was taken over too often"),
            "git nav-loop start a loop of your own",
        ));
    };
    let pointer = LoopPointer { id: id.clone(), anchor: anchor.clone(), branch: loops::branch_here(&repo)? };
    if anchor != repo.empty_tree() && !repo.has_object(&anchor) {
        return Err(Error::refused(format!("the loop's anchor {anchor} is not in this clone"), "git fetch its branch"));
    }
    loops::keep_anchor(&repo, &pointer)?;
    let draft = |event| Draft { on: anchor.clone(), loop_id: id.clone(), commit: None, epoch, event };
    let adopted = draft(Event::LoopAdopted { clone });
    if let Appended::Waiting(why) = journal.append(&writer("adopt", COMMAND_PATIENCE), vec![adopted])? {
        context.warn(&format!("recorded, not yet in the notes: {why}"));
    }
    loops::register(&repo, &pointer)?;
    Ok(ExitCode::Done)
}
