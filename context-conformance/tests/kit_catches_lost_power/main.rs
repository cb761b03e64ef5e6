//! Tests of the test for a loss of power: a log and a backup that sync too late, too little or not
//! at all must fail, and sound ones must pass. The program is also the process that is recorded.

mod backup;
mod log;

use std::process::{Command, ExitCode};
use std::sync::Arc;

use context_conformance::power::{
    DiskState, PowerOutcome, PowerSettings, PowerTest, check_power_loss, check_recorder, run_child,
};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::backup::{Backup, BackupFault};
use crate::log::{Log, LogFault};

/// A test, and the beginning of its failure. `None` if it must pass.
type Planted = (Arc<dyn PowerTest>, Option<&'static str>);

fn planted() -> Vec<Planted> {
    let mut all: Vec<Planted> = Vec::new();
    for fault in LogFault::ALL {
        all.push((Arc::new(Log(fault)), fault.found_as()));
    }
    for fault in BackupFault::ALL {
        all.push((Arc::new(Backup(fault)), fault.found_as()));
    }
    all.push((Arc::new(SecondProcess), Some("a second process is not recorded")));
    all
}

fn main() -> ExitCode {
    let planted = planted();
    let tests: Vec<_> = planted.iter().map(|(test, _)| Arc::clone(test)).collect();
    if let Some(code) = run_child(&tests) {
        return code;
    }
    let trials = planted.into_iter().map(|(test, found_as)| {
        Trial::ignorable_test(test.name().to_owned(), move || check(&*test, found_as))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn check(test: &dyn PowerTest, found_as: Option<&str>) -> Result<Completion, Failed> {
    if let Err(reason) = check_recorder() {
        return Ok(Completion::ignored_with(reason.to_string()));
    }
    let settings = PowerSettings::from_env(120);
    let failure = match (check_power_loss(test, &settings), found_as) {
        (Ok(report), None) if report.states > 40 => return Ok(Completion::Completed),
        (Err(failure), Some(_)) => failure,
        (other, _) => return Err(format!("{other:?}").into()),
    };
    let (text, found_as) = (failure.to_string(), found_as.unwrap_or_default());
    if !text.starts_with(found_as) {
        return Err(format!("failed for another reason: {text}").into());
    }
    let Some(again) = failure.again() else { return Ok(Completion::Completed) };
    let repeated = check_power_loss(test, again).err().map(|failure| failure.to_string());
    if let Some(folder) = &again.recording {
        std::fs::remove_dir_all(folder)?;
    }
    match repeated.as_ref() == Some(&text) {
        true => Ok(Completion::Completed),
        false => Err(format!("once: {text}\nrepeated: {repeated:?}").into()),
    }
}

/// A process whose changes a recording would miss.
struct SecondProcess;

impl PowerTest for SecondProcess {
    fn name(&self) -> &str {
        "second_process"
    }

    fn write(&self, _folder: &std::path::Path) -> PowerOutcome {
        Command::new("true").status()?;
        Ok(())
    }

    fn check(&self, _state: &DiskState) -> PowerOutcome {
        Err("a recording was accepted".into())
    }
}
