//! Replays recorded behaviour of another system: `vectors SUITE FILE`.
//!
//! Without arguments, as under a plain `cargo test`, every suite whose file is in the test data is
//! replayed. If there is none the program prints that. The last line stands alone:
//! `N passed, N failed, N skipped`. Each suite decides how its cases are judged. None of them has
//! rules for particular case ids.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

mod arguments;
mod datagallery;
mod encoding;
mod engine;
mod judge;
mod markdown;
mod misc;
mod peer;
mod pilotdeck;
#[allow(dead_code, reason = "the renderers' tests ask it for more")]
#[path = "../../../context-render/tests/it/plain.rs"]
mod plain;
mod render;
mod soundness;
mod toml_tree;
mod toon_tree;
mod xml;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use context_runtime::FragmentData;

use crate::arguments::{Arguments, Request};
use crate::judge::{BoxError, Judged, Report};

/// A suite: its name, which is also its file's, and its judge.
struct Suite {
    name: &'static str,
    judge: fn(&File<'_>) -> Result<Vec<Judged>, BoxError>,
}

const SUITES: [Suite; 5] = [
    Suite { name: "deepagents-render", judge: render::judge },
    Suite { name: "deepagents-engine", judge: engine::judge },
    Suite { name: "deepagents-misc", judge: misc::judge },
    Suite { name: "pilotdeck", judge: pilotdeck::judge },
    Suite { name: "datagallery", judge: datagallery::judge },
];

/// A file of recorded cases with its path, since suites look for companion files beside it.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl File<'_> {
    /// The cases, as trees whose maps keep their order.
    fn cases(&self) -> Result<Vec<FragmentData>, BoxError> {
        encoding::cases(self.text)
    }
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse(env::args().skip(1)) {
        Ok(arguments) => run(&arguments),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> Result<bool, BoxError> {
    match &arguments.request {
        Request::List { ignored: true } => Ok(true),
        Request::List { ignored: false } => {
            SUITES.iter().for_each(|suite| println!("{}: test", suite.name));
            Ok(true)
        }
        Request::File { suite, path } => {
            let suite = SUITES.iter().find(|known| known.name == suite).ok_or_else(|| {
                let known: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
                format!("no suite {suite:?}; known: {}", known.join(", "))
            })?;
            replay(suite, path, arguments.verbose)
        }
        Request::Known(filter) => {
            let root = data_root();
            let mut passed = true;
            for suite in SUITES.iter().filter(|suite| filter.picks(suite.name)) {
                let path = root.join("vectors").join(format!("{}.json", suite.name));
                if path.is_file() {
                    println!("{}", suite.name);
                    passed &= replay(suite, &path, arguments.verbose)?;
                } else {
                    println!("{}: {} is absent, nothing replayed", suite.name, path.display());
                }
            }
            Ok(passed)
        }
    }
}

fn replay(suite: &Suite, path: &Path, verbose: bool) -> Result<bool, BoxError> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let report = Report::new((suite.judge)(&File { path, text: &text })?);
    report.print(verbose);
    Ok(report.failed() == 0)
}

/// Returns the folder of test data: `CONTEXT_TEST_DATA`, else `shared` beside the workspace.
fn data_root() -> PathBuf {
    match env::var_os("CONTEXT_TEST_DATA").filter(|folder| !folder.is_empty()) {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"),
    }
}
