//! The pieces of a prompt, and how they stand together.

use std::borrow::Cow;

use crate::Fragment;

/// In which of its ways a renderer writes a fragment; what each stands for is the renderer's
/// business. As long as a fragment and its form are the same, its piece is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Form(pub u8);

/// A fragment to be rendered in a form.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// The fragment.
    pub fragment: &'a Fragment,
    /// The form.
    pub form: Form,
}

/// How the pieces of a prompt stand together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrangement {
    head: String,
    separator: Cow<'static, str>,
    /// One for each fragment; none at all if each stands in its first form.
    forms: Vec<Form>,
}

impl Arrangement {
    /// Pieces that stand for themselves, with this between any two that are not empty.
    pub fn separated_by(separator: impl Into<Cow<'static, str>>) -> Self {
        Self { separator: separator.into(), ..Self::default() }
    }

    /// The same with a text in front, followed by the separator. It stands there also if every
    /// piece is empty.
    #[must_use]
    pub fn with_head(mut self, head: impl Into<String>) -> Self {
        self.head = head.into();
        self
    }

    /// The same with a form for each fragment, in their order.
    #[must_use]
    pub fn with_forms(mut self, forms: Vec<Form>) -> Self {
        self.forms = forms;
        self
    }

    /// The text in front of the pieces.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// What stands between two pieces.
    pub fn separator(&self) -> &str {
        &self.separator
    }

    /// The form of the fragment at a place.
    pub fn form(&self, place: usize) -> Form {
        self.forms.get(place).copied().unwrap_or_default()
    }

    /// The fragments in their forms.
    pub fn pieces<'a>(&self, fragments: &[&'a Fragment]) -> Vec<Piece<'a>> {
        let piece =
            |(place, fragment): (usize, &&'a Fragment)| Piece { fragment, form: self.form(place) };
        fragments.iter().enumerate().map(piece).collect()
    }

    /// The prompt of rendered pieces.
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

/// Rendered pieces, in one text.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    text: String,
    ends: Vec<usize>,
}

impl Pieces {
    /// The text to write to: what has been appended since the last [`end_piece`](Self::end_piece)
    /// is the next piece.
    pub fn text(&mut self) -> &mut String {
        &mut self.text
    }

    /// Where the piece that is being written begins.
    pub fn start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// The piece that is being written is complete.
    pub fn end_piece(&mut self) {
        self.ends.push(self.text.len());
    }

    /// The pieces.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.text[start..*end])
    }
}
