//! Masking in JSON. The result is valid JSON, and differs from the text only in strings that hold
//! secrets.

use context_core::base::JsonMap;
use context_core::{Json, Metadata};

use crate::finder::SecretFinder;
use crate::mark;
use crate::report::MaskReport;

impl SecretFinder {
    /// Masks the strings of a JSON value, keys included. A string that is the value of a field is
    /// masked as a whole if the field's name announces a secret. A number that a literal rule
    /// matches becomes a string. Returns `None` if there is no secret.
    ///
    /// ```
    /// use context_core::Json;
    /// use context_secrets::{MaskReport, SecretFinder};
    ///
    /// let input = Json::from_text(r#"{"user": "ada", "password": "hunter2-blue"}"#)?;
    /// let masked = SecretFinder::default().mask_json(&input, &mut MaskReport::default());
    /// assert_eq!(masked.unwrap().as_str(), r#"{"user": "ada", "password": "[secret:password]"}"#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn mask_json(&self, json: &Json, report: &mut MaskReport) -> Option<Json> {
        self.mask_field("", json, report)
    }

    /// Masks a JSON value that is the value of a field or of a key of metadata.
    pub fn mask_field(&self, name: &str, json: &Json, report: &mut MaskReport) -> Option<Json> {
        let text = json.as_str();
        let mut out: Option<String> = None;
        let mut copied = 0;
        let mut name = Some(name.to_owned());
        let mut at = 0;
        while let Some(byte) = text.as_bytes().get(at).copied() {
            let token = match byte {
                b'"' => string_length(&text[at..]),
                b'-' | b'0'..=b'9' => number_length(&text[at..]),
                b'{' | b'[' => {
                    name = None;
                    at += 1;
                    continue;
                }
                _ => {
                    at += 1;
                    continue;
                }
            };
            let literal = &text[at..at + token];
            let is_key = byte == b'"' && text[at + token..].trim_start().starts_with(':');
            let masked = if byte == b'"' {
                let value: String = serde_json::from_str(literal).unwrap_or_default();
                let field = name.take().filter(|_| !is_key);
                let masked = self.mask_value(field.as_deref(), &value, report);
                name = is_key.then_some(value);
                masked
            } else {
                name = None;
                self.mask_number(literal, report)
            };
            if let Some(masked) = masked {
                let out = out.get_or_insert_default();
                out.push_str(&text[copied..at]);
                out.push_str(Json::from(masked.as_str()).as_str());
                copied = at + token;
            }
            at += token;
        }
        let mut out = out?;
        out.push_str(&text[copied..]);
        Json::from_text(out).ok()
    }

    /// Masks metadata: keys and values. Returns `None` if there is no secret.
    pub fn mask_metadata(&self, metadata: &Metadata, report: &mut MaskReport) -> Option<Metadata> {
        let mut changed = false;
        let mut mask = |(key, value): (&str, &Json)| {
            let masked = self.mask_field(key, value, report);
            let name = self.mask_text(key, report);
            changed |= masked.is_some() || name.is_some();
            let value = masked.unwrap_or_else(|| value.clone());
            (name.unwrap_or_else(|| key.to_owned()), value)
        };
        let masked: JsonMap = metadata.iter().map(&mut mask).collect();
        changed.then(|| Metadata::from(masked))
    }

    /// Masks a text. Returns `None` if there is no secret.
    pub fn mask_text(&self, text: &str, report: &mut MaskReport) -> Option<String> {
        // Most texts are short and have none; they are not copied.
        if self.find(text).is_empty() {
            return None;
        }
        let (masked, counts) = self.mask(text);
        report.masked.merge(&counts);
        Some(masked)
    }

    fn mask_value(
        &self,
        field: Option<&str>,
        value: &str,
        report: &mut MaskReport,
    ) -> Option<String> {
        // A value of a known form is masked as what it is.
        let is_whole = |text: &str| mark::all(text).first() == Some(&(0..text.len()));
        let kind = field.and_then(|field| self.kind_of_value(field, value));
        let Some(kind) = kind else { return self.mask_text(value, report) };
        let mut inner = MaskReport::default();
        match self.mask_text(value, &mut inner).filter(|masked| is_whole(masked)) {
            Some(masked) => {
                report.merge(&inner);
                Some(masked)
            }
            None => {
                report.masked.add(&kind, 1);
                Some(mark::mark(&kind))
            }
        }
    }

    fn mask_number(&self, number: &str, report: &mut MaskReport) -> Option<String> {
        self.0.literals.as_ref()?;
        self.mask_text(number, report)
    }
}

/// Returns the length of the string literal at the start of valid JSON.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn number_length(text: &str) -> usize {
    let has = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    text.find(|c| !has(c)).unwrap_or(text.len())
}
