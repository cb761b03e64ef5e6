//! Import and export of files through a store in memory.

use std::collections::HashMap;
use std::sync::Arc;

use context_core::base::limits;
use context_core::message::PlacedNode;
use context_core::store::{
    ChainEnd, ChatPatch, CommitOutcome, Created, HistoryStore, NewChat, Window,
};
use context_core::{
    BranchName, CancelSignal, ChatRef, Message, MessageId, Metadata, Node, Store, Timestamp,
};
use context_store_inmem::InMemoryStore;
use context_transcript::{
    ChatContent, ExportedChat, FileText, Format, TranscriptChat, TranscriptError, TranscriptSource,
    Tree, TreeDifference, TreeGrowth, read, to_file_text,
};
use serde_json::Value;

/// Reads a file without a store.
pub(crate) fn read_text(
    name: &str,
    text: &str,
    format: Option<Format>,
) -> Result<Vec<TranscriptChat>, TranscriptError> {
    Ok(read(&FileText::new(name, text), format, Timestamp::default())?.chats)
}

/// An imported chat.
pub(crate) struct StoredChat {
    pub(crate) title: Option<String>,
    /// Branches and their heads.
    pub(crate) heads: Vec<(String, String)>,
    pub(crate) nodes: Vec<PlacedNode>,
    pub(crate) diagnostics: Vec<String>,
}

impl StoredChat {
    /// Returns the message ids of a branch, from the root.
    pub(crate) fn chain(&self, branch: &str) -> Vec<String> {
        let find = |id: &str| self.nodes.iter().find(|placed| placed.node.id == id);
        let mut at =
            self.heads.iter().find(|(name, _)| name == branch).and_then(|(_, head)| find(head));
        let mut chain = Vec::new();
        while let Some(placed) = at {
            chain.push(placed.node.id.to_string());
            at = placed.parent.as_ref().and_then(|parent| find(parent.as_str()));
        }
        chain.reverse();
        chain
    }
}

/// The result of an import and an export.
pub(crate) struct RoundTrip {
    pub(crate) chats: Vec<StoredChat>,
    pub(crate) broken: Vec<(usize, String)>,
    /// The exported file.
    pub(crate) text: String,
}

async fn nodes(history: &dyn HistoryStore, chat: &ChatRef) -> Vec<PlacedNode> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await.unwrap();
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Imports a file into a store and exports it again.
pub(crate) fn round_trip(
    name: &str,
    text: &str,
    format: Option<Format>,
) -> Result<RoundTrip, TranscriptError> {
    let reading = read(&FileText::new(name, text), format, Timestamp::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    Ok(runtime.block_on(async {
        let store = InMemoryStore::default();
        let (mut chats, mut exported) = (Vec::new(), Vec::new());
        for (number, chat) in reading.chats.into_iter().enumerate() {
            let (stored, back) = import_and_export(&store, number, chat).await;
            chats.push(stored);
            exported.push(back);
        }
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, []);
        let lines = reading.broken.listed().iter();
        let broken = lines.map(|broken| (broken.line, broken.error.problem())).collect();
        RoundTrip { chats, broken, text: to_file_text(&exported) }
    }))
}

async fn import_and_export(
    store: &InMemoryStore,
    number: usize,
    draft: TranscriptChat,
) -> (StoredChat, ExportedChat) {
    let chat = ChatRef::new("u", format!("c{number}"));
    let mut new = NewChat::new(chat.clone(), Timestamp::default());
    new.title = draft.title;
    new.metadata = Metadata::default().with(TranscriptSource::KEY, draft.source.to_json());
    let history = store.history();
    assert!(matches!(history.create_chat(new.clone()).await.unwrap(), Created::New(_)));
    let commits = draft.tree.commits(&chat, new.at).unwrap();
    for commit in &commits {
        let outcome = history.commit(commit.clone()).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)));
    }
    for commit in commits.into_iter().filter(|commit| !commit.nodes.is_empty()) {
        let outcome = history.commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Replayed(_)));
    }
    assert!(grow(history, &chat, &draft.tree).await.unwrap().is_empty());
    let (mut stored, exported) = export(history, &chat, &BranchName::main()).await;
    let diagnostics = draft.diagnostics.iter();
    stored.diagnostics = diagnostics
        .map(|diagnostic| format!("{}: {}", diagnostic.path, diagnostic.message))
        .collect();
    (stored, exported)
}

/// Returns a chat and its export. The export of a list of messages is that of the branch.
async fn export(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    branch: &BranchName,
) -> (StoredChat, ExportedChat) {
    let kept = history.chat(chat).await.unwrap().unwrap();
    let source = TranscriptSource::of(&kept.metadata).unwrap().unwrap();
    let (nodes, branches) = (nodes(history, chat).await, history.branches(chat).await.unwrap());
    let (content, lost) = if source.format.is_log() {
        ChatContent::of_log(&source, &nodes).unwrap()
    } else {
        let end = ChainEnd::Branch(branch.clone());
        let chain = history.chain(chat, &end, &Window::Whole).await.unwrap();
        let messages = chain.iter().map(|node| Arc::clone(node.message().unwrap())).collect();
        let (messages, lost) = source.format.lower_source(messages);
        (ChatContent::Messages(messages), lost)
    };
    assert_eq!(lost, []);
    let head = |head: &Option<MessageId>| head.as_ref().map(ToString::to_string);
    let heads =
        branches.iter().filter_map(|branch| Some((branch.name.to_string(), head(&branch.head)?)));
    let heads = heads.collect();
    let stored = StoredChat { title: kept.title, heads, nodes, diagnostics: Vec::new() };
    (stored, ExportedChat::new(Some(source), content))
}

/// Adds to a chat what it does not have of a tree. Returns the growth that is left.
async fn grow<'a>(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    tree: &'a Tree,
) -> Result<TreeGrowth<'a>, TreeDifference> {
    let branches = history.branches(chat).await.unwrap();
    let mut growth = TreeGrowth::new(tree, &branches, &HashMap::new())?;
    growth.compare(&history.messages(chat, &growth.compared()).await.unwrap())?;
    if !growth.is_empty() {
        if let Some(branch) = growth.activate() {
            history.activate_branch(chat, branch, Timestamp::default()).await.unwrap();
        }
        for commit in growth.commits(chat, Timestamp::default()) {
            let outcome = history.commit(commit).await.unwrap();
            assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
        }
        return Box::pin(grow(history, chat, tree)).await;
    }
    Ok(growth)
}

/// Imports states of a file one after the other into one store, each also into a fresh one, and
/// checks after each that both have the same messages, ends of branches and export. States that are
/// no transcript yet are left out.
#[track_caller]
pub(crate) fn check_grows(name: &str, states: impl IntoIterator<Item = String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = InMemoryStore::default();
        for text in states {
            let file = FileText::new(name, &*text);
            let Ok(reading) = read(&file, None, Timestamp::default()) else { continue };
            for (number, draft) in reading.chats.into_iter().enumerate() {
                let chat = ChatRef::new("u", format!("c{number}"));
                let mut new = NewChat::new(chat.clone(), Timestamp::default());
                new.metadata =
                    Metadata::default().with(TranscriptSource::KEY, draft.source.to_json());
                let history = store.history();
                let created = history.create_chat(new.clone()).await.unwrap();
                if let Created::Existing(_) = created {
                    let patch = ChatPatch { set: new.metadata, ..ChatPatch::default() };
                    let _ = history.update_chat(&chat, &patch, new.at).await.unwrap();
                }
                let left = grow(history, &chat, &draft.tree).await;
                let left = left.unwrap_or_else(|difference| panic!("{difference}: {text}"));
                assert!(left.is_empty());
                let main = draft.tree.branches().find(|(name, _)| *name == &BranchName::main());
                let main = main.map(|(_, head)| head.id.clone());
                let branches = history.branches(&chat).await.unwrap();
                let active = branches.into_iter().find(|branch| branch.active).unwrap();
                assert_eq!(active.head, main, "{text}");
                let (grown, exported) = export(history, &chat, &active.name).await;
                let fresh = InMemoryStore::default();
                let (whole, expected) = import_and_export(&fresh, number, draft).await;
                let content = |stored: &StoredChat| {
                    let node = |placed: &PlacedNode| {
                        let body = placed.node.body().bytes().clone();
                        (placed.node.id.clone(), placed.parent.clone(), body)
                    };
                    let mut nodes: Vec<_> = stored.nodes.iter().map(node).collect();
                    let mut heads: Vec<_> =
                        stored.heads.iter().map(|(_, head)| head.clone()).collect();
                    nodes.sort();
                    heads.sort();
                    (nodes, heads)
                };
                assert_eq!(content(&grown), content(&whole), "{text}");
                let json = |chat: &ExportedChat| values(&chat.to_text());
                assert_eq!(json(&exported), json(&expected), "{text}");
            }
        }
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, []);
    });
}

/// Returns the states of a file that is written line by line.
pub(crate) fn line_by_line(text: &str) -> impl Iterator<Item = String> + '_ {
    let ends = text.match_indices('\n').map(|(at, _)| at + 1).chain([text.len()]);
    ends.map(|end| text[..end].to_owned())
}

/// Returns the export of a chat that was imported from this text and then changed.
pub(crate) fn changed(
    text: &str,
    change: impl FnOnce(&mut Vec<PlacedNode>),
) -> (String, Vec<String>) {
    let mut stored = round_trip("a.jsonl", text, None).unwrap().chats.remove(0);
    change(&mut stored.nodes);
    let source = read_text("a.jsonl", text, None).unwrap().remove(0).source;
    let (content, lost) = ChatContent::of_log(&source, &stored.nodes).unwrap();
    let exported = ExportedChat::new(Some(source), content);
    (exported.to_text(), lost.iter().map(ToString::to_string).collect())
}

/// Returns a message after an amendment that dropped its source metadata.
pub(crate) fn amended(placed: &PlacedNode, text: &str) -> PlacedNode {
    let message = Message::text(placed.node.role().unwrap(), text);
    let by = Node::new(placed.node.id.clone(), message, Timestamp::default());
    PlacedNode::new(placed.node.amended(&by), placed.parent.clone(), placed.depth)
}

/// Returns the JSON values of a text.
pub(crate) fn values(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().unwrap()
}

/// Checks that the exported file has equal values, also if it is imported line by line. Returns the
/// formats of the conversations.
#[track_caller]
pub(crate) fn check_equal(name: &str, text: &str, conversations: usize) -> Vec<Format> {
    check_grows(name, line_by_line(text));
    check_equal_at_once(name, text, conversations)
}

/// Checks that the exported file has equal values. For files that no program would write line by
/// line.
#[track_caller]
pub(crate) fn check_equal_at_once(name: &str, text: &str, conversations: usize) -> Vec<Format> {
    let passed = round_trip(name, text, None).unwrap();
    assert_eq!(passed.chats.len(), conversations, "{text}");
    assert_eq!(passed.broken, []);
    assert_eq!(values(&passed.text), values(text));
    read_text(name, text, None).unwrap().iter().map(|chat| chat.source.format).collect()
}
