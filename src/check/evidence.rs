//! Which records of the notes count in a check: those that somebody trusted vouches for (spec 4.4).

use std::collections::{BTreeMap, HashSet};

use super::{TEXT_LIMIT, Terms, Voucher, cannot};
use crate::{
    domain::{
        check::attestation,
        event::{CommitSeen, Event, Record},
        facts::Facts,
        oid::Oid,
    },
    error::Error,
    git::{notes_at::NotesAt, range, repo::Repo},
    signature,
};

/// How many envelopes of a range are opened.
const ENVELOPES: usize = 50;

/// Which records count, and what else the notes tell.
pub(super) struct Evidence {
    pub(super) records: Vec<Record>,
    pub(super) vouched_by: Vec<Voucher>,
    pub(super) unvouched: usize,
    pub(super) has_notes: bool,
    pub(super) noted: HashSet<Oid>,
}

impl Evidence {
    pub(super) fn of(repo: &Repo, facts: &Facts, terms: &Terms) -> Result<Self, Error> {
        let none = || Self {
            records: Vec::new(),
            vouched_by: Vec::new(),
            unvouched: 0,
            has_notes: false,
            noted: HashSet::new(),
        };
        let Some(tip) = &terms.notes else { return Ok(none()) };
        let mends = "git fetch origin '+refs/notes/nav-loop:refs/notes/nav-loop'";
        let unreadable = |e: crate::git::GitError| cannot(format!("the notes cannot be read: {e}"), mends);
        let mut notes = NotesAt::open(repo, tip).map_err(unreadable)?;
        let mut loops: HashSet<(String, Oid)> = HashSet::new();
        let mut noted = HashSet::new();
        for commit in &facts.own {
            for record in notes.read(&commit.id).map_err(unreadable)?.records {
                if let Event::CommitSeen(CommitSeen { anchor, .. }) = record.event {
                    loops.insert((record.loop_id, anchor));
                    noted.insert(commit.id.clone());
                }
            }
        }
        for record in notes.read(&facts.anchor).map_err(unreadable)?.records {
            if matches!(record.event, Event::LoopStarted(_)) {
                loops.insert((record.loop_id, facts.anchor.clone()));
            }
        }
        let mut records = Vec::new();
        for (id, anchor) in loops {
            let of_loop = notes.read(&anchor).map_err(unreadable)?.records;
            records.extend(of_loop.into_iter().filter(|r| r.loop_id == id));
        }
        records.sort_by(|a, b| (&a.at, a.seq, &a.id).cmp(&(&b.at, b.seq, &b.id)));
        let mut evidence = Self { has_notes: true, noted, ..none() };
        evidence.believe(repo, facts, terms, records)?;
        Ok(evidence)
    }

    fn believe(&mut self, repo: &Repo, facts: &Facts, terms: &Terms, records: Vec<Record>) -> Result<(), Error> {
        let tree = range::tree(repo, &facts.head)?;
        let mut vouched: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut signed: Vec<Record> = Vec::new();
        if let Some(allowed) = &terms.allowed_signers {
            // Whoever may write notes may write many: the newest are enough.
            let envelopes = records.iter().rev().filter(|r| matches!(r.event, Event::Attested { .. }));
            for record in envelopes.take(ENVELOPES) {
                let Event::Attested { envelope_blob, .. } = &record.event else { continue };
                let text = repo.blob(envelope_blob, TEXT_LIMIT)?.unwrap_or_default();
                let Some(envelope) = attestation::open(&String::from_utf8_lossy(&text)) else { continue };
                let bytes = attestation::signed_bytes(&envelope.statement);
                let mut signer = None;
                for sig in &envelope.signatures {
                    signer = signer.or(signature::signer(&bytes, sig, allowed)?);
                }
                let (Some(signer), Some(said)) = (signer, attestation::vouched(&envelope.statement)) else { continue };
                for record in said.records {
                    // A test or a signal holds for its code, wherever it stands; the others for the tree they were signed on.
                    let bound = matches!(record.event, Event::TestsRan(_) | Event::SignalGiven(_));
                    if is_evidence(&record) && (bound || said.tree == tree.as_str()) {
                        vouched.entry(signer.clone()).or_default().push(kind(&record));
                        signed.push(record);
                    }
                }
            }
        }
        let trusted: Vec<Record> = records.into_iter().filter(is_evidence).collect();
        let known: HashSet<&String> = signed.iter().map(|r| &r.id).collect();
        self.unvouched = if terms.trust_notes { 0 } else { trusted.iter().filter(|r| !known.contains(&r.id)).count() };
        self.records = if terms.trust_notes { trusted } else { signed };
        self.vouched_by = vouched.into_iter().map(|(signer, records)| Voucher { signer, records }).collect();
        Ok(())
    }
}

/// Whether a record may speak for an indicator or a signal.
fn is_evidence(record: &Record) -> bool {
    matches!(
        record.event,
        Event::TestsRan(_)
            | Event::SignalGiven(_)
            | Event::IndicatorRecorded { .. }
            | Event::MarkerCreated { .. }
            | Event::TicketChecked { .. }
    )
}

fn kind(record: &Record) -> String {
    let value = serde_json::to_value(&record.event).unwrap_or_default();
    value["type"].as_str().unwrap_or_default().to_owned()
}
