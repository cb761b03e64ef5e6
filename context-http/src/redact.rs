//! Removal of a client's own secrets from the texts of a service.

use context_core::base::secrets;
use zeroize::Zeroizing;

use crate::Secret;

/// Shorter secrets, in bytes, are not looked for: they are words, such as the `none` that local
/// servers are given.
const SHORTEST: usize = 6;

/// The texts to remove, longest first.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Vec<Zeroizing<String>>);

impl Redactor {
    /// Creates a redactor of these secrets, in every form in which JSON text or an address may hold
    /// them.
    pub(crate) fn new<'s>(secrets: impl IntoIterator<Item = &'s Secret>) -> Self {
        let mut found: Vec<Zeroizing<String>> = Vec::new();
        let secrets = secrets.into_iter().map(Secret::expose).filter(|text| text.len() >= SHORTEST);
        for text in secrets {
            found.push(Zeroizing::new(text.to_owned()));
            found.push(Zeroizing::new(in_json(text)));
            found.push(Zeroizing::new(in_json(text).replace('/', "\\/")));
            found.push(Zeroizing::new(in_address(text)));
        }
        found.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        found.dedup();
        Self(found)
    }

    /// Returns the length of the longest text to remove, in bytes.
    pub(crate) fn longest(&self) -> usize {
        self.0.first().map_or(0, |text| text.len())
    }

    /// Returns the text without the secrets, and without everything that looks like a key.
    pub(crate) fn redact(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), "…");
            }
        }
        secrets::mask(&text)
    }
}

/// Returns the text between the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

/// Percent-encodes all bytes but letters, digits and `-_.~`.
fn in_address(text: &str) -> String {
    let mut out = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte))
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_form() {
        let redactor = Redactor::new([&Secret::new("pass\"/word+1")]);
        for text in [
            "pass\"/word+1",
            r#"pass\"/word+1"#,
            r#"pass\"\/word+1"#,
            "pass%22%2Fword%2B1",
            "xpass\"/word+1x",
        ] {
            let shown = redactor.redact(&format!("said {text}!"));
            assert!(!shown.contains("word"), "{shown}");
        }
    }

    #[test]
    fn short_words_stay() {
        assert_eq!(Redactor::new([&Secret::new("none")]).redact("none of it"), "none of it");
    }
}
