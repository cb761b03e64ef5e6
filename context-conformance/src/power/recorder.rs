//! The recorder: runs a process under strace.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::error::PowerError;
use super::recording::{BEFORE, DiskRecording, LOG, PLACE};

/// The calls that change files or names, that move positions in files, and those that start
/// processes or write in ways that are not seen.
const CALLS: &str = "open,openat,openat2,creat,close,dup,dup2,dup3,fcntl,read,readv,\
    lseek,write,writev,pwrite64,pwritev,pwritev2,truncate,ftruncate,fallocate,copy_file_range,\
    sendfile,splice,rename,renameat,renameat2,link,linkat,symlink,symlinkat,unlink,unlinkat,mkdir,\
    mkdirat,rmdir,mknod,mknodat,fsync,fdatasync,sync,syncfs,mmap,io_uring_setup,clone,clone3,fork,\
    vfork,execve,chdir,fchdir";

/// Checks whether processes can be recorded on this machine.
pub fn check_recorder() -> Result<(), PowerError> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let reason = REASON.get_or_init(|| {
        let mut command = Command::new("strace");
        command.args(["-f", "-y", "-xx", "--seccomp-bpf", "-e", "trace=fsync", "-o"]);
        command.args(["/dev/null", "true"]).stdin(Stdio::null());
        match command.output() {
            Ok(done) if done.status.success() => None,
            Ok(done) => {
                let text = String::from_utf8_lossy(&done.stderr);
                let line = text.lines().next().unwrap_or_default();
                Some(format!("strace cannot trace here: {line}"))
            }
            Err(error) => Some(format!("strace cannot be run: {error}")),
        }
    });
    match reason {
        None => Ok(()),
        Some(reason) => Err(PowerError::Unavailable { reason: reason.clone() }),
    }
}

/// Runs a command under strace and records its changes of `root`, the working folder of the
/// command. The recording is kept in the folder `kept`, which
/// [`DiskRecording::load`] reads again. Whether a file may be mapped for writing is up to the
/// caller: after a loss of power it holds anything.
pub fn record(
    command: &Command,
    root: &Path,
    kept: &Path,
    may_be_mapped: &dyn Fn(&Path) -> bool,
) -> Result<DiskRecording, PowerError> {
    check_recorder()?;
    let failed = PowerError::files("recording");
    let root = root.canonicalize().map_err(&failed)?;
    let place = root.to_str().ok_or_else(|| {
        PowerError::unsupported(&root.display().to_string(), "the path of the folder is not UTF-8")
    })?;
    fs::write(kept.join(PLACE), place).map_err(&failed)?;
    copy_folder(&root, &kept.join(BEFORE)).map_err(&failed)?;
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-xx", "--seccomp-bpf", "-q", "-s", "67108864", "-e"]);
    strace.arg(format!("trace={CALLS}")).arg("-o").arg(kept.join(LOG));
    strace.arg("--").arg(command.get_program()).args(command.get_args());
    strace.current_dir(&root).stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    let done = strace.output().map_err(&failed)?;
    let output = || {
        let text = String::from_utf8_lossy(&done.stderr);
        let end = text.char_indices().rev().nth(2000).map_or(0, |(at, _)| at);
        format!("{}; its standard error: {}", done.status, &text[end..])
    };
    if !done.status.success() {
        return Err(PowerError::Failed { output: output() });
    }
    let recording = DiskRecording::load(kept, may_be_mapped)?;
    match recording.exit() {
        Some(0) => Ok(recording),
        _ => Err(PowerError::Failed { output: output() }),
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
