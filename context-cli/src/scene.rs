//! Test fixture: runs commands in this process on an in-memory store, with a deterministic clock
//! and ids. Behaviour that needs the executable is tested in `tests/cli`.

mod compacting;
mod curating;
mod drawing;
mod hostile;
mod keeping;
mod remembering;
mod removing;
mod run_pages;
mod searching;
mod spilling;
mod streaming;
mod tracing;
mod unreadable;

use std::io::{self, Write};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use context_runtime::{Clock, IdGenerator, Store, Timestamp};
use serde_json::Value;

use crate::app::{App, HostServices, Outcome};
use crate::cli::Cli;
use crate::config::Config;
use crate::error::Failure;
use crate::output::{Output, failure_text};
use crate::settings::Settings;

/// 2026-01-01, in microseconds.
const START: i64 = 1_767_225_600_000_000;
/// A day in microseconds.
pub(crate) const DAY: i64 = 86_400_000_000;

/// A clock that only advances on request.
#[derive(Clone, Debug)]
struct ManualClock(Arc<AtomicI64>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

#[derive(Debug, Default)]
struct CountingIds(AtomicU64);

impl IdGenerator for CountingIds {
    fn next_id(&self) -> String {
        format!("n{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A writer that keeps the text.
#[derive(Clone, Debug, Default)]
pub(crate) struct BufferWriter(Arc<Mutex<Vec<u8>>>);

impl Write for BufferWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics while writing").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BufferWriter {
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().expect("nobody panics while writing").clone())
            .expect("text")
    }
}

/// An in-memory store, and the commands that run on it.
pub(crate) struct Scene {
    pub(crate) store: Arc<dyn Store>,
    clock: ManualClock,
    host: HostServices,
    runtime: tokio::runtime::Runtime,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let store = runtime.block_on(context_runtime::open("mem:")).expect("a store in memory");
        Self::of(runtime, store)
    }

    /// Creates a scene on a layer over an in-memory store.
    pub(crate) fn over(layer: impl FnOnce(Arc<dyn Store>) -> Arc<dyn Store>) -> Self {
        let Self { store, runtime, .. } = Self::new();
        Self::of(runtime, layer(store))
    }

    fn of(runtime: tokio::runtime::Runtime, store: Arc<dyn Store>) -> Self {
        let clock = ManualClock(Arc::new(AtomicI64::new(START)));
        let host = HostServices::new(clock.clone(), CountingIds::default());
        Self { store, clock, host, runtime }
    }

    /// Creates a scene with a chat of these Chat Completions messages.
    pub(crate) fn with_chat(chat: &str, messages: &Value) -> Self {
        let scene = Self::new();
        scene.import(chat, messages);
        scene
    }

    pub(crate) fn import(&self, chat: &str, messages: &Value) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("chat.json");
        std::fs::write(&file, messages.to_string()).expect("the folder can be written to");
        let (result, _, beside) =
            self.run(&["import", "--chat", chat, &file.display().to_string()], false);
        assert!(result.is_ok(), "{beside}");
    }

    /// Advances the clock.
    pub(crate) fn pass(&self, micros: i64) {
        self.clock.0.fetch_add(micros, Ordering::Relaxed);
    }

    fn run(&self, args: &[&str], json: bool) -> (Result<Outcome, Failure>, String, String) {
        let cli = Cli::read(["context"].iter().chain(args)).expect("the command line is right");
        self.run_read(cli, json, |output| output)
    }

    /// Runs a parsed command line on the scene's store.
    fn run_read(
        &self,
        cli: Cli,
        json: bool,
        set: impl FnOnce(Output) -> Output,
    ) -> (Result<Outcome, Failure>, String, String) {
        let (out, beside) = (BufferWriter::default(), BufferWriter::default());
        let mut settings = Settings::new(cli.global.given(), Config::default());
        settings.json |= json;
        let output = Output::to(json, out.clone(), beside.clone()).with(settings.output());
        let store = Arc::clone(&self.store);
        let mut app = App::on(store, settings, set(output), self.host.clone());
        let done = self.runtime.block_on(cli.command.run(&mut app));
        let result = done.and_then(|done| app.out.finish().map(|()| done));
        app.out.flush().expect("paper does not run out");
        (result, out.text(), beside.text())
    }

    /// Runs command lines, split at spaces, and returns what a person would see.
    pub(crate) fn show(&self, lines: &[&str]) -> String {
        let mut shown = String::new();
        for line in lines {
            let args: Vec<_> = line.split_whitespace().collect();
            let (result, out, beside) = self.run(&args, false);
            shown += &format!("$ context {line}\n{out}{beside}");
            match result {
                Ok(Outcome::Success) => {}
                Ok(Outcome::Findings) => shown += "(exit status 1)\n",
                Err(failure) => shown += &format!("{}\n", failure_text(&failure)),
            }
            shown += "\n";
        }
        shown
    }

    /// Runs a command that must succeed and returns its records.
    #[track_caller]
    pub(crate) fn records(&self, line: &str) -> Vec<Value> {
        let args: Vec<_> = line.split_whitespace().collect();
        let (result, out, _) = self.run(&args, true);
        assert!(matches!(result, Ok(Outcome::Success)), "{line}: {:?}", result.err());
        out.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }
}
