//! Keys of the plain tree.

use std::hash::{Hash, Hasher};

use context_core::Fragment;

use crate::inflect::{Inflector, Name};

/// The suffix of the name of an untrusted fragment.
pub(crate) const MARK: &str = " (untrusted)";

/// The key of a value: a name, and whether it is marked. Two keys are equal if their written forms
/// are equal.
#[derive(Clone, Debug)]
pub(crate) struct Key<'a> {
    name: Name<'a>,
    marked: bool,
}

impl<'a> Key<'a> {
    pub(crate) fn new(name: Name<'a>, marked: bool) -> Self {
        Self { name, marked }
    }

    /// Returns the key of a fragment. It is marked if the fragment is untrusted or `untrusted` is
    /// set.
    pub(crate) fn of(fragment: &'a Fragment, untrusted: bool) -> Self {
        Self::new(Name::Borrowed(fragment.name()), untrusted || fragment.is_untrusted())
    }

    /// Returns the empty key, that of an array's item.
    pub(crate) fn none() -> Self {
        Self::new(Name::Borrowed(""), false)
    }

    pub(crate) fn name(&self) -> &Name<'a> {
        &self.name
    }

    pub(crate) fn is_marked(&self) -> bool {
        self.marked
    }

    /// Returns the text of the key in two parts, so that they need not be concatenated.
    pub(crate) fn parts(&self) -> [&str; 2] {
        [&self.name, if self.marked { MARK } else { "" }]
    }

    /// Returns the key of a group of fragments that have this key. The mark is not part of the
    /// inflected word.
    pub(crate) fn plural(&self, inflector: &mut Inflector) -> Self {
        let (name, marked) = match &self.name {
            Name::Borrowed(name) => match name.strip_suffix(MARK) {
                Some(word) if !self.marked => (Name::Borrowed(word), true),
                _ => (Name::Borrowed(name), self.marked),
            },
            Name::Derived(_) => (self.name.clone(), self.marked),
        };
        Self::new(inflector.group(&name), marked)
    }

    /// Returns a value that is equal for keys with the same written form.
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
