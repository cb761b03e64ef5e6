//! A chat as a Markdown document for people.

mod escape;
mod parts;

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use context_core::history::{FrontEntry, StoredBoundary};
use context_core::message::{Origin, ToolInput};
use context_core::{Chain, Message, Node, Part, Role, Timestamp, ToolCall, ToolResult};

use self::escape::{code, fenced, inline};
use self::parts::{count, folded, part, result, spread};

/// Maximum number of turns in the table of contents.
const MAX_CONTENTS: usize = 200;
/// Maximum number of characters of a turn in the table of contents.
const PREVIEW: usize = 80;

/// A chat as a Markdown document, for reading, reviews and issue trackers.
///
/// The document has a heading for each turn, `## Turn 2`, to which viewers link as `#turn-2`, and
/// one for each message and each call. A result is written under its call; of a long one, the head
/// and the tail, with the size of the rest, unless the document is written
/// [in full](Self::in_full). System prompts and thoughts are folded. Of media, the type and size are
/// written. A compaction is a line that states what was cut.
///
/// Texts are Markdown as the model and the user wrote it. Content cannot break the document: HTML,
/// headings, images and definitions of links are escaped, fences are longer than those in the
/// content, and hidden characters are shown as escapes.
///
/// The document is only written; nothing reads it back. It is written by [`Display`](fmt::Display),
/// message by message.
///
/// ```
/// use std::sync::Arc;
///
/// use context_core::{Chain, Message, Node, Role, Timestamp};
/// use context_transcript::MarkdownDocument;
///
/// let node = |id: &str, message| Arc::new(Node::new(id, message, Timestamp::default()));
/// let chain = Chain::from_nodes(0, [
///     node("m1", Message::from("Two tickets to <b>Lisbon</b>.")),
///     node("m2", Message::text(Role::Assistant, "# Window or aisle?")),
/// ]);
/// let document = MarkdownDocument::new("lisbon", &chain).branch("main").to_string();
/// assert!(document.starts_with("# lisbon\n"));
/// assert!(document.contains("\nTwo tickets to \\<b>Lisbon\\</b>.\n"));
/// assert!(document.contains("\n\\# Window or aisle?\n"));
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct MarkdownDocument<'a> {
    chat: &'a str,
    chain: &'a Chain,
    title: Option<&'a str>,
    branch: Option<&'a str>,
    system_prompt: Option<&'a str>,
    in_full: bool,
}

impl<'a> MarkdownDocument<'a> {
    /// Creates the document of a chat with these messages.
    pub fn new(chat: &'a str, chain: &'a Chain) -> Self {
        Self { chat, chain, title: None, branch: None, system_prompt: None, in_full: false }
    }

    /// Sets the title. Without one, the id of the chat is the title.
    pub fn title(mut self, title: Option<&'a str>) -> Self {
        self.title = title.filter(|title| !title.trim().is_empty());
        self
    }

    /// Names the branch.
    pub fn branch(mut self, branch: &'a str) -> Self {
        self.branch = Some(branch);
        self
    }

    /// Sets a system prompt that is not among the messages.
    pub fn system_prompt(mut self, prompt: &'a str) -> Self {
        self.system_prompt = Some(prompt).filter(|prompt| !prompt.trim().is_empty());
        self
    }

    /// Writes long results in full.
    pub fn in_full(mut self) -> Self {
        self.in_full = true;
        self
    }

    fn write_facts(&self, out: &mut impl Write) -> fmt::Result {
        writeln!(out, "# {}\n", inline(self.title.unwrap_or(self.chat)))?;
        writeln!(out, "- Chat: {}", code(self.chat))?;
        if let Some(branch) = self.branch {
            writeln!(out, "- Branch: {}", code(branch))?;
        }
        let messages = self.chain.iter().filter(|node| node.role().is_some()).count();
        write!(out, "- Messages: {}", count(messages, "message"))?;
        match self.chain.skipped() {
            0 => writeln!(out)?,
            skipped => writeln!(out, ", after {skipped} earlier ones that are not here")?,
        }
        let times = || self.chain.iter().map(|node| node.created_at);
        if let (Some(first), Some(last)) = (times().min(), times().max()) {
            match first == last {
                true => writeln!(out, "- Date: {}", time(first))?,
                false => writeln!(out, "- Dates: {} to {}", time(first), time(last))?,
            }
        }
        Ok(())
    }

    /// Writes a line for each turn, with the beginning of its question.
    fn write_contents(&self, out: &mut impl Write) -> fmt::Result {
        let turns = || self.chain.iter().filter(|node| node.is_turn());
        let all = turns().count();
        if all < 2 {
            return Ok(());
        }
        folded(out, "Turns", &mut |out| {
            for (number, node) in (1..=MAX_CONTENTS).zip(turns()) {
                let text = node.message().map(|message| message.plain_text().into_owned());
                let text = text.unwrap_or_default();
                let mut line: String = text
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ")
                    .chars()
                    .take(PREVIEW)
                    .collect();
                if line.chars().count() == PREVIEW {
                    line.push('…');
                }
                let line = format!("- [Turn {number}](#turn-{number}) {}", inline(&line));
                writeln!(out, "{}", line.trim_end())?;
            }
            match all.saturating_sub(MAX_CONTENTS) {
                0 => Ok(()),
                more => writeln!(out, "- … {}", count(more, "more turn")),
            }
        })
    }

    fn write_boundary(out: &mut impl Write, node: &Node) -> fmt::Result {
        let Ok(boundary) = StoredBoundary::decode(node.body()) else {
            return writeln!(out, "\n---\n\n**Compaction** that this program cannot read");
        };
        let mut facts = vec![inline(boundary.kind.as_str())];
        if !boundary.description.is_empty() {
            facts.push(inline(&boundary.description));
        }
        if boundary.before != boundary.after {
            facts.push(format!("{} → {} tokens", boundary.before, boundary.after));
        }
        let retained = usize::try_from(boundary.retained).unwrap_or(usize::MAX);
        facts.push(format!("{} before it left", count(retained, "message")));
        let id = code(node.id.as_str());
        writeln!(out, "\n---\n\n**Compaction** {id} · {}", facts.join(" · "))?;
        for entry in &boundary.front {
            if let FrontEntry::Made { message, .. } = entry {
                folded(out, "In place of earlier messages", &mut |out| {
                    fenced_text(out, &message.plain_text())
                })?;
            }
        }
        writeln!(out, "\n---")
    }

    fn write_message(
        &self,
        out: &mut impl Write,
        (position, node): (usize, &Node),
        message: &Message,
        results: &Results<'_>,
    ) -> fmt::Result {
        if results.are_all_of(position, message) {
            return Ok(());
        }
        let role = match message.role {
            Role::System => "System",
            Role::User => "User",
            Role::Assistant => "Assistant",
            Role::Tool => "Tool",
        };
        let origin = match message.origin() {
            Origin::Author => "",
            Origin::CarriedOver => " · from another chat",
            Origin::Checkpoint => " · a summary",
            Origin::Gap => " · a gap",
            Origin::Recall => " · recalled",
            _ => " · written by a program",
        };
        writeln!(out, "\n### {role}{origin}\n\n{}", facts(node))?;
        if message.role == Role::System {
            return folded(out, "System prompt", &mut |out| {
                fenced_text(out, &message.plain_text())
            });
        }
        for (index, each) in message.parts.iter().enumerate() {
            match each {
                Part::ToolCall(call) => {
                    self.write_call(out, call, results.of_call.get(&(position, index)))?;
                }
                Part::ToolResult(one) if !results.joined.contains(&(position, index)) => {
                    let name = one.name.as_deref().unwrap_or(&one.call_id);
                    result(out, one, &format!("of {}", code(name)), self.in_full)?;
                }
                other => part(out, other)?,
            }
        }
        Ok(())
    }

    fn write_call(
        &self,
        out: &mut impl Write,
        call: &ToolCall,
        of_call: Option<&(&Node, &ToolResult)>,
    ) -> fmt::Result {
        writeln!(out, "\n### → {}\n", inline(&call.name))?;
        match &call.input {
            ToolInput::Json(json) => {
                fenced(out, "json", &spread(json.as_str()))?;
            }
            ToolInput::Invalid(text) => fenced(out, "", text)?,
        }
        match of_call {
            Some((node, one)) => result(out, one, &facts(node), self.in_full),
            None => writeln!(out, "\n**No result**"),
        }
    }
}

impl fmt::Display for MarkdownDocument<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_facts(out)?;
        self.write_contents(out)?;
        if let Some(prompt) = self.system_prompt {
            folded(out, "System prompt", &mut |out| fenced_text(out, prompt))?;
        }
        let results = Results::of(self.chain);
        let mut turn = 0_usize;
        for (position, node) in self.chain.iter().enumerate() {
            if node.is_turn() {
                turn += 1;
                writeln!(out, "\n## Turn {turn}")?;
            }
            if node.role().is_none() {
                Self::write_boundary(out, node)?;
                continue;
            }
            match node.message() {
                Ok(message) => self.write_message(out, (position, node), message, &results)?,
                Err(_) => writeln!(
                    out,
                    "\n### Message\n\n{}\n\n*This program cannot read it.*",
                    facts(node)
                )?,
            }
        }
        Ok(())
    }
}

/// A part of a chain: the position of its node, and its own in the message.
type PartPosition = (usize, usize);

/// The results of calls, each with its message, and those that are written under their call. Keyed
/// by position, because ids of calls may repeat.
#[derive(Default)]
struct Results<'c> {
    of_call: HashMap<PartPosition, (&'c Node, &'c ToolResult)>,
    joined: HashSet<PartPosition>,
}

impl<'c> Results<'c> {
    fn of(chain: &'c Chain) -> Self {
        let (mut all, mut open) = (Self::default(), HashMap::<&str, PartPosition>::new());
        for (position, node) in chain.iter().enumerate() {
            let Some(Ok(message)) = node.role().map(|_| node.message()) else { continue };
            for (index, part) in message.parts.iter().enumerate() {
                match part {
                    Part::ToolCall(call) => {
                        open.insert(&call.id, (position, index));
                    }
                    Part::ToolResult(result) => {
                        if let Some(call) = open.remove(result.call_id.as_str()) {
                            all.of_call.insert(call, (node, result));
                            all.joined.insert((position, index));
                        }
                    }
                    _ => {}
                }
            }
        }
        all
    }

    /// Returns whether a message consists of results that are written under their calls.
    fn are_all_of(&self, position: usize, message: &Message) -> bool {
        let mut parts = 0..message.parts.len();
        !message.parts.is_empty() && parts.all(|index| self.joined.contains(&(position, index)))
    }
}

/// Returns id and time of a message.
fn facts(node: &Node) -> String {
    format!("{} · {}", code(node.id.as_str()), time(node.created_at))
}

fn fenced_text(out: &mut dyn Write, text: &str) -> fmt::Result {
    let mut written = String::new();
    fenced(&mut written, "", text)?;
    out.write_str(&written)
}

fn time(at: Timestamp) -> String {
    match jiff::Timestamp::from_microsecond(at.as_micros()) {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        Err(_) => format!("{} µs", at.as_micros()),
    }
}
