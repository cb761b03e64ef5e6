//! Byte pair encoding of long pieces in linear time, exactly.
//!
//! Merging repeatedly takes the pair of neighbours with the lowest rank. With a heap that is
//! `n log n`, and slow once the heap no longer fits the CPU cache. Here a long piece is merged in
//! overlapping windows of bounded length, and the results are stitched together. This is exact for
//! the following reason: a sequence of tokens is *the* encoding of its text if and only if every
//! two neighbours in it are the encoding of their joint text. So a part of an encoding, taken
//! between token boundaries, is the encoding of that part. If the encodings of two windows share a
//! token, the first up to that token and the second from that token on form the encoding of the
//! whole. If they share none, the window grows.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tiktoken::CoreBpe;

/// The window size in bytes.
pub(super) const WINDOW: usize = 1024;
/// The overlap with the previous window, in bytes. Nearly always enough to share a token, and
/// hardly anything is merged twice. If it is not enough, a larger overlap is tried.
const OVERLAP: usize = 64;
/// Maximum number of windows cached while a piece is counted: windows of repeated text recur.
const MEMO: usize = 256;
/// The rank of a pair that cannot be merged.
const NONE: u32 = u32::MAX;
/// The size of the filter as a power of two: 512 KiB, one bit in twenty set.
const FILTER_BITS: u32 = 22;
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The ranks of a vocabulary, in a form that gives the rank of any part of a text in constant time.
#[derive(Debug)]
pub(super) struct Merger {
    /// Rank by hash, open addressing; empty slots have no rank.
    slots: Vec<(u64, u32)>,
    /// One bit for each value of the hash's high bits. Most lookups are not tokens, and the filter
    /// stays in the CPU cache.
    filter: Vec<u64>,
    /// The ranks of pairs of bytes.
    pairs: Vec<u32>,
    /// The powers of the hash's base, up to the longest token.
    powers: Vec<u64>,
}

/// Buffers that are reused for every window.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// For each byte of the window, the hash of the bytes before it.
    prefix: Vec<u64>,
    next: Vec<u32>,
    previous: Vec<u32>,
    ranks: Vec<u32>,
    waiting: PairQueue,
}

/// Pairs waiting to be merged. The pairs of the original text are sorted once, which costs a
/// fraction of pushing each into a heap and popping it. The pairs that merging creates are few, and
/// are in a heap.
#[derive(Debug, Default)]
struct PairQueue {
    sorted: Vec<u64>,
    taken: usize,
    created: BinaryHeap<Reverse<u64>>,
}

impl PairQueue {
    fn begin(&mut self, entries: impl Iterator<Item = u64>) {
        self.created.clear();
        self.taken = 0;
        self.sorted.clear();
        self.sorted.extend(entries);
        self.sorted.sort_unstable();
    }

    /// Returns the lowest pair.
    fn next(&mut self) -> Option<u64> {
        let first = self.sorted.get(self.taken).copied();
        match (first, self.created.peek()) {
            (Some(first), Some(Reverse(created))) if *created < first => {
                self.created.pop().map(|Reverse(created)| created)
            }
            (None, _) => self.created.pop().map(|Reverse(created)| created),
            (first, _) => {
                self.taken += 1;
                first
            }
        }
    }
}

/// The cached windows of the piece that is being counted.
#[derive(Debug, Default)]
pub(super) struct Memo(HashMap<u64, (usize, Window)>);

impl Memo {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The result of encoding a window.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The number of its tokens.
    tokens: usize,
    /// The length of its first token.
    first: usize,
    /// A token boundary far enough from the window's end, the number of tokens before it, and the
    /// length of the token after it.
    seam: usize,
    tokens_before_seam: usize,
    behind_seam: usize,
}

impl Merger {
    pub(super) fn new(vocabulary: &CoreBpe) -> Self {
        let size = vocabulary.vocab_size();
        let mut merger = Self {
            slots: vec![(0, NONE); (size * 2).next_power_of_two()],
            filter: vec![0; 1 << (FILTER_BITS - 6)],
            pairs: vec![NONE; 1 << 16],
            powers: vec![1],
        };
        for rank in 0..u32::try_from(size).unwrap_or(NONE) {
            let token = vocabulary.decode(&[rank]);
            while merger.powers.len() <= token.len() {
                let last = merger.powers[merger.powers.len() - 1];
                merger.powers.push(last.wrapping_mul(BASE));
            }
            if let [first, second] = token[..] {
                merger.pairs[usize::from(first) << 8 | usize::from(second)] = rank;
            }
            let hash = token.iter().fold(0, |hash, byte| extended(hash, *byte));
            let bit = mixed(hash) >> (64 - FILTER_BITS);
            merger.filter[(bit >> 6) as usize] |= 1 << (bit & 63);
            let mut slot = merger.slot(hash);
            while merger.slots[slot].1 != NONE {
                slot = (slot + 1) & (merger.slots.len() - 1);
            }
            merger.slots[slot] = (hash, rank);
        }
        merger
    }

    fn slot(&self, hash: u64) -> usize {
        let bits = self.slots.len().trailing_zeros();
        (mixed(hash) >> (64 - bits)) as usize
    }

    /// Returns the rank of the part of the window between two positions.
    fn rank(&self, prefix: &[u64], from: usize, to: usize) -> u32 {
        let Some(power) = self.powers.get(to - from) else { return NONE };
        let hash = prefix[to].wrapping_sub(prefix[from].wrapping_mul(*power));
        let bit = mixed(hash) >> (64 - FILTER_BITS);
        if self.filter[(bit >> 6) as usize] >> (bit & 63) & 1 == 0 {
            return NONE;
        }
        let mut slot = self.slot(hash);
        loop {
            let (found, rank) = self.slots[slot];
            if rank == NONE || found == hash {
                return rank;
            }
            slot = (slot + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns how many tokens a piece has.
    pub(super) fn count(&self, piece: &[u8], scratch: &mut Scratch, memo: &mut Memo) -> usize {
        let mut width = WINDOW;
        let (mut start, mut counted) = (0, 0);
        let mut window = self.window(piece, start, width, OVERLAP, scratch, memo);
        loop {
            if start + width >= piece.len() {
                return counted + window.tokens;
            }
            let (mut seam, mut overlap) = (window, OVERLAP);
            let found = loop {
                if seam.seam == 0 {
                    break None;
                }
                let next = self.window(piece, start + seam.seam, width, OVERLAP, scratch, memo);
                if next.first == seam.behind_seam {
                    break Some(next);
                }
                overlap *= 2;
                seam = self.window(piece, start, width, overlap, scratch, memo);
            };
            if let Some(next) = found {
                start += seam.seam;
                counted += seam.tokens_before_seam;
                window = next;
            } else {
                width *= 2;
                window = self.window(piece, start, width, OVERLAP, scratch, memo);
            }
        }
    }

    /// Encodes the window of a piece that starts at a position.
    fn window(
        &self,
        piece: &[u8],
        start: usize,
        width: usize,
        overlap: usize,
        scratch: &mut Scratch,
        memo: &mut Memo,
    ) -> Window {
        let text = &piece[start..piece.len().min(start + width)];
        scratch.prefix.clear();
        scratch.prefix.push(0);
        let mut hash = 0;
        scratch.prefix.extend(text.iter().map(|byte| {
            hash = extended(hash, *byte);
            hash
        }));
        if text.len() == piece.len() && self.rank(&scratch.prefix, 0, text.len()) != NONE {
            return Window {
                tokens: 1,
                first: text.len(),
                seam: 0,
                tokens_before_seam: 0,
                behind_seam: 0,
            };
        }
        let usual = text.len() == WINDOW && overlap == OVERLAP && piece.len() > WINDOW;
        if usual
            && let Some((same, window)) = memo.0.get(&hash)
            && piece[*same..*same + WINDOW] == *text
        {
            return *window;
        }
        let window = self.encode(text, overlap, scratch);
        if usual && memo.0.len() < MEMO {
            memo.0.insert(hash, (start, window));
        }
        window
    }

    fn encode(&self, text: &[u8], overlap: usize, scratch: &mut Scratch) -> Window {
        let n = text.len();
        let Scratch { prefix, next, previous, ranks, waiting } = scratch;
        next.clear();
        next.extend(1..=n as u32);
        previous.clear();
        previous.extend((0..n as u32).map(|at| at.wrapping_sub(1)));
        ranks.clear();
        ranks.extend(
            text.windows(2)
                .map(|pair| self.pairs[usize::from(pair[0]) << 8 | usize::from(pair[1])]),
        );
        ranks.push(NONE);
        let known = ranks.iter().enumerate().filter(|(_, rank)| **rank != NONE);
        waiting.begin(known.map(|(at, rank)| entry(*rank, at)));

        let mut tokens = n;
        while let Some(lowest) = waiting.next() {
            let (rank, at) = ((lowest >> 32) as u32, (lowest & 0xFFFF_FFFF) as usize);
            if ranks[at] != rank {
                continue;
            }
            // Merges the token at `at` with the next one.
            let merged = next[at] as usize;
            let behind = next[merged] as usize;
            next[at] = behind as u32;
            ranks[merged] = NONE;
            tokens -= 1;
            if behind < n {
                previous[behind] = at as u32;
                ranks[at] = self.rank(prefix, at, next[behind] as usize);
                if ranks[at] != NONE {
                    waiting.created.push(Reverse(entry(ranks[at], at)));
                }
            } else {
                ranks[at] = NONE;
            }
            if at > 0 {
                let before = previous[at] as usize;
                ranks[before] = self.rank(prefix, before, behind);
                if ranks[before] != NONE {
                    waiting.created.push(Reverse(entry(ranks[before], before)));
                }
            }
        }

        let (mut seam, mut tokens_before_seam, mut at, mut count) = (0, 0, 0, 0);
        while at + overlap <= n {
            (seam, tokens_before_seam) = (at, count);
            at = next[at] as usize;
            count += 1;
        }
        let behind_seam = next.get(seam).map_or(0, |next| *next as usize - seam);
        Window {
            tokens,
            first: next.first().map_or(0, |next| *next as usize),
            seam,
            tokens_before_seam,
            behind_seam,
        }
    }
}

/// Orders by rank, and equal ranks by position from the left.
fn entry(rank: u32, at: usize) -> u64 {
    u64::from(rank) << 32 | at as u64
}

/// Mixes all bits of the hash into its high bits.
fn mixed(hash: u64) -> u64 {
    hash.wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

fn extended(hash: u64, byte: u8) -> u64 {
    hash.wrapping_mul(BASE).wrapping_add(u64::from(byte) + 1)
}
