//! The turn and the run that wrote a message.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Message;

/// The turn and the run that wrote a message. Kept in the metadata of the message, so no provider
/// is sent it and every store keeps it.
///
/// ```
/// use context_core::message::WrittenIn;
/// use context_core::{Message, Role};
///
/// let written_in = WrittenIn::turn("m7").run("nightly-42");
/// let message = Message::text(Role::Assistant, "Done.").with_written_in(&written_in);
/// assert_eq!(message.written_in(), Some(written_in));
/// assert_eq!(Message::from("An older one.").written_in(), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WrittenIn {
    /// The id of the turn, as [`TurnRef`](crate::runtime::TurnRef) has it: usually the id of the
    /// question's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The id of the run, as the program that runs the agent names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
}

impl WrittenIn {
    /// The metadata key.
    const KEY: &'static str = "written_in";

    /// Creates the record of a turn.
    pub fn turn(id: impl Into<String>) -> Self {
        Self { turn: Some(id.into()), run: None }
    }

    /// Sets the run.
    #[must_use]
    pub fn run(mut self, id: impl Into<String>) -> Self {
        self.run = Some(id.into());
        self
    }
}

impl Message {
    /// Returns the turn and the run that wrote the message. `None` if nobody recorded them.
    pub fn written_in(&self) -> Option<WrittenIn> {
        self.metadata.get(WrittenIn::KEY)?.parse().ok()
    }

    /// Sets the turn and the run that wrote the message.
    #[must_use]
    pub fn with_written_in(mut self, written_in: &WrittenIn) -> Self {
        let ids = [("turn", &written_in.turn), ("run", &written_in.run)];
        let ids =
            ids.into_iter().filter_map(|(key, id)| Some((key.to_owned(), id.clone()?.into())));
        self.metadata.insert(WrittenIn::KEY, Value::Object(ids.collect()));
        self
    }

    /// Removes the record of the turn and the run.
    #[must_use]
    pub fn without_written_in(mut self) -> Self {
        self.metadata.remove(WrittenIn::KEY);
        self
    }
}
