//! Placement of cache marks: at most as many as the provider accepts, only on blocks that can carry
//! one, and one-hour marks in front of five-minute marks.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use context_codec_kit::normalize::Normalized;
use context_core::base::{DiagnosticCode, Severity};
use context_core::model::CacheMarks;
use context_core::{Diagnostic, Json};

use serde_json::value::RawValue;

use super::MAX_CACHE_MARKS;
use super::fields::Fields;
use super::form::{Block, Body, Mark, remarked};
use super::history::History;
use super::request::tool::WireTool;

/// The lifetime of a mark that names none.
const FIVE_MINUTES: Duration = Duration::from_secs(300);
/// The note for a mark that is shorter than wanted, because the provider refuses the other order.
const SHORTENED: &str =
    "a cache mark for an hour after one for five minutes becomes one for five minutes";

/// Types of opaque blocks that can carry a mark.
const MARKABLE: [&str; 17] = [
    "image",
    "document",
    "search_result",
    "server_tool_use",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "compaction",
    "tool_reference",
    "browser_state",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "advisor_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
];

impl Block<'_> {
    /// Returns whether a mark may be put on the block. Opaque blocks only keep the marks they have.
    pub(super) fn can_carry(&self) -> bool {
        match &self.body {
            Body::Text(_) => !self.is_blank(),
            Body::Media { .. } | Body::ToolUse { .. } | Body::ToolResult { .. } => true,
            Body::Thinking { .. } | Body::Redacted(_) | Body::Opaque(_) => false,
        }
    }
}

/// A place that may have a mark. The order is that in which the provider reads the places.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum MarkPosition {
    Tool(usize),
    System(usize),
    Block(usize, usize),
}

/// The parts of a request that can carry marks.
pub(super) struct MarkPlacement<'m, 'a> {
    pub(super) tools: &'m mut [WireTool<'a>],
    pub(super) history: &'m mut History<'a>,
    /// The number of blocks of the system prompt before recalled memories. `None` if there are no
    /// recalled memories in it.
    pub(super) stable_system: Option<usize>,
    pub(super) messages: &'m Normalized<'a>,
    pub(super) diagnostics: &'m mut Vec<Diagnostic>,
}

impl<'a> MarkPlacement<'_, 'a> {
    /// Puts the requested marks in place. `used` marks are used elsewhere in the request. The new
    /// marks are for an hour if `lifetime` is longer than five minutes.
    pub(super) fn place(&mut self, marks: &CacheMarks, lifetime: Option<Duration>, used: usize) {
        let existing = self.existing();
        let mut room = MAX_CACHE_MARKS.saturating_sub(used);
        let mut chosen: Vec<MarkPosition> = Vec::with_capacity(room);
        for position in self.requested(marks) {
            if chosen.contains(&position) {
                continue;
            }
            if room == 0 {
                self.note(position, "a cache mark is left out: the provider takes four");
                continue;
            }
            room -= 1;
            chosen.push(position);
        }
        for &position in
            existing.iter().rev().filter(|position| !chosen.contains(position)).collect::<Vec<_>>()
        {
            if room > 0 {
                room -= 1;
                chosen.push(position);
            } else {
                self.set(position, None);
                self.note(position, "a cache mark is left out: the provider takes four");
            }
        }
        chosen.sort_unstable();
        let wants_long = lifetime.is_some_and(|lifetime| lifetime > FIVE_MINUTES);
        self.write(&chosen, &existing, wants_long);
    }

    /// Sets the chosen marks, so that no one-hour mark follows a five-minute mark. New marks are
    /// for an hour if that is wanted, or if one for an hour follows.
    fn write(&mut self, chosen: &[MarkPosition], existing: &[MarkPosition], wants_long: bool) {
        let is_long = |this: &Self, position| {
            existing.binary_search(&position).is_ok() && this.is_long(position)
        };
        let last_long = chosen.iter().rposition(|&position| is_long(self, position));
        let mut short_before = false;
        for (i, &position) in chosen.iter().enumerate() {
            if existing.binary_search(&position).is_err() {
                let long = wants_long || last_long.is_some_and(|last| i < last);
                let long = long && !short_before;
                self.set(position, Some(if long { Mark::Long } else { Mark::Short }));
                if wants_long && !long {
                    self.note(position, SHORTENED);
                }
                short_before |= !long;
            } else if !self.is_long(position) {
                short_before = true;
            } else if short_before {
                self.set(position, Some(Mark::Short));
                self.note(position, SHORTENED);
            }
        }
    }

    /// Returns the places of existing marks, in order. Invalid marks, and marks on blocks that
    /// cannot carry one, are removed.
    fn existing(&mut self) -> Vec<MarkPosition> {
        let tools = (0..self.tools.len()).map(MarkPosition::Tool);
        let system = (0..self.history.system.len()).map(MarkPosition::System);
        let turns = self.history.turns.iter().enumerate();
        let blocks = turns
            .flat_map(|(t, turn)| (0..turn.blocks.len()).map(move |b| MarkPosition::Block(t, b)));
        let states = tools
            .chain(system)
            .chain(blocks)
            .filter_map(|position| Some((position, self.state(position)?)));
        let (illegal, legal): (Vec<_>, Vec<_>) =
            states.partition(|(_, state)| *state == MarkState::Illegal);
        for (position, _) in illegal {
            self.set(position, None);
            self.note(
                position,
                "a cache mark is left out: it is invalid or in a place that takes none",
            );
        }
        legal.into_iter().map(|(position, _)| position).collect()
    }

    /// Returns the places that the request wants marked, the most important first.
    fn requested(&mut self, marks: &CacheMarks) -> Vec<MarkPosition> {
        let mut positions = Vec::new();
        match marks {
            CacheMarks::Auto => {
                positions.extend(self.prompt());
                // After the newest input to the model, and after the one before: there ends the
                // cache entry that this request can read.
                let turns =
                    self.history.turns.iter().enumerate().rev().filter(|(_, turn)| !turn.by_model);
                positions.extend(
                    turns
                        .filter_map(|(t, turn)| {
                            Some(MarkPosition::Block(
                                t,
                                turn.blocks.iter().rposition(|block| block.can_carry())?,
                            ))
                        })
                        .take(2),
                );
            }
            CacheMarks::At(requested) => {
                positions.extend(self.prompt());
                positions.extend(self.last_blocks(requested));
            }
            _ => {}
        }
        positions
    }

    /// Returns the end of the stable system prompt, or of the tools if there is none.
    fn prompt(&self) -> Option<MarkPosition> {
        let stable = self.stable_system.unwrap_or(self.history.system.len());
        let stable = &self.history.system[..stable.min(self.history.system.len())];
        let system = stable.iter().rposition(Block::can_carry).map(MarkPosition::System);
        system.or_else(|| self.tools.iter().rposition(WireTool::can_carry).map(MarkPosition::Tool))
    }

    /// Returns the last blocks of these messages, or of earlier ones, that can carry a mark, from
    /// the end.
    fn last_blocks(&mut self, requested: &[usize]) -> Vec<MarkPosition> {
        let repaired = repaired(self.messages);
        let mut carriers = Vec::new();
        for (t, turn) in self.history.turns.iter().enumerate() {
            let carrying = turn.blocks.iter().enumerate().filter(|(_, block)| block.can_carry());
            carriers.extend(carrying.map(|(b, block)| (block.from, t, b)));
        }
        carriers.sort_unstable();
        let mut requested = requested.to_vec();
        requested.sort_unstable();
        requested.dedup();
        let mut positions = Vec::new();
        for position in requested.into_iter().rev() {
            let from = repaired.range(..=position).next_back().map(|(_, from)| *from);
            let before =
                from.map_or(0, |from| carriers.partition_point(|(other, ..)| *other <= from));
            match before.checked_sub(1).map(|last| carriers[last]) {
                Some((_, t, b)) => positions.push(MarkPosition::Block(t, b)),
                None => {
                    let path = format!("messages[{position}]");
                    self.note_at(path, "a cache mark is left out: no block there can carry it");
                }
            }
        }
        positions
    }

    fn state(&self, position: MarkPosition) -> Option<MarkState> {
        match position {
            MarkPosition::Tool(i) => self.tools[i].mark_state(),
            MarkPosition::System(i) => self.history.system[i].mark_state(),
            MarkPosition::Block(t, b) => self.history.turns[t].blocks[b].mark_state(),
        }
    }

    fn is_long(&self, position: MarkPosition) -> bool {
        self.state(position) == Some(MarkState::Long)
    }

    fn set(&mut self, position: MarkPosition, mark: Option<Mark<'a>>) {
        match position {
            MarkPosition::Tool(i) => self.tools[i].set_mark(mark),
            MarkPosition::System(i) => self.history.system[i].set_mark(mark),
            MarkPosition::Block(t, b) => self.history.turns[t].blocks[b].set_mark(mark),
        }
    }

    fn note(&mut self, position: MarkPosition, why: &str) {
        let path = match position {
            MarkPosition::Tool(i) => format!("tools[{i}]"),
            MarkPosition::System(i) => format!("system[{i}]"),
            MarkPosition::Block(t, b) => {
                let from = self.history.turns[t].blocks[b].from;
                format!("messages[{}]", self.messages.origin(from))
            }
        };
        self.note_at(path, why);
    }

    fn note_at(&mut self, path: String, why: &str) {
        let code = DiagnosticCode::Unrepresentable;
        self.diagnostics.push(Diagnostic::new(code, Severity::Info, path, why));
    }
}

/// Maps the position of each given message to its position after the repair: the last message that
/// was made of it, or of one before it. Messages that the repair added are ignored.
fn repaired(messages: &Normalized<'_>) -> BTreeMap<usize, usize> {
    let mut places = BTreeMap::new();
    for (i, message) in messages.messages.iter().enumerate() {
        let origin = messages.origin(i);
        if !(message.is_synthetic() && places.contains_key(&origin)) {
            places.insert(origin, i);
        }
    }
    places
}

/// The value of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkState {
    /// Not a mark, or a mark on a block that cannot carry one.
    Illegal,
    Short,
    Long,
}

impl MarkState {
    fn of(mark: &Mark<'_>) -> Self {
        match mark {
            Mark::Short => Self::Short,
            Mark::Long => Self::Long,
            Mark::Kept(json) => Self::read(json.as_raw()),
        }
    }

    fn read(json: &RawValue) -> Self {
        let Some(mark) = Fields::inspect(json) else { return Self::Illegal };
        match (mark.peek("type").as_deref(), mark.get("ttl").map(|_| mark.peek("ttl"))) {
            (Some("ephemeral"), None) => Self::Short,
            (Some("ephemeral"), Some(Some(ttl))) if ttl == "5m" => Self::Short,
            (Some("ephemeral"), Some(Some(ttl))) if ttl == "1h" => Self::Long,
            _ => Self::Illegal,
        }
    }

    /// Returns the mark of a block or tool that is sent unchanged.
    fn of_opaque(value: &Json, is_legal: impl FnOnce(&Fields<'_>) -> bool) -> Option<Self> {
        let fields = Fields::inspect(value.as_raw())?;
        let mark = fields.any("cache_control")?;
        // A null is no mark and is accepted everywhere.
        (mark.get() != "null")
            .then(|| if is_legal(&fields) { Self::read(mark) } else { Self::Illegal })
    }
}

impl<'a> Block<'a> {
    fn mark_state(&self) -> Option<MarkState> {
        match &self.body {
            Body::Opaque(value) => MarkState::of_opaque(value, |fields| {
                fields.peek("type").is_some_and(|kind| MARKABLE.contains(&&*kind))
            }),
            _ => self.mark.map(|mark| {
                if self.can_carry() { MarkState::of(&mark) } else { MarkState::Illegal }
            }),
        }
    }

    fn set_mark(&mut self, mark: Option<Mark<'a>>) {
        match &mut self.body {
            Body::Opaque(value) => *value = Cow::Owned(remarked(value, mark)),
            _ => self.mark = mark,
        }
    }
}

impl<'a> WireTool<'a> {
    /// Returns whether a mark may be put on the tool. A tool that is only found by a search is not
    /// part of the prompt.
    fn can_carry(&self) -> bool {
        matches!(self, Self::Function { extras, .. }
            if !extras.iter().any(|(key,
                value)| *key == "defer_loading" && value.as_str() == "true"))
    }

    fn mark_state(&self) -> Option<MarkState> {
        match self {
            Self::Opaque(value) => MarkState::of_opaque(value, |fields| {
                fields.get("defer_loading").is_none_or(|json| json.get() != "true")
            }),
            Self::Function { mark, .. } if self.can_carry() => mark.as_ref().map(MarkState::of),
            Self::Function { mark, .. } => mark.map(|_| MarkState::Illegal),
        }
    }

    fn set_mark(&mut self, new: Option<Mark<'a>>) {
        match self {
            Self::Opaque(value) => *value = Cow::Owned(remarked(value, new)),
            Self::Function { mark, .. } => *mark = new,
        }
    }
}
