//! Processes of the operating system: their children, and signals to them.

use std::fs;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};

/// Returns the children of a process that have not been waited for.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    match fs::read_dir("/proc") {
        Ok(entries) => {
            let ids =
                entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
            ids.filter(|id| stat(*id).is_some_and(|(_, of)| of == parent)).collect()
        }
        Err(_) => listed(parent),
    }
}

/// Whether a process runs. A zombie does not run.
pub(crate) fn runs(id: u32) -> bool {
    let there = pid(id).is_some_and(|pid| test_kill_process(pid).is_ok());
    there && !stat(id).is_some_and(|(state, _)| matches!(state, 'Z' | 'X'))
}

/// Sends a signal. Ignores a process that is gone.
pub(crate) fn signal(id: u32, signal: Signal) {
    if let Some(pid) = pid(id) {
        let _gone = kill_process(pid, signal);
    }
}

fn pid(id: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(id).ok()?)
}

/// Returns the state and the parent of a process, from `id (name) state parent …`. The name may
/// contain any characters.
fn stat(id: u32) -> Option<(char, u32)> {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// Returns the children of a process where there is no `/proc`.
fn listed(parent: u32) -> Vec<u32> {
    let Ok(output) = Command::new("ps").args(["-A", "-o", "pid=", "-o", "ppid="]).output() else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pairs = text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace();
        Some((fields.next()?.parse().ok()?, fields.next()?.parse::<u32>().ok()?))
    });
    pairs.filter(|(_, of)| *of == parent).map(|(id, _)| id).collect()
}
