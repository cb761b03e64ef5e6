//! Steps that are too slow for every day: many more cases, large data, faults, clients in other
//! languages, fuzzing, coverage, mutants, the public API.

use super::{LONG_CASES, Run, Step, cargo_step, needing, prepared};
use crate::process::Cargo;
use crate::suites::{self, Suite};
use crate::workspace::FACADE;
use crate::{coverage, fuzz, mutants, semver, tools, torture};

/// Tests that are ignored because they are large: the package, the test program, and a part of the
/// test names.
const LARGE: [(&str, &str, &str); 4] = [
    ("context-runtime", "it", "large"),
    ("context-cli", "cli", "large"),
    ("context-store-sqlite", "life", "scale"),
    ("xtask", "it", "outside"),
];
/// Tests with many more random cases in `--long`, or with output about an optional second checker:
/// the package, the test program, the module, and the number of cases per property.
const WIRE: [(&str, &str, &str, &str); 3] = [
    ("context-runtime", "it", "wire_properties", "10000"),
    ("context-runtime", "it", "recorded_chats", "1"),
    ("context-simulator", "wire", "differential", LONG_CASES),
];
/// The facade's test program of faults and contention, and the settings for `--long`.
const FAULTS: &str = "faults";
const LONG_FAULTS: [(&str, &str); 3] = [
    ("CONTEXT_FAULT_RUNS", "1000"),
    ("CONTEXT_FAULT_RESTARTS", "50"),
    ("CONTEXT_CONTENTION", "10000"),
];

/// The test programs that open the states of a disk after a loss of power, and the number of states
/// for each of their tests: more than 10,000 in all.
const POWER: [(&str, &str); 3] =
    [("context-store-sqlite", "800"), ("context-trajectory", "700"), ("context-cli", "200")];
/// The tests of checked histories beside the conformance suite: the package, the test program, and
/// a part of the test names. `LONG_PROOF` has the number for the suite.
const HISTORIES: [(&str, &str, &str); 4] = [
    ("context-store-postgres", "linear", ""),
    ("context-store-redis", "linear", ""),
    ("context-store-layers", "it", "linear"),
    ("context-conformance", "linear", ""),
];
const LONG_HISTORIES: [(&str, &str); 1] = [("CONTEXT_CONFORMANCE_HISTORIES", "1000")];
/// Stores that are damaged at many places and saved: the package, the test program, the module, and
/// the variable with the number of places.
const DAMAGED: [(&str, &str, &str, &str); 2] = [
    ("context-store-sqlite", "life", "salvage", "CONTEXT_SALVAGED_FILES"),
    ("context-runtime", "it", "repair", "CONTEXT_DAMAGED_VALUES"),
];
/// The number of places for each of these stores.
const PLACES: &str = "1000";

/// The suites of clients in other languages, which need npm, Python and a network.
const CLIENTS: [(&str, Suite); 2] = [("mcp", Suite::Mcp), ("http", Suite::Http)];

/// The minutes of fuzzing per parser and renderer. libFuzzer continues with the corpus of the last
/// run.
const FUZZ_MINUTES: u64 = 20;
/// The number of parts of the mutants of each crate, of which one is tried.
const PARTS: usize = 256;
/// The package of the simulated days.
const DAY_PACKAGE: &str = "context-layer-day";

/// Returns the slow steps, ordered by how likely they fail.
pub(super) fn steps<'a>(run: Run<'a>) -> Vec<Step<'a>> {
    let workspace = run.workspace;
    let mut steps = Vec::new();
    for (package, test, module) in LARGE {
        let which =
            ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
        let args = [&which[..], &["--", "--ignored", "--test-threads=1"]].concat();
        steps.push(cargo_step(run, workspace, "test", &args));
    }
    for (package, test, module, cases) in WIRE {
        steps.push(wire_step(run, [package, test, module], cases));
    }
    for (package, test, module, variable) in DAMAGED {
        steps.push(damaged_step(run, [package, test, module], variable));
    }
    if workspace.has_target(FACADE, "test", FAULTS) {
        steps.push(faults_step(run));
    }
    steps.extend(POWER.map(|(package, states)| power_step(run, package, states)));
    for test in HISTORIES {
        steps.push(histories_step(run, test));
    }
    for (name, suite) in CLIENTS {
        let step = move || suites::run(workspace, &suites::Args::whole(suite));
        steps.push(Step { name: format!("suites {name}"), run: Box::new(step) });
    }
    let ask = move || fuzz::run(workspace, &fuzz::Args::all(FUZZ_MINUTES));
    steps.push(Step { name: format!("fuzz, {FUZZ_MINUTES} minute each"), run: Box::new(ask) });
    let torment = move || torture::run(workspace, &torture::Args::hours(run.seed));
    steps.push(Step { name: "torture --long".to_owned(), run: Box::new(torment) });
    // The list of advisories is fetched, so every day is too often, and a machine without a way to
    // it fails here.
    steps.push(super::tool_step(run, tools::AUDIT, &[]));
    // A million steps take an unoptimised build too long.
    let day = ["--release", "--locked", "-p", DAY_PACKAGE, "--", "--long", "--seed", "1"];
    steps.push(cargo_step(run, workspace, "run", &day));
    // Without a tag there is no version to compare with. The check is then run by hand.
    if semver::has_tag(workspace) {
        let compare = move || semver::run(workspace, &semver::Args::default());
        steps.push(needing(run, tools::SEMVER, "semver", compare));
    }
    let measure = move || coverage::run(workspace, &coverage::Args::default());
    steps.push(needing(run, tools::COVERAGE, "coverage", measure));
    let mutate = move || mutants::run(workspace, &mutants::Args::one_part(0, PARTS));
    steps.push(needing(run, tools::MUTANTS, &format!("mutants, 1 part of {PARTS}"), mutate));
    steps
}

/// Returns a step that runs a module of a test program with this many cases and shows its output.
fn wire_step<'a>(run: Run<'a>, [package, test, module]: [&'a str; 3], cases: &'a str) -> Step<'a> {
    let args = ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
    let step = move || {
        let cargo = Cargo::new(run.workspace.root(), "test").args(args).args([
            "--",
            "--nocapture",
            "--include-ignored",
        ]);
        prepared(cargo, run).env("PROPTEST_CASES", cases).run()
    };
    Step { name: format!("test {package} {module}, {cases} cases"), run: Box::new(step) }
}

/// Returns a step that opens this many states of a disk for each test of a package.
fn power_step<'a>(run: Run<'a>, package: &'a str, states: &'a str) -> Step<'a> {
    let args = ["--release", "--locked", "--all-features", "-p", package, "--test", "power"];
    let step = move || {
        let cargo = Cargo::new(run.workspace.root(), "test").args(args);
        prepared(cargo, run).env("CONTEXT_POWER_STATES", states).run()
    };
    Step { name: format!("test {package} power, {states} states each"), run: Box::new(step) }
}

/// Returns a step that checks many histories for each disturbance, and shows the numbers.
fn histories_step<'a>(
    run: Run<'a>,
    (package, test, part): (&'a str, &'a str, &'a str),
) -> Step<'a> {
    let args = ["--release", "--locked", "--all-features", "-p", package, "--test", test, part];
    let step = move || {
        let cargo = Cargo::new(run.workspace.root(), "test").args(args).args(["--", "--nocapture"]);
        prepared(cargo, run).envs(&LONG_HISTORIES).run()
    };
    Step { name: format!("test {package} {test} {part}, 1000 histories"), run: Box::new(step) }
}

/// Returns a step that damages stores at many places, saves them, and shows how much was saved.
/// The servers are there, so the tests that need them run too.
fn damaged_step<'a>(
    run: Run<'a>,
    [package, test, module]: [&'a str; 3],
    variable: &'static str,
) -> Step<'a> {
    let args = ["--release", "--locked", "--all-features", "-p", package, "--test", test, module];
    let step = move || {
        let cargo = Cargo::new(run.workspace.root(), "test").args(args);
        let cargo = cargo.args(["--", "--include-ignored", "--nocapture"]);
        prepared(cargo, run).envs(&[(variable, PLACES)]).run()
    };
    Step { name: format!("test {package} {module}, {PLACES} places"), run: Box::new(step) }
}

/// Returns a step that injects every fault into every store, many times, and shows the table.
fn faults_step(run: Run<'_>) -> Step<'_> {
    let args = [
        "--release",
        "--locked",
        "--all-features",
        "-p",
        FACADE,
        "--test",
        FAULTS,
        "--",
        "--nocapture",
    ];
    let much: Vec<_> = LONG_FAULTS.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let step = move || {
        prepared(Cargo::new(run.workspace.root(), "test").args(args), run).envs(&LONG_FAULTS).run()
    };
    Step { name: format!("test {FACADE} {FAULTS}, {}", much.join(" ")), run: Box::new(step) }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::LARGE;
    use crate::source;

    /// A test that promises to run here names itself so that it does.
    #[test]
    fn what_is_left_to_the_long_mode_is_run_by_it() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut found = 0;
        for file in source::files(&root).expect("the sources can be read") {
            for rest in file.text.split("; cargo xtask ci --long runs it\"]").skip(1) {
                let name = rest.split("fn ").nth(1).and_then(|rest| rest.split('(').next());
                let name = format!("{}::{}", file.path, name.unwrap_or_default());
                let is_run = LARGE.iter().any(|(package, test, part)| {
                    name.strip_prefix(&format!("{package}/tests/{test}/"))
                        .is_some_and(|name| name.contains(part))
                });
                assert!(is_run, "{name}");
                found += 1;
            }
        }
        assert!(found > 5, "{found}");
    }
}
