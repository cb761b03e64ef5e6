//! Server-sent events.

use std::fmt;

use crate::TooLong;

/// A server-sent event.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// The event's name, if it has one.
    pub name: Option<String>,
    /// The event's data, with lines joined by line feeds.
    pub data: String,
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").field("name", &self.name).field("bytes", &self.data.len()).finish()
    }
}

/// A parser of server-sent events from bytes in chunks of any size, by the rules of the HTML
/// standard: lines end with CR, LF or both, comments are skipped, data of several lines are joined,
/// invalid UTF-8 is replaced. Ids and reconnection times are not kept, because this crate does not
/// reconnect.
///
/// ```
/// use context_http::EventParser;
///
/// let mut parser = EventParser::new(1 << 20);
/// let mut events = Vec::new();
/// parser.push(b"event: ping\ndata: {\"a\":", &mut events)?;
/// assert!(events.is_empty());
/// parser.push(b"1}\n\n: hello\n\n", &mut events)?;
/// assert_eq!((events[0].name.as_deref(), events[0].data.as_str()), (Some("ping"), "{\"a\":1}"));
/// assert_eq!(events.len(), 1);
/// # Ok::<_, context_http::TooLong>(())
/// ```
pub struct EventParser {
    longest: usize,
    /// The incomplete line.
    line: Vec<u8>,
    name: String,
    data: String,
    /// Whether the last byte was a CR, to which a LF may belong.
    after_cr: bool,
    /// Whether a byte order mark may follow.
    at_start: bool,
}

impl fmt::Debug for EventParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventParser").field("longest", &self.longest).finish_non_exhaustive()
    }
}

impl EventParser {
    /// Creates a parser of events of at most `longest` bytes, in one line or several.
    pub fn new(longest: usize) -> Self {
        let (name, data) = (String::new(), String::new());
        Self { longest, line: Vec::new(), name, data, after_cr: false, at_start: true }
    }

    /// Parses more bytes and adds the events that are now complete. Returns an error if an event is
    /// too long; the events before it are added, and the parser cannot continue.
    pub fn push(
        &mut self,
        mut bytes: &[u8],
        events: &mut impl Extend<Event>,
    ) -> Result<(), TooLong> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.held().saturating_add(piece.len()) > self.longest {
                return Err(TooLong::Event);
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { break };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            events.extend(self.end_line());
        }
        Ok(())
    }

    /// Returns the last event if the stream ended without an empty line, which some servers leave
    /// out. An incomplete line is ignored, because it may be cut off.
    pub fn finish(&mut self) -> Option<Event> {
        self.line.clear();
        self.dispatch()
    }

    fn held(&self) -> usize {
        self.line.len() + self.name.len() + self.data.len()
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut text = String::from_utf8_lossy(&line);
        if std::mem::take(&mut self.at_start)
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            text = rest.to_owned().into();
        }
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((&*text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "event" => value.clone_into(&mut self.name),
            _ => {}
        }
        None
    }

    /// Returns the current event, if it has data.
    fn dispatch(&mut self) -> Option<Event> {
        let name = Some(std::mem::take(&mut self.name)).filter(|name| !name.is_empty());
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        Some(Event { name, data })
    }
}
