//! Keys, strings and numbers, as TOON writes them.

use std::fmt::Write;
use std::ops::Range;

use context_core::fragment::Number;

use crate::outline::Key;
use crate::walk::Scalar;

/// Appends a key: bare if possible, otherwise quoted.
pub(super) fn push_key(out: &mut String, key: &Key<'_>) {
    let name = key.name();
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    if !key.is_marked() && starts && name.bytes().all(is_bare) {
        out.push_str(name);
    } else {
        push_quoted(out, key.parts());
    }
}

pub(super) fn push_scalar(out: &mut String, value: Scalar<'_>) {
    match value {
        Scalar::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Scalar::Number(number) => push_number(out, number),
        Scalar::Text(text) if can_be_bare(text) => out.push_str(text),
        Scalar::Text(text) => push_quoted(out, [text, ""]),
    }
}

/// Appends a number, never with an exponent: whole numbers that fit into 64 bits with all their
/// digits, others with as few digits as read back exactly. Infinities and NaN become `null`.
fn push_number(out: &mut String, number: Number) {
    const I64: Range<f64> = i64::MIN as f64..i64::MAX as f64;
    const U64: Range<f64> = 0.0..u64::MAX as f64;
    // Writing to a string never fails.
    let _ = match number {
        Number::Int(n) => write!(out, "{n}"),
        Number::UInt(n) => write!(out, "{n}"),
        Number::Float(n) if !n.is_finite() => write!(out, "null"),
        // The conversion also drops the sign of zero.
        Number::Float(n) if n.fract() == 0.0 && I64.contains(&n) => write!(out, "{}", n as i64),
        Number::Float(n) if n.fract() == 0.0 && U64.contains(&n) => write!(out, "{}", n as u64),
        Number::Float(n) => write!(out, "{n}"),
    };
}

/// Bytes that a bare text must not contain.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    let others = b":\"\\[]{},";
    let mut index = 0;
    while index < others.len() {
        special[others[index] as usize] = true;
        index += 1;
    }
    special
};

/// Returns whether a text can stand without quotes: it is not read as another type, nor as several
/// values.
fn can_be_bare(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with([' ', '-', '#'])
        && !text.ends_with(' ')
        && !matches!(text, "null" | "true" | "false")
        && !text.bytes().any(|byte| SPECIAL[usize::from(byte)])
        && !is_like_a_number(text.as_bytes())
}

/// Returns whether a text looks like a number, including numbers with leading zeros or a plus sign.
fn is_like_a_number(text: &[u8]) -> bool {
    let number = without_sign(text);
    let Some(mut rest) = without_digits(number) else { return false };
    if let [b'.', fraction @ ..] = rest {
        let Some(behind) = without_digits(fraction) else { return false };
        rest = behind;
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let Some(behind) = without_digits(without_sign(exponent)) else { return false };
        rest = behind;
    }
    rest.is_empty()
}

fn without_sign(text: &[u8]) -> &[u8] {
    match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    }
}

/// Returns the bytes after one or more digits, or `None` if there is no digit.
fn without_digits(text: &[u8]) -> Option<&[u8]> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &text[digits..])
}

fn push_quoted(out: &mut String, parts: [&str; 2]) {
    out.push('"');
    for part in parts {
        // Start of the text that has not been written yet.
        let mut rest = 0;
        for (at, byte) in part.bytes().enumerate() {
            let escaped = match byte {
                b'\\' => "\\\\",
                b'"' => "\\\"",
                b'\n' => "\\n",
                b'\r' => "\\r",
                b'\t' => "\\t",
                0..0x20 => "",
                _ => continue,
            };
            out.push_str(&part[rest..at]);
            rest = at + 1;
            match escaped {
                // Writing to a string never fails.
                "" => _ = write!(out, "\\u{byte:04x}"),
                escaped => out.push_str(escaped),
            }
        }
        out.push_str(&part[rest..]);
    }
    out.push('"');
}
