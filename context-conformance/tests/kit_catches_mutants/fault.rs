//! The faults of mutants, and the subject that opens stores with a fault.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::StoreFixture;
use context_core::{Result, Store};

use crate::mutant::Mutant;

/// The fault of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// Appends at any head.
    IgnoresExpected,
    /// Grafts onto a chain without the head that the writer saw.
    GraftsOntoAnyChain,
    /// Puts grafted messages in the place of those that came first.
    GraftsOverOthers,
    /// Says that a graft follows the head that the writer saw, wherever it was appended.
    HidesWhatAGraftFollows,
    /// Refuses a graft if the head has moved on.
    RefusesGraftsThatLost,
    /// Opens a chat on its first branch, whichever is active.
    OpensTheFirstBranch,
    /// Opens a chat without its fragments.
    OpensWithoutFragments,
    /// Reports a conflict without the actual head.
    HidesTheActualHead,
    /// Writes the fragments of a commit before it checks the head.
    WritesBeforeChecking,
    ForgetsKeys,
    /// Takes a known key as sufficient for a replay.
    ReplaysWithoutComparing,
    /// Returns the existing messages instead of one slot per id.
    DropsHoles,
    /// Follows at most 1,000 parents, silently.
    BoundsTheDepth,
    /// Reads the head, awaits, writes: correct in any sequence, wrong in a race.
    ChecksAwaitsActs,
    ClaimsDurability,
    ForgetsOnReopen,
    SecondHandleIsAnotherStore,
    /// Looks messages up by chat alone.
    LeaksOtherUsers,
    /// Moves the head of the branch to the amended message.
    MovesHeadOnAmend,
    /// Keeps only the newest earlier revision.
    LosesRevisions,
    /// Numbers a version by the number of branches whose names begin with its name.
    CountsVersions,
    TruncatesWindows,
    /// Returns the end of a chain as the whole chain.
    HidesWhatWasSkipped,
    /// Returns new messages only, even if others were amended.
    HidesAmendments,
    TruncatesBodies,
    EndsBodiesAtNul,
    MovesReplacedFragments,
    KeepsFragmentsTwice,
    /// Deletes the chat, but not its messages.
    DeleteLeavesMessages,
    /// Writes a commit in two steps.
    AwaitsBetweenWrites,
    /// Increments a counter by reading and setting it.
    ReadsThenPatches,
    /// Amends instead of redacting.
    RedactingKeepsRevisions,
    /// Deletes a branch at any head.
    DeletesBranchesThatMoved,
    /// Deletes the whole chain of a branch.
    DeletingTakesSharedMessages,
    /// Deletes a branch but none of its messages.
    DeletingLeavesOrphans,
    /// Moves a renamed branch to the end of the list.
    RenamingMovesBranches,
    /// Searches the stored form instead of the text.
    SearchesJson,
    SearchesAllUsers,
    SearchesAllBranches,
    /// Interprets the query as syntax.
    SearchesAsSyntax,
    SearchSkipsBetweenPages,
    LogLeavesRemovalsOut,
    LogForgetsMessages,
    ClearingKeepsTheLog,
    /// Deletes branches and checkpoints without an entry in the log of references.
    RefLogLeavesDeletionsOut,
    /// Adds an entry for a commit that only appends.
    RefLogHasAppends,
    ClearingKeepsTheRefLog,
    /// Brings fragments back with a new chat of the same name.
    ErasingLeavesFragments,
    FactsAreOfTheEpoch,
    FactsHaveMoreUnused,
    /// Knows its size only if there are messages.
    FactsNeedMessages,
    /// Reports the room that is left as its size.
    FactsAreOfTheRoomLeft,
    FactsCreateAChat,
    ErasesInSilence,
    /// Reports success to every caller that claims a stream.
    HasTwoWriters,
    TakesChunksBehindGaps,
    WritesReplaysTwice,
    /// Takes chunks at an existing offset for a replay, whatever their content.
    ReplaysOtherChunks,
    /// Accepts chunks of the previous writer after a stream was taken over.
    LetsOldWritersGoOn,
    /// Records the end of a stream before its last chunks.
    EndsBeforeTheLastChunks,
    CancellingEndsWhatRuns,
    /// Ignores the run that the caller has seen.
    BeginsAnyRunAnew,
    CreatingBeginsAnew,
    /// Applies commits under any lease.
    LetsOldOwnersCommit,
    /// Applies commits without a lease while one is in force.
    CommitsPastLeases,
    /// Acknowledges commits that ask for more than the store can give.
    ClaimsAnyDurability,
    /// Refuses commits that ask for too much after writing them.
    RefusesDurabilityTooLate,
    /// Refuses commits that ask for less than the store's own durability.
    GivesItsOwnDurabilityOnly,
    /// Takes a repeated commit with another durability for another commit.
    ComparesDurability,
    LosesEmptyChunks,
    PrunesWhatRuns,
    /// Begins a watch of a stream with the first wait.
    WatchesTooLate,
    /// Writes to a round at any revision.
    IgnoresRevisions,
    /// Reports a conflict without the actual revision.
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
    /// Keeps removed nodes of a round.
    ForgetsRemovals,
    /// Shows a round without its last node while the round is written.
    WritesHalfRounds,
    ListingSkipsBetweenPages,
    ListsLowestFirst,
    /// Takes `before` as inclusive.
    ListsRoundsAtTheEndToo,
    /// Lists the tenth node before the second.
    SortsNodesAsText,
    PrunesWhateverItsTime,
    PrunesAllAgents,
    /// Searches the scope of the user, too.
    WidensScopes,
    /// Joins the names of a scope with a separator.
    JoinsScopes,
    KeepsWordsOfRewritten,
    /// Brings forgotten records back with the next conditional write.
    LosesMarks,
    /// Keeps marks of forgotten records after their scope is forgotten or erased.
    MarksOutliveScopes,
    /// Keeps the vectors of forgotten or overwritten records.
    KeepsVectors,
    /// Counts the frequency of words only among the requested kinds.
    CountsAskedKinds,
    FindsAllKinds,
    FoldsWords,
    OldestOfEqualFirst,
    ComparesEmbedders,
    /// Considers only the newest of many records, whatever their words.
    LooksAtTheNewest,
    /// Writes the records before a conflict.
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
    /// Keeps records of narrower scopes.
    ForgetsTheScopeAlone,
    /// Forgets the whole session of a message.
    ForgetsWholeSessions,
    /// Prints a title in its `Debug` output.
    ShowsContent,
    Panics,
}

/// A subject that opens mutants. Keeps them by namespace.
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
impl StoreFixture for Mutants {
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
