//! A scanner for the strings, numbers and words of a text that may be JSON, almost JSON, or contain
//! JSON.

/// Keys under which a body echoes the request.
const ECHOES: [&str; 7] =
    ["input", "request", "prompt", "messages", "parameters", "failedgeneration", "traceback"];

/// Maximum length of a stored key in characters. Longer keys have no meaning here, and every value
/// of a list repeats the list's key.
const LONGEST_KEY: usize = 64;

/// A string, number or word and its position.
pub(super) struct Value<'a> {
    /// The key in lower case without `_` and `-`. Items of a list have the key of the list. Empty
    /// outside of objects.
    pub(super) key: &'a str,
    pub(super) text: String,
    pub(super) is_string: bool,
    /// Number of enclosing objects and lists.
    pub(super) depth: usize,
}

/// An object or a list that is open.
struct Frame {
    is_object: bool,
    key: String,
    echo: bool,
}

/// A single-pass scanner. Accepts single quotes, as Python prints them, and text that is truncated
/// at the end.
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    frames: Vec<Frame>,
    /// The key of the next value.
    key: String,
    /// The key of the last value.
    last: String,
    outside: String,
    /// Whether only white space has been read so far.
    blank: bool,
    structure: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            frames: Vec::new(),
            key: String::new(),
            last: String::new(),
            outside: String::new(),
            blank: true,
            structure: false,
        }
    }

    /// Returns the text outside of objects and lists. Complete once there are no more values.
    pub(super) fn outside(&self) -> &str {
        &self.outside
    }

    /// Returns whether the text contains an object or a list.
    pub(super) fn found_structure(&self) -> bool {
        self.structure
    }

    /// Returns the next value.
    pub(super) fn next(&mut self) -> Option<Value<'_>> {
        loop {
            let c = self.peek()?;
            if self.frames.is_empty() {
                if self.begins(c) {
                    self.structure = true;
                    self.open(c);
                } else if c == '"' && self.blank && !self.structure {
                    // The whole body is a string.
                    self.at += 1;
                    self.structure = true;
                    let text = self.string('"');
                    return Some(self.value(text, true));
                } else {
                    self.outside.push(c);
                    self.blank &= c.is_whitespace();
                    self.at += c.len_utf8();
                }
                continue;
            }
            match c {
                '{' | '[' => self.open(c),
                '}' | ']' => self.close(),
                ',' => {
                    self.at += 1;
                    self.key.clear();
                }
                '"' | '\'' => {
                    self.at += 1;
                    let text = self.string(c);
                    if self.in_object() && self.next_is_colon() {
                        self.key = plain(&text);
                    } else if !self.in_echo() {
                        return Some(self.value(text, true));
                    }
                }
                c if c.is_alphanumeric() || c == '-' => {
                    let text = self.word();
                    if !self.in_echo() {
                        return Some(self.value(text, false));
                    }
                }
                c => self.at += c.len_utf8(),
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Returns whether `c` starts a structure rather than being punctuation in a sentence.
    fn begins(&self, c: char) -> bool {
        let after = || self.text[self.at + 1..].trim_start();
        match c {
            '{' => after().starts_with(['"', '\'']),
            '[' => self.blank && after().starts_with(['{', '"', '\'']),
            _ => false,
        }
    }

    fn open(&mut self, c: char) {
        self.at += 1;
        let mut key = std::mem::take(&mut self.key);
        if key.is_empty()
            && let Some(list) = self.frames.last().filter(|frame| !frame.is_object)
        {
            key.clone_from(&list.key);
        }
        let echo = self.in_echo() || ECHOES.contains(&key.as_str());
        self.frames.push(Frame { is_object: c == '{', key, echo });
    }

    fn close(&mut self) {
        self.at += 1;
        self.key.clear();
        self.frames.pop();
        if self.frames.is_empty() {
            self.outside.push(' ');
        }
    }

    fn in_object(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.is_object)
    }

    fn in_echo(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.echo) || ECHOES.contains(&self.key.as_str())
    }

    fn next_is_colon(&self) -> bool {
        self.text[self.at..].trim_start().starts_with(':')
    }

    fn value(&mut self, text: String, is_string: bool) -> Value<'_> {
        self.last.clear();
        match self.frames.last() {
            Some(frame) if !frame.is_object => self.last.push_str(&frame.key),
            _ => self.last.push_str(&self.key),
        }
        self.key.clear();
        Value { key: &self.last, text, is_string, depth: self.frames.len() }
    }

    /// Reads the rest of a string after its opening quote and resolves escapes.
    fn string(&mut self, quote: char) -> String {
        let mut out = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                c if c == quote => break,
                '\\' => self.escape(&mut out),
                c => out.push(c),
            }
        }
        out
    }

    fn escape(&mut self, out: &mut String) {
        let Some(c) = self.peek() else { return };
        self.at += c.len_utf8();
        match c {
            'n' | 'r' | 't' | 'b' | 'f' => out.push(if c == 'n' { '\n' } else { ' ' }),
            'u' => {
                let unit = self.unit().unwrap_or(0xfffd);
                let pair =
                    (0xd800..0xdc00).contains(&unit) && self.text[self.at..].starts_with("\\u");
                let low = if pair {
                    self.at += 2;
                    self.unit()
                } else {
                    None
                };
                let code = match low {
                    Some(low) if (0xdc00..0xe000).contains(&low) => {
                        0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
                    }
                    _ => unit,
                };
                out.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            c => out.push(c),
        }
    }

    /// Reads the four hexadecimal digits of a `\u` escape, if they are present.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let unit = u32::from_str_radix(digits, 16).ok()?;
        self.at += 4;
        Some(unit)
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let ends = |c: char| {
            matches!(c, ',' | ':' | '{' | '}' | '[' | ']' | '"' | '\'') || c.is_whitespace()
        };
        let length = rest.find(ends).unwrap_or(rest.len());
        self.at += length;
        rest[..length].to_owned()
    }
}

/// Normalizes a key, because providers spell it differently.
fn plain(key: &str) -> String {
    let kept = key.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase);
    kept.take(LONGEST_KEY).collect()
}
