//! `cargo xtask test`: everything, from a fresh clone.
//!
//! Needs nothing but cargo. Tests that need a server are to get its address through [`environment`], the one
//! place where a server would be started; there are none yet.

use anyhow::Result;

use crate::process::{Cargo, Verdict};
use crate::workspace::Workspace;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Handed to `cargo test`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    cargo_args: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let data = workspace.data_root();
    if !data.is_dir() {
        println!(
            "no test data in {}: tests that need it are skipped; name its folder in CONTEXT_TEST_DATA",
            data.display()
        );
    }
    let run = |cargo: Cargo| {
        let cargo = cargo.args(cargo_args(&args.cargo_args));
        environment(workspace).into_iter().fold(cargo, |cargo, (name, value)| cargo.env(name, value)).run()
    };
    let mut verdict = run(Cargo::new(workspace.root(), "test"))?;
    if !names_packages(&args.cargo_args) {
        for outside in workspace.outside()? {
            let cargo = Cargo::building_into(workspace.target_folder(), outside.root(), "test");
            verdict = verdict.and(run(cargo)?);
        }
    }
    Ok(verdict)
}

/// What tests find in their environment.
pub(crate) fn environment(workspace: &Workspace) -> Vec<(&'static str, std::ffi::OsString)> {
    vec![("CONTEXT_TEST_DATA", workspace.data_root().into())]
}

/// The arguments of `cargo test`: the whole workspace, unless packages are named. All failures are shown, not
/// only those of the first crate.
fn cargo_args(given: &[String]) -> Vec<String> {
    let scope: &[&str] = if names_packages(given) { &[] } else { &["--workspace", "--all-features"] };
    let fixed = ["--locked", "--no-fail-fast"].iter();
    fixed.chain(scope).map(ToString::to_string).chain(given.iter().cloned()).collect()
}

fn names_packages(given: &[String]) -> bool {
    let mut of_cargo = given.iter().take_while(|arg| *arg != "--");
    of_cargo.any(|arg| arg.starts_with("-p") || arg.starts_with("--package"))
}

#[cfg(test)]
mod tests {
    use super::cargo_args;

    #[track_caller]
    fn check(given: &str, expect: &str) {
        let given: Vec<_> = given.split_whitespace().map(String::from).collect();
        assert_eq!(cargo_args(&given).join(" "), expect);
    }

    #[test]
    fn named_packages_replace_the_whole_workspace() {
        check("", "--locked --no-fail-fast --workspace --all-features");
        check("-p context-core", "--locked --no-fail-fast -p context-core");
        check("-- -p", "--locked --no-fail-fast --workspace --all-features -- -p");
    }
}
