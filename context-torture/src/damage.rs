//! Damage to stored bytes: flipped bits, overwritten bytes, swapped or zeroed pages, truncation.

use crate::random::SeededRandom;

/// The page size of SQLite, in bytes.
const PAGE: usize = 4096;

/// Damages bytes that consist of pages. Returns a description of the damage.
pub fn pages(bytes: &mut Vec<u8>, random: &mut SeededRandom) -> String {
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

/// Damages any bytes. Returns a description of the damage.
pub fn text(bytes: &mut Vec<u8>, random: &mut SeededRandom) -> String {
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
