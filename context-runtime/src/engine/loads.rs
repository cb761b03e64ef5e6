//! Runs the loaders of lazy data and keeps their results.
//!
//! Loaders run concurrently up to a limit, each with its own timeout. A result is kept under the
//! identity of the lazy data, so data that occurs in several fragments is loaded once. A result may
//! contain lazy data again, up to a depth.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use context_core::base::{DiagnosticCode, Severity};
use context_core::fragment::{LazyData, OnFailure, Reuse};
use context_core::{
    CancelSignal, Diagnostic, Error, ErrorKind, Fragment, FragmentData, Result, Timestamp,
};
use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt};

use super::ContextEngine;
use super::context::Slot;

/// The default number of loaders that run concurrently.
pub(super) const DEFAULT_CONCURRENCY: usize = 8;

/// The maximum depth of lazy data within loaded data. A loader that returns itself would never end.
const MAX_HOPS: usize = 10;

/// The maximum number of lazy values at one depth. Loaders that return several loaders each grow
/// exponentially, long before the depth limit is reached.
const MAX_NESTED: usize = 10_000;

const OPERATION: &str = "load_fragment";

/// The results of loaders.
#[derive(Clone, Default)]
pub(super) struct Loads {
    cached: HashMap<usize, CachedLoad>,
    /// The number of resolves. Identifies results that are kept for one resolve only.
    round: u64,
}

#[derive(Clone)]
struct CachedLoad {
    /// Keeps the data alive, so that its key is not reused for other data.
    _lazy: LazyData,
    data: FragmentData,
    at: Timestamp,
    round: u64,
    /// Whether the data is a substitute for a failed load. Such data is valid for this resolve
    /// only.
    is_substitute: bool,
}

/// A fragment with its data loaded.
struct LoadedFragment {
    fragment: Fragment,
    /// Whether no part of it is a substitute for a failed load.
    is_complete: bool,
}

/// Lazy data that is still to be loaded: its path and its loader.
type PendingLoad = (String, LazyData);

/// The purpose of a load.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Purpose {
    /// To be shown: as fresh as the data requires.
    Show,
    /// To be stored: as it was shown last, and never a substitute.
    Store,
}

impl ContextEngine {
    /// Loads the lazy data of the context fragments, so that codecs and renderers see the data.
    pub(super) async fn load_fragments(
        &mut self,
        purpose: Purpose,
        cancel: &CancelSignal,
    ) -> Result<Vec<Diagnostic>> {
        let due = |slot: &Slot| slot.is_lazy() && (purpose == Purpose::Show || slot.is_to_store());
        if !self.fragments.are_lazy() || !self.fragments.slots().iter().any(due) {
            return Ok(Vec::new());
        }
        let places: Vec<_> =
            (0..).zip(self.fragments.slots()).filter(|(_, slot)| due(slot)).collect();
        let mut wanted = Vec::new();
        for (_, slot) in &places {
            find_lazy(slot.fragment(), &mut wanted);
        }
        let at = self.parts.clock.now();
        let mut diagnostics = Vec::new();
        self.loads.begin(purpose);
        let limit = self.parts.load_concurrency;
        let loaded = self.loads.fill(wanted, purpose, at, limit, cancel, &mut diagnostics).await;
        // Also after a failure, because loaders may return other data each time.
        let lazy = self.fragments.slots().iter().filter(|slot| slot.is_lazy());
        self.loads.forget_unused(lazy.map(Slot::fragment));
        loaded?;
        let filled: Vec<(usize, LoadedFragment)> = places
            .into_iter()
            .filter_map(|(place, slot)| Some((place, self.loads.filled(slot.fragment())?)))
            .collect();
        for (place, LoadedFragment { fragment, is_complete }) in filled {
            // A fragment that is about to be stored stays as it was shown, unless all of it could
            // be loaded.
            if purpose == Purpose::Show || is_complete {
                self.fragments.set_loaded(place, fragment, is_complete);
            }
        }
        Ok(diagnostics)
    }
}

impl Loads {
    fn begin(&mut self, purpose: Purpose) {
        if purpose == Purpose::Show {
            self.round += 1;
        }
    }

    async fn fill(
        &mut self,
        mut wanted: Vec<PendingLoad>,
        purpose: Purpose,
        at: Timestamp,
        limit: usize,
        cancel: &CancelSignal,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        for _ in 0..=MAX_HOPS {
            let (mut due, mut asked): (Vec<PendingLoad>, HashSet<usize>) = Default::default();
            for (path, lazy) in &wanted {
                let known = self
                    .cached
                    .get(&lazy.key())
                    .is_some_and(|cached| self.is_fresh(cached, lazy, purpose, at));
                if !known && asked.insert(lazy.key()) {
                    due.push((path.clone(), lazy.clone()));
                }
            }
            // The results of the other loaders are kept when one fails, so a retry does not load
            // them again.
            let mut loading = stream::iter(due)
                .map(|(path, lazy)| async move {
                    let loaded = load(&path, &lazy, cancel).await;
                    (path, lazy, loaded)
                })
                .buffer_unordered(limit.max(1));
            while let Some((path, lazy, loaded)) = loading.next().await {
                self.keep(path, lazy, loaded, at, diagnostics)?;
            }
            drop(loading);
            let mut nested = Vec::new();
            for (path, lazy) in &wanted {
                if let Some(cached) = self.cached.get(&lazy.key()) {
                    find_lazy_in(path, &cached.data, &mut nested);
                }
            }
            if nested.is_empty() {
                return Ok(());
            }
            if nested.len() > MAX_NESTED {
                let (path, _) = nested.swap_remove(0);
                return Err(Error::invalid(OPERATION, "loaders returned too many lazy fragments")
                    .with("fragment", path)
                    .with("limit", MAX_NESTED));
            }
            wanted = nested;
        }
        let path = wanted.into_iter().next().map(|(path, _)| path).unwrap_or_default();
        Err(Error::invalid(OPERATION, "loaders returned lazy fragments too many levels deep")
            .with("fragment", path)
            .with("limit", MAX_HOPS))
    }

    fn is_fresh(
        &self,
        cached: &CachedLoad,
        lazy: &LazyData,
        purpose: Purpose,
        at: Timestamp,
    ) -> bool {
        if cached.is_substitute {
            return purpose == Purpose::Show && cached.round == self.round;
        }
        purpose == Purpose::Store
            || cached.round == self.round
            || match lazy.reuse_policy() {
                Reuse::Once => true,
                Reuse::For(time) => age(cached.at, at) < time,
                _ => false,
            }
    }

    fn keep(
        &mut self,
        path: String,
        lazy: LazyData,
        loaded: Result<FragmentData>,
        at: Timestamp,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<()> {
        let (data, is_substitute) = match (loaded, lazy.failure_policy()) {
            (Ok(data), _) => (data, false),
            (Err(error), OnFailure::Placeholder(data)) if error.kind() != ErrorKind::Cancelled => {
                diagnostics.push(not_loaded(path, &error, "a placeholder stands in its place"));
                (data.clone(), true)
            }
            (Err(error), OnFailure::Drop) if error.kind() != ErrorKind::Cancelled => {
                diagnostics.push(not_loaded(path, &error, "it is left out"));
                (FragmentData::Null, true)
            }
            (Err(error), _) => return Err(error),
        };
        let cached = CachedLoad { _lazy: lazy.clone(), data, at, round: self.round, is_substitute };
        self.cached.insert(lazy.key(), cached);
        Ok(())
    }

    /// Returns the fragment with all loaded data in place, or `None` if the fragment holds no data.
    fn filled(&self, fragment: &Fragment) -> Option<LoadedFragment> {
        let mut data = fragment.data()?.clone();
        let mut is_complete = true;
        for _ in 0..=MAX_HOPS {
            if !data.has_lazy() {
                break;
            }
            data = data.replace_lazy("", |_, lazy| match self.cached.get(&lazy.key()) {
                Some(cached) => {
                    is_complete &= !cached.is_substitute;
                    cached.data.clone()
                }
                None => FragmentData::Null,
            });
        }
        Some(LoadedFragment { fragment: fragment.clone().with_data(data), is_complete })
    }

    /// Drops results that no fragment refers to any more.
    fn forget_unused<'a>(&mut self, fragments: impl Iterator<Item = &'a Fragment>) {
        let mut used = Vec::new();
        fragments.for_each(|fragment| find_lazy(fragment, &mut used));
        let mut reached = HashSet::new();
        while let Some((path, lazy)) = used.pop() {
            if !reached.insert(lazy.key()) {
                continue;
            }
            if let Some(cached) = self.cached.get(&lazy.key()) {
                find_lazy_in(&path, &cached.data, &mut used);
            }
        }
        self.cached.retain(|key, _| reached.contains(key));
    }
}

fn find_lazy(fragment: &Fragment, found: &mut Vec<PendingLoad>) {
    if let Some(data) = fragment.data() {
        find_lazy_in(fragment.name(), data, found);
    }
}

fn find_lazy_in(root: &str, data: &FragmentData, found: &mut Vec<PendingLoad>) {
    if data.has_lazy() {
        let _ = data.replace_lazy(root, |path, lazy| {
            found.push((path.to_owned(), lazy.clone()));
            FragmentData::Null
        });
    }
}

/// Runs one loader with its timeout. Stops if the caller cancels.
async fn load(path: &str, lazy: &LazyData, cancel: &CancelSignal) -> Result<FragmentData> {
    cancel.check(OPERATION).map_err(|error| error.with("fragment", path))?;
    let limit = lazy.load_timeout();
    let loading = tokio::time::timeout(limit, lazy.loader().load(cancel));
    match select(Box::pin(loading), cancel.cancelled()).await {
        Either::Left((Ok(Ok(data)), _)) => Ok(data),
        Either::Left((Ok(Err(cause)), _)) => {
            let error = Error::new(
                ErrorKind::Unavailable,
                OPERATION,
                format!("the loader failed: {cause}"),
            );
            let retry = cause.downcast_ref::<Error>().map_or(error.retry(), Error::retry);
            Err(error.with_retry(retry).with("fragment", path).with_source(cause))
        }
        Either::Left((Err(_), _)) => {
            let error = Error::new(ErrorKind::Timeout, OPERATION, "the loader took too long");
            Err(error.with("fragment", path).with("limit", format_args!("{limit:?}")))
        }
        Either::Right(_) => Err(cancel.check(OPERATION).map_or_else(
            |error| error.with("fragment", path),
            |()| Error::new(ErrorKind::Cancelled, OPERATION, "cancelled by the caller"),
        )),
    }
}

fn not_loaded(path: String, error: &Error, consequence: &str) -> Diagnostic {
    Diagnostic::new(
        DiagnosticCode::NotLoaded,
        Severity::Warning,
        path,
        format!("{error}; {consequence}"),
    )
}

fn age(then: Timestamp, now: Timestamp) -> Duration {
    let micros = now.as_micros().saturating_sub(then.as_micros());
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}
