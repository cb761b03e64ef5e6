//! A description of a call before it is made.
#![cfg_attr(not(feature = "traced"), allow(dead_code, reason = "only traces look at calls"))]

use context_core::store::{
    ChatPatch, Commit, MemoryWrite, NewBlob, NewChat, RoundCommit, StoredFragment, StreamAppend,
};
use context_core::{ChatId, ChatRef, UserId};

/// Passes every call of the store, as a variant and as the name of the method, to another macro.
macro_rules! operations {
    ($then:ident) => {
        $then! {
            CreateChat create_chat, Chat chat, ListChats list_chats, UpdateChat update_chat,
            DeleteChat delete_chat, ChatSize chat_size, Commit commit, Branches branches,
            ActivateBranch activate_branch, RenameBranch rename_branch, DeleteBranch delete_branch,
            SetCheckpoint set_checkpoint, Checkpoints checkpoints,
                DeleteCheckpoint delete_checkpoint,
            Chain chain, Messages messages, AllMessages all_messages, Revisions revisions,
            OpenChat open_chat,
            Fragments fragments, PutFragments put_fragments, RemoveFragment remove_fragment,
            FragmentLog fragment_log, ClearFragmentLog clear_fragment_log,
            RefLog ref_log, ClearRefLog clear_ref_log,
            Search search,
            PutBlob put_blob, Blob blob, ReadBlob read_blob, Blobs blobs, RemoveBlob remove_blob,
            PruneBlobs prune_blobs,
            CreateStream create_stream, ClaimStream claim_stream, AppendStream append_stream,
            CancelStream cancel_stream, ReopenStream reopen_stream, Stream stream,
                ReadStream read_stream,
            Streams streams, RemoveStream remove_stream, PruneStreams prune_streams,
                WatchStream watch_stream,
            RecordRound record_round, LoadRounds load_rounds, Rounds rounds,
                NodesOfMessage nodes_of_message,
            PruneRounds prune_rounds,
            WriteMemories write_memories, Memories memories, ListMemories list_memories,
            FindMemories find_memories, MemoryNeighbours memory_neighbours,
                ForgetMemories forget_memories,
            MemoryStats memory_stats,
            Check check, EraseUser erase_user, Users users, Facts facts, Vacuum vacuum,
            Backup backup,
        }
    };
}
#[cfg(feature = "traced")]
pub(crate) use operations;

macro_rules! make_operation {
    ($($variant:ident $name:ident),+ $(,)?) => {
        /// A call of the store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Operation {
            $($variant),+
        }
    };
}
operations!(make_operation);

/// The data that a call sends.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    /// Only names and numbers.
    Nothing,
    Chat(&'a NewChat),
    Patch(&'a ChatPatch),
    Commit(&'a Commit),
    /// This many ids.
    Ids(usize),
    Fragments(&'a [StoredFragment]),
    /// A search text.
    Text(&'a str),
    Blob(&'a NewBlob),
    Chunks(&'a StreamAppend),
    Round(&'a RoundCommit),
    Memories(&'a [MemoryWrite]),
    /// The words of a memory search.
    Words(&'a [String]),
}

/// A call: its operation, the user and chat it is about, and the data it sends.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    pub(crate) user: Option<&'a UserId>,
    pub(crate) chat: Option<&'a ChatId>,
    pub(crate) payload: Payload<'a>,
}

impl<'a> Call<'a> {
    /// Describes a call about the store as a whole.
    pub(crate) fn new(operation: Operation) -> Self {
        Self { operation, user: None, chat: None, payload: Payload::Nothing }
    }

    /// Describes a call about a chat.
    pub(crate) fn of(operation: Operation, chat: &'a ChatRef) -> Self {
        Self { user: Some(&chat.user), chat: Some(&chat.chat), ..Self::new(operation) }
    }

    /// Describes a call about a user.
    pub(crate) fn about(operation: Operation, user: &'a UserId) -> Self {
        Self { user: Some(user), ..Self::new(operation) }
    }

    pub(crate) fn within(mut self, chat: Option<&'a ChatId>) -> Self {
        self.chat = chat;
        self
    }

    pub(crate) fn with_payload(mut self, payload: Payload<'a>) -> Self {
        self.payload = payload;
        self
    }
}
