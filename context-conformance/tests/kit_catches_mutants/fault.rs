//! What can be wrong with a store, and the subject that opens stores with that wrong.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::Subject;
use context_core::{Result, Store};

use crate::mutant::Mutant;

/// How a store is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Appends wherever the head is.
    IgnoresExpected,
    /// Says that there was a conflict, but not where the branch is.
    HidesTheActualHead,
    /// Writes the fragments of a commit before it looks at the head.
    WritesBeforeChecking,
    ForgetsKeys,
    /// A known key is enough for a replay.
    ReplaysWithoutComparing,
    /// Returns the messages it has instead of one slot per id.
    DropsHoles,
    /// Follows at most 1,000 parents and says nothing.
    BoundsTheDepth,
    /// Reads the head, awaits, writes: right in every sequence, wrong in a race.
    ChecksAwaitsActs,
    ClaimsDurability,
    ForgetsOnReopen,
    SecondHandleIsAnotherStore,
    /// Looks messages up by chat alone.
    LeaksOtherUsers,
    /// The branch ends at the amended message.
    MovesHeadOnAmend,
    /// Keeps only the newest earlier revision.
    LosesRevisions,
    /// Numbers a version by how many branches begin with its name.
    CountsVersions,
    TruncatesWindows,
    /// Passes the end of a chain for the whole.
    HidesWhatWasSkipped,
    /// Gives only what is new, whatever was amended.
    HidesAmendments,
    TruncatesBodies,
    EndsBodiesAtNul,
    MovesReplacedFragments,
    KeepsFragmentsTwice,
    /// Forgets the chat, but not what was in it.
    DeleteLeavesMessages,
    /// Writes a commit in two steps.
    AwaitsBetweenWrites,
    /// Counts by reading and setting.
    ReadsThenPatches,
    /// Amends instead of redacting.
    RedactingKeepsRevisions,
    /// Deletes a branch wherever it is.
    DeletesBranchesThatMoved,
    /// Deletes the whole chain of a branch.
    DeletingTakesSharedMessages,
    /// Deletes a branch and none of its messages.
    DeletingLeavesOrphans,
    /// A renamed branch goes to the end of the list.
    RenamingMovesBranches,
    /// Finds whatever the stored form holds.
    SearchesJson,
    SearchesAllUsers,
    SearchesAllBranches,
    /// Gives what was typed a meaning.
    SearchesAsSyntax,
    SearchSkipsBetweenPages,
    /// Fragments come back with a chat of the same name.
    ErasingLeavesFragments,
    /// Whoever claims a stream is told to have won.
    HasTwoWriters,
    TakesChunksBehindGaps,
    WritesReplaysTwice,
    /// Chunks where there are some already are taken for a repetition, whatever they are.
    ReplaysOtherChunks,
    /// A stream that was taken over is still written to by the writer before.
    LetsOldWritersGoOn,
    /// Says how a stream ended, and then writes what stands before the end.
    EndsBeforeTheLastChunks,
    CancellingEndsWhatRuns,
    /// Takes no notice of the run that the caller has seen.
    BeginsAnyRunAnew,
    CreatingBeginsAnew,
    LosesEmptyChunks,
    PrunesWhatRuns,
    /// Writes to a round wherever it is.
    IgnoresRevisions,
    /// Says that there was a conflict, but not where the round is.
    HidesTheActualRevision,
    /// Reads the revision, awaits, writes.
    ChecksRevisionsThenWrites,
    ForgetsKeysOfRounds,
    MixesSessions,
    MixesAgents,
    DropsVersions,
    EndsTextsAtNul,
    SortsKeysOfJson,
    RoundsTimes,
    LosesLinksOfChangedNodes,
    DropsReferencesToEarlierRounds,
    SortsEdges,
    /// Nodes of a round that were removed stay.
    ForgetsRemovals,
    /// A reader sees a round without its last node while it is written.
    WritesHalfRounds,
    ListingSkipsBetweenPages,
    ListsLowestFirst,
    /// Takes `before` for `until`.
    ListsRoundsAtTheEndToo,
    /// The tenth node before the second.
    SortsNodesAsText,
    PrunesWhateverItsTime,
    PrunesAllAgents,
    /// Looks in the user's own scope, too.
    WidensScopes,
    /// Files under the names of a scope with a sign between them.
    JoinsScopes,
    KeepsWordsOfRewritten,
    /// What was forgotten comes back with the next absent write.
    LosesMarks,
    /// What was forgotten stays so, whatever is forgotten or erased later.
    MarksOutliveScopes,
    /// Vectors stay when their record is forgotten or written over.
    KeepsVectors,
    /// Words are as common as they are among the kinds that are looked for.
    CountsAskedKinds,
    FindsAllKinds,
    FoldsWords,
    OldestOfEqualFirst,
    ComparesEmbedders,
    /// Of many records only the newest are looked at, whatever words they have.
    LooksAtTheNewest,
    /// What stands before a conflict is written.
    WritesHalfBatches,
    IgnoresVersions,
    /// Reads the version, awaits, writes.
    ChecksVersionsThenWrites,
    ReplaysAreConflicts,
    BesideAnySession,
    SortsMemoriesByName,
    MovesRewritten,
    EndsMemoriesAtNul,
    ListsSkipMemories,
    StatsOfAllUsers,
    /// What is filed more narrowly stays.
    ForgetsTheScopeAlone,
    /// A message is forgotten with its session.
    ForgetsWholeSessions,
    /// `Debug` prints a title.
    ShowsContent,
    Panics,
}

/// Stores with a fault, by namespace.
pub(crate) struct Mutants {
    fault: Fault,
    open: Mutex<HashMap<String, Mutant>>,
}

impl Mutants {
    pub(crate) fn of(fault: Fault) -> Self {
        Self { fault, open: Mutex::default() }
    }

    fn get(&self, namespace: &str) -> Option<Arc<dyn Store>> {
        self.open
            .lock()
            .expect("no holder panics")
            .get(namespace)
            .map(|mutant| Arc::new(mutant.clone()) as Arc<dyn Store>)
    }
}

#[async_trait]
impl Subject for Mutants {
    fn name(&self) -> &str {
        "mutant"
    }

    async fn open(&self, namespace: &str) -> Result<Arc<dyn Store>> {
        let mutant = Mutant::new(self.fault);
        self.open.lock().expect("no holder panics").insert(namespace.to_owned(), mutant.clone());
        Ok(Arc::new(mutant))
    }

    async fn reopen(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        match self.fault {
            Fault::ClaimsDurability => Ok(None),
            Fault::ForgetsOnReopen => self.open(namespace).await.map(Some),
            _ => Ok(self.get(namespace)),
        }
    }

    async fn second_handle(&self, namespace: &str) -> Result<Option<Arc<dyn Store>>> {
        match self.fault {
            Fault::SecondHandleIsAnotherStore => self.open(namespace).await.map(Some),
            _ => Ok(self.get(namespace)),
        }
    }
}
