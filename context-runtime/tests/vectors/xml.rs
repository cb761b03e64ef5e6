//! Rendered XML, read back by an independent parser.

use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

use crate::judge::BoxError;

/// The content of an XML text: the names of its elements and the texts of elements without
/// children, in document order.
#[derive(Debug, Default)]
pub(crate) struct Document {
    /// Names of elements. The original one where it had to be changed to be a valid name.
    pub(crate) names: Vec<String>,
    /// Decoded texts.
    pub(crate) leaves: Vec<String>,
}

struct OpenElement {
    text: String,
    has_elements: bool,
}

/// Reads `xml`, which may have any number of elements.
pub(crate) fn read(xml: &str) -> Result<Document, BoxError> {
    let inside_root = format!("<root>{xml}</root>");
    let mut reader = Reader::from_str(&inside_root);
    let mut document = Document::default();
    let mut open = Vec::<OpenElement>::new();
    loop {
        match reader.read_event()? {
            Event::Start(tag) => {
                if let Some(parent) = open.last_mut() {
                    parent.has_elements = true;
                    document.names.push(original_name(&tag)?);
                }
                open.push(OpenElement { text: String::new(), has_elements: false });
            }
            Event::Text(text) => innermost(&mut open)?.text.push_str(&text),
            Event::GeneralRef(reference) => {
                let c = match &*reference {
                    "amp" => '&',
                    "lt" => '<',
                    "gt" => '>',
                    "quot" => '"',
                    "apos" => '\'',
                    _ => reference.resolve_char_ref()?.ok_or("an undeclared entity")?,
                };
                innermost(&mut open)?.text.push(c);
            }
            Event::End(_) => {
                let OpenElement { text, has_elements } =
                    open.pop().ok_or("an end without a beginning")?;
                if !has_elements && !open.is_empty() {
                    document.leaves.push(text);
                } else if !text.trim().is_empty() {
                    return Err(format!("text beside elements: {text:?}").into());
                }
            }
            Event::Eof if open.is_empty() => return Ok(document),
            other => return Err(format!("unexpected {other:?}").into()),
        }
    }
}

fn innermost(open: &mut [OpenElement]) -> Result<&mut OpenElement, BoxError> {
    open.last_mut().ok_or_else(|| "text outside of the root".into())
}

fn original_name(tag: &BytesStart<'_>) -> Result<String, BoxError> {
    for attribute in tag.attributes() {
        let attribute = attribute?;
        if attribute.key.into_inner() == "name" {
            return Ok(attribute.normalized_value(XmlVersion::Implicit1_0)?.into_owned());
        }
    }
    Ok(tag.name().into_inner().to_owned())
}

/// Splits the text into tags and the text between them. Only for well-formed text, where `<` begins
/// a tag.
pub(crate) fn pieces(xml: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = xml;
    while let Some(open) = rest.find('<') {
        let close = rest[open..].find('>').map_or(rest.len(), |n| open + n + 1);
        pieces.extend([&rest[..open], &rest[open..close]]);
        rest = &rest[close..];
    }
    pieces.push(rest);
    pieces
}
