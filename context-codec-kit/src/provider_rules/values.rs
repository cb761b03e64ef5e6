//! Checks of single values: names, ids, URLs, Base64.

use super::Rule;
use serde_json::Value;

use super::body_path::{BodyPath, Findings, text};

/// Whether a text has no visible content. The control characters U+001C to U+001F count as white
/// space.
pub(super) fn blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c))
}

/// Whether a text is not empty and consists of ASCII letters, digits and these other characters.
pub(super) fn letters(text: &str, others: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c))
}

/// Checks the characters of an id.
pub(super) fn id(findings: &mut Findings, at: &BodyPath<'_>, id: &str) {
    findings.ask(letters(id, "_-"), Rule::Id, at, "an id has ASCII letters, digits, _ and - only");
}

/// Checks the length of the key of OpenAI's prompt cache.
pub(super) fn cache_key(body: &Value, findings: &mut Findings) {
    const MOST: usize = 64;
    let at = BodyPath::Body.key("prompt_cache_key");
    if let Some(key) = text(body, "prompt_cache_key") {
        length(findings, &at, Rule::Id, key, MOST);
    }
}

/// Checks the characters and the length of a tool name.
pub(super) fn name(
    findings: &mut Findings,
    at: &BodyPath<'_>,
    name: &str,
    others: &str,
    most: usize,
) {
    if !letters(name, others) {
        findings.add(
            Rule::Name,
            at,
            format!("the name {name:?} has other characters than letters, digits and {others}"),
        );
    }
    length(findings, at, Rule::Name, name, most);
}

pub(super) fn length(
    findings: &mut Findings,
    at: &BodyPath<'_>,
    rule: Rule,
    text: &str,
    most: usize,
) {
    let count = text.chars().count();
    if count > most {
        findings.add(rule, at, format!("{count} characters, {most} is the most"));
    }
}

/// Checks for non-empty, padded Base64 in the standard alphabet.
pub(super) fn base64_data(findings: &mut Findings, at: &BodyPath<'_>, data: &str) {
    findings.ask(
        !data.is_empty() && standard_base64(data),
        Rule::Media,
        at,
        "not Base64, or nothing",
    );
}

/// Whether this is Base64 of either alphabet, padded or not.
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

/// Returns the media type and the data of a Base64 `data:` URL.
pub(super) fn data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?, data))
}

/// Checks for an HTTP or HTTPS URL.
pub(super) fn web_url(findings: &mut Findings, at: &BodyPath<'_>, url: &str) {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let good = rest.is_some_and(|rest| !rest.is_empty() && !rest.contains(char::is_whitespace));
    findings.ask(good, Rule::Media, at, "no address that begins with https:// or http://");
}

/// Checks for an HTTP or HTTPS URL, or a `data:` URL of one of these media types.
pub(super) fn media_url(findings: &mut Findings, at: &BodyPath<'_>, url: &str, types: &[&str]) {
    if !url.starts_with("data:") {
        return web_url(findings, at, url);
    }
    match data_url(url) {
        Some((media_type, data)) => {
            if !types.contains(&media_type) {
                findings.add(
                    Rule::Media,
                    at,
                    format!("{media_type} is none of {}", types.join(", ")),
                );
            }
            base64_data(findings, at, data);
        }
        None => findings.add(Rule::Media, at, "no data address in Base64"),
    }
}

/// The image types that every provider reads.
pub(super) const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
