//! Leases: the right to be the only writer of a chat for a time.

use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::base::{LeaseOwner, limits};
use crate::store::{Commit, Target};
use crate::{ChatRef, Error, ErrorKind, Result, Retry, Timestamp};

/// The last lease of a chat, in force or ended. Stores have no clock: whether a lease is in force
/// depends on the time that a caller passes.
///
/// ```
/// use std::time::Duration;
///
/// use context_core::Timestamp;
/// use context_core::store::{Lease, LeaseClaim, LeaseOutcome};
///
/// let at = |seconds: i64| Timestamp::from_micros(seconds * 1_000_000);
/// let claim = |owner, seconds| LeaseClaim::new(owner, at(seconds), Duration::from_secs(30));
/// let LeaseOutcome::Taken(first) = Lease::take(None, &claim("worker-1", 0)) else { panic!() };
/// assert_eq!((first.number, first.until), (1, at(30)));
/// // Another owner gets the lease when it has ended, under a higher fencing number.
/// let refused = Lease::take(Some(&first), &claim("worker-2", 29));
/// assert_eq!(refused, LeaseOutcome::Held(first.clone()));
/// let LeaseOutcome::Taken(second) = Lease::take(Some(&first), &claim("worker-2", 30)) else {
///     panic!()
/// };
/// assert_eq!((second.number, second.until), (2, at(60)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lease {
    /// The owner.
    pub owner: LeaseOwner,
    /// The fencing number, from 1. Rises each time the lease begins anew, so that a commit of an
    /// earlier owner is recognized.
    pub number: u64,
    /// The time from which the lease is no longer in force.
    pub until: Timestamp,
}

/// A claim to be the only writer of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeaseClaim {
    /// The owner, under a name that no other program or task uses. A repeated claim under the same
    /// name renews the lease.
    pub owner: LeaseOwner,
    /// The current time.
    pub at: Timestamp,
    /// The time until which the lease is to be in force.
    pub until: Timestamp,
}

impl LeaseClaim {
    /// Creates a claim for a time to live from now on.
    pub fn new(owner: impl Into<LeaseOwner>, at: Timestamp, time_to_live: Duration) -> Self {
        let micros = i64::try_from(time_to_live.as_micros()).unwrap_or(i64::MAX);
        let until = Timestamp::from_micros(at.as_micros().saturating_add(micros));
        Self { owner: owner.into(), at, until }
    }

    /// Refuses invalid names and a time to live of nothing.
    pub fn check(&self, chat: &ChatRef) -> Result<()> {
        const OPERATION: &str = "take_lease";
        limits::check_chat(OPERATION, chat)?;
        limits::check_id(OPERATION, "owner", self.owner.as_str())?;
        if self.until > self.at {
            return Ok(());
        }
        Err(Error::invalid(OPERATION, "the lease would end before it begins"))
    }
}

/// The outcome of a claim. Each variant holds the current lease.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum LeaseOutcome {
    /// The claimant has the lease.
    Taken(Lease),
    /// Nothing was written: the lease of another owner is in force.
    Held(Lease),
}

/// The reason why a commit was refused with [`ErrorKind::Conflict`]: another lease than that of the
/// writer decides who may write. The source of the error; see [`LeaseRefusal::of`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", match .lease {
    Some(lease) => format!("the lease {} of {:?}", lease.number, lease.owner),
    None => "no lease".to_owned(),
})]
#[non_exhaustive]
pub struct LeaseRefusal {
    /// The last lease of the chat. `None` if the chat has none.
    pub lease: Option<Lease>,
}

crate::readable_debug!(LeaseRefusal);

impl LeaseRefusal {
    /// Returns the refusal that an error carries, if a lease is its cause.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    fn error(lease: Option<&Lease>, commit: &Commit) -> Error {
        let message = match commit.lease {
            Some(_) => "the lease of this writer was taken over, released or deleted",
            None => "another writer has a lease of the chat",
        };
        // The same commit, with its number and its time, would be refused again.
        let mut error = Error::new(ErrorKind::Conflict, "commit", message)
            .with_retry(Retry::Never)
            .with("chat", &commit.chat.chat);
        if let Some(lease) = lease {
            error = error.with("holder", &lease.owner).with("number", lease.number);
            error = error.with("until", lease.until.as_micros());
        }
        error.with_source(Self { lease: lease.cloned() })
    }
}

impl Lease {
    /// Creates a lease as a store has kept it.
    pub fn new(owner: impl Into<LeaseOwner>, number: u64, until: Timestamp) -> Self {
        Self { owner: owner.into(), number, until }
    }

    /// Returns whether the lease is in force at this time.
    pub fn is_in_force(&self, at: Timestamp) -> bool {
        at < self.until
    }

    /// Decides a claim, given the chat's last lease. The owner of a lease in force renews it and
    /// keeps its number. An ended lease begins anew with the next number, also for its owner.
    pub fn take(last: Option<&Self>, claim: &LeaseClaim) -> LeaseOutcome {
        let number = match last {
            Some(last) if last.is_in_force(claim.at) && last.owner != claim.owner => {
                return LeaseOutcome::Held(last.clone());
            }
            Some(last) if last.is_in_force(claim.at) => last.number,
            last => last.map_or(1, |last| last.number.saturating_add(1)),
        };
        LeaseOutcome::Taken(Self { owner: claim.owner.clone(), number, until: claim.until })
    }

    /// Decides a release: returns the ended lease, or `None` if `number` is not that of the last
    /// lease. Its number rises, so that a commit with the released number is refused.
    #[must_use]
    pub fn release(&self, number: u64, at: Timestamp) -> Option<Self> {
        let until = self.until.min(at);
        (self.number == number).then(|| Self {
            number: number.saturating_add(1),
            until,
            ..self.clone()
        })
    }

    /// Refuses a commit that the chat's last lease excludes: one with another fencing number, or
    /// one without a number while the lease is in force. A commit with the number of the last lease
    /// passes after the lease has ended, too: nobody has taken it over. A commit without a number
    /// that holds nothing but a patch passes always, as
    /// [`update_chat`](crate::store::HistoryStore::update_chat) does.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Conflict`], never worth a retry, with the facts `chat`, `holder`, `number` and
    /// `until` (microseconds since 1970), and a [`LeaseRefusal`] as its source.
    pub fn check_commit(last: Option<&Self>, commit: &Commit) -> Result<()> {
        let admitted = match (last, commit.lease) {
            (None, None) => true,
            (None, Some(_)) => false,
            (Some(last), Some(number)) => last.number == number,
            (Some(last), None) => !last.is_in_force(commit.at) || only_patches(commit),
        };
        if admitted { Ok(()) } else { Err(LeaseRefusal::error(last, commit)) }
    }
}

fn only_patches(commit: &Commit) -> bool {
    let Commit { target, nodes, amendments, redactions, fragments, .. } = commit;
    *target == Target::Stay
        && nodes.is_empty()
        && amendments.is_empty()
        && redactions.is_empty()
        && fragments.is_empty()
}

/// Gives one writer of a chat at a time a lease, which excludes the commits of all others.
///
/// A writer takes the lease and puts its number into [`Commit::lease`]. Every store checks the
/// number in the transaction of the commit, so a writer that was suspended while another took the
/// lease over writes nothing. A commit without a number is refused while a lease is in force, and
/// is unaffected otherwise. Only commits are checked: other changes of a chat, such as those of its
/// title, its fragments and the active branch, are open to all, and so is its deletion.
///
/// Stores have no clock. A lease is in force by the times that callers pass, so their clocks must
/// agree to well within the time to live. The fencing number does not depend on clocks.
///
/// A lease belongs to a chat and is deleted with it. A chat that does not exist is
/// [`NotFound`](ErrorKind::NotFound) for every call. Calls on leases do not change the chat:
/// [`Chat::updated_at`](crate::store::Chat::updated_at) stays.
///
/// Contract with implementors, in addition to that of [`Store`](crate::Store): each call is one
/// transaction, and [`Lease::take`], [`Lease::release`] and [`Lease::check_commit`] decide.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes the lease, renews it, or takes it over after it has ended. Of all claims, one wins.
    async fn take_lease(&self, chat: &ChatRef, claim: &LeaseClaim) -> Result<LeaseOutcome>;

    /// Ends the lease with this number. Returns false if the last lease of the chat has another
    /// number, as after a repeated call.
    async fn release_lease(&self, chat: &ChatRef, number: u64, at: Timestamp) -> Result<bool>;

    /// Returns the last lease of the chat, in force or ended.
    async fn lease(&self, chat: &ChatRef) -> Result<Option<Lease>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn taken(last: Option<&Lease>, owner: &str, second: i64) -> Lease {
        match Lease::take(last, &LeaseClaim::new(owner, at(second), Duration::from_secs(10))) {
            LeaseOutcome::Taken(lease) => lease,
            LeaseOutcome::Held(lease) => panic!("held by {lease:?}"),
        }
    }

    fn commit(lease: Option<u64>, second: i64) -> Commit {
        let target = Target::Extend { branch: "main".into(), expected: None };
        Commit { lease, ..Commit::new(ChatRef::new("u", "c"), target, at(second)) }
    }

    #[test]
    fn a_renewed_lease_keeps_its_number_and_an_ended_one_does_not() {
        let first = taken(None, "a", 0);
        assert_eq!(taken(Some(&first), "a", 5), Lease::new("a", 1, at(15)));
        assert_eq!(taken(Some(&first), "a", 10), Lease::new("a", 2, at(20)));
        let released = first.release(1, at(3)).unwrap();
        assert_eq!(released.release(1, at(4)), None);
        assert_eq!(taken(Some(&released), "b", 3), Lease::new("b", 3, at(13)));
    }

    #[test]
    fn a_commit_is_refused_by_number_or_by_time() {
        let lease = taken(None, "a", 0);
        for (number, second, passes) in [
            (None, 9, false),
            (None, 10, true),
            (Some(1), 9, true),
            (Some(1), 10, true),
            (Some(2), 9, false),
        ] {
            let checked = Lease::check_commit(Some(&lease), &commit(number, second));
            assert_eq!(checked.is_ok(), passes, "{number:?} at {second}");
        }
        let refused = Lease::check_commit(Some(&lease), &commit(None, 9)).unwrap_err();
        assert_eq!((refused.kind(), refused.retry()), (ErrorKind::Conflict, Retry::Never));
        assert_eq!((refused.get("holder"), refused.get("until")), (Some("a"), Some("10000000")));
        assert_eq!(LeaseRefusal::of(&refused).unwrap().lease.as_ref(), Some(&lease));
        let patch = Commit { target: Target::Stay, ..commit(None, 9) };
        assert!(Lease::check_commit(Some(&lease), &patch).is_ok());
        assert!(Lease::check_commit(Some(&lease), &Commit { lease: Some(2), ..patch }).is_err());
        assert!(Lease::check_commit(None, &commit(None, 0)).is_ok());
        assert!(Lease::check_commit(None, &commit(Some(1), 0)).is_err());
    }

    #[test]
    fn a_claim_of_no_time_is_refused() {
        let chat = ChatRef::new("u", "c");
        assert!(LeaseClaim::new("a", at(0), Duration::ZERO).check(&chat).is_err());
        assert!(LeaseClaim::new("", at(0), Duration::MAX).check(&chat).is_err());
        assert!(LeaseClaim::new("a", at(0), Duration::MAX).check(&chat).is_ok());
    }
}
