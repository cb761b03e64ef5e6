//! Loss of power while the command writes a file: the file is absent, as it was before, or
//! complete, and complete once the command has ended well.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use context_conformance::power::{self, DiskState, PowerOutcome, PowerTest};

fn main() -> ExitCode {
    let tests: [Arc<dyn PowerTest>; 5] = [
        Arc::new(a_backup_is_complete_or_absent()),
        Arc::new(a_backup_replaces_the_old_one_or_leaves_it()),
        Arc::new(an_export_is_complete_or_absent()),
        Arc::new(an_export_replaces_the_old_one_or_leaves_it()),
        Arc::new(a_page_is_complete_or_absent()),
    ];
    power::main(tests)
}

fn a_backup_is_complete_or_absent() -> Written {
    Written { name: "a_backup_is_complete_or_absent", line: "backup new", replaces: false }
}

fn a_backup_replaces_the_old_one_or_leaves_it() -> Written {
    let name = "a_backup_replaces_the_old_one_or_leaves_it";
    Written { name, line: "backup new --force", replaces: true }
}

fn an_export_is_complete_or_absent() -> Written {
    let line = "export notes --to jsonl --output new";
    Written { name: "an_export_is_complete_or_absent", line, replaces: false }
}

fn an_export_replaces_the_old_one_or_leaves_it() -> Written {
    let name = "an_export_replaces_the_old_one_or_leaves_it";
    Written { name, line: "export notes --to jsonl --output new --force", replaces: true }
}

fn a_page_is_complete_or_absent() -> Written {
    let line = "export notes --to html --output new";
    Written { name: "a_page_is_complete_or_absent", line, replaces: false }
}

/// The name of the file that the commands write.
const NEW: &str = "new";
const OLD_CONTENT: &[u8] = b"the old file";

/// A command that writes a file.
struct Written {
    name: &'static str,
    line: &'static str,
    /// Whether there is a file of the name already.
    replaces: bool,
}

/// Returns a command for the executable without the environment of this machine.
fn context(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_context"));
    command.args(line.split(' '));
    for name in ["CONTEXT_STORE", "CONTEXT_USER", "CONTEXT_PAGER", "PAGER", "COLUMNS", "COMPLETE"] {
        command.env_remove(name);
    }
    command.env("CONTEXT_CONFIG", "");
    command
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/notes-agent.json")
}

impl PowerTest for Written {
    fn name(&self) -> &str {
        self.name
    }

    fn states(&self) -> usize {
        25
    }

    fn may_be_mapped(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| path.ends_with("-shm"))
    }

    fn prepare(&self, folder: &Path) -> PowerOutcome {
        fs::copy(sample(), folder.join("notes.json"))?;
        let mut import = context("import notes.json");
        let done = import.current_dir(folder).stdin(Stdio::null()).output()?;
        if !done.status.success() {
            return Err(String::from_utf8_lossy(&done.stderr).into());
        }
        if self.replaces {
            fs::write(folder.join(NEW), OLD_CONTENT)?;
        }
        Ok(())
    }

    fn command(&self) -> Option<Command> {
        Some(context(self.line))
    }

    fn check(&self, state: &DiskState) -> PowerOutcome {
        let complete = state.final_content(NEW).ok_or("the command has written no file")?;
        let found = fs::read(state.folder().join(NEW)).ok();
        if found.as_deref() == Some(complete) {
            return Ok(());
        }
        let as_before = match self.replaces {
            true => found.as_deref() == Some(OLD_CONTENT),
            false => found.is_none(),
        };
        if as_before && state.exit() != Some(0) {
            return Ok(());
        }
        Err(format!("{:?} bytes of {} are there", found.map(|found| found.len()), complete.len())
            .into())
    }
}
