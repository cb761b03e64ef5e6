//! Converts a repaired history to the list of messages that is sent: merges messages, orders their
//! blocks, and drops blocks of server tools that have no partner.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use context_codec_kit::normalize::Normalized;
use context_core::{Message, Part, Role};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::value::RawValue;

use super::fields::Fields;
use super::form::{Block, Body};
use super::lower::{BlockPosition, Writer, is_server_block};

/// A message of the list.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    pub(super) by_model: bool,
    pub(super) blocks: Vec<Block<'a>>,
    /// Whether it holds only tool results, so that the user's next content belongs to it.
    is_open: bool,
}

/// The part of a request that comes from its history.
#[derive(Debug, Default)]
pub(super) struct History<'a> {
    /// The system texts in front of the history.
    pub(super) system: Vec<Block<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
}

impl<'a> History<'a> {
    /// Reads a repaired history.
    pub(super) fn read(normalized: &'a Normalized<'_>, writer: &mut Writer) -> Self {
        let messages = &normalized.messages;
        let mut history = Self { turns: Vec::with_capacity(messages.len()), ..Self::default() };
        for (from, message) in messages.iter().enumerate() {
            writer.at = BlockPosition::Message(normalized.origin(from));
            history.add(from, message, writer);
        }
        history.pair_server_tools(normalized, writer);
        history.end_turns();
        history.join();
        history
    }

    fn add(&mut self, from: usize, message: &'a Message, writer: &mut Writer) {
        let mut blocks = writer.blocks(message);
        if message.role == Role::System {
            if !self.turns.is_empty() {
                writer.note(0, "left out: a system prompt comes before all messages");
                return;
            }
            for block in blocks {
                match block.body {
                    Body::Text(_) => self.system.push(block),
                    _ => writer.note(0, "left out: a system prompt holds only text"),
                }
            }
            return;
        }
        let by_model = message.role == Role::Assistant;
        if blocks.is_empty() {
            return;
        }
        // Media of a failed result stand after it, and still belong to the tools.
        let is_result = |part: &Part| matches!(part, Part::ToolResult(_));
        let is_open = !by_model
            && (blocks.iter().all(Block::is_result) || message.parts.iter().all(is_result));
        blocks.iter_mut().for_each(|block| block.from = from);
        self.turns.push(Turn { by_model, blocks, is_open });
    }

    /// Merges results with results and with the user's content after them.
    fn join(&mut self) {
        self.turns.dedup_by(|turn, before| {
            let joins = before.is_open && !turn.by_model;
            if joins {
                before.blocks.append(&mut turn.blocks);
                before.is_open = turn.is_open;
                // Results before everything else, including the results of a user message that
                // holds some.
                before.blocks.sort_by_key(|block| !block.is_result());
            }
            joins
        });
    }

    /// Drops content that must not end an assistant's turn: thoughts, and white space at the end of
    /// a prefill.
    fn end_turns(&mut self) {
        let (mut is_end, mut is_prefill) = (true, true);
        for turn in self.turns.iter_mut().rev() {
            if !turn.by_model {
                (is_end, is_prefill) = (true, false);
                continue;
            }
            while is_end && let Some(block) = turn.blocks.last_mut() {
                if let Body::Text(text) = &mut block.body
                    && is_prefill
                {
                    let end = text.trim_end().len();
                    if end < text.len() {
                        *text = Cow::Owned(text[..end].into());
                    }
                }
                is_end = block.is_thought() || block.is_blank();
                if is_end {
                    turn.blocks.pop();
                }
            }
        }
        self.turns.retain(|turn| !turn.blocks.is_empty());
    }

    /// Drops blocks of server tools that have no partner. A use may wait for its result until the
    /// next user message: the answer was paused, or waits for results of the application.
    fn pair_server_tools(&mut self, normalized: &Normalized<'_>, writer: &mut Writer) {
        let mut pairs = Pairs::default();
        for (t, turn) in self.turns.iter().enumerate() {
            if !turn.by_model && !turn.blocks.iter().all(|block| block.is_result()) {
                pairs.close();
            } else if !turn.by_model {
                pairs.close_except_waiting();
            }
            for (b, block) in turn.blocks.iter().enumerate() {
                match &block.body {
                    Body::Opaque(value) => {
                        if let Some(fields) = Fields::inspect(value.as_raw()) {
                            pairs.add((t, b), &fields);
                        }
                    }
                    Body::ToolUse { .. } => {
                        let called = block.extras.iter().filter(|(key, _)| *key == "caller");
                        pairs
                            .waiting
                            .extend(called.filter_map(|(_, value)| caller(value.as_raw())));
                    }
                    _ => {}
                }
            }
        }
        if pairs.uses.is_empty() && pairs.dropped.is_empty() {
            self.forget_callers(&HashMap::new());
            return;
        }
        pairs.drop_called();
        for (t, turn) in self.turns.iter_mut().enumerate() {
            let mut b = 0;
            turn.blocks.retain(|block| {
                let keep = !pairs.dropped.contains(&(t, b));
                b += 1;
                if !keep {
                    writer.at = BlockPosition::Message(normalized.origin(block.from));
                    writer.note(
                        b - 1,
                        "left out: a block of a provider's tool without its call or result",
                    );
                }
                keep
            });
        }
        let Pairs { mut uses, dropped, .. } = pairs;
        uses.retain(|_, at| !dropped.contains(at));
        self.forget_callers(&uses);
        self.turns.retain(|turn| !turn.blocks.is_empty());
    }

    /// Removes the caller of calls whose server tool is no longer present. They become the model's
    /// own calls.
    fn forget_callers(&mut self, uses: &HashMap<String, (usize, usize)>) {
        for block in
            self.turns.iter_mut().filter(|turn| turn.by_model).flat_map(|turn| &mut turn.blocks)
        {
            block.extras.retain(|(key, value)| {
                *key != "caller" || caller(value.as_raw()).is_none_or(|id| uses.contains_key(&id))
            });
        }
    }
}

impl Serialize for Turn<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut message = serializer.serialize_struct("Turn", 2)?;
        message.serialize_field("role", if self.by_model { "assistant" } else { "user" })?;
        // Always blocks: the form of a text must not depend on whether it is marked.
        message.serialize_field("content", &self.blocks)?;
        message.end()
    }
}

/// Returns the id of the server tool use that made a call, if one did.
fn caller(json: &RawValue) -> Option<String> {
    let id = Fields::inspect(json)?.peek("tool_id")?;
    Some(id.into_owned())
}

/// Returns whether the provider accepts an id as one of its own.
fn is_server_id(id: &str) -> bool {
    let rest = id.strip_prefix("srvtoolu_").filter(|rest| !rest.is_empty());
    rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
}

/// Uses of server tools and their results.
#[derive(Default)]
struct Pairs {
    uses: HashMap<String, (usize, usize)>,
    /// Uses that have no result yet, and whether they search for tools.
    open: HashMap<String, ((usize, usize), bool)>,
    /// Uses that called tools of the application.
    waiting: HashSet<String>,
    dropped: HashSet<(usize, usize)>,
    /// Blocks with the use they belong to, and their own id if they are uses.
    called: Vec<((usize, usize), String, Option<String>)>,
}

impl Pairs {
    fn add(&mut self, at: (usize, usize), fields: &Fields<'_>) {
        let Some(kind) = fields.peek("type").filter(|kind| is_server_block(kind)) else { return };
        let id = fields.peek("id").map(|id| id.into_owned());
        if let Some(caller) = fields.get("caller").and_then(caller) {
            self.called.push((at, caller, id.clone()));
        }
        if kind.ends_with("_tool_use") {
            let searches = fields.peek("name").is_some_and(|name| name.starts_with("tool_search"));
            let is_mcp = kind == "mcp_tool_use";
            match id {
                Some(id) if !self.uses.contains_key(&id) && (is_mcp || is_server_id(&id)) => {
                    self.uses.insert(id.clone(), at);
                    self.open.insert(id, (at, searches));
                }
                _ => _ = self.dropped.insert(at),
            }
            return;
        }
        let used = fields.peek("tool_use_id").and_then(|id| self.open.remove_entry(&*id));
        match used {
            Some((id, _)) => self.called.push((at, id, None)),
            None => _ = self.dropped.insert(at),
        }
    }

    /// Closes open uses when the application answers calls. A server tool that made such calls
    /// continues with the answers, and so does a tool search; any other open use stays without a
    /// result.
    fn close_except_waiting(&mut self) {
        let Self { open, waiting, dropped, .. } = self;
        open.retain(|id, (at, searches)| {
            let waits = *searches || waiting.contains(id);
            if !waits {
                dropped.insert(*at);
            }
            waits
        });
    }

    /// Drops every open use, because it stays without a result.
    fn close(&mut self) {
        self.dropped.extend(self.open.drain().map(|(_, (at, _))| at));
    }

    /// Drops the blocks that belong to a dropped use.
    fn drop_called(&mut self) {
        loop {
            let before = self.dropped.len();
            for (at, caller, _) in &self.called {
                if self.uses.get(caller).is_none_or(|use_at| self.dropped.contains(use_at)) {
                    self.dropped.insert(*at);
                }
            }
            if self.dropped.len() == before {
                return;
            }
        }
    }
}
