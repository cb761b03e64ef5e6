//! The Lua scripts. Each works on keys of one slot and takes times and numbers as arguments. A
//! script cannot be rolled back, so each script reads everything before its first write.

use std::sync::LazyLock;

use redis::Script;

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident = $($file:literal)+;)+) => {
        $($(#[$doc])*
        pub(crate) static $name: LazyLock<Script> =
            LazyLock::new(|| Script::new(concat!($(include_str!($file)),+)));)+
    };
}

scripts! {
    /// Appends new messages to a branch.
    APPEND = "lua/sums.lua" "lua/append_one.lua" "lua/runs.lua" "lua/append.lua";
    /// Reads the window of a chain.
    CHAIN = "lua/runs.lua" "lua/chain.lua";
    /// Reads runs by place.
    RANGES = "lua/runs.lua" "lua/ranges.lua";
    /// Reads the small state of a chat and some fields.
    LOOK = "lua/look.lua";
    /// Applies a change that was decided after a read.
    APPLY = "lua/sums.lua" "lua/runs.lua" "lua/apply.lua";
    CREATE = "lua/create.lua";
    DELETE = "lua/sums.lua" "lua/delete.lua";
    ABSENT = "lua/absent.lua";
    UNLIST = "lua/sums.lua" "lua/blobs.lua" "lua/unlist.lua";
    BLOB_PUT = "lua/sums.lua" "lua/blobs.lua" "lua/blob_put.lua";
    BLOB_READ = "lua/sums.lua" "lua/blobs.lua" "lua/blob_read.lua";
    BLOB_LIST = "lua/sums.lua" "lua/blobs.lua" "lua/blob_list.lua";
    BLOB_DROP = "lua/sums.lua" "lua/blobs.lua" "lua/blob_drop.lua";
    BLOBS_CLEAR = "lua/sums.lua" "lua/blobs.lua" "lua/blobs_clear.lua";
    BLOB_FORGET = "lua/sums.lua" "lua/blobs.lua" "lua/blob_forget.lua";
    /// Appends chunks to a stream.
    STREAM_APPEND = "lua/sums.lua" "lua/streams.lua" "lua/stream_append.lua";
    STREAM_READ = "lua/streams.lua" "lua/stream_read.lua";
    /// Applies a change of a stream that was decided after a read.
    STREAM_APPLY = "lua/streams.lua" "lua/stream_apply.lua";
    /// Writes a commit to a round.
    ROUND_RECORD = "lua/rounds.lua" "lua/round_record.lua";
    ROUND_DROP = "lua/rounds.lua" "lua/round_drop.lua";
    ROUND_LOOK = "lua/rounds.lua" "lua/round_look.lua";
    ROUNDS_CLEAR = "lua/rounds.lua" "lua/rounds_clear.lua";
    /// Converts a hash of the previous layout.
    UPGRADE = "lua/upgrade.lua";
    /// Converts some fields of such a hash.
    UPGRADE_SOME = "lua/upgrade_some.lua";
    /// Writes memory records.
    MEMORY_WRITE = "lua/memories.lua" "lua/memory_write.lua";
    MEMORY_FORGET = "lua/memories.lua" "lua/memory_forget.lua";
    MEMORY_DROP = "lua/memories.lua" "lua/memory_drop.lua";
    MEMORY_CLEAR = "lua/memories.lua" "lua/memory_clear.lua";
    MEMORY_LOOK = "lua/memory_look.lua";
}
