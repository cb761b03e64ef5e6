//! What the body of an error says, whoever wrote it.
//!
//! | who | form |
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
//! Bodies are scanned rather than parsed: what is found in one that is cut off in the middle still
//! counts, and no depth of nesting costs anything but its length. What a body repeats of the
//! request is passed over.

mod scan;

use std::time::Duration;

use self::scan::{Scanner, Value};
use super::duration;

/// How much of a body is looked at: its beginning, where all providers say what is wrong, and its
/// end.
const HEAD: usize = 48 << 10;
const TAIL: usize = 16 << 10;

/// How many words are kept in all, in bytes, and of a single string its beginning and its end.
const WORDS: usize = 16 << 10;
const STRING_HEAD: usize = 6 << 10;
const STRING_TAIL: usize = 2 << 10;

/// How many times a body may stand as a string in another.
const LEVELS: usize = 4;

/// What a body says.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The words for people.
    pub(super) message: String,
    /// All words that say what is wrong.
    pub(super) words: String,
    /// Codes and types as they were written, the outermost first and of one level the most telling
    /// first.
    pub(super) codes: Vec<String>,
    /// The status that a body repeats.
    pub(super) status: Option<u16>,
    /// How long to wait.
    pub(super) retry_after: Option<Duration>,
    /// Counts under keys of their own.
    pub(super) counts: Vec<(Count, u64)>,
}

/// What a count counts.
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
        // What is nested deeper than anyone writes is words.
        texts.iter().for_each(|text| reader.add_words(text));
        reader.into_body()
    }
}

/// The beginning and the end of a long text.
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

/// Words that may become the message: the deepest level first, then the better key.
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
        // A body of plain words; those around a structure only introduce it.
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
            // Words that say nothing come after all others.
            let rank = if says_nothing(&text) { 4 } else { rank };
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
            let told = candidate.rank < 3;
            (!told, usize::MAX - candidate.level, candidate.rank, candidate.depth)
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

/// How well a key tells what is wrong, if at all; lower is better.
fn message_rank(key: &str) -> Option<u8> {
    Some(match key {
        "message" | "msg" | "errormessage" | "errormsg" => 0,
        // No key: the whole body is a string or a list of them.
        "" | "error" | "detail" | "errordescription" | "raw" => 1,
        "details" | "param" | "cause" | "errors" | "hint" | "info" => 2,
        "title" | "description" | "reason" => 3,
        _ => return None,
    })
}

/// How well a key tells the provider's code, if at all; lower is better.
fn code_rank(key: &str) -> Option<u8> {
    Some(match key {
        "code" | "errorcode" => 0,
        "type" | "errortype" => 1,
        "status" | "statuscode" => 2,
        "reason" | "name" => 3,
        _ => return None,
    })
}

/// The unit of a key that says how long to wait, in milliseconds.
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

/// Whether words only say that something is wrong, as a proxy does that puts the reason elsewhere.
fn says_nothing(text: &str) -> bool {
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

/// Whether a string may be a body, or words in front of one.
fn holds_body(text: &str) -> bool {
    text.match_indices('{')
        .take(8)
        .any(|(at, _)| text[at + 1..].trim_start().starts_with(['"', '\'']))
}

fn may_hold_body(key: &str) -> bool {
    message_rank(key).is_some()
        || matches!(key, "" | "body" | "response" | "responsebody" | "data" | "content")
}

/// Reads a page: its title, or its message, or else its text.
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
    let told = between("<title", "</title").or_else(|| between("<message", "</message"));
    let told = told.or_else(|| between("<h1", "</h1")).unwrap_or(text);
    let mut message = String::new();
    let (mut in_tag, mut length) = (false, 0);
    for c in told.chars() {
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
