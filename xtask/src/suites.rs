//! `cargo xtask suites NAME`: the tests of the systems that we stand in for, run against us.
//!
//! A suite is installed from its registry into `target/suites/NAME`, and is not changed: only the
//! implementation under test is exchanged. Each module below knows one suite; this one counts.

mod adk;
mod clients;
mod http;
mod install;
mod langgraph;
mod mcp;
mod openai_agents;
mod outcome;
mod python_suite;
mod rig;
mod rust_tests;
mod served;

use std::path::PathBuf;

use anyhow::Result;

use self::outcome::Outcome;
use crate::process::Verdict;
use crate::workspace::Workspace;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The suite
    #[arg(value_enum)]
    suite: Suite,
    /// A folder with another copy of the suite, which is used instead of the installed one
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
    /// Run only the tests whose names contain this text
    #[arg(long, value_name = "PATTERN")]
    tests: Option<String>,
}

impl Args {
    /// Runs the whole suite, as it is installed.
    pub(crate) fn whole(suite: Suite) -> Self {
        Self { suite, path: None, tests: None }
    }
}

/// The systems whose suites are run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Suite {
    /// The tests of adk-session that are about a session service
    Adk,
    /// LangGraph: conformance of checkpointers
    Langgraph,
    /// The OpenAI Agents SDK: tests of sessions
    OpenaiAgents,
    /// Clients that are generated from the description of the HTTP API
    Http,
    /// The scenarios of MCP's conformance suite for servers, and the SDKs as clients
    Mcp,
    /// The contract suite for session stores of rig-memory
    Rig,
}

/// A run of a suite: where it may put things, and what was asked for.
struct Run<'a> {
    workspace: &'a Workspace,
    /// The suite's own folder below the target folder.
    folder: PathBuf,
    path: Option<PathBuf>,
    tests: Option<&'a str>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let run = Run {
        workspace,
        folder: workspace.target_folder().join("suites"),
        path: args.path.as_deref().map(std::path::absolute).transpose()?,
        tests: args.tests.as_deref(),
    };
    let outcome: Outcome = match args.suite {
        Suite::Adk => adk::run(&run)?,
        Suite::Langgraph => langgraph::run(&run)?,
        Suite::OpenaiAgents => openai_agents::run(&run)?,
        Suite::Http => http::run(&run)?,
        Suite::Mcp => mcp::run(&run)?,
        Suite::Rig => rig::run(&run)?,
    };
    Ok(outcome.print())
}
