//! The session tests of the OpenAI Agents SDK, from its source distribution.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::python_suite::PythonSuite;
use super::{Outcome, Run};
use crate::process::Verdict;
use crate::python::environment::run as run_program;

/// The version of the SDK.
const VERSION: &str = "0.24.0";

/// The test files: those of sessions that say what every session does.
const FILES: [&str; 3] = [
    "tests/memory/test_session.py",
    "tests/memory/test_session_limit.py",
    "tests/extensions/memory/test_async_sqlite_session.py",
];

pub(super) fn run(suite: &Run<'_>) -> Result<Outcome> {
    let sdk = format!("openai-agents=={VERSION}");
    // What the tests import besides the SDK.
    let packages =
        [sdk.as_str(), "pytest==9.2.0", "pytest-asyncio==1.5.0", "inline-snapshot", "aiosqlite"];
    let prepared = PythonSuite::prepare(suite, "openai-agents", &packages)?;
    let sources = match &suite.path {
        Some(path) => path.clone(),
        None => sources(&prepared)?,
    };
    let mut pytest = prepared.python();
    pytest.current_dir(&sources).args(["-m", "pytest", "-q", "--no-header"]);
    pytest.args(["-p", "no:cacheprovider", "-p", "pytest_report", "-p", "openai_agents"]);
    pytest.args(suite.tests.map(|tests| format!("-k={tests}"))).args(FILES);
    prepared.outcome(pytest)
}

/// Downloads and unpacks the source distribution, which has the tests.
fn sources(suite: &PythonSuite) -> Result<PathBuf> {
    let unpacked = suite.folder.join(format!("openai_agents-{VERSION}"));
    if unpacked.join(FILES[0]).is_file() {
        return Ok(unpacked);
    }
    let mut pip = suite.environment.python();
    pip.args(["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]);
    pip.args(["--no-binary", ":all:", "--dest"]).arg(&suite.folder);
    pip.arg(format!("openai-agents=={VERSION}"));
    let downloaded = run_program(pip)? == Verdict::Passed;
    ensure!(downloaded, "pip could not download the sources: is there a network?");
    let archive = suite.folder.join(format!("openai_agents-{VERSION}.tar.gz"));
    unpack(suite, &archive)?;
    fs::remove_file(&archive).context("the archive of the sources stays")?;
    Ok(unpacked)
}

fn unpack(suite: &PythonSuite, archive: &Path) -> Result<()> {
    const PROGRAM: &str =
        "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter='data')";
    let mut python = suite.environment.python();
    python.args(["-c", PROGRAM]).arg(archive).arg(&suite.folder);
    ensure!(run_program(python)? == Verdict::Passed, "the sources could not be unpacked");
    Ok(())
}
