//! What single values must be: names, ids, addresses, Base64.

use super::Rule;
use super::place::{At, Findings};

/// Whether a text has nothing to read. Control characters that separate files and groups count as
/// space.
pub(super) fn blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// Whether all characters are ASCII letters, digits or one of these, and there is one at least.
pub(super) fn letters(text: &str, others: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Asks an id for its letters.
pub(super) fn id(found: &mut Findings, at: &At<'_>, id: &str) {
    found.ask(letters(id, "_-"), Rule::Id, at, "an id has ASCII letters, digits, _ and - only");
}

/// Asks the name of a tool for its letters and its length.
pub(super) fn name(found: &mut Findings, at: &At<'_>, name: &str, others: &str, most: usize) {
    if !letters(name, others) {
        found.add(
            Rule::Name,
            at,
            format!("the name {name:?} has other characters than letters, digits and {others}"),
        );
    }
    length(found, at, Rule::Name, name, most);
}

pub(super) fn length(found: &mut Findings, at: &At<'_>, rule: Rule, text: &str, most: usize) {
    let count = text.chars().count();
    if count > most {
        found.add(rule, at, format!("{count} characters, {most} is the most"));
    }
}

/// Asks for Base64 in the usual alphabet, padded, with at least a byte.
pub(super) fn base64_data(found: &mut Findings, at: &At<'_>, data: &str) {
    found.ask(!data.is_empty() && standard_base64(data), Rule::Media, at, "not Base64, or nothing");
}

/// Whether this is Base64 of one of the two alphabets, padded or not.
pub(super) fn any_base64(data: &str) -> bool {
    let core = data.trim_end_matches('=');
    let padded = data.len() - core.len();
    let usual = letters_of(core, "+/");
    let for_urls = letters_of(core, "-_");
    (usual || for_urls)
        && core.len() % 4 != 1
        && (padded == 0 || data.len().is_multiple_of(4) && padded <= 2)
}

fn standard_base64(data: &str) -> bool {
    let core = data.trim_end_matches('=');
    letters_of(core, "+/") && data.len().is_multiple_of(4) && data.len() - core.len() <= 2
}

fn letters_of(text: &str, others: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// The media type and the data of a `data:` address in Base64.
pub(super) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

/// Asks for an address of the web.
pub(super) fn web_url(found: &mut Findings, at: &At<'_>, url: &str) {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let good = rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace));
    found.ask(good, Rule::Media, at, "no address that begins with https:// or http://");
}

/// Asks for an address of the web, or for data of one of these media types.
pub(super) fn media_url(found: &mut Findings, at: &At<'_>, url: &str, types: &[&str]) {
    if !url.starts_with("data:") {
        return web_url(found, at, url);
    }
    match data_url(url) {
        Some((media_type, data)) => {
            if !types.contains(&media_type) {
                found.add(Rule::Media, at, format!("{media_type} is none of {}", types.join(", ")));
            }
            base64_data(found, at, data);
        }
        None => found.add(Rule::Media, at, "no data address in Base64"),
    }
}

/// The types of images that every provider reads.
pub(super) const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
