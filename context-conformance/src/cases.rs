//! The table of cases, one module per group. Every table must be listed here, which a test checks.

mod amend;
mod asked_durability;
mod blob_references;
mod blobs;
mod branches;
mod cancel;
mod chats;
mod checkpoints;
mod commit;
mod concurrency;
mod durability;
mod fault;
mod fidelity;
mod fragment_log;
mod fragments;
mod grafts;
mod hygiene;
mod info;
mod isolation;
mod kill;
mod leases;
mod limits;
mod linear;
mod listing;
mod maintenance;
mod memories;
mod memory_listing;
mod memory_races;
mod memory_removal;
mod memory_scopes;
mod memory_search;
mod model;
mod opening;
mod processes;
mod read;
mod redact;
mod ref_log;
mod removal;
mod round_listing;
mod round_messages;
mod round_races;
mod round_removal;
mod round_values;
mod rounds;
mod search;
mod search_hits;
mod stream_races;
mod stream_reads;
mod stream_removal;
mod stream_watch;
mod streams;
mod windows;

use crate::case::Case;

const GROUPS: &[&[Case]] = &[
    info::CASES,
    chats::CASES,
    listing::CASES,
    commit::CASES,
    grafts::CASES,
    opening::CASES,
    branches::CASES,
    checkpoints::CASES,
    read::CASES,
    windows::CASES,
    amend::CASES,
    redact::CASES,
    removal::CASES,
    search::CASES,
    search_hits::CASES,
    fragments::CASES,
    fragment_log::CASES,
    ref_log::CASES,
    blobs::CASES,
    blob_references::CASES,
    streams::CASES,
    stream_reads::CASES,
    stream_races::CASES,
    stream_removal::CASES,
    stream_watch::CASES,
    leases::CASES,
    rounds::CASES,
    round_values::CASES,
    round_listing::CASES,
    round_messages::CASES,
    round_removal::CASES,
    round_races::CASES,
    memories::CASES,
    memory_listing::CASES,
    memory_search::CASES,
    memory_scopes::CASES,
    memory_removal::CASES,
    memory_races::CASES,
    fidelity::CASES,
    isolation::CASES,
    limits::CASES,
    hygiene::CASES,
    concurrency::CASES,
    linear::CASES,
    cancel::CASES,
    fault::CASES,
    durability::CASES,
    asked_durability::CASES,
    processes::CASES,
    kill::CASES,
    maintenance::CASES,
    model::CASES,
];

/// Returns every case of the suite for stores, in order.
pub fn all() -> impl Iterator<Item = &'static Case> {
    GROUPS.iter().copied().flatten()
}
