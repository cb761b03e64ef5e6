//! A cache for what a handle knows of the branches that it wrote to last.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::mem;

/// The number of entries that are kept at least.
const KEPT: usize = 16_384;

/// A map that keeps the newest 16,384 to 32,768 entries, for knowledge that can be looked up again.
///
/// It drops the older half of its entries at once, so an entry costs no place in an order, and no
/// write when it is read.
///
/// ```
/// let mut ends = context_store_kit::BoundedMap::default();
/// ends.learn("main", 7);
/// assert_eq!(ends.get("main"), Some(&7));
/// ends.forget("main");
/// assert_eq!(ends.get("main"), None);
/// ```
#[derive(Clone, Debug)]
pub struct BoundedMap<K, V> {
    newer: HashMap<K, V>,
    /// Those that were newer when `newer` became full.
    older: HashMap<K, V>,
}

impl<K, V> Default for BoundedMap<K, V> {
    fn default() -> Self {
        Self { newer: HashMap::new(), older: HashMap::new() }
    }
}

impl<K: Eq + Hash, V> BoundedMap<K, V> {
    /// Returns what is known of a key.
    pub fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.newer.get(key).or_else(|| self.older.get(key))
    }

    /// Remembers a value in place of an earlier one.
    pub fn learn(&mut self, key: K, value: V) {
        if self.newer.len() >= KEPT && !self.newer.contains_key(&key) {
            self.older = mem::take(&mut self.newer);
        }
        self.newer.insert(key, value);
    }

    /// Forgets a key.
    pub fn forget<Q: Eq + Hash + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.newer.remove(key);
        self.older.remove(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_the_number_is_bounded() {
        let mut map = BoundedMap::default();
        for number in 0..3 * KEPT {
            map.learn(number, number);
            let oldest = number.saturating_sub(KEPT - 1);
            assert_eq!(map.get(&oldest), Some(&oldest));
            assert!(map.newer.len() + map.older.len() <= 2 * KEPT);
        }
        assert_eq!(map.get(&0), None);
    }

    #[test]
    fn a_value_that_was_learnt_again_or_forgotten_does_not_come_back() {
        let mut map = BoundedMap::default();
        (0..=KEPT).for_each(|number| map.learn(number, 0));
        map.learn(1, 1);
        assert_eq!(map.get(&1), Some(&1));
        map.forget(&1);
        assert_eq!(map.get(&1), None);
    }
}
