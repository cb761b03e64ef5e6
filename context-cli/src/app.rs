//! The context of every command: store, user, output, clock, confirmation, and Ctrl-C.

use std::borrow::Cow;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use context_runtime::{
    CancelSignal, CancelSource, ChatRef, Clock, Error, ErrorKind, IdGenerator, Store, SystemClock,
    Timestamp, UserId, Uuid7Ids,
    store::{Maintenance, OpenMode, StoreRegistry},
};

use crate::error::{Failure, INTERRUPTED};
use crate::output::Output;
use crate::progress::{self, Progress};
use crate::settings::Settings;
use crate::text::clean;

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Success.
    Success,
    /// The command found problems that it reports: exit status 1.
    Findings,
}

/// The clock and the id generator: those of the host, or those of a test.
#[derive(Clone, Debug)]
pub(crate) struct HostServices {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl HostServices {
    pub(crate) fn new(clock: impl Clock, ids: impl IdGenerator) -> Self {
        Self { clock: Arc::new(clock), ids: Arc::new(ids) }
    }
}

impl Default for HostServices {
    fn default() -> Self {
        Self::new(SystemClock, Uuid7Ids)
    }
}

impl Clock for HostServices {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl IdGenerator for HostServices {
    fn next_id(&self) -> String {
        self.ids.next_id()
    }
}

/// Where the store of a command is from.
enum StoreSource {
    /// The settings name it, and it is opened by one of these.
    Named(StoreRegistry),
    #[cfg(test)]
    Open(Arc<dyn Store>),
}

/// The stores that a command has opened. They are closed before the process ends.
#[derive(Debug, Default)]
pub(crate) struct OpenStores {
    stores: Mutex<Vec<Arc<dyn Store>>>,
    /// Cancels on Ctrl-C.
    stop: CancelSource,
    /// Whether the command checks `stop` between two steps.
    asks: AtomicBool,
    /// Whether the command ends at once, so that no message is shown.
    quiet: AtomicBool,
}

impl OpenStores {
    fn add(&self, store: &Arc<dyn Store>) {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(store));
    }

    /// Returns the Ctrl-C signal, for a command that checks it.
    fn interrupt_signal(&self) -> CancelSignal {
        self.asks.store(true, Ordering::SeqCst);
        self.stop.signal()
    }

    /// Closes all stores, also if one fails. Returns the first error.
    pub(crate) async fn close(&self) -> context_runtime::Result<()> {
        let stores =
            std::mem::take(&mut *self.stores.lock().unwrap_or_else(PoisonError::into_inner));
        let mut closed = Ok(());
        for store in stores {
            closed = closed.and(store.close().await);
        }
        closed
    }

    /// Ends the process on Ctrl-C after closing the stores. A command that checks the signal is
    /// asked to stop and ends the process itself, unless Ctrl-C is pressed again. Data is written
    /// in complete commits only. With `quiet`, no message is shown.
    pub(crate) async fn end_when_interrupted(&self, quiet: bool) {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        self.stop.cancel();
        if !self.asks.load(Ordering::SeqCst) {
            // The process ends, so an error cannot be reported.
            let _ = self.close().await;
            progress::clear();
            std::process::exit(INTERRUPTED.into());
        }
        if !quiet && !self.quiet.load(Ordering::SeqCst) {
            let text = "stopping; press Ctrl-C again to stop at once";
            let _ = progress::aside(|| writeln!(std::io::stderr(), "{text}"));
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            progress::clear();
            std::process::exit(INTERRUPTED.into());
        }
    }
}

/// The context of a command.
pub(crate) struct App {
    pub(crate) user: UserId,
    pub(crate) settings: Arc<Settings>,
    pub(crate) out: Output,
    pub(crate) host: HostServices,
    source: StoreSource,
    opened: Arc<OpenStores>,
}

impl App {
    /// Creates the context of a command whose store is opened by a registry.
    pub(crate) fn new(settings: Settings, stores: StoreRegistry, out: Output) -> Self {
        Self::of(StoreSource::Named(stores), settings, out, HostServices::default())
    }

    fn of(source: StoreSource, settings: Settings, mut out: Output, host: HostServices) -> Self {
        let user = settings.users.0.first().map(String::as_str).unwrap_or_default();
        out.at(host.now());
        let user = UserId::from(user);
        let (settings, opened) = (Arc::new(settings), Arc::default());
        Self { user, settings, out, host, source, opened }
    }

    /// Creates a context with an open store and a test clock.
    #[cfg(test)]
    pub(crate) fn on(
        store: Arc<dyn Store>,
        settings: Settings,
        out: Output,
        host: HostServices,
    ) -> Self {
        Self::of(StoreSource::Open(store), settings, out, host)
    }

    /// Returns all users from the command line.
    pub(crate) fn users(&self) -> impl Iterator<Item = UserId> {
        self.settings.users.0.iter().map(|user| UserId::from(user.as_str()))
    }

    /// Fails if there is more than one user.
    pub(crate) fn one_user(&self) -> Result<(), Failure> {
        match self.settings.users.0.len() == 1 {
            true => Ok(()),
            false => {
                Err(Failure::Usage("only `copy` between stores takes more than one --user".into()))
            }
        }
    }

    /// Returns the URL of the store, unless the store is open already.
    pub(crate) fn store_url(&self) -> Option<String> {
        match &self.source {
            StoreSource::Named(stores) => {
                Some(store_url(&self.settings.store.0, stores).into_owned())
            }
            #[cfg(test)]
            StoreSource::Open(_) => None,
        }
    }

    /// Returns the URL of a store that is named by a URL or a file.
    pub(crate) fn url_of(&self, name: &str) -> String {
        store_url(name, &self.stores()).into_owned()
    }

    /// Opens the store for reading: nothing is created, upgraded or written.
    pub(crate) async fn store_to_read(&self) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(OpenMode::Read).await
    }

    /// Opens the existing store for writing.
    pub(crate) async fn store_to_write(&self) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(OpenMode::Write).await
    }

    /// Opens the store for reading in a dry run, otherwise for writing.
    pub(crate) async fn store_unless(&self, dry_run: bool) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(if dry_run { OpenMode::Read } else { OpenMode::Write }).await
    }

    /// Opens the store and creates it if it does not exist.
    pub(crate) async fn store_or_new(&self) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(OpenMode::Create).await
    }

    /// Opens the store, and creates it and says so if it does not exist, for those who meant
    /// another one.
    pub(crate) async fn store_or_told_new(&self) -> Result<Arc<dyn Store>, Failure> {
        match self.store_to_write().await {
            Err(Failure::NoStore { url }) => {
                let store = self.store_or_new().await?;
                self.out.note(format_args!("there was no store at {url}: it is a new one"));
                Ok(store)
            }
            Err(Failure::Store(error)) if error.is_not_found() => self.store_or_new().await,
            opened => opened,
        }
    }

    /// Opens the store in this mode.
    pub(crate) async fn store_in(&self, mode: OpenMode) -> Result<Arc<dyn Store>, Failure> {
        match &self.source {
            StoreSource::Named(_) => {
                let store = self.open(&self.settings.store.0, mode).await?;
                self.settings.keys.encrypt(store)
            }
            #[cfg(test)]
            StoreSource::Open(store) => Ok(Arc::clone(store)),
        }
    }

    /// Returns the stores that can be opened.
    pub(crate) fn stores(&self) -> StoreRegistry {
        match &self.source {
            StoreSource::Named(stores) => stores.clone(),
            #[cfg(test)]
            StoreSource::Open(_) => StoreRegistry::default(),
        }
    }

    /// Returns whether a text is the URL of a store rather than a name.
    pub(crate) fn is_store(&self, text: &str) -> bool {
        let scheme = text.split_once(':').map(|(scheme, _)| scheme);
        scheme.is_some_and(|scheme| self.stores().schemes().any(|known| known == scheme))
    }

    /// Opens a store and shows its warning, if it has one. The store is named by a URL or a file,
    /// and is closed when the command ends.
    pub(crate) async fn open(&self, name: &str, mode: OpenMode) -> Result<Arc<dyn Store>, Failure> {
        let stores = self.stores();
        let url = &*store_url(name, &stores);
        let opening = Progress::new(&self.out, "opening the store");
        let opened = stores.open_with(url, mode).await;
        drop(opening);
        let store = opened.map_err(|error| unopened(url, mode, error))?;
        self.opened.add(&store);
        if let Some(warning) = store.info().warning {
            self.out.note(warning);
        }
        Ok(store)
    }

    /// Returns the stores that were opened so far.
    pub(crate) fn opened(&self) -> Arc<OpenStores> {
        Arc::clone(&self.opened)
    }

    /// Returns a chat of the user.
    pub(crate) fn chat(&self, chat: &str) -> ChatRef {
        ChatRef::new(self.user.clone(), chat)
    }

    /// Returns the current time.
    pub(crate) fn now(&self) -> Timestamp {
        self.host.now()
    }

    /// Asks a yes-or-no question on the terminal. Without a terminal, it is a usage error that the
    /// command line does not confirm.
    pub(crate) fn confirm(&self, question: &str) -> Result<(), Failure> {
        let (stdin, mut stderr) = (std::io::stdin(), std::io::stderr());
        if self.out.is_json() || !stdin.is_terminal() || !stderr.is_terminal() {
            return Err(Failure::Unconfirmed { question: question.to_owned() });
        }
        // A command that waits for an answer has no step to end: Ctrl-C ends it at once.
        let asks = self.opened.asks.swap(false, Ordering::SeqCst);
        let confirmed = says_yes(&mut stdin.lock(), &mut stderr, question);
        self.opened.asks.store(asks, Ordering::SeqCst);
        if confirmed { Ok(()) } else { Err(Failure::Declined) }
    }

    /// Runs work that cannot be asked to stop, until it is done or Ctrl-C is pressed. Dropping such
    /// work leaves either all of its effects or none.
    pub(crate) async fn unless_interrupted<T>(
        &self,
        operation: &'static str,
        work: impl Future<Output = context_runtime::Result<T>>,
    ) -> Result<T, Failure> {
        let interrupt = self.interrupt();
        tokio::select! {
            result = work => Ok(result?),
            () = interrupt.cancelled() => {
                Err(Error::new(ErrorKind::Cancelled, operation, "cancelled by the caller").into())
            }
        }
    }

    /// Returns a signal that Ctrl-C raises, for work that checks it between two steps. A second
    /// Ctrl-C ends the process. All other work may be killed at any time, since data is written in
    /// complete commits, and a git that restores files goes on by itself.
    pub(crate) fn interrupt(&self) -> CancelSignal {
        self.opened.interrupt_signal()
    }

    /// Returns the [signal](Self::interrupt) for work that ends at once, so that nothing is said
    /// about it.
    pub(crate) fn quiet_interrupt(&self) -> CancelSignal {
        self.opened.quiet.store(true, Ordering::SeqCst);
        self.opened.interrupt_signal()
    }
}

/// Returns the store's maintenance ability, or an error if it has none.
pub(crate) fn maintenance<'a>(
    store: &'a dyn Store,
    operation: &'static str,
) -> Result<&'a dyn Maintenance, Failure> {
    let missing = || {
        Error::new(ErrorKind::Unsupported, operation, "this store does not support maintenance")
            .with("store", store.info().name)
    };
    Ok(store.maintenance().ok_or_else(missing)?)
}

/// The largest number of bytes of an answer that are read.
const LONGEST_ANSWER: u64 = 4096;

fn says_yes(answers: &mut dyn BufRead, to: &mut dyn Write, question: &str) -> bool {
    let mut answer = String::new();
    // A question that cannot be shown or answered does not count as confirmed.
    let written = write!(to, "{}? Type yes to go on: ", clean(question)).and_then(|()| to.flush());
    written.is_ok()
        && answers.take(LONGEST_ANSWER).read_line(&mut answer).is_ok()
        && answer.trim().eq_ignore_ascii_case("yes")
}

/// Returns the failure for a store that cannot be opened.
fn unopened(url: &str, mode: OpenMode, error: Error) -> Failure {
    // SQLite does not make folders, and trying again would not help.
    let no_folder = no_folder(url).filter(|_| error.kind() != ErrorKind::Invalid);
    no_folder.unwrap_or_else(|| match file_of(url) {
        Some(file) if error.is_not_found() && mode != OpenMode::Create => {
            Failure::NoStore { url: format!("sqlite:{file}") }
        }
        _ => error.into(),
    })
}

/// Returns the failure for a store in a folder that does not exist.
fn no_folder(url: &str) -> Option<Failure> {
    let file = file_of(url)?;
    let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty())?;
    (!folder.exists())
        .then(|| Failure::NoFolder { folder: folder.display().to_string(), file: file.to_owned() })
}

/// Returns the URL of a store that was named by a URL or a file. A name without a scheme is a file,
/// and so is one with a drive of Windows. A scheme that no store has is left to the registry, which
/// says what there is.
pub(crate) fn store_url<'n>(name: &'n str, stores: &StoreRegistry) -> Cow<'n, str> {
    let is_scheme = |scheme: &str| {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(is_word)
    };
    match name.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) => {
            // `notes.db:x` is no scheme that anyone could have meant.
            let is_known = stores.schemes().any(|known| known == scheme);
            match is_known || rest.starts_with("//") || !scheme.contains('.') {
                true => Cow::Borrowed(name),
                false => Cow::Owned(format!("sqlite:{name}")),
            }
        }
        _ => Cow::Owned(format!("sqlite:{name}")),
    }
}

/// Returns the file that a store URL names, if any.
pub(crate) fn file_of(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (!path.is_empty() && !path.starts_with(':')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_named_by_a_url_or_a_file() {
        let stores = StoreRegistry::default();
        for (name, url) in [
            ("sqlite:a.db", "sqlite:a.db"),
            ("mem:", "mem:"),
            ("postgres://h/d", "postgres://h/d"),
            ("mysql://h/d", "mysql://h/d"),
            ("sqllite:a.db", "sqllite:a.db"),
            ("a.db", "sqlite:a.db"),
            ("chats", "sqlite:chats"),
            ("./a:b.db", "sqlite:./a:b.db"),
            ("a.db:x", "sqlite:a.db:x"),
            ("/srv/a.db?durability=full", "sqlite:/srv/a.db?durability=full"),
            ("C:\\chats\\a.db", "sqlite:C:\\chats\\a.db"),
        ] {
            assert_eq!(store_url(name, &stores), url);
        }
    }

    #[test]
    fn only_yes_is_yes() {
        let mut shown = Vec::new();
        let mut says = |answer: &str| says_yes(&mut answer.as_bytes(), &mut shown, "erase ada");
        assert!(says("yes\n") && says(" YES \r\n"));
        assert!(!says("y\n") && !says("\n") && !says("") && !says("yes please\n"));
        assert!(shown.starts_with(b"erase ada? Type yes to go on: "));
    }
}
