//! `cargo xtask coverage`: the lines that tests execute, in a table by crate.
//!
//! cargo-llvm-cov measures the coverage. It works with the stable compiler and needs `llvm-cov` and
//! `llvm-profdata` from the compiler's component `llvm-tools`. If that is not installed, the tools
//! of a system LLVM of the same major version are used, such as Debian's `llvm-22`. The counted
//! lines are those of `src`, including unit tests there. Doc tests run and do not count, since only
//! the nightly compiler can measure them, so the figures are on the low side.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::process::{Cargo, Verdict};
use crate::services::start::Services;
use crate::workspace::Workspace;
use crate::{test, tools};

/// Core, the kits, the policies, the codecs and the stores with their layers. The suites of the
/// kits are among their tests.
const DEFAULT: [&str; 20] = [
    "context-codec-anthropic",
    "context-codec-gemini",
    "context-codec-kit",
    "context-codec-openai",
    "context-codec-uimessage",
    "context-conformance",
    "context-core",
    "context-instructions",
    "context-policy-microcompact",
    "context-policy-snip",
    "context-policy-strip-images",
    "context-policy-summarize",
    "context-policy-truncate-head",
    "context-store-inmem",
    "context-store-kit",
    "context-store-layers",
    "context-store-object",
    "context-store-postgres",
    "context-store-redis",
    "context-store-sqlite",
];

/// The least share of lines that tests have to run in each crate, in percent.
const LEAST: f64 = 90.0;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The crates whose tests run, and which are in the table [default: core, kits, policies,
    /// codecs, stores]
    packages: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let default = DEFAULT.map(String::from);
    let packages = if args.packages.is_empty() { &default[..] } else { &args.packages };
    let names: Vec<_> = packages.iter().map(String::as_str).collect();
    let services = Services::start(&test::needs(workspace, &[], &names)?, false)?;
    let tool = tools::COVERAGE.cargo(workspace, workspace.root())?;
    if tool.args(["clean", "--workspace"]).run()? == Verdict::Failed {
        return Ok(Verdict::Failed);
    }
    let mut environment = test::environment(workspace, &services);
    environment.extend(llvm_tools()?.into_iter().map(|(name, path)| (name, path.into())));
    let mut given = vec!["--all-features".to_owned()];
    given.extend(packages.iter().flat_map(|name| ["-p".to_owned(), name.clone()]));
    let cargo = || -> Result<Cargo> {
        let cargo = tools::COVERAGE.cargo(workspace, workspace.root())?;
        Ok(cargo.args(["test", "--no-report"]).envs(&environment))
    };
    let mut report = test::TestReport::default();
    let passed =
        report.run(&cargo, (workspace, &given), &test::what_is_there(workspace, &services))?;
    print!("{report}");
    let figures = tools::COVERAGE
        .cargo(workspace, workspace.root())?
        .args(["report", "--json", "--summary-only"])
        .envs(&environment)
        .output()?;
    let figures = String::from_utf8(figures.stdout).context("the figures are no text")?;
    let (table, least) = table(workspace.root(), &names, &figures)?;
    print!("{table}");
    if least < LEAST {
        println!("a crate has less than {LEAST} % of its lines run by tests");
    }
    Ok(passed.and(Verdict::of(least >= LEAST)))
}

#[derive(Deserialize)]
struct Report {
    data: Vec<Data>,
}

#[derive(Deserialize)]
struct Data {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: PathBuf,
    summary: Summary,
}

#[derive(Deserialize)]
struct Summary {
    lines: Lines,
    regions: Lines,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Lines {
    count: u64,
    covered: u64,
}

impl Lines {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.covered += other.covered;
    }

    fn percent(self) -> f64 {
        100.0 * self.covered as f64 / self.count.max(1) as f64
    }
}

/// Returns the figures by crate, and their sum; and the least share of lines of a crate, in
/// percent. Files of other crates do not count, since their own tests did not run.
fn table(root: &Path, packages: &[&str], figures: &str) -> Result<(String, f64)> {
    let report: Report =
        serde_json::from_str(figures).context("the figures are not as expected")?;
    let mut crates: BTreeMap<String, (Lines, Lines)> = BTreeMap::new();
    for file in report.data.into_iter().flat_map(|data| data.files) {
        let Ok(path) = file.filename.strip_prefix(root) else { continue };
        let Some(name) = path.iter().next().and_then(|name| name.to_str()) else { continue };
        if packages.contains(&name) && path.iter().nth(1).is_some_and(|folder| folder == "src") {
            let (lines, regions) = crates.entry(name.to_owned()).or_default();
            lines.add(file.summary.lines);
            regions.add(file.summary.regions);
        }
    }
    ensure!(!crates.is_empty(), "no line of these crates was measured");
    let mut sum = (Lines::default(), Lines::default());
    let mut text = format!(
        "{:<32} {:>8} {:>8} {:>8} {:>9}\n",
        "crate", "lines", "run", "lines %", "regions %"
    );
    let mut row = |name: &str, (lines, regions): (Lines, Lines)| {
        text += &format!(
            "{name:<32} {:>8} {:>8} {:>8.1} {:>9.1}\n",
            lines.count,
            lines.covered,
            lines.percent(),
            regions.percent()
        );
    };
    for (name, figures) in &crates {
        sum.0.add(figures.0);
        sum.1.add(figures.1);
        row(name, *figures);
    }
    row("total", sum);
    let least = crates.values().map(|(lines, _)| lines.percent()).fold(100.0, f64::min);
    Ok((text, least))
}

/// Returns the programs of a system LLVM, if the compiler has none of its own and the environment
/// names none.
fn llvm_tools() -> Result<Vec<(&'static str, PathBuf)>> {
    const TOOLS: [(&str, &str); 2] = [("LLVM_COV", "llvm-cov"), ("LLVM_PROFDATA", "llvm-profdata")];
    let rustc = |args: &[&str]| -> Result<String> {
        let output = Command::new("rustc").args(args).output().context("rustc does not run")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let version = rustc(&["-vV"])?;
    let line = |key: &str| version.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let host = line("host:").context("rustc does not say its host")?;
    let own = Path::new(rustc(&["--print", "sysroot"])?.trim())
        .join("lib/rustlib")
        .join(host)
        .join("bin");
    if own.join("llvm-cov").is_file() || std::env::var_os(TOOLS[0].0).is_some() {
        return Ok(Vec::new());
    }
    let major = line("LLVM version:").and_then(|version| version.split('.').next());
    let major = major.context("rustc does not say its LLVM")?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let find = |(variable, program): (&'static str, &str)| {
        let name = format!("{program}-{major}");
        let found = std::env::split_paths(&path)
            .map(|folder| folder.join(&name))
            .find(|file| file.is_file());
        let how = "rustup component add llvm-tools, or install the system's LLVM of that version";
        found.map(|file| (variable, file)).with_context(|| format!("there is no {name}: {how}"))
    };
    TOOLS.into_iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::table;

    #[test]
    fn files_are_summed_by_crate_and_tests_and_others_left_out() {
        let file = |path: &str, count: u64, covered: u64| {
            let lines = format!(r#"{{"count":{count},"covered":{covered},"percent":0}}"#);
            format!(r#"{{"filename":"{path}","summary":{{"lines":{lines},"regions":{lines}}}}}"#)
        };
        let files = [
            file("/r/a/src/lib.rs", 10, 5),
            file("/r/a/src/x/y.rs", 10, 10),
            file("/r/a/tests/it/main.rs", 10, 0),
            file("/r/b/src/lib.rs", 20, 20),
            file("/r/c/src/lib.rs", 20, 0),
            file("/elsewhere/src/lib.rs", 20, 0),
        ];
        let figures = format!(r#"{{"data":[{{"files":[{}]}}],"type":"x"}}"#, files.join(","));
        let (text, least) = table(Path::new("/r"), &["a", "b"], &figures).unwrap();
        assert_eq!(least, 75.0);
        let rows: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["a", "20", "15", "75.0", "75.0"]);
        assert_eq!(rows[2], ["b", "20", "20", "100.0", "100.0"]);
        assert_eq!(rows[3], ["total", "40", "35", "87.5", "87.5"]);
        assert!(table(Path::new("/r"), &["none"], &figures).is_err());
    }
}
