//! Signatures with SSH keys, made and checked by `ssh-keygen`, as git's own are.
//!
//! In: bytes and a key, or bytes, a signature and a file of allowed signers. Out: a signature; or who is vouched for.
//! Validity dates, namespaces and authorities of the file are ssh-keygen's to judge.
#![expect(clippy::disallowed_methods, reason = "this file starts ssh-keygen")]

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use crate::{
    error::{Error, ErrorKind},
    git::journal::random_id,
};

/// What our signatures are for; one for another purpose is none of ours.
const NAMESPACE: &str = "git-nav-loop";
const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// A signature and the fingerprint of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    /// In base64, without armour.
    pub sig: String,
    /// `SHA256:…`.
    pub keyid: String,
}

/// Signs `bytes` with the private key in `key`.
pub fn sign(bytes: &[u8], key: &Path) -> Result<Signature, Error> {
    let cannot =
        |why: String| Error::usage(format!("{} does not sign: {why}", key.display()), "name an SSH private key");
    let key_text = key.display().to_string();
    let signed = run(&["-q", "-Y", "sign", "-n", NAMESPACE, "-f", &key_text], bytes)?;
    if !signed.status.success() {
        return Err(cannot(last_line(&signed.stderr)));
    }
    let armoured = String::from_utf8_lossy(&signed.stdout).into_owned();
    let body = armoured.split_once(BEGIN).and_then(|(_, rest)| rest.split_once(END)).map(|(body, _)| body);
    let sig: String = body.ok_or_else(|| cannot("no signature".to_owned()))?.split_whitespace().collect();
    let shown = run(&["-l", "-f", &key_text], &[])?;
    let keyid = String::from_utf8_lossy(&shown.stdout).split_whitespace().nth(1).unwrap_or_default().to_owned();
    Ok(Signature { sig, keyid })
}

/// Who signed `bytes`, when it is somebody in `allowed`; `None` for a stranger, an expired key, other bytes.
pub fn signer(bytes: &[u8], sig: &str, allowed: &Path) -> Result<Option<String>, Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
    if sig.is_empty() || sig.len() > 64 << 10 || !sig.chars().all(plain) {
        return Ok(None);
    }
    let lines: Vec<String> = sig.as_bytes().chunks(70).map(|c| String::from_utf8_lossy(c).into_owned()).collect();
    let file = Temporary::holding(&format!("{BEGIN}\n{}\n{END}\n", lines.join("\n")))?;
    let (sig, allowed) = (file.0.display().to_string(), allowed.display().to_string());
    let found = run(&["-Y", "find-principals", "-s", &sig, "-f", &allowed], &[])?;
    for principal in String::from_utf8_lossy(&found.stdout).lines().map(str::trim).filter(|p| !p.is_empty()) {
        let verified = run(&["-Y", "verify", "-f", &allowed, "-I", principal, "-n", NAMESPACE, "-s", &sig], bytes)?;
        if verified.status.success() {
            return Ok(Some(principal.to_owned()));
        }
    }
    Ok(None)
}

fn run(args: &[&str], input: &[u8]) -> Result<Output, Error> {
    let missing = |e: std::io::Error| {
        Error::new(ErrorKind::CannotJudge, format!("ssh-keygen cannot be started: {e}"), "install OpenSSH's client")
    };
    let mut command = Command::new("ssh-keygen");
    command.args(args).env("LC_ALL", "C").env_remove("SSH_ASKPASS").stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(missing)?;
    let stdin = child.stdin.take();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(stdin.map(|mut s| s.write_all(&input))));
    let output = child.wait_with_output().map_err(missing)?;
    drop(writer.join());
    Ok(output)
}

fn last_line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).lines().next_back().unwrap_or("no word").trim().to_owned()
}

/// A file that goes again.
struct Temporary(PathBuf);

impl Temporary {
    fn holding(text: &str) -> Result<Self, Error> {
        let path = std::env::temp_dir().join(format!("nav-loop-{}.sig", random_id()?));
        std::fs::write(&path, text)
            .map_err(|e| Error::refused(format!("{}: {e}", path.display()), "make it writable"))?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}
