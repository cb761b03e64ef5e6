//! The section "Install" of the README: its commands are run as they stand there, except for those
//! that build.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::Bench;

/// The beginnings of the lines that build something. The first is run by the build of the container
/// (`container`), the second is that of `bindings/python/README.md`.
const BUILDS: [&str; 4] = [
    "cargo install --path context-cli ",
    "pip install ./bindings/python",
    "docker build ",
    "docker run ",
];

/// Returns the commands of the section.
fn commands() -> Vec<String> {
    let readme = include_str!("../../../README.md");
    let section = readme.split("\n## Install\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

#[test]
fn the_commands_of_the_readme_install_the_manual_and_completions() {
    let bench = Bench::new();
    let program = Path::new(env!("CARGO_BIN_EXE_context")).parent().unwrap();
    let folders = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
    let path = env::join_paths([program.to_owned()].into_iter().chain(folders)).unwrap();
    let mut ran = 0;
    for command in commands() {
        if BUILDS.iter().any(|build| command.starts_with(build)) {
            continue;
        }
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("HOME", bench.path()).env("PATH", &path);
        let output = shell.current_dir(bench.path()).output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{command}: {output:?}");
        ran += 1;
    }
    assert_eq!(ran, 3, "two commands of ours and a folder");
    let share = bench.path().join(".local/share");
    let page = fs::read_to_string(share.join("man/man1/context.1")).unwrap();
    assert!(page.contains("Inspects and changes a store"));
    let script = share.join("bash-completion/completions/context");
    assert!(fs::read_to_string(script).unwrap().contains("COMPLETE=bash"));
}

#[test]
fn the_python_package_is_installed_as_its_own_page_says() {
    let page = include_str!("../../../bindings/python/README.md");
    let line = commands().into_iter().find(|line| line.starts_with("pip ")).unwrap();
    assert!(page.lines().any(|shown| shown == line));
}
