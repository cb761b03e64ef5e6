//! The conformance suite of the Model Context Protocol, and its SDKs as clients.
//!
//! The suite's scenarios for servers run one by one against `/mcp` of a service. The SDKs for
//! Python and TypeScript then use the same chats, over HTTP and over standard input and output.

mod judge;

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use self::judge::{Declared, Judged, judge};
use super::install::{self, Npm};
use super::outcome::Outcome;
use super::served::{Ours, Served};
use super::{Run, clients};

/// The conformance suite, and the file of it that runs.
const SUITE: &str = "@modelcontextprotocol/conformance@0.1.16";
const PROGRAM: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// The SDKs.
const TYPESCRIPT: &str = "@modelcontextprotocol/sdk@1.32.2";
const PYTHON: &str = "mcp==2.3.0";

/// Our programs over the SDKs.
const PEERS: &str = "xtask/peers/mcp";

/// The conversation that clients find.
const CHAT: &str = "examples/data/notes-agent.json";

pub(super) fn run(run: &Run<'_>) -> Result<Outcome> {
    let folder = run.folder.join("mcp");
    let npm = Npm::install(&folder, &[SUITE, TYPESCRIPT])?;
    let programs = install::python(&folder, &[PYTHON])?;
    let root = run.workspace.root();
    let ours = Ours::build(run.workspace)?;
    let chat = root.join(CHAT);
    ours.output(&["import", chat.to_str().context("the path of the workspace is no text")?])?;
    let served = ours.serve()?;
    let declared = Declared::ask(ours.command(["mcp"]))?;

    let mut outcome = scenarios(run, &npm, &served, &declared)?;
    // A program finds the packages that are above it.
    let script = folder.join("client.mjs");
    fs::copy(root.join(PEERS).join("client.mjs"), &script)?;
    let mut python = Command::new(programs.join("python"));
    python.arg(root.join(PEERS).join("client.py"));
    for client in [&mut python, &mut npm.node(&script)] {
        client.arg(&served.url).args(ours.words()).arg("mcp");
        let clients = clients::run(client, run.tests)?;
        outcome.append(clients);
    }
    Ok(outcome)
}

/// Runs the suite's scenarios for servers.
fn scenarios(run: &Run<'_>, npm: &Npm, served: &Served, declared: &Declared) -> Result<Outcome> {
    let program = match &run.path {
        Some(path) => path.join("node_modules").join(PROGRAM),
        None => npm.file(PROGRAM),
    };
    ensure!(program.exists(), "there is no {}", program.display());
    let call = |args: &[&str]| said(npm.node(&program).args(args));
    let list = call(&["list", "--server"])?;
    let names: Vec<_> = list.lines().filter_map(|line| line.trim().strip_prefix("- ")).collect();
    ensure!(!names.is_empty(), "the suite lists no scenario: {list}");
    let url = format!("{}/mcp", served.url);
    let mut outcome = Outcome::default();
    for name in names.iter().filter_map(|line| line.split_whitespace().next()) {
        if run.tests.is_some_and(|pattern| !name.contains(pattern)) {
            continue;
        }
        let text = call(&["server", "--url", &url, "--scenario", name])?;
        match judge(&text, declared) {
            Judged::Passed => {
                println!("test {name} ... ok");
                outcome.passed += 1;
            }
            Judged::Failed => {
                println!("{text}\ntest {name} ... FAILED");
                outcome.failed.push(name.to_owned());
            }
            Judged::Skipped(reason) => outcome.skipped.push((name.to_owned(), reason)),
        }
    }
    Ok(outcome)
}

/// Returns what a program wrote, without colours. Its exit status says no more than that.
fn said(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("Node.js could not be run")?;
    let text = [output.stdout, output.stderr].concat();
    Ok(plain(&String::from_utf8_lossy(&text)))
}

/// Returns a text without the sequences that colour it.
fn plain(text: &str) -> String {
    let mut pieces = text.split("\u{1b}[");
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn colours_are_left_out() {
        assert_eq!(plain("\u{1b}[32mPassed\u{1b}[0m: 1/1"), "Passed: 1/1");
    }
}
