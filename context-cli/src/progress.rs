//! Progress of long work: shown on standard error, on a terminal, and never with JSON.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::output::Output;
use crate::text::clean;

/// The interval at which a spinner turns.
const TICK: Duration = Duration::from_millis(120);

/// A progress display. Removed on drop.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// Shows work of unknown length.
    pub(crate) fn spinner(out: &Output, label: impl Into<Cow<'static, str>>) -> Self {
        let bar = ProgressBar::with_draw_target(None, target(out));
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed}");
        Self::show(bar, style.ok(), label)
    }

    /// Shows work of unknown length with a counter. Hidden if standard output is on the same
    /// terminal.
    pub(crate) fn counter(out: &Output, label: impl Into<Cow<'static, str>>) -> Self {
        let target = if std::io::stdout().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            target(out)
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {msg} {human_pos} messages {elapsed}");
        Self::show(bar, style.ok(), label)
    }

    /// Shows work with a known number of steps.
    pub(crate) fn bar(out: &Output, steps: usize, label: impl Into<Cow<'static, str>>) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps as u64), target(out));
        let style = ProgressStyle::with_template("{msg} {wide_bar} {human_pos}/{human_len} {eta}");
        Self::show(bar, style.ok(), label)
    }

    fn show(
        bar: ProgressBar,
        style: Option<ProgressStyle>,
        label: impl Into<Cow<'static, str>>,
    ) -> Self {
        if let Some(style) = style {
            bar.set_style(style);
        }
        bar.set_message(clean(&label.into()).into_owned());
        if !bar.is_hidden() {
            bar.enable_steady_tick(TICK);
        }
        Self(bar)
    }

    /// Adds completed steps.
    pub(crate) fn advance(&self, steps: usize) {
        self.0.inc(steps as u64);
    }

    /// Sets the number of completed steps.
    pub(crate) fn reach(&self, steps: u64) {
        self.0.set_position(steps);
    }

    /// Runs a function that may write while the display is suspended.
    pub(crate) fn pausing<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.suspend(work)
    }

    /// Ends the display.
    pub(crate) fn done(self) {}
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn target(out: &Output) -> ProgressDrawTarget {
    match !out.is_json() && std::io::stderr().is_terminal() {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    }
}
