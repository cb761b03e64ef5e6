//! What every command works with: the store, the user, the output, the clock, questions and Ctrl-C.

use std::io::{BufRead, IsTerminal, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use context_runtime::{
    CancelSignal, CancelSource, ChatRef, Clock, Error, ErrorKind, IdGenerator, Store, SystemClock,
    Timestamp, UserId, Uuid7Ids,
    store::{Maintenance, OpenMode, StoreRegistry},
};

use crate::error::{Failure, INTERRUPTED};
use crate::output::Output;
use crate::text::clean;

/// How a command ended when nothing failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// All is well.
    Fine,
    /// It found what it looks for and nobody wants: exit status 1.
    Found,
}

/// The clock and the source of ids: the host's, unless a test brings its own.
#[derive(Clone, Debug)]
pub(crate) struct World {
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
}

impl World {
    pub(crate) fn new(clock: impl Clock, ids: impl IdGenerator) -> Self {
        Self { clock: Arc::new(clock), ids: Arc::new(ids) }
    }
}

impl Default for World {
    fn default() -> Self {
        Self::new(SystemClock, Uuid7Ids)
    }
}

impl Clock for World {
    fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

impl IdGenerator for World {
    fn next_id(&self) -> String {
        self.ids.next_id()
    }
}

/// Where the store is.
enum Place {
    Url(String),
    #[cfg(test)]
    Open(Arc<dyn Store>),
}

/// The stores that a command has opened, which are closed before the process ends.
#[derive(Debug, Default)]
pub(crate) struct OpenStores {
    stores: Mutex<Vec<Arc<dyn Store>>>,
    /// Cancels at Ctrl-C.
    stop: CancelSource,
    /// Whether the command asks `stop` between two steps.
    asks: AtomicBool,
}

impl OpenStores {
    fn add(&self, store: &Arc<dyn Store>) {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(store));
    }

    /// The signal of Ctrl-C, for a command that will ask it.
    fn asked(&self) -> CancelSignal {
        self.asks.store(true, Ordering::SeqCst);
        self.stop.signal()
    }

    /// Closes all, also if one fails, and gives the first error.
    pub(crate) async fn close(&self) -> context_runtime::Result<()> {
        let stores =
            std::mem::take(&mut *self.stores.lock().unwrap_or_else(PoisonError::into_inner));
        let mut closed = Ok(());
        for store in stores {
            closed = closed.and(store.close().await);
        }
        closed
    }

    /// Ends the process at Ctrl-C, the stores closed first; a command that asks is told to stop,
    /// and ends it itself unless Ctrl-C comes again. What is written is written in whole commits.
    /// `quiet`: nothing is said.
    pub(crate) async fn end_when_interrupted(&self, quiet: bool) {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
        self.stop.cancel();
        if !self.asks.load(Ordering::SeqCst) {
            // Nobody is left to be told.
            let _ = self.close().await;
            std::process::exit(INTERRUPTED.into());
        }
        if !quiet {
            let _ = writeln!(std::io::stderr(), "stopping; press Ctrl-C again to stop at once");
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(INTERRUPTED.into());
        }
    }
}

/// What every command works with.
pub(crate) struct App {
    pub(crate) user: UserId,
    /// Those that were named beside the first.
    more_users: Vec<UserId>,
    pub(crate) out: Output,
    pub(crate) world: World,
    place: Place,
    opened: Arc<OpenStores>,
}

impl App {
    pub(crate) fn new(url: String, users: Vec<String>, out: Output) -> Self {
        Self::at(Place::Url(url), users, out, World::default())
    }

    fn at(place: Place, users: Vec<String>, out: Output, world: World) -> Self {
        let mut users = users.into_iter().map(UserId::from);
        let user = users.next().unwrap_or_else(|| UserId::from(""));
        Self { user, more_users: users.collect(), out, world, place, opened: Arc::default() }
    }

    /// A command on a store that is open, in a world of its own.
    #[cfg(test)]
    pub(crate) fn on(store: Arc<dyn Store>, users: Vec<String>, out: Output, world: World) -> Self {
        Self::at(Place::Open(store), users, out, world)
    }

    /// All users that were named.
    pub(crate) fn users(&self) -> impl Iterator<Item = &UserId> {
        std::iter::once(&self.user).chain(&self.more_users)
    }

    /// Refuses more than one user.
    pub(crate) fn one_user(&self) -> Result<(), Failure> {
        match self.more_users.is_empty() {
            true => Ok(()),
            false => {
                Err(Failure::Usage("only `copy` between stores takes more than one --user".into()))
            }
        }
    }

    /// The store, only to look at it: nothing is made, upgraded or written.
    pub(crate) async fn store_to_read(&self) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(OpenMode::Read).await
    }

    /// The store, which must exist, to change it.
    pub(crate) async fn store_to_write(&self) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(OpenMode::Write).await
    }

    /// The store, to look at it if the command is only to say what it would do, else to change it.
    pub(crate) async fn store_unless(&self, dry_run: bool) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(if dry_run { OpenMode::Read } else { OpenMode::Write }).await
    }

    /// The store, made if it does not exist.
    pub(crate) async fn store_or_new(&self) -> Result<Arc<dyn Store>, Failure> {
        self.store_in(OpenMode::Create).await
    }

    /// The store, opened in this mode.
    pub(crate) async fn store_in(&self, mode: OpenMode) -> Result<Arc<dyn Store>, Failure> {
        match &self.place {
            Place::Url(url) => self.open(url, mode).await,
            #[cfg(test)]
            Place::Open(store) => Ok(Arc::clone(store)),
        }
    }

    /// A store. Says what an operator should know of it. It is closed when the command ends.
    pub(crate) async fn open(&self, url: &str, mode: OpenMode) -> Result<Arc<dyn Store>, Failure> {
        let store = match StoreRegistry::default().open_with(url, mode).await {
            Err(error) if error.is_not_found() && mode != OpenMode::Create => {
                return Err(match file_of(url) {
                    Some(file) => Failure::NoStore { url: format!("sqlite:{file}") },
                    None => error.into(),
                });
            }
            opened => opened?,
        };
        self.opened.add(&store);
        if let Some(warning) = store.info().warning {
            self.out.note(warning);
        }
        Ok(store)
    }

    /// The stores that were opened so far.
    pub(crate) fn opened(&self) -> Arc<OpenStores> {
        Arc::clone(&self.opened)
    }

    /// A chat of the user.
    pub(crate) fn chat(&self, chat: &str) -> ChatRef {
        ChatRef::new(self.user.clone(), chat)
    }

    /// Now.
    pub(crate) fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// Asks a yes-or-no question on the terminal. Where nobody can answer it is wrong usage not to
    /// have said yes on the command line.
    pub(crate) fn confirm(&self, question: &str) -> Result<(), Failure> {
        let (stdin, mut stderr) = (std::io::stdin(), std::io::stderr());
        if self.out.is_json() || !stdin.is_terminal() || !stderr.is_terminal() {
            return Err(Failure::Unconfirmed { question: question.to_owned() });
        }
        if says_yes(&mut stdin.lock(), &mut stderr, question) {
            Ok(())
        } else {
            Err(Failure::Declined)
        }
    }

    /// Does work that cannot be asked to stop, unless Ctrl-C comes first. Such work leaves all of
    /// what it does or nothing when it is dropped.
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

    /// A signal that is raised by Ctrl-C, for work that asks between two steps; a second Ctrl-C
    /// ends the process. Everything else may be killed at any time, because what is written is
    /// written in whole commits.
    pub(crate) fn interrupt(&self) -> CancelSignal {
        self.opened.asked()
    }
}

/// The store's care for itself, which not every store has.
pub(crate) fn maintenance<'a>(
    store: &'a dyn Store,
    operation: &'static str,
) -> Result<&'a dyn Maintenance, Failure> {
    let missing = || {
        Error::new(ErrorKind::Unsupported, operation, "this store leaves this to other tools")
            .with("store", store.info().name)
    };
    Ok(store.maintenance().ok_or_else(missing)?)
}

/// How much of an answer is read, in bytes.
const LONGEST_ANSWER: u64 = 4096;

fn says_yes(answers: &mut dyn BufRead, to: &mut dyn Write, question: &str) -> bool {
    let mut answer = String::new();
    // A question that cannot be shown, or not be answered, is not answered with yes.
    let asked = write!(to, "{}? Type yes to go on: ", clean(question)).and_then(|()| to.flush());
    asked.is_ok()
        && answers.take(LONGEST_ANSWER).read_line(&mut answer).is_ok()
        && answer.trim().eq_ignore_ascii_case("yes")
}

/// The file a store URL names, if it names one.
pub(crate) fn file_of(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    (!path.is_empty() && !path.starts_with(':')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::says_yes;

    #[test]
    fn only_yes_is_yes() {
        let mut shown = Vec::new();
        let mut says = |answer: &str| says_yes(&mut answer.as_bytes(), &mut shown, "erase ada");
        assert!(says("yes\n") && says(" YES \r\n"));
        assert!(!says("y\n") && !says("\n") && !says("") && !says("yes please\n"));
        assert!(shown.starts_with(b"erase ada? Type yes to go on: "));
    }
}
