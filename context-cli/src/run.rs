//! From the command line to an exit status: parse, run, report. The only place that determines the
//! exit status.

use std::ffi::OsString;
use std::future::poll_fn;
use std::io::Write;
use std::process::ExitCode;
use std::task::Poll;

use context_runtime::store::StoreRegistry;

use crate::app::{App, Outcome};
use crate::cli::{Cli, Command};
use crate::commands::schema;
use crate::completion;
use crate::config::Config;
use crate::error::Failure;
use crate::near_names;
use crate::output::{ColorWhen, Output, report, report_to};
use crate::settings::Settings;
use crate::text::clean_lines;

/// Runs the command of this process, which opens stores by this registry. A program that adds a
/// store of its own is `context` with that store:
///
/// ```no_run
/// use std::process::ExitCode;
/// # use std::sync::Arc;
///
/// use context_runtime::store::{OpenMode, StoreFactory, StoreRegistry};
/// # use context_runtime::{Result, Store};
/// # struct Ours;
/// # #[async_trait::async_trait]
/// # impl StoreFactory for Ours {
/// #     async fn open(&self, _url: &str, _mode: OpenMode) -> Result<Arc<dyn Store>> {
/// #         context_runtime::open("mem:").await
/// #     }
/// # }
///
/// fn main() -> ExitCode {
///     let mut stores = StoreRegistry::default();
///     stores.register("ours", Ours); // `--store ours:PLACE`
///     context_cli::main_with(stores)
/// }
/// ```
pub fn main_with(stores: StoreRegistry) -> ExitCode {
    if let Some(status) = completion::answer(&stores) {
        return status;
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    match Cli::read(&args) {
        Ok(cli) => {
            let mut color = cli.color();
            execute(cli, stores, Output::new, &mut |failure, settings| {
                color = settings.map_or(color, |settings| settings.color.0);
                let json = settings.map_or_else(|| wants_json(&args), |settings| settings.json);
                report(failure, json, color);
            })
        }
        Err(error) if error.use_stderr() && wants_json(&args) => {
            let failure = misused(&error);
            report(&failure, true, ColorWhen::Never);
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
/// standard output and standard error, without a pager and without colours unless they are asked
/// for. For programs that run many commands.
pub fn run_with(
    args: Vec<OsString>,
    mut out: impl Write + Send + 'static,
    mut beside: impl Write + Send + Clone + 'static,
) -> ExitCode {
    match Cli::read(&args) {
        Ok(cli) => {
            let notes = beside.clone();
            let output = |settings| Output::to(false, out, notes).with(settings);
            execute(cli, StoreRegistry::default(), output, &mut |failure, settings| {
                let json = settings.map_or_else(|| wants_json(&args), |settings| settings.json);
                report_to(&mut beside, failure, json);
            })
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
    args.iter().any(|arg| arg == "--json" || arg.as_encoded_bytes().starts_with(b"--json="))
}

/// Returns the problem of a command line in one line.
fn misused(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let message = text.split("\n\n").next().unwrap_or_default();
    Failure::Usage(message.strip_prefix("error: ").unwrap_or(message).to_owned())
}

/// Runs a command with the settings of its command line and of the configuration. Reports a failure
/// with the settings, if they could be read.
fn execute(
    cli: Cli,
    stores: StoreRegistry,
    output: impl FnOnce(crate::output::OutputSettings) -> Output,
    report: &mut dyn FnMut(&Failure, Option<&Settings>),
) -> ExitCode {
    let Cli { global, command, name, chat } = cli;
    let config = match Config::read() {
        Ok(config) => config,
        // It can be looked at and mended.
        Err(_) if command.works_without_settings() => Config::default(),
        Err(failure) => {
            report(&failure, None);
            return failure.exit_code();
        }
    };
    let settings = Settings::new(global.given(), config);
    let out = output(settings.output());
    let mut app = App::new(settings, stores, out);
    // A separate worker thread, so that Ctrl-C is handled while the command computes or waits for
    // input.
    let result = schema::check_fields(&name, &app.settings.fields)
        .and_then(|()| {
            let mut builder = tokio::runtime::Builder::new_multi_thread();
            builder.worker_threads(1).enable_all().build().map_err(Failure::Runtime)
        })
        .and_then(|runtime| runtime.block_on(run_and_close(command, chat.as_deref(), &mut app)))
        .and_then(|done| app.out.finish().and_then(|()| app.out.flush()).map(|()| done));
    match result {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::Findings) => ExitCode::FAILURE,
        // The reader closed the output on purpose.
        Err(failure) if failure.is_closed_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            // Output written so far is valid, so it is flushed first.
            let _ = app.out.flush();
            report(&failure, Some(&app.settings));
            failure.exit_code()
        }
    }
}

/// Runs a command, and closes the stores it opened however it ends.
async fn run_and_close(
    command: Command,
    chat: Option<&str>,
    app: &mut App,
) -> Result<Outcome, Failure> {
    let opened = app.opened();
    let (hearing, quiet) = (app.opened(), app.out.is_json());
    let mut hearing = Box::pin(async move { hearing.end_when_interrupted(quiet).await });
    // The first poll registers the Ctrl-C handler, before anything is opened.
    let asked = poll_fn(|context| Poll::Ready(hearing.as_mut().poll(context).is_pending()));
    if asked.await {
        tokio::spawn(hearing);
    }
    if command.is_read_at_leisure() {
        app.out.page();
    }
    let done = match command.run(app).await {
        Err(failure) => Err(near_names::of_failure(failure, app, chat).await),
        done => done,
    };
    let closed = opened.close().await;
    let done = done?;
    closed?;
    Ok(done)
}
