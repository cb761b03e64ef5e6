//! The context fragments of an engine, and which of them the store has.

use context_core::{CodecRegistry, Error, Fragment, FragmentId, Result, StoredFragment};

/// Context fragments in the order they are rendered: persisted ones as they were loaded, then new ones.
#[derive(Default)]
pub(super) struct ContextFragments {
    slots: Vec<Slot>,
    /// The next slot's mark.
    next: u64,
}

struct Slot {
    /// Tells this fragment, in these words, from every other one of the engine.
    mark: u64,
    fragment: Fragment,
    /// The store has it, in these words.
    stored: bool,
}

impl ContextFragments {
    /// What the store has.
    pub(super) fn loaded(fragments: Vec<Fragment>) -> Self {
        let slots: Vec<_> =
            (0..).zip(fragments).map(|(mark, fragment)| Slot { mark, fragment, stored: true }).collect();
        let next = slots.len() as u64;
        Self { slots, next }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Fragment> {
        self.slots.iter().map(|slot| &slot.fragment)
    }

    /// Adds a fragment, or replaces the one it stands for.
    pub(super) fn set(&mut self, fragment: Fragment) {
        let mark = self.next;
        self.next += 1;
        let present = match fragment.id() {
            Some(id) => self.slots.iter_mut().find(|slot| slot.fragment.id() == Some(id)),
            None => self.slots.iter_mut().find(|slot| {
                let old = &slot.fragment;
                old.is_persisted() && old.id().is_none() && old.same_content(&fragment)
            }),
        };
        match present {
            Some(slot) if slot.fragment == fragment => {}
            Some(slot) if fragment.id().is_none() => slot.fragment = fragment.persisted(),
            Some(slot) => *slot = Slot { mark, fragment, stored: false },
            None => self.slots.push(Slot { mark, fragment, stored: false }),
        }
    }

    pub(super) fn is_stored(&self, id: &FragmentId) -> bool {
        self.slots.iter().any(|slot| slot.stored && slot.fragment.id() == Some(id))
    }

    pub(super) fn remove(&mut self, id: &FragmentId) -> bool {
        let before = self.slots.len();
        self.slots.retain(|slot| slot.fragment.id() != Some(id));
        self.slots.len() < before
    }

    /// What is to be persisted and is not yet, with the marks to say so later.
    pub(super) fn to_store(&self, codecs: &CodecRegistry) -> Result<Vec<(u64, StoredFragment)>> {
        let new = self.slots.iter().filter(|slot| slot.fragment.is_persisted() && !slot.stored);
        new.map(|slot| {
            let fragment = &slot.fragment;
            let body = codecs
                .encode(fragment)
                .map_err(|error| Error::from(error).with("fragment", fragment.name()))?;
            let metadata = fragment.metadata().clone();
            Ok((slot.mark, StoredFragment { id: fragment.id().cloned(), metadata, body }))
        })
        .collect()
    }

    /// The store has these now.
    pub(super) fn saved(&mut self, marks: &[u64]) {
        for slot in &mut self.slots {
            slot.stored |= marks.contains(&slot.mark);
        }
    }
}
