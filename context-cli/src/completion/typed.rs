//! The part of a command line that is there already, and the store that it names.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use context_runtime::memory::MemoryScope;
use context_runtime::store::StoreRegistry;
use context_runtime::{ChatRef, Result, Store, UserId};

use crate::app::store_url;
use crate::cli::{Cli, Global};
use crate::config::Config;
use crate::settings::Settings;

/// The longest that a store may take: who presses the key does not wait for a server.
const PATIENCE: Duration = Duration::from_millis(200);

/// The content of a command line, as far as it is written.
#[derive(Debug)]
pub(super) struct Typed {
    store: String,
    pub(super) stores: StoreRegistry,
    pub(super) settings: Settings,
    pub(super) user: UserId,
    pub(super) chat: Option<ChatRef>,
    pub(super) branch: Option<String>,
    pub(super) scope: MemoryScope,
    /// Whether the cursor is behind `--`.
    pub(super) is_escaped: bool,
    /// Whether the shell takes candidates as they are written, so that they must need no quotes.
    pub(super) only_plain: bool,
}

impl Typed {
    /// Reads a line with the cursor at the word `at`. A line that is not complete, or wrong, is
    /// read as far as it goes.
    pub(super) fn new(words: &[OsString], at: usize, stores: &StoreRegistry) -> Self {
        let command = Cli::command().ignore_errors(true);
        let matches = command.try_get_matches_from(words).unwrap_or_default();
        let mut leaf = &matches;
        while let Some((_, below)) = leaf.subcommand() {
            leaf = below;
        }
        let value = |id| value(leaf, id).or_else(|| value(&matches, id));
        let given = Global::from_arg_matches(&matches).map(Global::given).unwrap_or_default();
        let settings = Settings::new(given, Config::read().unwrap_or_default());
        let user = settings.users.0.first().map(|user| UserId::from(user.as_str()));
        let user = user.unwrap_or_else(|| UserId::from(""));
        let chat = value("chat").or_else(|| value("chats")).or_else(|| value("source"));
        let mut scope = MemoryScope::new(user.clone());
        scope.project = value("project");
        scope.agent = value("agent");
        scope.session = value("session").map(Into::into);
        // `copy` between stores names the one that it reads.
        let source = value("from").filter(|from| from.contains(':'));
        Self {
            store: store_url(source.as_ref().unwrap_or(&settings.store.0), stores).into_owned(),
            stores: stores.clone(),
            settings,
            chat: chat.map(|chat| ChatRef::new(user.clone(), chat)),
            branch: value("branch"),
            user,
            scope,
            is_escaped: words.iter().take(at).any(|word| word == "--"),
            only_plain: false,
        }
    }

    pub(super) fn only_plain(self, only_plain: bool) -> Self {
        Self { only_plain, ..self }
    }

    /// Reads from the store. `None` if there is none, if it cannot be opened for reading as it is,
    /// or if it takes too long. Nothing is created, upgraded or written, and nothing is reported.
    pub(super) fn read<T>(&self, read: impl AsyncFnOnce(Arc<dyn Store>) -> Result<T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let work = async { read(self.stores.open_read_only(&self.store).await?).await };
        let done = runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await });
        // A name that is looked up, or a file that is read, is not waited for.
        runtime.shutdown_background();
        done.ok()?.ok()
    }
}

/// Returns the first value of an argument.
fn value(matches: &ArgMatches, id: &str) -> Option<String> {
    matches.try_get_many::<String>(id).ok().flatten()?.next().cloned()
}
