//! What is kept of an agent's session between two of its hooks: how often it was held, and what was answered last.
//!
//! Local and small; losing it costs at most one answer too many.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{GitError, loops::write_file, repo::Repo};

/// One session of an agent's client.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Session {
    /// Blocks since the last prompt of its user.
    pub blocks: u32,
    /// The newest stop: what it looked like, when it was answered, and how.
    pub last: Option<Stop>,
}

/// An answered stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stop {
    /// Digest of session, turn, message, HEAD, code and journal position.
    pub key: String,
    /// Milliseconds since 1970.
    pub at: i64,
    /// The answer.
    pub answer: String,
}

fn file(repo: &Repo, session: &str) -> std::path::PathBuf {
    let digest: String = Sha256::digest(session.as_bytes()).iter().take(12).map(|b| format!("{b:02x}")).collect();
    repo.state_dir().join("sessions").join(digest)
}

/// Reads a session; a new one when nothing is kept.
pub fn read(repo: &Repo, session: &str) -> Session {
    let text = std::fs::read_to_string(file(repo, session)).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

/// Keeps a session.
pub fn write(repo: &Repo, session: &str, kept: &Session) -> Result<(), GitError> {
    write_file(&file(repo, session), &serde_json::to_string(kept).unwrap_or_default())
}

/// The session that owns loop `loop_id`.
pub fn owner(repo: &Repo, loop_id: &str) -> Option<String> {
    std::fs::read_to_string(repo.state_dir().join("owners").join(loop_id)).ok()
}

/// Makes `session` the owner of loop `loop_id`.
pub fn own(repo: &Repo, loop_id: &str, session: &str) -> Result<(), GitError> {
    write_file(&repo.state_dir().join("owners").join(loop_id), session)
}
