//! Plain copies of what git said about a loop's range, made at the border by `git::history`.
//!
//! In: nothing. Out: owned values that the rules reason on; no git type passes this line.

use bstr::BString;

use super::{oid::Oid, path_rules::PathClass, ticket::DocStatus};

/// One side of a changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The mode as git writes it, e.g. `0o100644`; `0o160000` is a submodule.
    pub mode: u32,
    /// The blob, or the commit of a submodule.
    pub id: Oid,
}

/// A path whose entry differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Relative to the top, bytes as git stores them.
    pub path: BString,
    /// The entry on the older side; `None` = not there.
    pub before: Option<Entry>,
    /// The entry on the newer side; `None` = not there.
    pub after: Option<Entry>,
}

/// A path of the net change (spec 1.1): own commits touched it, and it is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetChange {
    /// What differs, against the anchor or the foreign tip.
    pub change: Change,
    /// The class of the path.
    pub class: PathClass,
    /// Code inside the loop's scope.
    pub is_code: bool,
    /// For docs: differs by more than white space, and is no pure rename and no empty new page.
    pub says_something: bool,
    /// For task docs: the status line before and after.
    pub doc_status: Option<(DocStatus, DocStatus)>,
}

/// A commit of the loop itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnCommit {
    /// Its id.
    pub id: Oid,
    /// Its committer date, written as the journal writes times.
    pub at: String,
    /// The first paragraph of the message, on one line.
    pub subject: String,
    /// The whole message.
    pub message: String,
    /// Trailers in order, as `%(trailers:only,unfold)` reads them.
    pub trailers: Vec<(String, String)>,
    /// Whether it changed code; looked up only where a rule asks.
    pub touches_code: Option<bool>,
    /// The code digest at this commit; looked up only for commits that give a signal.
    pub code: Option<String>,
}

impl OwnCommit {
    /// The values of trailer `key`, any case.
    pub fn trailer<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.trailers.iter().filter(move |(k, _)| k.eq_ignore_ascii_case(key)).map(|(_, v)| v.as_str())
    }

    /// The id that `git revert` wrote into the message.
    pub fn reverts(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once("This reverts commit ")?;
        let hex = rest.split(|c: char| !c.is_ascii_hexdigit()).next()?;
        (hex.len() >= 7).then_some(hex)
    }
}

/// The branch the work will be merged into; what is reachable from it is not the loop's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The full ref name.
    pub name: String,
    /// Where it stood when it was looked at.
    pub id: Oid,
}

/// What is known of index and work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkTree {
    /// Hooks and `check` judge HEAD only.
    NotLooked,
    /// Tracked paths that differ from HEAD.
    Looked {
        /// Code paths, inside the scope.
        code: Vec<DirtyPath>,
        /// Documentation paths.
        docs: Vec<DirtyPath>,
    },
}

/// A tracked path that is not as HEAD has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirtyPath {
    /// The path.
    pub path: BString,
    /// The id that its content on disk has as a blob; `None` = not there, or not looked up.
    pub id: Option<Oid>,
}

/// A completion marker that may count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarkerFile {
    /// Where it lies.
    pub path: BString,
    /// The loop that a `Loop:` line in it names.
    pub names: Option<String>,
    /// Its blob when it is in HEAD's tree; `None` = seen on disk, ignored by git.
    pub blob: Option<Oid>,
    /// Whether an own commit added it.
    pub own: bool,
}

/// All that was looked up for one judgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Where the loop started.
    pub anchor: Oid,
    /// The judged commit; the null id before the first commit.
    pub head: Oid,
    /// The target, when there is one.
    pub target: Option<Target>,
    /// Own commits, oldest first.
    pub own: Vec<OwnCommit>,
    /// The net change, sorted by path.
    pub net: Vec<NetChange>,
    /// The digest of the tested code at HEAD (spec 1.4).
    pub code: String,
    /// Index and work tree.
    pub work_tree: WorkTree,
    /// Markers new since the anchor, and ignored ones on disk that name this loop.
    pub markers: Vec<MarkerFile>,
    /// `owner/repo` of the remote, when its address tells.
    pub remote_slug: Option<String>,
    /// Whether a test run is under way.
    pub tests_running: bool,
    /// The task's file, where it is no longer what the loop was started with.
    pub task_changed: Option<String>,
}

impl Facts {
    /// Code paths of the net change.
    pub fn net_code(&self) -> impl Iterator<Item = &NetChange> {
        self.net.iter().filter(|n| n.is_code)
    }

    /// Documentation paths of the net change that say something.
    pub fn net_docs(&self) -> impl Iterator<Item = &NetChange> {
        self.net.iter().filter(|n| n.class == PathClass::Docs && n.says_something)
    }
}
