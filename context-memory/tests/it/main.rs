//! Memories through the public API.

mod blocks;
mod blocks_race;
mod slow;
