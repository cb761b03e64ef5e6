//! The checks of the adapters for other libraries and of the Python package, which are workspaces
//! of their own.

use super::{Run, Step, prepared};
use crate::process::Cargo;
use crate::python;
use crate::suites::{self, Suite};

/// The checks of each folder, as those of the workspaces that are tested with ours. rig says that
/// it needs a newer compiler than ours, and builds with it.
const CHECKS: [(&str, &str, &str); 5] = [
    ("integrations", "fmt", "--all --check"),
    (
        "integrations",
        "clippy",
        "--workspace --all-targets --locked --ignore-rust-version -- -D warnings",
    ),
    ("integrations", "test", "--workspace --locked --ignore-rust-version --no-fail-fast"),
    ("bindings/python", "fmt", "--all --check"),
    ("bindings/python", "clippy", "--all-targets --locked -- -D warnings"),
];

/// Returns the steps. The suite of rig is among the tests.
pub(super) fn steps(run: Run<'_>) -> Vec<Step<'_>> {
    let checks = CHECKS.iter().map(|(folder, subcommand, args)| {
        let step = move || {
            let place = run.workspace.root().join(folder);
            let cargo = Cargo::building_into(run.workspace.target_folder(), &place, subcommand);
            prepared(cargo.args(args.split(' ')), run).run()
        };
        Step { name: format!("{subcommand} {args} ({folder})"), run: Box::new(step) }
    });
    let adk = move || suites::run(run.workspace, &suites::Args::whole(Suite::Adk));
    let python = move || python::run(run.workspace, &python::Args::default());
    let others = [
        Step { name: "suites adk".into(), run: Box::new(adk) },
        Step { name: "python".into(), run: Box::new(python) },
    ];
    checks.chain(others).collect()
}
