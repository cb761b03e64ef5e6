//! The checks of the adapters for other libraries, in a workspace of their own.

use super::{Run, Step, prepared};
use crate::process::Cargo;
use crate::suites::{self, Suite};

/// The folder of the workspace.
const FOLDER: &str = "integrations";

/// The checks, as those of the workspaces that are tested with ours. rig says that it needs a newer
/// compiler than ours, and builds with it.
const CHECKS: [(&str, &[&str]); 3] = [
    ("fmt", &["--all", "--check"]),
    (
        "clippy",
        &[
            "--workspace",
            "--all-targets",
            "--locked",
            "--ignore-rust-version",
            "--",
            "-D",
            "warnings",
        ],
    ),
    ("test", &["--workspace", "--locked", "--ignore-rust-version", "--no-fail-fast"]),
];

/// The suites of the libraries. That of rig is among the tests.
const SUITES: [(&str, Suite); 1] = [("adk", Suite::Adk)];

/// Returns the steps.
pub(super) fn steps(run: Run<'_>) -> Vec<Step<'_>> {
    let checks = CHECKS.iter().map(|(subcommand, args)| {
        let step = move || {
            let folder = run.workspace.root().join(FOLDER);
            let cargo = Cargo::building_into(run.workspace.target_folder(), &folder, subcommand);
            prepared(cargo.args(*args), run).run()
        };
        let name = format!("{subcommand} {} ({FOLDER})", args.join(" "));
        Step { name, run: Box::new(step) }
    });
    let suites = SUITES.iter().map(|(name, suite)| {
        let step = move || suites::run(run.workspace, &suites::Args::whole(*suite));
        Step { name: format!("suites {name}"), run: Box::new(step) }
    });
    checks.chain(suites).collect()
}
