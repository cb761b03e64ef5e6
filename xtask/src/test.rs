//! `cargo xtask test`: all tests, from a fresh clone.
//!
//! The task needs only cargo. It starts the servers that tests need first, see
//! [`services`](crate::services). The standard harness of Rust decides at build time which tests
//! are ignored, so those in need of something are, and the task runs them in a second call if it is
//! there, see [`ignored`]. The last lines of the output list the rest, by reason.

mod ignored;
mod report;
mod tool;

use std::collections::BTreeSet;
use std::ffi::OsString;

use anyhow::Result;

pub(crate) use self::report::TestReport;
use crate::process::{Cargo, Verdict};
use crate::services::browser;
use crate::services::need::{self, Need};
use crate::services::start::Services;
use crate::workspace::{Workspace, crate_name};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Arguments for `cargo test`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    cargo_args: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let data = workspace.data_root();
    if !data.is_dir() {
        println!(
            "no test data in {}: tests that need it are ignored; name its folder in CONTEXT_TEST_DATA",
            data.display()
        );
    }
    let outside =
        if packages(&args.cargo_args).is_empty() { workspace.outside()? } else { Vec::new() };
    let services =
        Services::start(&needs(workspace, &outside, &packages(&args.cargo_args))?, false)?;
    if let Some(missing) = services.missing() {
        println!("{missing}");
    }
    let environment = environment(workspace, &services);
    let has = what_is_there(workspace, &services);
    let mut report = TestReport::default();
    let given = &args.cargo_args;
    let here = || Ok(Cargo::new(workspace.root(), "test").envs(&environment));
    let mut verdict = report.run(&here, (workspace, given), &has)?;
    for outside in &outside {
        let target = workspace.target_folder();
        let there = || Ok(Cargo::building_into(target, outside.root(), "test").envs(&environment));
        verdict = verdict.and(report.run(&there, (outside, given), &has)?);
    }
    if let Some(missing) = services.missing() {
        println!("{missing}");
    }
    print!("{report}");
    Ok(verdict)
}

/// Returns whether something that tests need is there, by the name that the reasons of ignored
/// tests have for it.
pub(crate) fn what_is_there<'a>(
    workspace: &'a Workspace,
    services: &'a Services,
) -> impl Fn(&str) -> bool + 'a {
    |thing| match thing {
        "test data" => workspace.data_root().is_dir(),
        thing => services.has(thing) || tool::is_there(thing),
    }
}

/// Returns the environment variables for tests.
pub(crate) fn environment(
    workspace: &Workspace,
    services: &Services,
) -> Vec<(&'static str, OsString)> {
    let data = ("CONTEXT_TEST_DATA", workspace.data_root().into());
    let servers = services.environment().into_iter().map(|(name, value)| (name, value.into()));
    let browser = services.browser().map(|it| browser::environment(it, workspace.target_folder()));
    std::iter::once(data).chain(servers).chain(browser.into_iter().flatten()).collect()
}

/// Returns the needs of the tests of the named packages, or of all packages if none is named.
pub(crate) fn needs(
    workspace: &Workspace,
    outside: &[Workspace],
    named: &[&str],
) -> Result<BTreeSet<Need>> {
    let crates = std::iter::once(workspace).chain(outside).flat_map(Workspace::crates);
    need::of_all(
        crates.filter(|krate| named.is_empty() || named.iter().any(|spec| is(spec, &krate.name))),
    )
}

/// Whether a package specification may mean a crate. A specification is a name, optionally with a
/// version. A pattern may mean any crate.
fn is(spec: &str, krate: &str) -> bool {
    let name = spec.split_once('@').map_or(spec, |(name, _)| name);
    crate_name(name) == krate || name.contains(['*', '?', '[', ':', '#'])
}

/// Returns the arguments of `cargo test`: the whole workspace, unless packages are named. All
/// failures are shown, not only those of the first crate.
pub(super) fn cargo_args(given: &[String]) -> Vec<String> {
    let named = !packages(given).is_empty();
    let scope: &[&str] = if named { &[] } else { &["--workspace", "--all-features"] };
    let fixed = ["--locked", "--no-fail-fast"].iter();
    fixed.chain(scope).map(ToString::to_string).chain(given.iter().cloned()).collect()
}

/// Returns the packages that arguments of cargo name: `-p NAME`, `-pNAME`, `--package NAME`,
/// `--package=NAME`.
fn packages(given: &[String]) -> Vec<&str> {
    let mut of_cargo = given.iter().take_while(|arg| *arg != "--").map(String::as_str);
    let mut found = Vec::new();
    while let Some(arg) = of_cargo.next() {
        match arg {
            // Cargo reports a flag without a value.
            "-p" | "--package" => found.push(of_cargo.next().unwrap_or_default()),
            _ => {
                let short =
                    arg.strip_prefix("-p").map(|name| name.strip_prefix('=').unwrap_or(name));
                found.extend(arg.strip_prefix("--package=").or(short));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{cargo_args, is, packages};

    fn words(given: &str) -> Vec<String> {
        given.split_whitespace().map(String::from).collect()
    }

    #[track_caller]
    fn check(given: &str, expect: &str) {
        assert_eq!(cargo_args(&words(given)).join(" "), expect);
    }

    #[test]
    fn named_packages_replace_the_whole_workspace() {
        check("", "--locked --no-fail-fast --workspace --all-features");
        check("-p context-core", "--locked --no-fail-fast -p context-core");
        check("-- -p", "--locked --no-fail-fast --workspace --all-features -- -p");
        check("--profile dev", "--locked --no-fail-fast --workspace --all-features --profile dev");
    }

    #[test]
    fn a_package_is_found_however_it_is_named() {
        let given = words("-p a --package b -pc --package=d --test x -- -p e");
        assert_eq!(packages(&given), ["a", "b", "c", "d"]);
        assert!(is("a", "a") && is("a@0.1", "a") && !is("a", "ab"));
        assert!(
            is("context-store-*", "context-store-x"),
            "a pattern may mean any, so what all need is there"
        );
    }
}
