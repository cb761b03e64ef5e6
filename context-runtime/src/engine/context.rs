//! The context fragments of an engine: which of them are stored, and in what form each is shown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::FragmentId;
use context_core::fragment::{Form, FragmentContent};
use context_core::store::StoredFragment;
use context_core::{CodecRegistry, Error, Fragment, FragmentData, Result};

/// Context fragments in rendering order: persisted ones as they were loaded, then new ones.
#[derive(Default)]
pub(super) struct ContextFragments {
    slots: Vec<Slot>,
    /// Slot positions of the fragments with an id.
    by_id: HashMap<FragmentId, usize>,
    /// Slot positions of the persisted fragments without an id. Fragments with equal content share
    /// one slot.
    nameless: Vec<usize>,
    /// The next version number. Versions are never reused.
    next: u64,
    /// Incremented by every change.
    changes: u64,
    /// The number of lazy fragments.
    lazy: usize,
    /// Fragments of the newest prompt that were removed since.
    removed: Vec<RemovedFragment>,
}

/// A fragment at its position. The slot holds only the small fields that every prompt reads; the
/// fragment itself is behind a pointer.
pub(super) struct Slot {
    /// The version of the shown content, unique among all content that was ever shown.
    pub(super) version: u64,
    /// The version in the newest prompt.
    pub(super) in_prompt: Option<u64>,
    /// The piece rendered last.
    pub(super) piece: Option<CachedPiece>,
    item: Box<Item>,
    /// Whether the fragment can be passed to a renderer.
    is_renderable: bool,
}

/// A rendered piece.
pub(super) struct CachedPiece {
    pub(super) version: u64,
    pub(super) form: Form,
    pub(super) text: Arc<str>,
    /// The piece's offset in the newest prompt. `None` if it was rendered since.
    pub(super) at: Option<usize>,
}

struct Item {
    fragment: Fragment,
    /// The fragment with its data loaded, if any of its data is lazy.
    loaded: Option<Fragment>,
    /// Whether all data was loaded, without a substitute for a failed load.
    is_complete: bool,
    is_lazy: bool,
    /// The version that the store has.
    stored: Option<u64>,
    /// Whether the store has a fragment under this id.
    is_in_store: bool,
}

/// A removed fragment of an earlier prompt.
pub(super) struct RemovedFragment {
    pub(super) name: Arc<str>,
    pub(super) id: Option<FragmentId>,
}

impl Slot {
    /// Returns the fragment as the caller set it.
    pub(super) fn fragment(&self) -> &Fragment {
        &self.item.fragment
    }

    /// Whether any of its data is loaded when a prompt is made.
    pub(super) fn is_lazy(&self) -> bool {
        self.item.is_lazy
    }

    /// Returns the fragment as codecs and renderers see it. `None` until it is loaded.
    fn shown(&self) -> Option<&Fragment> {
        if self.item.is_lazy { self.item.loaded.as_ref() } else { Some(&self.item.fragment) }
    }

    /// Returns the fragment to pass to a renderer. `None` if it cannot be rendered or is not
    /// loaded.
    pub(super) fn rendered(&self) -> Option<&Fragment> {
        if self.is_renderable { self.shown() } else { None }
    }

    /// Whether the fragment is passed to a renderer.
    pub(super) fn is_rendered(&self) -> bool {
        self.is_renderable
    }

    /// Whether the fragment is to be persisted and its current version is not stored.
    pub(super) fn is_to_store(&self) -> bool {
        let Item { fragment, stored, .. } = &*self.item;
        // Newly loaded data replaces stored data only if the fragment has an id to replace it by.
        let is_stored = match fragment.id() {
            Some(_) => *stored == Some(self.version),
            None => stored.is_some(),
        };
        fragment.is_persisted() && !is_stored
    }
}

impl ContextFragments {
    /// Creates the fragments from what the store has.
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

    /// Returns the fragments for a copy of the chat, in the same order. `stored` is what the copy
    /// has in the store.
    pub(super) fn forked(&self, mut stored: Self) -> Self {
        let mut all = Self::default();
        let mut copied = HashSet::new();
        for slot in &self.slots {
            let fragment = slot.fragment();
            let same = |place: &&usize| {
                let shown = slot.shown().filter(|_| fragment.is_persisted());
                shown.is_some_and(|shown| stored.slots[**place].fragment().same_content(shown))
            };
            let copy = match fragment.id() {
                Some(id) => stored.by_id.get(id),
                None => stored.nameless.iter().find(same),
            };
            let mut new = all.slot(fragment.clone());
            new.item.loaded.clone_from(&slot.item.loaded);
            new.item.is_complete = slot.item.is_complete;
            if let Some(copy) = copy {
                copied.insert(*copy);
                let is_current = fragment.id().is_none() || slot.item.stored == Some(slot.version);
                new.item.stored = is_current.then_some(new.version);
                new.item.is_in_store = true;
            }
            all.push(new);
        }
        let others = stored.slots.drain(..).enumerate();
        let others = others.filter(|(place, _)| !copied.contains(place));
        for (_, other) in others {
            let mut new = all.slot(other.item.fragment);
            new.item.stored = Some(new.version);
            new.item.is_in_store = true;
            all.push(new);
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

    /// Whether any fragment is lazy.
    pub(super) fn are_lazy(&self) -> bool {
        self.lazy > 0
    }

    /// Returns the fragments removed since the last call that had been in a prompt.
    pub(super) fn take_removed(&mut self) -> Vec<RemovedFragment> {
        std::mem::take(&mut self.removed)
    }

    /// Returns a number that every change of the shown content increments.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    /// Adds a fragment, or replaces the one with the same id or content.
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
                self.changes += 1;
            }
            None => {
                let slot = self.slot(fragment);
                self.push(slot);
                self.changes += 1;
            }
        }
    }

    /// Sets the loaded data of a slot. Data that contains a substitute for a failed load is not
    /// complete: it is shown but never stored.
    pub(super) fn set_loaded(&mut self, place: usize, loaded: Fragment, is_complete: bool) {
        let slot = &mut self.slots[place];
        slot.item.is_complete = is_complete;
        if slot.item.loaded.as_ref() != Some(&loaded) {
            self.next += 1;
            self.changes += 1;
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
        self.changes += 1;
        if slot.in_prompt.is_some() {
            self.removed.push(RemovedFragment {
                name: slot.fragment().name().into(),
                id: slot.fragment().id().cloned(),
            });
        }
        true
    }

    /// Returns the fragments that are to be persisted and are not stored yet, with the versions to
    /// pass to `saved` later. Fragments that are not loaded completely are left out.
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

    /// Marks these versions as stored.
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
