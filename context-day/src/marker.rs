//! Markers: words that say whose text this is.

use std::fmt;

use crate::scene::{USERS, UserSlot};

/// The length of a marker as text.
const LENGTH: usize = 17;
/// The beginning of every marker. No other word of the simulation contains it.
const BEGIN: &str = "zq";

/// A word that occurs in one text alone, and names its user and the user's life: an erased user
/// begins a new one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DayMarker {
    /// The user.
    pub user: UserSlot,
    /// The life of the user, from 0.
    pub life: u32,
    /// The number of the text.
    pub number: u64,
}

impl DayMarker {
    fn read(text: &str) -> Option<Self> {
        let text = text.get(..LENGTH)?.strip_prefix(BEGIN)?.strip_suffix("qz")?;
        let letter = text.chars().next()?;
        let user = USERS.iter().position(|name| name.starts_with(letter))?;
        let (life, number) = text.get(1..)?.split_once('x')?;
        Some(Self { user, life: life.parse().ok()?, number: number.parse().ok()? })
    }
}

impl fmt::Display for DayMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = USERS.get(self.user).map_or("?", |name| name.get(..1).unwrap_or("?"));
        write!(f, "{BEGIN}{letter}{:04}x{:07}qz", self.life, self.number)
    }
}

impl fmt::Debug for DayMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the markers in a text, in order. A marker that was cut is left out.
pub fn markers(text: &str) -> impl Iterator<Item = DayMarker> {
    text.match_indices(BEGIN).filter_map(|(at, _)| DayMarker::read(text.get(at..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_is_written() {
        let marker = DayMarker { user: 1, life: 12, number: 345 };
        assert_eq!(marker.to_string(), "zqb0012x0000345qz");
        let text = format!("a {marker}, \"{marker}\" and zqb0012x00");
        assert_eq!(markers(&text).collect::<Vec<_>>(), [marker, marker]);
    }
}
