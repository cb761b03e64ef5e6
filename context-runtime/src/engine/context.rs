//! The context fragments of an engine: which of them the store has, and how each is shown.

use std::sync::Arc;

use context_core::{
    CodecRegistry, Error, Form, Fragment, FragmentContent, FragmentId, Result, StoredFragment,
};

/// Context fragments in the order they are rendered: persisted ones as they were loaded, then new ones.
#[derive(Default)]
pub(super) struct ContextFragments {
    slots: Vec<Slot>,
    /// The next number that tells something from everything before.
    next: u64,
    /// Counts up with every change.
    edition: u64,
}

/// A fragment in its place.
pub(super) struct Slot {
    /// Tells this place from every other one of the engine, whatever stands in it.
    pub(super) place: u64,
    /// Tells what is shown, in these words, from everything else that was ever shown.
    pub(super) version: u64,
    fragment: Fragment,
    /// The fragment with its data loaded, if something of it is lazy.
    loaded: Option<Fragment>,
    is_lazy: bool,
    /// The version the store has.
    stored: Option<u64>,
    /// The store has something under the id.
    is_in_store: bool,
    /// The rendered piece, in which form and of which version.
    pub(super) piece: Option<(u64, Form, Arc<str>)>,
}

impl Slot {
    /// As the caller set it.
    pub(super) fn fragment(&self) -> &Fragment {
        &self.fragment
    }

    /// Whether something of it is loaded when a prompt is made.
    pub(super) fn is_lazy(&self) -> bool {
        self.is_lazy
    }

    /// As codecs and renderers see it; nothing while it is not loaded.
    fn shown(&self) -> Option<&Fragment> {
        if self.is_lazy { self.loaded.as_ref() } else { Some(&self.fragment) }
    }

    /// What a renderer is given; nothing for what cannot be rendered.
    pub(super) fn rendered(&self) -> Option<&Fragment> {
        self.shown().filter(|fragment| !matches!(fragment.content(), FragmentContent::Unknown(_)))
    }

    /// Whether the store is to have it and has not, as it is now.
    pub(super) fn is_to_store(&self) -> bool {
        // What was loaded anew replaces what is stored only if it has an id to replace it by.
        let stored = match self.fragment.id() {
            Some(_) => self.stored == Some(self.version),
            None => self.stored.is_some(),
        };
        self.fragment.is_persisted() && !stored
    }
}

impl ContextFragments {
    /// What the store has.
    pub(super) fn loaded(fragments: Vec<Fragment>) -> Self {
        let mut all = Self::default();
        for fragment in fragments {
            let mut slot = all.slot(fragment);
            slot.stored = Some(slot.version);
            slot.is_in_store = true;
            all.slots.push(slot);
        }
        all
    }

    fn slot(&mut self, fragment: Fragment) -> Slot {
        self.next += 1;
        let is_lazy = fragment.data().is_some_and(context_core::FragmentData::has_lazy);
        let (place, version) = (self.next, self.next);
        Slot {
            place,
            version,
            fragment,
            loaded: None,
            is_lazy,
            stored: None,
            is_in_store: false,
            piece: None,
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Fragment> {
        self.slots.iter().map(|slot| &slot.fragment)
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    pub(super) fn slots_mut(&mut self) -> &mut [Slot] {
        &mut self.slots
    }

    /// Counts up with every change of what is shown.
    pub(super) fn edition(&self) -> u64 {
        self.edition
    }

    /// Adds a fragment, or replaces the one it stands for.
    pub(super) fn set(&mut self, fragment: Fragment) {
        let present = match fragment.id() {
            Some(id) => self.slots.iter().position(|slot| slot.fragment.id() == Some(id)),
            None => self.slots.iter().position(|slot| {
                let old = &slot.fragment;
                old.is_persisted() && old.id().is_none() && old.same_content(&fragment)
            }),
        };
        match present {
            Some(present) if self.slots[present].fragment == fragment => {}
            Some(present) if fragment.id().is_none() => self.slots[present].fragment = fragment.persisted(),
            Some(present) => {
                let Slot { place, is_in_store, .. } = self.slots[present];
                self.slots[present] = Slot { place, is_in_store, ..self.slot(fragment) };
                self.edition += 1;
            }
            None => {
                let slot = self.slot(fragment);
                self.slots.push(slot);
                self.edition += 1;
            }
        }
    }

    /// Puts loaded data in its place.
    pub(super) fn set_loaded(&mut self, place: usize, loaded: Fragment) {
        let slot = &mut self.slots[place];
        if slot.loaded.as_ref() != Some(&loaded) {
            self.next += 1;
            self.edition += 1;
            slot.version = self.next;
            slot.loaded = Some(loaded);
        }
    }

    pub(super) fn is_stored(&self, id: &FragmentId) -> bool {
        self.slots.iter().any(|slot| slot.is_in_store && slot.fragment.id() == Some(id))
    }

    pub(super) fn remove(&mut self, id: &FragmentId) -> bool {
        let before = self.slots.len();
        self.slots.retain(|slot| slot.fragment.id() != Some(id));
        let removed = self.slots.len() < before;
        self.edition += u64::from(removed);
        removed
    }

    /// What is to be persisted and is not yet, with the versions to say so later. What is still to be loaded waits.
    pub(super) fn to_store(&self, codecs: &CodecRegistry) -> Result<Vec<(u64, StoredFragment)>> {
        let new = self.slots.iter().filter(|slot| slot.is_to_store());
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
        for slot in &mut self.slots {
            if versions.contains(&slot.version) {
                slot.stored = Some(slot.version);
                slot.is_in_store = true;
            }
        }
    }
}
