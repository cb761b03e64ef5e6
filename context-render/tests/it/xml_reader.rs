//! Reads rendered XML back with an independent parser, inside a root element.

use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// An element of the output, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// An element that contains elements, under its original name.
    Enter(String),
    /// An element that contains text, under its original name.
    Leaf(String, String),
    /// The end of the element entered last.
    Leave,
}

/// An open element.
struct Open {
    name: String,
    text: String,
    entered: bool,
}

/// Reads `xml`, which must be well-formed inside an element.
pub(crate) fn read(xml: &str) -> Vec<Token> {
    let document = format!("<root>{xml}</root>");
    let mut reader = Reader::from_str(&document);
    let mut tokens = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    loop {
        match reader.read_event().expect("well-formed") {
            Event::Start(tag) => {
                if let Some(parent) = open.last_mut()
                    && !std::mem::replace(&mut parent.entered, true)
                {
                    tokens.push(Token::Enter(parent.name.clone()));
                }
                open.push(Open { name: original_name(&tag), text: String::new(), entered: false });
            }
            Event::Text(text) => {
                text.chars().for_each(assert_allowed);
                assert!(!text.contains(['<', '>', '"', '\'', '\r']), "unescaped: {:?}", &*text);
                open.last_mut().expect("text in the root").text.push_str(&text);
            }
            Event::GeneralRef(reference) => {
                let c = match &*reference {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "apos" => '\'',
                    _ => reference
                        .resolve_char_ref()
                        .expect("a number")
                        .expect("a character reference"),
                };
                assert_allowed(c);
                open.last_mut().expect("text in the root").text.push(c);
            }
            Event::End(_) => {
                let closed = open.pop().expect("the parser pairs tags");
                if closed.entered {
                    assert!(
                        closed.text.trim_matches([' ', '\n']).is_empty(),
                        "text beside elements"
                    );
                    tokens.push(Token::Leave);
                } else if !open.is_empty() {
                    tokens.push(Token::Leaf(closed.name, closed.text));
                }
            }
            Event::Eof => break,
            other => panic!("unexpected {other:?}"),
        }
    }
    assert!(open.is_empty());
    // Removes the root element.
    match tokens.as_slice() {
        [] => Vec::new(),
        [Token::Enter(root), inner @ .., Token::Leave] if root == "root" => inner.to_vec(),
        other => panic!("not inside the root: {other:?}"),
    }
}

fn original_name(tag: &BytesStart<'_>) -> String {
    let written = tag.name().into_inner().to_owned();
    assert_name(&written);
    let attributes: Vec<_> =
        tag.attributes().map(|attribute| attribute.expect("well-formed")).collect();
    match attributes.as_slice() {
        [] => written,
        [mark] if is_mark(mark) => written,
        [name, mark] if is_mark(mark) && name.key.into_inner() == "name" => {
            original(name, &written)
        }
        [name] if name.key.into_inner() == "name" => original(name, &written),
        other => panic!("unexpected attributes {other:?}"),
    }
}

/// Returns whether an attribute marks untrusted content.
fn is_mark(attribute: &Attribute<'_>) -> bool {
    attribute.key.into_inner() == "untrusted" && &*attribute.value == "true"
}

fn original(name: &Attribute<'_>, written: &str) -> String {
    let original =
        name.normalized_value(XmlVersion::Implicit1_0).expect("valid references").into_owned();
    original.chars().for_each(assert_allowed);
    assert_ne!(original, written, "an attribute for a name that did not change");
    original
}

/// `Char` of XML 1.0.
fn assert_allowed(c: char) {
    let allowed = matches!(c,
        '\t' | '\n' | '\r' | ' '..='\u{D7FF}' | '\u{E000}'..='\u{FFFD}' | '\u{10000}'..);
    assert!(allowed, "{c:?} cannot stand in XML");
}

/// Checks a name, because the parser is lax about names. ASCII is enough to see that nothing can
/// leave its place.
fn assert_name(name: &str) {
    let first = name.chars().next().expect("a name");
    assert!(
        !first.is_ascii() || first.is_ascii_alphabetic() || first == '_',
        "{name:?} begins badly"
    );
    let inner = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "_-.".contains(c);
    assert!(name.chars().all(inner), "{name:?} is no name");
}

/// Returns a text with the characters that XML cannot express replaced.
pub(crate) fn visible(text: &str) -> String {
    let visible = |c| match c {
        '\t' | '\n' | '\r' => c,
        '\0'..'\u{20}' => char::from_u32(u32::from(c) + 0x2400).expect("a control picture"),
        '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
        _ => c,
    };
    text.chars().map(visible).collect()
}
