//! What is known of a call of the seam before it is made.
#![cfg_attr(not(feature = "traced"), allow(dead_code, reason = "only traces look at calls"))]

use context_core::store::{
    ChatPatch, Commit, MemoryWrite, NewBlob, NewChat, RoundCommit, StoredFragment, StreamAppend,
};
use context_core::{ChatId, ChatRef, UserId};

/// Hands every call of the seam, as a variant and as the name of the method, to another macro.
macro_rules! operations {
    ($then:ident) => {
        $then! {
            CreateChat create_chat, Chat chat, ListChats list_chats, UpdateChat update_chat,
            DeleteChat delete_chat, ChatSize chat_size, Commit commit, Branches branches,
            ActivateBranch activate_branch, RenameBranch rename_branch, DeleteBranch delete_branch,
            SetCheckpoint set_checkpoint, Checkpoints checkpoints,
                DeleteCheckpoint delete_checkpoint,
            Chain chain, Messages messages, AllMessages all_messages, Revisions revisions,
            Fragments fragments, PutFragments put_fragments, RemoveFragment remove_fragment,
            Search search,
            PutBlob put_blob, Blob blob, ReadBlob read_blob, Blobs blobs, RemoveBlob remove_blob,
            PruneBlobs prune_blobs,
            CreateStream create_stream, ClaimStream claim_stream, AppendStream append_stream,
            CancelStream cancel_stream, ReopenStream reopen_stream, Stream stream,
                ReadStream read_stream,
            Streams streams, RemoveStream remove_stream, PruneStreams prune_streams,
            RecordRound record_round, LoadRounds load_rounds, Rounds rounds,
                NodesOfMessage nodes_of_message,
            PruneRounds prune_rounds,
            WriteMemories write_memories, Memories memories, ListMemories list_memories,
            FindMemories find_memories, MemoriesBeside memories_beside,
                ForgetMemories forget_memories,
            MemoryStats memory_stats,
            Check check, EraseUser erase_user, Users users, Vacuum vacuum, Backup backup,
        }
    };
}
#[cfg(feature = "traced")]
pub(crate) use operations;

macro_rules! make_operation {
    ($($variant:ident $name:ident),+ $(,)?) => {
        /// A call of the seam.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Operation {
            $($variant),+
        }
    };
}
operations!(make_operation);

/// What a call sends.
#[derive(Clone, Copy)]
pub(crate) enum Sent<'a> {
    /// Names and numbers alone.
    Nothing,
    Chat(&'a NewChat),
    Patch(&'a ChatPatch),
    Commit(&'a Commit),
    /// This many ids.
    Ids(usize),
    Fragments(&'a [StoredFragment]),
    /// What is searched for.
    Text(&'a str),
    Blob(&'a NewBlob),
    Chunks(&'a StreamAppend),
    Round(&'a RoundCommit),
    Memories(&'a [MemoryWrite]),
    /// By which memories are looked for.
    Words(&'a [String]),
}

/// A call: what is asked for, of whom, and what is sent along.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) operation: Operation,
    pub(crate) user: Option<&'a UserId>,
    pub(crate) chat: Option<&'a ChatId>,
    pub(crate) sent: Sent<'a>,
}

impl<'a> Call<'a> {
    /// A call about the store as a whole.
    pub(crate) fn new(operation: Operation) -> Self {
        Self { operation, user: None, chat: None, sent: Sent::Nothing }
    }

    /// A call about a chat.
    pub(crate) fn of(operation: Operation, chat: &'a ChatRef) -> Self {
        Self { user: Some(&chat.user), chat: Some(&chat.chat), ..Self::new(operation) }
    }

    /// A call about a user.
    pub(crate) fn about(operation: Operation, user: &'a UserId) -> Self {
        Self { user: Some(user), ..Self::new(operation) }
    }

    pub(crate) fn within(mut self, chat: Option<&'a ChatId>) -> Self {
        self.chat = chat;
        self
    }

    pub(crate) fn sends(mut self, sent: Sent<'a>) -> Self {
        self.sent = sent;
        self
    }
}
