//! `cargo xtask bench memory`: the quality of recall, compared with plain BM25, and its cost with
//! up to a million records.
//!
//! Quality is measured on external conversations: the memory scenarios of BFCL among the test data,
//! and, with `--locomo FOLDER`, dialogues in the format of LoCoMo. The dialogues of the tests of
//! `context-memory`, which were written for this project, are measured, too. Each dialogue and each
//! category of questions has a row. The baseline is BM25 over the same turns in the same run. No
//! network, no vectors.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod baseline;
mod bfcl;
mod dialogue;
mod locomo;
mod quality;
mod scale;

use std::path::{Path, PathBuf};

const HELP: &str = "\
Measures whether memories come back, and what a recall costs.

Usage: cargo xtask bench memory [--json] [--check] [--only PART] [--locomo FOLDER] [--records N] [--misses]

  --only PART      bfcl, written, locomo, scale; may be repeated
  --locomo FOLDER  dialogues in the form of LoCoMo: all JSON files of a folder
  --records N      the largest memory of `scale` (default 1,000,000)
  --misses         shows the questions whose answer is not the first, with what is
  --json           a JSON object per row instead of the table
  --check          exit with 1 when a target is missed

The scenarios of BFCL are read from CONTEXT_TEST_DATA, or ../shared.";

/// The parsed command line.
pub(crate) struct Options {
    json: bool,
    check: bool,
    only: Vec<String>,
    locomo: Option<PathBuf>,
    records: usize,
    misses: bool,
}

impl Options {
    fn read() -> Result<Self, String> {
        let (only, locomo) = (Vec::new(), None);
        let mut options =
            Self { json: false, check: false, only, locomo, records: 1_000_000, misses: false };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} takes a value"));
            match argument.as_str() {
                "--json" => options.json = true,
                "--check" => options.check = true,
                "--misses" => options.misses = true,
                "--only" => options.only.push(value()?),
                "--locomo" => options.locomo = Some(value()?.into()),
                "--records" => {
                    options.records =
                        value()?.parse().map_err(|_| "--records takes a number".to_owned())?;
                }
                // Added by cargo.
                "--bench" => {}
                "--help" | "-h" => {
                    println!("{HELP}");
                    std::process::exit(0);
                }
                other => return Err(format!("unknown argument {other:?}\n\n{HELP}")),
            }
        }
        Ok(options)
    }

    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }
}

fn main() {
    let options = Options::read().unwrap_or_else(|message| {
        println!("{message}");
        std::process::exit(2);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut missed = Vec::new();
    if options.wants("bfcl") {
        match bfcl::read() {
            Ok(dialogues) => {
                missed.extend(runtime.block_on(quality::measure(
                    "bfcl",
                    &dialogues,
                    &quality::BFCL,
                    &options,
                )));
            }
            Err(said) => println!("bfcl: left out, {said}"),
        }
    }
    if options.wants("written") {
        let folder =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../context-memory/tests/recall/dialogues");
        match locomo::read(Path::new(folder)) {
            Ok(dialogues) => {
                let measured = quality::measure("written", &dialogues, &quality::WRITTEN, &options);
                missed.extend(runtime.block_on(measured));
            }
            Err(said) => println!("written: left out, {said}"),
        }
    }
    if options.wants("locomo") {
        match options.locomo.as_deref().map(locomo::read) {
            Some(Ok(dialogues)) => {
                let measured = quality::measure("locomo", &dialogues, &quality::LOCOMO, &options);
                missed.extend(runtime.block_on(measured));
            }
            Some(Err(said)) => {
                println!("locomo: {said}");
                std::process::exit(2);
            }
            None => println!("locomo: left out, no --locomo FOLDER was given"),
        }
    }
    if options.wants("scale") {
        missed.extend(runtime.block_on(scale::measure(&options)));
    }
    if !missed.is_empty() {
        println!("\nmissed: {}", missed.join(", "));
        if options.check {
            std::process::exit(1);
        }
    }
}
