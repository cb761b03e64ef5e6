//! `cargo xtask fuzz`: malformed input for everything that is read from outside, for minutes.
//!
//! There are two kinds of targets. Those of `context-fuzz` take plain bytes: libFuzzer drives them,
//! guided by coverage. The others need more than bytes and are properties of the ordinary tests.
//! They run in rounds, with new seeds and many more cases. A finding ends the run. A finding of
//! libFuzzer is saved in a file and should become a test. A property shows the smallest failing
//! case.
//!
//! libFuzzer uses one processor per target, so several targets run in parallel. Both kinds run on
//! the stable compiler. libFuzzer needs a C++ compiler. Without one, damaged documents are tried
//! instead.

mod libfuzzer;
mod property;

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::process::Verdict;
use crate::workspace::{FUZZ, Workspace};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The targets, such as anthropic or xml [default: all]
    targets: Vec<String>,
    /// Minutes per target
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    minutes: u64,
    /// The number of targets that libFuzzer drives in parallel [default: one per processor]
    #[arg(long)]
    jobs: Option<NonZero<usize>>,
    /// The number of cases per property and round
    #[arg(long, default_value_t = 5_000)]
    cases: u32,
    /// Damage documents instead of using libFuzzer, without measuring coverage
    #[arg(long)]
    without_libfuzzer: bool,
    /// Afterwards, write the inputs that reached new code into the corpus of the repository, the
    /// shortest ones
    #[arg(long, conflicts_with = "without_libfuzzer")]
    keep: bool,
    /// List the targets
    #[arg(long)]
    list: bool,
}

impl Args {
    /// Returns the arguments to run every target for this many minutes.
    pub(crate) fn all(minutes: u64) -> Self {
        Self {
            targets: Vec::new(),
            minutes,
            jobs: None,
            cases: 5_000,
            without_libfuzzer: false,
            keep: false,
            list: false,
        }
    }
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let parsers = property::parsers(workspace)?;
    let known: Vec<&str> = parsers
        .iter()
        .map(|target| &*target.name)
        .chain(property::TARGETS.iter().map(|t| t.name))
        .collect();
    if args.list {
        println!("{}", known.join("\n"));
        return Ok(Verdict::Passed);
    }
    for name in &args.targets {
        ensure!(
            known.contains(&name.as_str()),
            "there is no target {name:?}; there are {}",
            known.join(", ")
        );
    }
    let wanted =
        |name: &str| args.targets.is_empty() || args.targets.iter().any(|given| given == name);
    let time = Duration::from_secs(60 * args.minutes);
    let parsers: Vec<_> = parsers.into_iter().filter(|parser| wanted(&parser.name)).collect();
    let with_libfuzzer = !parsers.is_empty() && !args.without_libfuzzer;
    let verdict = match if with_libfuzzer { libfuzzer::build(workspace)? } else { None } {
        Some(driver) => {
            let jobs =
                args.jobs.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZero::get);
            let corpus = workspace.root().join(FUZZ).join("corpus");
            beside_each_other(&parsers, jobs, |parser| {
                let verdict = driver.run(&parser.name, time)?;
                if args.keep && verdict == Verdict::Passed {
                    driver.keep(&parser.name, &corpus.join(&*parser.name).with_extension("txt"))?;
                }
                Ok(verdict)
            })?
        }
        None => beside_each_other(&parsers, 1, |parser| parser.rounds(time, args.cases))?,
    };
    if verdict == Verdict::Failed {
        return Ok(verdict);
    }
    for target in property::TARGETS.iter().filter(|target| wanted(target.name)) {
        if target.program(workspace)?.rounds(time, args.cases)? == Verdict::Failed {
            return Ok(Verdict::Failed);
        }
    }
    Ok(Verdict::Passed)
}

/// Runs up to `jobs` targets at a time. Starts no further target after a finding.
fn beside_each_other<T: Sync>(
    targets: &[T],
    jobs: usize,
    run: impl Fn(&T) -> Result<Verdict> + Sync,
) -> Result<Verdict> {
    // The remaining targets in reverse order, and the result so far.
    let state = Mutex::new((targets.iter().rev().collect::<Vec<_>>(), Ok(Verdict::Passed)));
    let locked = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let next = || {
        let (left, found) = &mut *locked();
        if matches!(found, Ok(Verdict::Passed)) { left.pop() } else { None }
    };
    thread::scope(|scope| {
        for _ in 0..jobs.min(targets.len()) {
            scope.spawn(|| {
                while let Some(target) = next() {
                    let outcome = run(target);
                    if !matches!(outcome, Ok(Verdict::Passed)) {
                        locked().1 = outcome;
                    }
                }
            });
        }
    });
    state.into_inner().unwrap_or_else(PoisonError::into_inner).1
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use anyhow::bail;

    use super::{Verdict, beside_each_other};

    #[test]
    fn each_target_runs_once_and_none_begins_after_a_finding() {
        for jobs in [1, 3] {
            let ran = Mutex::new(Vec::new());
            let verdict = beside_each_other(&[1, 2, 3, 4, 5], jobs, |target| {
                ran.lock().unwrap().push(*target);
                Ok(Verdict::Passed)
            });
            let mut ran = ran.into_inner().unwrap();
            ran.sort_unstable();
            assert_eq!((verdict.unwrap(), ran), (Verdict::Passed, vec![1, 2, 3, 4, 5]));
        }
        let ran = Mutex::new(0);
        let count = || *ran.lock().unwrap() += 1;
        let found = beside_each_other(&[1, 2, 3], 1, |target| {
            count();
            Ok(Verdict::of(*target != 2))
        });
        assert_eq!((found.unwrap(), *ran.lock().unwrap()), (Verdict::Failed, 2));
        let failed = beside_each_other(&[1, 2], 1, |_| {
            count();
            bail!("it does not run")
        });
        assert!(failed.is_err() && *ran.lock().unwrap() == 3);
    }
}
