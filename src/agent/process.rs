//! Runs a command of the user's in its own process group, output passed through, its tail kept.
//!
//! In: the command, a folder, a time limit. Out: how it ended. Nothing that it leaves in its group outlives the call.
#![expect(clippy::disallowed_methods, reason = "this file starts the user's programs")]

use std::{
    collections::VecDeque,
    io::{Read, Write},
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use crate::domain::settings::CommandSpec;

/// How much of the output is kept.
const TAIL: usize = 1 << 20;
/// Between asking a group to end and ending it.
const GRACE: Duration = Duration::from_secs(5);
const TICK: Duration = Duration::from_millis(20);

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
}

/// Runs `command` in `dir`, without the variables in `without`, for `limit` at most.
pub fn run(command: &CommandSpec, dir: &Path, without: &[&str], limit: Duration) -> Ran {
    let began = Instant::now();
    let mut prepared = prepare(command);
    prepared.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in without {
        prepared.env_remove(name);
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut prepared, 0);
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        drop(signal_hook::flag::register(signal, Arc::clone(&interrupted)));
    }
    let mut child = match prepared.spawn() {
        Ok(child) => child,
        Err(e) => {
            let ending = Ending::CannotStart(e.to_string());
            return Ran { ending, took: began.elapsed(), tail: String::new() };
        }
    };
    let tail = Arc::new(Mutex::new(VecDeque::new()));
    let readers = [
        child.stdout.take().map(|out| pass_through(out, std::io::stdout(), Arc::clone(&tail))),
        child.stderr.take().map(|err| pass_through(err, std::io::stderr(), Arc::clone(&tail))),
    ];
    let ending = supervise(&mut child, began + limit, &interrupted);
    kill_group(&mut child, KILL);
    let status = child.wait();
    readers.into_iter().flatten().for_each(|r| drop(r.join()));
    let ending = ending.unwrap_or_else(|| status.map_or_else(|e| Ending::CannotStart(e.to_string()), ended));
    let bytes: Vec<u8> = tail.lock().map(|mut t| t.drain(..).collect()).unwrap_or_default();
    Ran { ending, took: began.elapsed(), tail: String::from_utf8_lossy(&bytes).into_owned() }
}

fn prepare(command: &CommandSpec) -> Command {
    match command {
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
    }
}

/// Waits until the child ends by itself (`None`), or ends it.
fn supervise(child: &mut Child, deadline: Instant, interrupted: &AtomicBool) -> Option<Ending> {
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
        let ending = if interrupted.load(Ordering::Relaxed) {
            Ending::Interrupted
        } else if Instant::now() >= deadline {
            Ending::TimedOut
        } else {
            continue;
        };
        kill_group(child, ASK);
        if !has_ended(child, &ended, GRACE) {
            kill_group(child, KILL);
        }
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
const ASK: i32 = libc::SIGTERM;
#[cfg(unix)]
const KILL: i32 = libc::SIGKILL;
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

/// Copies `from` to `to` as it comes, and its end to `tail`.
fn pass_through(
    mut from: impl Read + Send + 'static,
    mut to: impl Write + Send + 'static,
    tail: Arc<Mutex<VecDeque<u8>>>,
) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = [0u8; 16 << 10];
        while let Ok(n) = from.read(&mut buffer) {
            if n == 0 {
                return;
            }
            drop(to.write_all(&buffer[..n]).and_then(|()| to.flush()));
            if let Ok(mut kept) = tail.lock() {
                kept.extend(&buffer[..n]);
                let excess = kept.len().saturating_sub(TAIL);
                kept.drain(..excess);
            }
        }
    })
}
