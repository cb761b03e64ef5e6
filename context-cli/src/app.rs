//! From the command line to an exit status: parse, run, report. The only place that ends the process's work.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use context_runtime::{CancelSignal, CancelSource, ChatRef, Clock, Store, SystemClock, Timestamp, UserId};

use crate::cli::{Cli, Global};
use crate::error::Failure;
use crate::output::{Output, report};

/// How a command ended when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// All is well.
    Fine,
    /// It found what it looks for and nobody wants: exit status 1.
    Found,
}

/// What every command works with.
pub(crate) struct App {
    pub(crate) user: UserId,
    pub(crate) out: Output,
    url: String,
}

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && std::env::args_os().any(|arg| arg == "--json") => {
            let text = error.to_string();
            let said = text.split("\n\n").next().unwrap_or_default();
            let failure = Failure::Usage(said.strip_prefix("error: ").unwrap_or(said).to_owned());
            report(&failure, true);
            return failure.exit_code();
        }
        Err(error) => {
            // Help and version go to standard output, where nobody may be listening any more.
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let Cli { global: Global { store, user, json }, command } = cli;
    let mut app = App { user: user.as_str().into(), out: Output::new(json), url: store };
    // A worker of its own, so that Ctrl-C is heard while the command computes or waits for input.
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Failure::Runtime)
        .and_then(|runtime| runtime.block_on(command.run(&mut app)))
        .and_then(|done| app.out.flush().map(|()| done));
    match result {
        Ok(Done::Fine) => ExitCode::SUCCESS,
        Ok(Done::Found) => ExitCode::FAILURE,
        // Whoever read the output has seen enough.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // What was written so far is true, so it goes first.
            let _ = app.out.flush();
            report(&failure, json);
            failure.exit_code()
        }
    }
}

impl App {
    /// The store, which must exist: looking for something does not make one.
    pub(crate) async fn store(&self) -> Result<Arc<dyn Store>, Failure> {
        if let Some(path) = file_of(&self.url)
            && !Path::new(path).exists()
        {
            return Err(Failure::NoStore { url: self.url.clone() });
        }
        self.store_or_new().await
    }

    /// The store, made if it does not exist.
    pub(crate) async fn store_or_new(&self) -> Result<Arc<dyn Store>, Failure> {
        Ok(context_runtime::open(&self.url).await?)
    }

    /// A chat of the user.
    pub(crate) fn chat(&self, chat: &str) -> ChatRef {
        ChatRef::new(self.user.clone(), chat)
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        SystemClock.now()
    }

    /// A signal that is raised by Ctrl-C, for work that asks between two steps; a second Ctrl-C ends the process.
    /// Everything else may be killed at any time, because what is written is written in whole commits.
    pub(crate) fn interrupt(&self) -> CancelSignal {
        let source = CancelSource::new();
        let signal = source.signal();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                source.cancel();
                let _ = writeln!(std::io::stderr(), "stopping; press Ctrl-C again to stop at once");
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                std::process::exit(130);
            }
        });
        signal
    }
}

/// The file a store URL names, if it names one.
fn file_of(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (!path.is_empty() && !path.starts_with(':')).then_some(path)
}
