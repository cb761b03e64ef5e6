//! The message that says that messages were left out.

use context_core::message::Origin;
use context_core::{Json, Message};

/// Returns the message that replaces these messages. A gap among them counts as the messages it
/// stands for.
pub(crate) fn message<'m>(left_out: impl IntoIterator<Item = &'m Message>) -> Message {
    let count: u64 = left_out.into_iter().map(stands_for).fold(0, u64::saturating_add);
    let text = match count {
        1 => "[1 earlier message was left out here]".to_owned(),
        _ => format!("[{count} earlier messages were left out here]"),
    };
    let record = Json::from(i64::try_from(count).unwrap_or(i64::MAX));
    Message::from(text).with_origin_record(Origin::Gap, record)
}

fn stands_for(message: &Message) -> u64 {
    let count = message.origin_record().filter(|_| message.is_gap());
    count.map_or(1, |count| count.parse().unwrap_or(1))
}
