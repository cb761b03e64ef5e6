//! The program that libFuzzer drives: built with counters for every branch, on the stable compiler.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process::{Cargo, Verdict};
use crate::workspace::{FUZZ, Workspace};

const PROGRAM: &str = "libfuzzer";
/// What libFuzzer needs to see which branches were taken, and which values were compared.
const FLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Clink-dead-code",
];
/// An input that takes longer, or makes the process larger, is a finding: in seconds and MB.
const LONGEST: u32 = 10;
const LARGEST: u32 = 1024;
/// The longest input, in bytes. What is longer than the documents that it begins with shows little
/// more.
const LENGTH: u32 = 16 << 10;

/// The built program and where its inputs lie.
pub(super) struct Driver {
    program: PathBuf,
    folder: PathBuf,
}

/// Builds it. Nothing where there is no compiler of C++, which it is said.
pub(super) fn build(workspace: &Workspace) -> Result<Option<Driver>> {
    let compiler = env::var("CXX").unwrap_or_else(|_| "c++".into());
    let there = Command::new(&compiler)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !there.is_ok_and(|status| status.success()) {
        println!(
            "there is no {compiler}, a compiler of C++: documents are damaged without libFuzzer"
        );
        return Ok(None);
    }
    let folder = workspace.target_folder().join("fuzz");
    let seeds = Cargo::new(workspace.root(), "run")
        .args(["--quiet", "--release", "--locked", "-p", FUZZ, "--bin", PROGRAM, "--"])
        .args([folder.join("seeds")]);
    ensure!(seeds.run()? == Verdict::Passed, "the documents to begin with cannot be written");
    let host = host()?;
    let flags = FLAGS.join("\u{1f}");
    // A target is named so that build scripts and macros are built without the flags.
    let build = Cargo::building_into(&folder, workspace.root(), "build")
        .args(["--locked", "-p", FUZZ, "--bin", PROGRAM, "--profile", "fuzz", "--target", &host])
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env("CARGO_INCREMENTAL", "0");
    ensure!(build.run()? == Verdict::Passed, "the program for libFuzzer does not build");
    let program = folder.join(host).join("fuzz").join(PROGRAM);
    Ok(Some(Driver { program, folder }))
}

fn host() -> Result<String> {
    let output = Command::new("rustc")
        .args(["--print", "host-tuple"])
        .output()
        .context("rustc does not run")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

impl Driver {
    /// Asks a target for so long, beginning with its documents and with what reached something new
    /// the last time.
    pub(super) fn run(&self, target: &str, time: Duration) -> Result<Verdict> {
        let [seeds, corpus, found] =
            ["seeds", "corpus", "found"].map(|kind| self.folder.join(kind).join(target));
        for folder in [&corpus, &found] {
            std::fs::create_dir_all(folder)?;
        }
        let start = Instant::now();
        let output = Command::new(&self.program)
            .args([&corpus, &seeds])
            .arg(format!("-max_total_time={}", time.as_secs()))
            .arg(format!("-timeout={LONGEST}"))
            .arg(format!("-rss_limit_mb={LARGEST}"))
            .arg(format!("-max_len={LENGTH}"))
            .arg(format!("-artifact_prefix={}{}", found.display(), std::path::MAIN_SEPARATOR))
            .args(["-print_final_stats=1", "-verbosity=0"])
            .env("CONTEXT_FUZZ_TARGET", target)
            .output()
            .context("could not run libFuzzer")?;
        let said = String::from_utf8_lossy(&output.stderr);
        let seconds = start.elapsed().as_secs();
        if !output.status.success() {
            print!("{said}");
            println!("{target}: a finding after {seconds} s, in {}", found.display());
            return Ok(Verdict::Failed);
        }
        let runs =
            said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
        println!("{target}: {} inputs in {seconds} s, no finding", runs.map_or("?", str::trim));
        Ok(Verdict::Passed)
    }
}
