//! Keys of the plain tree.

use std::hash::{Hash, Hasher};

use context_core::Fragment;

use crate::inflect::{Inflector, Name};

/// What a name ends with if somebody else wrote what stands under it.
pub(crate) const MARK: &str = " (untrusted)";

/// The key of a value: a name, and whether it is marked. Two keys are equal if they are written
/// alike.
#[derive(Clone, Debug)]
pub(crate) struct Key<'a> {
    name: Name<'a>,
    marked: bool,
}

impl<'a> Key<'a> {
    pub(crate) fn new(name: Name<'a>, marked: bool) -> Self {
        Self { name, marked }
    }

    /// That of a fragment; `untrusted` if it is taken for what somebody else wrote anyway.
    pub(crate) fn of(fragment: &'a Fragment, untrusted: bool) -> Self {
        Self::new(Name::Given(fragment.name()), untrusted || fragment.is_untrusted())
    }

    /// That of an item.
    pub(crate) fn none() -> Self {
        Self::new(Name::Given(""), false)
    }

    pub(crate) fn name(&self) -> &Name<'a> {
        &self.name
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.marked
    }

    /// The text of the key, in two parts so that it need not be put together.
    pub(crate) fn parts(&self) -> [&str; 2] {
        [&self.name, if self.marked { MARK } else { "" }]
    }

    /// The key of a group of fragments that have this one. The mark is no part of the word.
    pub(crate) fn plural(&self, inflector: &mut Inflector) -> Self {
        let (name, marked) = match &self.name {
            Name::Given(name) => match name.strip_suffix(MARK) {
                Some(word) if !self.marked => (Name::Given(word), true),
                _ => (Name::Given(name), self.marked),
            },
            Name::Made(_) => (self.name.clone(), self.marked),
        };
        Self::new(inflector.group(&name), marked)
    }

    /// The same for keys that are written alike.
    pub(crate) fn same(&self) -> (&str, bool) {
        match self.name.strip_suffix(MARK) {
            Some(name) if !self.marked => (name, true),
            _ => (&self.name, self.marked),
        }
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.same() == other.same()
    }
}

impl Eq for Key<'_> {}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.same().hash(state);
    }
}
