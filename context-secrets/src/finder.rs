//! Finding secrets in text.

use std::collections::BTreeSet;
use std::fmt;
use std::iter;
use std::ops::Range;
use std::sync::{Arc, LazyLock};

use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use regex::Regex;

use crate::alphabet::{Alphabet, Scan};
use crate::forms::{FORMS, Form};
use crate::kind::SecretKind;
use crate::mark;
use crate::names::{self, NAMES};
use crate::placeholder::{is_mixed, is_monotonous};
use crate::report::SecretCounts;
use crate::structures::{STRUCTURES, open_block};

/// A secret in a text. `Debug` shows no content.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretHit {
    /// The kind.
    pub kind: SecretKind,
    /// The range in bytes of the text, on character boundaries.
    pub range: Range<usize>,
}

/// Finds secrets in texts and masks them: those of public forms, those that a name announces, and
/// those of the program's own rules.
///
/// Cheap to clone. Finding is deterministic and takes time linear in the length of the text.
///
/// ```
/// use context_secrets::SecretFinder;
///
/// let finder = SecretFinder::default();
/// let (shown, counts) = finder.mask("DB_PASSWORD=hunter2-blue, token: ${TOKEN}");
/// assert_eq!(shown, "DB_PASSWORD=[secret:password], token: ${TOKEN}");
/// assert_eq!(counts.of("password"), 1);
/// assert_eq!(finder.mask(&shown).0, shown);
/// ```
#[derive(Clone)]
pub struct SecretFinder(pub(crate) Arc<Inner>);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) without: BTreeSet<SecretKind>,
    /// Literal values, and the kind of each.
    pub(crate) literals: Option<(AhoCorasick, Vec<SecretKind>)>,
    pub(crate) patterns: Vec<(SecretKind, Regex)>,
}

/// The number of times that the rules of a program are applied to their own results.
const MOST_ROUNDS: usize = 4;
/// The longest text that is kept back because it may be the beginning of a secret.
const LONGEST_OPEN: usize = 64 << 10;

struct Automata {
    /// The anchors of forms, then those of structures.
    anchors: AhoCorasick,
    names: AhoCorasick,
}

static AUTOMATA: LazyLock<Automata> = LazyLock::new(|| {
    let anchors = FORMS.iter().map(|form| form.anchor);
    let anchors = anchors.chain(STRUCTURES.iter().map(|structure| structure.anchor));
    let names = NAMES.iter().map(|(name, _)| name);
    Automata {
        anchors: AhoCorasick::new(anchors).expect("the tables are small"),
        names: AhoCorasickBuilder::new()
            .ascii_case_insensitive(true)
            .build(names)
            .expect("the tables are small"),
    }
});

/// A hit of the tables. Of two that begin together, that with the lower rank gives the kind.
struct Candidate {
    range: Range<usize>,
    rank: u8,
    kind: &'static str,
}

impl SecretFinder {
    /// Returns the secrets of a text, in order and without overlap.
    pub fn find(&self, text: &str) -> Vec<SecretHit> {
        let marks = mark::all(text);
        let mut hits = self.own(text, &marks);
        let mut walls: Vec<_> =
            marks.into_iter().chain(hits.iter().map(|hit| hit.range.clone())).collect();
        walls.sort_by_key(|wall| wall.start);
        let mut from = 0;
        for wall in walls.into_iter().chain(iter::once(text.len()..text.len())) {
            let mut scan = Scan::new(&text[from..wall.start]);
            (scan.follows_mark, scan.precedes_mark) = (from > 0, wall.start < text.len());
            self.known(&scan, from, &mut hits);
            from = wall.end;
        }
        hits.sort_by_key(|hit| hit.range.start);
        hits
    }

    /// Replaces each secret by its [mark](crate::mark()), and counts them.
    ///
    /// Idempotent: a masked text comes back as it is. This holds for patterns of the program, too,
    /// unless a pattern keeps finding something in its own results.
    pub fn mask(&self, text: &str) -> (String, SecretCounts) {
        let mut counts = SecretCounts::default();
        let mut masked = None;
        for _ in 0..MOST_ROUNDS {
            let shown = masked.as_deref().unwrap_or(text);
            let hits = self.find(shown);
            if hits.is_empty() {
                break;
            }
            hits.iter().for_each(|hit| counts.add(&hit.kind, 1));
            masked = Some(replace(shown, &hits));
        }
        (masked.unwrap_or_else(|| text.to_owned()), counts)
    }

    /// Returns the kind of a value that belongs to a name, such as that of a field or of a
    /// variable of the environment, if the name announces a secret and the value is not a
    /// placeholder. The value itself is not searched.
    pub fn kind_of_value(&self, name: &str, value: &str) -> Option<SecretKind> {
        let kind = SecretKind::known(names::named(name, value)?);
        (!self.0.without.contains(&kind)).then_some(kind)
    }

    /// Returns the position from which a text that goes on may be the beginning of a secret: the
    /// length of the text, if it does not end with one. For texts that arrive in parts.
    ///
    /// ```
    /// # let finder = context_secrets::SecretFinder::default();
    /// assert_eq!(finder.open_from("It is AKIA"), 6);
    /// assert_eq!(finder.open_from("Nothing here."), 13);
    /// ```
    pub fn open_from(&self, text: &str) -> usize {
        let recent = text.ceil_char_boundary(text.len().saturating_sub(LONGEST_OPEN));
        let tail = &text[recent..];
        let word = tail.len() - Alphabet::Value.run_back(tail.as_bytes(), tail.len());
        // A parameter of a URL is recognized with the sign before it.
        let word = word - usize::from(tail[..word].ends_with('&'));
        let scan = Scan::new(tail);
        // The anchor of a token may be behind its first part.
        let mut open = if is_token_like(&tail[word..]) { word } else { tail.len() };
        for found in AUTOMATA.anchors.find_overlapping_iter(&tail[word..]) {
            let at = word + found.start();
            let anchor = found.pattern().as_usize();
            let is_prefix =
                FORMS.get(anchor).is_some() || STRUCTURES[anchor - FORMS.len()].anchor == "eyJ";
            if is_prefix && scan.starts_word(at) {
                open = open.min(at);
            }
        }
        let starts = (word..tail.len()).rev().take(32).filter(|at| tail.is_char_boundary(*at));
        for at in starts.filter(|at| tail.len() - at > 1 && scan.starts_word(*at)) {
            let end = &tail[at..];
            let anchors = FORMS.iter().map(|form| form.anchor);
            if anchors.into_iter().any(|anchor| anchor.len() > end.len() && anchor.starts_with(end))
            {
                open = open.min(at);
            }
        }
        let near = tail.floor_char_boundary(tail.len().saturating_sub(4096));
        for found in AUTOMATA.names.find_overlapping_iter(&tail[near..]) {
            let (_, family) = NAMES[found.pattern().as_usize()];
            let word = near + found.start()..near + found.end();
            open = open.min(names::open_name(&scan, word, family).unwrap_or(open));
        }
        recent + open.min(open_block(tail).unwrap_or(open))
    }

    /// Returns the built-in kinds, in alphabetical order.
    pub fn built_in_kinds() -> BTreeSet<SecretKind> {
        let named = ["password", "secret", "token", "api-key", "bearer-token", "basic-credentials"];
        let forms = FORMS.iter().map(|form| form.kind);
        let structures = STRUCTURES.iter().map(|structure| structure.kind);
        let kinds = forms.chain(structures).chain(names::vendor_kinds()).chain(named);
        kinds.map(SecretKind::known).collect()
    }

    /// Finds what the program's own rules match, outside of marks.
    fn own(&self, text: &str, marks: &[Range<usize>]) -> Vec<SecretHit> {
        let mut hits: Vec<SecretHit> = Vec::new();
        let overlaps = |range: &Range<usize>, others: &[Range<usize>]| {
            let behind = others.partition_point(|other| other.end <= range.start);
            others.get(behind).is_some_and(|other| other.start < range.end)
        };
        if let Some((automaton, kinds)) = &self.0.literals {
            for found in automaton.find_iter(text) {
                let kind = kinds[found.pattern().as_usize()].clone();
                if !overlaps(&found.range(), marks) {
                    hits.push(SecretHit { kind, range: found.range() });
                }
            }
        }
        for (kind, pattern) in &self.0.patterns {
            let taken: Vec<_> = hits.iter().map(|hit| hit.range.clone()).collect();
            for found in pattern.captures_iter(text) {
                let whole = found.name("secret").or_else(|| found.get(0));
                let Some(range) = whole.map(|found| found.range()) else { continue };
                if !range.is_empty() && !overlaps(&range, marks) && !overlaps(&range, &taken) {
                    hits.push(SecretHit { kind: kind.clone(), range });
                }
            }
            hits.sort_by_key(|hit| hit.range.start);
        }
        hits
    }

    /// Finds what the tables match in a part of a text.
    fn known(&self, scan: &Scan<'_>, offset: usize, hits: &mut Vec<SecretHit>) {
        let part = scan.text;
        let mut candidates = Vec::new();
        for found in AUTOMATA.anchors.find_overlapping_iter(part) {
            let index = found.pattern().as_usize();
            let candidate = match FORMS.get(index) {
                Some(form) => of_form(scan, form, found.range()),
                None => {
                    let structure = &STRUCTURES[index - FORMS.len()];
                    let range = (structure.find)(scan, found.start());
                    range.map(|range| Candidate { range, rank: 1, kind: structure.kind })
                }
            };
            candidates.extend(candidate);
        }
        for found in AUTOMATA.names.find_overlapping_iter(part) {
            let (_, family) = NAMES[found.pattern().as_usize()];
            let value = names::find(scan, found.range(), family);
            candidates.extend(value.map(|(kind, range)| Candidate { range, rank: 2, kind }));
        }
        if !self.0.without.is_empty() {
            candidates.retain(|found| !self.0.without.contains(&SecretKind::known(found.kind)));
        }
        candidates.sort_by_key(|found| (found.range.start, found.rank, found.range.end));
        let first = hits.len();
        for Candidate { range, kind, .. } in candidates {
            // A secret ends with a word, so that its end is not the start of another.
            let end = scan.word_end(range.end);
            match hits[first..].last_mut() {
                Some(last) if range.start + offset < last.range.end => {
                    last.range.end = last.range.end.max(end + offset);
                }
                _ => hits.push(SecretHit {
                    kind: SecretKind::known(kind),
                    range: range.start + offset..end + offset,
                }),
            }
        }
    }
}

fn of_form(scan: &Scan<'_>, form: &Form, anchor: Range<usize>) -> Option<Candidate> {
    let is_label = form.anchor.ends_with(['=', '/']);
    let is_word = scan.starts_word(anchor.start) || form.anchor.starts_with(['?', '&']);
    if !is_word {
        return None;
    }
    let end = scan.run_end(form.alphabet, anchor.end);
    let length = end - anchor.end;
    let token = &scan.text[anchor.end..end];
    let whole = form.max == 0 || (length <= form.max && scan.word_end(end) == end);
    let fits = length >= form.min && whole && is_mixed(token) && !is_monotonous(token);
    let token = token.trim_end_matches(['.', ',', ':', '-']);
    let start = if is_label { anchor.end } else { anchor.start };
    // The longest anchor gives the kind.
    let rank = u8::from(form.anchor.len() < 4);
    fits.then(|| Candidate { range: start..anchor.end + token.len(), rank, kind: form.kind })
}

/// Returns whether the last word of a text may be the first part of a token or of a URL.
fn is_token_like(word: &str) -> bool {
    let any = |test: fn(&u8) -> bool| word.as_bytes().iter().take(256).any(test);
    let is_mixed = any(u8::is_ascii_digit) && any(u8::is_ascii_uppercase);
    word.contains("://") || (word.len() >= 12 && is_mixed)
}

fn replace(text: &str, hits: &[SecretHit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for hit in hits {
        out.push_str(&text[from..hit.range.start]);
        mark::push(&mut out, &hit.kind);
        from = hit.range.end;
    }
    out.push_str(&text[from..]);
    out
}

impl Default for SecretFinder {
    /// Returns a finder with all built-in kinds.
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl fmt::Debug for SecretFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let literals = self.0.literals.as_ref().map_or(0, |(_, kinds)| kinds.len());
        let mut shown = f.debug_struct("SecretFinder");
        shown.field("literals", &literals).field("patterns", &self.0.patterns.len());
        shown.field("without", &self.0.without).finish()
    }
}

/// Returns a matcher of literal values. The longest of several that begin together is found.
pub(crate) fn literals(values: &[String]) -> Result<AhoCorasick, aho_corasick::BuildError> {
    AhoCorasickBuilder::new().match_kind(MatchKind::LeftmostLongest).build(values)
}
