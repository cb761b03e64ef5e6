//! The pieces of a request, in its order, with those that were left out at their places.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_codec_kit::normalize::{HistoryRules, normalize};
use context_core::model::{TokenCount, TokenCounter, Tool, Unanswered};
use context_core::{Diagnostic, Message, MessageId, ModelRequest, Role};
use serde::Serialize;

use super::branch::Branch;
use super::reasons::{self, Removal};
use super::session::Prepared;
use super::shown_history::{CutRecord, Shown};

/// The kind of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PieceKind {
    /// A part of the system prompt.
    System,
    /// An instruction after the system prompt.
    Instructions,
    /// The tools and the answer format.
    Tools,
    /// A message that stands for earlier ones.
    Checkpoint,
    /// A message of the conversation.
    Message,
    /// Recalled memories.
    Recall,
    /// A message that stands in for others: the note of a gap, or one that the repair added.
    Placeholder,
}

/// The treatment of a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// It was sent as it is.
    Kept,
    /// It was sent in a shorter form.
    Shortened,
    /// It was not sent.
    LeftOut,
    /// A cut made it.
    Added,
    /// The repair changed or made it.
    Repaired,
    /// It was recalled from the memory.
    Recalled,
}

/// A piece of a request, or a message that was left out of it.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct RequestPiece {
    /// The kind.
    pub kind: PieceKind,
    /// The treatment.
    pub fate: Fate,
    /// The stored message. Of several, the oldest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The number of messages: 1, or more where old messages that were left out are one piece. 0
    /// for what is no message.
    pub messages: usize,
    /// The role of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// The position in the messages of the prepared request, if it was sent as a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// The policy that decided about it. `None` for what no policy touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// The request whose cut decided about it, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<usize>,
    /// A sentence that says what became of it and why.
    pub reason: String,
    /// The tokens that were sent. 0 if it was left out.
    pub tokens: TokenCount,
    /// The tokens of the original. 0 for a piece without one.
    pub before: TokenCount,
    /// Whether the provider should have it in its prompt cache.
    pub cached: bool,
    /// The message as it was prepared. `None` if it was left out or is no message.
    #[serde(skip)]
    pub sent: Option<Arc<Message>>,
    /// The stored message. `None` for what a cut or the repair made, and for a piece of several
    /// messages.
    #[serde(skip)]
    pub original: Option<Arc<Message>>,
    /// The text of a part of the system prompt, or the tools as text.
    #[serde(skip)]
    pub prompt: Option<String>,
}

impl RequestPiece {
    /// Returns the text as it was sent. Empty for what was left out.
    pub fn text(&self) -> Cow<'_, str> {
        match (&self.prompt, &self.sent) {
            (Some(prompt), _) => Cow::Borrowed(prompt),
            (None, Some(message)) => message.plain_text(),
            (None, None) => Cow::Borrowed(""),
        }
    }

    /// Returns the text of the stored message. Empty if there is none.
    pub fn original_text(&self) -> Cow<'_, str> {
        self.original.as_ref().map_or(Cow::Borrowed(""), |message| message.plain_text())
    }

    /// Whether it is part of the request.
    pub fn is_sent(&self) -> bool {
        self.fate != Fate::LeftOut
    }

    pub(super) fn new(kind: PieceKind, fate: Fate, tokens: TokenCount, reason: String) -> Self {
        Self {
            kind,
            fate,
            message: None,
            messages: 0,
            role: None,
            position: None,
            policy: None,
            request: None,
            reason,
            tokens,
            before: TokenCount::ZERO,
            cached: false,
            sent: None,
            original: None,
            prompt: None,
        }
    }
}

/// The messages of a request, each with its origin, and the repair.
pub(super) struct RepairedHistory {
    /// For each sent message the entry that it was made from, and whether it is that message.
    pub(super) origins: Vec<(usize, bool)>,
    /// The messages after the repair, before texts take the place of media.
    pub(super) messages: Vec<Arc<Message>>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl RepairedHistory {
    /// Repairs the history of a request as the runtime does.
    pub(super) fn of(entries: &[Shown]) -> Self {
        let given: Vec<_> = entries.iter().map(|shown| Arc::clone(&shown.message)).collect();
        let normal = normalize(&given, &HistoryRules::new(), Unanswered::Answer, false);
        let mut origins: Vec<(usize, bool)> =
            (0..normal.messages.len()).map(|at| (normal.origin(at), false)).collect();
        let mut at = 0;
        while at < origins.len() {
            // Of the messages that one became, the message itself is the one that is shared, or the
            // first of its role.
            let origin = origins[at].0;
            let end = (at..origins.len()).find(|next| origins[*next].0 != origin);
            let run = at..end.unwrap_or(origins.len());
            let own = given.get(origin);
            let shared =
                |at: &usize| own.is_some_and(|own| Arc::ptr_eq(own, &normal.messages[*at]));
            let of_role = |at: &usize| own.is_some_and(|own| own.role == normal.messages[*at].role);
            let itself = run.clone().find(shared).or_else(|| run.clone().find(of_role));
            if let Some(itself) = itself {
                origins[itself].1 = true;
            }
            at = run.end;
        }
        Self { origins, messages: normal.messages.to_vec(), diagnostics: normal.diagnostics }
    }
}

/// Returns tools and answer format as text: names, descriptions and schemas.
fn text_of_tools(request: &ModelRequest) -> String {
    let tools = request.tools.iter().map(|tool| match tool {
        Tool::Function(tool) => {
            let description = tool.description.as_deref().unwrap_or_default();
            format!("{}\n{description}\n{}", tool.name, tool.input_schema.as_str())
        }
        Tool::Opaque(block) => block.value.as_str().to_owned(),
        _ => String::new(),
    });
    let output = request.output.iter().map(|output| {
        let description = output.description.as_deref().unwrap_or_default();
        format!("{}\n{description}\n{}", output.name, output.schema.as_str())
    });
    tools.chain(output).collect::<Vec<_>>().join("\n\n")
}

/// The data of which pieces are made.
pub(super) struct PieceSource<'a> {
    pub(super) branch: &'a Branch,
    pub(super) prepared: &'a Prepared,
    pub(super) cuts: &'a [CutRecord],
    pub(super) base: Option<u32>,
    pub(super) counter: &'a dyn TokenCounter,
    /// The number of the system prompt's parts that are instructions.
    pub(super) instructions: usize,
    /// The number of left-out messages that are pieces of their own.
    pub(super) left_out: usize,
    pub(super) end: usize,
}

impl PieceSource<'_> {
    /// Returns the pieces.
    pub(super) fn pieces(&self, repaired: &RepairedHistory) -> Vec<RequestPiece> {
        let mut pieces = self.front();
        let request = &self.prepared.context.request;
        let mut left_out = self.left_out_messages(repaired).into_iter().peekable();
        let listed = left_out.len().saturating_sub(self.left_out);
        let mut index = 0;
        let mut flush = |before: Option<u32>, pieces: &mut Vec<RequestPiece>| {
            while let Some(removal) =
                left_out.next_if(|removal| before.is_none_or(|before| removal.position < before))
            {
                let is_old = index < listed;
                index += 1;
                self.add_left_out(&removal, is_old, pieces);
            }
        };
        for (at, (sent, (origin, is_itself))) in
            request.messages.iter().zip(&repaired.origins).enumerate()
        {
            let shown = self.prepared.entries.get(*origin).filter(|_| *is_itself);
            if let Some(position) = shown.and_then(|shown| shown.stored) {
                flush(Some(position), &mut pieces);
            }
            let mut piece = self.sent_piece(sent, &repaired.messages[at], shown);
            piece.position = Some(at);
            pieces.push(piece);
        }
        flush(None, &mut pieces);
        pieces
    }

    /// Returns the pieces before the messages.
    fn front(&self) -> Vec<RequestPiece> {
        let context = &self.prepared.context;
        let request = &context.request;
        let system = request.system.len().saturating_sub(self.instructions);
        let prompt = request.system.iter().enumerate().map(|(at, text)| {
            let kind = if at < system { PieceKind::System } else { PieceKind::Instructions };
            let tokens = self.counter.count(&text.text.to_cow());
            let mut piece =
                RequestPiece::new(kind, Fate::Kept, tokens, reasons::front(kind).to_owned());
            (piece.before, piece.prompt) = (tokens, Some(text.text.to_cow().into_owned()));
            piece
        });
        let mut pieces: Vec<RequestPiece> = prompt.collect();
        if !request.tools.is_empty() || request.output.is_some() {
            let tokens = context.breakdown.tools;
            let reason = reasons::tools(request.tools.len(), request.output.is_some());
            let mut piece = RequestPiece::new(PieceKind::Tools, Fate::Kept, tokens, reason);
            (piece.before, piece.prompt) = (tokens, Some(text_of_tools(request)));
            pieces.push(piece);
        }
        pieces
    }

    fn sent_piece(
        &self,
        sent: &Arc<Message>,
        repaired: &Arc<Message>,
        shown: Option<&Shown>,
    ) -> RequestPiece {
        let tokens = self.counter.count_shared(repaired);
        let kind = match () {
            () if sent.is_checkpoint() => PieceKind::Checkpoint,
            () if sent.is_gap() || shown.is_none() => PieceKind::Placeholder,
            () => PieceKind::Message,
        };
        let mut piece = RequestPiece::new(kind, Fate::Kept, tokens, String::new());
        (piece.messages, piece.role) = (1, Some(sent.role));
        piece.sent = Some(Arc::clone(sent));
        let Some(shown) = shown else {
            (piece.fate, piece.reason) = (Fate::Repaired, reasons::inserted(sent.role));
            return piece;
        };
        let cut = shown.cut.and_then(|cut| self.cuts.get(cut as usize)).map(|record| &record.cut);
        if let Some(cut) = cut {
            (piece.policy, piece.request) = (Some(cut.name().to_owned()), cut.request);
        }
        let node = shown.stored.and_then(|at| self.branch.chain.get(at as usize));
        piece.message = node.map(|node| node.id.clone());
        piece.original = node.and_then(|node| node.message().ok().cloned());
        piece.before = match &piece.original {
            Some(original) => self.counter.count_shared(original),
            None => TokenCount::ZERO,
        };
        let is_repaired = !Arc::ptr_eq(repaired, &shown.message) && *repaired != shown.message;
        let is_text = !Arc::ptr_eq(sent, repaired) && sent != repaired;
        (piece.fate, piece.reason) = match (&piece.original, cut) {
            (None, cut) => (Fate::Added, reasons::added(cut, &shown.message)),
            (Some(_), Some(cut)) => (Fate::Shortened, reasons::shortened(cut, &piece)),
            _ if is_repaired => (Fate::Repaired, reasons::repaired(&piece)),
            _ if is_text => (Fate::Shortened, reasons::MEDIA_AS_TEXT.to_owned()),
            _ => (Fate::Kept, reasons::kept(tokens)),
        };
        piece
    }

    /// Returns the messages of the branch that are not in the request, in order.
    fn left_out_messages(&self, repaired: &RepairedHistory) -> Vec<Removal<'_>> {
        let entries = &self.prepared.entries;
        let mut is_sent = vec![false; self.end];
        let mut unsent: HashSet<u32> = HashSet::new();
        let mut made = vec![false; entries.len()];
        for (origin, is_itself) in &repaired.origins {
            if let Some(made) = made.get_mut(*origin).filter(|_| *is_itself) {
                *made = true;
            }
        }
        for (shown, is_made) in entries.iter().zip(made) {
            let Some(stored) = shown.stored else { continue };
            if let Some(slot) = is_sent.get_mut(stored as usize) {
                *slot = true;
            }
            if !is_made {
                unsent.insert(stored);
            }
        }
        let mut by: HashMap<u32, u32> = HashMap::new();
        for (cut, record) in self.cuts.iter().enumerate() {
            let cut = u32::try_from(cut).unwrap_or(u32::MAX);
            by.extend(record.removed.iter().map(|position| (*position, cut)));
        }
        let mut left_out = Vec::new();
        for (position, node) in self.branch.chain.iter().take(self.end).enumerate() {
            let at = u32::try_from(position).unwrap_or(u32::MAX);
            let by_repair = unsent.contains(&at);
            if is_sent[position] && !by_repair || node.role().is_none() || node.is_placeholder() {
                continue;
            }
            let cut = by.get(&at).copied().or(self.base).filter(|_| !by_repair);
            let cut = cut.and_then(|cut| self.cuts.get(cut as usize)).map(|record| &record.cut);
            left_out.push(Removal { position: at, node, cut, by_repair });
        }
        left_out
    }

    /// Adds a left-out message. Old ones are counted roughly and together.
    fn add_left_out(&self, removal: &Removal<'_>, is_old: bool, pieces: &mut Vec<RequestPiece>) {
        let policy = removal.cut.map(|cut| cut.name().to_owned());
        let request = removal.cut.and_then(|cut| cut.request);
        let node = removal.node;
        if is_old {
            let weight = node.weight();
            let weight = TokenCount::estimate(weight, weight / 2, weight.saturating_mul(2));
            if let Some(last) = pieces.last_mut().filter(|last| {
                last.fate == Fate::LeftOut && last.policy == policy && last.request == request
            }) {
                last.messages += 1;
                last.before += weight;
                last.reason = reasons::left_out(removal, last.messages, last.before);
                (last.original, last.role) = (None, None);
                return;
            }
            let reason = reasons::left_out(removal, 1, weight);
            let mut piece =
                RequestPiece::new(PieceKind::Message, Fate::LeftOut, TokenCount::ZERO, reason);
            (piece.message, piece.role) = (Some(node.id.clone()), node.role());
            (piece.messages, piece.before) = (1, weight);
            (piece.policy, piece.request) = (policy, request);
            pieces.push(piece);
            return;
        }
        let original = node.message().ok().cloned();
        let before = original.as_ref().map(|message| self.counter.count_shared(message));
        let before = before.unwrap_or_default();
        let reason = reasons::left_out(removal, 1, before);
        let mut piece =
            RequestPiece::new(PieceKind::Message, Fate::LeftOut, TokenCount::ZERO, reason);
        if original.as_ref().is_some_and(|message| message.is_checkpoint()) {
            piece.kind = PieceKind::Checkpoint;
        }
        (piece.message, piece.role) = (Some(node.id.clone()), node.role());
        (piece.messages, piece.before, piece.original) = (1, before, original);
        (piece.policy, piece.request) = (policy, request);
        pieces.push(piece);
    }
}
