//! `cargo xtask mutants`: changes the sources in small ways, one at a time, and reports the changes
//! that no test notices.
//!
//! A missed change means a missing test, or a change without effect. `.cargo/mutants.toml` excludes
//! code and selects the tests to run.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process::Verdict;
use crate::tools;
use crate::workspace::Workspace;

/// The crates that make decisions, in which a wrong operator is most expensive.
const DEFAULT: [&str; 6] = [
    "context-core",
    "context-policy-microcompact",
    "context-policy-snip",
    "context-policy-strip-images",
    "context-policy-summarize",
    "context-policy-truncate-head",
];

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The crates to mutate [default: core and the policies]
    packages: Vec<String>,
    /// A part of the mutants of each crate, such as 0/8: every eighth of them
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
}

impl Args {
    /// Returns the arguments to try a part of the mutants of the default crates.
    pub(crate) fn part(shard: &str) -> Self {
        Self { packages: Vec::new(), shard: Some(shard.into()) }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let default = DEFAULT.map(String::from);
    let packages = if args.packages.is_empty() { &default[..] } else { &args.packages };
    let folder = workspace.target_folder().join("mutants");
    let mut rows = vec![format!(
        "{:<32} {:>7} {:>7} {:>7} {:>9} {:>9}",
        "crate", "mutants", "caught", "missed", "timeouts", "unviable"
    )];
    let mut verdict = Verdict::Passed;
    for package in packages {
        let out = folder.join(package);
        std::fs::create_dir_all(&out)?;
        let shard =
            args.shard.iter().flat_map(|shard| ["--shard", shard, "--sharding", "round-robin"]);
        let mutants = tools::MUTANTS
            .cargo(workspace, workspace.root())?
            .args(["--package", package, "--no-times", "--output"])
            .args([&out])
            .args(shard)
            .envs(&[("CONTEXT_TEST_DATA", workspace.data_root())])
            .env("INSTA_UPDATE", "no")
            // A separate target folder, so that the copied sources and the workspace do not
            // invalidate each other's builds, and the next crate finds its dependencies built.
            .env("CARGO_TARGET_DIR", folder.join("build"))
            // Each mutant is built once and thrown away.
            .env("CARGO_PROFILE_DEV_DEBUG", "0");
        verdict = verdict.and(mutants.run()?);
        rows.push(Outcomes::read(&out)?.row(package));
    }
    println!(
        "{}\nwhat was missed: {}",
        rows.join("\n"),
        folder.join("*/mutants.out/missed.txt").display()
    );
    Ok(verdict)
}

#[derive(Deserialize)]
struct Outcomes {
    total_mutants: u64,
    caught: u64,
    missed: u64,
    timeout: u64,
    unviable: u64,
}

impl Outcomes {
    fn read(out: &Path) -> Result<Self> {
        let path = out.join("mutants.out/outcomes.json");
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
        serde_json::from_str(&text).context("the outcomes are not as expected")
    }

    fn row(&self, package: &str) -> String {
        let Self { total_mutants, caught, missed, timeout, unviable } = self;
        format!(
            "{package:<32} {total_mutants:>7} {caught:>7} {missed:>7} {timeout:>9} {unviable:>9}"
        )
    }
}
