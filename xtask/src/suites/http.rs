//! Clients for Python and TypeScript, generated from the description of the HTTP API.
//!
//! Each generator has to take the description as it is. A program of ours over each client then
//! goes through the whole interface, with the tokens of two users.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::install::{self, Npm};
use super::outcome::Outcome;
use super::served::Ours;
use super::{Run, clients};

/// The generator for Python, and the folder that it makes.
const PYTHON: [&str; 2] = ["openapi-python-client==0.29.1", "ruff"];
const PACKAGE: &str = "context_client";

/// The generator for TypeScript, what its types are for, and the compiler.
const TYPESCRIPT: [&str; 4] = [
    "openapi-typescript@7.13.0",
    "openapi-fetch@0.17.0",
    "typescript@5.9.3",
    "@types/node@22.19.0",
];

/// Our programs over the clients.
const PEERS: &str = "xtask/peers/http";
const USERS: [&str; 2] = ["ada", "bob"];

pub(super) fn run(run: &Run<'_>) -> Result<Outcome> {
    ensure!(run.path.is_none(), "the clients are generated from our description, and have no copy");
    let folder = run.folder.join("http");
    let npm = Npm::install(&folder, &TYPESCRIPT)?;
    let programs = install::python(&folder, &PYTHON)?;
    let peers = run.workspace.root().join(PEERS);
    let ours = Ours::build(run.workspace)?;
    fs::write(folder.join("openapi.json"), ours.output(&["serve", "--describe"])?)?;
    let mut outcome = Outcome::default();
    let mut test = |name: &str, command: &mut Command| step(run, &mut outcome, name, command);

    let mut generate = Command::new(programs.join("openapi-python-client"));
    generate
        .current_dir(&folder)
        .env("PATH", path_with(&programs)?)
        .args(["generate", "--path", "openapi.json", "--meta", "none", "--overwrite"])
        .args(["--output-path", PACKAGE, "--fail-on-warning", "--config"])
        .arg(peers.join("generator.yml"));
    let has_python = test("python_client::is_generated", &mut generate)?;

    // A program finds the packages that are above it.
    fs::copy(peers.join("client.mts"), folder.join("client.mts"))?;
    let mut generate = npm.node(&npm.file("openapi-typescript/bin/cli.js"));
    generate.args(["openapi.json", "--output", "api.d.ts"]);
    let mut check = npm.node(&npm.file("typescript/bin/tsc"));
    check.args(["--strict", "--noUncheckedIndexedAccess", "--module", "nodenext"]).args([
        "--target",
        "es2022",
        "--outDir",
        "program",
        "client.mts",
    ]);
    let has_typescript = test("typescript_client::is_generated", &mut generate)?
        && test("typescript_client::has_types", &mut check)?;

    let mut python = Command::new(programs.join("python"));
    python.arg(peers.join("client.py")).env("PYTHONPATH", &folder);
    let mut typescript = npm.node(Path::new("program/client.mjs"));
    for (client, is_there) in [(&mut python, has_python), (&mut typescript, has_typescript)] {
        if !is_there {
            continue;
        }
        // A store for each, so that the steps of one do not see those of the other.
        let ours = ours.with_new_store()?;
        let tokens = USERS.iter().map(|user| ours.new_token(user)).collect::<Result<Vec<_>>>()?;
        let served = ours.serve()?;
        client.arg(&served.url).args(tokens);
        outcome.append(clients::run(client, run.tests)?);
    }
    Ok(outcome)
}

/// Runs a program whose success is a test, and returns whether it had it. The programs after it
/// need what it makes, so it also runs where it is not asked for.
fn step(run: &Run<'_>, outcome: &mut Outcome, name: &str, command: &mut Command) -> Result<bool> {
    let status = command.stdin(Stdio::null()).status();
    let passed = status.with_context(|| format!("{name} could not be run"))?.success();
    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    match (passed, run.tests) {
        (true, Some(pattern)) if !name.contains(pattern) => {}
        (true, _) => outcome.passed += 1,
        (false, _) => outcome.failed.push(name.to_owned()),
    }
    Ok(passed)
}

/// Returns the search path with a folder before the others.
fn path_with(folder: &Path) -> Result<std::ffi::OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&path));
    std::env::join_paths(folders).context("a folder of the search path has a colon")
}
