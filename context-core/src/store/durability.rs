//! Durability: the failures that an acknowledged write survives.

use crate::store::Commit;
use crate::{Error, ErrorKind, Result};

/// The failures that an acknowledged write survives, from the weakest to the strongest. A store
/// [reports](crate::store::StoreInfo) its own, and a [commit](Commit::durability) may ask for
/// another.
///
/// ```
/// use context_core::store::{Commit, Durability, DurabilityRefusal, Target};
/// use context_core::{ChatRef, Timestamp};
///
/// let commit = Commit {
///     durability: Some(Durability::PowerLoss),
///     ..Commit::new(ChatRef::new("ada", "trip"), Target::Stay, Timestamp::default())
/// };
/// assert!(Durability::PowerLoss.check_commit(&commit).is_ok());
/// // As a store in memory does:
/// let error = Durability::Process.check_commit(&commit).unwrap_err();
/// let refusal = DurabilityRefusal::of(&error).unwrap();
/// assert_eq!((refusal.asked, refusal.strongest), (Durability::PowerLoss, Durability::Process));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Durability {
    /// Writes are lost when the process ends.
    Process,
    /// Writes survive this process. The newest writes may be lost if the server that keeps them
    /// crashes.
    Server,
    /// Writes survive a crash of the process, and of the server if there is one. The newest writes
    /// may be lost in a power failure.
    ProcessCrash,
    /// Writes survive a power failure.
    PowerLoss,
}

impl Durability {
    /// Refuses a commit that asks for more than this, the strongest durability that a store can
    /// give. For implementors, before anything is written: the error is
    /// [`ErrorKind::Unsupported`], and a [`DurabilityRefusal`] is its source.
    pub fn check_commit(self, commit: &Commit) -> Result<()> {
        let Some(asked) = commit.durability.filter(|asked| *asked > self) else { return Ok(()) };
        let message = "the store cannot give the durability that the commit asks for";
        Err(Error::new(ErrorKind::Unsupported, "commit", message)
            .with("chat", &commit.chat.chat)
            .with("asked", format_args!("{asked:?}"))
            .with("strongest", format_args!("{self:?}"))
            .with_source(DurabilityRefusal { asked, strongest: self }))
    }
}

/// The reason why a commit was refused with [`ErrorKind::Unsupported`]: it asks for a durability
/// that the store cannot give. Nothing was written. The source of the error; see
/// [`DurabilityRefusal::of`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("the store gives at most {strongest:?}, and the commit asks for {asked:?}")]
#[non_exhaustive]
pub struct DurabilityRefusal {
    /// The durability that the commit asks for.
    pub asked: Durability,
    /// The strongest durability that the store can give.
    pub strongest: Durability,
}

crate::readable_debug!(DurabilityRefusal);

impl DurabilityRefusal {
    /// Returns the refusal that an error carries, if a durability is its cause.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }
}
