//! A test: what is written, and what every state of the disk has to keep.

use std::collections::HashSet;
use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::error::PowerError;
use super::recorder::record;
use super::recording::{DiskRecording, DiskState};

/// The environment variables of a recorded child: the name of its test.
pub(super) const CHILD: &str = "CONTEXT_POWER_CHILD";

/// The result of a part of a test.
pub type PowerOutcome = Result<(), Box<dyn Error + Send + Sync>>;

/// A file store under test: a process that writes, and a check of the states in which a loss of
/// power may leave its files.
pub trait PowerTest: Send + Sync {
    /// The name of the test, which is unique in its program.
    fn name(&self) -> &str;

    /// Puts files into the folder that are safely on the disk before the recording begins.
    fn prepare(&self, folder: &Path) -> PowerOutcome {
        let _ = folder;
        Ok(())
    }

    /// Writes files below the folder, and [acknowledges](super::acknowledge) what must not be lost
    /// from then on. Runs in a process of its own, which is recorded.
    fn write(&self, folder: &Path) -> PowerOutcome {
        let _ = folder;
        Ok(())
    }

    /// Returns a program to record instead of [`write`](Self::write). It runs in the folder; its
    /// acknowledgement is the exit status 0.
    fn command(&self) -> Option<Command> {
        None
    }

    /// Whether the process may map this file for writing, such as an index that is made anew after
    /// a crash. Other mapped files are refused, as their changes are not seen. After a loss of
    /// power a mapped file holds zeros or random bytes.
    fn may_be_mapped(&self, path: &Path) -> bool {
        let _ = path;
        false
    }

    /// Returns the number of states to check, unless the environment sets it.
    fn states(&self) -> usize {
        40
    }

    /// Opens the files of a state and checks them: they are sound, what was acknowledged is there,
    /// and what is missing is the newest.
    fn check(&self, state: &DiskState) -> PowerOutcome;
}

/// The number of states to check, and the seed of their choice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PowerSettings {
    /// The number of states.
    pub states: usize,
    /// The seed.
    pub seed: u64,
    /// A kept recording to use instead of a new one.
    pub recording: Option<PathBuf>,
    /// The number of the only state to check.
    pub only: Option<usize>,
}

impl PowerSettings {
    /// Returns the settings of the environment: `CONTEXT_POWER_STATES`,
    /// `CONTEXT_CONFORMANCE_SEED`, and, to repeat a failure, `CONTEXT_POWER_RECORDING` and
    /// `CONTEXT_POWER_STATE`. The number of states is this one if it is not set.
    pub fn from_env(states: usize) -> Self {
        let count = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
        Self {
            states: count("CONTEXT_POWER_STATES").unwrap_or(states),
            seed: crate::settings::CaseSettings::from_env().seed,
            recording: std::env::var_os("CONTEXT_POWER_RECORDING").map(PathBuf::from),
            only: count("CONTEXT_POWER_STATE"),
        }
    }
}

/// The size of a passed test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PowerReport {
    /// The number of recorded events.
    pub events: usize,
    /// The number of different states that were checked. Two states differ in what is on the disk
    /// or in what was acknowledged.
    pub states: usize,
}

/// The failure of a test: the reason, and how to repeat it.
#[derive(Debug)]
pub struct PowerFailure {
    text: String,
    again: Option<PowerSettings>,
}

impl PowerFailure {
    /// Returns the settings that check the failing state alone, from the kept recording. `None` if
    /// there is no recording.
    pub fn again(&self) -> Option<&PowerSettings> {
        self.again.as_ref()
    }
}

impl fmt::Display for PowerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for PowerFailure {}

fn failed(error: &(dyn Error + 'static)) -> PowerFailure {
    PowerFailure { text: chain(error), again: None }
}

fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text += &format!(": {error}");
        source = error.source();
    }
    text
}

/// Records a test's process and checks states of the disk. The folder of the recording is kept if a
/// state fails.
pub fn check_power_loss(
    test: &dyn PowerTest,
    settings: &PowerSettings,
) -> Result<PowerReport, PowerFailure> {
    let io = |error: std::io::Error| failed(&error);
    let kept = tempfile::tempdir().map_err(io)?;
    let mapped = |path: &Path| test.may_be_mapped(path);
    let recording = match &settings.recording {
        Some(folder) => DiskRecording::load(folder, &mapped),
        None => new_recording(test, kept.path(), &mapped)?,
    }
    .map_err(|error| failed(&error))?;
    let mut known = HashSet::new();
    // A recording may have fewer different states than are asked for.
    let numbers = match settings.only {
        Some(number) => number..number + 1,
        None => 0..settings.states.saturating_mul(8),
    };
    for number in numbers {
        let choice = recording.choice(settings.seed, number, settings.states);
        if known.len() >= settings.states || !known.insert(choice.fingerprint()) {
            continue;
        }
        let folder = tempfile::tempdir().map_err(io)?;
        let state = choice.build(folder.path().to_owned()).map_err(|error| failed(&error))?;
        if let Err(error) = test.check(&state) {
            return Err(failure(test, settings, &state, &*error, kept));
        }
    }
    Ok(PowerReport { events: recording.len(), states: known.len() })
}

fn new_recording(
    test: &dyn PowerTest,
    kept: &Path,
    mapped: &dyn Fn(&Path) -> bool,
) -> Result<Result<DiskRecording, PowerError>, PowerFailure> {
    let io = |error: std::io::Error| failed(&error);
    let folder = tempfile::tempdir().map_err(io)?;
    test.prepare(folder.path()).map_err(|error| failed(&*error))?;
    let command = match test.command() {
        Some(command) => command,
        None => {
            let mut command = Command::new(std::env::current_exe().map_err(io)?);
            command.env(CHILD, test.name());
            command
        }
    };
    Ok(record(&command, folder.path(), kept, mapped))
}

fn failure(
    test: &dyn PowerTest,
    settings: &PowerSettings,
    state: &DiskState,
    error: &(dyn Error + 'static),
    kept: TempDir,
) -> PowerFailure {
    let folder = settings.recording.clone().unwrap_or_else(|| kept.keep());
    let PowerSettings { seed, states, .. } = settings;
    let text = format!(
        "{}\n{state}\nagain: CONTEXT_POWER_RECORDING={} CONTEXT_POWER_STATE={} \
         CONTEXT_POWER_STATES={states} CONTEXT_CONFORMANCE_SEED={seed:#x}, and the name of the \
         test, {}",
        chain(error),
        folder.display(),
        state.number(),
        test.name(),
    );
    let again =
        PowerSettings { recording: Some(folder), only: Some(state.number()), ..settings.clone() };
    PowerFailure { text, again: Some(again) }
}
