//! Persisted fragments and the log of their versions.

use context_core::base::FragmentId;
use context_core::store::{FragmentLog, FragmentVersion, StoredFragment};
use context_core::{MessageId, Result, Timestamp};

use super::ChatState;

impl ChatState {
    /// Returns the persisted fragments, in the order in which they were first put.
    pub fn fragments(&self) -> &[StoredFragment] {
        &self.fragments
    }

    /// Returns the versions of the persisted fragments.
    pub fn fragment_log(&self) -> &FragmentLog {
        &self.fragment_log
    }

    /// Deletes all earlier versions of the persisted fragments. Returns their number.
    pub fn clear_fragment_log(&mut self) -> u64 {
        let before = self.fragment_log.versions().len();
        self.fragment_log = FragmentLog::unrecorded((1..).zip(self.fragments.iter().cloned()));
        (before - self.fragments.len()) as u64
    }

    /// Stores fragments.
    pub fn put_fragments(&mut self, fragments: &[StoredFragment], at: Timestamp) -> Result<()> {
        fragments.iter().try_for_each(|fragment| fragment.check("put_fragments"))?;
        self.place_fragments(fragments.to_vec(), at, None);
        self.touch(at);
        Ok(())
    }

    /// Removes a fragment. Returns false if it did not exist.
    pub fn remove_fragment(&mut self, id: &FragmentId, at: Timestamp) -> bool {
        self.touch(at);
        let found = self.fragments.iter().position(|old| old.id.as_ref() == Some(id));
        let Some(found) = found else { return false };
        let old = self.fragments.remove(found);
        let (number, place) = (self.fragment_log.last_number() + 1, self.place_of(&old));
        self.fragment_log.push(FragmentVersion::removed(number, place, id.clone(), at));
        true
    }

    /// Stores each fragment in the place of the one that it replaces, or at the end. `message` is
    /// the first new message of the commit.
    pub(super) fn place_fragments(
        &mut self,
        fragments: Vec<StoredFragment>,
        at: Timestamp,
        message: Option<&MessageId>,
    ) {
        for new in fragments {
            let place = match self.fragments.iter().position(|old| old.is_replaced_by(&new)) {
                Some(found) if self.fragments[found] == new => continue,
                Some(found) => {
                    let old = std::mem::replace(&mut self.fragments[found], new.clone());
                    self.place_of(&old)
                }
                None => {
                    self.fragments.push(new.clone());
                    let places = self.fragment_log.versions().iter().map(|it| it.place);
                    places.max().unwrap_or(0) + 1
                }
            };
            let number = self.fragment_log.last_number() + 1;
            let version = FragmentVersion::stored(number, place, new);
            self.fragment_log.push(version.written(Some(at), message.cloned()));
        }
    }

    /// Returns the place of a stored fragment: that of the newest version with its content.
    fn place_of(&self, fragment: &StoredFragment) -> u64 {
        let mut versions = self.fragment_log.versions().iter().rev();
        let newest = versions.find(|version| version.fragment.as_ref() == Some(fragment));
        newest.map_or(0, |version| version.place)
    }
}
