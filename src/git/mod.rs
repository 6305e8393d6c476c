//! The only code that talks to git.
//!
//! gix reads objects and writes them, git2 moves refs by compare-and-swap and opens strictly, and the `git` program
//! does what only it does right: the work tree, a temporary index, and repositories that the libraries cannot hold
//! (reftable, shared permissions, a foreign object directory). Each choice is measured, see ARCHITECTURE.md.

mod error;
pub mod program;
pub mod refs;
pub mod repo;

pub mod commit;
pub mod exchange;
pub mod exclude;
pub mod history;
pub mod index_flags;
pub mod range;
pub mod target;
pub mod work_tree;

mod notes_tree;
mod object_store;
mod still_lock;

pub mod incidents;
pub mod journal;
pub mod lock;
pub mod loops;
pub mod marker_file;
pub mod notes_at;
pub mod sessions;
pub mod spool;

pub mod install;
pub mod repair;

pub use error::GitError;
