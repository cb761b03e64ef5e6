//! Keys, strings and numbers, as TOML 1.0 writes them.

use std::fmt::Write;

use context_core::fragment::Number;

use crate::outline::Key;
use crate::walk::Scalar;

/// Appends a key: bare if possible, otherwise quoted.
pub(super) fn push_key(out: &mut String, key: &Key<'_>) {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let name = key.name();
    if !key.is_marked() && !name.is_empty() && name.bytes().all(is_bare) {
        out.push_str(name);
        return;
    }
    out.push('"');
    key.parts().into_iter().for_each(|part| push_escaped(out, part, Quotes::One));
    out.push('"');
}

/// Appends a value on one line.
pub(super) fn push_scalar(out: &mut String, value: Scalar<'_>) {
    match value {
        Scalar::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Scalar::Number(number) => push_number(out, number),
        Scalar::Text(text) => {
            out.push('"');
            push_escaped(out, text, Quotes::One);
            out.push('"');
        }
    }
}

/// Appends a value after a key at the beginning of a line. Text may take several lines.
pub(super) fn push_line_scalar(out: &mut String, value: Scalar<'_>) {
    match value {
        Scalar::Text(text) if text.contains('\n') => {
            // The line break after the opening quotes is not part of the text.
            out.push_str("\"\"\"\n");
            push_escaped(out, text, Quotes::Three);
            out.push_str("\"\"\"");
        }
        _ => push_scalar(out, value),
    }
}

/// Appends a number. Writing to a string never fails.
fn push_number(out: &mut String, number: Number) {
    let _ = match number {
        Number::Int(n) => write!(out, "{n}"),
        Number::UInt(n) if i64::try_from(n).is_ok() => write!(out, "{n}"),
        // TOML integers are signed 64-bit integers.
        Number::UInt(n) => write!(out, "\"{n}\""),
        Number::Float(n) if n.is_nan() => write!(out, "nan"),
        Number::Float(n) if n.is_infinite() => {
            write!(out, "{}", if n > 0.0 { "inf" } else { "-inf" })
        }
        Number::Float(0.0) if number_is_negative(number) => write!(out, "-0.0"),
        Number::Float(_) => {
            let start = out.len();
            let written = write!(out, "{number}");
            // Without a point or an exponent it would read back as an integer.
            if !out[start..].contains(['.', 'e']) {
                out.push_str(".0");
            }
            written
        }
    };
}

fn number_is_negative(number: Number) -> bool {
    matches!(number, Number::Float(n) if n.is_sign_negative())
}

/// The kind of quotes around a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    One,
    /// Line feeds, tabs and quotes are written as they are, but never three quotes in a row or one
    /// at the end.
    Three,
}

/// Bytes that may have to be escaped.
const SPECIAL: [bool; 256] = {
    let mut special = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        special[byte] = true;
        byte += 1;
    }
    special[b'"' as usize] = true;
    special[b'\\' as usize] = true;
    special[0x7F] = true;
    special
};

fn push_escaped(out: &mut String, text: &str, quotes: Quotes) {
    // `rest`: start of the text not yet written. `from`: start of the text not yet examined.
    let (mut rest, mut from) = (0, 0);
    let mut run = 0;
    while let Some(plain) =
        text.as_bytes()[from..].iter().position(|byte| SPECIAL[usize::from(*byte)])
    {
        let at = from + plain;
        let byte = text.as_bytes()[at];
        from = at + 1;
        run = match byte {
            b'"' if plain == 0 => run + 1,
            b'"' => 1,
            _ => 0,
        };
        let escaped = match byte {
            b'"' if quotes == Quotes::Three && run < 3 && from < text.len() => continue,
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' | b'\t' if quotes == Quotes::Three => continue,
            b'\n' => "\\n",
            b'\t' => "\\t",
            b'\r' => "\\r",
            0x08 => "\\b",
            0x0C => "\\f",
            _ => "",
        };
        run = 0;
        out.push_str(&text[rest..at]);
        rest = from;
        match escaped {
            // Writing to a string never fails.
            "" => _ = write!(out, "\\u{byte:04X}"),
            escaped => out.push_str(escaped),
        }
    }
    out.push_str(&text[rest..]);
}
