//! A check that the crates which need no operating system compile for `wasm32-unknown-unknown`.
//!
//! They are core, the renderers, the wire codecs, the policies, the token counter, the store in
//! memory and what these share. No test runs there, because that needs an engine.

use std::env;
use std::process::Command;

use super::{Run, Step, cargo_step};
use crate::process::Verdict;
use crate::workspace::Workspace;

const TARGET: &str = "wasm32-unknown-unknown";
/// The crates, and the beginnings of the names of families.
const CRATES: [&str; 6] = [
    "context-codec-",
    "context-core",
    "context-policy-",
    "context-render",
    "context-store-inmem",
    "context-tokens",
];

/// Returns the step. Without the target it passes, and its name says that nothing was checked.
pub(super) fn step<'a>(run: Run<'a>) -> Step<'a> {
    if !run.with_tools && !is_installed() {
        let name = format!("passed over: {TARGET}: install it with `rustup target add {TARGET}`");
        return Step { name, run: Box::new(|| Ok(Verdict::Passed)) };
    }
    let crates = crates(run.workspace);
    let packages = crates.iter().flat_map(|name| ["-p", name]);
    let args: Vec<&str> = ["--locked", "--target", TARGET].into_iter().chain(packages).collect();
    let step = cargo_step(run, run.workspace, "check", &args);
    Step { name: format!("check {TARGET}, {} crates", crates.len()), ..step }
}

/// Returns the names of the crates.
fn crates(workspace: &Workspace) -> Vec<String> {
    let is_one = |name: &str| {
        CRATES.iter().any(|one| name == *one || one.ends_with('-') && name.starts_with(one))
    };
    let names = workspace.crates().into_iter().map(|krate| krate.name.to_string());
    names.filter(|name| is_one(name)).collect()
}

/// Whether the compiler has the standard library of the target.
fn is_installed() -> bool {
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let folder =
        Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output();
    folder.is_ok_and(|folder| {
        let path = String::from_utf8_lossy(&folder.stdout);
        folder.status.success() && std::path::Path::new(path.trim()).is_dir()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crates_that_need_no_operating_system_are_named() {
        let crates = crates(&Workspace::ours().expect("the workspace"));
        for name in ["context-core", "context-codec-anthropic", "context-policy-snip"] {
            assert!(crates.iter().any(|krate| krate == name), "{name} of {crates:?}");
        }
        assert!(!crates.contains(&"context-store-sqlite".to_owned()));
    }
}
