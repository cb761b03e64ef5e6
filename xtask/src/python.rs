//! `cargo xtask python`: the wheel of `bindings/python`, built and tested in an environment of its
//! own.

pub(crate) mod environment;

use anyhow::Result;

use self::environment::{Environment, Python};
use crate::process::Verdict;
use crate::services::need::Need;
use crate::services::start::{Services, promised};
use crate::test;
use crate::workspace::Workspace;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Passed to pytest
    #[arg(last = true, value_name = "PYTEST_ARGS")]
    pytest: Vec<String>,
}

pub(crate) fn run(workspace: &Workspace, args: &Args) -> Result<Verdict> {
    let Some(python) = Python::find() else {
        println!("skipped: the Python package needs Python 3.10 or newer, and there is none");
        // Where nobody reads the line, a missing program is an error.
        return Ok(Verdict::of(!promised()));
    };
    let data = workspace.data_root();
    if !data.is_dir() {
        println!("no test data in {}: tests that need it are skipped", data.display());
    }
    let servers = [Need::Postgres, Need::Redis].into_iter().collect();
    let services = Services::start(&servers, false)?;
    if let Some(missing) = services.missing() {
        println!("{missing}");
    }
    let environment = Environment::at(&python, &workspace.target_folder().join("python"))?;
    environment.install_package(workspace, &["test"])?;
    let mut pytest = environment.python();
    pytest.current_dir(environment::package(workspace)).args(["-m", "pytest"]);
    pytest.args(["-p", "no:cacheprovider"]).args(&args.pytest);
    pytest.envs(test::environment(workspace, &services));
    environment::run(pytest)
}
