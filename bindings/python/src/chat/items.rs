//! Items of OpenAI's Responses API, stored as messages and given back as they were.
//!
//! Each item becomes one message, through the codec of the Responses API, whose source form yields
//! an equal JSON value. An item that the codec cannot read is kept as a part of application data,
//! which no provider is sent.

use std::sync::Arc;

use context_runtime::store::{BranchDeletion, ChainEnd, Commit, ForkName, Node, Target, Window};
use context_runtime::{
    Clock, Data, Error, ErrorKind, Fragment, IdGenerator, Json, Message, MessageId, Part, Result,
    Role, Store, SystemClock, Uuid7Ids, message_codec, model::ModelRequest,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChatOperations;
use crate::json::{JsonArgument, Reply};
use crate::slot::Lent;

/// The codec of items.
const CODEC: &str = "openai-responses";
/// The name of the data part that holds an item the codec cannot read.
const UNREAD: &str = "openai-responses.item";
/// The attempts at a removal while other writers move the branch.
const ATTEMPTS: usize = 100;

/// A request body, as far as items are concerned.
#[derive(Deserialize, Serialize)]
struct Body {
    #[serde(default)]
    input: Vec<Json>,
}

/// Returns the message of an item.
fn message(item: &Json) -> Result<Message> {
    let body = Json::from_serialize(&Body { input: vec![item.clone()] });
    let lifted = body.ok().and_then(|body| message_codec(CODEC).ok()?.lift(&body).ok());
    let mut messages = lifted.map(|lifted| lifted.request.messages).unwrap_or_default();
    if let (Some(message), 0) = (messages.pop(), messages.len())
        && is_equal(&items(&message)?, item)
    {
        return Ok(Arc::unwrap_or_clone(message));
    }
    let data = Data { name: UNREAD.to_owned(), value: item.clone() };
    Ok(Message::new(Role::System, [Part::Data(data)]))
}

fn is_equal(items: &[Json], item: &Json) -> bool {
    let value = |json: &Json| json.parse::<Value>().ok();
    matches!(items, [only] if value(only).is_some() && value(only) == value(item))
}

/// Returns the items of a message: one if an item was stored, or more if the message has more.
fn items(message: &Message) -> Result<Vec<Json>> {
    if let [Part::Data(data)] = message.parts.as_slice()
        && data.name == UNREAD
    {
        return Ok(vec![data.value.clone()]);
    }
    let request = ModelRequest::new([message.clone()]);
    let lowered = message_codec(CODEC)?.lower_source(&request);
    let body = lowered.body.parse::<Body>();
    Ok(body.map_err(|error| Error::new(ErrorKind::Bug, "items", error.to_string()))?.input)
}

impl ChatOperations {
    pub(super) async fn append_items(&self, given: JsonArgument) -> Result<Reply> {
        let given: Vec<Json> = given.parse("append_items")?;
        let messages = given.iter().map(message).collect::<Result<Vec<_>>>()?;
        let mut lent = self.slot.engine().await?;
        lent.engine.set(messages.into_iter().map(|message| Fragment::from(Arc::new(message))));
        lent.engine.save().await?;
        lent.give_back();
        Ok(Reply::none())
    }

    pub(super) async fn items(&self, last: Option<usize>, branch: Option<String>) -> Result<Reply> {
        let end = self.end(branch).await?;
        let mut nodes = last;
        loop {
            let window = nodes.map_or(Window::Whole, Window::Last);
            let chain = self.slot.store.history().chain(&self.slot.chat, &end, &window).await?;
            let mut found = Vec::new();
            for message in chain.iter().filter_map(|node| node.message().ok()) {
                found.extend(items(message)?);
            }
            let wanted = last.unwrap_or(usize::MAX);
            if found.len() < wanted && chain.skipped() > 0 {
                // Some nodes have no items, such as boundaries.
                nodes = nodes.map(|nodes| nodes.saturating_mul(2).max(16));
                continue;
            }
            return Reply::json(&found[found.len().saturating_sub(wanted)..]);
        }
    }

    /// Removes the newest item: a branch that ends before it takes the place of the present one.
    pub(super) async fn pop_item(&self) -> Result<Reply> {
        for _ in 0..ATTEMPTS {
            let lent = self.slot.engine().await?;
            let found = newest(&lent, &*self.slot.store).await?;
            let Some(NewestItem { head, message, before }) = found else {
                lent.give_back();
                return Ok(Reply::none());
            };
            let mut kept = items(&message)?;
            let popped = kept.pop();
            let kept = kept.iter().map(self::message).collect::<Result<Vec<_>>>()?;
            if replace_branch(&lent, &*self.slot.store, &head, before, kept).await? {
                // The engine has seen messages that are gone: the next operation reads again.
                drop(lent);
                match popped {
                    Some(item) => return Ok(Reply::Json(item.as_str().to_owned())),
                    None => continue, // a message without items
                }
            }
        }
        Err(Error::new(ErrorKind::Conflict, "pop_item", "other writers keep moving the branch"))
    }
}

/// The newest message of a branch.
struct NewestItem {
    /// The head of the branch.
    head: MessageId,
    message: Arc<Message>,
    /// The node before the message.
    before: Option<MessageId>,
}

async fn newest(lent: &Lent<'_>, store: &dyn Store) -> Result<Option<NewestItem>> {
    let chat = lent.engine.chat_ref();
    let end = ChainEnd::Branch(lent.engine.branch().clone());
    let mut last = 2;
    loop {
        let chain = store.history().chain(chat, &end, &Window::Last(last)).await?;
        let nodes: Vec<&Arc<Node>> = chain.iter().collect();
        let is_all = chain.skipped() == 0;
        // A boundary may be newer than the newest message.
        let position = nodes.iter().rposition(|node| node.message().is_ok());
        if let (Some(position), Some(head)) = (position, nodes.last())
            && (position > 0 || is_all)
            && let Ok(message) = nodes[position].message()
        {
            let before = position.checked_sub(1).map(|before| nodes[before].id.clone());
            let (head, message) = (head.id.clone(), Arc::clone(message));
            return Ok(Some(NewestItem { head, message, before }));
        }
        if is_all {
            return Ok(None);
        }
        last *= 2;
    }
}

/// Puts a branch that ends at `at`, with these messages behind it, in the place of the present
/// one. Returns false, with everything as it was, if another writer has moved the branch.
async fn replace_branch(
    lent: &Lent<'_>,
    store: &dyn Store,
    head: &MessageId,
    at: Option<MessageId>,
    messages: Vec<Message>,
) -> Result<bool> {
    let (chat, branch) = (lent.engine.chat_ref().clone(), lent.engine.branch().clone());
    let (history, now) = (store.history(), SystemClock.now());
    let node = |message| Arc::new(Node::new(Uuid7Ids.next_id(), message, now));
    let name = ForkName::NextVersionOf(branch.clone());
    let target = Target::Fork { name, at, activate: true };
    let nodes = messages.into_iter().map(node).collect();
    let mut commit = Commit { nodes, ..Commit::new(chat.clone(), target, now) };
    // A fork without messages is identified by its key.
    commit.key = Some(Uuid7Ids.next_id().into());
    let Some(made) = history.commit(commit).await?.committed() else { return Ok(false) };
    let Some(made_branch) = made.branch else { return Ok(false) };
    match history.delete_branch(&chat, &branch, Some(head), now).await {
        Ok(BranchDeletion::Deleted { .. }) => {
            history.rename_branch(&chat, &made_branch, &branch, now).await?;
            Ok(true)
        }
        Err(error) if !error.is_not_found() => Err(error),
        // Another writer has appended to the branch, or has replaced it.
        Ok(_) | Err(_) => {
            history.activate_branch(&chat, &branch, now).await?;
            let _left = history.delete_branch(&chat, &made_branch, made.head.as_ref(), now).await?;
            Ok(false)
        }
    }
}
