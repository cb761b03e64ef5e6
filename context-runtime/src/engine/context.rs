//! The context fragments of an engine: which of them the store has, and how each is shown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::FragmentId;
use context_core::fragment::{Form, FragmentContent};
use context_core::store::StoredFragment;
use context_core::{CodecRegistry, Error, Fragment, FragmentData, Result};

/// Context fragments in the order they are rendered: persisted ones as they were loaded, then new
/// ones.
#[derive(Default)]
pub(super) struct ContextFragments {
    slots: Vec<Slot>,
    /// Where the fragments with an id are.
    by_id: HashMap<FragmentId, usize>,
    /// Where the persisted fragments without one are, of which each is kept once.
    nameless: Vec<usize>,
    /// The next number that tells something from everything before.
    next: u64,
    /// Counts up with every change.
    edition: u64,
    /// How many of them are lazy.
    lazy: usize,
    /// What was removed since the newest prompt and stood in it.
    gone: Vec<Gone>,
}

/// A fragment in its place. What every prompt looks at is here, and small; the fragment itself is
/// elsewhere.
pub(super) struct Slot {
    /// Tells what is shown, in these words, from everything else that was ever shown.
    pub(super) version: u64,
    /// The version that stands in the newest prompt.
    pub(super) in_prompt: Option<u64>,
    /// What was rendered of it last.
    pub(super) piece: Option<Kept>,
    item: Box<Item>,
    /// Whether a renderer can be given it.
    is_renderable: bool,
}

/// A rendered piece.
pub(super) struct Kept {
    pub(super) version: u64,
    pub(super) form: Form,
    pub(super) text: Arc<str>,
    /// Where it stands in the newest prompt; nothing if it was rendered since.
    pub(super) at: Option<usize>,
}

struct Item {
    fragment: Fragment,
    /// The fragment with its data loaded, if something of it is lazy.
    loaded: Option<Fragment>,
    /// All of what was loaded is what was asked for: nothing merely stands in for something.
    is_complete: bool,
    is_lazy: bool,
    /// The version the store has.
    stored: Option<u64>,
    /// The store has something under the id.
    is_in_store: bool,
}

/// A fragment that stood in a prompt and is gone.
pub(super) struct Gone {
    pub(super) name: Arc<str>,
    pub(super) id: Option<FragmentId>,
}

impl Slot {
    /// As the caller set it.
    pub(super) fn fragment(&self) -> &Fragment {
        &self.item.fragment
    }

    /// Whether something of it is loaded when a prompt is made.
    pub(super) fn is_lazy(&self) -> bool {
        self.item.is_lazy
    }

    /// As codecs and renderers see it; nothing while it is not loaded.
    fn shown(&self) -> Option<&Fragment> {
        if self.item.is_lazy { self.item.loaded.as_ref() } else { Some(&self.item.fragment) }
    }

    /// What a renderer is given; nothing for what cannot be rendered.
    pub(super) fn rendered(&self) -> Option<&Fragment> {
        if self.is_renderable { self.shown() } else { None }
    }

    /// Whether a renderer is given something.
    pub(super) fn is_rendered(&self) -> bool {
        self.is_renderable
    }

    /// Whether the store is to have it and has not, as it is now.
    pub(super) fn is_to_store(&self) -> bool {
        let Item { fragment, stored, .. } = &*self.item;
        // What was loaded anew replaces what is stored only if it has an id to replace it by.
        let is_stored = match fragment.id() {
            Some(_) => *stored == Some(self.version),
            None => stored.is_some(),
        };
        fragment.is_persisted() && !is_stored
    }
}

impl ContextFragments {
    /// What the store has.
    pub(super) fn loaded(fragments: Vec<Fragment>) -> Self {
        let mut all = Self::default();
        for fragment in fragments {
            let mut slot = all.slot(fragment);
            slot.item.stored = Some(slot.version);
            slot.item.is_in_store = true;
            all.push(slot);
        }
        all
    }

    fn slot(&mut self, fragment: Fragment) -> Slot {
        self.next += 1;
        let is_lazy = fragment.data().is_some_and(FragmentData::has_lazy);
        self.lazy += usize::from(is_lazy);
        let is_renderable = !matches!(fragment.content(), FragmentContent::Unknown(_));
        let item = Item {
            fragment,
            loaded: None,
            is_complete: !is_lazy,
            is_lazy,
            stored: None,
            is_in_store: false,
        };
        Slot {
            version: self.next,
            in_prompt: None,
            piece: None,
            item: Box::new(item),
            is_renderable,
        }
    }

    fn push(&mut self, slot: Slot) {
        let (place, fragment) = (self.slots.len(), slot.fragment());
        match fragment.id() {
            Some(id) => _ = self.by_id.insert(id.clone(), place),
            None if fragment.is_persisted() => self.nameless.push(place),
            None => {}
        }
        self.slots.push(slot);
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Fragment> {
        self.slots.iter().map(Slot::fragment)
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn slots_mut(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    /// Whether any of them is lazy.
    pub(super) fn are_lazy(&self) -> bool {
        self.lazy > 0
    }

    /// What was removed since this was asked last, and had stood in a prompt.
    pub(super) fn take_gone(&mut self) -> Vec<Gone> {
        std::mem::take(&mut self.gone)
    }

    /// Counts up with every change of what is shown.
    pub(super) fn edition(&self) -> u64 {
        self.edition
    }

    /// Adds a fragment, or replaces the one it stands for.
    pub(super) fn set(&mut self, fragment: Fragment) {
        let present = match fragment.id() {
            Some(id) => self.by_id.get(id).copied(),
            None => {
                let same = |place: &&usize| self.slots[**place].fragment().same_content(&fragment);
                self.nameless.iter().find(same).copied()
            }
        };
        match present {
            Some(present) if *self.slots[present].fragment() == fragment => {}
            Some(present) if fragment.id().is_none() => {
                self.slots[present].item.fragment = fragment.persisted();
            }
            Some(present) => {
                let mut slot = self.slot(fragment);
                let old = &mut self.slots[present];
                self.lazy -= usize::from(old.is_lazy());
                slot.in_prompt = old.in_prompt;
                slot.item.is_in_store = old.item.is_in_store;
                *old = slot;
                self.edition += 1;
            }
            None => {
                let slot = self.slot(fragment);
                self.push(slot);
                self.edition += 1;
            }
        }
    }

    /// Puts loaded data in its place. It is not complete if something in it merely stands in for
    /// what could not be loaded; then it is shown, but never stored.
    pub(super) fn set_loaded(&mut self, place: usize, loaded: Fragment, is_complete: bool) {
        let slot = &mut self.slots[place];
        slot.item.is_complete = is_complete;
        if slot.item.loaded.as_ref() != Some(&loaded) {
            self.next += 1;
            self.edition += 1;
            slot.version = self.next;
            slot.item.loaded = Some(loaded);
        }
    }

    pub(super) fn is_stored(&self, id: &FragmentId) -> bool {
        self.by_id.get(id).is_some_and(|place| self.slots[*place].item.is_in_store)
    }

    pub(super) fn remove(&mut self, id: &FragmentId) -> bool {
        let Some(place) = self.by_id.remove(id) else { return false };
        let slot = self.slots.remove(place);
        let behind =
            self.by_id.values_mut().chain(&mut self.nameless).filter(|other| **other > place);
        behind.for_each(|other| *other -= 1);
        self.lazy -= usize::from(slot.is_lazy());
        self.edition += 1;
        if slot.in_prompt.is_some() {
            self.gone.push(Gone {
                name: slot.fragment().name().into(),
                id: slot.fragment().id().cloned(),
            });
        }
        true
    }

    /// What is to be persisted and is not yet, with the versions to say so later. What is still to
    /// be loaded waits.
    pub(super) fn to_store(&self, codecs: &CodecRegistry) -> Result<Vec<(u64, StoredFragment)>> {
        let new = self.slots.iter().filter(|slot| slot.is_to_store() && slot.item.is_complete);
        new.filter_map(|slot| slot.shown().map(|fragment| (slot.version, fragment)))
            .map(|(version, fragment)| {
                let body = codecs
                    .encode(fragment)
                    .map_err(|error| Error::from(error).with("fragment", fragment.name()))?;
                let metadata = fragment.metadata().clone();
                Ok((version, StoredFragment { id: fragment.id().cloned(), metadata, body }))
            })
            .collect()
    }

    /// The store has these now.
    pub(super) fn saved(&mut self, versions: &[u64]) {
        if versions.is_empty() {
            return;
        }
        let versions: HashSet<u64> = versions.iter().copied().collect();
        for slot in &mut self.slots {
            if versions.contains(&slot.version) {
                slot.item.stored = Some(slot.version);
                slot.item.is_in_store = true;
            }
        }
    }
}
