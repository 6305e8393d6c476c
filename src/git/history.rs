//! Reads a loop's range from the object database: own commits, net change, digest, markers (spec 1.1, 1.3).
//!
//! In: anchor, HEAD, target, and which commits were seen being made in the loop. Out: plain values for the rules.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::Path,
};

use bstr::{BString, ByteSlice};
use gix::diff::tree::recorder::Change as TreeChange;
use sha2::{Digest, Sha256};

use super::{
    GitError,
    repo::{Repo, gix_id, oid},
};
use crate::domain::{
    facts::{Change, Entry, MarkerFile, NetChange, OwnCommit, Target},
    marker,
    oid::Oid,
    path_rules::{PathClass, PathRules},
    ticket::{DocStatus, doc_status},
};

/// Documents larger than this are compared by id only.
const DOC_LIMIT: u64 = 1 << 20;

/// What bounds the range.
#[derive(Debug, Clone)]
pub struct Range {
    /// Where the loop started: a commit, or the empty tree.
    pub anchor: Oid,
    /// The judged commit; null before the first.
    pub head: Oid,
    /// The target, when there is one.
    pub target: Option<Target>,
}

/// The part of the facts that comes from history.
#[derive(Debug)]
pub struct History {
    /// Own commits, oldest first.
    pub own: Vec<OwnCommit>,
    /// The net change, by path.
    pub net: Vec<NetChange>,
    /// The digest of the tested code at HEAD.
    pub code: String,
    /// Markers new in HEAD's tree.
    pub markers: Vec<MarkerFile>,
}

/// Changes by path.
type Changes = BTreeMap<BString, Change>;

struct Walked {
    id: Oid,
    parents: Vec<Oid>,
}

/// Reads history through one repository.
pub struct Reader<'a> {
    repo: &'a Repo,
    rules: &'a PathRules,
    range: &'a Range,
}

impl<'a> Reader<'a> {
    /// A reader of `range`.
    pub fn new(repo: &'a Repo, rules: &'a PathRules, range: &'a Range) -> Self {
        Self { repo, rules, range }
    }

    /// Reads it all. `seen` tells whether a commit was seen being made in this loop; `ask_touches`, whether a rule
    /// needs to know which own commits touch code.
    pub fn read(&self, seen: &dyn Fn(&Oid) -> Result<bool, GitError>, ask_touches: bool) -> Result<History, GitError> {
        let all = self.walk(&[&self.range.anchor])?;
        let (own, foreign) = self.split(&all, seen)?;
        let since_anchor = self.diff(&self.range.anchor, &self.range.head)?;
        let net = self.net(&all, &own, &foreign, &since_anchor)?;
        let mut commits = own.iter().map(|w| self.commit(&w.id)).collect::<Result<Vec<_>, _>>()?;
        let marked = commits.iter().any(crate::domain::evidence::is_simplification);
        if ask_touches || marked {
            for (commit, walked) in commits.iter_mut().zip(&own) {
                commit.touches_code = Some(self.own_diff(walked)?.keys().any(|p| self.rules.is_code(p.as_bstr())));
            }
        }
        let code = self.digest(&since_anchor);
        for commit in commits.iter_mut().filter(|c| c.trailer("Nav-Loop-Exit").next().is_some()) {
            let at = self.diff(&self.range.anchor, &commit.id)?;
            commit.code = Some(self.digest(&at));
        }
        let own_paths: HashSet<&BString> = net.keys().collect();
        let markers = self.markers(&since_anchor, &own_paths)?;
        Ok(History { net: self.describe(net)?, own: commits, code, markers })
    }

    /// Reads a range for the pre-merge check: own commits are those that `base` does not have, the net change is one
    /// difference, and a commit is looked at by itself only where its message claims something (spec 4.4). `cut` are
    /// commits at which the history of this clone ends.
    pub fn read_range(&self, base: &Oid, cut: &HashSet<String>) -> Result<History, GitError> {
        let all = self.walk(&[base])?;
        if let Some(at) = all.iter().find(|w| cut.contains(w.id.as_str())) {
            return Err(GitError::Object(format!("the history is cut at {}", at.id.short())));
        }
        let own: Vec<&Walked> = all.iter().filter(|w| w.parents.len() < 2).collect();
        let net = self.diff(&self.range.anchor, &self.range.head)?;
        let mut commits = own.iter().map(|w| self.commit(&w.id)).collect::<Result<Vec<_>, _>>()?;
        if commits.iter().any(crate::domain::evidence::is_simplification) {
            let mut seen_first = false;
            for (commit, walked) in commits.iter_mut().zip(&own) {
                if !seen_first || crate::domain::evidence::is_simplification(commit) {
                    let touches = self.own_diff(walked)?.keys().any(|p| self.rules.is_code(p.as_bstr()));
                    commit.touches_code = Some(touches);
                    seen_first |= touches;
                }
            }
        }
        let code = self.digest(&net);
        let signals = commits.iter_mut().filter(|c| c.trailer("Nav-Loop-Exit").next().is_some());
        if let Some(newest) = signals.max_by(|a, b| a.at.cmp(&b.at)) {
            // Base may have been merged in since: what the signal was given for is a difference to what base was then.
            let from = super::range::merge_base(self.repo, base, &newest.id)?;
            let at = self.diff(from.as_ref().unwrap_or(&self.range.anchor), &newest.id)?;
            newest.code = Some(self.digest(&at));
        }
        let own_paths: HashSet<&BString> = net.keys().collect();
        let markers = self.markers(&net, &own_paths)?;
        Ok(History { net: self.describe(net.clone())?, own: commits, code, markers })
    }

    /// Commits reachable from HEAD and from none of `hidden`, oldest first. An id that is no commit hides nothing.
    fn walk(&self, hidden: &[&Oid]) -> Result<Vec<Walked>, GitError> {
        if self.range.head.is_null() {
            return Ok(Vec::new());
        }
        let mut tips = Vec::new();
        for id in hidden.iter().filter(|id| ***id != self.repo.empty_tree() && !id.is_null()) {
            if !self.repo.has_object(id) {
                return Err(GitError::Object(format!("commit {id} is missing")));
            }
            tips.push(gix_id(id)?);
        }
        let order =
            gix::revision::walk::Sorting::ByCommitTime(gix::traverse::commit::simple::CommitTimeOrder::NewestFirst);
        let walk = self.repo.gix.rev_walk([gix_id(&self.range.head)?]).with_hidden(tips).sorting(order);
        let mut commits = Vec::new();
        for info in walk.all().map_err(GitError::object)? {
            let info = info.map_err(GitError::object)?;
            let parents = info.parent_ids.iter().map(|p| oid(p)).collect();
            commits.push(Walked { id: oid(&info.id), parents });
        }
        commits.reverse();
        Ok(commits)
    }

    /// Own commits without merges, and foreign ones with them.
    fn split<'w>(
        &self,
        all: &'w [Walked],
        seen: &dyn Fn(&Oid) -> Result<bool, GitError>,
    ) -> Result<(Vec<&'w Walked>, Vec<&'w Walked>), GitError> {
        let Some(target) = &self.range.target else {
            return Ok((all.iter().filter(|w| w.parents.len() < 2).collect(), Vec::new()));
        };
        let outside = self.walk(&[&self.range.anchor, &target.id])?;
        let outside: HashSet<&Oid> = outside.iter().map(|w| &w.id).collect();
        let (mut own, mut foreign) = (Vec::new(), Vec::new());
        for walked in all {
            if outside.contains(&walked.id) || seen(&walked.id)? {
                if walked.parents.len() < 2 {
                    own.push(walked);
                }
            } else {
                foreign.push(walked);
            }
        }
        Ok((own, foreign))
    }

    /// The net change: touched by own commits, and not as at the anchor or, where foreign commits changed the path,
    /// as at the foreign tip.
    fn net(
        &self,
        all: &[Walked],
        own: &[&Walked],
        foreign: &[&Walked],
        since_anchor: &Changes,
    ) -> Result<Changes, GitError> {
        if foreign.is_empty() && own.len() == all.len() {
            return Ok(since_anchor.clone());
        }
        let mut touched = BTreeSet::new();
        for walked in own {
            touched.extend(self.own_diff(walked)?.into_keys());
        }
        let Some(tip) = foreign.last() else {
            return Ok(since_anchor.iter().filter(|(p, _)| touched.contains(*p)).map(clone_pair).collect());
        };
        let foreign_paths = self.foreign_paths(foreign)?;
        let since_tip = self.diff(&tip.id, &self.range.head)?;
        let differs = |path: &BString| {
            let changes = if foreign_paths.contains(path) { &since_tip } else { since_anchor };
            changes.get(path).map(|c| (path.clone(), c.clone()))
        };
        Ok(touched.iter().filter_map(differs).collect())
    }

    /// Paths that foreign commits changed, each against its first parent.
    fn foreign_paths(&self, foreign: &[&Walked]) -> Result<HashSet<BString>, GitError> {
        let mut paths = HashSet::new();
        for walked in foreign {
            paths.extend(self.own_diff(walked)?.into_keys());
        }
        Ok(paths)
    }

    /// What a commit changes against its first parent.
    fn own_diff(&self, walked: &Walked) -> Result<Changes, GitError> {
        let empty = self.repo.empty_tree();
        self.diff(walked.parents.first().unwrap_or(&empty), &walked.id)
    }

    /// The difference between two commits or trees, directories left out.
    pub fn diff(&self, from: &Oid, to: &Oid) -> Result<Changes, GitError> {
        let (from, to) = (self.tree(from)?, self.tree(to)?);
        let mut recorder = gix::diff::tree::Recorder::default();
        let hash = self.repo.gix.object_hash();
        let (from, to) = (from.as_ref().map_or(&[][..], |t| &t.data), to.as_ref().map_or(&[][..], |t| &t.data));
        let iter = |data| gix::objs::TreeRefIter::from_bytes(data, hash);
        let state = gix::diff::tree::State::default();
        gix::diff::tree(iter(from), iter(to), state, &self.repo.gix.objects, &mut recorder)
            .map_err(|e| GitError::object(chain(&e)))?;
        Ok(recorder.records.into_iter().filter_map(change).fold(Changes::new(), join))
    }

    fn tree(&self, id: &Oid) -> Result<Option<gix::Tree<'_>>, GitError> {
        if id.is_null() || *id == self.repo.empty_tree() {
            return Ok(None);
        }
        let object = self.repo.gix.find_object(gix_id(id)?).map_err(GitError::object)?;
        Ok(Some(object.peel_to_tree().map_err(GitError::object)?))
    }

    /// The digest of the tested code: SHA-256 over the sorted `mode blob path` lines of what differs (spec 1.4).
    pub fn digest(&self, changes: &Changes) -> String {
        digest_of(changes.values().filter(|c| self.rules.is_tested(c.path.as_bstr())), &self.range.anchor)
    }

    fn commit(&self, id: &Oid) -> Result<OwnCommit, GitError> {
        let commit = self.repo.gix.find_commit(gix_id(id)?).map_err(GitError::object)?;
        let message = commit.message_raw().map_err(GitError::object)?.to_str_lossy().into_owned();
        let parsed = commit.message().map_err(GitError::object)?;
        let trailers = parsed.body().map(|body| {
            body.trailers().map(|t| (t.token.to_str_lossy().into_owned(), unfold(&t.value.to_str_lossy()))).collect()
        });
        let seconds = commit.time().map_err(GitError::object)?.seconds;
        Ok(OwnCommit {
            id: id.clone(),
            at: journal_time(seconds),
            subject: parsed.summary().to_str_lossy().into_owned(),
            trailers: trailers.unwrap_or_default(),
            message,
            touches_code: None,
            code: None,
        })
    }

    fn markers(&self, since_anchor: &Changes, own: &HashSet<&BString>) -> Result<Vec<MarkerFile>, GitError> {
        let mut found = Vec::new();
        for change in since_anchor.values() {
            let (None, Some(after)) = (&change.before, &change.after) else { continue };
            let is_marker = self.rules.class(change.path.as_bstr()) == PathClass::Marker;
            if !is_marker || !marker::may_count(&change.path.to_str_lossy()) {
                continue;
            }
            let text = self.repo.blob(&after.id, DOC_LIMIT)?.unwrap_or_default();
            found.push(MarkerFile {
                path: change.path.clone(),
                names: marker::names(&text),
                blob: Some(after.id.clone()),
                own: own.contains(&change.path),
            });
        }
        Ok(found)
    }

    /// Adds class and content findings to the changes of the net change.
    fn describe(&self, net: Changes) -> Result<Vec<NetChange>, GitError> {
        let mut removed = HashSet::new();
        let mut described = Vec::new();
        for change in net.into_values() {
            let class = self.rules.class(change.path.as_bstr());
            let mut said = NetChange {
                is_code: self.rules.is_code(change.path.as_bstr()),
                class,
                says_something: false,
                doc_status: None,
                change,
            };
            match class {
                PathClass::Docs => said.says_something = self.says_something(&said.change, &mut removed)?,
                PathClass::TaskDoc => said.doc_status = Some(self.statuses(&said.change)?),
                _ => {}
            }
            described.push(said);
        }
        self.drop_renames(&mut described, &removed)?;
        Ok(described)
    }

    /// More than white space differs; an empty new page says nothing. Notes the text of deleted pages in `removed`.
    fn says_something(&self, change: &Change, removed: &mut HashSet<Vec<u8>>) -> Result<bool, GitError> {
        let before = self.words(change.before.as_ref())?;
        let after = self.words(change.after.as_ref())?;
        match (before, after) {
            (Some(before), Some(after)) => {
                if change.after.is_none() {
                    removed.insert(before.clone());
                }
                Ok(before != after || (change.after.is_none() && !before.is_empty()))
            }
            _ => Ok(true),
        }
    }

    /// A blob's content without white space; `None` = too large or not here.
    fn words(&self, entry: Option<&Entry>) -> Result<Option<Vec<u8>>, GitError> {
        let Some(entry) = entry else { return Ok(Some(Vec::new())) };
        let text = self.repo.blob(&entry.id, DOC_LIMIT)?;
        Ok(text.map(|t| t.into_iter().filter(|b| !b.is_ascii_whitespace()).collect()))
    }

    /// A page that went and came again elsewhere with the same words is a rename: neither side says anything.
    fn drop_renames(&self, described: &mut [NetChange], removed: &HashSet<Vec<u8>>) -> Result<(), GitError> {
        if removed.is_empty() {
            return Ok(());
        }
        let mut renamed = HashSet::new();
        for said in described.iter_mut().filter(|s| s.class == PathClass::Docs && s.change.before.is_none()) {
            if let Some(words) = self.words(said.change.after.as_ref())?.filter(|w| removed.contains(w)) {
                said.says_something = false;
                renamed.insert(words);
            }
        }
        for said in described.iter_mut().filter(|s| s.class == PathClass::Docs && s.change.after.is_none()) {
            if self.words(said.change.before.as_ref())?.is_some_and(|w| renamed.contains(&w)) {
                said.says_something = false;
            }
        }
        Ok(())
    }

    fn statuses(&self, change: &Change) -> Result<(DocStatus, DocStatus), GitError> {
        let status = |entry: Option<&Entry>| -> Result<DocStatus, GitError> {
            let Some(entry) = entry else { return Ok(DocStatus::Absent) };
            let text = self.repo.blob(&entry.id, DOC_LIMIT)?.unwrap_or_default();
            Ok(doc_status(&text.to_str_lossy()))
        };
        Ok((status(change.before.as_ref())?, status(change.after.as_ref())?))
    }
}

fn clone_pair((path, change): (&BString, &Change)) -> (BString, Change) {
    (path.clone(), change.clone())
}

/// The digest over changes: a deleted path is mode `000000`, the null id, the path.
pub fn digest_of<'c>(changes: impl Iterator<Item = &'c Change>, like: &Oid) -> String {
    let mut lines: Vec<Vec<u8>> = changes
        .map(|c| {
            let (mode, id) = c.after.as_ref().map_or((0, like.null_like()), |e| (e.mode, e.id.clone()));
            let mut line = format!("{mode:06o} {id} ").into_bytes();
            line.extend_from_slice(&c.path);
            line.push(b'\n');
            line
        })
        .collect();
    lines.sort();
    let mut hash = Sha256::new();
    for line in &lines {
        hash.update(line);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}

fn change(change: TreeChange) -> Option<Change> {
    let entry = |mode: gix::objs::tree::EntryMode, id: gix::ObjectId| {
        (!mode.is_tree()).then(|| Entry { mode: u32::from(mode.value()), id: oid(&id) })
    };
    let (path, before, after) = match change {
        TreeChange::Addition { entry_mode, oid, path, .. } => (path, None, entry(entry_mode, oid)),
        TreeChange::Deletion { entry_mode, oid, path, .. } => (path, entry(entry_mode, oid), None),
        TreeChange::Modification { previous_entry_mode, previous_oid, entry_mode, oid, path } => {
            (path, entry(previous_entry_mode, previous_oid), entry(entry_mode, oid))
        }
    };
    (before.is_some() || after.is_some()).then_some(Change { path, before, after })
}

/// A file that became a directory, or the other way round, is reported in two halves.
fn join(mut changes: Changes, change: Change) -> Changes {
    match changes.get_mut(&change.path) {
        Some(known) => {
            known.before = known.before.take().or(change.before);
            known.after = known.after.take().or(change.after);
        }
        None => drop(changes.insert(change.path.clone(), change)),
    }
    changes
}

fn unfold(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Seconds since 1970 as the journal writes times.
pub fn journal_time(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| "1970-01-01T00:00:00.000Z".to_owned(), |t| t.strftime("%Y-%m-%dT%H:%M:%S.000Z").to_string())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

/// Whether any component of `path` below `top` is a symbolic link.
pub fn goes_through_link(top: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(top) else { return true };
    let mut at = top.to_owned();
    below.components().any(|part| {
        at.push(part);
        at.is_symlink()
    })
}
