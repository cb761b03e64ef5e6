//! Classes of trust: how far a memory may be relied on, by its origin.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::message::Origin;
use crate::{Error, Json, Message, Metadata, Part, Role};

/// The metadata key of a message's mark, and the key in the data of a record.
const KEY: &str = "trust";

/// A class of content by its origin, which says how far it may be relied on. The order is from the
/// least class to the greatest.
///
/// The class says who wrote a content, not whether it is true. What a model writes has the class
/// [`Model`](Self::Model), whatever the model has read before.
///
/// ```
/// use context_core::memory::Trust;
/// use context_core::{Message, Role};
///
/// assert!(Trust::Foreign < Trust::Model && Trust::User < Trust::Program);
/// let question = Message::text(Role::User, "My cat is called Tom.");
/// assert_eq!(Trust::of(&question), Trust::User);
/// // A mail that the program shows as a message of the user.
/// assert_eq!(Trust::of(&question.with_trust(Trust::Foreign)), Trust::Foreign);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Trust {
    /// Content of a third party: tool results, pages, mails, files of others.
    Foreign,
    /// Written or inferred by a model.
    Model,
    /// Said by the user.
    User,
    /// Set by the program or its operator.
    Program,
}

impl Trust {
    /// All classes, the least first.
    pub const ALL: [Self; 4] = [Self::Foreign, Self::Model, Self::User, Self::Program];

    /// Returns the stable name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Foreign => "foreign",
            Self::Model => "model",
            Self::User => "user",
            Self::Program => "program",
        }
    }

    /// Returns the class of a message: by its role and [origin](Origin), or less if the message is
    /// [marked](Message::with_trust). A mark that cannot be read stands for the least class.
    pub fn of(message: &Message) -> Self {
        let has_results = message.parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
        let derived = match (message.origin(), message.role) {
            (_, Role::Tool) | (Origin::Recall, _) => Self::Foreign,
            _ if has_results => Self::Foreign,
            (_, Role::Assistant) | (Origin::Checkpoint, _) => Self::Model,
            (Origin::Author | Origin::CarriedOver, Role::User) => Self::User,
            _ => Self::Program,
        };
        match message.metadata.get(KEY) {
            Some(mark) => derived.min(mark.parse().unwrap_or(Self::Foreign)),
            None => derived,
        }
    }

    /// Returns the class that the data of a record hold.
    pub(super) fn in_data(data: &Metadata) -> Option<Self> {
        // A class that this version cannot read is not taken for a higher one.
        data.get(KEY).map(|json: &Json| json.parse().unwrap_or(Self::Foreign))
    }

    pub(super) fn put(self, data: &mut Metadata) {
        data.insert(KEY, serde_json::Value::from(self.as_str()));
    }
}

impl Message {
    /// Marks the message with a class of trust, for content that its role does not tell: a mail or
    /// a page that is shown as a message of the user. A mark lowers the class that memories of the
    /// message have, and never raises it.
    #[must_use]
    pub fn with_trust(mut self, trust: Trust) -> Self {
        trust.put(&mut self.metadata);
        self
    }
}

impl fmt::Display for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Trust {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|trust| trust.as_str() == name).ok_or_else(|| {
            let text = "a class of trust is foreign, model, user or program";
            Error::invalid("trust", text).with("class", name)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolResult;

    #[test]
    fn a_mark_lowers_a_class_and_never_raises_it() {
        let said = |role| Message::text(role, "The gate is open.");
        for (role, own) in [
            (Role::User, Trust::User),
            (Role::Assistant, Trust::Model),
            (Role::Tool, Trust::Foreign),
            (Role::System, Trust::Program),
        ] {
            assert_eq!(Trust::of(&said(role)), own);
            for mark in Trust::ALL {
                assert_eq!(Trust::of(&said(role).with_trust(mark)), own.min(mark));
            }
        }
        let mut damaged = said(Role::User);
        damaged.metadata.insert(KEY, serde_json::Value::from("very"));
        assert_eq!(Trust::of(&damaged), Trust::Foreign);
    }

    #[test]
    fn what_a_program_wrote_is_of_its_class_and_a_result_is_foreign_in_any_role() {
        let said = Message::from("Two messages were left out.");
        assert_eq!(Trust::of(&said.clone().with_origin(Origin::Synthetic)), Trust::Program);
        assert_eq!(Trust::of(&said.clone().with_origin(Origin::Checkpoint)), Trust::Model);
        assert_eq!(Trust::of(&said.clone().with_origin(Origin::CarriedOver)), Trust::User);
        assert_eq!(Trust::of(&said.with_origin(Origin::Recall)), Trust::Foreign);
        let result = ToolResult {
            call_id: "c".to_owned(),
            name: None,
            output: vec![Part::text("18 °C")],
            is_error: false,
            metadata: Metadata::default(),
        };
        let result = Message::new(Role::User, [Part::ToolResult(result)]);
        assert_eq!(Trust::of(&result), Trust::Foreign);
    }

    #[test]
    fn names_read_back() {
        for trust in Trust::ALL {
            assert_eq!(trust.as_str().parse::<Trust>().unwrap(), trust);
            assert_eq!(serde_json::to_value(trust).unwrap(), trust.as_str());
        }
        assert!("Foreign".parse::<Trust>().is_err());
    }
}
