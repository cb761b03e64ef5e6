//! Reads rendered Markdown back with an independent parser that has all its extensions on.
//!
//! The reader accepts only the structure that the renderer writes. Any other structure is an error.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// An element of the output, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// The beginning of a section: its heading, and its content if that is a text.
    Section(String, String),
    /// An item: its label, and the text after it or in its place.
    Item(Option<String>, String),
    /// The beginning of a list, in the section or the item before it.
    Enter,
    /// The end of the list that began last.
    Leave,
}

/// Returns all extensions except the one that replaces quotes and dashes.
pub(crate) fn options() -> Options {
    Options::all() - Options::ENABLE_SMART_PUNCTUATION
}

/// Reads Markdown in which no text is structure.
pub(crate) fn read(markdown: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut label = None;
    let mut heading = None;
    let mut code = None;
    for event in Parser::new_ext(markdown, options()) {
        match event {
            Event::Start(Tag::Heading { level: HeadingLevel::H2, id: None, classes, attrs })
                if classes.is_empty() && attrs.is_empty() =>
            {
                heading = Some(String::new());
            }
            Event::End(TagEnd::Heading(_)) => {
                let title = heading.take().expect("a heading began");
                tokens.push(Token::Section(title, String::new()));
            }
            Event::Start(Tag::List(None)) => tokens.push(Token::Enter),
            Event::End(TagEnd::List(false)) => tokens.push(Token::Leave),
            Event::Start(Tag::Item) => tokens.push(Token::Item(None, String::new())),
            Event::Start(Tag::Strong) => label = Some(String::new()),
            Event::End(TagEnd::Strong) => match tokens.last_mut() {
                Some(Token::Item(none @ None, text)) if text.is_empty() || is_level(text) => {
                    *none = label.take()
                }
                other => panic!("a label behind {other:?} in {markdown:?}"),
            },
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == "text" => {
                code = Some(String::new());
            }
            Event::End(TagEnd::CodeBlock) => {
                let code = code.take().expect("a block began");
                let code = code.strip_suffix('\n').expect("a line end of ours");
                match tokens.last_mut() {
                    Some(Token::Section(_, text)) => text.push_str(code),
                    Some(Token::Item(None, text)) => text.push_str(code),
                    Some(Token::Item(Some(_), text)) => {
                        text.push(' ');
                        text.push_str(code);
                    }
                    other => panic!("a block behind {other:?} in {markdown:?}"),
                }
            }
            Event::Text(text) => {
                let place =
                    [&mut code, &mut label, &mut heading].into_iter().find_map(Option::as_mut);
                match (place, tokens.last_mut()) {
                    (Some(place), _) => place.push_str(&text),
                    (None, Some(Token::Section(_, place) | Token::Item(_, place))) => {
                        place.push_str(&text)
                    }
                    (None, other) => panic!("text behind {other:?} in {markdown:?}"),
                }
            }
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph | TagEnd::Item) => {}
            other => panic!("{other:?} in {markdown:?}"),
        }
    }
    tokens
}

/// Returns whether a text is the note of an item deeper than the indented levels.
fn is_level(text: &str) -> bool {
    text.strip_prefix("(level ").and_then(|text| text.strip_suffix(") ")).is_some()
}
