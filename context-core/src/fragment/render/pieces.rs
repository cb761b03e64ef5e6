//! The pieces of a prompt and their arrangement.

use std::borrow::Cow;

use crate::Fragment;

/// A renderer-specific variant of writing a fragment. The piece of a fragment is the same as long
/// as the fragment and its form are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Form(pub u8);

/// A fragment to render in a form.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The fragment.
    pub fragment: &'a Fragment,
    /// The form.
    pub form: Form,
}

/// The arrangement of the pieces of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    head: String,
    separator: Cow<'static, str>,
    /// One form for each fragment. Empty if all fragments have the first form.
    forms: Vec<Form>,
}

impl Arrangement {
    /// Creates an arrangement of independent pieces, with a separator between non-empty ones.
    pub fn separated_by(separator: impl Into<Cow<'static, str>>) -> Self {
        Self { separator: separator.into(), ..Self::default() }
    }

    /// Sets a text before the pieces, followed by the separator. It is present even if every piece
    /// is empty.
    #[must_use]
    pub fn with_head(mut self, head: impl Into<String>) -> Self {
        self.head = head.into();
        self
    }

    /// Sets a form for each fragment, in order.
    #[must_use]
    pub fn with_forms(mut self, forms: Vec<Form>) -> Self {
        self.forms = forms;
        self
    }

    /// Returns the text before the pieces.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Returns the separator between pieces.
    pub fn separator(&self) -> &str {
        &self.separator
    }

    /// Returns the form of the fragment at an index.
    pub fn form(&self, index: usize) -> Form {
        self.forms.get(index).copied().unwrap_or_default()
    }

    /// Combines fragments with their forms.
    pub fn pieces<'a>(&self, fragments: &[&'a Fragment]) -> Vec<Piece<'a>> {
        let piece =
            |(index, fragment): (usize, &&'a Fragment)| Piece { fragment, form: self.form(index) };
        fragments.iter().enumerate().map(piece).collect()
    }

    /// Joins rendered pieces to a prompt.
    pub fn join<'a>(&self, pieces: impl Iterator<Item = &'a str> + Clone) -> String {
        let separator = self.separator.len();
        let length =
            self.head.len() + pieces.clone().map(|piece| piece.len() + separator).sum::<usize>();
        let mut out = String::with_capacity(length);
        out.push_str(&self.head);
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            if !out.is_empty() {
                out.push_str(&self.separator);
            }
            out.push_str(piece);
        }
        out
    }
}

/// Rendered pieces in one text.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    text: String,
    ends: Vec<usize>,
}

impl Pieces {
    /// Returns the output text. Everything appended since the last [`end_piece`](Self::end_piece)
    /// forms the next piece.
    pub fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Returns the start of the current piece.
    pub fn start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Completes the current piece.
    pub fn end_piece(&mut self) {
        self.ends.push(self.text.len());
    }

    /// Returns the completed pieces.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}
