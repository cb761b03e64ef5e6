//! A part of the mutants of a crate, tried in one go.
//!
//! cargo-mutants runs the tests of the crate on each mutant of the part, and then the tests of the
//! crates that ask it, but only on what is left. The lists that it writes are the result. A mark
//! tells a part that came to its end from one that was interrupted, which begins again.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::tools;
use crate::workspace::{Workspace, package_name};

/// The name of the mark.
const DONE: &str = "done";
/// The folders of the lists, by whose tests ran.
const OWN: &str = "own";
const SUITES: &str = "suites";
/// The exit codes of cargo-mutants that are results: all caught, some missed, some timed out.
const RESULTS: [i32; 3] = [0, 2, 3];

/// A part of the mutants of a crate.
pub(super) struct Part<'a> {
    workspace: &'a Workspace,
    krate: &'a str,
    number: usize,
    of: usize,
    folder: PathBuf,
}

/// The outcomes of some mutants.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The number that tests noticed, by failing or by not ending.
    pub(super) caught: usize,
    /// The number that do not compile.
    pub(super) unviable: usize,
    /// Those that no test noticed: the place and the change.
    pub(super) missed: Vec<String>,
}

impl Found {
    pub(super) fn add(&mut self, other: Self) {
        self.caught += other.caught;
        self.unviable += other.unviable;
        self.missed.extend(other.missed);
    }

    pub(super) fn total(&self) -> usize {
        self.caught + self.unviable + self.missed.len()
    }

    /// Returns the share of the viable ones that tests noticed, in percent.
    pub(super) fn share(&self) -> Option<f64> {
        let viable = self.caught + self.missed.len();
        (viable > 0).then(|| 100.0 * self.caught as f64 / viable as f64)
    }
}

impl<'a> Part<'a> {
    pub(super) fn new(workspace: &'a Workspace, krate: &'a str, number: usize, of: usize) -> Self {
        let folder = of_crate(workspace, krate).join(format!("{number}-of-{of}"));
        Self { workspace, krate, number, of, folder }
    }

    /// Removes what is known of a crate.
    pub(super) fn forget_all(workspace: &Workspace, krate: &str) -> Result<()> {
        match fs::remove_dir_all(of_crate(workspace, krate)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Whether all mutants of the part have been tried.
    pub(super) fn is_done(&self) -> bool {
        self.folder.join(DONE).exists()
    }

    /// Tries the mutants on the tests of the crate, and those that are left on other crates' tests.
    pub(super) fn run(&self, suites: &[&str]) -> Result<()> {
        let shard = format!("{}/{}", self.number, self.of);
        self.ask(OWN, &[self.krate], &["--shard", &shard, "--sharding", "round-robin"])?;
        let missed = self.list(OWN, "missed")?;
        if !suites.is_empty() && !missed.is_empty() {
            // Removed fields escape the pattern of names, so the files are named as well.
            let only: Vec<_> = missed.iter().map(|mutant| escaped(mutant)).collect();
            let only = only.iter().flat_map(|mutant| ["--re", mutant]);
            let files = missed.iter().filter_map(|mutant| mutant.split(':').next());
            let only: Vec<_> = only.chain(files.flat_map(|file| ["--file", file])).collect();
            self.ask(SUITES, suites, &only)?;
        }
        fs::write(self.folder.join(DONE), "")?;
        Ok(())
    }

    /// Runs the tests of these crates on the chosen mutants.
    fn ask(&self, kind: &str, tests: &[&str], which: &[&str]) -> Result<()> {
        println!(
            "{}, part {} of {}, tests of {}",
            self.krate,
            self.number,
            self.of,
            tests.join(", ")
        );
        let out = self.folder.join(kind);
        fs::create_dir_all(&out)?;
        let packages: Vec<_> = tests.iter().map(|name| package_name(name)).collect();
        let packages = packages.iter().flat_map(|name| ["--test-package", name.as_ref()]);
        let build = self.workspace.target_folder().join("mutants/build");
        let status = tools::MUTANTS
            .cargo(self.workspace, self.workspace.root())?
            .args(["--package", self.krate, "--no-times", "--output"])
            .args([&out])
            .args(which)
            .args(packages)
            .envs(&[("CONTEXT_TEST_DATA", self.workspace.data_root())])
            .env("INSTA_UPDATE", "no")
            // A separate target folder, so that the copied sources and the workspace do not
            // invalidate each other's builds, and the next crate finds its dependencies built.
            .env("CARGO_TARGET_DIR", build)
            // Each mutant is built once and thrown away.
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .status()?;
        match status.code() {
            Some(code) if RESULTS.contains(&code) => Ok(()),
            _ => bail!("cargo mutants failed: {status}"),
        }
    }

    /// Returns the result of a part that has ended.
    pub(super) fn found(&self) -> Result<Option<Found>> {
        if !self.is_done() {
            return Ok(None);
        }
        let caught = |kind: &str| -> Result<Vec<String>> {
            Ok([self.list(kind, "caught")?, self.list(kind, "timeout")?].concat())
        };
        // The suites may have been asked about other mutants of the same files too.
        let by_suites = caught(SUITES)?;
        let (missed, noticed): (Vec<_>, Vec<_>) =
            self.list(OWN, "missed")?.into_iter().partition(|mutant| !by_suites.contains(mutant));
        Ok(Some(Found {
            caught: caught(OWN)?.len() + noticed.len(),
            unviable: self.list(OWN, "unviable")?.len(),
            missed,
        }))
    }

    fn list(&self, kind: &str, name: &str) -> Result<Vec<String>> {
        let path = self.folder.join(kind).join("mutants.out").join(name).with_extension("txt");
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error).with_context(|| format!("read {}", path.display())),
        }
    }
}

/// Returns a regular expression that matches a text alone.
fn escaped(text: &str) -> String {
    let mut pattern = String::from("^");
    for c in text.chars() {
        // An escaped `<` or `>` would be the border of a word.
        if r"\.+*?()|[]{}^$".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern + "$"
}

fn of_crate(workspace: &Workspace, krate: &str) -> PathBuf {
    workspace.target_folder().join("mutants").join(krate)
}

#[cfg(test)]
mod tests {
    use super::{Found, escaped};

    #[test]
    fn only_viable_mutants_count_for_the_share() {
        let mut found = Found { caught: 3, unviable: 5, missed: vec!["a".to_owned()] };
        assert_eq!((found.total(), found.share()), (9, Some(75.0)));
        found.add(Found { caught: 4, ..Found::default() });
        assert_eq!((found.total(), found.share()), (13, Some(87.5)));
        let escaped = escaped("a.rs:1: replace < with <= in <impl A for B>::c -> u8");
        let pattern = r"^a\.rs:1: replace < with <= in <impl A for B>::c -> u8$";
        assert_eq!(escaped, pattern);
        assert_eq!(Found { unviable: 1, ..Found::default() }.share(), None);
    }
}
