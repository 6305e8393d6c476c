//! Names the leader of a running process group on disk, so that what a killed driver left can be ended by the next one.
//!
//! In: a path and a process id. A process is known by its id and its start time: ids are used again.

use std::{fs, path::Path};

/// Writes down which process leads the group.
pub(super) fn name(path: &Path, id: u32) {
    let Some(start) = start_time(id) else { return };
    if let Some(dir) = path.parent() {
        drop(fs::create_dir_all(dir));
    }
    drop(fs::write(path, format!("{id} {start}\n")));
}

/// Ends the group that `path` names, when its leader still is the process that was named. Whether there was one.
pub fn end_leftover(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return false };
    drop(fs::remove_file(path));
    let mut words = text.split_whitespace();
    let (Some(id), Some(start)) = (words.next().and_then(|w| w.parse::<u32>().ok()), words.next()) else {
        return false;
    };
    let is_it = id > 1 && start_time(id).is_some_and(|s| s == start);
    is_it && kill_group(id)
}

/// When process `id` started, in the kernel's own count.
#[cfg(target_os = "linux")]
pub fn start_time(id: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name in brackets may hold anything; the 20th field after it is the start time.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

/// Elsewhere it cannot be told, and nothing is ended.
#[cfg(not(target_os = "linux"))]
pub fn start_time(_id: u32) -> Option<String> {
    None
}

#[cfg(unix)]
fn kill_group(id: u32) -> bool {
    let Ok(group) = i32::try_from(id) else { return false };
    // SAFETY: `kill` touches no memory of ours. `id` is above 1 and was just seen with the start time that was written
    // down when it led its own group, so the negative id names that group.
    unsafe { libc::kill(-group, libc::SIGKILL) == 0 }
}

#[cfg(not(unix))]
fn kill_group(_id: u32) -> bool {
    false
}
