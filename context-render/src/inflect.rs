//! Singular and plural of names, for the items of a list and for groups of fragments.
//!
//! The rules are English, because names in prompts are English. They are not right about every
//! word, but they never fail, never give an empty name, and are deterministic. They come from the
//! `pluralizer` crate. An application can extend its tables for the whole process; that changes
//! names here too.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use pluralizer::pluralize;

/// Maximum length of a word. Longer names are not inflected: their items are called [`ITEM`],
/// because otherwise a list of many items would repeat the long name for each item.
const MAX_WORD_BYTES: usize = 128;

const ITEM: &str = "item";

/// A name from the tree, or one derived from such a name.
#[derive(Clone, Debug)]
pub(crate) enum Name<'a> {
    Borrowed(&'a str),
    Derived(Rc<str>),
}

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(name) => name,
            Self::Derived(name) => name,
        }
    }
}

/// Inflects names and caches the results for the duration of one rendering. The rules are regular
/// expressions, and a prompt repeats few different words many times.
#[derive(Debug, Default)]
pub(crate) struct Inflector {
    singular: Cache,
    plural: Cache,
}

/// The inflected form of each word seen; `None` if the word does not change.
type Cache = HashMap<Box<str>, Option<Rc<str>>>;

impl Inflector {
    /// Returns the name of the items of the list `name`.
    pub(crate) fn item<'a>(&mut self, name: &Name<'a>) -> Name<'a> {
        cached(&mut self.singular, name, singular)
    }

    /// Returns the name of a group of fragments called `name`.
    pub(crate) fn group<'a>(&mut self, name: &Name<'a>) -> Name<'a> {
        cached(&mut self.plural, name, plural)
    }
}

fn cached<'a>(cache: &mut Cache, name: &Name<'a>, inflect: fn(&str) -> Cow<'_, str>) -> Name<'a> {
    let inflected = match cache.get(&**name) {
        Some(known) => known.clone(),
        None => {
            let form = inflect(name);
            let changed = (*form != **name).then(|| Rc::from(form.as_ref()));
            // Long names are not cached: computing their result is cheap.
            if name.len() <= MAX_WORD_BYTES {
                cache.insert(Box::from(&**name), changed.clone());
            }
            changed
        }
    };
    inflected.map_or_else(|| name.clone(), Name::Derived)
}

/// Returns the name for the items of a list called `name`: the singular, or `item` if the name is
/// longer than 128 bytes.
pub fn singular(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_WORD_BYTES { Cow::Borrowed(ITEM) } else { inflected(name, 1) }
}

/// Returns the name for a group of fragments called `name`: the plural, or the name itself if it is
/// longer than 128 bytes.
pub fn plural(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_WORD_BYTES { Cow::Borrowed(name) } else { inflected(name, 2) }
}

/// Inflects ASCII names only. The rules are English, and other input does not reach the crate that
/// applies them.
fn inflected(name: &str, count: isize) -> Cow<'_, str> {
    if !name.is_ascii() {
        return Cow::Borrowed(name);
    }
    match pluralize(name, count, false) {
        nothing if nothing.is_empty() => Cow::Borrowed(name),
        word => Cow::Owned(word),
    }
}
