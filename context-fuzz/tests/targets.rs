//! A short run of every target, with its seed documents, its corpus, and damaged documents. Each is
//! a separate test, so that one can run alone: `cargo test -p context-layer-fuzz --
//! damage::anthropic`.
//!
//! `PROPTEST_CASES` sets the number of damaged documents. If it is set, they differ in each run,
//! unless `PROPTEST_RNG_SEED` sets the seed.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use context_conformance::damage::damaged;
use context_fuzz::{FuzzTarget, TARGETS, target};
use libtest_mimic::{Arguments, Failed, Trial};
use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestError, TestRunner};

/// The number of damaged documents per target, unless the environment sets one.
const CASES: u32 = 128;

/// The most bytes of the corpus of a target.
const CORPUS: usize = 16 << 10;

fn main() -> ExitCode {
    let trials = TARGETS.iter().flat_map(|target| {
        let documents = Trial::test(format!("documents::{}", target.name), || documents(target));
        let corpus = Trial::test(format!("corpus::{}", target.name), || corpus(target));
        [documents, corpus, Trial::test(format!("damage::{}", target.name), || damage(target))]
    });
    let names = Trial::test("names_stand_once", names);
    libtest_mimic::run(&Arguments::from_args(), trials.chain([names]).collect()).exit_code()
}

fn names() -> Result<(), Failed> {
    for (number, named) in TARGETS.iter().enumerate() {
        assert_eq!(target(named.name).map(|target| target.name), Some(named.name));
        assert!(
            TARGETS[..number].iter().all(|other| other.name != named.name),
            "{} stands twice",
            named.name
        );
    }
    assert!(target("nothing").is_none());
    Ok(())
}

/// Checks that every target accepts its seed documents. Otherwise it would see nothing but damaged
/// ones.
fn documents(target: &FuzzTarget) -> Result<(), Failed> {
    let seeds = target.seeds();
    assert!(!seeds.is_empty(), "there are none");
    for (number, seed) in seeds.iter().enumerate() {
        assert!(target.check(seed), "document {number} is refused");
    }
    Ok(())
}

/// Checks a target with what the fuzzer found worth keeping.
fn corpus(target: &FuzzTarget) -> Result<(), Failed> {
    let inputs = target.corpus();
    let bytes: usize = inputs.iter().map(Vec::len).sum();
    assert!(bytes <= CORPUS, "{bytes} bytes; the corpus is kept small");
    for input in inputs {
        let _taken = target.check(&input);
    }
    Ok(())
}

/// Checks a target with damaged documents. Shows the smallest one that breaks a guarantee, in a
/// form that can be pasted into a test.
fn damage(target: &FuzzTarget) -> Result<(), Failed> {
    let default = Config { failure_persistence: None, ..Config::default() };
    let config = match std::env::var_os("PROPTEST_CASES") {
        Some(_) => default,
        None => Config { cases: CASES, rng_seed: RngSeed::Fixed(20_260_101), ..default },
    };
    let result = TestRunner::new(config).run(
        &damaged(target.seeds()).prop_map(DisplayBytes),
        |DisplayBytes(bytes)| {
            catch_unwind(AssertUnwindSafe(|| target.check(&bytes)))
                .map(|_taken| ())
                .map_err(|panic| TestCaseError::fail(said(&*panic)))
        },
    );
    match result {
        Ok(()) => Ok(()),
        Err(TestError::Fail(why, document)) => Err(format!("{why}\n{document:?}").into()),
        Err(TestError::Abort(why)) => Err(why.to_string().into()),
    }
}

fn said(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
}

/// Bytes, formatted as in Rust source.
struct DisplayBytes(Vec<u8>);

impl fmt::Debug for DisplayBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}
