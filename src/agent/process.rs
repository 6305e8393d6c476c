//! Runs a command of the user's in its own process group, output passed through, its tail kept.
//!
//! In: the command, a folder, what it reads, a time limit. Out: how it ended. Nothing that it leaves in its group
//! outlives the call; memory does not grow with what it prints.
#![expect(clippy::disallowed_methods, reason = "this file starts the user's programs")]

mod leader;
mod tail;

pub use leader::{end_leftover, start_time};
use tail::Tail;

use std::{
    fs::File,
    io::{Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use crate::domain::settings::CommandSpec;

/// How much of the output is kept in memory.
const TAIL: usize = 1 << 20;
/// How much of stdout alone is kept for the reader of the last message.
const STDOUT: usize = 8 << 20;
/// How much of it is kept on disk, where a log is asked for.
const LOG: u64 = 64 << 20;
/// Between asking a group to end and ending it.
const GRACE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(20);

/// What is to be run.
#[derive(Debug)]
pub struct Job<'a> {
    /// The command.
    pub command: &'a CommandSpec,
    /// Where.
    pub dir: &'a Path,
    /// Variables that are taken away.
    pub without: &'a [&'a str],
    /// Where set, the only variables that are kept: a command of the range that is judged sees no secret.
    pub only: Option<&'a [&'a str]>,
    /// Variables that are added.
    pub with: &'a [(&'a str, &'a str)],
    /// What it reads on stdin; `None` = nothing.
    pub input: Option<&'a [u8]>,
    /// Where stdout is kept, too.
    pub log: Option<PathBuf>,
    /// Whether its stdout goes to our stderr: ours is for an answer in JSON.
    pub aside: bool,
    /// Where its leader is named while it runs, so that another process can end what a killed one left.
    pub leader: Option<PathBuf>,
    /// How long it may take.
    pub limit: Duration,
}

impl<'a> Job<'a> {
    /// `command` in `dir`, with the environment as it is, no input, its output on ours.
    pub fn new(command: &'a CommandSpec, dir: &'a Path, limit: Duration) -> Self {
        Self {
            command,
            dir,
            without: &[],
            only: None,
            with: &[],
            input: None,
            log: None,
            aside: false,
            leader: None,
            limit,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long and was killed.
    TimedOut,
    /// It could not be started; why.
    CannotStart(String),
    /// We were interrupted, and it was ended.
    Interrupted,
}

/// A finished run.
#[derive(Debug)]
pub struct Ran {
    /// How it ended.
    pub ending: Ending,
    /// How long it took.
    pub took: Duration,
    /// The last megabyte of what it printed, both streams as they came.
    pub tail: String,
    /// The last megabytes of its stdout, where a log was asked for.
    pub stdout: String,
}

/// Counts interrupts of this process from the first call on.
fn interrupts() -> Arc<AtomicUsize> {
    static COUNT: std::sync::OnceLock<Arc<AtomicUsize>> = std::sync::OnceLock::new();
    let count = COUNT.get_or_init(|| {
        let count = Arc::new(AtomicUsize::new(0));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            let seen = Arc::clone(&count);
            // SAFETY: the handler adds to an atomic and does nothing else, which is safe inside a signal handler.
            let registered = unsafe {
                signal_hook::low_level::register(signal, move || {
                    seen.fetch_add(1, Ordering::Relaxed);
                })
            };
            drop(registered);
        }
        count
    });
    Arc::clone(count)
}

/// Whether this process was interrupted since its first run.
pub fn is_interrupted() -> bool {
    interrupts().load(Ordering::Relaxed) > 0
}

/// Runs `job` to its end.
pub fn run(job: &Job<'_>) -> Ran {
    let began = Instant::now();
    let interrupts = interrupts();
    let mut child = match prepare(job).spawn() {
        Ok(child) => child,
        Err(e) => {
            let ending = Ending::CannotStart(e.to_string());
            return Ran { ending, took: began.elapsed(), tail: String::new(), stdout: String::new() };
        }
    };
    feed(&mut child, job.input);
    if let Some(path) = &job.leader {
        leader::name(path, child.id());
    }
    let (tail, end) = (Tail::new(TAIL), Tail::new(if job.log.is_some() { STDOUT } else { 0 }));
    let log = job.log.as_ref().and_then(|path| File::create(path).ok());
    let readers = [
        child.stdout.take().map(|out| {
            let tails = vec![tail.clone(), end.clone()];
            if job.aside {
                pass_through(out, std::io::stderr(), tails, log)
            } else {
                pass_through(out, std::io::stdout(), tails, log)
            }
        }),
        child.stderr.take().map(|err| pass_through(err, std::io::stderr(), vec![tail.clone()], None)),
    ];
    let ending = supervise(&mut child, began + job.limit, &interrupts, &Instant::now);
    kill_group(&mut child, KILL);
    if let Some(path) = &job.leader {
        drop(std::fs::remove_file(path));
    }
    let status = child.wait();
    readers.into_iter().flatten().for_each(|r| drop(r.join()));
    let ending = ending.unwrap_or_else(|| status.map_or_else(|e| Ending::CannotStart(e.to_string()), ended));
    Ran { ending, took: began.elapsed(), tail: tail.text(), stdout: end.text() }
}

fn prepare(job: &Job<'_>) -> Command {
    let mut prepared = match job.command {
        CommandSpec::Argv(words) => {
            let mut prepared = Command::new(words.first().map_or("", String::as_str));
            prepared.args(words.iter().skip(1));
            prepared
        }
        CommandSpec::Shell(line) => {
            let (shell, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
            let mut prepared = Command::new(shell);
            prepared.arg(flag).arg(line);
            prepared
        }
    };
    prepared.current_dir(job.dir).stdout(Stdio::piped()).stderr(Stdio::piped());
    prepared.stdin(if job.input.is_some() { Stdio::piped() } else { Stdio::null() });
    if let Some(kept) = job.only {
        prepared.env_clear();
        prepared.envs(kept.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    for name in job.without {
        prepared.env_remove(name);
    }
    prepared.envs(job.with.iter().copied());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut prepared, 0);
    prepared
}

/// Writes the input beside the run; a child that does not read it is its own business.
fn feed(child: &mut Child, input: Option<&[u8]>) {
    if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
        let input = input.to_vec();
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
}

/// Waits until the child ends by itself (`None`), or ends it: at the first interrupt and at the time limit it is asked
/// first, at a second interrupt it is killed at once.
fn supervise(
    child: &mut Child,
    deadline: Instant,
    interrupts: &AtomicUsize,
    now: &dyn Fn() -> Instant,
) -> Option<Ending> {
    // One that came before the child was started counts as well: nobody else would ever answer it.
    let since = || interrupts.load(Ordering::Relaxed);
    let id = child.id();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        wait_without_reaping(id);
        let _ = sender.send(());
    });
    loop {
        if has_ended(child, &ended, TICK) {
            return None;
        }
        let (ending, asks): (_, &[i32]) = if since() > 0 {
            (Ending::Interrupted, &[INTERRUPT, ASK])
        } else if now() >= deadline {
            (Ending::TimedOut, &[ASK])
        } else {
            continue;
        };
        let asked = since();
        for signal in asks {
            kill_group(child, *signal);
            let until = Instant::now() + GRACE;
            while Instant::now() < until && since() == asked {
                if has_ended(child, &ended, TICK) {
                    return Some(ending);
                }
            }
        }
        kill_group(child, KILL);
        return Some(ending);
    }
}

#[cfg(unix)]
fn has_ended(_child: &mut Child, ended: &mpsc::Receiver<()>, wait: Duration) -> bool {
    !matches!(ended.recv_timeout(wait), Err(mpsc::RecvTimeoutError::Timeout))
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child, _ended: &mpsc::Receiver<()>, wait: Duration) -> bool {
    let until = Instant::now() + wait;
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => return false,
            _ => return true,
        }
    }
}

#[cfg(unix)]
fn wait_without_reaping(id: u32) {
    loop {
        // SAFETY: `info` is a plain C struct for which all zeros is a valid value; it lives on this stack frame for
        // the whole call, and `waitid` writes to nothing else.
        let (result, again) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let result = libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT);
            (result, std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted)
        };
        if result == 0 || !again {
            return;
        }
    }
}

#[cfg(not(unix))]
fn wait_without_reaping(_id: u32) {}

#[cfg(unix)]
const INTERRUPT: i32 = libc::SIGINT;
#[cfg(unix)]
const ASK: i32 = libc::SIGTERM;
#[cfg(unix)]
const KILL: i32 = libc::SIGKILL;
#[cfg(not(unix))]
const INTERRUPT: i32 = 0;
#[cfg(not(unix))]
const ASK: i32 = 0;
#[cfg(not(unix))]
const KILL: i32 = 0;

/// Sends `signal` to the child's group. The child is not reaped before the last call.
#[cfg(unix)]
fn kill_group(child: &mut Child, signal: i32) {
    let Ok(group) = i32::try_from(child.id()) else { return };
    // SAFETY: `kill` touches no memory of ours. The child leads its own group and has not been reaped, so the negative
    // id can name no other group.
    unsafe {
        libc::kill(-group, signal);
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut Child, _signal: i32) {
    drop(child.kill());
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, signal) => Ending::Signal(signal.unwrap_or(0)),
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> Ending {
    Ending::Code(status.code().unwrap_or(1))
}

/// Copies `from` to `to` as it comes, its end to `tails`, and its beginning to `log`.
fn pass_through(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    tails: Vec<Tail>,
    mut log: Option<File>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0u8; 16 << 10];
        let mut logged = 0;
        loop {
            let n = match from.read(&mut buffer) {
                Ok(0) => return,
                Ok(n) => n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            drop(to.write_all(&buffer[..n]).and_then(|()| to.flush()));
            if let Some(file) = log.as_mut().filter(|_| logged < LOG) {
                drop(file.write_all(&buffer[..n]));
                logged += n as u64;
            }
            tails.iter().for_each(|t| t.add(&buffer[..n]));
        }
    })
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// An agent that prints nothing for an hour is left at work, and ended when its time is up: the clock is ours.
    #[test]
    fn a_silent_agent_works_for_an_hour_and_is_ended_at_its_limit() {
        let start = Instant::now();
        for (limit, hours, expected) in [(7_200, 1, None), (3_600, 2, Some(Ending::TimedOut))] {
            let line = CommandSpec::Shell("sleep 0.2".to_owned());
            let limit = Duration::from_secs(limit);
            let job = Job::new(&line, Path::new("/"), limit);
            let mut child = prepare(&job).spawn().unwrap();
            let looked = Cell::new(0u32);
            let now = || {
                looked.set(looked.get() + 1);
                start + Duration::from_secs(3_600) * hours
            };
            assert_eq!(supervise(&mut child, start + limit, &AtomicUsize::new(0), &now), expected);
            assert!(looked.get() > 0);
            kill_group(&mut child, KILL);
            child.wait().unwrap();
        }
    }

    #[test]
    fn an_interrupt_that_came_before_the_agent_was_started_ends_it() {
        let line = CommandSpec::Shell("exec sleep 600".to_owned());
        let limit = Duration::from_secs(600);
        let job = Job::new(&line, Path::new("/"), limit);
        let mut child = prepare(&job).spawn().unwrap();
        let ended = supervise(&mut child, Instant::now() + limit, &AtomicUsize::new(1), &Instant::now);
        assert_eq!(ended, Some(Ending::Interrupted));
        child.wait().unwrap();
    }
}
