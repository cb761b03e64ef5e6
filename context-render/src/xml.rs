//! XML: an element per fragment, map entry and list item.
//!
//! Only the layout and the writing are here; what is rendered under which name is decided by the shared walk.
//! There is no declaration, no root and no namespace: the output is a piece of a prompt. It is well-formed for
//! every input once it stands inside an element.

mod escape;
mod name;

use std::fmt::Write;
use std::ops::Range;

use context_core::{Fragment, RenderError, Renderer};

use self::escape::{push_attribute, push_line, push_text};
use self::name::push_name;
use crate::walk::{Scalar, Visitor, walk};

/// How many levels are indented, by two spaces each. What is deeper stands as far to the right as the last of
/// them, or the indentation of a deep tree would grow with the square of its depth.
const MAX_INDENTED_LEVELS: usize = 64;

/// A line break and the deepest indentation.
const NEW_LINE: &str = {
    const BYTES: [u8; 1 + 2 * MAX_INDENTED_LEVELS] = {
        let mut bytes = [b' '; 1 + 2 * MAX_INDENTED_LEVELS];
        bytes[0] = b'\n';
        bytes
    };
    match str::from_utf8(&BYTES) {
        Ok(text) => text,
        Err(_) => unreachable!(),
    }
};

/// Renders fragments as XML elements.
///
/// # What is written
///
/// * A fragment is an element of its name. Text, numbers and booleans stand inside it; a map becomes an element
///   per entry; a list an element per item, named after the list in the singular (`<tags><tag>`), and fragments
///   among the items keep their own name. Order is kept; a list of one item stays a list; lists in lists are
///   nested elements. (The items of a list whose name is longer than 128 bytes are called `item`.)
/// * An entry whose value is a fragment holds it, `<key><name>…</name></key>`; if both have the same name, it is
///   one element.
/// * Null, empty containers and containers of nothing else are left out. Empty text is an empty element.
/// * Children stand on lines of their own, indented by two spaces per level up to 64 levels; deeper ones are not
///   indented further.
///
/// A value that stands in several places is written in each of them, so the output can be far longer than what
/// it takes in memory.
///
/// # Names
///
/// Any text can be a name. Characters that XML 1.0 (fifth edition, production `Name`) forbids in names become
/// `_`, and so does `:`, which would mean a namespace; a name that still cannot begin so is given a leading `_`.
/// Whenever this changes a name, the original is kept: `<a_b name="a b">`.
///
/// # Text
///
/// `&`, `<`, `>`, `"` and `'` are escaped, every time. A carriage return is written `&#13;`, since a parser would
/// take it for a line break; in attributes also line feed and tab. Characters that XML 1.0 cannot say at all are
/// made visible: control characters become their Unicode control picture (U+0007 becomes U+2407), and U+FFFE and
/// U+FFFF become the replacement character, U+FFFD.
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
/// # Ok::<_, context_core::RenderError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct XmlRenderer {
    group: bool,
    indent_text: bool,
}

impl XmlRenderer {
    /// A renderer that neither groups nor changes the layout of text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the fragments of a list are gathered by name under an element in the plural: the hints of a
    /// fragment under `<hints>`, also a single one.
    ///
    /// Each group stands where its first member stood. Only the children of a fragment are grouped, at every
    /// level of them; not the top level, and not the items of a list inside a map or a list.
    #[must_use]
    pub fn group(mut self, on: bool) -> Self {
        self.group = on;
        self
    }

    /// Whether text of several lines is laid out for reading: on lines of its own, each indented one level deeper
    /// than its tag, empty ones too. White space is then no longer exact: it is added in front of each line,
    /// line breaks stay as they were written, and lines of nothing but white space are one empty line. Without
    /// it text reads back as it is.
    #[must_use]
    pub fn indent_text(mut self, on: bool) -> Self {
        self.indent_text = on;
        self
    }

    /// Renders the fragments inside one element, as a fragment of that name and these children would be.
    ///
    /// Empty if no fragment has content.
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
    /// # Ok::<_, context_core::RenderError>(())
    /// ```
    pub fn render_wrapped(&self, tag: &str, fragments: &[Fragment]) -> Result<String, RenderError> {
        self.write(Some(tag), fragments)
    }

    fn write(&self, wrapper: Option<&str>, fragments: &[Fragment]) -> Result<String, RenderError> {
        let mut writer = Writer { out: String::new(), indent_text: self.indent_text };
        walk(wrapper, fragments, self.group, &mut writer)?;
        Ok(writer.out)
    }
}

impl Renderer for XmlRenderer {
    fn name(&self) -> &str {
        "xml"
    }

    fn render(&self, fragments: &[Fragment]) -> Result<String, RenderError> {
        self.write(None, fragments)
    }
}

struct Writer {
    out: String,
    indent_text: bool,
}

impl Visitor for Writer {
    fn enter(&mut self, name: &str, depth: usize) {
        self.new_line(depth);
        self.open(name);
    }

    fn leaf(&mut self, name: &str, value: Scalar<'_>, depth: usize) {
        self.new_line(depth);
        let tag = self.open(name);
        match value {
            Scalar::Text(text) if self.indent_text && text.contains('\n') => {
                let blank = text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'));
                let text = if blank { "" } else { text };
                for line in text.split('\n') {
                    self.new_line(depth + 1);
                    push_line(&mut self.out, line);
                }
                self.new_line(depth);
            }
            Scalar::Text(text) => push_text(&mut self.out, text),
            Scalar::Bool(value) => self.out.push_str(if value { "true" } else { "false" }),
            // Writing to a string cannot fail.
            Scalar::Number(number) => _ = write!(self.out, "{number}"),
        }
        self.out.push_str("</");
        self.out.extend_from_within(tag);
        self.out.push('>');
    }

    fn leave(&mut self, name: &str, depth: usize) {
        self.new_line(depth);
        self.out.push_str("</");
        let _ = push_name(&mut self.out, name);
        self.out.push('>');
    }
}

impl Writer {
    #[inline]
    fn new_line(&mut self, depth: usize) {
        let start = usize::from(self.out.is_empty());
        self.out.push_str(&NEW_LINE[start..1 + 2 * depth.min(MAX_INDENTED_LEVELS)]);
    }

    /// Gives where the name stands in the output, so that the end tag need not be made anew.
    fn open(&mut self, name: &str) -> Range<usize> {
        self.out.push('<');
        let start = self.out.len();
        let written = push_name(&mut self.out, name);
        let tag = start..self.out.len();
        if written.is_changed() {
            self.out.push_str(" name=\"");
            push_attribute(&mut self.out, name);
            self.out.push('"');
        }
        self.out.push('>');
        tag
    }
}
