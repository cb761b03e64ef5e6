//! What happens to bytes that are kept: bits turn, bytes are overwritten, pages change places or
//! are empty, ends are lost.

use crate::random::Random;

/// What SQLite writes at once, in bytes.
const PAGE: usize = 4096;

/// Damages bytes that pages are made of, and says how.
pub fn pages(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    let count = bytes.len() / PAGE;
    match random.below(6) {
        0 if count > 1 => {
            let (one, other) = (random.below(count), random.below(count));
            let kept = bytes[one * PAGE..(one + 1) * PAGE].to_vec();
            bytes.copy_within(other * PAGE..(other + 1) * PAGE, one * PAGE);
            bytes[other * PAGE..(other + 1) * PAGE].copy_from_slice(&kept);
            format!("pages {one} and {other} changed places")
        }
        1 if count > 0 => {
            let page = random.below(count);
            bytes[page * PAGE..(page + 1) * PAGE].fill(0);
            format!("page {page} is empty")
        }
        _ => text(bytes, random),
    }
}

/// Damages any bytes, and says how.
pub fn text(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    if bytes.is_empty() {
        return "nothing to damage".to_owned();
    }
    let at = random.below(bytes.len());
    match random.below(8) {
        0 => {
            bytes.truncate(at);
            format!("cut off at {at}")
        }
        1 => {
            let end = (at + 1 + random.below(64)).min(bytes.len());
            for byte in &mut bytes[at..end] {
                *byte = random.number().to_le_bytes()[0];
            }
            format!("bytes {at} to {end} overwritten")
        }
        2 | 3 => {
            bytes[at] = random.number().to_le_bytes()[0];
            format!("byte {at} overwritten")
        }
        _ => {
            let bit = random.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} turned")
        }
    }
}
