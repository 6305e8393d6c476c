//! The pre-merge check: a range in any clone, nobody's word (spec 4.4).
//!
//! In: what a CI system says about itself, files before and after, and an attestation's text. Out: which commits are to be
//! judged, what is odd about the range, and which records an attestation holds. Nothing is looked up here.

pub mod attestation;
pub mod ci;
pub mod finding;
