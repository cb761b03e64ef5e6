//! A test program of power tests, which is also the process that is recorded.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use super::power_test::{CHILD, PowerSettings, PowerTest, check_power_loss};
use super::recorder::check_recorder;

/// Does the work of a recorded process if this process is one, and returns its exit code. To be
/// called first in a program with a `main` of its own.
pub fn run_child(tests: &[Arc<dyn PowerTest>]) -> Option<ExitCode> {
    let name = std::env::var(CHILD).ok()?;
    let test = tests.iter().find(|test| test.name() == name);
    let done = match test {
        Some(test) => {
            std::env::current_dir().map_err(Into::into).and_then(|folder| test.write(&folder))
        }
        None => Err(format!("no test is named {name}").into()),
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _nobody_reads = writeln!(std::io::stderr(), "{error:?}");
            ExitCode::FAILURE
        }
    })
}

/// Runs power tests as a test program, for a target with `harness = false`. Where processes cannot
/// be traced, the tests are ignored with the reason.
///
/// ```no_run
/// use std::fs::File;
/// use std::io::Write;
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use context_conformance::power::{self, DiskState, PowerOutcome, PowerTest, acknowledge};
///
/// struct Diary;
///
/// impl PowerTest for Diary {
///     fn name(&self) -> &str {
///         "diary"
///     }
///
///     fn write(&self, folder: &Path) -> PowerOutcome {
///         let mut file = File::create_new(folder.join("diary"))?;
///         File::open(folder)?.sync_all()?; // the name of the file
///         for day in 0..9 {
///             writeln!(file, "day {day}")?;
///             file.sync_data()?; // its content
///             acknowledge(&format!("day {day}"))?;
///         }
///         Ok(())
///     }
///
///     fn check(&self, state: &DiskState) -> PowerOutcome {
///         let text = std::fs::read_to_string(state.folder().join("diary")).unwrap_or_default();
///         let days: Vec<String> = text.lines().map(String::from).collect();
///         match days.starts_with(state.acknowledged()) {
///             true => Ok(()),
///             false => Err("an acknowledged day is missing".into()),
///         }
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     power::main([Arc::new(Diary) as _])
/// }
/// ```
pub fn main(tests: impl IntoIterator<Item = Arc<dyn PowerTest>>) -> ExitCode {
    let tests: Vec<_> = tests.into_iter().collect();
    if let Some(code) = run_child(&tests) {
        return code;
    }
    let trials = tests
        .into_iter()
        .map(|test| Trial::ignorable_test(test.name().to_owned(), move || run(&*test)));
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn run(test: &dyn PowerTest) -> Result<Completion, Failed> {
    if let Err(reason) = check_recorder() {
        return Ok(Completion::ignored_with(reason.to_string()));
    }
    let report = check_power_loss(test, &PowerSettings::from_env(test.states()))?;
    let (name, events, states) = (test.name(), report.events, report.states);
    writeln!(std::io::stdout(), "{name}: {states} states after {events} events")?;
    Ok(Completion::Completed)
}
