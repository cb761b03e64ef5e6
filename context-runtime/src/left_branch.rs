//! The origin of a message with the summary of a branch that was left.

#[cfg(feature = "summarize")]
use context_core::Json;
use context_core::message::Origin;
use context_core::{BranchName, Message, MessageId};
use serde::{Deserialize, Serialize};

/// The origin of a message that [summarises](crate::ContextEngine::summarize_branch) a branch that
/// was left. Its metadata hold it, as the record of the [origin](Message::origin_record).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LeftBranch {
    /// The name of the branch at that time.
    pub branch: BranchName,
    /// The last message that it shares with the branch of the summary. `None` if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MessageId>,
    /// The first message that was summarised.
    pub first: MessageId,
    /// The last message that was summarised: the head of the branch.
    pub last: MessageId,
    /// The number of messages.
    pub messages: usize,
}

#[derive(Serialize, Deserialize)]
struct Record {
    left_branch: LeftBranch,
}

impl LeftBranch {
    /// Reads the origin of a message. `None` if it is no such summary.
    pub fn of(message: &Message) -> Option<Self> {
        let record = message.origin_record().filter(|_| message.origin() == Origin::Synthetic)?;
        record.parse::<Record>().ok().map(|record| record.left_branch)
    }

    /// Returns a synthetic message with this origin.
    #[cfg(feature = "summarize")]
    pub(crate) fn mark(&self, message: Message) -> Message {
        let record = Json::from_serialize(&Record { left_branch: self.clone() });
        match record {
            Ok(record) => message.with_origin_record(Origin::Synthetic, record),
            Err(_) => message,
        }
    }
}
