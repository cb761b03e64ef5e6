//! Addresses of pages, also below the path at which a program mounts the router.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, OriginalUri};
use axum::http::request::Parts;

/// The path in front of all addresses, without a slash at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Links {
    prefix: String,
}

impl<S: Send + Sync> FromRequestParts<S> for Links {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Infallible> {
        let original = OriginalUri::from_request_parts(parts, state).await?;
        let (whole, inner) = (original.path(), parts.uri.path());
        let prefix = whole.strip_suffix(inner).unwrap_or_default();
        // A nested root has no slash of its own.
        let prefix = if inner == "/" { whole.trim_end_matches('/') } else { prefix };
        Ok(Self { prefix: prefix.to_owned() })
    }
}

impl Links {
    /// Returns the address of an asset or another fixed path.
    pub(crate) fn to(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Returns the address of a view of a chat: empty for the messages themselves.
    pub(crate) fn chat(&self, chat: &str, view: &str) -> String {
        let slash = if view.is_empty() { "" } else { "/" };
        format!("{}/chats/{}{slash}{view}", self.prefix, encode(chat))
    }

    /// Returns the address of a message.
    pub(crate) fn message(&self, chat: &str, branch: Option<&str>, message: &str) -> String {
        let branch = branch.map(|it| format!("&branch={}", encode(it))).unwrap_or_default();
        format!("{}?at={}{branch}", self.chat(chat, ""), encode(message))
    }

    /// Returns the address of the API of a chat.
    pub(crate) fn api(&self, chat: &str, operation: &str) -> String {
        format!("{}/api/v1/chats/{}/{operation}", self.prefix, encode(chat))
    }
}

/// Returns the path of the page of a chat, without the path at which the router is mounted.
pub fn chat_path(chat: &str) -> String {
    Links::default().chat(chat, "")
}

/// Encodes a text for a segment of a path or a value of a query.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(byte.into());
            }
            other => {
                const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
                encoded.push('%');
                encoded.push(DIGITS[usize::from(other >> 4)].into());
                encoded.push(DIGITS[usize::from(other & 15)].into());
            }
        }
    }
    // A browser would resolve these as folders.
    match encoded.as_str() {
        "." => "%2E".to_owned(),
        ".." => "%2E%2E".to_owned(),
        _ => encoded,
    }
}

/// Returns the text that an address encodes. `None` if it encodes none.
pub(crate) fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first == b'%' {
            let (digits, after) = rest.split_at_checked(2)?;
            let digits = std::str::from_utf8(digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = after;
        } else {
            bytes.push(first);
        }
    }
    String::from_utf8(bytes).ok()
}
