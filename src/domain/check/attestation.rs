//! An in-toto Statement about a test run, and the DSSE envelope around it (spec 4.4).
//!
//! In: a run with its commit and tree, and the records that stand beside it. Out: the statement; the bytes that are
//! signed; and, of an envelope, statement and signatures. Whether a signature is good is asked elsewhere.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::domain::{
    event::{Line, Record},
    oid::Oid,
    test_run::{TestRun, TestVerdict},
};

/// The type of a statement's text.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";
const STATEMENT: &str = "https://in-toto.io/Statement/v1";
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";
/// Where our own records stand in the predicate; readers that do not know it pass over it.
const RECORDS: &str = "urn:nav-loop:records:v1";
/// What a resource descriptor may carry of its content, in bytes.
const CONTENT_LIMIT: usize = 1_000;

/// The statement that `run` ended so on this commit and tree; `records` are kept beside it word for word.
pub fn statement(commit: &Oid, tree: &Oid, run: &TestRun, records: &[Record]) -> Value {
    let command = serde_json::to_string(&run.command).unwrap_or_default();
    let mut configuration = json!({
        "name": "test command", "mediaType": "application/json",
        "digest": {"sha256": crate::domain::evidence::sha256_hex(&command)},
        "annotations": {"exit_code": run.exit_code, "clean": run.clean, "ms": run.ms},
    });
    if command.len() < CONTENT_LIMIT {
        configuration["content"] = STANDARD.encode(&command).into();
    }
    let result = match run.verdict {
        TestVerdict::Pass => "PASSED",
        TestVerdict::Fail => "FAILED",
        TestVerdict::Error => "WARNED",
    };
    let lines: Vec<String> = records.iter().map(Record::to_line).collect();
    json!({
        "_type": STATEMENT,
        "subject": [{"name": commit.as_str(), "digest": {"gitCommit": commit.as_str(), "gitTree": tree.as_str()}}],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": result, "configuration": [configuration], "passedTests": [], "warnedTests": [],
            "failedTests": run.failing, RECORDS: lines,
        },
    })
}

/// The envelope of a statement; `signature` and `keyid` where it was signed.
pub fn envelope(statement: &str, signature: Option<(&str, &str)>) -> Value {
    let signatures: Vec<Value> =
        signature.into_iter().map(|(keyid, sig)| json!({"keyid": keyid, "sig": sig})).collect();
    json!({"payloadType": PAYLOAD_TYPE, "payload": STANDARD.encode(statement), "signatures": signatures})
}

/// The bytes that are signed (DSSE's pre-authentication encoding).
pub fn signed_bytes(statement: &[u8]) -> Vec<u8> {
    let mut bytes = format!("DSSEv1 {} {PAYLOAD_TYPE} {} ", PAYLOAD_TYPE.len(), statement.len()).into_bytes();
    bytes.extend(statement);
    bytes
}

/// An envelope, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Envelope {
    /// The statement's own bytes.
    pub statement: Vec<u8>,
    /// Each signature, in base64.
    pub signatures: Vec<String>,
}

/// Reads an envelope; `None` when it is none.
pub fn open(text: &str) -> Option<Envelope> {
    let value: Value = serde_json::from_str(text).ok()?;
    if value["payloadType"] != PAYLOAD_TYPE {
        return None;
    }
    let statement = STANDARD.decode(value["payload"].as_str()?).ok()?;
    let signatures = value["signatures"].as_array()?.iter().filter_map(|s| s["sig"].as_str().map(str::to_owned));
    Some(Envelope { statement, signatures: signatures.take(16).collect() })
}

/// What a statement says: its tree, and the records that it vouches for.
#[derive(Debug, Clone, PartialEq)]
pub struct Vouched {
    /// The tree it is about.
    pub tree: String,
    /// The records.
    pub records: Vec<Record>,
}

/// Reads a statement of ours; `None` when it is another.
pub fn vouched(statement: &[u8]) -> Option<Vouched> {
    let value: Value = serde_json::from_slice(statement).ok()?;
    if value["_type"] != STATEMENT || value["predicateType"] != TEST_RESULT {
        return None;
    }
    let tree = value["subject"][0]["digest"]["gitTree"].as_str()?.to_owned();
    let lines = value["predicate"][RECORDS].as_array()?.iter().filter_map(Value::as_str);
    let records = lines.take(64).filter_map(|line| match Record::parse(line) {
        Line::Known(record) => Some(*record),
        _ => None,
    });
    Some(Vouched { tree, records: records.collect() })
}
