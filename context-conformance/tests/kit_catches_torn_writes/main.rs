//! Tests of the suite itself with killed processes: a file store that loses, tears or reverts
//! acknowledged writes must fail the case that is meant to catch it, and a sound one must fail
//! none.
//!
//! The program is the test. With a fault in its environment, it is the test program of a store with
//! that fault, which then runs itself as the child to be killed.

mod store;

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use async_trait::async_trait;
use context_conformance::{StoreFixture, file_name};
use context_core::{Result, Store};
use libtest_mimic::{Arguments, Failed, Trial};

use crate::store::{Fault, FileStore};

/// The environment variables with the fault and with the folder of the files. A child has no folder
/// of its own.
const FAULT: &str = "CONTEXT_TORN_FAULT";
const FOLDER: &str = "CONTEXT_TORN_FOLDER";

struct Files {
    fault: Fault,
    folder: PathBuf,
}

impl Files {
    fn file(&self, namespace: &str) -> PathBuf {
        self.folder.join(file_name(namespace))
    }

    fn store(&self, file: PathBuf) -> Arc<dyn Store> {
        Arc::new(FileStore::open(file, self.fault))
    }
}

#[async_trait]
impl StoreFixture for Files {
    fn name(&self) -> &str {
        "file"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let _absent = std::fs::remove_file(self.file(namespace));
        Ok(self.store(self.file(namespace)))
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(self.store(self.file(namespace))))
    }

    async fn second_handle(&self, _namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(None) // a handle keeps what it has read
    }

    fn location(&self, namespace: &str) -> Option<String> {
        self.file(namespace).to_str().map(ToOwned::to_owned)
    }

    async fn open_at(&self, location: &str) -> Result<Option<Arc<dyn Store>>> {
        Ok(Some(self.store(location.into())))
    }
}

fn main() -> ExitCode {
    let fault = std::env::var(FAULT)
        .ok()
        .and_then(|name| Fault::ALL.into_iter().find(|fault| fault.name() == name));
    if let (Some(fault), Some(folder)) = (fault, std::env::var_os(FOLDER)) {
        return context_conformance::main(Files { fault, folder: folder.into() });
    }
    let trials =
        Fault::ALL.into_iter().map(|fault| Trial::test(fault.name(), move || check(fault)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

/// Runs the cases about killed processes against a store with this fault.
fn check(fault: Fault) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let output = Command::new(std::env::current_exe()?)
        .arg("kill::a_killed_life_is_a_prefix")
        .env(FAULT, fault.name())
        .env(FOLDER, folder.path())
        .env("CONTEXT_CONFORMANCE_KILLS", "96")
        .stdin(Stdio::null())
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let sound = fault == Fault::None;
    if output.status.success() != sound || !text.contains("1 passed") && sound {
        return Err(format!("a store with the fault {:?}: {text}", fault.name()).into());
    }
    if !sound && !["kill ", "the file ends too early"].iter().any(|found| text.contains(found)) {
        return Err(format!("failed for another reason: {text}").into());
    }
    Ok(())
}
