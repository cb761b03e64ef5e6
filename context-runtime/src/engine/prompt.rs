//! The system prompt, assembled from cached pieces.
//!
//! A piece is rendered again only when its fragment, or its form among the other fragments, has
//! changed. Renderers keep no state. The cached pieces are stored here, with the fragments.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use context_core::base::FragmentId;
use context_core::fragment::{Arrangement, Piece, Pieces, RenderError};
use context_core::{Fragment, Renderer};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::context::{CachedPiece, ContextFragments, Slot};

/// The text of a system prompt. Clones share it.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct SystemPrompt(Arc<String>);

impl Deref for SystemPrompt {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for SystemPrompt {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PartialEq<str> for SystemPrompt {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl PartialEq<&str> for SystemPrompt {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl PartialEq<String> for SystemPrompt {
    fn eq(&self, other: &String) -> bool {
        **self == **other
    }
}

impl From<String> for SystemPrompt {
    fn from(text: String) -> Self {
        Self(Arc::new(text))
    }
}

impl From<SystemPrompt> for String {
    /// Copies the text if it is shared.
    fn from(prompt: SystemPrompt) -> Self {
        Arc::unwrap_or_clone(prompt.0)
    }
}

impl fmt::Display for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl fmt::Debug for SystemPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<'de> Deserialize<'de> for SystemPrompt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(Arc::new(text)))
    }
}

impl Serialize for SystemPrompt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// The kind of change of a fragment between two prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// The fragment is new.
    Added,
    /// The fragment has other content in the same place.
    Changed,
    /// The fragment is no longer in the prompt.
    Removed,
}

/// A fragment that differs from the previous prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentChange {
    /// The fragment's name.
    pub name: Arc<str>,
    /// The id, if the fragment has one.
    pub id: Option<FragmentId>,
    /// The kind of change.
    pub kind: ChangeKind,
}

/// The differences from the previous prompt of this engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptChanges {
    /// The changed fragments: removed ones first, then the others in their order. In the first
    /// prompt of an engine all fragments are added.
    pub fragments: Vec<FragmentChange>,
    /// The number of unchanged bytes at the beginning of the prompt, which a provider's prompt
    /// cache can keep.
    pub unchanged_prefix: usize,
}

impl PromptChanges {
    /// Whether the prompt has the same fragments with the same content.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }
}

/// The part of a system prompt that comes from one fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptPiece<'a> {
    /// The fragment's name.
    pub name: &'a str,
    /// Its id, if it has one.
    pub id: Option<&'a FragmentId>,
    /// The rendered text of the fragment.
    pub text: &'a str,
}

/// The prompt that was resolved last.
#[derive(Default)]
pub(super) struct Prompt {
    text: SystemPrompt,
    /// The change count of the fragments that the text was rendered from. `None` if another
    /// renderer than the engine's own was used.
    changes: Option<u64>,
    /// The text before its pieces and the separator between them.
    frame: (String, String),
}

impl Prompt {
    /// Renders the prompt with the engine's own renderer. Unchanged fragments are not rendered
    /// again.
    pub(super) fn update(
        &mut self,
        fragments: &mut ContextFragments,
        renderer: &dyn Renderer,
    ) -> Result<(SystemPrompt, PromptChanges), RenderError> {
        let change_count = fragments.changes();
        if self.changes == Some(change_count) {
            let changes =
                PromptChanges { unchanged_prefix: self.text.len(), ..PromptChanges::default() };
            return Ok((self.text.clone(), changes));
        }
        let arrangement = render_changed(fragments, renderer)?;
        let (text, same) = self.assemble(fragments, &arrangement);
        let changes = self.replace(fragments, text, same);
        self.frame = (arrangement.head().to_owned(), arrangement.separator().to_owned());
        self.changes = Some(change_count);
        Ok((self.text.clone(), changes))
    }

    /// Renders the prompt with another renderer. No pieces are kept.
    pub(super) fn render(
        &mut self,
        fragments: &mut ContextFragments,
        renderer: &dyn Renderer,
    ) -> Result<(SystemPrompt, PromptChanges), RenderError> {
        let text = rendered(fragments, renderer)?;
        let changes = self.replace(fragments, text, 0);
        self.changes = None;
        Ok((self.text.clone(), changes))
    }

    /// Returns the prompt as [`update`](Self::update) would, and keeps nothing of it.
    pub(super) fn peek(
        &self,
        fragments: &ContextFragments,
        renderer: &dyn Renderer,
    ) -> Result<SystemPrompt, RenderError> {
        match self.changes == Some(fragments.changes()) {
            true => Ok(self.text.clone()),
            false => Ok(SystemPrompt(Arc::new(rendered(fragments, renderer)?))),
        }
    }

    /// Renders the pieces that are not cached, for [`pieces`](Self::pieces).
    pub(super) fn prepare(
        fragments: &mut ContextFragments,
        renderer: &dyn Renderer,
    ) -> Result<(), RenderError> {
        render_changed(fragments, renderer).map(drop)
    }

    /// Returns the piece of each fragment in the prompt of the engine's own renderer, without empty
    /// pieces.
    pub(super) fn pieces(fragments: &ContextFragments) -> impl Iterator<Item = PromptPiece<'_>> {
        fragments.slots().iter().filter(|slot| slot.is_rendered()).filter_map(|slot| {
            let piece = slot.piece.as_ref().filter(|piece| !piece.text.is_empty())?;
            let fragment = slot.fragment();
            Some(PromptPiece { name: fragment.name(), id: fragment.id(), text: &piece.text })
        })
    }

    /// Assembles the pieces. Runs of pieces that were adjacent in the previous prompt, and still
    /// are, are copied from it at once. Also returns how many bytes at the beginning are known to
    /// be unchanged.
    fn assemble(
        &self,
        fragments: &mut ContextFragments,
        arrangement: &Arrangement,
    ) -> (String, usize) {
        let (head, separator) = (arrangement.head(), arrangement.separator());
        let is_like_before =
            self.changes.is_some() && (head, separator) == (&*self.frame.0, &*self.frame.1);
        let mut out = String::with_capacity(self.text.len() + 1024);
        out.push_str(head);
        let mut same = 0;
        // The range to copy from the previous prompt.
        let mut run = 0..0;
        for slot in fragments.slots_mut().iter_mut().filter(|slot| slot.is_rendered()) {
            let Some(piece) = &mut slot.piece else { continue };
            if piece.text.is_empty() {
                continue;
            }
            let length = out.len() + run.len();
            let gap = if length == 0 { "" } else { separator };
            let known = piece.at.filter(|_| is_like_before);
            if known.is_some_and(|start| !run.is_empty() && start == run.end + gap.len()) {
                run.end += gap.len() + piece.text.len();
            } else {
                out.push_str(&self.text[run]);
                out.push_str(gap);
                run = match known {
                    Some(start) => start..start + piece.text.len(),
                    None => {
                        out.push_str(&piece.text);
                        0..0
                    }
                };
            }
            let start = length + gap.len();
            if known == Some(start) && same == length {
                same = start + piece.text.len();
            }
            piece.at = Some(start);
        }
        out.push_str(&self.text[run]);
        (out, same)
    }

    /// Stores a new prompt, of which the first `same` bytes are known to be unchanged, and returns
    /// the changes.
    fn replace(
        &mut self,
        fragments: &mut ContextFragments,
        text: String,
        same: usize,
    ) -> PromptChanges {
        let unchanged_prefix = common_prefix(&self.text, &text, same);
        self.text = SystemPrompt(Arc::new(text));
        let removed = fragments.take_removed().into_iter();
        let mut changes: Vec<_> = removed
            .map(|removed| FragmentChange {
                name: removed.name,
                id: removed.id,
                kind: ChangeKind::Removed,
            })
            .collect();
        for slot in fragments.slots_mut() {
            if slot.in_prompt == Some(slot.version) || !slot.is_rendered() {
                continue;
            }
            let kind =
                if slot.in_prompt.is_some() { ChangeKind::Changed } else { ChangeKind::Added };
            slot.in_prompt = Some(slot.version);
            let fragment = slot.fragment();
            changes.push(FragmentChange {
                name: fragment.name().into(),
                id: fragment.id().cloned(),
                kind,
            });
        }
        PromptChanges { fragments: changes, unchanged_prefix }
    }
}

/// Renders all fragments.
fn rendered(fragments: &ContextFragments, renderer: &dyn Renderer) -> Result<String, RenderError> {
    let rendered: Vec<&Fragment> = fragments.slots().iter().filter_map(Slot::rendered).collect();
    let arrangement = renderer.arrange(&rendered);
    let mut out = Pieces::default();
    renderer.render_pieces(&arrangement.pieces(&rendered), &mut out)?;
    Ok(arrangement.join(out.iter()))
}

/// Renders the pieces that are not cached, and returns the arrangement of all pieces.
fn render_changed(
    fragments: &mut ContextFragments,
    renderer: &dyn Renderer,
) -> Result<Arrangement, RenderError> {
    let rendered: Vec<&Fragment> =
        fragments.slots().iter().filter_map(|slot| slot.rendered()).collect();
    let arrangement = renderer.arrange(&rendered);
    let mut out = Pieces::default();
    let mut places = Vec::new();
    let mut pieces = Vec::new();
    let slots = fragments.slots().iter().enumerate();
    let slots = slots.filter_map(|(place, slot)| Some((place, slot, slot.rendered()?)));
    for (at, (place, slot, fragment)) in slots.enumerate() {
        let form = arrangement.form(at);
        if !slot
            .piece
            .as_ref()
            .is_some_and(|kept| (kept.version, kept.form) == (slot.version, form))
        {
            places.push((place, form));
            pieces.push(Piece { fragment, form });
        }
    }
    renderer.render_pieces(&pieces, &mut out)?;
    for ((place, form), piece) in places.into_iter().zip(out.iter()) {
        let slot = &mut fragments.slots_mut()[place];
        slot.piece =
            Some(CachedPiece { version: slot.version, form, text: piece.into(), at: None });
    }
    Ok(arrangement)
}

/// Returns the length in bytes of the common prefix, in whole characters. The first `same` bytes
/// are known to be equal.
fn common_prefix(a: &str, b: &str, mut same: usize) -> usize {
    let (x, y) = (a.as_bytes(), b.as_bytes());
    // Large blocks are compared first, because comparing slices is fastest; smaller ones find the
    // exact end.
    for step in [4096, 64, 1] {
        let steps = x[same..].chunks_exact(step).zip(y[same..].chunks_exact(step));
        same += step * steps.take_while(|(x, y)| x == y).count();
    }
    a.floor_char_boundary(same)
}
