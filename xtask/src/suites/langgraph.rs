//! The conformance suite of LangGraph's checkpointers.

use anyhow::Result;

use super::python_suite::PythonSuite;
use super::{Outcome, Run};

/// The suite, and the system whose checkpoints it puts.
const PACKAGES: [&str; 2] = ["langgraph-checkpoint-conformance==0.0.2", "langgraph==1.2.24"];

pub(super) fn run(suite: &Run<'_>) -> Result<Outcome> {
    let prepared = PythonSuite::prepare(suite, "langgraph", &PACKAGES)?;
    let mut python = prepared.python();
    python.arg(prepared.program("langgraph_suite.py")).args(suite.tests);
    if let Some(path) = &suite.path {
        // The folder has another copy of `langgraph.checkpoint.conformance`.
        python.arg("--path").arg(path);
    }
    prepared.outcome(python)
}
