//! Operations on the recorded system's store, which names no users.
//!
//! There the id of a chat is unique among all users, here among the chats of its user: another
//! user who creates a chat of the same id gets a chat of their own. A second creation by the same
//! user is a conflict in both.

use context_runtime::{
    BranchName, ChatRef, CheckpointName, Error, GraphFormat, Json, MessageGraph, MessageId, Part,
    Timestamp,
    store::{
        Branch, Chain, ChainEnd, Chat, ChatQuery, Commit, ForkName, NewChat, Node, PlacedNode,
        SearchQuery, SearchScope, Target, Window,
    },
};
use serde_json::{Value, json};

use super::{OperationResult, PeerResult, World, metadata, patch, role_of, show_checkpoint};

/// Records a created chat, once.
pub(super) fn remember(chats: &mut Vec<ChatRef>, chat: &ChatRef) {
    if !chats.contains(chat) {
        chats.push(chat.clone());
    }
}

impl World {
    pub(super) async fn store_operation(&mut self, op: &str, args: &Value) -> PeerResult {
        let (first, second) = (&args[1], &args[2]);
        let name = first.as_str().unwrap_or_default();
        let text = second.as_str().unwrap_or_default();
        let store = std::sync::Arc::clone(&self.store);
        let history = store.history();
        let chat = self.owned(name);
        match op {
            "createChat" | "upsertChat" => self.make_chat(first, op == "upsertChat").await,
            "getChat" => Ok(history.chat(&chat).await?.as_ref().map_or(Value::Null, show_chat)),
            "listChats" => self.list_chats(first).await,
            "storeUpdateChat" => {
                Ok(show_chat(&history.update_chat(&chat, &patch(second), NOW).await?))
            }
            "deleteChat" => {
                let asked = match second["userId"].as_str() {
                    Some(user) => ChatRef::new(user, name),
                    None => chat,
                };
                Ok(history.delete_chat(&asked, None).await?.into())
            }
            "branches" => {
                let mut branches = present(history.branches(&chat).await)?.unwrap_or_default();
                branches.sort_by(|a, b| a.name.cmp(&b.name));
                Ok(branches.iter().map(show_branch).collect())
            }
            "createBranch" => self.make_branch(first).await,
            "setActiveBranch" => {
                history.activate_branch(&chat, &BranchName::from(text), NOW).await?;
                Ok(Value::Null)
            }
            "checkpoints" => {
                let checkpoints = present(history.checkpoints(&chat).await)?.unwrap_or_default();
                Ok(checkpoints.iter().map(show_checkpoint).collect())
            }
            "deleteCheckpoint" => {
                let _existed =
                    history.delete_checkpoint(&chat, &CheckpointName::from(text), NOW).await?;
                Ok(Value::Null)
            }
            "messages" => {
                let branches = history.branches(&chat).await?;
                let active = branches.into_iter().find(|branch| branch.active);
                let end =
                    ChainEnd::Branch(active.map_or_else(BranchName::main, |branch| branch.name));
                Ok(show_chain(&history.chain(&chat, &end, &Window::Whole).await?))
            }
            "graph" => Ok(show_graph(&MessageGraph::read(history, &chat).await?)),
            "visualize" => {
                let graph = present(MessageGraph::read(history, &chat).await)?;
                let drawing = graph.map(|graph| graph.draw(GraphFormat::Text)).unwrap_or_default();
                Ok(show_drawing(name, &drawing).into())
            }
            "search" => self.search(chat, text, &args[3]).await,
            "chain" => match self.find(name).await? {
                Some((chat, _)) => {
                    let end = ChainEnd::Message(name.into());
                    Ok(show_chain(&history.chain(&chat, &end, &Window::Whole).await?))
                }
                None => Ok(json!([])),
            },
            "message" => match self.find(name).await? {
                Some((_, placed)) => Ok(show_row(&placed.node, placed.parent.as_ref())),
                None => Ok(Value::Null),
            },
            _ => Err(OperationResult::missing(format!("operation {op:?}"))),
        }
    }

    /// Shows `[[id, snippet], …]`. A missing chat has no hits.
    async fn search(&self, chat: ChatRef, text: &str, options: &Value) -> PeerResult {
        let mut query = SearchQuery::new(chat.user, text);
        query.scope = SearchScope::Chat(chat.chat);
        let roles = options["roles"].as_array().into_iter().flatten();
        query.roles = roles.filter_map(|role| serde_json::from_value(role.clone()).ok()).collect();
        if let Some(limit) = options["limit"].as_u64() {
            query.limit = usize::try_from(limit).unwrap_or(usize::MAX);
        }
        let store = self.store.search().ok_or_else(|| OperationResult::missing("search"))?;
        let found = present(store.search(&query).await)?.map(|page| page.items).unwrap_or_default();
        Ok(found.iter().map(|hit| json!([hit.message, hit.snippet.text])).collect())
    }

    /// Returns the chat of this name that was created first.
    fn owned(&self, name: &str) -> ChatRef {
        let known = self.chats.iter().find(|chat| chat.chat.as_str() == name);
        known.cloned().unwrap_or_else(|| ChatRef::new("nobody", name))
    }

    /// Finds a message by its id alone.
    async fn find(&self, id: &str) -> PeerResult<Option<(ChatRef, PlacedNode)>> {
        for chat in &self.chats {
            let ids = [MessageId::from(id)];
            let found = present(self.store.history().messages(chat, &ids).await)?;
            if let Some(placed) = found.into_iter().flatten().flatten().next() {
                return Ok(Some((chat.clone(), placed)));
            }
        }
        Ok(None)
    }

    async fn make_chat(&mut self, data: &Value, may_exist: bool) -> PeerResult {
        let text = |key: &str| data[key].as_str().unwrap_or_default();
        let chat = ChatRef::new(text("userId"), text("id"));
        let new = NewChat {
            title: data["title"].as_str().map(String::from),
            metadata: metadata(&data["metadata"]),
            ..NewChat::new(chat.clone(), NOW)
        };
        let created = self.store.history().create_chat(new).await?;
        remember(&mut self.chats, &chat);
        Ok(show_chat(&if may_exist { created.into_chat() } else { created.into_new()? }))
    }

    async fn make_branch(&mut self, data: &Value) -> PeerResult {
        let text = |key: &str| data[key].as_str();
        let target = Target::Fork {
            name: ForkName::Exact(text("name").unwrap_or_default().into()),
            at: text("headMessageId").map(MessageId::from),
            activate: false,
        };
        let chat = self.owned(text("chatId").unwrap_or_default());
        let outcome = self.store.history().commit(Commit::new(chat, target, NOW)).await?;
        match outcome.committed() {
            Some(_) => Ok(Value::Null),
            None => {
                let taken = "the branch exists";
                Err(Error::new(context_runtime::ErrorKind::Conflict, "commit", taken).into())
            }
        }
    }

    async fn list_chats(&self, options: &Value) -> PeerResult {
        let mut users: Vec<_> = match options["userId"].as_str() {
            Some(user) => vec![user.into()],
            None => self.chats.iter().map(|chat| chat.user.clone()).collect(),
        };
        users.sort();
        users.dedup();
        let mut found = Vec::new();
        for user in users {
            let mut query = ChatQuery::new(user);
            if let Some(limit) = options["limit"].as_u64() {
                query.limit = usize::try_from(limit).unwrap_or(usize::MAX);
            }
            if let Some(key) = options["metadata"]["key"].as_str() {
                query.metadata.push((key.to_owned(), Json::from(&options["metadata"]["value"])));
            }
            found.extend(self.store.history().list_chats(&query).await?.items);
        }
        found.sort_by(|a, b| a.chat.chat.chat.cmp(&b.chat.chat.chat));
        let show = found.iter().map(|summary| {
            let mut chat = show_chat(&summary.chat);
            chat["messageCount"] = summary.messages.into();
            chat["branchCount"] = summary.branches.into();
            chat
        });
        Ok(show.collect())
    }
}

/// The time of direct writes to the recorded store.
const NOW: Timestamp = Timestamp::from_micros(1_000_000);

/// Converts "not found" to an empty answer, as the recorded system has it.
fn present<T>(result: Result<T, Error>) -> PeerResult<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn show_chat(chat: &Chat) -> Value {
    json!({
        "id": chat.chat.chat,
        "userId": chat.chat.user,
        "title": chat.title,
        "metadata": (!chat.metadata.is_empty()).then_some(&chat.metadata),
    })
}

pub(super) fn show_branch(branch: &Branch) -> Value {
    json!({"name": branch.name, "head": branch.head, "active": branch.active,
        "count": branch.length})
}

fn show_graph(graph: &MessageGraph) -> Value {
    let nodes = graph.nodes.iter().map(|it| show_row(&it.node, it.parent.as_ref()));
    let branches = graph.branches.iter().map(|it| json!([it.name, it.head, it.active]));
    let checkpoints = graph.checkpoints.iter().map(show_checkpoint);
    json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "branches": branches.collect::<Vec<_>>(),
        "checkpoints": checkpoints.collect::<Vec<_>>(),
    })
}

/// Shows a drawing under the recorded headline. The recorded drawing leaves out branches without
/// messages, and says so if nothing else is there.
fn show_drawing(chat: &str, drawing: &str) -> String {
    let lines: Vec<_> =
        drawing.lines().filter(|line| !line.ends_with("] without messages")).collect();
    let drawn = if lines.is_empty() { "(empty)".to_owned() } else { lines.join("\n") };
    format!("[chat: {chat}]\n\n{drawn}")
}

/// Shows `[[id, parent, role, text], …]`.
fn show_chain(chain: &Chain) -> Value {
    let mut parent = None;
    let rows = chain.iter().map(|node| show_row(node, parent.replace(&node.id)));
    rows.collect()
}

fn show_row(node: &Node, parent: Option<&MessageId>) -> Value {
    json!([node.id, parent, role_of(node), text_of(node)])
}

/// Returns the text parts, joined as the recordings join them.
pub(super) fn text_of(node: &Node) -> String {
    let Ok(message) = node.message() else { return String::new() };
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("|")
}
