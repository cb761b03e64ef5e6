//! Chats and rounds as resources.

use rmcp::model::{
    CompletionInfo, ErrorData, ListResourceTemplatesResult, ListResourcesResult,
    ReadResourceResult, Resource, ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::answer::Lines;
use super::arguments::ReadMessages;
use super::read::read_messages;
use crate::operations::{Operations, TrajectoryFormat};
use crate::{OperationError, links};

/// The scheme and the host of the addresses.
const CHATS: &str = "context://chats/";

pub(super) async fn list(
    operations: &Operations,
    after: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let page = operations.chats(after).await.map_err(protocol_error)?;
    let resources = page.chats.into_iter().map(|chat| {
        let name = chat.title.unwrap_or_else(|| chat.chat.clone());
        let about = format!("A conversation of {} messages", chat.messages);
        Resource::new(uri(&chat.chat), name).with_description(about).with_mime_type("text/plain")
    });
    let mut result = ListResourcesResult::with_all_items(resources.collect());
    result.next_cursor = page.next;
    Ok(result)
}

pub(super) fn templates() -> ListResourceTemplatesResult {
    let chat = ResourceTemplate::new(format!("{CHATS}{{chat}}"), "chat")
        .with_description("The newest messages of a conversation")
        .with_mime_type("text/plain");
    let rounds = ResourceTemplate::new(format!("{CHATS}{{chat}}/rounds"), "rounds")
        .with_description("The recorded run of a conversation as a Mermaid flow chart")
        .with_mime_type("text/plain");
    ListResourceTemplatesResult::with_all_items(vec![chat, rounds])
}

/// Returns names of chats that begin so, newest activity first.
pub(super) async fn complete(
    operations: &Operations,
    begun: &str,
) -> Result<Vec<String>, ErrorData> {
    let page = operations.chats(None).await.map_err(protocol_error)?;
    let names = page.chats.into_iter().map(|chat| links::encode(&chat.chat));
    let fitting = names.filter(|name| name.starts_with(begun));
    Ok(fitting.take(CompletionInfo::MAX_VALUES).collect())
}

pub(super) async fn read(
    operations: &Operations,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let missing = || {
        let text = "there is no such resource; resources/list lists those that there are";
        ErrorData::resource_not_found(text, Some(json!({"uri": uri})))
    };
    let path = uri.strip_prefix(CHATS).ok_or_else(missing)?;
    let (chat, rounds) = match path.strip_suffix("/rounds") {
        Some(chat) => (chat, true),
        None => (path, false),
    };
    let chat = links::decode(chat).filter(|_| !chat.contains('/')).ok_or_else(missing)?;
    let read = match rounds {
        true => run(operations, &chat).await,
        false => newest(operations, &chat).await,
    };
    let text = match read {
        Ok(text) => text,
        Err(error) if !matches!(error.status().as_u16(), 404 | 422) => {
            return Err(protocol_error(error));
        }
        Err(_) if rounds && operations.chat_with_branches(&chat).await.is_ok() => {
            let text = "no run of this chat is recorded: `context import --trajectory` records \
                        those of files";
            return Err(ErrorData::resource_not_found(text, Some(json!({"uri": uri}))));
        }
        Err(_) => return Err(missing()),
    };
    Ok(ReadResourceResult::new(vec![ResourceContents::text(text, uri)]))
}

async fn newest(operations: &Operations, chat: &str) -> Result<String, OperationError> {
    let asked = ReadMessages { chat: chat.to_owned(), ..ReadMessages::default() };
    read_messages(operations, asked).await
}

async fn run(operations: &Operations, chat: &str) -> Result<String, OperationError> {
    let drawn = operations.trajectory(chat, TrajectoryFormat::Mermaid).await?;
    let mut lines = Lines::default();
    String::from_utf8_lossy(&drawn).lines().for_each(|line| lines.add(line));
    Ok(lines.finish())
}

fn uri(chat: &str) -> String {
    format!("{CHATS}{}", links::encode(chat))
}

/// Returns the error of a request that no other request would mend.
fn protocol_error(error: OperationError) -> ErrorData {
    ErrorData::internal_error(error.problem().detail, None)
}
