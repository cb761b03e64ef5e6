//! The S3 server of tests, Moto, in an environment of Python below the target folder.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use context_servers::{S3, ServerError};

use super::install::FORBID;

/// What is installed: of the server, only what S3 needs.
pub(crate) const PACKAGES: [&str; 3] = ["moto[s3]==5.2.5", "flask", "flask-cors"];

/// Returns the folder of the environment, next to the profile that this program was built in.
fn folder() -> Option<PathBuf> {
    let program = env::current_exe().ok()?;
    Some(program.ancestors().nth(2)?.join("moto"))
}

/// Returns the program: one that is found, or the one that was installed here.
pub(crate) fn program() -> Result<PathBuf, ServerError> {
    let own = folder().map(|folder| folder.join("bin/moto_server")).filter(|path| path.is_file());
    S3::program().or_else(|missing| own.ok_or(missing))
}

/// Installs the program without a request, unless it is there or that is forbidden. Without Python
/// or the network it is missing afterwards.
pub(crate) fn install_unasked() {
    let forbidden = env::var_os(FORBID).is_some_and(|value| !value.is_empty() && value != "0");
    if program().is_ok() || forbidden {
        return;
    }
    let Some(folder) = folder() else { return };
    eprintln!(
        "Moto is not installed; installing it in {} ({FORBID}=1 forbids that)",
        folder.display()
    );
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&folder);
    let mut pip = Command::new(folder.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PACKAGES);
    for mut command in [venv, pip] {
        command.stdin(Stdio::null()).stdout(Stdio::null());
        if !command.status().is_ok_and(|status| status.success()) {
            eprintln!("installing failed");
            return;
        }
    }
}
