//! Recalled memories as a fragment for the prompt.

use serde::{Deserialize, Serialize};

use super::body::data_of;
use crate::base::MisfitError;
use crate::fragment::FragmentBody;
use crate::{Fragment, FragmentData};

/// Memories recalled from earlier conversations. Created by
/// [`recalled_memories`](crate::memory::recalled_memories).
///
/// Kind `recalledMemories`, version 1. As a fragment it is [untrusted](Fragment::untrusted): every
/// renderer marks it as data and keeps its text from breaking out of its element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecalledMemories {
    /// An explanation for the model, in one sentence.
    pub note: FragmentData,
    /// A list of memories. Each is a map with its `text`, preceded by kind, time, source and
    /// speaker as far as they are known.
    pub memories: FragmentData,
}

impl From<RecalledMemories> for Fragment {
    fn from(memories: RecalledMemories) -> Self {
        memories.into_fragment().with_codec(RecalledMemories::KIND)
    }
}

impl FragmentBody for RecalledMemories {
    const KIND: &'static str = "recalledMemories";
    const VERSION: u16 = 1;

    fn into_fragment(self) -> Fragment {
        let data = FragmentData::map([("note", self.note), ("memories", self.memories)]);
        Fragment::new(Self::KIND, data).untrusted()
    }

    fn from_fragment(fragment: &Fragment) -> Result<Self, MisfitError> {
        let FragmentData::Map(map) = data_of(fragment, Self::KIND)? else {
            return Err(MisfitError::Shape { part: "its data", expected: "map" });
        };
        match (map.get("note"), map.get("memories")) {
            (Some(note), Some(memories)) if map.len() == 2 => {
                Ok(Self { note: note.clone(), memories: memories.clone() })
            }
            _ => Err(MisfitError::Shape { part: "its data", expected: "map of note and memories" }),
        }
    }
}
