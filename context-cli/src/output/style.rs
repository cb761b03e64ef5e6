//! Styles of text, and which sequences may reach a terminal.

use std::borrow::Cow;
use std::fmt::{self, Display};

use crate::text::{clean, clean_lines};

/// A text style, by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// A name.
    Bold,
    /// A detail: a time, a number of things left out.
    Dim,
    /// A failure, or what is gone.
    Red,
    /// A success, or what is active.
    Green,
    /// An id.
    Yellow,
}

impl Style {
    const ALL: [Self; 5] = [Self::Bold, Self::Dim, Self::Red, Self::Green, Self::Yellow];
    const END: &str = "\x1b[0m";

    fn start(self) -> &'static str {
        match self {
            Self::Bold => "\x1b[1m",
            Self::Dim => "\x1b[2m",
            Self::Red => "\x1b[31m",
            Self::Green => "\x1b[32m",
            Self::Yellow => "\x1b[33m",
        }
    }
}

/// Text with a style.
pub(crate) struct Painted<T> {
    style: Option<Style>,
    text: T,
}

impl<T: Display> Painted<T> {
    pub(crate) fn new(style: Option<Style>, text: T) -> Self {
        Self { style, text }
    }
}

impl<T: Display> Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(style) = self.style else { return self.text.fmt(f) };
        f.write_str(style.start())?;
        self.text.fmt(f)?;
        f.write_str(Style::END)
    }
}

/// Escapes hidden characters in the lines of a text, except for the styles that [`Painted`] writes.
pub(super) fn clean_around_styles(text: &str) -> Cow<'_, str> {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\x1b') {
        shown.push_str(&clean_lines(&rest[..at]));
        let mut sequences = Style::ALL.map(Style::start).into_iter().chain([Style::END]);
        match sequences.find(|sequence| rest[at..].starts_with(sequence)) {
            Some(sequence) => {
                shown.push_str(sequence);
                rest = &rest[at + sequence.len()..];
            }
            None => {
                shown.push_str(&clean("\x1b"));
                rest = &rest[at + 1..];
            }
        }
    }
    shown.push_str(&clean_lines(rest));
    Cow::Owned(shown)
}
