//! The calls with more than one effect: opening, writing, naming, mapping.

use std::path::PathBuf;

use super::{EventReader, STANDARD_OUTPUT};
use crate::power::acknowledgement::acknowledgements;
use crate::power::disk_event::{DiskEvent, FileNumber};
use crate::power::error::PowerError;
use crate::power::folder_tree::TreeEntry;
use crate::power::open_files::OpenTarget;
use crate::power::trace_log::SystemCall;
use crate::power::trace_value::{buffers, descriptor, has_flag, number, string};

/// A path argument: the position of the descriptor of its folder, if it has one, and its own.
type PathArgs = (Option<usize>, usize);

impl EventReader<'_> {
    pub(super) fn open(
        &mut self,
        call: &SystemCall,
        folder: Option<usize>,
    ) -> Result<(), PowerError> {
        let refused = |reason| Err(PowerError::unsupported(&call.shown(), reason));
        let Some((number, Some(path))) = descriptor(&call.result) else {
            return refused("the path of an open file is not readable");
        };
        // A number that is opened again was closed, perhaps by a call that is not seen.
        self.open.close(number);
        let Some(path) = self.relative(&path) else { return Ok(()) };
        let flags = match (call.name.as_str(), folder) {
            ("creat", _) => "O_CREAT|O_TRUNC|O_WRONLY",
            (_, Some(_)) => call.arg(2),
            (_, None) => call.arg(1),
        };
        if ["O_TMPFILE", "O_SYNC", "O_DSYNC", "O_DIRECT"].iter().any(|flag| has_flag(flags, flag)) {
            return refused("files that are opened with this flag are not modelled");
        }
        let target = match self.image.tree().get(&path) {
            Some(TreeEntry::Folder) => OpenTarget::Folder(path),
            Some(TreeEntry::File(file)) => {
                if has_flag(flags, "O_TRUNC") && self.image.length(file) > 0 {
                    self.push(DiskEvent::Resize { file, length: 0 });
                }
                OpenTarget::File(file)
            }
            None if has_flag(flags, "O_CREAT") => {
                let file = self.image.new_file();
                self.push(DiskEvent::Name { file, path });
                OpenTarget::File(file)
            }
            None => return refused("another process has created the file"),
        };
        self.open.open(number, target, has_flag(flags, "O_APPEND"));
        Ok(())
    }

    pub(super) fn duplicate(&mut self, call: &SystemCall) {
        let from = descriptor(call.arg(0)).map(|(number, _)| number);
        let to = descriptor(&call.result).map(|(number, _)| number);
        if let Some((from, to)) = from.zip(to) {
            self.open.duplicate(from, to);
        }
    }

    pub(super) fn write(&mut self, call: &SystemCall) -> Result<(), PowerError> {
        let is_output = descriptor(call.arg(0)).is_some_and(|(fd, _)| fd == STANDARD_OUTPUT);
        let known = self.file(call, 0);
        if known.is_none() && !is_output {
            return Ok(());
        }
        let unclear = || PowerError::unsupported(&call.shown(), "the written bytes are not known");
        let bytes = match call.name.as_str() {
            "write" | "pwrite64" => string(call.arg(1)),
            _ => buffers(call.arg(1)),
        };
        let mut bytes = bytes.ok_or_else(unclear)?;
        let written = number(&call.result).and_then(|written| usize::try_from(written).ok());
        bytes.truncate(written.ok_or_else(unclear)?);
        let Some((file, position, appends)) = known else {
            acknowledgements(&bytes).for_each(|line| self.push(DiskEvent::Acknowledge(line)));
            return Ok(());
        };
        let given = match call.name.as_str() {
            "pwrite64" | "pwritev" | "pwritev2" => {
                Some(number(call.arg(3)).ok_or_else(unclear)?).filter(|offset| *offset >= 0)
            }
            _ => None,
        };
        let offset = match given {
            _ if appends => self.image.length(file),
            Some(offset) => offset.unsigned_abs(),
            None => position,
        };
        if given.is_none() {
            self.set_position(call, 0, offset + bytes.len() as u64);
        }
        self.push(DiskEvent::Write { file, offset, bytes });
        Ok(())
    }

    pub(super) fn resize(
        &mut self,
        call: &SystemCall,
        file: FileNumber,
        length: usize,
    ) -> Result<(), PowerError> {
        let length = number(call.arg(length))
            .ok_or_else(|| PowerError::unsupported(&call.shown(), "the length is not known"))?;
        self.push(DiskEvent::Resize { file, length: length.unsigned_abs() });
        Ok(())
    }

    pub(super) fn sync(&mut self, call: &SystemCall) {
        let before = self.events_before(call);
        let open = descriptor(call.arg(0)).and_then(|(number, _)| self.open.get(number));
        let event = match open.map(|open| open.target.clone()) {
            Some(OpenTarget::File(file)) => DiskEvent::SyncFile { file, before },
            Some(OpenTarget::Folder(path)) => DiskEvent::SyncFolder { path, before },
            None => return,
        };
        self.push(event);
    }

    pub(super) fn rename(
        &mut self,
        call: &SystemCall,
        from: PathArgs,
        to: PathArgs,
    ) -> Result<(), PowerError> {
        let (from, to) = (self.named(call, from.0, from.1)?, self.named(call, to.0, to.1)?);
        let refused = |reason| Err(PowerError::unsupported(&call.shown(), reason));
        let (from, to) = match (from, to) {
            (None, None) => return Ok(()),
            (Some(from), Some(to)) => (from, to),
            _ => return refused("a rename between folders of which one is not recorded"),
        };
        match self.image.tree().get(&from) {
            Some(TreeEntry::File(file)) => self.push(DiskEvent::Rename { file, from, to }),
            Some(TreeEntry::Folder) => self.push(DiskEvent::RenameFolder { from, to }),
            None => return refused("the file is not known"),
        }
        Ok(())
    }

    pub(super) fn link(
        &mut self,
        call: &SystemCall,
        from: PathArgs,
        to: PathArgs,
    ) -> Result<(), PowerError> {
        let (from, to) = (self.named(call, from.0, from.1)?, self.named(call, to.0, to.1)?);
        let Some(path) = to else { return Ok(()) };
        match from.and_then(|from| self.image.tree().get(&from)) {
            Some(TreeEntry::File(file)) => self.push(DiskEvent::Name { file, path }),
            _ => return Err(PowerError::unsupported(&call.shown(), "the file is not known")),
        }
        Ok(())
    }

    pub(super) fn unlink(
        &mut self,
        call: &SystemCall,
        folder: Option<usize>,
        name: usize,
    ) -> Result<(), PowerError> {
        self.folder(call, folder, name, |path| DiskEvent::Unname { path })
    }

    /// Reads a call whose only effect is one on a name.
    pub(super) fn folder(
        &mut self,
        call: &SystemCall,
        folder: Option<usize>,
        name: usize,
        event: impl FnOnce(PathBuf) -> DiskEvent,
    ) -> Result<(), PowerError> {
        if let Some(path) = self.named(call, folder, name)? {
            self.push(event(path));
        }
        Ok(())
    }

    /// A file that is mapped for writing changes without a call.
    pub(super) fn map(&mut self, call: &SystemCall) -> Result<(), PowerError> {
        if !has_flag(call.arg(3), "MAP_SHARED") || !has_flag(call.arg(2), "PROT_WRITE") {
            return Ok(());
        }
        let Some((file, ..)) = self.file(call, 4) else { return Ok(()) };
        let path = self.image.tree().path_of(file);
        if path.is_some_and(|path| (self.may_be_mapped)(path)) {
            self.push(DiskEvent::Map { file });
            return Ok(());
        }
        Err(PowerError::unsupported(&call.shown(), "a file is mapped for writing"))
    }

    pub(super) fn copy(&mut self, call: &SystemCall) -> Result<(), PowerError> {
        let (from, to) = match call.name.as_str() {
            "sendfile" => (1, 0),
            _ => (0, 2),
        };
        let Some((to_file, to_position, appends)) = self.file(call, to) else { return Ok(()) };
        let refused = |reason| PowerError::unsupported(&call.shown(), reason);
        let explicit = match call.name.as_str() {
            "copy_file_range" => call.arg(1) != "NULL" || call.arg(3) != "NULL",
            "sendfile" => call.arg(2) != "NULL",
            _ => true,
        };
        if explicit || appends {
            return Err(refused("this way of copying is not modelled"));
        }
        let (from_file, position, _) = self
            .file(call, from)
            .ok_or_else(|| refused("the source of the copy is not recorded"))?;
        let copied = number(&call.result).unwrap_or_default().unsigned_abs();
        let bytes = self.image.bytes(from_file, position, copied);
        self.set_position(call, from, position + copied);
        self.set_position(call, to, to_position + copied);
        self.push(DiskEvent::Write { file: to_file, offset: to_position, bytes });
        Ok(())
    }
}
