//! From the command line to an exit status: parse, run, report. The only place that ends the process's work.

use std::io::Write as _;
use std::process::ExitCode;

use crate::app::{App, Done};
use crate::cli::{Cli, Command, Global};
use crate::error::Failure;
use crate::output::report;
use crate::text::clean_lines;

/// Runs the command that the process was started with.
pub fn run() -> ExitCode {
    let cli = match Cli::read(std::env::args_os()) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && std::env::args_os().any(|arg| arg == "--json") => {
            let text = error.to_string();
            let said = text.split("\n\n").next().unwrap_or_default();
            let failure = Failure::Usage(said.strip_prefix("error: ").unwrap_or(said).to_owned());
            report(&failure, true);
            return failure.exit_code();
        }
        Err(error) if error.use_stderr() => {
            // It repeats what was written on the command line.
            let _ = writeln!(std::io::stderr(), "{}", clean_lines(error.to_string().trim_end()));
            return ExitCode::from(2);
        }
        Err(error) => {
            // Help and version go to standard output, where nobody may be listening any more.
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    let Cli { global: Global { store, user, json }, command } = cli;
    let mut app = App::new(store, user, json);
    // A worker of its own, so that Ctrl-C is heard while the command computes or waits for input.
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Failure::Runtime)
        .and_then(|runtime| runtime.block_on(run_and_close(command, &mut app)))
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

/// Runs a command, and closes what it has opened, however it ends.
async fn run_and_close(command: Command, app: &mut App) -> Result<Done, Failure> {
    let opened = app.opened();
    let hearing = app.opened();
    tokio::spawn(async move { hearing.end_when_interrupted().await });
    let done = command.run(app).await;
    let closed = opened.close().await;
    let done = done?;
    closed?;
    Ok(done)
}
