//! Progress of long work on standard error, and never with JSON: a line that is redrawn on a
//! terminal, and now and then a line in a log. Work that is done soon shows nothing.

mod line;

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use context_runtime::CancelSignal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use self::line::Work;
use crate::output::Output;
use crate::text::clean;

/// The time after which work is shown on a terminal, so that nothing flashes.
const APPEARS: Duration = Duration::from_millis(500);
/// The interval at which the line on a terminal is redrawn.
const TICK: Duration = Duration::from_millis(100);
/// The time before the first line in a log. The time between two lines doubles from there.
const FIRST_LINE: Duration = Duration::from_secs(10);
/// The longest time between two lines in a log.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The number of positions of the bar.
const POSITIONS: u64 = 1000;

/// Whether a progress display exists. Work within other work is a part of it and not shown itself.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
/// The bar that is drawn on the terminal.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Writes to the terminal while no progress is drawn there.
pub(crate) fn aside<T>(write: impl FnOnce() -> T) -> T {
    let bar = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Returns whether progress is drawn on the terminal.
pub(crate) fn is_drawn() -> bool {
    DRAWN.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// Removes the progress from the terminal, because the process ends.
pub(crate) fn clear() {
    if let Some(bar) = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).take() {
        bar.finish_and_clear();
    }
}

/// The place where progress is shown.
enum Display {
    Terminal,
    /// A log, with the time before its first line.
    Log(Box<dyn Write + Send>, Duration),
}

impl Display {
    fn of(out: &Output) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match (out.shows_progress(), io::stderr().is_terminal() && !is_dumb) {
            (false, _) => None,
            (true, true) => Some(Self::Terminal),
            (true, false) => Some(Self::Log(Box::new(io::stderr()), FIRST_LINE)),
        }
    }
}

/// The work, shared with the thread that shows it.
struct Shared {
    work: Mutex<Work>,
    ended: Condvar,
}

impl Shared {
    fn work(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The progress of a command: one phase after the other. Removed on drop.
pub(crate) struct Progress {
    shared: Arc<Shared>,
    /// The thread that shows the progress, if it is shown.
    shown: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts with a phase, such as `reading`.
    pub(crate) fn new(out: &Output, phase: impl AsRef<str>) -> Self {
        let display = Display::of(out).filter(|_| !IS_TAKEN.swap(true, Ordering::SeqCst));
        Self::on(display, phase.as_ref())
    }

    /// Starts with a phase and is not shown.
    #[cfg(test)]
    pub(crate) fn unseen(phase: &str) -> Self {
        Self::on(None, phase)
    }

    /// Returns the line that would be shown after a time.
    #[cfg(test)]
    pub(crate) fn text_after(&self, time: Duration) -> String {
        let work = self.shared.work();
        work.text(work.begun + time)
    }

    fn on(display: Option<Display>, phase: &str) -> Self {
        let work = Mutex::new(Work::new(clean(phase).into_owned(), Instant::now()));
        let shared = Arc::new(Shared { work, ended: Condvar::new() });
        let shown = display.and_then(|display| {
            let shared = Arc::clone(&shared);
            // Without a thread, nothing is shown.
            let builder = std::thread::Builder::new().name("progress".to_owned());
            builder.spawn(move || show(&shared, display)).ok()
        });
        Self { shared, shown }
    }

    /// Returns whether somebody may see the progress, so that a total is worth a look.
    pub(crate) fn is_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Starts the next phase, without a number of steps.
    pub(crate) fn phase(&self, phase: impl AsRef<str>) {
        self.shared.work().begin(clean(phase.as_ref()).into_owned(), Instant::now());
    }

    /// Says what is done now within the phase. Its steps and its time go on.
    pub(crate) fn now(&self, activity: &str) {
        self.shared.work().phase = clean(activity).into_owned();
    }

    /// Sets the kind of the steps of the phase, a noun in the singular, and their number if it is
    /// known.
    pub(crate) fn steps(&self, noun: &'static str, total: impl Into<Option<usize>>) {
        let total = total.into().map(|total| total as u64);
        self.shared.work().steps(noun, total);
    }

    /// Sets the number of steps of a kind that the work reports later.
    pub(crate) fn expect(&self, noun: &'static str, total: usize) {
        self.shared.work().expected = Some((noun, total as u64));
    }

    /// Adds completed steps.
    pub(crate) fn advance(&self, steps: usize) {
        self.shared.work().done += steps as u64;
    }

    /// Sets the number of completed steps.
    pub(crate) fn reach(&self, steps: u64) {
        self.shared.work().done = steps;
    }

    /// Sets the number of completed items that consist of steps, such as files with messages.
    pub(crate) fn items(&self, noun: &'static str, done: usize, total: usize) {
        self.shared.work().items = Some((noun, done as u64, total as u64));
    }

    /// Sets the completed part of the phase, from 0 to 1, if the number of steps does not tell it.
    pub(crate) fn part(&self, part: f64) {
        self.shared.work().part = Some(part);
    }

    /// Returns a signal whose reports are shown, after `before` steps of other work.
    pub(crate) fn signal(&self, signal: CancelSignal, before: u64) -> CancelSignal {
        let shared = Arc::clone(&self.shared);
        signal.reporting(move |noun, done| {
            shared.work().reported(noun, before + done, Instant::now());
        })
    }

    /// Returns a signal whose reports set the completed part of the phase.
    pub(crate) fn part_signal(
        &self,
        signal: CancelSignal,
        part: impl Fn(u64) -> Option<f64> + Send + Sync + 'static,
    ) -> CancelSignal {
        let shared = Arc::clone(&self.shared);
        signal.reporting(move |_, done| shared.work().part = part(done))
    }

    /// Ends the display. Returns the elapsed time, as `in 12 s`, if progress was shown for work of
    /// a second or more. Otherwise, the output of a command is the same in each run.
    pub(crate) fn done(self) -> Option<String> {
        let (was_shown, begun) = {
            let work = self.shared.work();
            (work.was_shown, work.begun)
        };
        drop(self);
        let elapsed = begun.elapsed();
        let is_long = was_shown && elapsed >= Duration::from_secs(1);
        is_long.then(|| format!("in {}", line::duration(elapsed)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        let Some(shown) = self.shown.take() else { return };
        self.shared.work().has_ended = true;
        self.shared.ended.notify_all();
        // If the thread panicked, nothing is shown either.
        let _ = shown.join();
        IS_TAKEN.store(false, Ordering::SeqCst);
    }
}

/// Shows the work until it ends.
fn show(shared: &Shared, display: Display) {
    match display {
        Display::Terminal => draw(shared),
        Display::Log(log, first) => log_lines(shared, log, first),
    }
}

/// Waits, unless the work ends before. Returns the work if it goes on.
fn wait(shared: &Shared, time: Duration) -> Option<MutexGuard<'_, Work>> {
    let going_on = |work: &mut Work| !work.has_ended;
    let waited = shared.ended.wait_timeout_while(shared.work(), time, going_on);
    let (mut work, _) = waited.unwrap_or_else(PoisonError::into_inner);
    (!work.has_ended).then(|| {
        work.was_shown = true;
        work
    })
}

fn draw(shared: &Shared) {
    // Hidden until there is something to show.
    let bar = ProgressBar::with_draw_target(Some(POSITIONS), ProgressDrawTarget::hidden());
    let with_bar = ProgressStyle::with_template("{spinner} [{bar:12}] {wide_msg}");
    let without = ProgressStyle::with_template("{spinner} {wide_msg}");
    let (Ok(with_bar), Ok(without)) = (with_bar, without) else { return };
    let with_bar = with_bar.progress_chars("=> ");
    let mut pause = APPEARS;
    while let Some(work) = wait(shared, pause) {
        let now = Instant::now();
        let (text, part) = (work.text(now), work.completed());
        drop(work);
        // Truncated on purpose: the bar is full at the end only.
        let position = part.map(|part| (part * POSITIONS as f64) as u64);
        bar.set_style(if position.is_some() { with_bar.clone() } else { without.clone() });
        bar.set_message(text);
        bar.set_position(position.unwrap_or_default());
        if pause != TICK {
            pause = TICK;
            bar.set_draw_target(ProgressDrawTarget::stderr());
            *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
        }
        bar.tick();
    }
    clear();
}

fn log_lines(shared: &Shared, mut log: impl Write, first: Duration) {
    let mut pause = first;
    while let Some(work) = wait(shared, pause) {
        let text = work.text(Instant::now());
        drop(work);
        // A line that cannot be written is not a failure.
        let _ = writeln!(log, "note: {text}");
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Sender, channel};

    use super::*;

    /// A log whose lines are sent to the test.
    struct Lines(Sender<String>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8_lossy(bytes).into_owned();
            self.0.send(text).map_err(|_| io::ErrorKind::BrokenPipe.into()).map(|()| bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn work_is_shown_after_a_while_and_work_that_is_done_before_never() {
        let (sender, lines) = channel();
        let log = Display::Log(Box::new(Lines(sender)), Duration::ZERO);
        let progress = Progress::on(Some(log), "reading a\u{1b}[2J.json");
        assert_eq!(lines.recv().as_deref(), Ok("note: "));
        assert!(lines.recv().is_ok_and(|text| text.starts_with(r"reading a\u001b[2J.json")));
        // Shown, but not for long.
        assert_eq!(progress.done(), None);

        let (sender, lines) = channel();
        let log = Display::Log(Box::new(Lines(sender)), Duration::from_secs(86_400));
        let progress = Progress::on(Some(log), "reading");
        progress.advance(1);
        assert_eq!(progress.done(), None);
        assert!(lines.recv().is_err(), "the display has ended and said nothing");
    }

    #[test]
    fn what_the_work_reports_is_shown() {
        let progress = Progress::on(None, "checking");
        let signal = progress.signal(CancelSignal::never(), 10);
        signal.report("row", 3);
        let text = || progress.shared.work().text(Instant::now());
        assert!(text().starts_with("checking: 13 rows"), "{}", text());
        signal.report("message", 1);
        assert!(text().starts_with("checking: 11 messages"), "{}", text());
    }
}
