//! Iteration over stored keys that terminates whatever the store returns.

use std::fmt::Display;

use crate::store::{Cursor, Page};
use crate::{Error, ErrorKind, Result};

/// A check that the keys of a walk strictly increase. A damaged index may return keys that it has
/// returned before; a walk that continues after the last key would then never end.
///
/// ```
/// use context_core::store::KeyOrder;
///
/// let mut order = KeyOrder::new("check", "stream");
/// order.next(1)?;
/// order.next(5)?;
/// assert!(order.next(5).is_err());
/// # Ok::<_, context_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct KeyOrder<K> {
    operation: &'static str,
    thing: &'static str,
    last: Option<K>,
}

impl<K: Ord> KeyOrder<K> {
    /// Creates the check for a walk of this operation over things of this name.
    pub fn new(operation: &'static str, thing: &'static str) -> Self {
        Self { operation, thing, last: None }
    }

    /// Creates the check for a walk that continues after a key.
    pub fn after(operation: &'static str, thing: &'static str, last: Option<K>) -> Self {
        Self { operation, thing, last }
    }

    /// Checks the next key. [`ErrorKind::Corrupt`] if it is not greater than the last one.
    pub fn next(&mut self, key: K) -> Result<()> {
        if self.last.as_ref().is_some_and(|last| *last >= key) {
            return Err(out_of_order(self.operation, self.thing));
        }
        self.last = Some(key);
        Ok(())
    }
}

/// A cycle detector for the pages of a listing, whose cursors are opaque. It remembers one cursor,
/// and replaces it whenever the number of pages has doubled (Brent's algorithm). So it detects
/// every cycle after a few rounds through it.
///
/// ```
/// use context_core::store::{Cursor, Page, PageWalk};
///
/// let mut walk = PageWalk::new("list_chats", "chat");
/// let page = |next: &str| Page { items: vec![1], next: Some(Cursor::new(next)) };
/// assert_eq!(walk.next(&page("a"))?, Some(Cursor::new("a")));
/// assert_eq!(walk.next(&page("b"))?, Some(Cursor::new("b")));
/// assert!(walk.next(&page("b")).is_err());
/// # Ok::<_, context_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PageWalk {
    operation: &'static str,
    thing: &'static str,
    anchor: Option<Cursor>,
    pages: usize,
    /// The number of pages at which the anchor moves.
    moves: usize,
}

impl PageWalk {
    /// Creates the detector for a walk of this operation over things of this name.
    pub fn new(operation: &'static str, thing: &'static str) -> Self {
        Self { operation, thing, anchor: None, pages: 0, moves: 1 }
    }

    /// Takes a page and returns the cursor of the next one. [`ErrorKind::Corrupt`] if that cursor
    /// was seen before.
    pub fn next<T>(&mut self, page: &Page<T>) -> Result<Option<Cursor>> {
        let Some(next) = &page.next else { return Ok(None) };
        if self.anchor.as_ref() == Some(next) {
            return Err(out_of_order(self.operation, self.thing));
        }
        self.pages += 1;
        if self.pages == self.moves {
            self.anchor = Some(next.clone());
            self.moves = self.moves.saturating_mul(2);
        }
        Ok(Some(next.clone()))
    }

    /// Reads all pages, each with the cursor of the page before it, and returns their items.
    pub async fn collect<T, F>(
        mut self,
        mut read: impl FnMut(Option<Cursor>) -> F,
    ) -> Result<Vec<T>>
    where
        F: Future<Output = Result<Page<T>>>,
    {
        let (mut all, mut after) = (Vec::new(), None);
        loop {
            let page = read(after).await?;
            after = self.next(&page)?;
            all.extend(page.items);
            if after.is_none() {
                return Ok(all);
            }
        }
    }
}

fn out_of_order(operation: &'static str, thing: impl Display) -> Error {
    Error::new(ErrorKind::Corrupt, operation, "stored keys are not in order").with("thing", thing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_in_a_circle_of_any_length_ends() {
        for (lead, circle) in [(0, 1), (0, 2), (3, 1), (5, 7), (100, 64), (1, 1000)] {
            let mut walk = PageWalk::new("list_chats", "chat");
            let mut at = 0;
            let taken = (0..100_000).position(|_| {
                at = if at + 1 < lead + circle { at + 1 } else { lead };
                let next = Some(Cursor::new(at.to_string()));
                walk.next(&Page::<u8> { items: vec![], next }).is_err()
            });
            let taken = taken.expect("noticed");
            assert!(taken <= 4 * (lead + circle) + 4, "{lead} {circle}: {taken}");
        }
    }

    #[test]
    fn a_walk_that_goes_forward_is_let_through() {
        let mut walk = PageWalk::new("list_chats", "chat");
        for n in 0..10_000 {
            let page = Page::<u8> { items: vec![], next: Some(Cursor::new(n.to_string())) };
            assert_eq!(walk.next(&page).unwrap(), page.next);
        }
        assert_eq!(walk.next(&Page::<u8> { items: vec![], next: None }).unwrap(), None);
    }
}
