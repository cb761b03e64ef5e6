//! The plan of a fault injection, as data.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// A call of the store traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is named after the call it is")]
pub enum Operation {
    CreateChat,
    Chat,
    ListChats,
    UpdateChat,
    DeleteChat,
    ChatSize,
    Commit,
    Branches,
    ActivateBranch,
    RenameBranch,
    DeleteBranch,
    SetCheckpoint,
    Checkpoints,
    DeleteCheckpoint,
    Chain,
    Messages,
    AllMessages,
    Revisions,
    Fragments,
    PutFragments,
    RemoveFragment,
    FragmentLog,
    ClearFragmentLog,
    RefLog,
    ClearRefLog,
    Search,
    PutBlob,
    Blob,
    ReadBlob,
    Blobs,
    RemoveBlob,
    PruneBlobs,
    CreateStream,
    ClaimStream,
    AppendStream,
    CancelStream,
    ReopenStream,
    Stream,
    ReadStream,
    Streams,
    RemoveStream,
    PruneStreams,
    WatchStream,
    /// A wait for a change of a watched stream.
    StreamChanged,
    RecordRound,
    LoadRounds,
    Rounds,
    NodesOfMessage,
    PruneRounds,
    WriteMemories,
    Memories,
    ListMemories,
    FindMemories,
    MemoryNeighbours,
    ForgetMemories,
    MemoryStats,
    Check,
    EraseUser,
    Vacuum,
    Backup,
}

impl Operation {
    /// The calls that change a chat.
    pub const WRITES: &[Self] = &[
        Self::CreateChat,
        Self::UpdateChat,
        Self::DeleteChat,
        Self::Commit,
        Self::ActivateBranch,
        Self::RenameBranch,
        Self::DeleteBranch,
        Self::SetCheckpoint,
        Self::DeleteCheckpoint,
        Self::PutFragments,
        Self::RemoveFragment,
    ];
    /// The calls that only read.
    pub const READS: &[Self] = &[
        Self::Chat,
        Self::ListChats,
        Self::ChatSize,
        Self::Branches,
        Self::Checkpoints,
        Self::Chain,
        Self::Messages,
        Self::AllMessages,
        Self::Revisions,
        Self::Fragments,
        Self::Search,
    ];

    /// The calls about earlier versions of fragments.
    pub const FRAGMENT_LOG: &[Self] = &[Self::FragmentLog, Self::ClearFragmentLog];

    /// The calls about the log of references.
    pub const REF_LOG: &[Self] = &[Self::RefLog, Self::ClearRefLog];

    /// The calls about blobs.
    pub const BLOBS: &[Self] = &[
        Self::PutBlob,
        Self::Blob,
        Self::ReadBlob,
        Self::Blobs,
        Self::RemoveBlob,
        Self::PruneBlobs,
    ];

    /// The calls about streams.
    pub const STREAMS: &[Self] = &[
        Self::CreateStream,
        Self::ClaimStream,
        Self::AppendStream,
        Self::CancelStream,
        Self::ReopenStream,
        Self::Stream,
        Self::ReadStream,
        Self::Streams,
        Self::RemoveStream,
        Self::PruneStreams,
        Self::WatchStream,
    ];

    /// The calls about rounds of trajectories.
    pub const ROUNDS: &[Self] = &[
        Self::RecordRound,
        Self::LoadRounds,
        Self::Rounds,
        Self::NodesOfMessage,
        Self::PruneRounds,
    ];

    /// The calls about memory records.
    pub const MEMORIES: &[Self] = &[
        Self::WriteMemories,
        Self::Memories,
        Self::ListMemories,
        Self::FindMemories,
        Self::MemoryNeighbours,
        Self::ForgetMemories,
        Self::MemoryStats,
    ];

    /// Returns the name of the call, as errors have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateChat => "create_chat",
            Self::Chat => "chat",
            Self::ListChats => "list_chats",
            Self::UpdateChat => "update_chat",
            Self::DeleteChat => "delete_chat",
            Self::ChatSize => "chat_size",
            Self::Commit => "commit",
            Self::Branches => "branches",
            Self::ActivateBranch => "activate_branch",
            Self::RenameBranch => "rename_branch",
            Self::DeleteBranch => "delete_branch",
            Self::SetCheckpoint => "set_checkpoint",
            Self::Checkpoints => "checkpoints",
            Self::DeleteCheckpoint => "delete_checkpoint",
            Self::Chain => "chain",
            Self::Messages => "messages",
            Self::AllMessages => "all_messages",
            Self::Revisions => "revisions",
            Self::Fragments => "fragments",
            Self::PutFragments => "put_fragments",
            Self::RemoveFragment => "remove_fragment",
            Self::FragmentLog => "fragment_log",
            Self::ClearFragmentLog => "clear_fragment_log",
            Self::RefLog => "ref_log",
            Self::ClearRefLog => "clear_ref_log",
            Self::Search => "search",
            Self::PutBlob => "put_blob",
            Self::Blob => "blob",
            Self::ReadBlob => "read_blob",
            Self::Blobs => "blobs",
            Self::RemoveBlob => "remove_blob",
            Self::PruneBlobs => "prune_blobs",
            Self::CreateStream => "create_stream",
            Self::ClaimStream => "claim_stream",
            Self::AppendStream => "append_stream",
            Self::CancelStream => "cancel_stream",
            Self::ReopenStream => "reopen_stream",
            Self::Stream => "stream",
            Self::ReadStream => "read_stream",
            Self::Streams => "streams",
            Self::RemoveStream => "remove_stream",
            Self::PruneStreams => "prune_streams",
            Self::WatchStream => "watch_stream",
            Self::StreamChanged => "stream_changed",
            Self::RecordRound => "record_round",
            Self::LoadRounds => "load_rounds",
            Self::Rounds => "rounds",
            Self::NodesOfMessage => "nodes_of_message",
            Self::PruneRounds => "prune_rounds",
            Self::WriteMemories => "write_memories",
            Self::Memories => "memories",
            Self::ListMemories => "list_memories",
            Self::FindMemories => "find_memories",
            Self::MemoryNeighbours => "memory_neighbours",
            Self::ForgetMemories => "forget_memories",
            Self::MemoryStats => "memory_stats",
            Self::Check => "check",
            Self::EraseUser => "erase_user",
            Self::Vacuum => "vacuum",
            Self::Backup => "backup",
        }
    }
}

/// A fault of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// The call does nothing and fails, as if the store were unreachable.
    BeforeApply,
    /// The call takes effect and then fails, as if the reply were lost.
    AfterApply,
    /// The call does nothing and never returns.
    Hang,
    /// The call takes effect and never returns.
    HangAfterApply,
    /// The call begins after this many yields to the runtime.
    Delay(u32),
}

/// A fault and the call that it affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlannedFault {
    /// The kind of call.
    pub operation: Operation,
    /// The index of the affected call among those of its kind, from 0.
    pub nth: u32,
    /// The fault.
    pub fault: Fault,
}

/// A list of faults. Displayed as JSON, which can be pasted into a test and parsed there.
///
/// ```
/// use context_simulator::faults::{Fault, FaultPlan, Operation};
///
/// let plan = FaultPlan::default().with(Operation::Commit, 2, Fault::AfterApply);
/// assert_eq!(plan.to_string(), r#"[{"operation":"commit","nth":2,"fault":"after_apply"}]"#);
/// assert_eq!(serde_json::from_str::<FaultPlan>(&plan.to_string())?, plan);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FaultPlan {
    /// The faults. If two affect the same call, the first counts.
    pub faults: Vec<PlannedFault>,
}

impl FaultPlan {
    /// Returns the plan with another fault.
    #[must_use]
    pub fn with(mut self, operation: Operation, nth: u32, fault: Fault) -> Self {
        self.faults.push(PlannedFault { operation, nth, fault });
        self
    }

    /// Returns a plan with `faults` faults among the first `calls` calls of each of these
    /// operations: lost replies, calls that did not arrive, delays. No call hangs. The same seed
    /// gives the same plan.
    pub fn random(seed: u64, operations: &[Operation], calls: u32, faults: usize) -> Self {
        let mut random = Random::new(seed);
        let mut plan = Self::default();
        for _ in 0..faults {
            let Some(operation) = operations.get(random.below(operations.len())) else { break };
            let nth = random.below(calls as usize) as u32;
            let fault = match random.below(5) {
                0 | 1 => Fault::AfterApply,
                2 | 3 => Fault::BeforeApply,
                _ => Fault::Delay(1 + random.below(3) as u32),
            };
            plan = plan.with(*operation, nth, fault);
        }
        plan
    }

    pub(crate) fn fault(&self, operation: Operation, nth: u32) -> Option<Fault> {
        let planned =
            self.faults.iter().find(|planned| planned.operation == operation && planned.nth == nth);
        planned.map(|planned| planned.fault)
    }
}

impl fmt::Display for FaultPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_plan_and_a_plan_is_read_as_it_is_shown() {
        for seed in 0..50 {
            let plan = FaultPlan::random(seed, Operation::WRITES, 20, 6);
            assert_eq!(plan, FaultPlan::random(seed, Operation::WRITES, 20, 6));
            assert_eq!(plan.faults.len(), 6);
            assert_eq!(serde_json::from_str::<FaultPlan>(&plan.to_string()).unwrap(), plan);
        }
        assert_eq!(FaultPlan::random(1, &[], 20, 6), FaultPlan::default());
    }

    #[test]
    fn operations_are_called_as_errors_call_them() {
        let all = [
            Operation::WRITES,
            Operation::READS,
            Operation::BLOBS,
            Operation::STREAMS,
            Operation::ROUNDS,
            Operation::MEMORIES,
        ];
        for operation in all.into_iter().flatten() {
            let json = serde_json::to_value(operation).unwrap();
            assert_eq!(json, operation.as_str());
        }
    }
}
