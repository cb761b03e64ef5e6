//! The moves of a random sequence that several stores play.

use crate::step::Step;
use context_simulator::Random;

/// The number of chats: two of one user, one of another.
pub(crate) const CHATS: usize = 3;

/// A random move. Its numbers are taken modulo the available choices, so a move makes sense in any
/// state, and a sequence without some of its moves is still valid.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    Live(Step),
    Update { n: usize },
    Read(ReadMove),
    Blob(BlobMove),
    Stream { stream: usize, action: StreamMove },
    Round(RoundMove),
    Memory(MemoryMove),
}

/// A read of a chat.
#[derive(Clone, Debug)]
pub(crate) enum ReadMove {
    Window { branch: usize, kind: usize, n: usize },
    Messages { n: usize },
    Listing { limit: usize },
    Size,
    Found { word: usize, prefix: bool },
}

#[derive(Clone, Debug)]
pub(crate) enum BlobMove {
    Put { blob: usize, typed: bool },
    Read { blob: usize, from: u64, to: u64, used: bool },
    Remove { blob: usize },
    Prune { back: usize, of_chat: bool },
}

#[derive(Clone, Debug)]
pub(crate) enum StreamMove {
    Create,
    Claim { writer: usize, idle: Option<usize> },
    Append { writer: usize, back: usize, chunks: usize, size: usize, end: usize },
    Repeat,
    Cancel,
    Reopen { stale: bool },
    Read { from: usize, limit: usize },
    Remove,
    Prune { back: usize, of_chat: bool, abandoned: bool },
}

#[derive(Clone, Debug)]
pub(crate) enum RoundMove {
    Live { session: usize, round: u32, seed: u64, stale: bool },
    Repeat,
    Message { n: usize },
    Prune { back: usize, session: Option<usize> },
}

#[derive(Clone, Debug)]
pub(crate) enum MemoryMove {
    Live { seed: u64 },
    Repeat,
    Find { seed: u64 },
}

impl Move {
    /// Returns a random move and the number of its chat.
    pub(crate) fn random(random: &mut Random) -> (usize, Self) {
        let chat = random.below(CHATS);
        let action = match random.below(28) {
            0..=8 => Self::Live(Step::random(random)),
            9 => Self::Update { n: random.below(60) },
            10..=12 => Self::Read(ReadMove::random(random)),
            13..=15 => Self::Blob(BlobMove::random(random)),
            20..=23 => Self::Round(RoundMove::random(random)),
            24..=27 => Self::Memory(MemoryMove::random(random)),
            _ => Self::Stream { stream: random.below(3), action: StreamMove::random(random) },
        };
        (chat, action)
    }
}

impl ReadMove {
    fn random(random: &mut Random) -> Self {
        match random.below(10) {
            0..=4 => Self::Window {
                branch: random.below(100),
                kind: random.below(5),
                n: random.below(12),
            },
            5 => Self::Messages { n: random.below(100) },
            6 | 7 => Self::Listing { limit: 1 + random.below(3) },
            8 => Self::Size,
            _ => Self::Found { word: random.below(20), prefix: random.one_in(3) },
        }
    }
}

impl BlobMove {
    fn random(random: &mut Random) -> Self {
        let blob = random.below(5);
        match random.below(10) {
            0..=4 => Self::Put { blob, typed: random.one_in(2) },
            5 | 6 => Self::Read {
                blob,
                from: random.below(6) as u64 * 20_000,
                to: random.below(6) as u64 * 20_000,
                used: random.one_in(2),
            },
            7 | 8 => Self::Remove { blob },
            _ => Self::Prune { back: random.below(12), of_chat: random.one_in(2) },
        }
    }
}

impl StreamMove {
    fn random(random: &mut Random) -> Self {
        let writer = random.below(2);
        match random.below(24) {
            0..=3 => Self::Create,
            4..=6 => Self::Claim { writer, idle: random.one_in(3).then(|| random.below(12)) },
            7..=13 => Self::Append {
                writer: if random.one_in(4) { writer } else { 0 },
                back: if random.one_in(5) { random.below(4) } else { 0 },
                chunks: random.below(4),
                size: if random.one_in(8) { 70_000 } else { random.below(40) },
                end: random.below(12),
            },
            14 | 15 => Self::Repeat,
            16 => Self::Cancel,
            17 => Self::Reopen { stale: random.one_in(3) },
            18..=20 => Self::Read { from: random.below(8), limit: 1 + random.below(4) },
            21 | 22 => Self::Remove,
            _ => Self::Prune {
                back: random.below(12),
                of_chat: random.one_in(2),
                abandoned: random.one_in(2),
            },
        }
    }
}

impl MemoryMove {
    fn random(random: &mut Random) -> Self {
        match random.below(8) {
            0..=4 => Self::Live { seed: random.bits() },
            5 => Self::Repeat,
            _ => Self::Find { seed: random.bits() },
        }
    }
}

impl RoundMove {
    fn random(random: &mut Random) -> Self {
        match random.below(12) {
            0..=7 => Self::Live {
                session: random.below(2),
                round: random.below(3) as u32,
                seed: random.bits(),
                stale: random.one_in(8),
            },
            8 | 9 => Self::Repeat,
            10 => Self::Message { n: random.below(5) },
            _ => Self::Prune {
                back: random.below(12),
                session: random.one_in(2).then(|| random.below(2)),
            },
        }
    }
}
