//! Chunks of streams. A secret may begin in one chunk and end in a later one.

use bytes::{Bytes, BytesMut};
use context_core::base::limits;
use context_core::store::{StreamAppend, StreamEnd};
use context_secrets::{MaskReport, SecretFinder, SecretHit, mark};

/// The end of a stream that is not stored yet, because it may be the beginning of a secret.
#[derive(Clone, Default)]
pub(super) struct StreamTail {
    /// The offset of the next append, and the bytes that precede it.
    next: (u64, Bytes),
    /// The same of the last append, which may be repeated after a lost reply.
    last: (u64, Bytes),
}

impl StreamTail {
    pub(super) fn is_open(&self) -> bool {
        !self.next.1.is_empty()
    }

    /// Returns whether no append needs it.
    pub(super) fn is_empty(&self) -> bool {
        self.next.1.is_empty() && self.last.1.is_empty()
    }

    fn before(&self, offset: u64) -> Bytes {
        let of = |(at, bytes): &(u64, Bytes)| (*at == offset).then(|| bytes.clone());
        of(&self.next).or_else(|| of(&self.last)).unwrap_or_default()
    }
}

/// An append for the inner store, and the end of the stream behind it.
pub(super) struct MaskedAppend {
    pub(super) append: StreamAppend,
    pub(super) tail: StreamTail,
}

/// Masks an append. Equal appends have equal results, so a repeated one is recognized.
pub(super) fn mask_append(
    finder: &SecretFinder,
    tail: &StreamTail,
    append: &StreamAppend,
    may_hold: bool,
    report: &mut MaskReport,
) -> MaskedAppend {
    let held = tail.before(append.offset);
    let mut masked = append.clone();
    if let Some(StreamEnd::Failed(error)) = &append.end {
        let error = finder.mask_text(error, report).unwrap_or_else(|| error.clone());
        masked.end = Some(StreamEnd::Failed(error));
    }
    // A heartbeat leaves everything as it is.
    if append.chunks.is_empty() && (append.end.is_none() || held.is_empty()) {
        return MaskedAppend { append: masked, tail: tail.clone() };
    }
    let mut all = BytesMut::from(&held[..]);
    append.chunks.iter().for_each(|chunk| all.extend_from_slice(chunk));
    let all = all.freeze();
    let (hits, open) = search(finder, &all, may_hold && append.end.is_none());
    let hits: Vec<_> = hits.into_iter().filter(|hit| hit.range.start < open).collect();
    hits.iter().for_each(|hit| report.add_masked(&hit.kind));
    if !hits.is_empty() || !held.is_empty() || open < all.len() {
        masked.chunks = rebuild(&all, held.len(), &append.chunks, &hits, open);
    }
    // Nothing follows an end, but the end may be repeated.
    let next = match append.end {
        Some(_) => u64::MAX,
        None => append.offset.saturating_add(append.chunks.len() as u64),
    };
    let tail = StreamTail { next: (next, all.slice(open..)), last: (append.offset, held) };
    MaskedAppend { append: masked, tail }
}

/// Returns the secrets, and the position from which bytes are kept back.
fn search(finder: &SecretFinder, all: &[u8], may_hold: bool) -> (Vec<SecretHit>, usize) {
    let Ok(text) = std::str::from_utf8(all) else {
        let mut hits = Vec::new();
        let mut from = 0;
        for chunk in all.utf8_chunks() {
            for mut hit in finder.find(chunk.valid()) {
                hit.range = hit.range.start + from..hit.range.end + from;
                hits.push(hit);
            }
            from += chunk.valid().len() + chunk.invalid().len();
        }
        return (hits, all.len());
    };
    let hits = finder.find(text);
    // The next chunk must have room for what is kept back.
    if !may_hold || all.len() > limits::MAX_CHUNK_BYTES / 2 {
        return (hits, all.len());
    }
    let open = finder.open_from(text);
    let cut = hits.iter().find(|hit| hit.range.start < open && open < hit.range.end);
    let open = cut.map_or(open, |hit| hit.range.start);
    (hits, open)
}

/// Cuts the masked bytes into the same number of chunks. A mark is in the chunk in which its secret
/// begins.
fn rebuild(
    all: &[u8],
    held: usize,
    chunks: &[Bytes],
    hits: &[SecretHit],
    open: usize,
) -> Vec<Bytes> {
    let mut rebuilt = Vec::with_capacity(chunks.len().max(1));
    let (mut from, mut end) = (0, held);
    let lengths = chunks.iter().map(Bytes::len).chain(chunks.is_empty().then_some(0));
    for length in lengths {
        end += length;
        let stop = end.min(open);
        let mut chunk = Vec::new();
        let mut at = from;
        for hit in hits.iter().filter(|hit| hit.range.end > from && hit.range.start < stop) {
            if hit.range.start >= from {
                chunk.extend_from_slice(&all[at..hit.range.start]);
                chunk.extend_from_slice(mark(&hit.kind).as_bytes());
            }
            at = hit.range.end.min(stop);
        }
        chunk.extend_from_slice(&all[at.min(stop)..stop]);
        rebuilt.push(Bytes::from(chunk));
        from = stop;
    }
    rebuilt
}
