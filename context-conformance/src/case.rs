//! A case of the suite, and the abilities it needs.

use std::fmt;
use std::pin::Pin;

use crate::case_context::CaseContext;
use crate::verdict::Verdict;

/// One check of a store. The table of cases is the suite: a case added there is run against every
/// store that is tested with the newer version.
#[derive(Debug)]
#[non_exhaustive]
pub struct Case {
    /// The topic of the case.
    pub group: &'static str,
    /// The property that must hold. Unique in its group.
    pub name: &'static str,
    /// The ability that the store needs for the case to run.
    pub requires: Requires,
    pub(crate) run: CaseFn,
}

pub(crate) type CaseFn = fn(&CaseContext) -> Pin<Box<dyn Future<Output = Verdict> + Send + '_>>;

/// The ability that a case needs. A store without the ability skips the case. A store that claims
/// the ability in [`StoreInfo`](context_core::store::StoreInfo) fails if its subject does not offer
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Requires {
    /// No ability.
    Nothing,
    /// The store can be reopened with its contents.
    Durable,
    /// The store can be used through two handles.
    SecondHandle,
    /// [`Maintenance`](context_core::store::Maintenance).
    Maintenance,
    /// [`FragmentLogStore`](context_core::store::FragmentLogStore).
    FragmentLog,
    /// [`RefLogStore`](context_core::store::RefLogStore).
    RefLog,
    /// [`SearchStore`](context_core::store::SearchStore).
    Search,
    /// [`BlobStore`](context_core::store::BlobStore).
    Blobs,
    /// [`StreamStore`](context_core::store::StreamStore).
    Streams,
    /// [`LeaseStore`](context_core::store::LeaseStore).
    Leases,
    /// [`TrajectoryStore`](context_core::store::TrajectoryStore).
    Trajectories,
    /// [`MemoryRecordStore`](context_core::store::MemoryRecordStore).
    Memories,
    /// Another process can open the store after a process that used it was killed.
    Kill,
    /// Several processes can use the store at once.
    SecondProcess,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}::{}", self.group, self.name)
    }
}

/// Builds the table of a group: `cases!("group": one, two, three if Durable)`.
macro_rules! cases {
    ($group:literal: $($name:ident $(if $requires:ident)?),+ $(,)?) => {
        pub(crate) const CASES: &[$crate::case::Case] = &[$($crate::case::Case {
            group: $group,
            name: stringify!($name),
            requires: $crate::case::cases!(@requires $($requires)?),
            run: |case| Box::pin(async move { $name(case).await.into() }),
        }),+];
    };
    (@requires) => { $crate::case::Requires::Nothing };
    (@requires $requires:ident) => { $crate::case::Requires::$requires };
}
pub(crate) use cases;
