//! The command line. What a task does is in the task's own module.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::process::Verdict;
use crate::workspace::Workspace;
use crate::{
    bench, ci, conformance, coverage, fuzz, layers, mutants, semver, services, test, tidy, tools,
    torture, vectors,
};

/// The workspace's tasks.
///
/// On a fresh clone begin with `cargo xtask test`. Before you push, `cargo xtask ci` asks what the
/// build server asks. Exit status: 0 passed, 1 failed, 2 wrong usage.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Run every test of the workspace and of those beside it: unit, integration and doc tests
    ///
    /// Arguments are handed to `cargo test`, for example
    /// `cargo xtask test -p context-core -- chain`. Tests that need data from outside the
    /// repository look into the folder that CONTEXT_TEST_DATA names, else ../shared, and say so
    /// when it is absent.
    ///
    /// Crates that need PostgreSQL or Redis get one: at CONTEXT_TEST_POSTGRES_URL,
    /// CONTEXT_TEST_REDIS_URL and CONTEXT_TEST_REDIS_CLUSTER_URL if they are set, else started for
    /// this run. Root on Debian or Ubuntu installs what is missing, unless CONTEXT_NO_INSTALL is
    /// set; else those tests are skipped, or fail if CI is set.
    Test(test::Args),
    /// Run the conformance suites against every implementor and print one table
    ///
    /// A crate takes part by `[package.metadata.context-conformance] suite = "store"` and a test
    /// target named `conformance`, or those that it lists as `tests`. `needs` says which servers
    /// they need. A store crate without it is an error. Workspaces beside this one take part if
    /// `[workspace.metadata.context-conformance] outside` lists their folders; an author elsewhere
    /// gives `--manifest-path`.
    Conformance(conformance::Args),
    /// Replay recorded behaviour of another system, for example `vectors deepagents-render FILE`
    ///
    /// The last line stands alone: `N passed, N failed, N skipped`.
    Vectors(vectors::Args),
    /// Ask everything that is read from outside with what nobody should send, for example
    /// `fuzz anthropic --minutes 2`
    ///
    /// What takes plain bytes is driven by libFuzzer, which needs a compiler of C++ and no nightly
    /// compiler of Rust. The rest, and the renderers, are properties of the ordinary tests, with
    /// many more cases and new seeds in every round.
    Fuzz(fuzz::Args),
    /// Damage files, kill writers, fill disks and lie to the command: minutes, or hours with --long
    ///
    /// The last line stands alone: `N passed, N failed, N skipped`. A failure is printed with the
    /// seed that repeats it.
    Torture(torture::Args),
    /// Say what changed in the public API, and whether the version number says so
    Semver(semver::Args),
    /// Measure which lines the tests run, in a table by crate
    Coverage(coverage::Args),
    /// Change the sources in small ways and say which changes no test notices
    Mutants(mutants::Args),
    /// Install the programs that some checks need, in versions that are known to work, below the
    /// target folder
    Tools(tools::Args),
    /// Measure an area against a floor that does the same work with the bare library
    Bench(bench::Args),
    /// Start PostgreSQL, Redis and a Redis Cluster, print where they are, and keep them until
    /// Ctrl-C
    Services(services::Args),
    /// Check who may depend on whom, and what the pure crates may touch
    ///
    /// The rules are those of ARCHITECTURE.md; every broken one is listed.
    Layers,
    /// Check what a compiler does not: module docs, file sizes, leftovers, the README's tables
    Tidy,
    /// Everything the build server asks, one line per step
    Ci(ci::Args),
}

/// Runs the task that was asked for.
pub fn run(cli: Cli) -> Result<Verdict> {
    let workspace = Workspace::ours;
    match cli.task {
        Task::Test(args) => test::run(&workspace()?, &args),
        Task::Conformance(args) => conformance::run(&args, None),
        Task::Vectors(args) => vectors::run(&workspace()?, &args),
        Task::Fuzz(args) => fuzz::run(&workspace()?, &args),
        Task::Torture(args) => torture::run(&workspace()?, &args),
        Task::Semver(args) => semver::run(&workspace()?, &args),
        Task::Coverage(args) => coverage::run(&workspace()?, &args),
        Task::Mutants(args) => mutants::run(&workspace()?, &args),
        Task::Tools(args) => tools::run(&workspace()?, &args),
        Task::Bench(args) => bench::run(&workspace()?, &args),
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
