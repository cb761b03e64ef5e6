//! `inspect`: everything that an engine holds and would send, in one value.

use std::collections::HashSet;
use std::fmt::{self, Display};
use std::sync::Arc;

use context_core::base::FragmentId;
use context_core::fragment::FragmentContent;
use context_core::history::Boundary;
use context_core::store::{Branch, Chat, Checkpoint};
use context_core::{BranchName, CancelSignal, Diagnostic, MessageId, Node, Result, Role};
use serde::Serialize;

use super::ContextEngine;
use super::context::Slot;
use super::loads::Purpose;
use super::pending::Settle;
use super::prompt::SystemPrompt;
use super::resolve::refuse;
use crate::display::{clean, clean_lines, count, node_preview, preview, short_id};

/// The content of an engine, and the prompt that it would send. Made by
/// [`ContextEngine::inspect`].
///
/// The JSON form is for programs and logs, `Display` for people. Both contain content.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The chat as it is stored.
    pub chat: Chat,
    /// The branch that the engine is on.
    pub branch: BranchName,
    /// The newest stored message or boundary of the branch.
    pub head: Option<MessageId>,
    /// The number of stored messages of the branch.
    pub stored_messages: usize,
    /// The number of user messages of the branch, stored and pending, as
    /// [`turn_count`](ContextEngine::turn_count) returns it.
    pub turns: usize,
    /// The context fragments, in the order of the prompt.
    pub fragments: Vec<InspectedFragment>,
    /// The prompt that a resolve would return.
    pub system_prompt: SystemPrompt,
    /// The messages that a resolve would return.
    pub messages: Vec<InspectedMessage>,
    /// The messages that are set and not saved, as they were set.
    pub pending: Vec<InspectedMessage>,
    /// The reminders, in the order they were added.
    pub reminders: Vec<InspectedReminder>,
    /// The compactions in force, oldest first.
    pub boundaries: Vec<Boundary>,
    /// The branches, in the order they were created.
    pub branches: Vec<Branch>,
    /// The checkpoints, by name.
    pub checkpoints: Vec<Checkpoint>,
    /// Content that a resolve would leave out, with reasons.
    pub diagnostics: Vec<Diagnostic>,
}

/// A context fragment of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InspectedFragment {
    /// The name.
    pub name: String,
    /// The id, if it has one.
    pub id: Option<FragmentId>,
    /// The kind of its stored form. `None` for a fragment without a codec of its own.
    pub kind: Option<String>,
    /// Whether it is persisted with the chat.
    pub persisted: bool,
    /// Whether the next save stores it.
    pub unsaved: bool,
    /// Whether any of its data is loaded when a prompt is made.
    pub lazy: bool,
    /// Whether its content is marked as untrusted.
    pub untrusted: bool,
}

/// A message of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InspectedMessage {
    /// The id.
    pub id: MessageId,
    /// The role of its author.
    pub role: Role,
    /// The beginning of its content, on one line.
    pub preview: String,
    /// Whether its content is not saved: it is new, edits a stored message, or is transient.
    pub pending: bool,
    /// Whether no save stores it.
    pub transient: bool,
}

/// A reminder of an [`Inspection`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct InspectedReminder {
    /// The text. `None` if the text is made when the reminder fires.
    pub text: Option<String>,
    /// The name of the place that it is folded into.
    pub target: &'static str,
    /// Whether a save now would fold it into the pending messages.
    pub due: bool,
}

impl ContextEngine {
    /// Returns what the engine holds and would send, for a debugger, a log or a bug report.
    ///
    /// Writes nothing, and changes nothing that a later resolve or save reports. Lazy data is
    /// loaded as a resolve loads it. The store is read several times, so another writer may change
    /// the chat in between. Fails as [`resolve`](Self::resolve) does. Use it to see whole messages,
    /// and `estimate` for the tokens of each part.
    ///
    /// ```
    /// use context_runtime::{ContextEngine, hint, role, user};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> context_runtime::Result<()> {
    /// let store = context_runtime::open("mem:").await?;
    /// let mut chat = ContextEngine::builder(store).user("ada").chat("lisbon").open().await?;
    /// chat.set([role("You book trips."), hint("Prices are in EUR.").persisted(), user("Two tickets.")]);
    ///
    /// let inspection = chat.inspect().await?;
    /// assert_eq!(inspection.fragments[1].name, "hint");
    /// assert!(inspection.fragments[1].unsaved && inspection.messages[0].pending);
    /// println!("{inspection}"); // for people; `Serialize` is for programs
    /// # Ok(())
    /// # }
    /// ```
    pub async fn inspect(&mut self) -> Result<Inspection> {
        let mut diagnostics = self.opened_with.clone();
        diagnostics.extend_from_slice(&self.left_out);
        diagnostics.extend(self.load_fragments(Purpose::Show, &CancelSignal::never()).await?);
        let shown = self.shown_messages().await?;
        let boundaries = self.boundaries().await?;
        let turns = self.turn_count().await?;
        let reminders = self.inspect_reminders()?;
        let system_prompt = self.prompt.peek(&self.fragments, &*self.parts.renderer)?;
        let system_prompt = self.frozen_prompt(&shown).unwrap_or(system_prompt);
        let view = self.view.as_ref().expect("just read");
        diagnostics.extend(view.unreadable());
        let settled = self.pending.settle(view, Settle::Shown).map_err(refuse)?;
        let pending = self.pending.nodes();
        let unsaved = settled.nodes.iter().chain(&settled.replacement).chain(&pending);
        let unsaved: HashSet<_> = unsaved.map(|node| &node.id).collect();
        let transient: HashSet<_> = self.pending.transient_ids().collect();
        let inspected = |node: &Arc<Node>| {
            Some(InspectedMessage {
                id: node.id.clone(),
                role: node.role()?,
                preview: node_preview(node),
                pending: unsaved.contains(&node.id),
                transient: transient.contains(&node.id),
            })
        };
        let history = self.parts.history();
        Ok(Inspection {
            chat: self.chat().await?,
            branch: self.branch.clone(),
            head: view.head().cloned(),
            stored_messages: view.chain().iter().filter(|node| node.role().is_some()).count(),
            turns,
            fragments: self.fragments.slots().iter().map(inspected_fragment).collect(),
            system_prompt,
            messages: shown.iter().filter_map(inspected).collect(),
            pending: pending.iter().filter_map(inspected).collect(),
            reminders,
            boundaries,
            branches: history.branches(&self.chat).await?,
            checkpoints: history.checkpoints(&self.chat).await?,
            diagnostics,
        })
    }
}

fn inspected_fragment(slot: &Slot) -> InspectedFragment {
    let fragment = slot.fragment();
    let kind = match fragment.content() {
        FragmentContent::Unknown(body) => Some(body.kind()),
        _ => fragment.codec(),
    };
    InspectedFragment {
        name: fragment.name().to_owned(),
        id: fragment.id().cloned(),
        kind: kind.map(String::from),
        persisted: fragment.is_persisted(),
        unsaved: slot.is_to_store(),
        lazy: slot.is_lazy(),
        untrusted: fragment.is_untrusted(),
    }
}

impl Display for Inspection {
    /// Writes a section for each part that is not empty. Names and content are
    /// [cleaned](crate::display::clean).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let chat = &self.chat.chat;
        writeln!(f, "chat {} of {}", clean(chat.chat.as_str()), clean(chat.user.as_str()))?;
        let stored = count(self.stored_messages, "stored message");
        let turns = count(self.turns, "turn");
        writeln!(f, "on {}: {stored}, {turns}", clean(self.branch.as_str()))?;
        section(f, "fragments", &self.fragments)?;
        section(f, "system prompt", clean_lines(&self.system_prompt).lines())?;
        section(f, "messages", &self.messages)?;
        section(f, "pending", &self.pending)?;
        section(f, "reminders", &self.reminders)?;
        let boundaries = self.boundaries.iter();
        let left = |cut: &Boundary| count(cut.retained_messages, "message");
        let boundaries = boundaries.map(|cut| format!("{}: {} left", cut.kind.as_str(), left(cut)));
        section(f, "compactions", boundaries)?;
        let branches = self.branches.iter().map(|branch| {
            let star = if branch.active { "*" } else { "" };
            let head = branch.head.as_ref().map(short_id).unwrap_or_default();
            format!("{}{star} {head}", clean(branch.name.as_str()))
        });
        section(f, "branches", branches)?;
        let checkpoints = self.checkpoints.iter();
        let checkpoints = checkpoints
            .map(|one| format!("{} {}", clean(one.name.as_str()), short_id(&one.message)));
        section(f, "checkpoints", checkpoints)?;
        section(f, "diagnostics", &self.diagnostics)
    }
}

/// Writes lines under a title, or nothing if there are none.
fn section(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    lines: impl IntoIterator<Item = impl Display>,
) -> fmt::Result {
    for (at, line) in lines.into_iter().enumerate() {
        if at == 0 {
            writeln!(f, "{title}:")?;
        }
        writeln!(f, "{}", format_args!("  {line}").to_string().trim_end())?;
    }
    Ok(())
}

/// Writes the words whose condition holds, in brackets.
fn notes<const N: usize>(f: &mut fmt::Formatter<'_>, notes: [(bool, &str); N]) -> fmt::Result {
    let notes: Vec<_> = notes.into_iter().filter_map(|(holds, it)| holds.then_some(it)).collect();
    if notes.is_empty() { Ok(()) } else { write!(f, " ({})", notes.join(", ")) }
}

impl Display for InspectedFragment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&clean(&self.name))?;
        if let Some(id) = &self.id {
            write!(f, " {}", clean(id.as_str()))?;
        }
        notes(
            f,
            [
                (self.persisted, "persisted"),
                (self.unsaved, "unsaved"),
                (self.lazy, "lazy"),
                (self.untrusted, "untrusted"),
            ],
        )
    }
}

impl Display for InspectedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}  {}", short_id(&self.id), self.role, self.preview)?;
        notes(f, [(self.pending && !self.transient, "pending"), (self.transient, "transient")])
    }
}

impl Display for InspectedReminder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.as_ref().map_or("(made when it fires)".into(), |it| preview(it, 72));
        write!(f, "{}  {text}", self.target)?;
        notes(f, [(self.due, "due")])
    }
}
