//! Runs a case under callgrind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::Case;

/// The function whose instructions, including callees, are counted.
const COUNTED: &str = "*instructions*counted*";

/// The profiler, for one program.
pub(super) struct Callgrind<'a> {
    program: &'a Path,
    /// The folder for profiles.
    folder: &'a Path,
}

impl<'a> Callgrind<'a> {
    pub(super) fn new(program: &'a Path, folder: &'a Path) -> Self {
        Self { program, folder }
    }

    /// Returns the instructions of one repetition. Keeps the profile for inspection.
    pub(super) fn count(&self, case: &Case) -> Result<u64> {
        match case.repetitions {
            None => {
                self.run(case, 1, &["--collect-atstart=no", &format!("--toggle-collect={COUNTED}")])
            }
            Some(times) => {
                // The work of other threads is not below a function of this one, so take the
                // difference of two runs.
                let (once, twice) = (self.run(case, times, &[])?, self.run(case, 2 * times, &[])?);
                Ok(twice.saturating_sub(once) / times)
            }
        }
    }

    fn run(&self, case: &Case, times: u64, flags: &[&str]) -> Result<u64> {
        let profile = self.profile(case);
        // Remove the profile of an earlier run, which must not be taken for this one.
        let _absent = fs::remove_file(&profile);
        let status = Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind"])
            .arg(format!("--callgrind-out-file={}", profile.display()))
            .args(flags)
            .arg(self.program)
            .args([&case.name, &times.to_string()])
            .stdout(Stdio::null())
            .status()
            .context("could not run valgrind")?;
        ensure!(status.success(), "{}: {status}", case.name);
        let text =
            fs::read_to_string(&profile).with_context(|| format!("{}: no profile", case.name))?;
        total(&text).with_context(|| format!("{}: nothing was counted", case.name))
    }

    fn profile(&self, case: &Case) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let name: String = case.name.chars().map(plain).collect();
        self.folder.join(format!("{name}.out"))
    }
}

/// Returns the instructions of a whole profile, or `None` if it has none.
fn total(profile: &str) -> Option<u64> {
    let totals = |line: &str| {
        line.strip_prefix("totals:").or_else(|| line.strip_prefix("summary:"))?.trim().parse().ok()
    };
    profile.lines().rev().find_map(totals).filter(|total| *total > 0)
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn the_total_of_a_profile_is_read() {
        let profile =
            "# callgrind format\nversion: 1\nevents: Ir\n\nfn=(1) main\n12 40\n\ntotals: 123456\n";
        assert_eq!(total(profile), Some(123_456));
        assert_eq!(total("events: Ir\nsummary: 7\n"), Some(7));
        assert_eq!(total("events: Ir\ntotals: 0\n"), None);
        assert_eq!(total(""), None);
    }
}
