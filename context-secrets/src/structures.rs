//! Secrets with a form that a prefix alone does not describe: tokens around an anchor, key blocks,
//! and URLs.
//!
//! Each function gets a text and the position of its anchor, and returns the range of the secret.
//! Each looks at a bounded number of bytes, or at bytes that no other call looks at, so the time is
//! linear.

use std::ops::Range;

use crate::alphabet::{Alphabet, Scan};
use crate::placeholder::{is_mixed, is_stand_in};

/// A structure: its anchor and its function.
pub(crate) struct Structure {
    pub(crate) kind: &'static str,
    pub(crate) anchor: &'static str,
    pub(crate) find: fn(&Scan<'_>, usize) -> Option<Range<usize>>,
}

const fn structure(
    kind: &'static str,
    anchor: &'static str,
    find: fn(&Scan<'_>, usize) -> Option<Range<usize>>,
) -> Structure {
    Structure { kind, anchor, find }
}

pub(crate) const STRUCTURES: &[Structure] = &[
    structure("jwt", "eyJ", jwt),
    structure("telegram-token", ":AA", telegram),
    structure("azure-client-secret", "Q~", azure_client),
    structure("terraform-token", ".atlasv1.", terraform),
    structure("discord-token", ".", discord),
    structure("private-key", PEM_BEGIN, private_key),
    structure("private-key", PUTTY_LINES, putty),
    structure("url-password", "://", url_password),
];

/// The beginning of the first line of a key block.
pub(crate) const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const DASHES: &str = "-----";
/// The end of the first line of a key block.
const PEM_LABELS: [&str; 2] = ["PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"];
const PUTTY_LINES: &str = "Private-Lines: ";
/// The longest name of a key block, such as `ENCRYPTED `.
const LONGEST_BLOCK_NAME: usize = 32;
/// The longest part of a URL in which a password is looked for.
const LONGEST_AUTHORITY: usize = 1024;
/// The most lines of a key of PuTTY.
const MOST_LINES: usize = 128;

/// Three parts of Base64url, the first of which is a JSON object.
fn jwt(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let header = scan.run_end(Alphabet::Url, at);
    if !scan.starts_word(at) || header - at < 12 || !scan.has_at(header, ".") {
        return None;
    }
    let claims = scan.run_end(Alphabet::Url, header + 1);
    if claims - header < 8 || !scan.has_at(claims, ".") {
        return None;
    }
    let end = scan.run_end(Alphabet::Dotted, claims);
    let end = claims + scan.text[claims..end].trim_end_matches('.').len();
    (end > claims).then_some(at..end)
}

/// The number of a bot, a colon, and 35 characters that begin with `AA`.
fn telegram(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let before = &scan.bytes()[..at];
    let digits = before.iter().rev().take(13).take_while(|byte| byte.is_ascii_digit()).count();
    let start = at - digits;
    let end = scan.run_end(Alphabet::Url, at + 1);
    let fits = (8..=12).contains(&digits) && end - at > 35 && is_mixed(&scan.text[at + 1..end]);
    // The address of the API has `bot` before the number.
    let bot = before[..start].ends_with(b"bot").then(|| start - 3);
    let start = bot.unwrap_or(start);
    (fits && scan.starts_word(start)).then_some(start..end)
}

/// Three characters, a digit, `Q~`, and 31 or more characters.
fn azure_client(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let start = at.checked_sub(4)?;
    let before = &scan.bytes()[start..at];
    let fits = before[3].is_ascii_digit() && before.iter().all(|byte| Alphabet::Token.has(*byte));
    let end = scan.run_end(Alphabet::Token, at);
    (fits && end - at >= 33 && scan.starts_word(start)).then_some(start..end)
}

/// Fourteen characters, `.atlasv1.`, and 60 or more characters.
fn terraform(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let before = Alphabet::Alnum.run_back(&scan.bytes()[..at], 15);
    let behind = at + ".atlasv1.".len();
    let end = scan.run_end(Alphabet::Url, behind);
    (before == 14 && end - behind >= 60).then(|| at - before..end)
}

/// Three parts: a number in Base64, a time of six characters, and a code.
fn discord(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let bytes = scan.bytes();
    let time = bytes.get(at + 1..at + 7)?;
    if !scan.has_at(at + 7, ".") || !time.iter().all(|byte| Alphabet::Url.has(*byte)) {
        return None;
    }
    let before = Alphabet::Url.run_back(&bytes[..at], 31);
    let start = at - before;
    let end = scan.run_end(Alphabet::Url, at + 8);
    let fits = (23..=30).contains(&before) && end - at >= 8 + 27;
    let fits = fits && matches!(bytes[start], b'M' | b'N' | b'O') && scan.starts_word(start);
    fits.then_some(start..end)
}

/// Returns the end of the first line of a key block.
fn end_of_begin(text: &str, at: usize) -> Option<usize> {
    let named = &text[at + PEM_BEGIN.len()..];
    PEM_LABELS.iter().find_map(|label| {
        let window = &named[..named.floor_char_boundary(LONGEST_BLOCK_NAME + label.len())];
        Some(at + PEM_BEGIN.len() + window.find(label)? + label.len())
    })
}

/// A block of PEM, with its first and last line, or as much of it as there is.
fn private_key(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let body = end_of_begin(scan.text, at)?;
    let rest = &scan.text[body..];
    // The body ends before the next line of dashes.
    let length = rest.find(DASHES).unwrap_or(rest.len());
    let inner = &rest[..length];
    let longest = inner.split(|c: char| !is_base64(c)).map(str::len).max().unwrap_or_default();
    if longest < 16 {
        return None;
    }
    if let Some(line) = rest[length..].strip_prefix(PEM_END) {
        let line = &line[..line.floor_char_boundary(2 * LONGEST_BLOCK_NAME)];
        let closed = line.find(DASHES).map_or(0, |dashes| dashes + DASHES.len());
        return Some(at..body + length + PEM_END.len() + closed);
    }
    Some(at..body + block_run(inner))
}

/// Returns the length of the lines of Base64 of a key block without an end. Words behind the last
/// line are not of the block.
fn block_run(inner: &str) -> usize {
    let mut end = 0;
    let mut at = 0;
    for word in inner.split_inclusive([' ', '\n', '\t', '\r', '\\', ':', ',']) {
        at += word.len();
        let token = word.trim_end_matches([' ', '\n', '\t', '\r', '\\', ':', ',']);
        // The `n` of an escaped line feed is a part of the token.
        if token.len() >= 16 && token.chars().all(is_base64) {
            end = at - word.len() + token.len();
        } else if end > 0 && token.len() > 1 {
            break;
        }
    }
    end
}

fn is_base64(c: char) -> bool {
    u8::try_from(c).is_ok_and(|byte| Alphabet::Base64.has(byte))
}

/// The private lines of a key file of PuTTY.
fn putty(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let start = scan.word_end(at + PUTTY_LINES.len());
    let line_feed = |at: usize| {
        let ends = ["\r\n", "\n", "\\r\\n", "\\n"];
        ends.iter().find(|end| scan.has_at(at, end)).map(|end| at + end.len())
    };
    let first = line_feed(start)?;
    let (mut next, mut end) = (first, first);
    for _ in 0..MOST_LINES {
        let line = scan.run_end(Alphabet::Base64, next);
        if line == next {
            break;
        }
        end = line;
        let Some(after) = line_feed(line) else { break };
        next = after;
    }
    (end - first > 16).then_some(first..end)
}

/// The password of a URL, or a token in the place of its user.
fn url_password(scan: &Scan<'_>, at: usize) -> Option<Range<usize>> {
    let (text, start) = (scan.text, at + "://".len());
    scan.bytes()[..at].last().filter(|byte| byte.is_ascii_alphanumeric())?;
    let window = &text[start..text.floor_char_boundary(start + LONGEST_AUTHORITY)];
    let ends = |c: char| c.is_whitespace() || c.is_control() || "/?\"'<>`\\".contains(c);
    let authority = &window[..window.find(ends).unwrap_or(window.len())];
    let user_info = &authority[..authority.rfind('@')?];
    match user_info.split_once(':') {
        Some((user, password)) => {
            let from = start + user.len() + 1;
            let is_secret = !password.is_empty() && !is_stand_in(password);
            is_secret.then(|| from..from + password.len())
        }
        None => {
            let has_digit = user_info.bytes().any(|byte| byte.is_ascii_digit());
            let is_secret = user_info.len() >= 20 && has_digit && !is_stand_in(user_info);
            is_secret.then(|| start..start + user_info.len())
        }
    }
}

/// Returns the start of a key block at the end of a text that may go on.
pub(crate) fn open_block(text: &str) -> Option<usize> {
    let at = text.rfind(PEM_BEGIN)?;
    match end_of_begin(text, at) {
        Some(body) => {
            let end = text[body..].find(PEM_END);
            let is_closed =
                end.is_some_and(|end| text[body + end + PEM_END.len()..].contains(DASHES));
            (!is_closed).then_some(at)
        }
        None => (text.len() - at < 2 * LONGEST_BLOCK_NAME).then_some(at),
    }
}
