//! Escaping of text and attribute values for XML 1.0.
//!
//! Text reads back unchanged, except for the characters that XML 1.0 cannot express, which are
//! replaced by visible ones.

/// Appends `text` as the content of an element.
pub(super) fn push_text(out: &mut String, text: &str) {
    push_escaped(out, text, TextContext::Text);
}

/// Appends a line of text that is laid out for reading. White space is not exact in this layout, so
/// the carriage return of a line break is not escaped.
pub(super) fn push_line(out: &mut String, line: &str) {
    push_escaped(out, line, TextContext::Line);
}

/// Appends `value` as an attribute value, without the quotes.
pub(super) fn push_attribute(out: &mut String, value: &str) {
    push_escaped(out, value, TextContext::Attribute);
}

/// The context of a text, which decides how its white space is written.
#[derive(Clone, Copy, PartialEq)]
enum TextContext {
    Text,
    Line,
    Attribute,
}

/// Returns whether the byte may have to be replaced: mark-up, controls, and the first byte of
/// U+FFFE and U+FFFF.
#[inline]
fn is_special(byte: u8) -> bool {
    (byte < 0x20)
        | (byte == b'&')
        | (byte == b'<')
        | (byte == b'>')
        | (byte == b'"')
        | (byte == b'\'')
        | (byte == 0xEF)
}

fn push_escaped(out: &mut String, text: &str, context: TextContext) {
    let attribute = context == TextContext::Attribute;
    let bytes = text.as_bytes();
    let (mut written, mut at) = (0, 0);
    while let Some(distance) = find_special(&bytes[at..]) {
        at += distance;
        let mut picture = [0; 4];
        let (replacement, length) = match bytes[at] {
            b'&' => ("&amp;", 1),
            b'<' => ("&lt;", 1),
            b'>' => ("&gt;", 1),
            b'"' => ("&quot;", 1),
            b'\'' => ("&apos;", 1),
            b'\r' if context != TextContext::Line => ("&#13;", 1),
            // A parser normalises the white space of attributes.
            b'\n' if attribute => ("&#10;", 1),
            b'\t' if attribute => ("&#9;", 1),
            0xEF if matches!(bytes.get(at + 1..at + 3), Some([0xBF, 0xBE | 0xBF])) => {
                ("\u{FFFD}", 3)
            }
            b'\n' | b'\t' | b'\r' | 0x20.. => {
                at += 1;
                continue;
            }
            control => (&*control_picture(control).encode_utf8(&mut picture), 1),
        };
        out.push_str(&text[written..at]);
        out.push_str(replacement);
        at += length;
        written = at;
    }
    out.push_str(&text[written..]);
}

/// The number of bytes examined at once.
const BLOCK: usize = 32;

/// Returns the position of the first special byte. Most text has none, so many bytes are examined
/// at once.
fn find_special(bytes: &[u8]) -> Option<usize> {
    let (blocks, end) = bytes.as_chunks::<BLOCK>();
    let plain = BLOCK * blocks.iter().take_while(|block| !has_special(block)).count();
    // The rest is examined at once as well, together with some bytes that are known to be plain.
    if plain + end.len() == bytes.len()
        && bytes.last_chunk().is_some_and(|end| !has_special::<BLOCK>(end))
    {
        return None;
    }
    let distance = bytes[plain..].iter().position(|&byte| is_special(byte))?;
    Some(plain + distance)
}

/// Returns whether [`is_special`] holds for any of the bytes. Without an early exit the loop
/// compiles to a few vector instructions.
#[inline]
fn has_special<const N: usize>(block: &[u8; N]) -> bool {
    block.iter().fold(false, |special, &byte| special | is_special(byte))
}

fn control_picture(control: u8) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_special_byte_is_found_wherever_it_stands() {
        for length in 0..100 {
            assert_eq!(find_special(&vec![b'a'; length]), None);
            for position in 0..length {
                let mut bytes = vec![b'a'; length];
                bytes[position] = b'<';
                assert_eq!(find_special(&bytes), Some(position), "at {position} of {length}");
            }
        }
    }

    #[test]
    fn escapes_text_and_attributes() {
        for (raw, text, attribute) in [
            ("", "", ""),
            ("plain é 漢 🎻", "plain é 漢 🎻", "plain é 漢 🎻"),
            ("<&>\"'", "&lt;&amp;&gt;&quot;&apos;", "&lt;&amp;&gt;&quot;&apos;"),
            ("&amp;]]>", "&amp;amp;]]&gt;", "&amp;amp;]]&gt;"),
            ("a\r\n\tb", "a&#13;\n\tb", "a&#13;&#10;&#9;b"),
            (
                "\0\u{7}\u{1b}\u{1f}",
                "\u{2400}\u{2407}\u{241b}\u{241f}",
                "\u{2400}\u{2407}\u{241b}\u{241f}",
            ),
            ("\u{fffe}x\u{ffff}", "\u{fffd}x\u{fffd}", "\u{fffd}x\u{fffd}"),
            ("\u{feff}\u{fffd}\u{ff00}", "\u{feff}\u{fffd}\u{ff00}", "\u{feff}\u{fffd}\u{ff00}"),
            (
                "\u{7f}\u{85}\u{2028}\u{1fffe}",
                "\u{7f}\u{85}\u{2028}\u{1fffe}",
                "\u{7f}\u{85}\u{2028}\u{1fffe}",
            ),
        ] {
            let mut out = (String::new(), String::new());
            push_text(&mut out.0, raw);
            push_attribute(&mut out.1, raw);
            assert_eq!((out.0.as_str(), out.1.as_str()), (text, attribute), "{raw:?}");
        }
        let mut line = String::new();
        push_line(&mut line, "a<\r");
        assert_eq!(line, "a&lt;\r");
    }
}
