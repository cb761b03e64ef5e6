//! The command line. Each task is implemented in its own module.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::process::Verdict;
use crate::workspace::Workspace;
use crate::{
    bench, ci, conformance, coverage, fuzz, layers, mutants, package, python, screenshots, semver,
    services, suites, test, tidy, tools, torture, vectors,
};

/// The tasks of the workspace
///
/// On a fresh clone, begin with `cargo xtask test`. Before you push, run `cargo xtask ci`: it runs
/// the checks of the build server. Exit status: 0 passed, 1 failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run all tests of the workspace and of the workspaces next to it: unit, integration and doc
    /// tests
    ///
    /// Arguments are passed to `cargo test`, for example
    /// `cargo xtask test -p context-core -- chain`. Tests that need data from outside the
    /// repository look in the folder that CONTEXT_TEST_DATA names, else in ../shared. They report a
    /// missing folder.
    ///
    /// Crates that need a browser get Chromium, at CONTEXT_TEST_CHROMIUM or by its usual names.
    /// Crates that need PostgreSQL or Redis get a server: the one at CONTEXT_TEST_POSTGRES_URL,
    /// CONTEXT_TEST_REDIS_URL and CONTEXT_TEST_REDIS_CLUSTER_URL if they are set, else one that is
    /// started for this run. Missing servers are installed if the user is root on Debian or Ubuntu,
    /// unless CONTEXT_NO_INSTALL is set. Otherwise those tests are skipped, or fail if CI is set.
    Test(test::Args),
    /// Run the conformance suites against every implementation and print one table
    ///
    /// A crate takes part if it has `[package.metadata.context-conformance] suite = "store"` and a
    /// test target named `conformance`, or those that it lists as `tests`. `needs` names the
    /// servers that they need. A store crate without this metadata is an error. Workspaces next to
    /// this one take part if `[workspace.metadata.context-conformance] outside` lists their
    /// folders. Authors of other repositories pass `--manifest-path`, or install the same as
    /// `context-conformance`, which needs no checkout: see docs/plugins.md.
    Conformance(conformance::Args),
    /// Replay recorded behaviour of another system, for example `vectors deepagents-render FILE`
    ///
    /// The last line of the output is `N passed, N failed, N skipped`.
    Vectors(vectors::Args),
    /// Build the wheel of bindings/python and run its tests, for example `python -- -k sessions`
    ///
    /// Arguments are passed to pytest. The environment is made below the target folder, from
    /// packages of PyPI. Without Python 3.10 or newer the task says so and passes.
    Python(python::Args),
    /// Run the tests of a library that the workspace stands in for, unchanged, against it, for
    /// example `suites rig`
    ///
    /// The suite comes from its registry. Servers are started as for `test`. The last line of the
    /// output is `N passed, N failed, N skipped`.
    Suites(suites::Args),
    /// Fuzz every parser of external input, for example `fuzz anthropic --minutes 2`
    ///
    /// libFuzzer drives the targets that take plain bytes. It needs a C++ compiler, but no nightly
    /// Rust compiler. The other targets, and the renderers, are properties of the ordinary tests,
    /// with many more cases and new seeds in every round.
    Fuzz(fuzz::Args),
    /// Damage files, kill writers, fill disks and feed the command bad input: minutes, or hours
    /// with --long
    ///
    /// The last line of the output is `N passed, N failed, N skipped`. A failure is printed with
    /// the seed that reproduces it.
    Torture(torture::Args),
    /// Pack every crate as a registry would get it, check what is inside, and build each from its
    /// packed form, without a network
    ///
    /// `package --no-build` checks the fields, the licences and the files only, in seconds. A crate
    /// with `publish = false` is left out. The archives are in target/package/package, and
    /// `tar -tzf` lists one.
    Package(package::Args),
    /// Report changes of the public API, and whether the version number reflects them
    Semver(semver::Args),
    /// Measure which lines the tests execute, in a table by crate
    Coverage(coverage::Args),
    /// Change the sources in small ways and report the changes that no test notices
    Mutants(mutants::Args),
    /// Install the programs that some checks need, in known good versions, below the target folder
    Tools(tools::Args),
    /// Measure an area against a baseline that does the same work with the bare library
    Bench(bench::Args),
    /// Take pictures of the inspector with demo chats into docs/inspector
    Screenshots(screenshots::Args),
    /// Start PostgreSQL, Redis and a Redis Cluster, print their addresses, and keep them running
    /// until Ctrl-C
    Services(services::Args),
    /// Check the dependencies between crates, and that the pure crates have no side effects
    ///
    /// The rules are those of ARCHITECTURE.md. Every violation is listed.
    Layers,
    /// Check what a compiler does not: module docs, file sizes, leftovers, the README's tables
    Tidy,
    /// Run all checks of the build server, one line per step
    Ci(ci::Args),
}

/// Runs the selected task.
pub fn run(cli: Cli) -> Result<Verdict> {
    let workspace = Workspace::ours;
    match cli.task {
        Task::Test(args) => test::run(&workspace()?, &args),
        Task::Conformance(args) => conformance::run(&args, None),
        Task::Vectors(args) => vectors::run(&workspace()?, &args),
        Task::Python(args) => python::run(&workspace()?, &args),
        Task::Suites(args) => suites::run(&workspace()?, &args),
        Task::Fuzz(args) => fuzz::run(&workspace()?, &args),
        Task::Torture(args) => torture::run(&workspace()?, &args),
        Task::Package(args) => package::run(&workspace()?, &args),
        Task::Semver(args) => semver::run(&workspace()?, &args),
        Task::Coverage(args) => coverage::run(&workspace()?, &args),
        Task::Mutants(args) => mutants::run(&workspace()?, &args),
        Task::Tools(args) => tools::run(&workspace()?, &args),
        Task::Bench(args) => bench::run(&workspace()?, &args),
        Task::Screenshots(args) => screenshots::run(&workspace()?, &args),
        Task::Services(args) => services::run(&args),
        Task::Layers => layers::run(&workspace()?),
        Task::Tidy => tidy::run(&workspace()?),
        Task::Ci(args) => ci::run(&workspace()?, &args),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
