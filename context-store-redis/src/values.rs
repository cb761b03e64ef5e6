//! Conversions between stored fields and the numbers and times that several rooms keep in them.

use context_core::Timestamp;

use crate::error::{Fault, Result};

/// Returns a time as text whose byte order is the order of times, because scripts count in floating
/// point.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{:020}", at.as_micros().cast_unsigned() ^ SIGN)
}

/// Reads a time that [`time`] has written.
pub(crate) fn read_time(value: &[u8]) -> Result<Timestamp> {
    read_number(value).map(|number| Timestamp::from_micros((number ^ SIGN).cast_signed()))
}

const SIGN: u64 = 1 << 63;

/// Reads a field that is a single number.
pub(crate) fn read_number(value: &[u8]) -> Result<u64> {
    Numbers::of(value).number()
}

/// Numbers separated by spaces, followed by other data.
pub(crate) struct Numbers<'a> {
    rest: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(crate) fn of(value: &'a [u8]) -> Self {
        Self { rest: value }
    }

    /// Reads the next number.
    pub(crate) fn number(&mut self) -> Result<u64> {
        let text = std::str::from_utf8(self.word()).map_err(|_| unreadable())?;
        text.parse().map_err(|_| unreadable())
    }

    /// Reads the next number as a time that [`time`] has written.
    pub(crate) fn time(&mut self) -> Result<Timestamp> {
        read_time(self.word())
    }

    /// Returns the data after the numbers that were read.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    fn word(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == b' ').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        word
    }
}

/// Returns the error for a field that this program did not write.
pub(crate) fn unreadable() -> Fault {
    Fault::Corrupt("a stored field cannot be read", None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None,
            ..ProptestConfig::default() })]

        #[test]
        fn times_are_in_order_as_texts(a: i64, b: i64) {
            let (a, b) = (Timestamp::from_micros(a), Timestamp::from_micros(b));
            prop_assert_eq!(time(a).cmp(&time(b)), a.cmp(&b));
            prop_assert_eq!(read_time(time(a).as_bytes()).unwrap(), a);
        }
    }
}
