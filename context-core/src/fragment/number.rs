//! Numbers and their rendered form.

use std::fmt;

/// A number: an integer of up to 64 bits without loss, or a double.
///
/// Printed like ECMAScript's `Number::toString` (ECMA-262, section 6.1.6.1.20), which readers of
/// prompts are used to: the shortest digits that parse to the same value, an exponent from 1e21 on
/// and below 1e-6, `-0` as `0`, and `NaN` and `Infinity` by name.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// Any other number.
    Float(f64),
}

impl PartialEq for Number {
    /// Compares kind and value. `NaN` equals itself, so that trees can be compared.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::UInt(a), Self::UInt(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => {
                a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Int(n) => n.fmt(f),
            Self::UInt(n) => n.fmt(f),
            Self::Float(n) if n.is_nan() => f.write_str("NaN"),
            Self::Float(n) if n.is_infinite() => {
                f.write_str(if n > 0.0 { "Infinity" } else { "-Infinity" })
            }
            Self::Float(0.0) => f.write_str("0"),
            Self::Float(n) if (1e-6..1e21).contains(&n.abs()) => write!(f, "{n}"),
            Self::Float(n) => {
                // Rust omits the plus sign of the exponent.
                let text = format!("{n:e}");
                match text.split_once('e') {
                    Some((digits, exponent)) if !exponent.starts_with('-') => {
                        write!(f, "{digits}e+{exponent}")
                    }
                    _ => f.write_str(&text),
                }
            }
        }
    }
}

macro_rules! from {
    ($variant:ident: $($int:ty),*) => {
        $(impl From<$int> for Number {
            fn from(n: $int) -> Self {
                Self::$variant(n.into())
            }
        })*
    };
}
from!(Int: i8, i16, i32, i64, u8, u16, u32);
from!(Float: f32, f64);

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        i64::try_from(n).map_or(Self::UInt(n), Self::Int)
    }
}

impl From<usize> for Number {
    fn from(n: usize) -> Self {
        Self::from(n as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn prints_like_ecmascript() {
        for (number, text) in [
            (Number::from(42), "42"),
            (Number::from(u64::MAX), "18446744073709551615"),
            (Number::from(-0.125), "-0.125"),
            (Number::from(-0.0), "0"),
            (Number::from(1e21), "1e+21"),
            (Number::from(1.5e300), "1.5e+300"),
            (Number::from(123456789012345680000.0), "123456789012345680000"),
            (Number::from(0.000001), "0.000001"),
            (Number::from(1.25e-7), "1.25e-7"),
            (Number::from(f64::NAN), "NaN"),
            (Number::from(f64::NEG_INFINITY), "-Infinity"),
        ] {
            assert_eq!(number.to_string(), text);
        }
    }
}
