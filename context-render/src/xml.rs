//! XML: one element per fragment, map entry and list item.
//!
//! This module does only the layout and the writing; the shared walk decides which nodes are
//! rendered under which name. The output has no declaration, no root and no namespace, because it
//! is a piece of a prompt. It is well-formed for every input once it stands inside an element.

mod escape;
mod name;

use std::fmt::Write;
use std::ops::Range;

use context_core::fragment::{Piece, Pieces, RenderError};
use context_core::{Fragment, Renderer};

use self::escape::{push_attribute, push_line, push_text};
use self::name::push_name;
use crate::RenderOptions;
use crate::inflect::{Inflector, Name};
use crate::layout::{MAX_INDENTED_LEVELS, new_line};
use crate::walk::{Grouping, Label, Rules, Scalar, Shape, Visitor, Walker};

/// Renders fragments as XML elements.
///
/// # Content
///
/// * A fragment is an element of its name. Text, numbers and booleans stand inside it. A map
///   becomes an element per entry, a list an element per item, named after the list in the singular
///   (`<tags><tag>`). Fragments among the items keep their own names. Order is kept, a list of one
///   item stays a list, and lists in lists are nested elements. The items of a list whose name is
///   longer than 128 bytes are called `item`.
/// * An entry whose value is a fragment contains it, `<key><name>…</name></key>`; if both have the
///   same name, they are one element.
/// * Null, empty containers and containers of only such values are left out. Empty text is an empty
///   element.
/// * Children stand on lines of their own, indented by two spaces per level up to 64 levels. Deeper
///   ones are not indented further.
///
/// A value that occurs in several places is written in each of them, so the output can be far
/// larger than the input in memory.
///
/// # Names
///
/// Any text can be a name. Characters that XML 1.0 (fifth edition, production `Name`) forbids in
/// names become `_`, and so does `:`, which would mean a namespace. A name that still does not
/// begin with an allowed character gets a leading `_`. Whenever this changes a name, the original
/// is kept: `<a_b name="a b">`.
///
/// # Text
///
/// `&`, `<`, `>`, `"` and `'` are always escaped. A carriage return is written `&#13;`, because a
/// parser would take it for a line break; in attributes line feed and tab are escaped as well.
/// Characters that XML 1.0 cannot express are made visible: control characters become their Unicode
/// control picture (U+0007 becomes U+2407), and U+FFFE and U+FFFF become the replacement character,
/// U+FFFD.
///
/// # Options
///
/// ```
/// use context_core::{Renderer, fragment, hint};
/// use context_render::XmlRenderer;
///
/// let rules = [fragment("rules", [hint("Be kind."), hint("Line one\nline two")])];
/// let text = XmlRenderer::new().group(true).indent_text(true).render(&rules)?;
/// assert_eq!(text, "\
/// <rules>
///   <hints>
///     <hint>Be kind.</hint>
///     <hint>
///       Line one
///       line two
///     </hint>
///   </hints>
/// </rules>");
/// # Ok::<_, context_core::fragment::RenderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct XmlRenderer {
    group: bool,
    indent_text: bool,
    untrusted: bool,
}

impl XmlRenderer {
    /// Creates a renderer that neither groups nor changes the layout of text, and trusts fragments
    /// that are not marked.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether the fragments of a list are gathered by name under an element in the plural:
    /// the hints of a fragment under `<hints>`, even a single one.
    ///
    /// Each group takes the position of its first member. The children of fragments are grouped at
    /// every level, but not the top level, and not the items of a list inside a map or a list.
    #[must_use]
    pub fn group(mut self, on: bool) -> Self {
        self.group = on;
        self
    }

    /// Sets whether text of several lines is laid out for reading: on lines of its own, each
    /// indented one level deeper than its tag, empty ones too. White space is then no longer exact:
    /// it is added in front of each line, line breaks stay as they were written, and lines of only
    /// white space are one empty line. Without this option text reads back exactly.
    #[must_use]
    pub fn indent_text(mut self, on: bool) -> Self {
        self.indent_text = on;
        self
    }

    /// Sets whether all content is untrusted: then each fragment of the top level has the mark, not
    /// only those that are [marked](Fragment::untrusted).
    #[must_use]
    pub fn untrusted(mut self, on: bool) -> Self {
        self.untrusted = on;
        self
    }

    /// Renders the fragments inside one element, exactly as a fragment of that name with these
    /// children.
    ///
    /// The result is empty if no fragment has content.
    ///
    /// ```
    /// use context_core::hint;
    /// use context_render::XmlRenderer;
    ///
    /// let xml = XmlRenderer::new();
    /// assert_eq!(xml.render_wrapped("context", &[hint("Be kind.")])?, "\
    /// <context>
    ///   <hint>Be kind.</hint>
    /// </context>");
    /// assert_eq!(xml.render_wrapped("context", &[])?, "");
    /// # Ok::<_, context_core::fragment::RenderError>(())
    /// ```
    pub fn render_wrapped(&self, tag: &str, fragments: &[Fragment]) -> Result<String, RenderError> {
        let mut writer = Writer::new(String::new(), self);
        self.walker().wrapped(tag, fragments, &mut writer)?;
        Ok(writer.out)
    }

    fn walker<'a>(&self) -> Walker<'a> {
        let grouping = if self.group { Grouping::Everywhere } else { Grouping::Off };
        Walker::new(Rules { grouping, empties: false })
    }
}

impl From<RenderOptions> for XmlRenderer {
    fn from(options: RenderOptions) -> Self {
        Self {
            group: options.group,
            indent_text: options.indent_text,
            untrusted: options.untrusted,
        }
    }
}

impl Renderer for XmlRenderer {
    fn name(&self) -> &str {
        "xml"
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        let mut walker = self.walker();
        let mut writer = Writer::new(std::mem::take(out.text()), self);
        let walked = pieces.iter().try_for_each(|piece| {
            walker.fragment(piece.fragment, &mut writer)?;
            std::mem::swap(out.text(), &mut writer.out);
            out.end_piece();
            std::mem::swap(out.text(), &mut writer.out);
            writer.start = writer.out.len();
            Ok(())
        });
        *out.text() = writer.out;
        walked
    }
}

struct Writer<'a> {
    out: String,
    /// Start of the piece that is being written.
    start: usize,
    indent_text: bool,
    untrusted: bool,
    inflector: Inflector,
    open: Vec<Open<'a>>,
}

/// An open element.
struct Open<'a> {
    name: Name<'a>,
    /// The name of its items, once an item needs it.
    item: Option<Name<'a>>,
}

impl<'a> Visitor<'a> for Writer<'a> {
    fn enter(&mut self, label: Label<'a>, _shape: Shape, depth: usize) {
        let marked = self.is_marked(label);
        self.begin(depth, "<");
        let name = match label {
            Label::Fragment { name, .. } | Label::Key(name) => Name::Borrowed(name),
            Label::Group(name) => self.inflector.group(&Name::Borrowed(name)),
            Label::Item => self
                .open
                .last_mut()
                .map_or(Name::Borrowed(""), |list| list.item(&mut self.inflector).clone()),
        };
        let _ = push_tag(&mut self.out, &name, marked);
        self.open.push(Open { name, item: None });
    }

    #[inline]
    fn leaf(&mut self, label: Label<'a>, value: Scalar<'a>, depth: usize) {
        let marked = self.is_marked(label);
        self.begin(depth, "<");
        let group;
        let name = match label {
            Label::Fragment { name, .. } | Label::Key(name) => name,
            Label::Group(name) => {
                group = self.inflector.group(&Name::Borrowed(name));
                &*group
            }
            Label::Item => self.open.last_mut().map_or("", |list| list.item(&mut self.inflector)),
        };
        let tag = push_tag(&mut self.out, name, marked);
        match value {
            Scalar::Text(text) if self.indent_text && text.contains('\n') => {
                push_laid_out(&mut self.out, text, depth, self.start);
            }
            Scalar::Text(text) => push_text(&mut self.out, text),
            Scalar::Bool(value) => self.out.push_str(if value { "true" } else { "false" }),
            // Writing to a string never fails.
            Scalar::Number(number) => _ = write!(self.out, "{number}"),
        }
        self.out.push_str("</");
        match tag {
            // Copies the changed name instead of computing it again.
            Some(changed) => self.out.extend_from_within(changed),
            None => self.out.push_str(name),
        }
        self.out.push('>');
    }

    fn leave(&mut self, depth: usize) {
        let Some(open) = self.open.pop() else { return };
        self.begin(depth, "</");
        let _ = push_name(&mut self.out, &open.name);
        self.out.push('>');
    }
}

impl<'a> Open<'a> {
    #[inline]
    fn item(&mut self, inflector: &mut Inflector) -> &Name<'a> {
        self.item.get_or_insert_with(|| inflector.item(&self.name))
    }
}

impl Writer<'_> {
    fn new(out: String, renderer: &XmlRenderer) -> Self {
        Self {
            start: out.len(),
            out,
            indent_text: renderer.indent_text,
            untrusted: renderer.untrusted,
            inflector: Inflector::default(),
            open: Vec::new(),
        }
    }

    /// Returns whether an element is marked as untrusted. If all content is untrusted, only the
    /// elements of the top level are marked.
    #[inline]
    fn is_marked(&self, label: Label<'_>) -> bool {
        match label {
            Label::Fragment { untrusted, .. } => {
                untrusted || (self.untrusted && self.open.is_empty())
            }
            _ => false,
        }
    }

    /// Begins a tag on a line of its own.
    #[inline]
    fn begin(&mut self, depth: usize, tag: &'static str) {
        push_line_break(&mut self.out, depth, self.start);
        self.out.push_str(tag);
    }
}

/// Begins a new line, unless the piece is still empty.
#[inline]
fn push_line_break(out: &mut String, depth: usize, start: usize) {
    let first = usize::from(out.len() == start);
    out.push_str(&new_line(2 * depth.min(MAX_INDENTED_LEVELS))[first..]);
}

/// Appends a text of several lines, on lines of its own.
fn push_laid_out(out: &mut String, text: &str, depth: usize, start: usize) {
    let blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
    let text = if blank { "" } else { text };
    for line in text.split('\n') {
        push_line_break(out, depth + 1, start);
        push_line(out, line);
    }
    push_line_break(out, depth, start);
}

/// Appends the content of a start tag after `<`. Returns the range of the written name if it
/// differs from the given one.
#[inline]
fn push_tag(out: &mut String, name: &str, untrusted: bool) -> Option<Range<usize>> {
    let start = out.len();
    let changed = push_name(out, name).is_changed().then(|| {
        let written = start..out.len();
        out.push_str(" name=\"");
        push_attribute(out, name);
        out.push('"');
        written
    });
    if untrusted {
        out.push_str(" untrusted=\"true\"");
    }
    out.push('>');
    changed
}
