//! Reads the output with the tools that the formats are for: Graphviz, the Python package `prov`,
//! the models of Harbor (or those that NVIDIA publishes), and the parser of Mermaid.
//!
//! `CONTEXT_TEST_PYTHON` names a Python with the packages. `CONTEXT_TEST_NODE_MODULES` names a
//! folder whose `node_modules` contains `mermaid` and `jsdom`. The tests are ignored
//! unless `cargo xtask test` finds the tool.

use std::path::{Path, PathBuf};
use std::process::Command;

use context_trajectory::SessionGraph;
use context_trajectory_export::{
    AtifOptions, DiagramOptions, write_atif, write_dot, write_mermaid, write_prov_json,
};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::scene::{session, sessions, written};

const RANDOM: usize = 60;

const PROV: &str = "
import sys, prov.model
for path in sys.argv[1:]:
    document = prov.model.ProvDocument.deserialize(path, format='json')
    assert list(document.get_records()), path
";

const HARBOR: &str = "
import sys, json
try:
    from harbor.models.trajectories.trajectory import Trajectory
except ImportError:
    from nat.atif.trajectory import Trajectory
for path in sys.argv[1:]:
    with open(path, encoding='utf-8') as file:
        Trajectory.model_validate(json.load(file))
";

const MERMAID: &str = "
import { JSDOM } from 'jsdom';
import fs from 'node:fs';
globalThis.window = new JSDOM('').window;
globalThis.document = window.document;
const { default: mermaid } = await import('mermaid');
for (const path of process.argv.filter((path) => path.endsWith('.mmd'))) {
  await mermaid.parse(fs.readFileSync(path, 'utf8'));
}
";

/// Writes the hand-made session and random ones to files.
fn files(folder: &Path, ending: &str, write: impl Fn(&SessionGraph) -> String) -> Vec<PathBuf> {
    let mut runner = TestRunner::deterministic();
    let random = (0..RANDOM).map(|_| sessions().new_tree(&mut runner).unwrap().current());
    let all = std::iter::once(session()).chain(random);
    let files = all.enumerate().map(|(number, graph)| {
        let path = folder.join(format!("{number}.{ending}"));
        std::fs::write(&path, write(&graph)).unwrap();
        path
    });
    files.collect()
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn python(script: &str) -> Command {
    let program = std::env::var("CONTEXT_TEST_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut command = Command::new(program);
    command.args(["-c", script]);
    command
}

#[test]
#[ignore = "needs Graphviz; `cargo xtask test` runs it"]
fn graphviz_draws_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let options = DiagramOptions::default();
    for file in files(folder.path(), "dot", |graph| written(|out| write_dot(graph, &options, out)))
    {
        run(Command::new("dot").arg("-Tsvg").arg("-o").arg(file.with_extension("svg")).arg(&file));
    }
}

#[test]
#[ignore = "needs prov for Python; `cargo xtask test` runs it"]
fn the_package_prov_reads_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    run(python(PROV)
        .args(files(folder.path(), "json", |graph| written(|out| write_prov_json(graph, out)))));
}

#[test]
#[ignore = "needs the models of Harbor; `cargo xtask test` runs it"]
fn the_models_of_harbor_accept_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let options = AtifOptions::new("tester", "1");
    let write = |graph: &SessionGraph| written(|out| write_atif(graph, &options, out));
    run(python(HARBOR).args(files(folder.path(), "json", write)));
}

#[test]
#[ignore = "needs Mermaid for Node; `cargo xtask test` runs it"]
fn mermaid_parses_what_was_written() {
    let modules = std::env::var("CONTEXT_TEST_NODE_MODULES").unwrap();
    let node = || {
        let mut command = Command::new("node");
        command.current_dir(&modules).args(["--input-type=module", "-e", MERMAID, "-"]);
        command
    };
    let folder = tempfile::tempdir().unwrap();
    let options = DiagramOptions::default();
    let write = |graph: &SessionGraph| written(|out| write_mermaid(graph, &options, out));
    run(node().args(files(folder.path(), "mmd", write)));
}
