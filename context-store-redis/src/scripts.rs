//! The Lua scripts. Each works on keys of one slot and takes times and numbers as arguments. A
//! script cannot be rolled back, so each script reads everything before its first write.

pub(crate) mod reply;

use std::sync::LazyLock;

use redis::Script;

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident = $($file:literal)+;)+) => {
        $($(#[$doc])*
        pub(crate) static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!($(include_str!(concat!("scripts/lua/", $file))),+))
        });)+
    };
}

scripts! {
    /// Appends new messages to a branch.
    APPEND = "sums.lua" "append_few.lua" "runs.lua" "appends.lua" "append.lua";
    /// Reads the window of a chain.
    CHAIN = "runs.lua" "chain.lua";
    /// Reads runs by place.
    RANGES = "runs.lua" "ranges.lua";
    /// Reads the small state of a chat and some fields.
    CHAT_READ = "chat_read.lua";
    /// Applies a change that was decided after a read.
    APPLY = "sums.lua" "runs.lua" "appends.lua" "apply.lua";
    CREATE = "create.lua";
    DELETE = "sums.lua" "delete.lua";
    ABSENT = "absent.lua";
    UNLIST = "sums.lua" "blobs.lua" "unlist.lua";
    BLOB_PUT = "sums.lua" "blobs.lua" "blob_put.lua";
    BLOB_READ = "sums.lua" "blobs.lua" "blob_read.lua";
    BLOB_LIST = "sums.lua" "blobs.lua" "blob_list.lua";
    BLOB_DROP = "sums.lua" "blobs.lua" "blob_drop.lua";
    BLOBS_CLEAR = "sums.lua" "blobs.lua" "blobs_clear.lua";
    BLOB_FORGET = "sums.lua" "blobs.lua" "blob_forget.lua";
    /// Appends chunks to a stream.
    STREAM_APPEND = "sums.lua" "streams.lua" "stream_append.lua";
    STREAM_READ = "streams.lua" "stream_read.lua";
    /// Applies a change of a stream that was decided after a read.
    STREAM_APPLY = "streams.lua" "stream_apply.lua";
    /// Writes a commit to a round.
    ROUND_RECORD = "rounds.lua" "round_record.lua";
    ROUND_DROP = "rounds.lua" "round_drop.lua";
    ROUND_READ = "rounds.lua" "round_read.lua";
    ROUNDS_CLEAR = "rounds.lua" "rounds_clear.lua";
    /// Converts a hash of the previous layout.
    UPGRADE = "upgrade.lua";
    /// Converts some fields of such a hash.
    UPGRADE_SOME = "upgrade_some.lua";
    /// Writes memory records.
    MEMORY_WRITE = "memories.lua" "memory_write.lua";
    MEMORY_FORGET = "memories.lua" "memory_forget.lua";
    MEMORY_DROP = "memories.lua" "memory_drop.lua";
    MEMORY_CLEAR = "memories.lua" "memory_clear.lua";
    MEMORY_HEADS = "memory_heads.lua";
}
