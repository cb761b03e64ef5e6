//! Front matter: the YAML between two lines `---` at the head of a file.

use std::fmt;

use context_core::Json;
use context_core::base::JsonMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

use super::SkillError;

/// The parts of a file with front matter.
pub(super) struct Parts<'a> {
    /// The YAML, with the rest of the first line before it, so that line numbers are those of the
    /// file.
    yaml: &'a str,
    /// The text after the front matter.
    pub(super) body: &'a str,
}

/// The keys that a skill needs, and all other keys unchanged.
#[derive(Debug, Default)]
pub(super) struct FrontMatter {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) metadata: JsonMap,
}

/// Splits a text at the two lines. A byte order mark and white space after the dashes are ignored.
pub(super) fn split(text: &str) -> Result<Parts<'_>, SkillError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.split_inclusive('\n').next().unwrap_or_default();
    if first.trim_end() != "---" {
        return Err(SkillError::MissingFrontMatter);
    }
    let mut at = first.len();
    for line in text[at..].split_inclusive('\n') {
        let next = at + line.len();
        if line.trim_end() == "---" {
            return Ok(Parts { yaml: &text[3..at], body: &text[next..] });
        }
        at = next;
    }
    Err(SkillError::UnclosedFrontMatter)
}

impl Parts<'_> {
    /// Parses the YAML. Existing files often have a colon in an unquoted value, which YAML refuses;
    /// such a value is then read as text. The second result is whether that was necessary.
    pub(super) fn parse(&self) -> Result<(FrontMatter, bool), SkillError> {
        let error = match parse(self.yaml) {
            Ok(matter) => return Ok((matter, false)),
            Err(error) => error,
        };
        match quoted(self.yaml).and_then(|yaml| parse(&yaml).ok()) {
            Some(matter) => Ok((matter, true)),
            None => Err(error),
        }
    }
}

fn parse(yaml: &str) -> Result<FrontMatter, SkillError> {
    // A file is at most one megabyte; the limit keeps aliases from expanding it to more than a few
    // megabytes.
    let options = serde_saphyr::options! {
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::NonFiniteFloatPolicy::AsString,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| {
        let line = error.location().map_or(1, |at| at.line());
        SkillError::Yaml { line, message: error.to_string() }
    })
}

/// Quotes every value of the top level that has a colon and no quotes. Returns `None` if there is
/// no such value.
fn quoted(yaml: &str) -> Option<String> {
    let mut out = String::with_capacity(yaml.len() + 16);
    let mut changed = false;
    for line in yaml.split_inclusive('\n') {
        match line.split_once(": ") {
            Some((key, value)) if is_key(key) && needs_quotes(value.trim()) => {
                let value = value.trim().replace('\'', "''");
                out.extend([key, ": '", &value, "'\n"]);
                changed = true;
            }
            _ => out.push_str(line),
        }
    }
    changed.then_some(out)
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn needs_quotes(value: &str) -> bool {
    (value.contains(": ") || value.ends_with(':'))
        && !value.starts_with(['"', '\'', '|', '>', '[', '{'])
}

impl<'de> Deserialize<'de> for FrontMatter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FrontMatterVisitor)
    }
}

struct FrontMatterVisitor;

impl<'de> Visitor<'de> for FrontMatterVisitor {
    type Value = FrontMatter;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys and values")
    }

    fn visit_unit<E>(self) -> Result<FrontMatter, E> {
        Ok(FrontMatter::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<FrontMatter, A::Error> {
        let mut matter = FrontMatter::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" => matter.name = map.next_value()?,
                "description" => matter.description = map.next_value()?,
                _ => {
                    let value = map.next_value::<serde_json::Value>()?;
                    matter.metadata.insert(key, Json::from(value));
                }
            }
        }
        Ok(matter)
    }
}
