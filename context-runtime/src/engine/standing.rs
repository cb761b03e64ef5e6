//! The frozen system prompt: the one that was sent first stays, and what changes since is told
//! behind the history, so that the provider's prompt cache stays valid.
//!
//! A note on a change is a reminder in a message. What it tells is in the reminder's id, so what a
//! model was told is read off the messages that it is shown, and nothing else has to be kept.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use context_core::base::FragmentId;
use context_core::store::ChatPatch;
use context_core::{Chain, Json, Message, MessageId, Metadata, Node, Role};
use context_instructions::{Reminder, ReminderTarget, reminder, reminder_ids};
use serde::{Deserialize, Serialize};

use super::ContextEngine;
use super::context::ContextFragments;
use super::prompt::{Prompt, PromptPiece, SystemPrompt};
use super::view::View;

/// The metadata key of a chat under which its frozen prompt is stored.
const KEY: &str = "standing_prompt";
/// The beginning of the ids of the reminders that tell changes.
const NOTE: &str = "standing_prompt:";
/// The most bytes of a piece that are quoted when it no longer holds.
const QUOTED: usize = 200;
/// The largest record that is stored, in bytes. Listings of chats contain it.
const MOST_STORED: usize = 64 << 10;

/// The frozen prompt of a chat, as far as it is known.
#[derive(Debug, Default)]
pub(super) struct StandingPrompt {
    kept: Option<FrozenPrompt>,
    /// Whether the store has what is kept.
    is_stored: bool,
}

/// A prompt that was sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct FrozenPrompt {
    state: State,
    text: SystemPrompt,
    pieces: Vec<ToldPiece>,
    /// Whether the text says that notes on earlier states no longer hold.
    supersedes: bool,
    /// The newest boundary when it was sent. After another one the prompt is sent in full again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boundary: Option<MessageId>,
}

/// Tells a prompt that was sent from those before it, and from those of other writers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    number: u64,
    hash: String,
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

/// The changes that a message tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PromptNote {
    /// The prompt that has changed.
    of: State,
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

impl PromptNote {
    /// Returns the notes in messages, in their order.
    fn in_messages(shown: &Chain) -> Vec<Self> {
        let messages = shown.iter().filter_map(|node| node.message().ok());
        let ids = messages.flat_map(|message| reminder_ids(message));
        ids.filter_map(|id| serde_json::from_str(id.strip_prefix(NOTE)?).ok()).collect()
    }
}

impl FrozenPrompt {
    /// Freezes a prompt that follows another one. `notes` are those that the model is shown.
    fn new(
        current: &SystemPrompt,
        pieces: &[PromptPiece<'_>],
        boundary: Option<MessageId>,
        before: Option<&Self>,
        notes: &[PromptNote],
    ) -> Self {
        let known = before.map(|kept| kept.state.number);
        let known = known.into_iter().chain(notes.iter().map(|note| note.of.number));
        let number = known.max().unwrap_or(0).saturating_add(1);
        let supersedes = !notes.is_empty();
        let text = match supersedes {
            false => current.clone(),
            true => SystemPrompt::from(format!(
                "{}\n\nThese instructions are state {number}. Notes in the conversation on changes of an earlier \
                 state no longer hold.",
                &**current
            )),
        };
        let state = State { number, hash: hash(&text) };
        let pieces = pieces.iter().map(ToldPiece::of).collect();
        Self { state, text, pieces, supersedes, boundary }
    }

    /// Returns the pieces that a model knows of which is shown these notes. `None` if it is also
    /// shown notes on another state, and not told that they no longer hold.
    fn told(&self, notes: &[PromptNote]) -> Option<Vec<ToldPiece>> {
        let mut told = self.pieces.clone();
        for note in notes {
            if note.of != self.state {
                if self.supersedes && note.of.number < self.state.number {
                    continue;
                }
                return None;
            }
            for gone in &note.gone {
                if let Some(at) = told.iter().position(|piece| piece.hash == *gone) {
                    told.remove(at);
                }
            }
            told.extend(note.new.iter().cloned());
        }
        Some(told)
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
        let mut gone: Vec<_> = known.into_values().flatten().collect();
        gone.sort_by(|a, b| (&a.name, &a.beginning).cmp(&(&b.name, &b.beginning)));
        Self { new, gone }
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.gone.is_empty()
    }

    /// Returns the text that tells the differences.
    fn text(&self, of: &State) -> String {
        let mut text = format!(
            "The instructions at the beginning of this conversation (state {}) have changed.\n",
            of.number
        );
        let gone = self.gone.iter().map(|gone| gone.beginning.as_str());
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
    /// Reads what a chat's metadata has. A form that cannot be read counts as none, and so does a
    /// text that a store layer changed.
    pub(super) fn read(metadata: &Metadata) -> Self {
        let kept = metadata.get(KEY).and_then(|stored| stored.parse::<FrozenPrompt>().ok());
        let kept = kept.filter(|kept| hash(&kept.text) == kept.state.hash);
        Self { is_stored: kept.is_some(), kept }
    }

    /// Returns the frozen prompt and what differs from it, if it is of this boundary and no other
    /// notes contradict it.
    fn compare<'p>(
        &self,
        pieces: &'p [PromptPiece<'p>],
        boundary: Option<&MessageId>,
        notes: &[PromptNote],
    ) -> Option<(&FrozenPrompt, Difference<'p>)> {
        let kept = self.kept.as_ref().filter(|kept| kept.boundary.as_ref() == boundary)?;
        Some((kept, Difference::between(kept.told(notes)?, pieces)))
    }
}

impl ContextEngine {
    /// Returns the prompt to send with these messages: the frozen one if they tell everything else
    /// that holds, or else the current one, which is frozen from now on.
    pub(super) fn freeze_prompt(&mut self, current: SystemPrompt, shown: &Chain) -> SystemPrompt {
        if self.standing.is_none() {
            return current;
        }
        if let Some(frozen) = self.frozen_prompt(shown) {
            return frozen;
        }
        let boundary = self.newest_boundary();
        let Some(standing) = &mut self.standing else { return current };
        let pieces: Vec<_> = Prompt::pieces(&self.fragments).collect();
        let (before, notes) = (standing.kept.as_ref(), PromptNote::in_messages(shown));
        let frozen = FrozenPrompt::new(&current, &pieces, boundary, before, &notes);
        let text = frozen.text.clone();
        *standing = StandingPrompt { kept: Some(frozen), is_stored: false };
        text
    }

    /// Returns the frozen prompt, if these messages tell everything else that holds.
    pub(super) fn frozen_prompt(&mut self, shown: &Chain) -> Option<SystemPrompt> {
        self.standing.as_ref()?.kept.as_ref()?;
        Prompt::prepare(&mut self.fragments, &*self.parts.renderer).ok()?;
        let pieces: Vec<_> = Prompt::pieces(&self.fragments).collect();
        let (boundary, notes) = (self.newest_boundary(), PromptNote::in_messages(shown));
        let standing = self.standing.as_ref()?;
        let (kept, difference) = standing.compare(&pieces, boundary.as_ref(), &notes)?;
        difference.is_empty().then(|| kept.text.clone())
    }

    /// Returns the note on the prompt that these new messages have to carry. `None` if nothing has
    /// changed, or if the prompt is to be sent in full again. Data that are loaded for a prompt
    /// count as they were loaded last.
    pub(super) fn prompt_note(&mut self, nodes: &[Arc<Node>]) -> Option<Reminder> {
        self.standing.as_ref()?.kept.as_ref()?;
        let target = target(nodes)?;
        if has_unloaded(&self.fragments) {
            return None;
        }
        Prompt::prepare(&mut self.fragments, &*self.parts.renderer).ok()?;
        let boundary = self.newest_boundary();
        let shown = self.view.as_mut().map(View::shown)?;
        let notes = PromptNote::in_messages(shown);
        let pieces: Vec<_> = Prompt::pieces(&self.fragments).collect();
        let standing = self.standing.as_ref()?;
        let (kept, difference) = standing.compare(&pieces, boundary.as_ref(), &notes)?;
        let text = difference.text(&kept.state);
        if difference.is_empty() || text.len() > kept.text.len() / 2 {
            return None;
        }
        let Difference { new, gone } = difference;
        let new = new.into_iter().map(ToldPiece::of).collect();
        let gone = gone.into_iter().map(|gone| gone.hash).collect();
        let note = PromptNote { of: kept.state.clone(), gone, new };
        let id = format!("{NOTE}{}", serde_json::to_string(&note).ok()?);
        reminder(text).id(id).target(target).as_part().build().ok()
    }

    /// Returns the id of the newest boundary, an undo or a pending one included.
    fn newest_boundary(&self) -> Option<MessageId> {
        let stored = || {
            let view = self.view.as_ref()?;
            let (position, _) = view.boundaries().next_back()?;
            view.chain().get(position).map(|node| node.id.clone())
        };
        self.compaction.as_ref().map(|pending| pending.id.clone()).or_else(stored)
    }

    /// Stores the frozen prompt for the next process. A failure costs that process the provider's
    /// cache, and is no reason to refuse a save that has taken place; the next save tries again.
    pub(super) async fn store_prompt(&mut self) {
        let Some(standing) = self.standing.as_ref().filter(|standing| !standing.is_stored) else {
            return;
        };
        let Some(Ok(json)) = standing.kept.as_ref().map(Json::from_serialize) else { return };
        if json.as_str().len() <= MOST_STORED {
            let set = Metadata::default().with(KEY, json);
            let patch = ChatPatch { set, ..ChatPatch::default() };
            let now = self.parts.clock.now();
            let history = self.parts.store.history();
            if let Err(error) = history.update_chat(&self.chat, &patch, now).await {
                tracing::warn!(%error, "the frozen prompt was not stored");
                return;
            }
        }
        if let Some(standing) = &mut self.standing {
            standing.is_stored = true;
        }
    }
}

/// Whether the data of a fragment were never loaded, so that its text is not known.
fn has_unloaded(fragments: &ContextFragments) -> bool {
    fragments.slots().iter().any(|slot| slot.is_rendered() && slot.rendered().is_none())
}

/// Returns the message among new ones that a note belongs to: the user's, or a result.
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
