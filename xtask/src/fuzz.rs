//! `cargo xtask fuzz`: the renderers' properties over random trees, again and again.
//!
//! The properties are those of the ordinary tests, which ask them of a few hundred trees. Here each round has new
//! seeds and many more trees, optimised, until the time is up. A finding ends the run: the test prints the smallest
//! tree that shows it, and leaves its seed in a file that the next ordinary run begins with. What the conformance kit asks begins at a seed
//! that is printed.
//!
//! It needs no nightly compiler and no instrumentation, so it finds what structure finds, not what coverage would.

use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};

use crate::process::{Cargo, Verdict};
use crate::workspace::{RENDERERS, Workspace, targets};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Which renderers, such as xml [default: all]
    formats: Vec<String>,
    /// How long for each renderer
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// How many trees each property is asked in a round
    #[arg(long, default_value_t = 5_000)]
    cases: u32,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let krate = workspace.krate(RENDERERS).with_context(|| format!("there is no crate {RENDERERS}"))?;
    let known: Vec<_> = krate.features.keys().filter(|name| *name != "default").collect();
    for format in &args.formats {
        let list = known.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
        ensure!(known.contains(&format), "nothing renders {format:?}; there are {list}");
    }
    ensure!(targets(krate, "test").contains("it"), "{RENDERERS} has no test program");
    let build = ["--release", "--locked", "-p", RENDERERS];
    let program = Cargo::new(workspace.root(), "test").args(build).test_program("it")?;
    // A new beginning each time; what matters is that it is printed.
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).context("a clock before 1970")?;
    let first = now.as_secs() << 20;
    for format in known {
        if !args.formats.is_empty() && !args.formats.contains(format) {
            continue;
        }
        let (start, time) = (Instant::now(), Duration::from_secs(60 * args.minutes));
        let mut rounds = 0_u64;
        while start.elapsed() < time {
            let seed = first.wrapping_add(rounds);
            let status = Command::new(&program)
                .arg(format!("{format}_properties::"))
                .args(["--quiet", "--nocapture"])
                .env("PROPTEST_CASES", args.cases.to_string())
                .env("CONTEXT_CONFORMANCE_SEED", format!("{seed:#x}"))
                .current_dir(krate.manifest_path.parent().context("a manifest lies in a folder")?)
                .stdout(std::process::Stdio::null())
                .status()
                .context("could not run the properties")?;
            rounds += 1;
            if !status.success() {
                println!(
                    "{format}: a finding in round {rounds}, seed {seed:#x}, after {} s",
                    start.elapsed().as_secs()
                );
                return Ok(Verdict::Failed);
            }
            println!(
                "{format}: round {rounds} of {} cases each, {} s",
                args.cases,
                start.elapsed().as_secs()
            );
        }
        println!("{format}: {rounds} rounds in {} s, no finding", start.elapsed().as_secs());
    }
    Ok(Verdict::Passed)
}
