//! Content as text, cut to a limit.

/// The maximum number of bytes of content in a span.
const MOST: usize = 4096;

/// Collects texts up to the limit.
#[derive(Default)]
pub(super) struct ContentText(String);

impl ContentText {
    /// Joins these texts, each on a line of its own.
    pub(super) fn of<'a>(bodies: impl IntoIterator<Item = &'a [u8]>) -> Option<String> {
        let mut words = Self::default();
        let full = bodies.into_iter().any(|body| !words.add(body));
        if full {
            words.0.push('…');
        }
        (!words.0.is_empty()).then_some(words.0)
    }

    /// Adds a text. Returns false if it did not fit as a whole.
    fn add(&mut self, body: &[u8]) -> bool {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        let room = MOST.saturating_sub(self.0.len());
        let cut = &body[..body.len().min(room)];
        match std::str::from_utf8(cut) {
            Ok(text) => self.0.push_str(text),
            // Either a character was cut, or the bytes are not text.
            Err(error) if error.error_len().is_none() => {
                self.0.push_str(&String::from_utf8_lossy(&cut[..error.valid_up_to()]));
            }
            Err(_) => self.0.push_str("(no text)"),
        }
        cut.len() == body.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_cut_between_characters() {
        let long = "é".repeat(MOST);
        let words = ContentText::of([long.as_bytes()]).unwrap();
        assert_eq!(words, format!("{}…", "é".repeat(MOST / 2)));
        assert_eq!(ContentText::of([&b"a"[..], &b"\xff\x00"[..]]).unwrap(), "a\n(no text)");
        assert_eq!(ContentText::of([]), None);
        let odd = format!("a{long}");
        assert!(ContentText::of([odd.as_bytes()]).unwrap().len() < MOST + 4);
    }
}
