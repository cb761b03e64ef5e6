//! Tables that fit the terminal: a header, columns as wide as what they hold, right-aligned
//! numbers. If the terminal is too narrow, ids are shortened before texts are.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::Failure;
use crate::output::{Output, Style};
use crate::text::one_line;

/// The columns between two columns.
const GAP: usize = 2;
/// The width that an id keeps as long as a text can give way instead.
const SHORT_ID: usize = 12;
/// The width that an id or a text keeps on the narrowest terminal.
const SHORTEST: usize = 8;
/// The largest width of a text, also where lines may have any length.
pub(crate) const LONGEST_TEXT: usize = 200;

/// A column, by what it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The name of a thing. It gives way first, in its middle, since both ends tell names apart.
    Id,
    /// Words. They give way at their end.
    Text,
    /// A short word, which is never shortened.
    Word,
    /// A time, which is never shortened. Its column keeps the width of the longest distance to now,
    /// so that a table does not move while time passes.
    Time,
    /// A number, which is never shortened, at the right.
    Number,
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    header: &'static str,
    kind: Kind,
    style: Option<Style>,
}

impl Column {
    const fn new(header: &'static str, kind: Kind, style: Option<Style>) -> Self {
        Self { header, kind, style }
    }

    /// Creates a column of ids or names.
    pub(crate) const fn id(header: &'static str) -> Self {
        Self::new(header, Kind::Id, Some(Style::Bold))
    }

    /// Creates a column of text, which is the first line of what is there.
    pub(crate) const fn text(header: &'static str) -> Self {
        Self::new(header, Kind::Text, None)
    }

    /// Creates a column of short words.
    pub(crate) const fn word(header: &'static str) -> Self {
        Self::new(header, Kind::Word, None)
    }

    /// Creates a column of numbers.
    pub(crate) const fn number(header: &'static str) -> Self {
        Self::new(header, Kind::Number, None)
    }

    /// Creates a column of times.
    pub(crate) const fn time(header: &'static str) -> Self {
        Self::new(header, Kind::Time, Some(Style::Dim))
    }

    /// Returns the column with another style.
    pub(crate) const fn style(self, style: Style) -> Self {
        Self { style: Some(style), ..self }
    }

    /// Shortens a text to a width.
    fn cut<'t>(&self, text: &'t str, width: usize) -> Cow<'t, str> {
        match self.kind {
            Kind::Id => cut_middle(text, width),
            _ => cut(text, width),
        }
    }

    /// The width that the column keeps while others give way.
    fn least(&self, natural: usize, round: usize) -> usize {
        let least = match (self.kind, round) {
            (Kind::Id, 0) => SHORT_ID,
            // An id says who is meant, and half a word of a title still says what it is about.
            (Kind::Text, 1) => SHORT_ID + SHORTEST,
            (Kind::Id | Kind::Text, 2) => SHORTEST,
            _ => natural,
        };
        natural.min(least.max(self.header.len()))
    }
}

/// A cell: its text, and its style if it is not that of the column.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Option<Style>,
}

impl Cell {
    /// Returns the cell with a style of its own.
    pub(crate) fn styled(text: impl AsRef<str>, style: Style) -> Self {
        Self { style: Some(style), ..Self::from(text.as_ref()) }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self { text: one_line(text).trim().to_owned(), style: None }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        text.as_str().into()
    }
}

/// A table for people.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    columns: [Column; N],
    rows: Vec<[Cell; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(columns: [Column; N]) -> Self {
        Self { columns, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: [Cell; N]) {
        self.rows.push(cells);
    }

    /// Writes the table. One without rows is not written at all, not even its header. A column in
    /// which no row has anything is left out.
    pub(crate) fn write(&self, out: &mut Output) -> Result<(), Failure> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let widths = self.widths(out.columns());
        let header = self.columns.map(|column| Cell::styled(column.header, Style::Dim));
        for row in std::iter::once(&header).chain(&self.rows) {
            let line = self.line(row, &widths, out);
            out.line(line)?;
        }
        Ok(())
    }

    fn line(&self, row: &[Cell; N], widths: &[usize; N], out: &Output) -> String {
        let mut line = String::new();
        let mut missing = 0;
        for ((column, cell), width) in self.columns.iter().zip(row).zip(widths) {
            if *width == 0 {
                continue;
            }
            let text = column.cut(&cell.text, *width);
            let space = width.saturating_sub(text.width());
            if column.kind == Kind::Number {
                missing += space;
            }
            if !text.is_empty() {
                // Spaces are written only before text, so that no line ends with some.
                line.extend(std::iter::repeat_n(' ', missing));
                missing = 0;
                match cell.style.or(column.style) {
                    Some(style) => line += &out.paint(style, &text).to_string(),
                    None => line += &text,
                }
            }
            missing += GAP + if column.kind == Kind::Number { 0 } else { space };
        }
        line
    }

    /// Returns the width of each column. 0 means that it is left out.
    fn widths(&self, limit: Option<usize>) -> [usize; N] {
        let mut widths = [0; N];
        for (at, width) in widths.iter_mut().enumerate() {
            let (column, cells) = (&self.columns[at], self.rows.iter().map(|row| &row[at].text));
            let widest = cells.map(|text| text.width()).max().unwrap_or(0);
            if widest > 0 {
                *width = widest.max(column.header.width());
            }
            if column.kind == Kind::Time && widest > 0 {
                *width = (*width).max("59 seconds ago".len());
            }
            if column.kind == Kind::Text {
                *width = (*width).min(limit.unwrap_or(LONGEST_TEXT).min(LONGEST_TEXT));
            }
        }
        let shown = widths.iter().filter(|width| **width > 0).count();
        let limit = limit.unwrap_or(usize::MAX).saturating_sub(GAP * shown.saturating_sub(1));
        for round in 0..3 {
            let mut excess = widths.iter().sum::<usize>().saturating_sub(limit);
            while excess > 0 {
                // The widest gives way first, so that all end up with about the same width.
                let room = |at: usize| widths[at] - self.columns[at].least(widths[at], round);
                let Some(at) = (0..N).filter(|at| room(*at) > 0).max_by_key(|at| widths[*at])
                else {
                    break;
                };
                widths[at] -= 1;
                excess -= 1;
            }
        }
        widths
    }
}

/// Shortens a text at its end to a number of columns.
pub(crate) fn cut(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let kept = start(text, columns.saturating_sub(1)).trim_end();
    Cow::Owned(format!("{kept}…"))
}

/// Shortens a text in its middle to a number of columns.
fn cut_middle(text: &str, columns: usize) -> Cow<'_, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    let kept = columns.saturating_sub(1);
    let head = start(text, kept / 2);
    // From the end: as many characters as fit, but no mark without the character that it is on.
    let mut end = text.len();
    for (at, c) in text.char_indices().rev() {
        if text[at..].width() > kept - kept / 2 {
            break;
        }
        if c.width().is_some_and(|width| width > 0) {
            end = at;
        }
    }
    Cow::Owned(format!("{head}…{}", &text[end..]))
}

/// Returns the longest start of a text that fits into a number of columns, with the marks of its
/// last character.
fn start(text: &str, columns: usize) -> &str {
    let mut end = 0;
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        if text[..next].width() > columns {
            break;
        }
        end = next;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;
    use proptest::prelude::*;

    use super::*;
    use crate::scene::BufferWriter;

    fn table() -> Table<4> {
        let mut table = Table::new([
            Column::id("CHAT"),
            Column::text("TITLE"),
            Column::number("MESSAGES"),
            Column::time("UPDATED"),
        ]);
        for (id, title, messages) in [
            (
                "support-7",
                "Which tickets to Lisbon are left for the 4th of May, and at what price?",
                7,
            ),
            (
                "-home-ada-src-trips/0198c1d2-7b1e-7c00-8000-00000000abcd",
                "旅行の計画を立てる、そして切符を予約する",
                12_345,
            ),
            ("notes", "", 1),
        ] {
            let number = crate::text::grouped(messages);
            table.row([id.into(), title.into(), number.into(), "5 minutes ago".into()]);
        }
        table
    }

    fn shown(table: &Table<4>, columns: Option<usize>) -> String {
        let paper = BufferWriter::default();
        let mut out = Output::to(false, paper.clone(), std::io::sink()).with_columns(columns);
        table.write(&mut out).expect("written");
        paper.text()
    }

    #[test]
    fn ids_give_way_before_titles() {
        let table = table();
        let all = [Some(60), Some(80), Some(120), Some(200), None].map(|columns| {
            let name = columns.map_or_else(|| "a pipe".to_owned(), |n| format!("{n} columns"));
            format!("{name}\n{}", shown(&table, columns))
        });
        assert_snapshot!("table", all.join("\n"));
    }

    #[test]
    fn a_mark_stays_with_its_character() {
        assert_eq!(cut("ne\u{301}e", 3), "ne\u{301}e");
        assert_eq!(cut("ne\u{301}e\u{301}s", 3), "ne\u{301}…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut_middle("e\u{301}e\u{301}e\u{301}e\u{301}", 3), "e\u{301}…e\u{301}");
        assert_eq!(cut("a", 0), "…");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_terminal(
            rows in prop::collection::vec(("\\PC{0,40}", "\\PC{0,60}", 0u32..), 1..8),
            columns in 50usize..220,
        ) {
            let mut table = Table::new([
                Column::id("CHAT"), Column::text("TITLE"), Column::number("N"), Column::time("AT"),
            ]);
            for (id, title, n) in rows {
                table.row([id.into(), title.into(), n.to_string().into(), "now".into()]);
            }
            for line in shown(&table, Some(columns)).lines() {
                prop_assert!(line.width() <= columns, "{line:?}");
                prop_assert!(!line.ends_with(' '));
            }
        }
    }
}
