//! Recomputes with the git program alone what the tool says of a history.

use std::{collections::BTreeSet, fmt::Write as _, io::Write as _, path::Path, process::Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{SHA1, TestRepo};

/// Inert by default, for the repositories of these tests.
fn is_inert(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap().to_lowercase();
    ["readme", "changelog", "license"].iter().any(|p| name.starts_with(p))
        || (path.starts_with("docs/") && [".md", ".rst", ".adoc"].iter().any(|e| name.ends_with(e)))
}

fn is_docs(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap().to_lowercase();
    is_inert(path) && !name.starts_with("license")
        || ["docs/", "doc/", "man/"].iter().any(|d| path.starts_with(d))
        || [".md", ".mdx", ".rst", ".adoc"].iter().any(|e| name.ends_with(e))
}

/// Checks `gate`, `diff` and a test run's digest against plain git, for a linear range without foreign commits.
fn agrees_with_plain_git(repo: &TestRepo, dir: &Path) {
    let git = |args: &[&str]| repo.git_in(dir, args).ok();
    let gate = repo.nav_in(dir, &["gate", "--json"]).json();
    let anchor = repo.nav_in(dir, &["status", "--json"]).json()["loop"]["anchor"].as_str().unwrap().to_owned();
    let own: BTreeSet<String> =
        git(&["log", "--no-merges", "--format=%H", &format!("{anchor}..HEAD")]).lines().map(str::to_owned).collect();
    let raw = git(&["diff-tree", "-r", "--no-renames", "--raw", "--no-abbrev", &anchor, "HEAD"]);
    let changed: Vec<(&str, &str, &str)> = raw
        .lines()
        .map(|l| {
            let (meta, path) = l.split_once('\t').unwrap();
            let fields: Vec<&str> = meta.split(' ').collect();
            (path, fields[1], fields[3])
        })
        .collect();
    let net: BTreeSet<&str> = changed.iter().map(|c| c.0).collect();
    let said = repo.nav_in(dir, &["diff", "--json"]).json();
    let by_us: BTreeSet<&str> = said["paths"].as_array().unwrap().iter().map(|p| p["path"].as_str().unwrap()).collect();
    assert_eq!(net, by_us);
    let find = |name: &str| -> Value {
        gate["indicators"].as_array().unwrap().iter().find(|i| i["name"] == name).unwrap().clone()
    };
    let code = changed.iter().any(|c| !is_docs(c.0));
    assert_eq!(find("code_committed")["state"], if code && !own.is_empty() { "met" } else { "unmet" });
    let blobs: BTreeSet<&str> = changed.iter().map(|c| c.2).collect();
    for id in find("code_committed")["evidence"].as_array().unwrap() {
        let id = id.as_str().unwrap();
        assert!(own.contains(id) || blobs.contains(id), "{id} is neither an own commit nor a changed blob");
    }
    let docs = changed.iter().any(|c| is_docs(c.0));
    assert_eq!(find("docs_updated")["state"], if docs { "met" } else { "unmet" });
    let mut lines: Vec<String> =
        changed.iter().filter(|c| !is_inert(c.0)).map(|(path, mode, blob)| format!("{mode} {blob} {path}\n")).collect();
    lines.sort();
    let digest: String = Sha256::digest(lines.concat()).iter().map(|b| format!("{b:02x}")).collect();
    repo.nav_in(dir, &["signal", "exit", "--reason", "digest"]).ok();
    let note = git(&["notes", "--ref=nav-loop", "show", &anchor]);
    let recorded: Value =
        serde_json::from_str(note.lines().rfind(|l| l.contains("\"reason\":\"digest\"")).unwrap()).unwrap();
    assert_eq!(recorded["code"], digest.as_str());
    let met = gate["indicators"].as_array().unwrap().iter().filter(|i| i["state"] == "met").count();
    assert_eq!(gate["met"], met);
}

#[test]
fn on_a_clone_of_this_project_the_answers_are_those_of_plain_git() {
    let source = env!("CARGO_MANIFEST_DIR");
    let repo = TestRepo::empty(SHA1);
    let dir = repo.root.path().canonicalize().unwrap().join("project");
    let cloned =
        repo.try_git(&["-c", "safe.directory=*", "clone", "-q", "--no-hardlinks", source, dir.to_str().unwrap()]);
    if cloned.code != 0 || repo.git_in(&dir, &["rev-list", "--count", "HEAD"]).out.trim() == "1" {
        return crate::support::skip("the sources are not a git repository with a history");
    }
    let tip = repo.git_in(&dir, &["rev-parse", "HEAD"]).ok();
    repo.git_in(&dir, &["switch", "-q", "-c", "loop", "HEAD~1"]).ok();
    repo.git_in(&dir, &["branch", "-q", "--unset-upstream"]);
    repo.git_in(&dir, &["remote", "remove", "origin"]).ok();
    repo.git_in(&dir, &["branch", "-q", "-f", "main", "HEAD"]);
    repo.nav_in(&dir, &["start", "the newest commit of this project"]).ok();
    repo.git_in(&dir, &["cherry-pick", "--allow-empty", tip.trim()]).ok();
    agrees_with_plain_git(&repo, &dir);
}

#[test]
fn on_a_hundred_thousand_files_and_ten_thousand_commits_the_answers_are_those_of_plain_git() {
    let repo = TestRepo::empty(SHA1);
    big_history(&repo, 100_000, 10_000);
    repo.git(&["reset", "-q", "--hard", "main"]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.nav(&["start", "in a big repository"]).ok();
    repo.write("dir7/file7.rs", "changed\n");
    repo.write("docs/page.md", "words\n");
    repo.commit("code and docs");
    repo.commit_file("dir7/file8.rs", "changed too\n", "refactor: more");
    agrees_with_plain_git(&repo, &repo.dir);
}

/// Files in folders of a hundred, then commits that each change one, by `git fast-import`.
fn big_history(repo: &TestRepo, files: usize, commits: usize) {
    let mut import = repo.command("git").args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = std::io::BufWriter::new(import.stdin.take().unwrap());
    let mut text = String::from(
        "blob\nmark :1\ndata 2\nx\n\ncommit refs/heads/main\ncommitter x <x@y> 1700000000 +0000\ndata 5\nfiles\n",
    );
    for n in 0..files {
        writeln!(text, "M 100644 :1 dir{}/file{}.rs", n / 100, n % 100).unwrap();
    }
    stdin.write_all(text.as_bytes()).unwrap();
    for n in 1..commits {
        let content = format!("{n}\n");
        write!(
            stdin,
            "\ncommit refs/heads/main\ncommitter x <x@y> {} +0000\ndata 2\nc\n\nM 100644 inline dir{}/file0.rs\ndata {}\n{content}\n",
            1_700_000_000 + n,
            n % (files / 100),
            content.len(),
        )
        .unwrap();
    }
    drop(stdin);
    assert!(import.wait().unwrap().success());
}
