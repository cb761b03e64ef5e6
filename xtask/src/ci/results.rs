//! The last result of each step, kept in a file, so that a run can go on where another one stopped.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::process::Verdict;

/// The results, in their file. Daily and long runs have a file each.
pub(super) struct Results {
    path: PathBuf,
    /// The commit that is checked, with a mark if files differ from it.
    revision: String,
    kept: Kept,
}

#[derive(Default, Deserialize, Serialize)]
struct Kept {
    /// The time at which the run began whose steps count as done. `--resume` goes on with it.
    run: String,
    /// The seed of its random choices, if it has one.
    seed: Option<u64>,
    steps: BTreeMap<String, StepResult>,
}

/// The result of a step.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct StepResult {
    run: String,
    passed: bool,
    seconds: f64,
    day: String,
    revision: String,
    seed: Option<u64>,
}

impl Results {
    /// Reads the results, to go on with the last run.
    pub(super) fn read(path: PathBuf, root: &Path) -> Result<Self> {
        let kept = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text)
                .with_context(|| format!("{} is damaged; remove it", path.display()))?,
            Err(_) => Kept::default(),
        };
        Ok(Self { path, revision: revision(root), kept })
    }

    /// Begins a run with this seed. The file says so at once: a run that is stopped in its first
    /// step must not be taken for the one before.
    pub(super) fn begin(&mut self, seed: Option<u64>) -> Result<()> {
        self.kept.run = jiff::Timestamp::now().to_string();
        self.kept.seed = seed;
        self.write()
    }

    /// Whether there is a run to go on with.
    pub(super) fn has_run(&self) -> bool {
        !self.kept.run.is_empty()
    }

    /// Returns the seed of the run.
    pub(super) fn seed(&self) -> Option<u64> {
        self.kept.seed
    }

    /// Returns how long a step took that has passed in this run.
    pub(super) fn passed(&self, step: &str) -> Option<Duration> {
        let last = self.kept.steps.get(step)?;
        (last.passed && last.run == self.kept.run).then(|| Duration::from_secs_f64(last.seconds))
    }

    /// Adds the result of a step, and writes the file.
    pub(super) fn add(&mut self, step: &str, verdict: Verdict, duration: Duration) -> Result<()> {
        let result = StepResult {
            run: self.kept.run.clone(),
            passed: verdict == Verdict::Passed,
            seconds: duration.as_secs_f64(),
            day: jiff::Timestamp::now().strftime("%F").to_string(),
            revision: self.revision.clone(),
            seed: self.kept.seed,
        };
        self.kept.steps.insert(step.to_owned(), result);
        self.write()
    }

    fn write(&self) -> Result<()> {
        let folder = self.path.parent().context("a file is in a folder")?;
        std::fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        serde_json::to_writer_pretty(&mut file, &self.kept)?;
        file.persist(&self.path).with_context(|| format!("write {}", self.path.display()))?;
        Ok(())
    }
}

/// Writes a table in Markdown, in the order of the names.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| step | result | time | seed | commit | day |\n|---|---|---|---|---|---|")?;
        for (name, StepResult { passed, seconds, day, revision, seed, .. }) in &self.kept.steps {
            let seed = seed.map_or_else(|| "-".to_owned(), |seed| format!("{seed:#x}"));
            let result = if *passed { "passed" } else { "FAILED" };
            writeln!(
                f,
                "| `{name}` | {result} | {seconds:.0} s | {seed} | `{revision}` | {day} |"
            )?;
        }
        Ok(())
    }
}

/// Returns the short name of the commit, with a `+` if files differ from it.
fn revision(root: &Path) -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["rev-parse", "--short=9", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    let is_clean = git(&["status", "--porcelain"]).is_some_and(|changes| changes.is_empty());
    if is_clean { commit } else { commit + "+" }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::Results;
    use crate::process::Verdict;

    fn read(folder: &Path) -> Results {
        Results::read(folder.join("ci/long.json"), folder).unwrap()
    }

    fn begin(folder: &Path, seed: u64) -> Results {
        let mut results = read(folder);
        results.begin(Some(seed)).unwrap();
        results
    }

    /// The machine is switched off in the third step. The next run goes on with it, with the same
    /// seed.
    #[test]
    fn a_run_goes_on_where_the_last_one_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let second = Duration::from_secs(1);
        assert!(!read(folder.path()).has_run());
        let mut first = begin(folder.path(), 7);
        assert_eq!((first.seed(), first.passed("fmt")), (Some(7), None));
        first.add("fmt", Verdict::Passed, second).unwrap();
        first.add("clippy", Verdict::Failed, second).unwrap();
        drop(first);
        let resumed = read(folder.path());
        assert!(resumed.has_run());
        assert_eq!(resumed.seed(), Some(7));
        assert_eq!((resumed.passed("fmt"), resumed.passed("clippy")), (Some(second), None));
    }

    #[test]
    fn a_new_run_runs_everything_again_and_keeps_what_is_known() {
        let folder = tempfile::tempdir().unwrap();
        begin(folder.path(), 7).add("fmt", Verdict::Passed, Duration::ZERO).unwrap();
        let new = begin(folder.path(), 8);
        assert_eq!((new.seed(), new.passed("fmt")), (Some(8), None));
        assert!(new.to_string().contains("| `fmt` | passed | 0 s | 0x7 | `unknown+` |"), "{new}");
    }

    /// A run that was stopped in its first step is not the one before it, whose steps had passed.
    #[test]
    fn a_run_is_known_before_its_first_step_ends() {
        let folder = tempfile::tempdir().unwrap();
        begin(folder.path(), 7).add("fmt", Verdict::Passed, Duration::ZERO).unwrap();
        drop(begin(folder.path(), 8));
        let resumed = read(folder.path());
        assert_eq!((resumed.seed(), resumed.passed("fmt")), (Some(8), None));
    }
}
