//! Singular and plural of names: what the items of a list and the groups of fragments are called.
//!
//! English rules, because names in prompts are English. It does not try to be right about every
//! word: it never fails, never gives an empty name, and gives the same answer every time. The rules
//! come from the `pluralizer` crate, whose tables an application can extend for its whole process;
//! that changes names here too.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;

use pluralizer::pluralize;

/// Longer names are not words. Their items are called [`ITEM`], or a list of many items with one
/// long name would write that name again and again.
const MAX_WORD_BYTES: usize = 128;

const ITEM: &str = "item";

/// A name that stands in the tree, or one made from it.
#[derive(Clone, Debug)]
pub(crate) enum Name<'a> {
    Given(&'a str),
    Made(Rc<str>),
}

impl Deref for Name<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Given(name) => name,
            Self::Made(name) => name,
        }
    }
}

/// Inflects names and remembers them for as long as one rendering takes: the rules are regular
/// expressions, and a prompt says few different words many times.
#[derive(Debug, Default)]
pub(crate) struct Inflector {
    singular: Memory,
    plural: Memory,
}

/// What became of a word; nothing if it stays as it is.
type Memory = HashMap<Box<str>, Option<Rc<str>>>;

impl Inflector {
    /// What an item of the list `name` is called.
    pub(crate) fn item<'a>(&mut self, name: &Name<'a>) -> Name<'a> {
        remember(&mut self.singular, name, singular)
    }

    /// What a group of fragments called `name` is called.
    pub(crate) fn group<'a>(&mut self, name: &Name<'a>) -> Name<'a> {
        remember(&mut self.plural, name, plural)
    }
}

fn remember<'a>(
    memory: &mut Memory,
    name: &Name<'a>,
    inflect: fn(&str) -> Cow<'_, str>,
) -> Name<'a> {
    let made = match memory.get(&**name) {
        Some(known) => known.clone(),
        None => {
            let made = inflect(name);
            let made = (*made != **name).then(|| Rc::from(made.as_ref()));
            // Long names are not kept: finding out what becomes of them is cheap.
            if name.len() <= MAX_WORD_BYTES {
                memory.insert(Box::from(&**name), made.clone());
            }
            made
        }
    };
    made.map_or_else(|| name.clone(), Name::Made)
}

/// What an item of a list called `name` is called: the singular, or `item` if that is no word.
pub fn singular(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_WORD_BYTES { Cow::Borrowed(ITEM) } else { inflected(name, 1) }
}

/// What a group of fragments called `name` is called: the plural.
pub fn plural(name: &str) -> Cow<'_, str> {
    if name.len() > MAX_WORD_BYTES { Cow::Borrowed(name) } else { inflected(name, 2) }
}

/// Only ASCII is asked for: the rules are English, and this keeps odd input away from them.
fn inflected(name: &str, count: isize) -> Cow<'_, str> {
    if !name.is_ascii() {
        return Cow::Borrowed(name);
    }
    match pluralize(name, count, false) {
        nothing if nothing.is_empty() => Cow::Borrowed(name),
        word => Cow::Owned(word),
    }
}
