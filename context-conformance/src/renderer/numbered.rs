//! Trees in which every name and every text is a unique word. So words that are missing, duplicated
//! or misplaced in a prompt are found without a parser.

use std::fmt;

use context_core::{Fragment, FragmentData};
use proptest::prelude::*;
use proptest::sample::Index;

/// Fragments of numbered words, and the words that the prompt must contain, in order.
#[derive(Clone)]
pub(super) struct NumberedFragments {
    pub(super) fragments: Vec<Fragment>,
    pub(super) names: Vec<String>,
    pub(super) texts: Vec<String>,
}

impl AsRef<[Fragment]> for NumberedFragments {
    fn as_ref(&self) -> &[Fragment] {
        &self.fragments
    }
}

impl fmt::Debug for NumberedFragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fragments.fmt(f)
    }
}

/// The same fragments twice. In the second copy, one of them is marked as untrusted.
#[derive(Clone)]
pub(super) struct MarkedFragments {
    pub(super) plain: Vec<Fragment>,
    pub(super) marked: Vec<Fragment>,
}

impl AsRef<[Fragment]> for MarkedFragments {
    fn as_ref(&self) -> &[Fragment] {
        &self.marked
    }
}

impl fmt::Debug for MarkedFragments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.marked.fmt(f)
    }
}

/// A tree before its words are numbered.
#[derive(Clone, Debug)]
enum Shape {
    Null,
    Text,
    Number,
    List(Vec<Shape>),
    Map(Vec<Shape>),
    Fragment(Box<Shape>),
    /// An entry of a map whose value is a fragment of the same name, which is printed once for
    /// both.
    Same(Box<Shape>),
}

/// Generates fragments of any shape.
pub(super) fn shapes() -> impl Strategy<Value = NumberedFragments> {
    shape_list().prop_map(|shapes| {
        let mut words = WordGenerator::default();
        let fragments = words.fragments(&shapes, None);
        NumberedFragments { fragments, names: words.names, texts: words.texts }
    })
}

/// Generates fragments of any shape, one of them marked.
pub(super) fn marked() -> impl Strategy<Value = MarkedFragments> {
    (shape_list(), any::<Index>()).prop_filter_map("a fragment to mark", |(shapes, which)| {
        let mut words = WordGenerator::default();
        let plain = words.fragments(&shapes, None);
        let mark = (words.fragments > 0).then(|| which.index(words.fragments))?;
        Some(MarkedFragments {
            plain,
            marked: WordGenerator::default().fragments(&shapes, Some(mark)),
        })
    })
}

fn shape_list() -> impl Strategy<Value = Vec<Shape>> {
    let leaf =
        prop_oneof![1 => Just(Shape::Null), 6 => Just(Shape::Text), 2 => Just(Shape::Number)];
    let shape = leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Shape::List),
            prop::collection::vec(inner.clone(), 0..5).prop_map(Shape::Map),
            inner.clone().prop_map(|shape| Shape::Fragment(Box::new(shape))),
            inner.prop_map(|shape| Shape::Same(Box::new(shape))),
        ]
    });
    prop::collection::vec(shape, 1..5)
}

/// A generator of numbered words, which records those that the prompt must contain.
#[derive(Default)]
struct WordGenerator {
    next: u32,
    names: Vec<String>,
    texts: Vec<String>,
    /// The number of fragments with content so far.
    fragments: usize,
    /// The index of the marked fragment.
    mark: Option<usize>,
}

impl WordGenerator {
    fn fragments(&mut self, shapes: &[Shape], mark: Option<usize>) -> Vec<Fragment> {
        self.mark = mark;
        shapes.iter().map(|shape| self.fragment(shape)).collect()
    }

    /// Returns a word like `n12q`, which is not a prefix of another word.
    fn word(&mut self, kind: char) -> String {
        self.next += 1;
        format!("{kind}{}q", self.next)
    }

    /// Returns a name for `of`. The prompt must contain it if `of` has content.
    fn name(&mut self, kind: char, of: &Shape) -> String {
        let name = self.word(kind);
        if has_content(of) {
            self.names.push(name.clone());
        }
        name
    }

    fn fragment(&mut self, shape: &Shape) -> Fragment {
        let name = self.name('n', shape);
        self.named(name, shape)
    }

    fn named(&mut self, name: String, shape: &Shape) -> Fragment {
        let number = self.fragments;
        self.fragments += usize::from(has_content(shape));
        let marked = has_content(shape) && self.mark == Some(number);
        let fragment = Fragment::new(name, self.data(shape));
        if marked { fragment.untrusted() } else { fragment }
    }

    fn data(&mut self, shape: &Shape) -> FragmentData {
        match shape {
            Shape::Null => FragmentData::Null,
            Shape::Text => {
                let word = self.word('w');
                self.texts.push(word.clone());
                word.into()
            }
            Shape::Number => {
                self.next += 1;
                let number = 7_000_000 + i64::from(self.next);
                self.texts.push(number.to_string());
                number.into()
            }
            Shape::List(items) => {
                let items: Vec<FragmentData> = items.iter().map(|item| self.data(item)).collect();
                FragmentData::list(items)
            }
            Shape::Map(entries) => {
                let entries: Vec<(String, FragmentData)> =
                    entries.iter().map(|entry| self.entry(entry)).collect();
                FragmentData::map(entries)
            }
            Shape::Fragment(inner) | Shape::Same(inner) => self.fragment(inner).into(),
        }
    }

    fn entry(&mut self, shape: &Shape) -> (String, FragmentData) {
        let key = self.name('k', shape);
        match shape {
            Shape::Same(inner) => (key.clone(), self.named(key, inner).into()),
            shape => (key, self.data(shape)),
        }
    }
}

/// Whether the shape contains a text or a number. Recursion is fine, since the trees are small.
fn has_content(shape: &Shape) -> bool {
    match shape {
        Shape::Null => false,
        Shape::Text | Shape::Number => true,
        Shape::List(shapes) | Shape::Map(shapes) => shapes.iter().any(has_content),
        Shape::Fragment(inner) | Shape::Same(inner) => has_content(inner),
    }
}
