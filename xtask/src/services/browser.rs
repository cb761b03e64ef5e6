//! The browser of tests, and the script that finds what people without eyes or mouse would miss.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::install::FORBID;

/// The variable in which tests find the browser.
pub(crate) const CHROMIUM: &str = "CONTEXT_TEST_CHROMIUM";
/// The variable in which tests find axe-core.
const AXE: &str = "CONTEXT_TEST_AXE";
const AXE_PACKAGE: &str = "axe-core@4.14.1";

/// The usual names of the program.
const NAMES: [&str; 4] =
    ["chromium", "chromium-browser", "google-chrome", "chromium-headless-shell"];

/// Returns the program of the browser: the one that the environment names, or one that is found.
pub(crate) fn program() -> Option<String> {
    let named = env::var(CHROMIUM).ok().filter(|name| !name.is_empty());
    named.into_iter().chain(NAMES.map(String::from)).find(|program| answers(program))
}

fn answers(program: &str) -> bool {
    let mut probe = Command::new(program);
    let probe = probe.arg("--version").stdin(Stdio::null());
    probe.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

/// Returns the variables for tests with this browser. axe-core is installed below the target
/// folder with npm, unless the environment names it or forbids that; it is never committed.
pub(crate) fn environment(program: &str, target: &Path) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![(CHROMIUM, program.into())];
    let named = env::var_os(AXE).filter(|path| !path.is_empty());
    let axe = named.or_else(|| axe(target).map(Into::into));
    variables.extend(axe.map(|path| (AXE, path)));
    variables
}

/// Returns the script, which is installed at most once in a run.
fn axe(target: &Path) -> Option<PathBuf> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let install = || {
        let folder = target.join("npm").join(AXE_PACKAGE);
        let script = folder.join("node_modules/axe-core/axe.min.js");
        let forbidden = env::var_os(FORBID).is_some_and(|value| !value.is_empty() && value != "0");
        if !script.is_file() && !forbidden {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts"])
                .args(["--loglevel", "error", "--fetch-retries", "0", "--prefix"])
                .arg(&folder)
                .arg(AXE_PACKAGE)
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            // Without npm or the network the test that needs the script says so.
            let _status = npm.status();
        }
        script.is_file().then_some(script)
    };
    FOUND.get_or_init(install).clone()
}
