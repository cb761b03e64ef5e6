//! The data tree of a fragment.
//!
//! Containers are shared, so a clone only increments a reference count, and a value may occur in
//! several trees. Drop and comparison are iterative, so that a tree of ten thousand levels cannot
//! overflow the stack.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{Fragment, FragmentContent, LazyData, Number};

/// The data of a fragment, as a tree that renderers walk.
///
/// An application object with the keys `name` and `data` is an ordinary map. Only a [`Fragment`] is
/// a fragment.
///
/// ```
/// use context_core::{FragmentData, fragment};
///
/// let train = FragmentData::map([("from", FragmentData::from("Porto")), ("minutes", 168.into())]);
/// let data = FragmentData::list([train, fragment("note", ["Sold out."]).into()]);
/// let FragmentData::List(items) = data else { unreachable!() };
/// assert!(items.as_slice()[0].is_map() && items.as_slice()[1].is_fragment());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum FragmentData {
    /// No value. Not rendered.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text, including line breaks.
    Text(Arc<str>),
    /// A nested fragment.
    Fragment(Box<Fragment>),
    /// An ordered list.
    List(FragmentList),
    /// An ordered map.
    Map(FragmentMap),
    /// Data that is loaded when a prompt is built.
    Lazy(LazyData),
}

/// An ordered list. Shared and immutable.
#[derive(Clone, Debug, Default)]
pub struct FragmentList(Arc<Vec<FragmentData>>);

/// An ordered map. Shared and immutable.
#[derive(Clone, Debug, Default)]
pub struct FragmentMap(Arc<IndexMap<String, FragmentData>>);

impl FragmentData {
    /// Creates a list.
    pub fn list<T: Into<FragmentData>>(items: impl IntoIterator<Item = T>) -> Self {
        Self::List(FragmentList(Arc::new(items.into_iter().map(Into::into).collect())))
    }

    /// Creates an ordered map. A duplicate key replaces the earlier value at the earlier position.
    pub fn map<K: Into<String>, V: Into<FragmentData>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into()));
        Self::Map(FragmentMap(Arc::new(entries.collect())))
    }

    /// Returns whether there is nothing to render: null, or a container of only such values.
    pub fn is_empty(&self) -> bool {
        let mut stack = vec![self];
        while let Some(data) = stack.pop() {
            match data {
                Self::Null => {}
                Self::List(list) => stack.extend(list.iter()),
                Self::Map(map) => stack.extend(map.values()),
                Self::Fragment(fragment) => match fragment.data() {
                    Some(data) => stack.push(data),
                    None => return false,
                },
                Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Lazy(_) => return false,
            }
        }
        true
    }

    /// Takes the tree apart in place, so that dropping it does not recurse.
    pub(super) fn dismantle(&mut self) {
        if matches!(self, Self::List(_) | Self::Map(_) | Self::Fragment(_)) {
            dismantle_all(vec![std::mem::take(self)]);
        }
    }

    /// Returns whether this is a map.
    pub fn is_map(&self) -> bool {
        matches!(self, Self::Map(_))
    }

    /// Returns whether this is a fragment.
    pub fn is_fragment(&self) -> bool {
        matches!(self, Self::Fragment(_))
    }

    /// Returns the text, if this is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl FragmentList {
    /// Returns an iterator over the items.
    pub fn iter(&self) -> std::slice::Iter<'_, FragmentData> {
        self.0.iter()
    }

    /// Returns the items as a slice.
    pub fn as_slice(&self) -> &[FragmentData] {
        &self.0
    }
}

impl FragmentMap {
    /// Returns an iterator over the entries, in order.
    pub fn iter(&self) -> indexmap::map::Iter<'_, String, FragmentData> {
        self.0.iter()
    }

    /// Returns an iterator over the values, in order.
    pub fn values(&self) -> indexmap::map::Values<'_, String, FragmentData> {
        self.0.values()
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&FragmentData> {
        self.0.get(key)
    }

    /// Returns the entry at an index.
    pub fn at(&self, index: usize) -> Option<(&str, &FragmentData)> {
        self.0.get_index(index).map(|(key, value)| (key.as_str(), value))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a> IntoIterator for &'a FragmentList {
    type Item = &'a FragmentData;
    type IntoIter = std::slice::Iter<'a, FragmentData>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a FragmentMap {
    type Item = (&'a String, &'a FragmentData);
    type IntoIter = indexmap::map::Iter<'a, String, FragmentData>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for FragmentData {
    fn eq(&self, other: &Self) -> bool {
        let mut stack = vec![(self, other)];
        while let Some(pair) = stack.pop() {
            let same = match pair {
                (Self::Null, Self::Null) => true,
                (Self::Bool(a), Self::Bool(b)) => a == b,
                (Self::Number(a), Self::Number(b)) => a == b,
                (Self::Text(a), Self::Text(b)) => a == b,
                (Self::Lazy(a), Self::Lazy(b)) => a.is_same(b),
                (Self::List(a), Self::List(b)) => {
                    stack.extend(a.iter().zip(b));
                    a.0.len() == b.0.len()
                }
                (Self::Map(a), Self::Map(b)) => {
                    stack.extend(a.values().zip(b.values()));
                    a.len() == b.len() && a.0.keys().eq(b.0.keys())
                }
                (Self::Fragment(a), Self::Fragment(b)) => match (a.data(), b.data()) {
                    (Some(x), Some(y)) => {
                        stack.push((x, y));
                        a.equals_except_data(b)
                    }
                    _ => a == b,
                },
                _ => false,
            };
            if !same {
                return false;
            }
        }
        true
    }
}

/// Moves children that `data` owns exclusively to the stack, so that no destructor recurses.
fn dismantle(data: FragmentData, stack: &mut Vec<FragmentData>) {
    match data {
        FragmentData::List(mut list) => stack.extend(list.take()),
        FragmentData::Map(mut map) => stack.extend(map.take().into_values()),
        FragmentData::Fragment(mut fragment) => {
            if let FragmentContent::Data(data) = &mut fragment.content {
                stack.push(std::mem::take(data));
            }
        }
        _ => {}
    }
}

fn dismantle_all(mut stack: Vec<FragmentData>) {
    while let Some(data) = stack.pop() {
        dismantle(data, &mut stack);
    }
}

impl FragmentList {
    fn take(&mut self) -> Vec<FragmentData> {
        Arc::get_mut(&mut self.0).map(std::mem::take).unwrap_or_default()
    }
}

impl FragmentMap {
    fn take(&mut self) -> IndexMap<String, FragmentData> {
        Arc::get_mut(&mut self.0).map(std::mem::take).unwrap_or_default()
    }
}

impl Drop for FragmentList {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            dismantle_all(self.take());
        }
    }
}

impl Drop for FragmentMap {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            dismantle_all(self.take().into_values().collect());
        }
    }
}

impl From<Fragment> for FragmentData {
    fn from(fragment: Fragment) -> Self {
        Self::Fragment(Box::new(fragment))
    }
}

impl From<&str> for FragmentData {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for FragmentData {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<bool> for FragmentData {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Number> for FragmentData {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl<T: Into<FragmentData>> From<Vec<T>> for FragmentData {
    fn from(items: Vec<T>) -> Self {
        Self::list(items)
    }
}

impl<T: Into<FragmentData>> From<Option<T>> for FragmentData {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

macro_rules! from_number {
    ($($number:ty),*) => {
        $(impl From<$number> for FragmentData {
            fn from(number: $number) -> Self {
                Self::Number(number.into())
            }
        })*
    };
}
from_number!(i8, i16, i32, i64, u8, u16, u32, u64, usize, f32, f64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fragment;

    fn deep(levels: usize, as_fragments: bool) -> FragmentData {
        (0..levels).fold(FragmentData::from("bottom"), |inner, _| match as_fragments {
            true => fragment("level", [inner]).into(),
            false => FragmentData::map([("level", FragmentData::list([inner]))]),
        })
    }

    #[test]
    fn deep_trees_are_dropped_and_compared_without_recursion() {
        for as_fragments in [true, false] {
            let (a, b) = (deep(200_000, as_fragments), deep(200_000, as_fragments));
            let shared = a.clone();
            assert!(a == b);
            assert!(!a.is_empty());
            drop((a, b));
            assert!(!shared.is_empty());
        }
    }

    #[test]
    fn fragments_directly_inside_each_other_are_dropped_without_recursion() {
        let nested = (0..200_000).fold(Fragment::new("f", 1), |inner, _| Fragment::new("f", inner));
        drop(nested);
    }

    #[test]
    fn a_map_with_name_and_data_stays_a_map() {
        let data = FragmentData::map([("name", "users"), ("data", "rows")]);
        assert!(data.is_map() && !data.is_fragment());
    }

    #[test]
    fn containers_of_nothing_are_empty() {
        let nothing = FragmentData::list([FragmentData::map([("a", FragmentData::Null)])]);
        assert!(nothing.is_empty());
        assert!(!FragmentData::from("").is_empty());
    }
}
