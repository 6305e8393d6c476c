//! A real repository in a temporary folder: fixed dates and zone, no user configuration, no agent marks.

pub mod model;
pub mod terminal;
pub mod tracker;

use std::{
    cell::Cell,
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

/// What a program said and how it ended.
#[derive(Debug)]
pub struct Said {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Said {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("not JSON ({e}): {self:?}"))
    }

    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, 0, "{self:?}");
        self.out
    }

    #[track_caller]
    pub fn fails(self, code: i32, words: &str) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        let said = format!("{}{}", self.out, self.err);
        assert!(said.contains(words), "{words:?} is not in {said}");
        self
    }
}

/// How a repository is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    pub objects: &'static str,
    pub refs: &'static str,
}

pub const SHA1: Format = Format { objects: "sha1", refs: "files" };

/// Every format that the git on PATH knows.
pub fn formats() -> Vec<Format> {
    let mut formats = vec![SHA1, Format { objects: "sha256", refs: "files" }];
    if git_version() >= (2, 45) {
        formats.push(Format { objects: "sha1", refs: "reftable" });
        formats.push(Format { objects: "sha256", refs: "reftable" });
    } else {
        skip("reftable needs git 2.45");
    }
    formats
}

/// Says why a part of a test does not run here; `.ci/run` fails on one that it does not list.
pub fn skip(why: &str) {
    eprintln!("SKIPPED: {why}");
}

pub fn git_version() -> (u32, u32) {
    let output = Command::new("git").arg("version").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let digits = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    let mut parts = digits.split('.').map_while(|p| p.trim().parse().ok());
    (parts.next().unwrap(), parts.next().unwrap())
}

/// The folder with the programs under test.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_git-nav-loop")).parent().unwrap().to_owned()
}

pub struct TestRepo {
    pub root: TempDir,
    pub dir: PathBuf,
    tick: Cell<i64>,
}

impl TestRepo {
    /// An empty repository on `main`.
    pub fn empty(format: Format) -> Self {
        let root = TempDir::new().unwrap();
        let dir = root.path().canonicalize().unwrap().join("work tree");
        fs::create_dir_all(&dir).unwrap();
        fs::create_dir_all(root.path().join("home")).unwrap();
        let repo = Self { root, dir, tick: Cell::new(0) };
        let objects = format!("--object-format={}", format.objects);
        let mut args = vec!["init", "-q", "-b", "main", &objects];
        if format.refs == "reftable" {
            args.push("--ref-format=reftable");
        }
        repo.git(&args);
        repo
    }

    /// A repository with one commit of code and docs on `main`.
    pub fn new() -> Self {
        Self::of(SHA1)
    }

    pub fn of(format: Format) -> Self {
        let repo = Self::empty(format);
        repo.write("src/lib.rs", "pub fn one() -> u32 { 1 }\n");
        repo.write("README.md", "# A project\n");
        repo.commit("first");
        repo
    }

    /// As [`TestRepo::new`], hooks installed, on branch `feature` with a running loop whose test is `sh check.sh`.
    pub fn looping() -> Self {
        Self::looping_in(SHA1)
    }

    pub fn looping_in(format: Format) -> Self {
        let repo = Self::of(format);
        repo.nav(&["install"]).ok();
        repo.git(&["switch", "-q", "-c", "feature"]);
        repo.start(&[]);
        repo
    }

    pub fn start(&self, more: &[&str]) {
        let mut args = vec!["start", "add a function", "--test", "sh check.sh", "--max-iterations", "20"];
        args.extend(more);
        self.nav(&args).ok();
    }

    /// A command in this repository with nothing of the user's around it.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.tick.set(self.tick.get() + 1);
        let date = format!("{} +0000", 1_767_225_600 + self.tick.get() * 60);
        let path = std::env::var_os("PATH").unwrap();
        let paths = std::iter::once(programs()).chain(std::env::split_paths(&path));
        command.env_clear().current_dir(&self.dir).stdin(Stdio::null());
        command.env("PATH", std::env::join_paths(paths).unwrap());
        command.env("HOME", self.root.path().join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
        command.env("TZ", "UTC").env("LC_ALL", "C").env("GIT_CEILING_DIRECTORIES", self.root.path());
        command.env("GIT_AUTHOR_NAME", "A U Thor").env("GIT_AUTHOR_EMAIL", "author@example.com");
        command.env("GIT_COMMITTER_NAME", "C O Mitter").env("GIT_COMMITTER_EMAIL", "committer@example.com");
        command.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        command.env("GIT_EDITOR", "true").env("GIT_SEQUENCE_EDITOR", "true");
        command
    }

    pub fn run(&self, program: &str, args: &[&str]) -> Said {
        Said::of(self.command(program).args(args).output().unwrap())
    }

    /// Runs git; it must succeed. Its stdout without the last line end.
    #[track_caller]
    pub fn git(&self, args: &[&str]) -> String {
        let said = self.run("git", args);
        assert_eq!(said.code, 0, "git {args:?}: {said:?}");
        said.out.trim_end_matches('\n').to_owned()
    }

    pub fn try_git(&self, args: &[&str]) -> Said {
        self.run("git", args)
    }

    /// Runs `git nav-loop`.
    pub fn nav(&self, args: &[&str]) -> Said {
        self.run(env!("CARGO_BIN_EXE_git-nav-loop"), args)
    }

    /// Runs `git nav-loop` in another folder of this repository.
    pub fn nav_in(&self, dir: &Path, args: &[&str]) -> Said {
        Said::of(self.command(env!("CARGO_BIN_EXE_git-nav-loop")).current_dir(dir).args(args).output().unwrap())
    }

    pub fn git_in(&self, dir: &Path, args: &[&str]) -> Said {
        Said::of(self.command("git").current_dir(dir).args(args).output().unwrap())
    }

    pub fn nav_env(&self, env: &[(&str, &str)], args: &[&str]) -> Said {
        let mut command = self.command(env!("CARGO_BIN_EXE_git-nav-loop"));
        Said::of(command.envs(env.iter().copied()).args(args).output().unwrap())
    }

    pub fn write(&self, path: impl AsRef<OsStr>, text: &str) {
        let path = self.dir.join(Path::new(path.as_ref()));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir.join(path)).unwrap()
    }

    /// Commits everything; the new id.
    #[track_caller]
    pub fn commit(&self, message: &str) -> String {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.head()
    }

    /// Writes one file and commits it.
    #[track_caller]
    pub fn commit_file(&self, path: &str, text: &str, message: &str) -> String {
        self.write(path, text);
        self.commit(message)
    }

    pub fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// Adds the function, with a test script that passes, and commits both.
    pub fn do_the_work(&self) -> String {
        self.write("check.sh", "grep -q two src/lib.rs\n");
        self.commit_file("src/lib.rs", "pub fn one() -> u32 { 1 }\npub fn two() -> u32 { 2 }\n", "add two")
    }

    pub fn gate(&self) -> Value {
        self.nav(&["gate", "--json"]).json()
    }

    pub fn status(&self) -> Value {
        self.nav(&["status", "--json"]).json()
    }

    /// The state of one indicator.
    #[track_caller]
    pub fn indicator(&self, name: &str) -> String {
        let gate = self.gate();
        let all = gate["indicators"].as_array().unwrap_or_else(|| panic!("{gate}"));
        let found = all.iter().find(|i| i["name"] == name).unwrap_or_else(|| panic!("no {name} in {gate}"));
        found["state"].as_str().unwrap().to_owned()
    }

    /// The reason of one indicator.
    pub fn reason(&self, name: &str) -> String {
        let gate = self.gate();
        let all = gate["indicators"].as_array().unwrap();
        all.iter().find(|i| i["name"] == name).unwrap()["reason"].as_str().unwrap().to_owned()
    }

    /// The lines of the note on `object`, read by git.
    pub fn note(&self, object: &str) -> Vec<Value> {
        let said = self.try_git(&["notes", "--ref=nav-loop", "show", object]);
        said.out.lines().filter(|l| !l.is_empty()).map(|l| serde_json::from_str(l).unwrap()).collect()
    }

    pub fn anchor(&self) -> String {
        self.status()["loop"]["anchor"].as_str().unwrap().to_owned()
    }

    /// The types of the loop's events, in the note's order.
    pub fn events(&self) -> Vec<String> {
        self.note(&self.anchor()).iter().map(|e| e["type"].as_str().unwrap().to_owned()).collect()
    }
}
