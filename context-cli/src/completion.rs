//! Completion of command lines in a shell. The script of `context completions` makes the shell call
//! this command with the line as it was typed so far, and the command prints the candidates: names
//! of commands and options, and what the store on the line holds.

mod candidates;
mod line;
mod roles;
mod shells;
mod typed;

use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use clap::CommandFactory;
use clap_complete::env::{CompleteEnv, EnvCompleter, Shells};
use context_runtime::store::StoreRegistry;

use self::roles::attach;
use self::shells::{SHELLS, StoreShell};
use crate::cli::Cli;

/// The environment variable that names the shell that asks.
const VARIABLE: &str = "COMPLETE";
/// The name of the command in scripts.
const NAME: &str = "context";

/// Answers the shell, if the environment says that it asks. Nothing else may be done then.
pub(crate) fn answer(stores: &StoreRegistry) -> Option<ExitCode> {
    let typed = Arc::new(OnceLock::new());
    let shells = SHELLS.map(|shell| StoreShell { shell, stores, typed: Arc::clone(&typed) });
    let shells = shells.each_ref().map(|shell| shell as &dyn EnvCompleter);
    let environment = CompleteEnv::with_factory(|| attach(Cli::command(), "", &typed))
        .var(VARIABLE)
        .bin(NAME)
        .shells(Shells(&shells));
    let folder = std::env::current_dir().ok();
    match environment.try_complete(std::env::args_os(), folder.as_deref()) {
        Ok(answered) => answered.then_some(ExitCode::SUCCESS),
        // A line that cannot be completed is not an error that anybody wants to see below it.
        Err(_) if std::env::args_os().any(|arg| arg == "--") => Some(ExitCode::FAILURE),
        Err(error) => {
            let _ = error.print();
            Some(ExitCode::from(2))
        }
    }
}

/// Returns the script that makes a shell ask this command. `None` for an unknown shell.
pub(crate) fn script(shell: &str) -> Option<String> {
    let shell = SHELLS.into_iter().find(|known| known.is(shell))?;
    let stores = &StoreRegistry::default();
    let shell = StoreShell { shell, stores, typed: Arc::default() };
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, NAME, NAME, NAME, &mut script).ok()?;
    String::from_utf8(script).ok()
}
