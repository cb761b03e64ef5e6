//! The program that libFuzzer drives, instrumented for branch coverage on the stable compiler.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::process::{Cargo, Verdict};
use crate::workspace::{FUZZ, Workspace};

const PROGRAM: &str = "libfuzzer";
/// The compiler flags that tell libFuzzer which branches were taken and which values were compared.
const FLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Clink-dead-code",
];
/// The time limit in seconds and the memory limit in MB of an input. Exceeding one is a finding.
const LONGEST: u32 = 10;
const LARGEST: u32 = 1024;
/// The maximum length of an input, in bytes. Inputs longer than the initial documents find little
/// more.
const LENGTH: u32 = 16 << 10;

/// The most bytes of an input of the corpus that is kept, and of all of them.
const KEPT_INPUT: usize = 512;
const KEPT: usize = 16 << 10;

/// The built program and the folder of its inputs.
pub(super) struct Driver {
    program: PathBuf,
    folder: PathBuf,
}

/// Builds the program. Returns `None` without a C++ compiler, and reports that.
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
    // An explicit target keeps the flags from build scripts and macros.
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
    /// Fuzzes a target for this time. Starts with its documents and with the corpus of the last
    /// run.
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

    /// Writes the corpus of a target into a file of the repository: the shortest inputs of the run
    /// that reach, together with the documents, all that was reached.
    pub(super) fn keep(&self, target: &str, file: &Path) -> Result<()> {
        let [seeds, corpus] = ["seeds", "corpus"].map(|kind| self.folder.join(kind).join(target));
        let kept = tempfile::tempdir_in(&self.folder)?;
        // The documents are merged first, so that what they reach asks for no input.
        for from in [&seeds, &corpus] {
            let output = Command::new(&self.program)
                .args(["-merge=1", "-verbosity=0"])
                .arg(format!("-max_len={KEPT_INPUT}"))
                .arg(kept.path())
                .arg(from)
                .env("CONTEXT_FUZZ_TARGET", target)
                .output()
                .context("could not run libFuzzer")?;
            ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let documents = read_all(&seeds)?;
        let mut inputs = read_all(kept.path())?;
        inputs.retain(|input| input.len() <= KEPT_INPUT && !documents.contains(input));
        inputs.sort_by(|one, other| (one.len(), one).cmp(&(other.len(), other)));
        let (mut text, mut bytes, mut count) = (String::new(), 0, 0);
        for input in inputs {
            bytes += input.len();
            if bytes > KEPT {
                break;
            }
            count += 1;
            text += &format!("{}\n", input.escape_ascii());
        }
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(file, text).with_context(|| format!("write {}", file.display()))?;
        println!("{target}: {count} inputs kept in {}", file.display());
        Ok(())
    }
}

/// Returns the contents of all files in a folder.
fn read_all(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let entries = std::fs::read_dir(folder)?;
    entries.map(|entry| Ok(std::fs::read(entry?.path())?)).collect()
}
