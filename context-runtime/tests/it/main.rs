//! Tests of the facade through its public API.

#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[cfg(all(
    feature = "openai",
    feature = "anthropic",
    feature = "gemini",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "truncate-head"
))]
mod agent;
mod as_of;
#[cfg(all(feature = "cache", feature = "instructions"))]
mod boundary_reads;
mod busy_chat;
#[cfg(feature = "cache")]
mod cache;
mod circular_listings;
mod compaction_properties;
mod compactions;
mod compactions_removed;
mod conflicts;
mod curate;
mod durability;
mod edits;
mod erasure;
#[cfg(feature = "instructions")]
mod forks;
mod fragments;
#[cfg(feature = "instructions")]
mod incremental;
mod inspection;
#[cfg(feature = "instructions")]
mod instructions;
mod invariants;
mod kit;
mod large;
mod lazy_data;
mod lazy_messages;
mod leases;
#[cfg(all(feature = "summarize", feature = "tokens"))]
mod left_branches;
#[cfg(all(feature = "tokens", feature = "microcompact"))]
mod long_requests;
mod lost_replies;
#[cfg(all(feature = "layers", feature = "trajectory", feature = "sqlite"))]
mod masked_files;
mod message_graph;
mod migrate;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini", feature = "tokens"))]
mod model_call;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini", feature = "uimessage"))]
mod model_roundtrip;
mod navigate;
#[cfg(all(
    feature = "anthropic",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "truncate-head",
    feature = "memory",
    feature = "trajectory",
    feature = "layers"
))]
mod omissions;
#[cfg(all(feature = "instructions", feature = "anthropic"))]
mod own_codecs;
#[cfg(all(feature = "tokens", feature = "snip", feature = "summarize", feature = "truncate-head"))]
mod pins;
mod prompt;
#[cfg(feature = "tokens")]
mod prompt_cache;
mod provenance;
#[cfg(all(feature = "tokens", feature = "snip", feature = "anthropic"))]
mod provider_clearing;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
mod provider_rules;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini", feature = "tokens"))]
#[cfg(feature = "cache")]
mod read_ahead;
#[cfg(feature = "tokens")]
mod readable_media;
mod recall_places;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
mod recorded_chats;
mod recorded_usage;
#[cfg(all(feature = "truncate-head", feature = "strip-images"))]
mod recovery;
mod registry;
#[cfg(feature = "instructions")]
mod reminders;
#[cfg(all(feature = "memory", feature = "tokens", feature = "trajectory"))]
mod removal;
mod removal_copies;
mod removal_plan;
#[cfg(all(
    feature = "openai",
    feature = "anthropic",
    feature = "gemini",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "strip-images",
    feature = "summarize",
    feature = "truncate-head"
))]
mod reopened_chats;
mod repair;
#[cfg(all(
    feature = "openai",
    feature = "anthropic",
    feature = "gemini",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "strip-images",
    feature = "summarize",
    feature = "truncate-head"
))]
mod replay;
#[cfg(feature = "rescale")]
mod rescale;
mod retention;
#[cfg(feature = "tokens")]
mod runtime_cache;
#[cfg(feature = "tokens")]
mod runtime_compaction;
#[cfg(feature = "tokens")]
mod runtime_kit;
#[cfg(feature = "tokens")]
mod runtime_prepare;
#[cfg(feature = "tokens")]
mod runtime_recall;
#[cfg(all(
    feature = "anthropic",
    feature = "openai",
    feature = "gemini",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "truncate-head"
))]
mod sent;
#[cfg(all(feature = "postgres", feature = "redis"))]
mod servers;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
mod simulator;
mod standing_prompt;
mod streams;
mod threads;
#[cfg(feature = "tokens")]
mod tool_results;
mod transfer;
#[cfg(feature = "tokens")]
mod transient_messages;
#[cfg(feature = "transcript")]
mod trees;
#[cfg(all(
    feature = "agents",
    feature = "openai",
    feature = "anthropic",
    feature = "gemini",
    feature = "memory"
))]
mod turn;
mod turns;
#[cfg(all(
    feature = "anthropic",
    feature = "tokens",
    feature = "microcompact",
    feature = "snip",
    feature = "truncate-head",
    feature = "memory",
    feature = "trajectory",
    feature = "layers"
))]
mod two_users;
#[cfg(feature = "uimessage")]
mod ui_messages;
#[cfg(all(feature = "openai", feature = "anthropic", feature = "gemini"))]
mod wire_properties;
