//! The one lease of a repository (spec 2.7): a lock of the operating system, and its mirror in `.mino/loops/active.lock`.
//!
//! In: a repository. Out: the lease, with a heartbeat while it is held; or who holds it.

use std::{
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use crate::{
    agent::process::start_time,
    context::now,
    domain::task_set::lease::{Lease, judge},
    error::{Error, ErrorKind},
    git::{history::goes_through_link, lock::Lock, loops, repo::Repo},
};

pub use crate::domain::task_set::lease::Worth;

const HEARTBEAT: Duration = Duration::from_secs(60);
/// The mirror, below the top of the main work tree.
pub const MIRROR: &str = ".mino/loops/active.lock";

/// A held lease. It goes with the process that holds it, however that ends; the mirror goes with the value.
#[derive(Debug)]
pub struct Held {
    _lock: Lock,
    mirror: PathBuf,
    stop: Option<mpsc::Sender<()>>,
    beat: Option<std::thread::JoinHandle<()>>,
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(beat) = self.beat.take() {
            drop(beat.join());
        }
        drop(std::fs::remove_file(&self.mirror));
    }
}

/// The lock that a driver holds as long as it lives.
pub fn lock_file(repo: &Repo) -> PathBuf {
    repo.state_dir().join("task-set.lock")
}

/// The top of the main work tree: linked ones share its `.mino/`.
pub fn main_tree(repo: &Repo) -> Result<PathBuf, Error> {
    let common = repo.common_dir();
    let is_plain = common.file_name().is_some_and(|n| n == ".git");
    let top = common.parent().filter(|p| is_plain && p.is_dir()).map(Path::to_owned);
    match top {
        Some(top) => Ok(top),
        None => Ok(repo.need_work_tree()?.to_owned()),
    }
}

/// What the mirror says, when it can be read.
pub fn read(repo: &Repo) -> Option<Lease> {
    let text = loops::read_file(&main_tree(repo).ok()?.join(MIRROR))?;
    serde_saphyr::from_str(&text).ok()
}

/// Whether somebody drives a set here now, and who.
pub fn holder(repo: &Repo) -> Option<(Option<Lease>, Worth)> {
    let lease = read(repo);
    let held = Lock::is_held(&lock_file(repo));
    match (&lease, held) {
        (None, true) => Some((None, Worth::Live)),
        (None, false) => None,
        (Some(known), _) => {
            let worth = judge(known, held, &host(), &boot_id(), age(&known.heartbeat_at));
            Some((lease, worth))
        }
    }
}

/// Takes the lease for `loop_id`, and gives the loop that a stale one was held for. A live holder is an error.
pub fn take(repo: &Repo, loop_id: &str) -> Result<(Held, Option<String>), Error> {
    let Some(lock) = Lock::try_take(lock_file(repo))? else { return Err(held(read(repo).as_ref())) };
    let stale = match read(repo) {
        None => None,
        Some(lease) => match judge(&lease, false, &host(), &boot_id(), age(&lease.heartbeat_at)) {
            Worth::Live => return Err(held(Some(&lease))),
            Worth::Stale(_) => Some(lease.loop_id),
        },
    };
    let top = main_tree(repo)?;
    let mirror = top.join(MIRROR);
    if goes_through_link(&top, &mirror) {
        return Err(Error::refused(format!("{} goes through a symbolic link", mirror.display()), "replace the link"));
    }
    let pid = std::process::id();
    let mut lease = Lease {
        loop_id: loop_id.to_owned(),
        holder_pid: pid,
        holder_agent: "mino-task".to_owned(),
        acquired_at: now(),
        heartbeat_at: now(),
        host: host(),
        boot_id: boot_id(),
        process_start: start_time(pid).unwrap_or_default(),
    };
    write(&mirror, &lease)?;
    let (stop, stopped) = mpsc::channel::<()>();
    let path = mirror.clone();
    let beat = std::thread::spawn(move || {
        // `git clean -fdx` may take the mirror away: it is looked after more often than the heart beats.
        let mut since = Duration::ZERO;
        let tick = Duration::from_secs(1);
        while stopped.recv_timeout(tick) == Err(mpsc::RecvTimeoutError::Timeout) {
            since += tick;
            if since >= HEARTBEAT || !path.exists() {
                since = Duration::ZERO;
                lease.heartbeat_at = now();
                drop(write(&path, &lease));
            }
        }
    });
    Ok((Held { _lock: lock, mirror, stop: Some(stop), beat: Some(beat) }, stale))
}

fn held(lease: Option<&Lease>) -> Error {
    let who = lease.map_or_else(
        || "another driver".to_owned(),
        |l| {
            format!("loop {}, process {} on {}", l.loop_id, l.holder_pid, if l.host.is_empty() { "?" } else { &l.host })
        },
    );
    Error::new(ErrorKind::Held, format!("the lease of this repository is held: {who}"), "git nav-loop task list")
}

fn write(path: &Path, lease: &Lease) -> Result<(), Error> {
    let text = serde_saphyr::to_string(lease)
        .map_err(|e| Error::new(ErrorKind::Internal, format!("the lease cannot be written: {e}"), ""))?;
    Ok(loops::write_file(path, &text)?)
}

fn host() -> String {
    gethostname::gethostname().to_string_lossy().into_owned()
}

/// Changes with each start of the machine, where the system says so.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Seconds since `iso`.
fn age(iso: &str) -> Option<i64> {
    let then: jiff::Timestamp = iso.parse().ok()?;
    let now: jiff::Timestamp = now().parse().ok()?;
    Some(now.as_second() - then.as_second())
}
