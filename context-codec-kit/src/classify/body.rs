//! Parsing of error bodies of all providers.
//!
//! | provider | form |
//! |---|---|
//! | Anthropic | `{"type":"error","error":{"type":…,"message":…}}` |
//! | OpenAI and most others | `{"error":{"message":…,"type":…,"code":…,"param":…}}` |
//! | Google | `{"error":{"code":…,"status":…,"message":…,"details":[…]}}`, in a list when streamed |
//! | Amazon | `{"message":…,"__type":…}` |
//! | FastAPI, so Mistral, vLLM | `{"detail":…}`, `{"detail":[{"msg":…,"type":…}]}` |
//! | Ollama, Hugging Face, xAI | `{"error":"…"}` |
//! | proxies | any of these as a string in `message` or `metadata.raw`, or printed by Python behind words |
//! | gateways | HTML, or plain text |
//!
//! Bodies are scanned rather than parsed. So a truncated body still yields what it contains, and
//! nesting costs no more than its length. Echoes of the request are skipped.

mod scan;

use std::time::Duration;

use self::scan::{Scanner, Value};
use super::duration;

/// The examined part of a body: its beginning, where all providers report the error, and its end.
const HEAD: usize = 48 << 10;
const TAIL: usize = 16 << 10;

/// Limits in bytes on the collected text, in total and for the beginning and end of a single
/// string.
const WORDS: usize = 16 << 10;
const STRING_HEAD: usize = 6 << 10;
const STRING_TAIL: usize = 2 << 10;

/// Maximum number of levels of bodies that are strings inside other bodies.
const LEVELS: usize = 4;

/// The contents of an error body.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The message for people.
    pub(super) message: String,
    /// All text that describes the error.
    pub(super) words: String,
    /// Codes and types as written, the outermost level first, and the most specific first within a
    /// level.
    pub(super) codes: Vec<String>,
    /// The status that the body repeats.
    pub(super) status: Option<u16>,
    /// The time to wait before a retry.
    pub(super) retry_after: Option<Duration>,
    /// Counts that have keys of their own.
    pub(super) counts: Vec<(Count, u64)>,
}

/// The meaning of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    Window,
    Input,
    Available,
}

impl Body {
    pub(super) fn read(text: &str) -> Self {
        let text = text.trim();
        let excerpt = excerpt(text, HEAD, TAIL);
        if let Some(page) = page(&excerpt) {
            return page;
        }
        let mut reader = Reader::default();
        let mut texts = vec![excerpt];
        for level in 0..LEVELS {
            let mut nested = Vec::new();
            for text in &texts {
                reader.scan(text, level, &mut nested);
            }
            texts = nested;
        }
        // Text nested deeper than any real body is treated as plain words.
        texts.iter().for_each(|text| reader.add_words(text));
        reader.into_body()
    }
}

/// Returns the beginning and the end of a long text.
fn excerpt(text: &str, head: usize, tail: usize) -> String {
    if text.len() <= head + tail {
        return text.to_owned();
    }
    let (mut front, mut back) = (head, text.len() - tail);
    while !text.is_char_boundary(front) {
        front -= 1;
    }
    while !text.is_char_boundary(back) {
        back += 1;
    }
    format!("{} … {}", &text[..front], &text[back..])
}

/// A candidate for the message. The deepest level is preferred, then the best key.
#[derive(Debug)]
struct Candidate {
    level: usize,
    rank: u8,
    depth: usize,
    text: String,
}

#[derive(Debug, Default)]
struct Reader {
    body: Body,
    candidates: Vec<Candidate>,
    codes: Vec<(usize, u8, String)>,
}

impl Reader {
    fn scan(&mut self, text: &str, level: usize, nested: &mut Vec<String>) {
        let mut scanner = Scanner::new(text);
        while let Some(value) = scanner.next() {
            self.take(&value, level, nested);
        }
        let outside = scanner.outside();
        self.add_words(outside);
        // A body of plain text. Text around a structure only introduces the structure.
        let rank = if scanner.found_structure() { 5 } else { 0 };
        self.suggest(outside, level, rank, 0);
    }

    fn take(&mut self, value: &Value<'_>, level: usize, nested: &mut Vec<String>) {
        let key = value.key;
        if value.is_string && holds_body(&value.text) && may_hold_body(key) {
            nested.push(excerpt(&value.text, HEAD, TAIL));
            return;
        }
        if let Some(rank) = message_rank(key).filter(|_| value.is_string) {
            self.add_words(&value.text);
            self.suggest(&value.text, level, rank, value.depth);
        }
        if let Some(rank) = code_rank(key) {
            self.add_code(value, level, rank);
        }
        if let Some(unit) = retry_unit(key) {
            let wait = value.text.trim();
            let read = if value.is_string && !wait.ends_with(|c: char| c.is_ascii_digit()) {
                duration::read(wait).map(|(wait, _)| wait)
            } else {
                duration::of(wait, unit)
            };
            self.body.retry_after = self.body.retry_after.or(read);
        }
        if let Some(count) = count(key)
            && let Ok(number) = value.text.parse()
        {
            self.body.counts.push((count, number));
        }
    }

    fn add_words(&mut self, words: &str) {
        let words = excerpt(words.trim(), STRING_HEAD, STRING_TAIL);
        if !words.is_empty() && self.body.words.len() + words.len() <= WORDS {
            self.body.words.push_str(&words);
            self.body.words.push('\n');
        }
    }

    fn suggest(&mut self, text: &str, level: usize, rank: u8, depth: usize) {
        let text = text.trim();
        if !text.is_empty() {
            let text = excerpt(text, STRING_HEAD, STRING_TAIL);
            // Generic messages come after all others.
            let rank = if is_generic(&text) { 4 } else { rank };
            self.candidates.push(Candidate { level, rank, depth, text });
        }
    }

    fn add_code(&mut self, value: &Value<'_>, level: usize, rank: u8) {
        let written = value.text.trim();
        let status = written.parse().ok().filter(|status| (400..600).contains(status));
        if let Some(status) = status {
            self.body.status = self.body.status.or(Some(status));
        } else if !matches!(written, "" | "error")
            && (value.is_string || written.starts_with(|c: char| c.is_ascii_digit()))
        {
            self.codes.push((level, rank, written.to_owned()));
        }
    }

    fn into_body(mut self) -> Body {
        let key = |candidate: &Candidate| {
            let is_vague = candidate.rank >= 3;
            (is_vague, usize::MAX - candidate.level, candidate.rank, candidate.depth)
        };
        self.candidates.sort_by_key(key);
        if let Some(best) = self.candidates.into_iter().next() {
            self.body.message = best.text;
        }
        self.codes.sort_by_key(|(level, rank, _)| (*level, *rank));
        self.body.codes = self.codes.into_iter().map(|(_, _, code)| code).collect();
        self.body
    }
}

/// Returns how well a key's value describes the error, if at all. Lower is better.
fn message_rank(key: &str) -> Option<u8> {
    Some(match key {
        "message" | "msg" | "errormessage" | "errormsg" => 0,
        // An empty key: the whole body is a string or a list of strings.
        "" | "error" | "detail" | "errordescription" | "raw" => 1,
        "details" | "param" | "cause" | "errors" | "hint" | "info" => 2,
        "title" | "description" | "reason" => 3,
        _ => return None,
    })
}

/// Returns how well a key's value names the provider's code, if at all. Lower is better.
fn code_rank(key: &str) -> Option<u8> {
    Some(match key {
        "code" | "errorcode" => 0,
        "type" | "errortype" => 1,
        "status" | "statuscode" => 2,
        "reason" | "name" => 3,
        _ => return None,
    })
}

/// Returns the unit in milliseconds of a key that holds a time to wait.
fn retry_unit(key: &str) -> Option<f64> {
    match key {
        "retrydelay" | "retryafter" | "retryafterseconds" | "retryafters" | "retryin" => {
            Some(1_000.0)
        }
        "retryafterms" => Some(1.0),
        _ => None,
    }
}

fn count(key: &str) -> Option<Count> {
    match key {
        "nctx" | "maxcontextlength" => Some(Count::Window),
        "nprompttokens" => Some(Count::Input),
        "availabletokens" | "availableoutputtokens" => Some(Count::Available),
        _ => None,
    }
}

/// Returns whether a message is generic, as from a proxy that reports the reason elsewhere.
fn is_generic(text: &str) -> bool {
    const EMPTY: [&str; 6] = [
        "error",
        "bad request",
        "provider returned error",
        "upstream error",
        "param incorrect",
        "unknown error",
    ];
    let plain = text.trim_end_matches('.');
    EMPTY.iter().any(|empty| plain.eq_ignore_ascii_case(empty))
}

/// Returns whether a string may contain a body.
fn holds_body(text: &str) -> bool {
    text.match_indices('{')
        .take(8)
        .any(|(at, _)| text[at + 1..].trim_start().starts_with(['"', '\'']))
}

fn may_hold_body(key: &str) -> bool {
    message_rank(key).is_some()
        || matches!(key, "" | "body" | "response" | "responsebody" | "data" | "content")
}

/// Parses an HTML or XML page: its title, its message, or else its text.
fn page(text: &str) -> Option<Body> {
    const LONGEST_TITLE: usize = 300;
    let lower = text.to_ascii_lowercase();
    if !lower.starts_with('<') {
        return None;
    }
    let between = |open: &str, close: &str| {
        let start = lower.find(open)? + open.len();
        let start = start + lower[start..].find('>')? + 1;
        let end = lower[start..].find(close)? + start;
        Some(&text[start..end])
    };
    let shown = between("<title", "</title").or_else(|| between("<message", "</message"));
    let shown = shown.or_else(|| between("<h1", "</h1")).unwrap_or(text);
    let mut message = String::new();
    let (mut in_tag, mut length) = (false, 0);
    for c in shown.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => in_tag = false,
            _ if in_tag => {}
            c if length < LONGEST_TITLE => {
                message.push(c);
                length += 1;
            }
            _ => break,
        }
    }
    let message = message.replace("&amp;", "&").replace("&#39;", "'").replace("&quot;", "\"");
    let code = between("<code", "</code").map(|code| code.trim().to_owned());
    let codes = code.into_iter().filter(|code| !code.is_empty() && code.len() < 80).collect();
    let message = message.trim().to_owned();
    Some(Body { words: message.clone(), message, codes, ..Body::default() })
}
