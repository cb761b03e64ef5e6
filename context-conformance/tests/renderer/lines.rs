//! A format of one JSON array per line, of names and values, with optional faults.

use std::sync::atomic::{AtomicU32, Ordering};

use context_core::fragment::{Arrangement, Piece, Pieces, RenderError};
use context_core::{Fragment, FragmentData, Renderer};
use serde_json::{Value, json};

/// The fault of a renderer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    Nothing,
    DropsNumbers,
    DropsTheLastEntry,
    SortsKeys,
    HidesMarks,
    MarksOnlyAtTheTop,
    /// Counts its calls.
    Counts,
    /// Puts the number of other pieces into a piece.
    LooksAround,
    /// Joins the whole prompt differently from its pieces.
    JoinsOtherwise,
    SkipsEmptyPieces,
    EndsLines,
    ShowsNothing,
    ShowsMessages,
    /// Returns an error that does not name the fragment.
    NamesNobody,
    RefusesAsNotData,
    /// Makes every level a little longer than the one around it.
    Indents,
    Recurses,
    DoesNotEscape,
    Trims,
    DropsLongTexts,
}

#[derive(Debug)]
pub(crate) struct Lines {
    fault: Fault,
    asked: AtomicU32,
}

/// A pending value after a name.
struct Open<'a> {
    /// The name before the value, if it has one.
    name: Option<(&'a str, bool)>,
    data: &'a FragmentData,
    depth: usize,
}

impl Lines {
    pub(crate) fn new(fault: Fault) -> Self {
        Self { fault, asked: AtomicU32::new(0) }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// Writes names on their own lines, then values: `["rule",1,null]`, `["Ask."]`. Linear in the
    /// depth, since no path is repeated.
    fn write(&self, fragment: &Fragment, out: &mut String) -> Result<(), RenderError> {
        let mut open = vec![self.child(fragment, 0)?];
        while let Some(Open { name, data, depth }) = open.pop() {
            if let Some((name, untrusted)) = name {
                let hides =
                    self.is(Fault::HidesMarks) || (self.is(Fault::MarksOnlyAtTheTop) && depth > 0);
                self.line(depth, &json!([name, u8::from(untrusted && !hides), null]), out);
            }
            let children = open.len();
            match data {
                FragmentData::Null => {}
                FragmentData::Bool(value) => self.line(depth, &json!([value]), out),
                FragmentData::Number(_) if self.is(Fault::DropsNumbers) => {}
                FragmentData::Number(number) => self.line(depth, &json!([number.to_string()]), out),
                FragmentData::Text(text) => self.text(depth, text, out),
                FragmentData::Fragment(fragment) => open.push(self.child(fragment, depth + 1)?),
                FragmentData::List(list) => {
                    for data in list {
                        open.push(match data {
                            FragmentData::Fragment(fragment) => self.child(fragment, depth + 1)?,
                            data => Open { name: None, data, depth: depth + 1 },
                        });
                    }
                }
                FragmentData::Map(map) => {
                    for (key, data) in map {
                        open.push(match data {
                            FragmentData::Fragment(fragment) if fragment.name() == key => {
                                self.child(fragment, depth + 1)?
                            }
                            data => Open { name: Some((key, false)), data, depth: depth + 1 },
                        });
                    }
                    if self.is(Fault::DropsTheLastEntry) && map.len() > 1 {
                        open.pop();
                    }
                    if self.is(Fault::SortsKeys) {
                        open[children..].sort_by_key(|open| std::cmp::Reverse(open.name));
                    }
                }
                FragmentData::Lazy(_) => {
                    let name = fragment.name().to_owned();
                    return Err(match self.is(Fault::RefusesAsNotData) {
                        true => RenderError::NotData { name },
                        // Data that is not loaded is the only value of its fragment here.
                        false => RenderError::NotLoaded { name: self.loading(fragment) },
                    });
                }
                other => panic!("a new kind of data: {other:?}"),
            }
            open[children..].reverse();
        }
        Ok(())
    }

    fn child<'a>(&self, fragment: &'a Fragment, depth: usize) -> Result<Open<'a>, RenderError> {
        static NOTHING: FragmentData = FragmentData::Null;
        let name = Some((fragment.name(), fragment.is_untrusted()));
        let data = match fragment.data() {
            Some(data) => data,
            None if self.is(Fault::ShowsMessages) => &NOTHING,
            None if self.is(Fault::NamesNobody) => {
                return Err(RenderError::NotData { name: String::new() });
            }
            None => return Err(RenderError::NotData { name: fragment.name().to_owned() }),
        };
        Ok(Open { name, data, depth })
    }

    /// Returns the name of the fragment in a tree whose data is not loaded. Such trees are small.
    fn loading(&self, fragment: &Fragment) -> String {
        let mut open: Vec<(&str, &FragmentData)> =
            fragment.data().map(|data| (fragment.name(), data)).into_iter().collect();
        while let Some((name, data)) = open.pop() {
            match data {
                FragmentData::Lazy(_) => return name.to_owned(),
                FragmentData::List(list) => open.extend(list.iter().map(|data| (name, data))),
                FragmentData::Map(map) => {
                    open.extend(map.iter().map(|(key, data)| (key.as_str(), data)))
                }
                FragmentData::Fragment(fragment) => {
                    open.extend(fragment.data().map(|data| (fragment.name(), data)))
                }
                _ => {}
            }
        }
        String::new()
    }

    fn text(&self, depth: usize, text: &str, out: &mut String) {
        match self.fault {
            Fault::DropsLongTexts if text.len() > 50_000 => {}
            Fault::Trims => self.line(depth, &json!([text.trim()]), out),
            Fault::DoesNotEscape => {
                out.push_str("[\"");
                out.push_str(text);
                out.push_str("\"]\n");
            }
            _ => self.line(depth, &json!([text]), out),
        }
    }

    fn line(&self, depth: usize, value: &Value, out: &mut String) {
        if self.is(Fault::Indents) {
            out.extend(std::iter::repeat_n(' ', depth));
        }
        out.push_str(&value.to_string());
        out.push('\n');
    }

    fn piece(&self, fragment: &Fragment, out: &mut String) -> Result<(), RenderError> {
        if self.is(Fault::Recurses) {
            descend(fragment.data());
        }
        let nothing =
            fragment.data().is_some_and(FragmentData::is_empty) && !self.is(Fault::ShowsNothing);
        if !nothing {
            self.write(fragment, out)?;
        }
        if self.is(Fault::Counts) {
            out.push_str(&json!([self.asked.fetch_add(1, Ordering::Relaxed), null]).to_string());
        }
        if out.ends_with('\n') && !self.is(Fault::EndsLines) {
            out.pop();
        }
        Ok(())
    }
}

/// Recurses to the bottom, with a stack frame per level.
fn descend(data: Option<&FragmentData>) -> usize {
    1 + match data {
        Some(FragmentData::List(list)) => {
            list.iter().map(|data| descend(Some(data))).max().unwrap_or(0)
        }
        Some(FragmentData::Map(map)) => {
            map.values().map(|data| descend(Some(data))).max().unwrap_or(0)
        }
        Some(FragmentData::Fragment(fragment)) => descend(fragment.data()),
        _ => 0,
    }
}

impl Renderer for Lines {
    fn name(&self) -> &str {
        "lines"
    }

    fn arrange(&self, fragments: &[&Fragment]) -> Arrangement {
        let _ = fragments;
        Arrangement::separated_by("\n")
    }

    fn render_pieces(&self, pieces: &[Piece<'_>], out: &mut Pieces) -> Result<(), RenderError> {
        for piece in pieces {
            let mut text = String::new();
            self.piece(piece.fragment, &mut text)?;
            if self.is(Fault::LooksAround) && pieces.len() > 1 && !text.is_empty() {
                text.insert_str(0, "[1,null]\n");
            }
            if text.is_empty() && self.is(Fault::SkipsEmptyPieces) {
                continue;
            }
            out.text().push_str(&text);
            out.end_piece();
        }
        Ok(())
    }

    fn render(&self, fragments: &[Fragment]) -> Result<String, RenderError> {
        let fragments: Vec<_> = fragments.iter().collect();
        let arrangement = self.arrange(&fragments);
        let mut out = Pieces::default();
        self.render_pieces(&arrangement.pieces(&fragments), &mut out)?;
        let prompt = arrangement.join(out.iter());
        Ok(if self.is(Fault::JoinsOtherwise) { prompt.replace('\n', "\n\n") } else { prompt })
    }
}
