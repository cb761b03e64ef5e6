//! What a case is.

use std::fmt;
use std::pin::Pin;

use crate::checked::Verdict;
use crate::lab::Lab;

/// A question to a store. The table of them is the suite: a case that is added there reaches every
/// store that is tested with a newer kit.
#[derive(Debug)]
#[non_exhaustive]
pub struct Case {
    /// What it is about.
    pub group: &'static str,
    /// What must hold; unique in its group.
    pub name: &'static str,
    /// What the store must be able to do to be asked.
    pub requires: Requires,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&Lab) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>>;

/// What a store must be able to do for a case. A store that lacks it is not asked; a store that
/// claims it in [`StoreInfo`](context_core::store::StoreInfo) and whose subject does not offer it
/// fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requires {
    /// Nothing: every store can.
    Nothing,
    /// To be reopened with everything in it.
    Durable,
    /// To be used through two handles.
    SecondHandle,
    /// [`Maintenance`](context_core::store::Maintenance).
    Maintenance,
    /// [`SearchStore`](context_core::store::SearchStore).
    Search,
    /// [`BlobStore`](context_core::store::BlobStore).
    Blobs,
    /// [`StreamStore`](context_core::store::StreamStore).
    Streams,
    /// [`TrajectoryStore`](context_core::store::TrajectoryStore).
    Trajectories,
    /// [`MemoryRecordStore`](context_core::store::MemoryRecordStore).
    Memories,
    /// To be opened by another process after one that used it was killed.
    Kill,
    /// To be used by several processes at once.
    SecondProcess,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

/// Makes the table of a group: `cases!("group": one, two, three if Durable)`.
macro_rules! cases {
    ($group:literal: $($name:ident $(if $requires:ident)?),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::case::Case] = &[$($crate::case::Case {
            group: $group,
            name: stringify!($name),
            requires: $crate::case::cases!(@requires $($requires)?),
            run: |lab| Box::pin(async move { $name(lab).await.into() }),
        }),+];
    };
    (@requires) => { $crate::case::Requires::Nothing };
    (@requires $requires:ident) => { $crate::case::Requires::$requires };
}
pub(crate) use cases;
