//! `attest`: an in-toto statement on the recorded test run of a commit, signed and kept where a key is named (spec 4.4).

use super::recording::append;
use crate::{
    cli::check::AttestArgs,
    context::{COMMAND_PATIENCE, Context, writer},
    domain::{
        check::attestation,
        event::{Event, Record},
        test_run::TestVerdict,
    },
    error::{Error, ErrorKind},
    exit_code::ExitCode,
    git::{journal::Journal, range, repo::Repo},
    signature,
    turn::Turn,
};

pub(super) fn run(context: &Context, args: &AttestArgs) -> Result<ExitCode, Error> {
    let repo = Repo::discover()?;
    let turn = Turn::need(&repo)?;
    let commit = range::commit(&repo, &args.commit)?
        .ok_or_else(|| Error::usage(format!("{:?} is no commit here", args.commit), "git log"))?;
    let tree = range::tree(&repo, &commit)?;
    let code = turn.code_at(&commit)?;
    let all = Journal::new(&repo).read(&turn.pointer.anchor)?.records;
    let own: Vec<Record> = all.into_iter().filter(|r| r.loop_id == turn.state.id).collect();
    let holds = |r: &&Record| matches!(&r.event, Event::TestsRan(run) if run.holds_for(&turn.pointer.anchor, &code));
    let newest = own.iter().filter(holds).max_by_key(|r| r.seq);
    let Some(Record { event: Event::TestsRan(run), .. }) = newest else {
        let message = format!("no recorded test run holds for {}", commit.short());
        return Err(Error::new(ErrorKind::CannotJudge, message, "git nav-loop test"));
    };
    let records = beside(&own, newest, &code);
    let statement = attestation::statement(&commit, &tree, run, &records).to_string();
    let text = match &args.key {
        None => statement,
        Some(key) => {
            let signed = signature::sign(&attestation::signed_bytes(statement.as_bytes()), key)?;
            let envelope = attestation::envelope(&statement, Some((&signed.keyid, &signed.sig))).to_string();
            let journal = Journal::new(&repo);
            let envelope_blob = journal.keep_text(&writer("attest", COMMAND_PATIENCE), envelope.as_bytes())?;
            append(context, &turn, "attest", vec![Event::Attested { envelope_blob, tree }])?;
            envelope
        }
    };
    match &args.output {
        None => context.say(&text),
        Some(path) => std::fs::write(path, format!("{text}\n"))
            .map_err(|e| Error::usage(format!("{}: {e}", path.display()), "name a file that can be written"))?,
    }
    Ok(if run.verdict == TestVerdict::Pass { ExitCode::Done } else { ExitCode::Closed })
}

/// The run, and the newest of each other kind of record that holds for this code.
fn beside(own: &[Record], run: Option<&Record>, code: &str) -> Vec<Record> {
    let newest = |wanted: &dyn Fn(&Event) -> bool| own.iter().filter(|r| wanted(&r.event)).max_by_key(|r| r.seq);
    let found = [
        run,
        newest(&|e| matches!(e, Event::SignalGiven(s) if s.code == code)),
        newest(&|e| matches!(e, Event::IndicatorRecorded { .. })),
        newest(&|e| matches!(e, Event::MarkerCreated { partial: false, .. })),
        newest(&|e| matches!(e, Event::TicketChecked { .. })),
    ];
    found.into_iter().flatten().cloned().collect()
}
