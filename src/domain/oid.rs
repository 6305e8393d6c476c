//! The name of a git object: 40 hex digits in a SHA-1 repository, 64 in a SHA-256 one.
//!
//! In: text from git, a note or a person. Out: an id that is known to be well formed, or nothing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A well-formed git object id, lower-case hex. The null id is all zeros, of either length.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Oid(String);

/// Text that is no object id.
#[derive(Debug, thiserror::Error)]
#[error("not an object id: {0:?}")]
pub struct InvalidOid(String);

impl Oid {
    /// Reads an id of 40 or 64 hex digits.
    ///
    /// ```
    /// use nav_loop::domain::oid::Oid;
    /// assert!(Oid::parse("4b825dc642cb6eb9a060e54bf8d69288fbee4904").is_some());
    /// assert!(Oid::parse("4b825dc").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let fits = matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The null id of the same length as this one.
    pub fn null_like(&self) -> Self {
        Self("0".repeat(self.0.len()))
    }

    /// Whether this is the null id, which names no object.
    pub fn is_null(&self) -> bool {
        self.0.bytes().all(|b| b == b'0')
    }

    /// All hex digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> &str {
        &self.0[..7]
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Oid> for String {
    fn from(oid: Oid) -> Self {
        oid.0
    }
}

impl TryFrom<String> for Oid {
    type Error = InvalidOid;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // Thousands of these are read from a journal: what is well formed is taken as it is.
        let is_plain = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
        if matches!(text.len(), 40 | 64) && text.bytes().all(is_plain) {
            return Ok(Self(text));
        }
        Self::parse(&text).ok_or(InvalidOid(text))
    }
}
