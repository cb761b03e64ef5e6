//! From the command line to an exit status: parse, run, report. The only place that determines the
//! exit status.

use std::ffi::OsString;
use std::future::poll_fn;
use std::io::Write;
use std::process::ExitCode;
use std::task::Poll;

use crate::app::{App, Outcome};
use crate::cli::{Cli, Command, Global};
use crate::error::Failure;
use crate::output::{Output, report, report_to};
use crate::text::clean_lines;

/// Runs the command of this process.
pub fn run() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    match Cli::read(&args) {
        Ok(cli) => {
            let out = Output::new(cli.global.json);
            execute(cli, out, &mut |failure, json| report(failure, json))
        }
        Err(error) if error.use_stderr() && wants_json(&args) => {
            let failure = misused(&error);
            report(&failure, true);
            failure.exit_code()
        }
        Err(error) if error.use_stderr() => {
            // The error quotes the command line.
            let _ = writeln!(std::io::stderr(), "{}", clean_lines(error.to_string().trim_end()));
            ExitCode::from(2)
        }
        Err(error) => {
            // Help and version go to standard output, which may be closed.
            let _ = error.print();
            ExitCode::SUCCESS
        }
    }
}

/// Runs a command line, starting with the program name, and writes to the given outputs instead of
/// standard output and standard error, without colours. For programs that run many commands.
pub fn run_with(
    args: Vec<OsString>,
    mut out: impl Write + Send + 'static,
    mut beside: impl Write + Send + Clone + 'static,
) -> ExitCode {
    match Cli::read(&args) {
        Ok(cli) => {
            let output = Output::to(cli.global.json, out, beside.clone());
            execute(cli, output, &mut |failure, json| report_to(&mut beside, failure, json))
        }
        Err(error) if error.use_stderr() => {
            let failure = misused(&error);
            report_to(&mut beside, &failure, wants_json(&args));
            failure.exit_code()
        }
        Err(error) => {
            // The output may be closed.
            let _ = write!(out, "{}", error.render());
            ExitCode::SUCCESS
        }
    }
}

fn wants_json(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--json")
}

/// Returns the problem of a command line in one line.
fn misused(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or_default();
    Failure::Usage(message.strip_prefix("error: ").unwrap_or(message).to_owned())
}

fn execute(cli: Cli, out: Output, report: &mut dyn FnMut(&Failure, bool)) -> ExitCode {
    let Cli { global: Global { store, user, json }, command } = cli;
    let mut app = App::new(store, user, out);
    // A separate worker thread, so that Ctrl-C is handled while the command computes or waits for
    // input.
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(Failure::Runtime)
        .and_then(|runtime| runtime.block_on(run_and_close(command, &mut app)))
        .and_then(|done| app.out.flush().map(|()| done));
    match result {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::FAILURE,
        // The reader closed the output on purpose.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Output written so far is valid, so it is flushed first.
            let _ = app.out.flush();
            report(&failure, json);
            failure.exit_code()
        }
    }
}

/// Runs a command, and closes the stores it opened however it ends.
async fn run_and_close(command: Command, app: &mut App) -> Result<Outcome, Failure> {
    let opened = app.opened();
    let (hearing, quiet) = (app.opened(), app.out.is_json());
    let mut hearing = Box::pin(async move { hearing.end_when_interrupted(quiet).await });
    // The first poll registers the Ctrl-C handler, before anything is opened.
    let asked = poll_fn(|context| Poll::Ready(hearing.as_mut().poll(context).is_pending()));
    if asked.await {
        tokio::spawn(hearing);
    }
    let done = command.run(app).await;
    let closed = opened.close().await;
    let done = done?;
    closed?;
    Ok(done)
}
