//! Targets that are properties of the ordinary tests, and the rounds in which they run.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::process::{Cargo, Verdict};
use crate::workspace::{FUZZ, Workspace};

/// The properties of one parser or renderer in a crate.
pub(super) struct Property {
    pub(super) name: &'static str,
    package: &'static str,
    /// The test program, or `None` for the unit tests.
    test: Option<&'static str>,
    /// The prefix of the names of the properties. Empty for all tests of the program.
    module: &'static str,
}

impl Property {
    const fn new(
        name: &'static str,
        package: &'static str,
        test: Option<&'static str>,
        module: &'static str,
    ) -> Self {
        Self { name, package, test, module }
    }
}

/// Parsers that need more than bytes, and renderers, whose output models parse.
pub(super) const TARGETS: &[Property] = &[
    Property::new("events", "context-http", Some("it"), "events::"),
    Property::new("transcripts", "context-transcript", Some("it"), ""),
    Property::new("sqlite-url", "context-store-sqlite", None, "config::properties::"),
    Property::new("postgres-url", "context-store-postgres", None, "config::properties::"),
    Property::new("redis-url", "context-store-redis", None, "config::properties::"),
    Property::new("encrypted-values", "context-store-layers", None, "encrypted::"),
    Property::new("encrypted-store", "context-store-layers", Some("encrypted"), "altered::"),
    Property::new("memory-service", "context-memory", Some("it"), "remote::"),
    Property::new("faces", "context-server", Some("it"), "service::any_request::"),
    Property::new("image-sizes", "context-tokens", Some("it"), "images::"),
    Property::new("xml", "context-render", Some("it"), "xml_properties::"),
    Property::new("markdown", "context-render", Some("it"), "markdown_properties::"),
    Property::new("toml", "context-render", Some("it"), "toml_properties::"),
    Property::new("toon", "context-render", Some("it"), "toon_properties::"),
];

/// A built test program, with the filter for the tests of a target.
pub(super) struct Program {
    pub(super) name: String,
    path: PathBuf,
    folder: PathBuf,
    filter: Vec<String>,
}

impl Property {
    pub(super) fn program(&self, workspace: &Workspace) -> Result<Program> {
        let filter = vec![self.module.to_owned()];
        let program = program(workspace, self.name, self.package, self.test, filter)?;
        // A renamed module would otherwise run no tests and find nothing.
        let there = program.tests()?.len();
        ensure!(there > 0, "{}: no property of {} is in {}", self.name, self.package, self.module);
        Ok(program)
    }
}

/// Returns the targets of plain bytes, listed by their short tests.
pub(super) fn parsers(workspace: &Workspace) -> Result<Vec<Program>> {
    let all = program(workspace, "", FUZZ, Some("targets"), Vec::new())?;
    let tests = all.tests()?;
    let names = tests.iter().filter_map(|name| name.strip_prefix("damage::"));
    let target = |name: &str| Program {
        name: name.to_owned(),
        path: all.path.clone(),
        folder: all.folder.clone(),
        filter: vec![format!("damage::{name}"), "--exact".to_owned()],
    };
    let targets: Vec<_> = names.map(target).collect();
    ensure!(!targets.is_empty(), "{FUZZ} has no target");
    Ok(targets)
}

fn program(
    workspace: &Workspace,
    name: &str,
    package: &str,
    test: Option<&str>,
    filter: Vec<String>,
) -> Result<Program> {
    let krate = workspace.krate(package).with_context(|| format!("there is no crate {package}"))?;
    let build = ["--release", "--locked", "--all-features", "-p", package];
    let cargo = Cargo::new(workspace.root(), "test").args(build);
    let path = match test {
        Some(test) => cargo.test_program(test)?,
        None => cargo.unit_tests(package)?,
    };
    let folder = krate.manifest_path.parent().context("a manifest lies in a folder")?;
    Ok(Program { name: name.to_owned(), path, folder: folder.into(), filter })
}

impl Program {
    /// Returns the names of the tests that the program would run.
    fn tests(&self) -> Result<Vec<String>> {
        let output = Command::new(&self.path)
            .args(&self.filter)
            .arg("--list")
            .current_dir(&self.folder)
            .output()
            .context("the tests cannot be listed")?;
        ensure!(output.status.success(), "{} does not list its tests", self.path.display());
        let list = String::from_utf8(output.stdout).context("the list of tests is no text")?;
        Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs rounds of this many cases until the time is up, each with new seeds.
    pub(super) fn rounds(&self, time: Duration, cases: u32) -> Result<Verdict> {
        // Proptest draws new seeds by itself. The conformance suite needs a seed.
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .context("a clock before 1970")?;
        let first = now.as_secs() << 20;
        let start = Instant::now();
        let mut rounds = 0_u64;
        while start.elapsed() < time {
            let status = Command::new(&self.path)
                .args(&self.filter)
                .arg("--quiet")
                .env("PROPTEST_CASES", cases.to_string())
                .env_remove("PROPTEST_RNG_SEED")
                .env("CONTEXT_CONFORMANCE_SEED", format!("{:#x}", first.wrapping_add(rounds)))
                .current_dir(&self.folder)
                .stdout(Stdio::inherit())
                .status()
                .context("could not run the properties")?;
            rounds += 1;
            let seconds = start.elapsed().as_secs();
            if !status.success() {
                println!(
                    "{}: a finding in round {rounds} of those that began at {first:#x}, after {seconds} s",
                    self.name
                );
                return Ok(Verdict::Failed);
            }
        }
        let seconds = start.elapsed().as_secs();
        println!("{}: {rounds} rounds of {cases} cases each in {seconds} s, no finding", self.name);
        Ok(Verdict::Passed)
    }
}
