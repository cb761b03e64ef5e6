//! Translation of system calls to events.
//!
//! Calls are taken in the order in which they returned; an acknowledgement counts from the moment
//! at which it began. A sync covers the calls that had returned before it began.

mod calls;

use std::path::{Component, Path, PathBuf};

use super::disk_event::{DiskEvent, FileNumber};
use super::disk_image::DiskImage;
use super::error::PowerError;
use super::folder_tree::TreeEntry;
use super::open_files::{OpenFiles, OpenTarget};
use super::trace_log::{SystemCall, TraceLog};
use super::trace_value::{descriptor, has_flag, number, path};

/// The descriptor of the standard output, to which acknowledgements are written.
const STANDARD_OUTPUT: i64 = 1;

/// The state of the process and of its files while the calls are read.
pub(super) struct EventReader<'a> {
    /// The absolute path of the recorded folder.
    root: &'a Path,
    working_folder: PathBuf,
    may_be_mapped: &'a dyn Fn(&Path) -> bool,
    open: OpenFiles,
    /// The files as the process sees them.
    image: DiskImage,
    events: Vec<DiskEvent>,
    /// For each call that was read: the line at which it returned, and the number of events then.
    returned: Vec<(usize, usize)>,
}

impl<'a> EventReader<'a> {
    pub(super) fn new(
        root: &'a Path,
        working_folder: &Path,
        before: DiskImage,
        may_be_mapped: &'a dyn Fn(&Path) -> bool,
    ) -> Self {
        Self {
            root,
            working_folder: working_folder.to_owned(),
            may_be_mapped,
            open: OpenFiles::default(),
            image: before,
            events: Vec::new(),
            returned: Vec::new(),
        }
    }

    /// Reads a log. Returns the events.
    pub(super) fn read(mut self, log: TraceLog) -> Result<Vec<DiskEvent>, PowerError> {
        let mut calls: Vec<(usize, SystemCall)> = Vec::with_capacity(log.calls.len());
        for call in log.calls {
            let writes = call.name.contains("write");
            let to = descriptor(call.arg(0)).map(|(number, _)| number);
            let acknowledges = writes && to == Some(STANDARD_OUTPUT);
            calls.push((if acknowledges { call.begun } else { call.ended }, call));
        }
        calls.sort_by_key(|(at, _)| *at);
        for (at, call) in calls {
            self.call(&call, at == 0)?;
            self.returned.push((at, self.events.len()));
        }
        if let Some((status, _)) = log.exit {
            self.push(DiskEvent::Exit(status));
        }
        Ok(self.events)
    }

    fn push(&mut self, event: DiskEvent) {
        self.image.apply(&event);
        self.events.push(event);
    }

    /// Returns the number of events of the calls that had returned when a call began.
    fn events_before(&self, call: &SystemCall) -> usize {
        let known = self.returned.partition_point(|(line, _)| *line < call.begun);
        known.checked_sub(1).map_or(0, |last| self.returned[last].1)
    }

    /// Returns a path relative to the recorded folder, or `None` for one elsewhere.
    fn relative(&self, path: &Path) -> Option<PathBuf> {
        let mut whole = PathBuf::new();
        for part in self.working_folder.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(whole.pop()),
                part => whole.push(part),
            }
        }
        whole.strip_prefix(self.root).ok().map(Path::to_owned)
    }

    /// Returns the path that a name has below a descriptor of a folder.
    fn named(
        &self,
        call: &SystemCall,
        folder: Option<usize>,
        name: usize,
    ) -> Result<Option<PathBuf>, PowerError> {
        let unclear = || PowerError::unsupported(&call.shown(), "a path is not readable");
        let name = path(call.arg(name)).ok_or_else(unclear)?;
        let folder = folder.and_then(|at| descriptor(call.arg(at))).and_then(|(_, path)| path);
        Ok(self.relative(&folder.unwrap_or_default().join(name)))
    }

    fn file(&mut self, call: &SystemCall, arg: usize) -> Option<(FileNumber, u64, bool)> {
        let (number, _) = descriptor(call.arg(arg))?;
        let open = self.open.get(number)?;
        match open.target {
            OpenTarget::File(file) => Some((file, open.position, open.appends)),
            OpenTarget::Folder(_) => None,
        }
    }

    fn set_position(&mut self, call: &SystemCall, arg: usize, position: u64) {
        if let Some(open) = descriptor(call.arg(arg)).and_then(|(number, _)| self.open.get(number))
        {
            open.position = position;
        }
    }

    fn call(&mut self, call: &SystemCall, is_first: bool) -> Result<(), PowerError> {
        let refused = |reason| PowerError::unsupported(&call.shown(), reason);
        let result = number(&call.result).unwrap_or_default();
        match call.name.as_str() {
            "execve" if is_first => {}
            "execve" | "fork" | "vfork" => return Err(refused("a second process is not recorded")),
            "clone" | "clone3" if !call.shown().contains("CLONE_THREAD") => {
                return Err(refused("a second process is not recorded"));
            }
            "open" | "creat" => self.open(call, None)?,
            "openat" | "openat2" => self.open(call, Some(0))?,
            "close" => {
                if let Some((number, _)) = descriptor(call.arg(0)) {
                    self.open.close(number);
                }
            }
            "dup" | "dup2" | "dup3" => self.duplicate(call),
            "fcntl" if call.arg(1).starts_with("F_DUPFD") => self.duplicate(call),
            "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" => self.write(call)?,
            "read" | "readv" => {
                if let Some((_, position, _)) = self.file(call, 0) {
                    self.set_position(call, 0, position + result.unsigned_abs());
                }
            }
            "lseek" => self.set_position(call, 0, result.unsigned_abs()),
            "ftruncate" => {
                if let Some((file, ..)) = self.file(call, 0) {
                    self.resize(call, file, 1)?;
                }
            }
            "truncate" => {
                if let Some(path) = self.named(call, None, 0)? {
                    match self.image.tree().get(&path) {
                        Some(TreeEntry::File(file)) => self.resize(call, file, 1)?,
                        _ => return Err(refused("the file is not known")),
                    }
                }
            }
            "fallocate" => {
                if let Some((file, ..)) = self.file(call, 0) {
                    let end = number(call.arg(2)).zip(number(call.arg(3)));
                    let end = end.map(|(from, length)| (from + length).unsigned_abs());
                    match (call.arg(1), end) {
                        ("0", Some(end)) if end > self.image.length(file) => {
                            self.push(DiskEvent::Resize { file, length: end });
                        }
                        ("0", Some(_)) | ("FALLOC_FL_KEEP_SIZE", _) => {}
                        _ => return Err(refused("holes in files are not modelled")),
                    }
                }
            }
            "fsync" | "fdatasync" => self.sync(call),
            "sync" | "syncfs" => {
                let before = self.events_before(call);
                self.push(DiskEvent::SyncAll { before });
            }
            "rename" => self.rename(call, (None, 0), (None, 1))?,
            "renameat" | "renameat2" => {
                if has_flag(call.arg(4), "RENAME_EXCHANGE") {
                    return Err(refused("an exchange of two names is not modelled"));
                }
                self.rename(call, (Some(0), 1), (Some(2), 3))?;
            }
            "link" => self.link(call, (None, 0), (None, 1))?,
            "linkat" => self.link(call, (Some(0), 1), (Some(2), 3))?,
            "unlink" => self.unlink(call, None, 0)?,
            "unlinkat" if has_flag(call.arg(2), "AT_REMOVEDIR") => {
                self.folder(call, Some(0), 1, |path| DiskEvent::RemoveFolder { path })?;
            }
            "unlinkat" => self.unlink(call, Some(0), 1)?,
            "rmdir" => self.folder(call, None, 0, |path| DiskEvent::RemoveFolder { path })?,
            "mkdir" => self.folder(call, None, 0, |path| DiskEvent::MakeFolder { path })?,
            "mkdirat" => self.folder(call, Some(0), 1, |path| DiskEvent::MakeFolder { path })?,
            "chdir" => {
                let to = path(call.arg(0)).ok_or_else(|| refused("a path is not readable"))?;
                self.working_folder = self.working_folder.join(to);
            }
            "fchdir" => return Err(refused("the working folder is not known")),
            "mmap" => self.map(call)?,
            "io_uring_setup" => return Err(refused("writes of io_uring are not seen")),
            "symlink" | "symlinkat" | "mknod" | "mknodat" => {
                let name = if call.name.starts_with("symlink") { call.args.len() - 1 } else { 0 };
                if self.named(call, None, name)?.is_some() {
                    return Err(refused("files of this kind are not modelled"));
                }
            }
            "copy_file_range" | "sendfile" | "splice" => self.copy(call)?,
            _ => {}
        }
        Ok(())
    }
}
