//! Both sides of each speed claim, measured in one run, interleaved, as a ratio (spec 5.3).
//!
//! `cargo bench` prints the table; `cargo bench -- --write BENCHMARKS.md` keeps it. Repositories are made by
//! `git fast-import` in a temporary folder. Nothing here asserts a time.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::too_many_lines,
    reason = "a measuring program: it stops where something fails, and prints"
)]

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const NAV: &str = env!("CARGO_BIN_EXE_git-nav-loop");
const POST_COMMIT: &str = env!("CARGO_BIN_EXE_nav-loop-post-commit");

struct Row {
    what: String,
    ours: String,
    theirs: String,
    ratio: f64,
    limit: Option<f64>,
}

struct Bench {
    root: PathBuf,
    rows: Vec<Row>,
    quick: bool,
}

/// A command with fixed dates and nothing of the user's.
fn command(program: &str, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.env("HOME", "/nonexistent").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C").env("TZ", "UTC");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), "x").env(format!("GIT_{who}_EMAIL"), "x@y");
    }
    for mark in ["CLAUDECODE", "NAV_LOOP", "NAV_LOOP_HOOK", "GIT_DIR", "GIT_INDEX_FILE"] {
        command.env_remove(mark);
    }
    command
}

fn git(dir: &Path, args: &[&str]) -> String {
    let output = command("git", dir)
        .args(["-c", "core.hooksPath=/dev/null"])
        .args(args)
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn nav(dir: &Path, args: &[&str]) {
    let status = command(NAV, dir).args(args).status().unwrap();
    assert!(status.code().is_some_and(|c| c < 8), "git nav-loop {args:?}");
}

fn time(mut run: impl FnMut()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}

/// Runs all sides in turn, `n` times, and gives their medians in milliseconds.
fn interleaved(n: usize, sides: &mut [&mut dyn FnMut(usize) -> Duration]) -> Vec<f64> {
    let mut times = vec![Vec::new(); sides.len()];
    for round in 0..n {
        for (side, times) in sides.iter_mut().zip(&mut times) {
            times.push(side(round));
        }
    }
    times.into_iter().map(median).collect()
}

impl Bench {
    fn row(&mut self, what: &str, ours: f64, against: &str, theirs: f64, limit: Option<f64>) {
        let row = Row {
            what: what.to_owned(),
            ours: format!("{ours:.2} ms"),
            theirs: format!("{against}: {theirs:.2} ms"),
            ratio: ours / theirs,
            limit,
        };
        self.push(row);
    }

    fn push(&mut self, row: Row) {
        let limit = row.limit.map_or(String::new(), |l| format!(" (≤ {l})"));
        println!("{:60} {:>12}  {:45} {:.2} ×{limit}", row.what, row.ours, row.theirs, row.ratio);
        self.rows.push(row);
    }

    fn n(&self, full: usize) -> usize {
        if self.quick { (full / 20).max(3) } else { full }
    }

    /// A repository of `files` files and `commits` commits, on branch `feature`.
    fn repository(&self, name: &str, files: usize, commits: usize) -> PathBuf {
        let dir = self.root.join(name);
        fs::create_dir_all(&dir).unwrap();
        git(&dir, &["init", "-q", "-b", "main"]);
        let mut import = command("git", &dir).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
        let mut stdin = std::io::BufWriter::new(import.stdin.take().unwrap());
        write!(
            stdin,
            "blob\nmark :1\ndata 2\nx\n\ncommit refs/heads/main\ncommitter x <x@y> 1700000000 +0000\ndata 1\nf\n"
        )
        .unwrap();
        for n in 0..files {
            writeln!(stdin, "M 100644 :1 dir{}/file{}.rs", n / 100, n % 100).unwrap();
        }
        for n in 1..commits {
            let text = format!("{n}\n");
            let at = 1_700_000_000 + n;
            let dir = n % (files / 100).max(1);
            let head = format!("\ncommit refs/heads/main\ncommitter x <x@y> {at} +0000\ndata 2\nc\n\n");
            writeln!(stdin, "{head}M 100644 inline dir{dir}/file0.rs\ndata {}\n{text}", text.len()).unwrap();
        }
        drop(stdin);
        assert!(import.wait().unwrap().success());
        git(&dir, &["reset", "-q", "--hard", "main"]);
        git(&dir, &["gc", "-q"]);
        git(&dir, &["switch", "-q", "-c", "feature"]);
        dir
    }

    /// `count` notes of 190 bytes under `name`, in git's own layout.
    fn notes(&self, dir: &Path, name: &str, count: usize) {
        let mut text = format!("commit {name}\ncommitter x <x@y> 1700000000 +0000\ndata 1\nn\n");
        let line = "x".repeat(189);
        for n in 0..count {
            let id = format!("{:040x}", (n as u128).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835));
            let id = &id[id.len() - 40..];
            let path = format!("{}/{}/{}", &id[8..10], &id[10..12], format_args!("{}{}", &id[12..], &id[..8]));
            writeln!(text, "M 100644 inline {path}\ndata 190\n{line}\n").unwrap();
        }
        let mut import = command("git", dir).args(["fast-import", "--quiet"]).stdin(Stdio::piped()).spawn().unwrap();
        import.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        assert!(import.wait().unwrap().success());
        git(dir, &["gc", "-q"]);
    }

    fn hook_without_a_loop(&mut self) {
        let dir = self.repository("idle", 10, 3);
        let source = self.root.join("empty.rs");
        fs::write(&source, "fn main() {}\n").unwrap();
        let empty = self.root.join("empty");
        let built = Command::new("rustc").args(["-O", "-o"]).arg(&empty).arg(&source).status().unwrap();
        assert!(built.success());
        let mut runs = [
            vec![POST_COMMIT.to_owned()],
            vec!["git".to_owned(), "rev-parse".into(), "HEAD".into()],
            vec![empty.display().to_string()],
        ]
        .map(|words| {
            let dir = dir.clone();
            move |_| time(|| drop(command(&words[0], &dir).args(&words[1..]).status()))
        });
        let [a, b, c] = &mut runs;
        let medians = interleaved(self.n(1_000), &mut [a, b, c]);
        self.row("hook, no loop", medians[0], "git rev-parse HEAD", medians[1], Some(1.0));
        self.row("hook, no loop", medians[0], "an empty Rust main", medians[2], Some(1.15));
    }

    fn commit(dir: &Path, round: usize) {
        fs::write(dir.join("dir0").join("file1.rs"), format!("{round} {:?}\n", Instant::now())).unwrap();
        git(dir, &["commit", "-q", "-a", "-m", "work"]);
    }

    /// One run of the hook over a new commit, which is made outside the clock.
    fn hook_once(dir: &Path, round: usize) -> Duration {
        Self::commit(dir, round);
        time(|| assert!(command(POST_COMMIT, dir).status().unwrap().success()))
    }

    /// The same by the git program: read branch and journal, derive, and append to both notes with compare-and-swap.
    fn by_the_program(dir: &Path, anchor: &str, round: usize) -> Duration {
        let line = "x".repeat(290);
        Self::commit(dir, round);
        time(|| {
            git(dir, &["rev-parse", "--symbolic-full-name", "HEAD"]);
            git(dir, &["notes", "--ref=nav-loop", "show", anchor]);
            git(dir, &["rev-list", &format!("{anchor}..HEAD")]);
            git(dir, &["diff-tree", "-r", "--raw", anchor, "HEAD"]);
            let old = git(dir, &["rev-parse", "refs/notes/nav-loop"]);
            git(dir, &["update-ref", "refs/notes/copy", &old]);
            git(dir, &["notes", "--ref=copy", "append", "-m", &line, "HEAD"]);
            git(dir, &["notes", "--ref=copy", "append", "-m", &line, anchor]);
            let new = git(dir, &["rev-parse", "refs/notes/copy"]);
            git(dir, &["update-ref", "refs/notes/nav-loop", &new, &old]);
        })
    }

    /// Medians of several sides, interleaved, after three rounds that warm the caches.
    fn warm(&self, sides: &mut [&mut dyn FnMut(usize) -> Duration]) -> Vec<f64> {
        interleaved(3, sides);
        interleaved(self.n(60).clamp(3, 18), sides)
    }

    fn hook_with_a_loop(&mut self) {
        let tiny = self.repository("tiny", 100, 3);
        nav(&tiny, &["start", "x", "--max-iterations", "20"]);
        let (files, commits, notes) = if self.quick { (10_000, 1_000, 1_000) } else { (100_000, 10_000, 100_000) };
        let big = self.repository("big", files, commits);
        self.notes(&big, "refs/notes/nav-loop", notes);
        nav(&big, &["start", "x", "--max-iterations", "20"]);
        let anchor = git(&big, &["rev-parse", "main"]);
        let rest = self.root.join("by-program");
        let copied = Command::new("cp").args(["-r", "-p"]).arg(&big).arg(&rest).status().unwrap();
        assert!(copied.success());
        git(&rest, &["status"]);
        let medians = self.warm(&mut [
            &mut |round| Self::hook_once(&tiny, round),
            &mut |round| Self::hook_once(&big, round),
            &mut |round| Self::by_the_program(&rest, &anchor, round),
        ]);
        let (on_tiny, on_big, program) = (medians[0], medians[1], medians[2]);
        self.row("post-commit, 100k files, 10k commits, 100k notes", on_big, "by the git program", program, Some(0.35));
        self.row(
            "post-commit, 100k files, 10k commits, 100k notes",
            on_big,
            "in a tiny repository",
            on_tiny,
            Some(1.5),
        );
        let memory = peak_kib(&big);
        self.push(Row {
            what: "peak memory of the hook at 100k notes".into(),
            ours: format!("{:.1} MiB", memory / 1_024.0),
            theirs: "32 MiB".into(),
            ratio: memory / 1_024.0 / 32.0,
            limit: Some(1.0),
        });
        git(&big, &["status"]);
        let medians = interleaved(
            self.n(60),
            &mut [&mut |_| time(|| drop(command(NAV, &big).arg("gate").status())), &mut |_| {
                time(|| drop(command("git", &big).args(["status", "--porcelain", "-uno"]).status()))
            }],
        );
        self.row("gate, 100k files, clean work tree", medians[0], "git status --porcelain -uno", medians[1], Some(1.4));
    }

    fn growth(&mut self) {
        let mut dirs = Vec::new();
        for (name, files) in [("files-1k", 1_000), ("files-10k", 10_000), ("files-100k", 100_000)] {
            let files = if self.quick { files / 10 } else { files };
            let dir = self.repository(name, files, 10);
            nav(&dir, &["start", "x", "--max-iterations", "20"]);
            dirs.push(dir);
        }
        let times = self.warm(&mut [
            &mut |round| Self::hook_once(&dirs[0], round),
            &mut |round| Self::hook_once(&dirs[1], round),
            &mut |round| Self::hook_once(&dirs[2], round),
        ]);
        self.row("post-commit, 10k files", times[1], "1k files", times[0], None);
        self.row("post-commit, 100k files", times[2], "1k files", times[0], None);
    }

    fn journal_of(&self, events: usize) -> (PathBuf, String) {
        let dir = self.repository(&format!("events-{events}"), 10, 3);
        nav(&dir, &["start", "x"]);
        nav(&dir, &["signal", "exit", "--reason", "as good a reason as any other that an agent gives"]);
        let anchor = git(&dir, &["rev-parse", "main"]);
        let note = git(&dir, &["notes", "--ref=nav-loop", "show", &anchor]);
        let mut text = format!("{note}\n");
        let line = note.lines().next_back().unwrap();
        let id = line.split("\"id\":\"").nth(1).unwrap()[..12].to_owned();
        for n in 0..events.saturating_sub(2) {
            let line = line.replace(&id, &format!("{n:012x}")).replace("\"seq\":2", &format!("\"seq\":{}", n + 3));
            text += &line;
            text.push('\n');
        }
        let file = self.root.join("note");
        fs::write(&file, text).unwrap();
        let blob = git(&dir, &["hash-object", "-w", file.to_str().unwrap()]);
        git(&dir, &["notes", "--ref=nav-loop", "add", "-f", "-C", &blob, &anchor]);
        (dir, anchor)
    }

    fn state(&mut self) {
        let mut times = Vec::new();
        for events in [10, 100, 1_000] {
            let (dir, anchor) = self.journal_of(events);
            let medians = interleaved(
                self.n(200),
                &mut [&mut |_| time(|| drop(command(NAV, &dir).arg("diff").status())), &mut |_| {
                    time(|| drop(command("git", &dir).args(["notes", "--ref=nav-loop", "show", &anchor]).status()))
                }],
            );
            if events == 1_000 {
                self.row("state of a loop with 1,000 events", medians[0], "git notes show", medians[1], Some(1.5));
            }
            times.push(medians[0]);
        }
        self.row("state of a loop with 100 events", times[1], "10 events", times[0], None);
        self.row("state of a loop with 1,000 events", times[2], "10 events", times[0], None);
    }

    fn plumbing(&mut self) {
        let dir = self.repository("plumbing", 10, 2);
        let ours: &[&[&str]] = &[&["exit-gate", "--indicators", "{\"code_committed\":true}", "--exit-signal", "true"]];
        let medians = interleaved(
            self.n(100),
            &mut [
                &mut |_| time(|| ours.iter().for_each(|args| drop(command(NAV, &dir).args(*args).status()))),
                &mut |_| {
                    time(|| {
                        for _ in ours {
                            drop(command("python3", &dir).args(["-c", "import argparse,json,hashlib"]).status());
                        }
                    })
                },
            ],
        );
        self.row("exit-gate", medians[0], "python3 -c 'import argparse,json,hashlib'", medians[1], Some(0.1));
    }

    fn appends(&mut self) {
        let dir = self.repository("appends", 10, 3);
        nav(&dir, &["start", "x"]);
        let each = if self.quick { 10 } else { 100 };
        let at_once = |run: &(dyn Fn(usize, usize) + Sync)| {
            time(|| {
                std::thread::scope(|scope| {
                    for lane in 0..8 {
                        scope.spawn(move || (0..each).for_each(|n| run(lane, n)));
                    }
                });
            })
        };
        let ours = at_once(&|lane, n| {
            let reason = format!("{lane}-{n}");
            assert!(command(NAV, &dir).args(["signal", "exit", "--reason", &reason]).status().unwrap().success());
        });
        let theirs = at_once(&|lane, n| {
            let line = format!("{lane}-{n} {}", "x".repeat(280));
            drop(command("git", &dir).args(["notes", "--ref=plain", "append", "-m", &line, "main"]).status());
        });
        let kept = |name: &str, word: &str| {
            let text = git(&dir, &["notes", &format!("--ref={name}"), "show", "main"]);
            text.lines().filter(|l| l.contains(word)).count()
        };
        let (ours, theirs) = (ours.as_secs_f64() * 1_000.0, theirs.as_secs_f64() * 1_000.0);
        let (kept_ours, kept_theirs) = (kept("nav-loop", "signal_given"), kept("plain", "xxx"));
        self.push(Row {
            what: format!("8 × {each} appends at once: {kept_ours} of {} kept", 8 * each),
            ours: format!("{ours:.0} ms"),
            theirs: format!("git notes append: {theirs:.0} ms, {kept_theirs} kept"),
            ratio: ours / theirs,
            limit: Some(2.0),
        });
    }

    fn rebase(&mut self) {
        let dir = self.repository("rebase", 100, 3);
        nav(&dir, &["start", "x", "--max-iterations", "20"]);
        let count = if self.quick { 10 } else { 100 };
        (0..count).for_each(|n| Self::commit(&dir, n));
        nav(&dir, &["status"]);
        let hooks = self.root.join("hooks");
        fs::create_dir_all(&hooks).unwrap();
        for name in ["post-commit", "post-checkout"] {
            let program = Path::new(POST_COMMIT).with_file_name(format!("nav-loop-{name}"));
            #[cfg(unix)]
            std::os::unix::fs::symlink(program, hooks.join(name)).unwrap();
        }
        let with = format!("core.hooksPath={}", hooks.display());
        let rebase = |setting: &str| {
            time(|| {
                let args = ["-c", setting, "rebase", "-q", "--no-ff", &format!("HEAD~{count}")];
                assert!(command("git", &dir).args(args).status().unwrap().success());
            })
        };
        let medians = interleaved(
            self.n(60).clamp(3, 5),
            &mut [&mut |_| rebase(&with), &mut |_| rebase("core.hooksPath=/dev/null")],
        );
        self.row(
            &format!("rebase of {count} commits with a running loop"),
            medians[0],
            "without hooks",
            medians[1],
            Some(2.0),
        );
    }

    fn check(&mut self) {
        let (files, commits) = if self.quick { (10_000, 1_000) } else { (100_000, 10_000) };
        let dir = self.repository("range", files, commits);
        let base = git(&dir, &["rev-list", "--max-parents=0", "main"]);
        let range = format!("{base}..HEAD");
        let medians = interleaved(
            self.n(60).clamp(3, 9),
            &mut [&mut |_| time(|| drop(command(NAV, &dir).args(["check", "--base", &base]).status())), &mut |_| {
                time(|| drop(command("git", &dir).args(["log", "--name-only", &range]).status()))
            }],
        );
        self.row("check, 10k commits, 100k files", medians[0], "git log --name-only", medians[1], Some(1.0));
        let memory = peak_of(&dir, &["check", "--base", &base]);
        self.push(Row {
            what: "peak memory of check over 10k commits".into(),
            ours: format!("{:.1} MiB", memory / 1_024.0),
            theirs: "64 MiB".into(),
            ratio: memory / 1_024.0 / 64.0,
            limit: Some(1.0),
        });
    }

    fn sync(&mut self) {
        let count = if self.quick { 1_000 } else { 100_000 };
        let mut dirs = Vec::new();
        for name in ["sync-ours", "sync-git"] {
            let dir = self.repository(name, 10, 3);
            self.notes(&dir, "refs/notes/nav-loop", count);
            let bare = self.root.join(format!("{name}.git"));
            git(&dir, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
            git(&dir, &["remote", "add", "origin", bare.to_str().unwrap()]);
            git(&dir, &["push", "-q", "origin", "refs/notes/nav-loop"]);
            dirs.push(dir);
        }
        nav(&dirs[0], &["start", "x"]);
        let ours = |n: usize| {
            nav(&dirs[0], &["signal", "exit", "--reason", &n.to_string()]);
            time(|| nav(&dirs[0], &["sync"]))
        };
        let theirs = |n: usize| {
            git(&dirs[1], &["notes", "--ref=nav-loop", "append", "-m", &n.to_string(), "main"]);
            time(|| {
                git(&dirs[1], &["fetch", "-q", "origin", "+refs/notes/nav-loop:refs/notes/theirs"]);
                git(&dirs[1], &["push", "-q", "origin", "refs/notes/nav-loop"]);
            })
        };
        let medians = interleaved(self.n(60).clamp(3, 9), &mut [&mut |n| ours(n), &mut |n| theirs(n)]);
        self.row("sync of one event, 100k notes", medians[0], "git fetch and git push", medians[1], None);
    }

    fn table(&self) -> String {
        let mut text =
            String::from("| what | ours | against, same run | ratio | must reach |\n|---|---|---|---|---|\n");
        for row in &self.rows {
            let limit = row.limit.map_or("—".to_owned(), |l| format!("≤ {l}"));
            writeln!(text, "| {} | {} | {} | {:.2} | {limit} |", row.what, row.ours, row.theirs, row.ratio).unwrap();
        }
        text
    }
}

/// Peak memory of the hook's child, in KiB, as the kernel counts it for `git-nav-loop hook post-commit`.
fn peak_kib(dir: &Path) -> f64 {
    Bench::commit(dir, 99);
    peak_of(dir, &["hook", "post-commit"])
}

/// Peak memory of `git-nav-loop ARGS`, in KiB.
fn peak_of(dir: &Path, args: &[&str]) -> f64 {
    let script = "import resource,subprocess,sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let output = command("python3", dir).args(["-c", script, NAV]).args(args).stdout(Stdio::piped()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap_or(f64::NAN)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let root = std::env::temp_dir().join(format!("nav-loop-bench-{}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    let quick = args.iter().any(|a| a == "--quick");
    let mut bench = Bench { root: root.clone(), rows: Vec::new(), quick };
    bench.hook_without_a_loop();
    bench.hook_with_a_loop();
    bench.growth();
    bench.state();
    bench.plumbing();
    bench.appends();
    bench.rebase();
    bench.check();
    bench.sync();
    if let Some(at) = args.iter().position(|a| a == "--write") {
        let head = "# Benchmarks\n\nWritten by `benches/compare.sh`: medians, both sides interleaved in one run. Machines differ; the ratio is what counts.\n\n";
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        let version = command("git", &root).arg("version").stdout(Stdio::piped()).output().unwrap();
        let machine = format!(
            "{cores} cores, {}, {}.\n\n",
            std::env::consts::OS,
            String::from_utf8_lossy(&version.stdout).trim()
        );
        fs::write(&args[at + 1], format!("{head}{machine}{}", bench.table())).unwrap();
    }
    drop(fs::remove_dir_all(&root));
}
