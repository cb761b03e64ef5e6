//! The frozen system prompt: the one that was sent first stays, and what changes since is told
//! behind the history, so that the provider's prompt cache stays valid.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

use context_core::base::FragmentId;
use context_core::store::ChatPatch;
use context_core::{CancelSignal, Json, Message, MessageId, Metadata, Node, Result, Role};
use context_instructions::{Reminder, ReminderTarget, reminder};
use serde::{Deserialize, Serialize};

use super::ContextEngine;
use super::loads::Purpose;
use super::prompt::{Prompt, PromptPiece, SystemPrompt};

/// The metadata key of a chat under which its frozen prompt is stored, and the id of the reminders
/// that tell the changes.
const KEY: &str = "standing_prompt";
/// The most bytes of a piece that are quoted when it no longer holds.
const QUOTED: usize = 200;

/// What is known of the frozen prompt of a chat.
#[derive(Debug, Default)]
pub(super) struct StandingPrompt {
    kept: Option<FrozenPrompt>,
    /// Whether the store has what is kept.
    is_stored: bool,
}

/// A prompt that was sent, and the changes that were told since.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FrozenPrompt {
    text: SystemPrompt,
    /// The hash of the text. A text that a store layer changed is not the one that was sent.
    hash: String,
    pieces: Vec<ToldPiece>,
    /// The newest boundary when it was sent. After another one the prompt is sent in full again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boundary: Option<MessageId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    updates: Vec<PromptUpdate>,
}

/// A piece of a prompt that a model was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ToldPiece {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<FragmentId>,
    hash: String,
    /// The beginning of its text.
    beginning: String,
}

/// Changes that a message of the chat tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PromptUpdate {
    message: MessageId,
    /// The hashes of the pieces that no longer hold.
    gone: Vec<String>,
    new: Vec<ToldPiece>,
}

impl ToldPiece {
    fn of(piece: &PromptPiece<'_>) -> Self {
        let beginning = &piece.text[..piece.text.floor_char_boundary(QUOTED)];
        Self {
            name: piece.name.to_owned(),
            id: piece.id.cloned(),
            hash: hash(piece.text),
            beginning: beginning.to_owned(),
        }
    }
}

impl FrozenPrompt {
    fn new(text: SystemPrompt, pieces: &[PromptPiece<'_>], boundary: Option<&MessageId>) -> Self {
        Self {
            hash: hash(&text),
            text,
            pieces: pieces.iter().map(ToldPiece::of).collect(),
            boundary: boundary.cloned(),
            updates: Vec::new(),
        }
    }

    /// Returns the pieces that a model knows of which is shown the messages for which this holds.
    fn told(&self, is_shown: impl Fn(&MessageId) -> bool) -> Vec<ToldPiece> {
        let mut told = self.pieces.clone();
        for update in self.updates.iter().filter(|update| is_shown(&update.message)) {
            for gone in &update.gone {
                if let Some(at) = told.iter().position(|piece| piece.hash == *gone) {
                    told.remove(at);
                }
            }
            told.extend(update.new.iter().cloned());
        }
        told
    }
}

/// The differences between what a model was told and what holds.
struct Difference<'p> {
    new: Vec<&'p PromptPiece<'p>>,
    gone: Vec<ToldPiece>,
}

impl<'p> Difference<'p> {
    fn between(told: Vec<ToldPiece>, pieces: &'p [PromptPiece<'p>]) -> Self {
        let mut known: HashMap<String, Vec<ToldPiece>> = HashMap::new();
        told.into_iter().for_each(|told| known.entry(told.hash.clone()).or_default().push(told));
        let is_new = |piece: &&PromptPiece<'_>| {
            known.get_mut(&hash(piece.text)).is_none_or(|same| same.pop().is_none())
        };
        let new = pieces.iter().filter(is_new).collect();
        Self { new, gone: known.into_values().flatten().collect() }
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty()
    }

    /// Returns the text that tells the differences.
    fn text(&self) -> String {
        let mut text =
            String::from("The instructions at the beginning of this conversation have changed.\n");
        let mut gone: Vec<_> = self.gone.iter().collect();
        gone.sort_by(|a, b| (&a.name, &a.beginning).cmp(&(&b.name, &b.beginning)));
        let gone = gone.into_iter().map(|gone| gone.beginning.as_str());
        section(&mut text, "These parts no longer hold:", gone);
        let new = self.new.iter().map(|new| new.text);
        section(&mut text, "These parts hold from now on:", new);
        text
    }
}

/// Adds parts under a title, if there are any.
fn section<'t>(text: &mut String, title: &str, parts: impl Iterator<Item = &'t str>) {
    let mut parts = parts.peekable();
    if parts.peek().is_some() {
        let _ = writeln!(text, "\n{title}");
    }
    parts.for_each(|part| {
        let _ = write!(text, "\n{}\n", part.trim_end());
    });
}

impl StandingPrompt {
    /// Reads what a chat's metadata has. A form that cannot be read counts as none.
    pub(super) fn read(metadata: &Metadata) -> Self {
        let kept = metadata.get(KEY).and_then(|stored| stored.parse::<FrozenPrompt>().ok());
        let kept = kept.filter(|kept| hash(&kept.text) == kept.hash);
        Self { is_stored: kept.is_some(), kept }
    }

    /// Returns the frozen prompt, if the model is told everything else that holds.
    pub(super) fn frozen(
        &self,
        current: &SystemPrompt,
        pieces: &[PromptPiece<'_>],
        boundary: Option<&MessageId>,
        is_shown: impl Fn(&MessageId) -> bool,
    ) -> Option<&SystemPrompt> {
        let kept = self.kept.as_ref().filter(|kept| kept.boundary.as_ref() == boundary)?;
        let is_same = kept.text == *current && kept.updates.is_empty();
        let is_told = || Difference::between(kept.told(is_shown), pieces).is_empty();
        (is_same || is_told()).then_some(&kept.text)
    }

    /// Returns the prompt to send: the frozen one, or else the current one, which is frozen from
    /// now on.
    pub(super) fn resolve(
        &mut self,
        current: SystemPrompt,
        pieces: &[PromptPiece<'_>],
        boundary: Option<&MessageId>,
        is_shown: impl Fn(&MessageId) -> bool,
    ) -> SystemPrompt {
        if let Some(frozen) = self.frozen(&current, pieces, boundary, is_shown) {
            return frozen.clone();
        }
        self.kept = Some(FrozenPrompt::new(current.clone(), pieces, boundary));
        self.is_stored = false;
        current
    }

    /// Returns what a model has to be told of, unless the prompt is to be sent in full again.
    fn update(
        &self,
        pieces: &[PromptPiece<'_>],
        boundary: Option<&MessageId>,
        is_shown: impl Fn(&MessageId) -> bool,
    ) -> Option<(String, Vec<String>, Vec<ToldPiece>)> {
        let kept = self.kept.as_ref().filter(|kept| kept.boundary.as_ref() == boundary)?;
        let difference = Difference::between(kept.told(is_shown), pieces);
        let text = difference.text();
        if difference.is_empty() || text.len() > kept.text.len() / 2 {
            return None;
        }
        let new = difference.new.into_iter().map(ToldPiece::of).collect();
        Some((text, difference.gone.into_iter().map(|gone| gone.hash).collect(), new))
    }
}

/// A change of the prompt that a save tells.
pub(super) struct PromptAddition {
    pub(super) reminder: Reminder,
    gone: Vec<String>,
    new: Vec<ToldPiece>,
}

impl ContextEngine {
    /// Returns the id of the newest boundary, an undo or a pending one included.
    pub(super) fn newest_boundary(&self) -> Option<MessageId> {
        let stored = || {
            let view = self.view.as_ref()?;
            let (position, _) = view.boundaries().next_back()?;
            view.chain().get(position).map(|node| node.id.clone())
        };
        self.compaction.as_ref().map(|pending| pending.id.clone()).or_else(stored)
    }

    /// Returns what these new messages have to tell of the prompt, if it is frozen.
    pub(super) async fn prompt_addition(
        &mut self,
        nodes: &[Arc<Node>],
    ) -> Result<Option<PromptAddition>> {
        let has_kept = self.standing.as_ref().is_some_and(|standing| standing.kept.is_some());
        let Some(target) = target(nodes).filter(|_| has_kept) else { return Ok(None) };
        self.load_fragments(Purpose::Show, &CancelSignal::never()).await?;
        Prompt::prepare(&mut self.fragments, &*self.parts.renderer)?;
        let boundary = self.newest_boundary();
        let (Some(standing), Some(view)) = (&self.standing, &mut self.view) else {
            return Ok(None);
        };
        let pieces: Vec<_> = Prompt::pieces(&self.fragments).collect();
        let known: HashSet<_> = standing
            .kept
            .iter()
            .flat_map(|kept| &kept.updates)
            .filter(|update| view.position(&update.message).is_some())
            .map(|update| update.message.clone())
            .collect();
        let update = standing.update(&pieces, boundary.as_ref(), |message| known.contains(message));
        let Some((text, gone, new)) = update else { return Ok(None) };
        let built = reminder(text).id(KEY).target(target).as_part().build();
        Ok(built.ok().map(|reminder| PromptAddition { reminder, gone, new }))
    }

    /// Records that a message tells an addition.
    pub(super) fn prompt_told(&mut self, message: MessageId, addition: PromptAddition) {
        let Some(standing) = &mut self.standing else { return };
        if let Some(kept) = &mut standing.kept {
            let PromptAddition { gone, new, .. } = addition;
            kept.updates.push(PromptUpdate { message, gone, new });
            standing.is_stored = false;
        }
    }

    /// Stores the frozen prompt for the next process. A failure costs that process the provider's
    /// cache, and is no reason to refuse a save that has taken place; the next save tries again.
    pub(super) async fn store_prompt(&mut self) {
        let Some(standing) = self.standing.as_ref().filter(|standing| !standing.is_stored) else {
            return;
        };
        let Some(Ok(json)) = standing.kept.as_ref().map(Json::from_serialize) else { return };
        let set = Metadata::default().with(KEY, json);
        let patch = ChatPatch { set, ..ChatPatch::default() };
        let now = self.parts.clock.now();
        match self.parts.store.history().update_chat(&self.chat, &patch, now).await {
            Ok(_) => {
                if let Some(standing) = &mut self.standing {
                    standing.is_stored = true;
                }
            }
            Err(error) => tracing::warn!(%error, "the frozen prompt was not stored"),
        }
    }
}

/// Returns the message among new ones that an addition belongs to: the user's, or a result.
fn target(nodes: &[Arc<Node>]) -> Option<ReminderTarget> {
    let messages = || nodes.iter().rev().filter_map(|node| node.message().ok());
    if messages().any(|message| message.is_request()) {
        return Some(ReminderTarget::User);
    }
    let is_result = |message: &Arc<Message>| message.role == Role::Tool;
    messages().any(is_result).then_some(ReminderTarget::ToolOutput)
}

fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..16].to_owned()
}
