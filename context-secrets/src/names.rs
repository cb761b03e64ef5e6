//! Secrets that a name announces: `password = …`, `"api_key": "…"`, `TOKEN=…`, `Bearer …`.

use std::ops::Range;

use crate::alphabet::{Alphabet, Scan};
use crate::placeholder::{entropy, is_code, is_mixed, is_monotonous, is_placeholder};

/// A family of names, which have the same kind and the same rules for values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Password,
    Secret,
    Token,
    Key,
    /// `pass`, which is a word as well: only as `…_pass`, or before a quoted value.
    Pass,
    /// The scheme of a header, before a token.
    Bearer,
    /// The scheme of a header, before user and password in Base64.
    Basic,
}

use Family::{Basic, Bearer, Key, Pass, Password, Secret, Token};

/// The last words of names, in lower case. They are found in any case.
pub(crate) const NAMES: &[(&str, Family)] = &[
    ("password", Password),
    ("passwd", Password),
    ("passphrase", Password),
    ("pwd", Password),
    ("pass", Pass),
    ("secret", Secret),
    ("credential", Secret),
    ("credentials", Secret),
    ("token", Token),
    ("apikey", Key),
    ("api_key", Key),
    ("api-key", Key),
    ("app_key", Key),
    ("accesskey", Key),
    ("access_key", Key),
    ("access-key", Key),
    ("secretkey", Key),
    ("secret_key", Key),
    ("secret-key", Key),
    ("privatekey", Key),
    ("private_key", Key),
    ("private-key", Key),
    ("authkey", Key),
    ("auth_key", Key),
    ("auth-key", Key),
    ("accountkey", Key),
    ("account_key", Key),
    ("signing_key", Key),
    ("signingkey", Key),
    ("encryption_key", Key),
    ("encryptionkey", Key),
    ("master_key", Key),
    ("masterkey", Key),
    ("license_key", Key),
    ("bearer ", Bearer),
    ("authorization: token ", Bearer),
    ("basic ", Basic),
];

/// Words before `token` that make the name one of a position or a part of a text.
const HARMLESS_TOKENS: [&str; 24] = [
    "next",
    "page",
    "prev",
    "previous",
    "continuation",
    "sync",
    "pagination",
    "start",
    "end",
    "max",
    "min",
    "eos",
    "bos",
    "pad",
    "unk",
    "special",
    "stop",
    "delta",
    "resume",
    "cursor",
    "num",
    "per",
    "first",
    "last",
];

/// Kinds of secrets whose name says which vendor's they are. All words must be in the name.
const VENDORS: &[(&[&str], &str)] = &[
    (&["secret", "access", "key"], "aws-secret-key"),
    (&["aws", "session", "token"], "aws-session-token"),
    (&["aws", "secret"], "aws-secret-key"),
    (&["dd_"], "datadog-key"),
    (&["datadog"], "datadog-key"),
    (&["cloudflare"], "cloudflare-key"),
    (&["heroku"], "heroku-key"),
    (&["twilio"], "twilio-key"),
    (&["algolia"], "algolia-key"),
    (&["pagerduty"], "pagerduty-key"),
    (&["okta"], "okta-token"),
    (&["storage", "account"], "azure-storage-key"),
];

/// The longest name that is looked at.
const LONGEST_NAME: usize = 64;
/// The most white space between a name, its separator and its value.
const MOST_SPACE: usize = 8;

/// A secret with its kind.
pub(crate) type Found = (&'static str, Range<usize>);

/// The place of a value behind a name.
struct Place {
    /// The start of the whole name.
    name: usize,
    value: usize,
    quote: Option<u8>,
    /// Whether there is no white space around the separator, as in files of variables.
    tight: bool,
}

/// Finds the value behind the last word of a name.
pub(crate) fn find(scan: &Scan<'_>, word: Range<usize>, family: Family) -> Option<Found> {
    let found = match family {
        Bearer => header_token(scan, word).map(|range| ("bearer-token", range)),
        Basic => basic_credentials(scan, word).map(|range| ("basic-credentials", range)),
        _ => {
            let place = place(scan, &word)?;
            let name = &scan.text[place.name..word.end];
            let end = value_end(scan, &place);
            let value = &scan.text[place.value..end];
            let is_quoted = place.quote.is_some();
            let next = scan.bytes().get(end);
            let is_call = !is_quoted && matches!(next, Some(b'(' | b'[' | b'{'));
            if is_call || (!is_quoted && is_code(value)) {
                return None;
            }
            let form = ValueForm { is_quoted, tight: place.tight };
            kind_of(name, family, value, form).map(|kind| (kind, place.value..end))
        }
    };
    // A value of which a part is masked already is left, so that masking is idempotent.
    found.filter(|(_, range)| !scan.precedes_mark || range.end < scan.text.len())
}

/// Returns the kind of a value that is known to belong to a name.
pub(crate) fn named(name: &str, value: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let of_name = |(word, _): &&(&str, Family)| lower.ends_with(word) && !word.ends_with(' ');
    let (word, family) = NAMES.iter().filter(of_name).max_by_key(|(word, _)| word.len())?;
    if !starts_at_word(name.as_bytes(), name.len() - word.len()) || value.contains("[secret:") {
        return None;
    }
    let form = ValueForm { is_quoted: true, tight: true };
    kind_of(name, *family, value, form)
}

/// Returns the start of a name at the end of a text whose value is not complete.
pub(crate) fn open_name(scan: &Scan<'_>, word: Range<usize>, family: Family) -> Option<usize> {
    let length = scan.text.len();
    match family {
        Bearer | Basic => {
            let end = scan.run_end(Alphabet::Token, word.end + spaces(scan, word.end));
            (end == length).then_some(word.start)
        }
        _ => {
            let name = name_start(scan, &word)?;
            let rest = &scan.text[word.end..];
            let glue = |c: char| c.is_whitespace() || "\\\"'`]=:>".contains(c);
            if rest.len() < 2 * MOST_SPACE && rest.chars().all(glue) {
                return Some(name);
            }
            let place = place(scan, &word)?;
            (value_end(scan, &place) == length).then_some(name)
        }
    }
}

/// Returns whether a word of a name begins here: after another word, or in another case.
fn starts_at_word(name: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1).map(|i| name[i]) else { return true };
    !before.is_ascii_alphabetic()
        || (before.is_ascii_lowercase() && name[at].is_ascii_uppercase())
        // Names without any separator, such as `dbpassword`; but not `compass`.
        || name.len() - at > 5
}

fn name_start(scan: &Scan<'_>, word: &Range<usize>) -> Option<usize> {
    let bytes = scan.bytes();
    let start = word.start - Alphabet::Dotted.run_back(&bytes[..word.start], LONGEST_NAME);
    if start == 0 && scan.follows_mark {
        return None;
    }
    let goes_on = bytes.get(word.end).is_some_and(|byte| Alphabet::Url.has(*byte));
    let is_word = starts_at_word(&bytes[start..word.end], word.start - start);
    (!goes_on && is_word).then_some(start)
}

fn spaces(scan: &Scan<'_>, at: usize) -> usize {
    let space = |byte: &&u8| matches!(byte, b' ' | b'\t');
    scan.bytes()[at..].iter().take(MOST_SPACE).take_while(space).count()
}

/// Returns the position behind a quote, which may be escaped, and the quote.
fn quote(scan: &Scan<'_>, at: usize) -> (usize, Option<u8>) {
    let bytes = &scan.bytes()[at..];
    let escapes = bytes.iter().take(4).take_while(|byte| **byte == b'\\').count();
    match bytes.get(escapes) {
        Some(byte @ (b'"' | b'\'' | b'`')) => (at + escapes + 1, Some(*byte)),
        _ => (at, None),
    }
}

fn place(scan: &Scan<'_>, word: &Range<usize>) -> Option<Place> {
    let bytes = scan.bytes();
    let name = name_start(scan, word)?;
    let (behind, name_quote) = quote(scan, word.end);
    let behind = behind + usize::from(name_quote.is_some() && scan.has_at(behind, "]"));
    let space = spaces(scan, behind);
    let separator = behind + space;
    let is_flag = name_quote.is_none()
        && bytes[..word.end].get(name..).is_some_and(|name| name.starts_with(b"--"));
    let is_element = name_quote.is_none() && bytes[..name].ends_with(b"<");
    let signs = ["=>", ":=", "==", "=", ":"];
    let (value, tight) = match signs.iter().find(|sign| scan.has_at(separator, sign)) {
        Some(sign) => {
            let value = separator + sign.len();
            (value, space == 0 && spaces(scan, value) == 0)
        }
        None if is_flag && space > 0 => (separator, true),
        None if is_element && scan.has_at(separator, ">") => (separator + 1, true),
        None => return None,
    };
    let (value, quote) = quote(scan, value + spaces(scan, value));
    Some(Place { name, value, quote, tight })
}

fn value_end(scan: &Scan<'_>, place: &Place) -> usize {
    let rest = &scan.text[place.value..];
    let quoted = place.quote.and_then(|quote| rest.find(char::from(quote)));
    if place.quote.is_some() && quoted.is_none() && scan.precedes_mark {
        return scan.text.len();
    }
    let end = match quoted {
        Some(length) => place.value + rest[..length].trim_end_matches('\\').len(),
        None => scan.run_end(Alphabet::Value, place.value),
    };
    match place.quote {
        Some(_) => end,
        None => place.value + scan.text[place.value..end].trim_end_matches(['.', ':']).len(),
    }
}

/// The notation of a value.
#[derive(Clone, Copy)]
struct ValueForm {
    is_quoted: bool,
    tight: bool,
}

fn kind_of(name: &str, family: Family, value: &str, form: ValueForm) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    match family {
        Token if is_harmless_token(&lower) => return None,
        Pass if lower != "pass" && !lower.ends_with("_pass") => return None,
        Pass if lower == "pass" && !form.is_quoted => return None,
        _ => {}
    }
    let is_password = matches!(family, Password | Pass);
    let shortest = if is_password { 6 } else { 8 };
    // An unquoted value has no white space, and may reach far.
    let has_space = form.is_quoted && value.contains(char::is_whitespace);
    if value.len() < shortest || has_space || is_placeholder(value) {
        return None;
    }
    let any = |test: fn(u8) -> bool| value.bytes().take(256).any(test);
    let (letter, digit) = (any(|byte| byte.is_ascii_alphabetic()), any(|b| b.is_ascii_digit()));
    let sign = any(|byte| byte.is_ascii_punctuation() && !b"-_./:".contains(&byte));
    let is_secret = match (letter, digit) {
        (true, true) => true,
        (true, false) => sign || (value.len() >= 16 && is_mixed(value) && entropy(value) > 3.5),
        // A number may be a password, but not a key.
        (false, true) => is_password && (form.is_quoted || form.tight) && !any(|b| b == b'.'),
        (false, false) => false,
    };
    let varied = is_password || entropy(value) >= 2.5;
    if !is_secret || !varied {
        return None;
    }
    let vendor = VENDORS.iter().find(|(words, _)| words.iter().all(|word| lower.contains(word)));
    let kind = match family {
        Password | Pass => "password",
        Secret => "secret",
        Token => "token",
        _ => "api-key",
    };
    Some(vendor.filter(|_| !is_password).map_or(kind, |(_, kind)| kind))
}

fn is_harmless_token(name: &str) -> bool {
    let before = name.strip_suffix("token").unwrap_or(name).trim_end_matches(['_', '-', '.']);
    HARMLESS_TOKENS.iter().any(|word| before.ends_with(word))
}

/// Returns the token of an HTTP header behind its scheme.
fn header_token(scan: &Scan<'_>, scheme: Range<usize>) -> Option<Range<usize>> {
    if !scan.starts_word(scheme.start) {
        return None;
    }
    let start = scheme.end + spaces(scan, scheme.end);
    let end = scan.run_end(Alphabet::Token, start);
    let token = scan.text[start..end].trim_end_matches(['.', ',', ':']);
    let has_digit = token.bytes().take(256).any(|byte| byte.is_ascii_digit());
    let has_letter = token.bytes().take(256).any(|byte| byte.is_ascii_alphabetic());
    let fits = token.len() >= 12 && has_digit && has_letter && !is_placeholder(token);
    fits.then(|| start..start + token.len())
}

/// Returns the credentials of an HTTP header behind `Basic`: Base64 of letters in both cases.
fn basic_credentials(scan: &Scan<'_>, scheme: Range<usize>) -> Option<Range<usize>> {
    if !scan.starts_word(scheme.start) {
        return None;
    }
    let start = scheme.end + spaces(scan, scheme.end);
    let end = scan.run_end(Alphabet::Base64, start);
    let token = &scan.text[start..end];
    let any = |test: fn(&u8) -> bool| token.as_bytes().iter().take(256).any(test);
    // A word has at most its first letter in upper case.
    let inner_upper = token.bytes().skip(1).take(256).any(|byte| byte.is_ascii_uppercase());
    let fits = token.trim_end_matches('=').len() >= 8
        && any(u8::is_ascii_lowercase)
        && (any(u8::is_ascii_digit) || token.ends_with('='))
        && inner_upper;
    (fits && !is_monotonous(token)).then_some(start..end)
}

/// Returns the kinds that follow from the vendor in a name.
pub(crate) fn vendor_kinds() -> impl Iterator<Item = &'static str> {
    VENDORS.iter().map(|(_, kind)| *kind)
}
