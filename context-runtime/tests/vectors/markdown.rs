//! The rules for Markdown.
//!
//! Outputs are equal if they differ only in lines with nothing under them: the recording shows the
//! heading or the label of empty content, ours does not. An untrusted output is sound if an
//! independent parser reads nothing but sections and lists. A trusted one is sound if it contains
//! each text line by line.

use context_runtime::RenderOptions;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::judge::Difference;
use crate::render::{Content, Input, holds};

/// The mark of an untrusted section.
const MARK: &str = " (untrusted)";

pub(crate) fn check_equal(input: &Input, expected: &str) -> Result<String, Difference> {
    let ours = input.render_as("markdown", RenderOptions::new())?;
    if ours == expected {
        return Ok("equal".into());
    }
    if ours == without_hollow_lines(expected) {
        return Ok("equal but for lines with nothing under them".into());
    }
    Err(Difference::new("equal", expected, ours))
}

/// Returns the text without headings and labels that nothing follows.
fn without_hollow_lines(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    // From the end, so that a label whose labels are removed is removed too.
    for line in text.lines().rev() {
        let below = kept.iter().rev().find(|line| !line.is_empty());
        let indent = |line: &str| line.len() - line.trim_start().len();
        let is_heading = |line: &str| line.starts_with("## ");
        let is_label = line.trim_start().starts_with("- **") && line.ends_with("**:");
        let hollow = match is_heading(line) {
            true => below.is_none_or(|below| is_heading(below)),
            false => is_label && below.is_none_or(|below| indent(below) <= indent(line)),
        };
        if !hollow {
            kept.push(line);
        }
    }
    kept.reverse();
    kept.join("\n").trim_matches('\n').to_owned()
}

pub(crate) fn check_sound(input: &Input) -> Result<String, Difference> {
    let expected = Content::of(&input.fragments);
    let ours = input.render_as("markdown", RenderOptions::new().untrusted(true))?;
    let broken = |rule: &str, expected: &dyn std::fmt::Debug| {
        Difference::new(rule, format!("{expected:?}"), &ours)
    };
    let document =
        read(&ours).map_err(|error| broken("parses as sections and lists alone", &error))?;
    let wanted: Vec<_> = expected.leaves.iter().map(|text| as_read(text)).collect();
    let sorted = |mut leaves: Vec<String>| {
        if input.group {
            leaves.sort();
        }
        leaves
    };
    if sorted(document.leaves) != sorted(wanted) {
        return Err(broken("holds every text, in order", &expected.leaves));
    }
    // Headings are in title case, which cannot be reverted.
    let folded = |names: &[String]| names.iter().map(|name| folded(name)).collect::<Vec<_>>();
    if !holds(&folded(&document.names), &folded(&expected.names), !input.group) {
        return Err(broken("names can be read back", &expected.names));
    }
    let trusted = input.render_as("markdown", RenderOptions::new())?;
    if !input.group && !holds_lines(&trusted, &expected.leaves) {
        return Err(Difference::new(
            "holds each text line by line",
            format!("{:?}", expected.leaves),
            trusted,
        ));
    }
    Ok("sound: sections and lists alone, nothing lost, names can be read back".into())
}

/// The texts and names of untrusted Markdown, in document order.
#[derive(Default)]
struct Document {
    leaves: Vec<String>,
    names: Vec<String>,
}

/// The text of a section or an item, as far as it is read.
#[derive(Default)]
struct Leaf {
    labelled: bool,
    text: String,
}

fn read(markdown: &str) -> Result<Document, String> {
    let options = Options::all() - Options::ENABLE_SMART_PUNCTUATION;
    let mut document = Document::default();
    let (mut leaf, mut name) = (None::<Leaf>, None::<String>);
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                document.leaves.extend(leaf.take().map(Leaf::text));
                name = Some(String::new());
            }
            Event::Start(Tag::Item) => {
                document.leaves.extend(leaf.replace(Leaf::default()).map(Leaf::text))
            }
            Event::Start(Tag::Strong) => name = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let title = name.take().unwrap_or_default();
                document
                    .names
                    .push(title.strip_suffix(MARK).ok_or("a section without a mark")?.to_owned());
                leaf = Some(Leaf::default());
            }
            Event::End(TagEnd::Strong) => {
                document.names.extend(name.take());
                leaf = Some(Leaf { labelled: true, ..Leaf::default() });
            }
            // The item holds a list, not a text.
            Event::Start(Tag::List(None)) => leaf = None,
            Event::Text(part) => match (&mut name, &mut leaf) {
                (Some(name), _) => name.push_str(&part),
                (None, Some(leaf)) => leaf.text.push_str(&part),
                (None, None) => return Err(format!("text in no place: {part:?}")),
            },
            Event::End(TagEnd::CodeBlock) => _ = leaf.as_mut().and_then(|leaf| leaf.text.pop()),
            Event::Start(Tag::CodeBlock(_)) => match &mut leaf {
                Some(leaf) if leaf.labelled => leaf.text.push(' '),
                _ => {}
            },
            Event::Start(Tag::Paragraph) => {}
            Event::End(TagEnd::List(false) | TagEnd::Paragraph | TagEnd::Item) => {}
            other => return Err(format!("{other:?}")),
        }
    }
    document.leaves.extend(leaf.map(Leaf::text));
    Ok(document)
}

impl Leaf {
    fn text(self) -> String {
        let text = match self.labelled {
            true => self
                .text
                .strip_prefix(MARK)
                .unwrap_or(&self.text)
                .strip_prefix(": ")
                .unwrap_or_default(),
            false => &self.text,
        };
        as_read(text)
    }
}

/// Returns a text as it reads back: with line feeds, without null characters. An empty one may be
/// shown by quotes.
fn as_read(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{FFFD}");
    if text == "\"\"" { String::new() } else { text }
}

/// Returns what title case preserves of a name.
fn folded(name: &str) -> String {
    name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// Whether a text contains the lines of all given texts, in order.
fn holds_lines(markdown: &str, texts: &[String]) -> bool {
    let mut rest = markdown;
    texts.iter().flat_map(|text| text.lines()).all(|line| match rest.find(line) {
        Some(at) => {
            rest = &rest[at + line.len()..];
            true
        }
        None => false,
    })
}
