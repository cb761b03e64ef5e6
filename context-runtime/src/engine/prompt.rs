//! The system prompt, put together from pieces that are kept.
//!
//! A piece is rendered again only when its fragment, or the form in which it stands among the others, has changed.
//! Renderers keep nothing; what is kept is here, with the fragments.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use context_core::{Arrangement, Fragment, FragmentId, Piece, Pieces, RenderError, Renderer};
use serde::{Serialize, Serializer};

use super::context::{ContextFragments, Slot};

/// The text of a system prompt. A clone shares it.
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

impl Serialize for SystemPrompt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

/// What has become of a fragment between two prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It says something else in the same place.
    Changed,
    /// It is gone.
    Removed,
}

/// A fragment that is not what it was in the prompt before.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FragmentChange {
    /// The fragment's name.
    pub name: Arc<str>,
    /// Its id, if it has one.
    pub id: Option<FragmentId>,
    /// What has become of it.
    pub kind: ChangeKind,
}

/// What is different from the prompt this engine resolved before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptChanges {
    /// The fragments that are not what they were: those removed first, then the others in their order. In the first
    /// prompt of an engine all are added.
    pub fragments: Vec<FragmentChange>,
    /// How many bytes at the beginning of the prompt are the same: what a provider's prompt cache can keep of it.
    pub unchanged_prefix: usize,
}

impl PromptChanges {
    /// Whether the prompt has the same fragments in the same words.
    pub fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }
}

/// The prompt that was resolved last.
#[derive(Default)]
pub(super) struct Prompt {
    text: SystemPrompt,
    /// The places and versions of what was shown.
    shown: Vec<Shown>,
    /// Of which edition of the fragments it is, if it was rendered by the engine's own renderer.
    edition: Option<u64>,
}

struct Shown {
    place: u64,
    version: u64,
    name: Arc<str>,
    id: Option<FragmentId>,
}

impl Prompt {
    /// The prompt as the engine's own renderer makes it: unchanged fragments are not rendered again.
    pub(super) fn update(
        &mut self,
        fragments: &mut ContextFragments,
        renderer: &dyn Renderer,
    ) -> Result<(SystemPrompt, PromptChanges), RenderError> {
        let edition = fragments.edition();
        if self.edition == Some(edition) {
            let changes = PromptChanges { unchanged_prefix: self.text.len(), ..PromptChanges::default() };
            return Ok((self.text.clone(), changes));
        }
        let arrangement = render_changed(fragments, renderer)?;
        let pieces = fragments.slots().iter().filter(|slot| slot.rendered().is_some());
        let pieces = pieces.filter_map(|slot| slot.piece.as_ref().map(|(.., piece)| &**piece));
        let text = arrangement.join(pieces);
        let changes = self.replace(fragments, text);
        self.edition = Some(edition);
        Ok((self.text.clone(), changes))
    }

    /// The prompt as another renderer makes it, of which nothing is kept.
    pub(super) fn render(
        &mut self,
        fragments: &ContextFragments,
        renderer: &dyn Renderer,
    ) -> Result<(SystemPrompt, PromptChanges), RenderError> {
        let rendered: Vec<&Fragment> = fragments.slots().iter().filter_map(|slot| slot.rendered()).collect();
        let arrangement = renderer.arrange(&rendered);
        let mut out = Pieces::default();
        renderer.render_pieces(&arrangement.pieces(&rendered), &mut out)?;
        let changes = self.replace(fragments, arrangement.join(out.iter()));
        self.edition = None;
        Ok((self.text.clone(), changes))
    }

    fn replace(&mut self, fragments: &ContextFragments, text: String) -> PromptChanges {
        let unchanged_prefix = common_prefix(&self.text, &text);
        self.text = SystemPrompt(Arc::new(text));
        let (mut removed, mut present) = (Vec::new(), Vec::new());
        let mut shown = Vec::with_capacity(self.shown.len());
        // Both are in the order of their places: what is replaced keeps its place, what is new comes last.
        let mut before = std::mem::take(&mut self.shown).into_iter().peekable();
        for slot in fragments.slots().iter().filter(|slot| slot.rendered().is_some()) {
            while let Some(gone) = before.next_if(|shown| shown.place < slot.place) {
                removed.push(gone.change(ChangeKind::Removed));
            }
            let kind = match before.next_if(|shown| shown.place == slot.place) {
                Some(same) if same.version == slot.version => {
                    shown.push(same);
                    continue;
                }
                Some(_) => ChangeKind::Changed,
                None => ChangeKind::Added,
            };
            let new = Shown::of(slot);
            present.push(new.change(kind));
            shown.push(new);
        }
        removed.extend(before.map(|gone| gone.change(ChangeKind::Removed)));
        self.shown = shown;
        removed.append(&mut present);
        PromptChanges { fragments: removed, unchanged_prefix }
    }
}

impl Shown {
    fn of(slot: &Slot) -> Self {
        let fragment = slot.fragment();
        let (name, id) = (fragment.name().into(), fragment.id().cloned());
        Self { place: slot.place, version: slot.version, name, id }
    }

    fn change(&self, kind: ChangeKind) -> FragmentChange {
        FragmentChange { name: Arc::clone(&self.name), id: self.id.clone(), kind }
    }
}

/// Renders the pieces that are not kept, and says how all stand together.
fn render_changed(
    fragments: &mut ContextFragments,
    renderer: &dyn Renderer,
) -> Result<Arrangement, RenderError> {
    let rendered: Vec<&Fragment> = fragments.slots().iter().filter_map(|slot| slot.rendered()).collect();
    let arrangement = renderer.arrange(&rendered);
    let mut out = Pieces::default();
    let mut places = Vec::new();
    let mut pieces = Vec::new();
    let slots = fragments.slots().iter().enumerate();
    let slots = slots.filter_map(|(place, slot)| Some((place, slot, slot.rendered()?)));
    for (at, (place, slot, fragment)) in slots.enumerate() {
        let form = arrangement.form(at);
        if !matches!(&slot.piece, Some((version, kept, _)) if (*version, *kept) == (slot.version, form)) {
            places.push((place, form));
            pieces.push(Piece { fragment, form });
        }
    }
    renderer.render_pieces(&pieces, &mut out)?;
    for ((place, form), piece) in places.into_iter().zip(out.iter()) {
        let slot = &mut fragments.slots_mut()[place];
        slot.piece = Some((slot.version, form, piece.into()));
    }
    Ok(arrangement)
}

/// How many bytes both begin with, whole characters only.
fn common_prefix(a: &str, b: &str) -> usize {
    const STEP: usize = 256;
    let (x, y) = (a.as_bytes(), b.as_bytes());
    let steps = x.chunks(STEP).zip(y.chunks(STEP)).take_while(|(x, y)| x == y).count();
    let whole = (steps * STEP).min(x.len()).min(y.len());
    let rest = x[whole..].iter().zip(&y[whole..]).take_while(|(x, y)| x == y).count();
    a.floor_char_boundary(whole + rest)
}
