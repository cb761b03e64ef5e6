//! The earlier versions of persisted fragments.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;

use crate::base::{FragmentId, limits};
use crate::store::StoredFragment;
use crate::{ChatRef, MessageId, Result, Timestamp};

/// The earlier versions of the persisted fragments of a chat: an optional ability of a store.
///
/// A store with this ability adds a version for every fragment that
/// [`put_fragments`](crate::store::FragmentStore::put_fragments) or a commit stores with content
/// that differs, and for every removed fragment. It keeps the newest
/// [`limits::MAX_FRAGMENT_VERSIONS`] versions of a chat, and of the older ones those that were in
/// force when the oldest of them was added. Versions are deleted with their chat.
#[async_trait]
pub trait FragmentLogStore: Send + Sync {
    /// Returns the versions of the fragments of a chat, as one consistent state.
    ///
    /// Fragments that were stored before the store kept versions, or before the log was cleared,
    /// are in the log without a time. A chat that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog>;

    /// Destroys all earlier versions of the fragments of a chat, as far as a redaction destroys
    /// content. The fragments themselves stay, and are in the log without a time. Returns the
    /// number of versions that were deleted. A chat that does not exist is
    /// [`NotFound`](crate::ErrorKind::NotFound).
    async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64>;
}

/// A version of a persisted fragment: content that was stored, or a removal.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentVersion {
    /// The number of the version among all versions of the chat, in the order of writing, from 1.
    /// Numbers of one log may have gaps.
    pub number: u64,
    /// The place of the fragment. Versions of one fragment have the same place, and fragments are
    /// listed in the order of their places. A fragment that is stored again after its removal has a
    /// new place.
    pub place: u64,
    /// The id, if the fragment has one.
    pub id: Option<FragmentId>,
    /// The stored fragment. `None` for a removal.
    pub fragment: Option<StoredFragment>,
    /// The time of the call that wrote the version. `None` if it was not recorded.
    pub at: Option<Timestamp>,
    /// The first new message of the commit that wrote the version. `None` if it was written without
    /// a new message.
    pub message: Option<MessageId>,
}

impl FragmentVersion {
    /// Creates a version with content, written at an unknown time.
    pub fn stored(number: u64, place: u64, fragment: StoredFragment) -> Self {
        let id = fragment.id.clone();
        Self { number, place, id, fragment: Some(fragment), at: None, message: None }
    }

    /// Creates a version that says that the fragment was removed.
    pub fn removed(number: u64, place: u64, id: FragmentId, at: Timestamp) -> Self {
        Self { number, place, id: Some(id), fragment: None, at: Some(at), message: None }
    }

    /// Sets the time and the message.
    #[must_use]
    pub fn written(mut self, at: Option<Timestamp>, message: Option<MessageId>) -> Self {
        (self.at, self.message) = (at, message);
        self
    }
}

/// The versions of the persisted fragments of a chat that the store still has, in the order of
/// writing.
///
/// ```
/// use context_core::store::{FragmentLog, FragmentVersion, StoredFragment};
/// use context_core::{Encoded, Metadata, Timestamp};
///
/// let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
/// let rule = |text: &'static str| StoredFragment {
///     id: Some("rule".into()),
///     metadata: Metadata::default(),
///     body: Encoded::new("hint", 1, text),
/// };
/// let log = FragmentLog::new(vec![
///     FragmentVersion::stored(1, 1, rule("Be brief.")).written(Some(at(10)), None),
///     FragmentVersion::stored(2, 1, rule("Be exact.")).written(Some(at(20)), None),
///     FragmentVersion::removed(3, 1, "rule".into(), at(30)),
/// ]);
/// let as_of = |second| log.as_of(at(second), |_| false).map(|versions| versions.len());
/// assert_eq!([as_of(5), as_of(10), as_of(25), as_of(30)], [Some(0), Some(1), Some(1), Some(0)]);
/// assert_eq!(log.of(&"rule".into()).count(), 3);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FragmentLog {
    versions: Vec<FragmentVersion>,
}

impl FragmentLog {
    /// Creates a log from versions in the order of their numbers.
    pub fn new(versions: Vec<FragmentVersion>) -> Self {
        Self { versions }
    }

    /// Creates the log of fragments of which no version was recorded, from their places.
    pub fn unrecorded(fragments: impl IntoIterator<Item = (u64, StoredFragment)>) -> Self {
        let version =
            |(number, (place, fragment))| FragmentVersion::stored(number, place, fragment);
        Self { versions: (1..).zip(fragments).map(version).collect() }
    }

    /// Returns the versions in the order of writing.
    pub fn versions(&self) -> &[FragmentVersion] {
        &self.versions
    }

    /// Returns the versions of the fragment with this id, oldest first.
    pub fn of(&self, id: &FragmentId) -> impl Iterator<Item = &FragmentVersion> {
        self.versions.iter().filter(move |version| version.id.as_ref() == Some(id))
    }

    /// Returns the versions that were in force at a time, in the order of the fragments. `None` if
    /// the log no longer reaches back so far.
    ///
    /// A version counts if it was written at this time or earlier, or if `holds` returns true for
    /// its message: the commit of a message of a chain is in the past of that chain, whatever the
    /// clocks say. The result is the state after the last version that counts. Versions without a
    /// time are the state before all others.
    pub fn as_of(
        &self,
        at: Timestamp,
        holds: impl Fn(&MessageId) -> bool,
    ) -> Option<Vec<&FragmentVersion>> {
        let counts = |version: &&FragmentVersion| {
            version.at.is_some_and(|written| written <= at)
                || version.message.as_ref().is_some_and(&holds)
        };
        let last = self.versions.iter().rev().find(counts).map_or(0, |version| version.number);
        self.after(last)
    }

    /// Returns the versions that were in force after the version with this number, in the order of
    /// the fragments; 0 for the state before all versions with a time. `None` if the log no longer
    /// reaches back so far.
    ///
    /// ```
    /// use context_core::base::limits::MAX_FRAGMENT_VERSIONS;
    /// use context_core::store::{FragmentLog, FragmentVersion, StoredFragment};
    /// use context_core::{Encoded, Metadata, Timestamp};
    ///
    /// let version = |number, place, text: &'static str| {
    ///     let body = Encoded::new("hint", 1, text);
    ///     let fragment = StoredFragment { id: None, metadata: Metadata::default(), body };
    ///     FragmentVersion::stored(number, place, fragment)
    /// };
    /// let at = |second: i64| Some(Timestamp::from_micros(second * 1_000_000));
    /// let mut log = FragmentLog::new(vec![
    ///     version(1, 7, "Be kind."), // of a time before the store kept versions
    ///     version(2, 8, "Be brief.").written(at(10), None),
    ///     version(3, 7, "Be polite.").written(at(20), None),
    /// ]);
    /// let texts = |log: &FragmentLog, number| {
    ///     let versions = log.after(number)?.into_iter();
    ///     let bodies = versions.filter_map(|version| version.fragment.as_ref());
    ///     Some(bodies.map(|it| String::from_utf8_lossy(it.body.bytes())).collect::<Vec<_>>().join(" "))
    /// };
    /// assert_eq!(texts(&log, 0).as_deref(), Some("Be kind."));
    /// assert_eq!(texts(&log, 2).as_deref(), Some("Be kind. Be brief."));
    /// assert_eq!(texts(&log, 3).as_deref(), Some("Be polite. Be brief."));
    ///
    /// // Much later, only the state after number 3 and what came then are kept.
    /// log.push(version(MAX_FRAGMENT_VERSIONS + 3, 9, "Be exact.").written(at(30), None));
    /// assert_eq!(texts(&log, 2), None);
    /// assert_eq!(texts(&log, 3).as_deref(), Some("Be polite. Be brief."));
    /// ```
    pub fn after(&self, number: u64) -> Option<Vec<&FragmentVersion>> {
        if number < oldest_state(self.last_number()) {
            return None;
        }
        let mut places = BTreeMap::new();
        let before = self.versions.iter().filter(|version| version.at.is_none());
        let until = self.versions.iter().filter(|it| it.at.is_some() && it.number <= number);
        for version in before.chain(until) {
            match &version.fragment {
                Some(_) => places.insert(version.place, version),
                None => places.remove(&version.place),
            };
        }
        Some(places.into_values().collect())
    }

    /// Returns the number of the newest version. 0 for an empty log.
    pub fn last_number(&self) -> u64 {
        self.versions.last().map_or(0, |version| version.number)
    }

    /// Adds a version, and drops those that are not kept any longer. For stores that keep a log as
    /// one value.
    pub fn push(&mut self, version: FragmentVersion) {
        self.versions.push(version);
        let of = |it: &FragmentVersion| (it.number, it.place, it.fragment.is_some());
        let outdated = outdated_versions(self.versions.iter().map(of));
        self.versions.retain(|version| !outdated.contains(&version.number));
    }
}

/// Returns the numbers of the versions of a log that are not kept any longer, given number, place,
/// and whether it has content, of each version in the order of writing.
pub fn outdated_versions(
    versions: impl DoubleEndedIterator<Item = (u64, u64, bool)> + Clone,
) -> BTreeSet<u64> {
    let last = versions.clone().next_back().map_or(0, |(number, ..)| number);
    let oldest = oldest_state(last);
    let old = versions.filter(|(number, ..)| *number <= oldest);
    let in_force: BTreeMap<u64, u64> =
        old.clone().map(|(number, place, _)| (place, number)).collect();
    let is_kept = |number, place, has_content| has_content && in_force.get(&place) == Some(&number);
    old.filter(|(number, place, has_content)| !is_kept(*number, *place, *has_content))
        .map(|(number, ..)| number)
        .collect()
}

/// Returns the number of the oldest version after which the state of all fragments is known, given
/// the number of the newest. 0 while every version is kept.
///
/// A store that keeps a row per version deletes a row up to this number if it is a removal, or if
/// another one of the same place up to this number is newer.
pub fn oldest_state(last_number: u64) -> u64 {
    last_number.saturating_sub(limits::MAX_FRAGMENT_VERSIONS)
}
