//! What both hook programs do, with the standard library and libc alone.
//!
//! In: what git hands a hook. Out: exit status 0, or that of a chained hook. Most runs end after one look at a
//! directory: is a loop running? Only then the work goes to the `git-nav-loop` beside this program, as a child in its
//! own process group with a deadline. Whatever that child does, git does not notice.
#![expect(
    clippy::disallowed_methods,
    reason = "a hook program reads its environment and starts two programs, here only"
)]

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    sync::mpsc,
    time::Duration,
};

/// How long the child may take before its process group is killed.
const DEADLINE: Duration = Duration::from_secs(2);

/// A copied hook ends in a line that begins so; the path of the program follows.
const COPY_MARK: &str = "\nNAV-LOOP-HOOK ";

/// Runs hook `name`; the exit status for git.
pub(crate) fn run(name: &str) -> i32 {
    if env::var_os("NAV_LOOP_PROBE").is_some() {
        say(&mut std::io::stdout(), &format!("nav-loop-probe {} {name}", env!("CARGO_PKG_VERSION")));
        return 0;
    }
    if env::var_os("NAV_LOOP_HOOK").is_some() {
        return 0;
    }
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let status = chained(name, &args);
    if env::var_os("NAV_LOOP").is_none_or(|v| v != "0") {
        let observed = std::panic::catch_unwind(|| observe(name, &args));
        if observed.is_err() {
            say(&mut std::io::stderr(), &format!("nav-loop: {name}: internal error; the commit is safe"));
        }
    }
    status
}

fn observe(name: &str, args: &[OsString]) {
    let Some(git_dir) = git_dir() else { return };
    if ["rebase-merge", "rebase-apply", "sequencer"].iter().any(|d| git_dir.join(d).exists()) {
        return;
    }
    let common = common_dir(git_dir);
    let may_start = name == "post-checkout" && args.get(2).is_some_and(|f| f == "1") && Path::new(".agent").is_dir();
    if !holds_a_file(&common.join("nav-loop").join("running")) && !may_start {
        return;
    }
    if let Err(why) = hand_over(name, args) {
        say(&mut std::io::stderr(), &format!("nav-loop: {name}: {why}; git nav-loop doctor tells more"));
        note(&common, &format!("{name}: {why}"));
    }
}

fn holds_a_file(dir: &Path) -> bool {
    fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some())
}

/// The git directory of this work tree, as git tells it or as it lies above the working directory.
fn git_dir() -> Option<PathBuf> {
    match env::var_os("GIT_DIR") {
        Some(dir) => Some(PathBuf::from(dir)),
        None => discover(&env::current_dir().ok()?),
    }
}

/// The git directory that all work trees share.
fn common_dir(git_dir: PathBuf) -> PathBuf {
    if let Some(common) = env::var_os("GIT_COMMON_DIR") {
        return PathBuf::from(common);
    }
    match fs::read_to_string(git_dir.join("commondir")) {
        Ok(relative) => git_dir.join(relative.trim_end_matches(['\n', '\r'])),
        Err(_) => git_dir,
    }
}

fn discover(from: &Path) -> Option<PathBuf> {
    from.ancestors().find_map(|dir| {
        let candidate = dir.join(".git");
        if candidate.is_dir() {
            return Some(candidate);
        }
        let text = fs::read_to_string(&candidate).ok()?;
        let path = text.strip_prefix("gitdir:")?.trim_start_matches(' ').trim_end_matches(['\n', '\r']);
        Some(dir.join(path))
    })
}

/// Runs the hook that was there before ours, with what git handed us; 0 when there is none.
fn chained(name: &str, args: &[OsString]) -> i32 {
    let Some(own) = env::args_os().next().map(PathBuf::from) else { return 0 };
    let Some(dir) = own.parent().filter(|d| !d.as_os_str().is_empty()) else { return 0 };
    let previous = dir.join(format!("{name}.nav-loop-prev"));
    if !is_executable(&previous) || is_ourselves(&previous) {
        return 0;
    }
    let run = |program: &OsStr, first: Option<&Path>| {
        let mut command = Command::new(program);
        command.args(first).args(args).env("NAV_LOOP_HOOK", "1").status()
    };
    let status = match run(previous.as_os_str(), None) {
        Err(e) if e.raw_os_error() == Some(8) => run(OsStr::new("sh"), Some(&previous)),
        other => other,
    };
    match status {
        Ok(status) => code(status),
        Err(e) => {
            say(&mut std::io::stderr(), &format!("nav-loop: cannot run the chained {name}: {e}"));
            0
        }
    }
}

fn is_ourselves(path: &Path) -> bool {
    let real = |p: &Path| fs::canonicalize(p).ok();
    env::current_exe().ok().and_then(|own| real(&own)).is_some_and(|own| real(path) == Some(own))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(unix)]
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

#[cfg(not(unix))]
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or(1)
}

/// The `git-nav-loop` that belongs to this hook: named in a copy's last line, else beside the resolved executable.
fn program() -> Option<PathBuf> {
    let own = env::current_exe().ok()?;
    let own = fs::canonicalize(&own).unwrap_or(own);
    embedded(&own).or_else(|| {
        let beside = own.with_file_name(format!("git-nav-loop{}", env::consts::EXE_SUFFIX));
        beside.is_file().then_some(beside)
    })
}

fn embedded(own: &Path) -> Option<PathBuf> {
    use std::io::{Read, Seek, SeekFrom};
    let mut file = fs::File::open(own).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(8192))).ok()?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail).ok()?;
    let text = tail.strip_suffix(b"\n")?;
    let start = text.iter().rposition(|b| *b == b'\n')?;
    let line = std::str::from_utf8(&text[start..]).ok()?.strip_prefix(COPY_MARK)?;
    // version, digest of the program, path
    line.splitn(3, ' ').nth(2).map(PathBuf::from)
}

/// Runs the child and waits for it, 2 s at most. An error says in one clause what went wrong.
fn hand_over(name: &str, args: &[OsString]) -> Result<(), String> {
    let program = program().ok_or("the program git-nav-loop is gone; install it again")?;
    let mut command = Command::new(&program);
    command.arg("hook").arg(name).arg("--").args(args).env("NAV_LOOP_HOOK", "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::inherit());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(|e| format!("cannot run {}: {e}", program.display()))?;
    let id = child.id();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        wait_without_reaping(id);
        let _ = sender.send(());
    });
    let in_time = ended.recv_timeout(DEADLINE).is_ok();
    // The child is not reaped yet, so its id still names its group and nobody else's.
    kill_group(&mut child);
    let status = child.wait().map_err(|e| e.to_string())?;
    if !in_time {
        return Err("took longer than 2 s and was stopped; the next run catches up".to_owned());
    }
    match status.success() {
        true => Ok(()),
        false => Err(format!("git-nav-loop ended with {status}; the next run catches up")),
    }
}

/// Waits until child `id` has ended and leaves it to be reaped.
#[cfg(unix)]
fn wait_without_reaping(id: u32) {
    loop {
        // SAFETY: `info` is a plain C struct for which all zeros is a valid value; it lives on this stack frame for
        // the whole call, and `waitid` writes to nothing else.
        let (result, interrupted) = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            let result = libc::waitid(libc::P_PID, id, &mut info, libc::WEXITED | libc::WNOWAIT);
            (result, std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted)
        };
        if result == 0 || !interrupted {
            return;
        }
    }
}

#[cfg(not(unix))]
fn wait_without_reaping(_id: u32) {}

/// Ends the child, if it still runs, and whatever it left in its group.
#[cfg(unix)]
fn kill_group(child: &mut std::process::Child) {
    let Ok(group) = i32::try_from(child.id()) else { return };
    // SAFETY: `kill` touches no memory of ours. The child leads its own group and has not been reaped, so the negative
    // id can name no other group.
    unsafe {
        libc::kill(-group, libc::SIGKILL);
    }
}

#[cfg(not(unix))]
fn kill_group(child: &mut std::process::Child) {
    let mut left = DEADLINE;
    let step = Duration::from_millis(5);
    while matches!(child.try_wait(), Ok(None)) && left > Duration::ZERO {
        std::thread::sleep(step);
        left = left.saturating_sub(step);
    }
    drop(child.kill());
}

/// One line; a reader that went away is nobody's concern.
fn say(out: &mut dyn Write, line: &str) {
    drop(writeln!(out, "{line}"));
}

/// Keeps the line where `status` and `doctor` show it.
fn note(common: &Path, line: &str) {
    let path = common.join("nav-loop").join("incidents.log");
    if fs::metadata(&path).is_ok_and(|m| m.len() > 64 << 10) {
        drop(fs::remove_file(&path));
    }
    if let Ok(mut file) = fs::OpenOptions::new().create(true).append(true).open(path) {
        drop(writeln!(file, "{line}"));
    }
}
