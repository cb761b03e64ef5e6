//! Redacting messages with everything derived from them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use context_core::base::{BlobId, limits};
use context_core::history::{ShownMessage, StoredBoundary};
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{ChatPatch, Commit, HistoryStore, StoredStream, Target, TitleChange};
use context_core::{
    Chain, ChatRef, Encoded, Error, ErrorKind, Message, MessageId, Node, Result, Role, Store,
};

use super::copies::CopySearch;
use super::texts::{Needles, blobs_in};
use super::walk::RemovalWalk;
use super::{
    Remaining, RemainingKind, RemainingReason, RemovalOptions, RemovalReport, memories, reads,
    rounds,
};
use crate::left_branch::LeftBranch;
use crate::tool_output::spilled_blob;

/// The maximum number of attempts at a change that conflicts with other writers of the chat.
const ATTEMPTS: usize = 16;

/// The body kind of a redacted boundary.
pub(crate) const REDACTED: &str = "redacted";

/// The remainder of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redaction {
    /// Its shape stays, so that the conversation remains valid: [`Message::redacted`].
    Words,
    /// Its position and role stay, but models are not shown it: [`Message::deleted`].
    Message,
}

impl Redaction {
    fn of(self, message: &Message) -> Message {
        match self {
            Self::Words => message.redacted(),
            Self::Message => message.deleted(),
        }
    }

    /// Returns the node without its content.
    fn node(self, node: &Node) -> Node {
        match node.role() {
            None => {
                let nothing = Encoded::new(REDACTED, 1, "");
                Node::from_encoded(node.id.clone(), node.kind, node.created_at, nothing)
            }
            Some(role) => {
                // An unreadable message is replaced entirely.
                let unread = Message::text(role, "");
                let new = self.of(node.message().map_or(&unread, Arc::as_ref));
                Node::new(node.id.clone(), new, node.created_at)
            }
        }
    }
}

/// Permanently removes the content of messages and everything derived from them: trajectory nodes,
/// memories, blobs, streams, the title of the chat, earlier revisions, and the text of boundaries
/// about them. Their positions in the graph stay.
///
/// Returns [`ErrorKind::NotFound`] if one of the messages does not exist. Nothing is changed then.
pub async fn redact_messages(
    store: &dyn Store,
    chat: &ChatRef,
    messages: &[MessageId],
    redaction: Redaction,
    options: &RemovalOptions,
) -> Result<RemovalReport> {
    const OPERATION: &str = "redact_messages";
    let mut walk = RemovalWalk::new(options);
    let messages: BTreeSet<MessageId> = messages.iter().cloned().collect();
    let messages = with_branch_summaries(store.history(), chat, &messages).await?;
    let messages: Vec<MessageId> = messages.into_iter().collect();
    let removed = RemovedContent::read(store, chat, &messages, &mut walk).await?;
    options.cancel.check(OPERATION)?;
    // Linked content is removed first: as long as the messages exist, a repeated call finds the
    // links.
    rounds::clear_linked(store, chat, (&messages, &removed.nodes), &mut walk).await?;
    memories::forget_message(store, chat, removed.names.iter(), &mut walk).await?;
    remove_streams(store, chat, &removed, &mut walk).await?;
    remove_title(store, chat, &removed, &mut walk).await?;
    remove_blobs(store, chat, &removed, &mut walk).await?;
    options.cancel.check(OPERATION)?;
    redact_history(store.history(), chat, &removed.nodes, redaction, &mut walk).await?;
    if !options.dry_run {
        // Removes what was captured or recorded in the meantime.
        rounds::clear_linked(store, chat, (&messages, &removed.nodes), &mut walk).await?;
        memories::forget_message(store, chat, removed.names.iter(), &mut walk).await?;
    }
    if options.find_copies {
        let mut copies = CopySearch::new(store, &removed.needles, &walk).of_redacted(chat);
        copies.search(&chat.user).await?;
        let found: Vec<_> = copies.finish().collect();
        walk.add_copies(found.into_iter());
    }
    Ok(walk.finish())
}

/// The content to remove, read before it is deleted.
struct RemovedContent {
    nodes: Vec<Arc<Node>>,
    needles: Needles,
    /// The blobs of the chat that the messages name, or that have their results.
    blobs: BTreeSet<BlobId>,
    /// The ids under which memories may know the messages: their own, and content hashes for
    /// captures without ids.
    names: BTreeSet<MessageId>,
    /// The texts, for comparison with titles.
    texts: Vec<String>,
}

impl RemovedContent {
    async fn read(
        store: &dyn Store,
        chat: &ChatRef,
        messages: &[MessageId],
        walk: &mut RemovalWalk<'_>,
    ) -> Result<Self> {
        const OPERATION: &str = "redact_messages";
        let history = store.history();
        let mut removed = Self {
            nodes: Vec::with_capacity(messages.len()),
            needles: Needles::default(),
            blobs: BTreeSet::new(),
            names: messages.iter().cloned().collect(),
            texts: Vec::new(),
        };
        for ids in messages.chunks(limits::MAX_PAGE) {
            for (id, placed) in ids.iter().zip(history.messages(chat, ids).await?) {
                let placed = placed.ok_or_else(|| Error::not_found(OPERATION, "message", id))?;
                removed.nodes.push(placed.node);
            }
        }
        for node in removed.nodes.clone() {
            removed.add(&node);
            let (revisions, bytes) = walk.count_node(history, chat, &node).await?;
            revisions.iter().for_each(|revision| removed.add(&revision.node));
            walk.plan("message", Some(&chat.chat), &node.id, Some(bytes));
        }
        if let Some(blobs) = store.blobs() {
            let named = std::mem::take(&mut removed.blobs);
            // What is not there is other 64-digit text, a result that was not spilled, or a blob
            // that was removed before.
            let stored = match named.is_empty() {
                true => Vec::new(),
                false => reads::blobs(blobs, chat).await?,
            };
            for id in stored.into_iter().map(|blob| blob.id).filter(|id| named.contains(id)) {
                let range = 0..limits::MAX_BLOB_BYTES as u64;
                if let Some(bytes) = blobs.read_blob(chat, &id, range, None).await? {
                    std::str::from_utf8(&bytes).into_iter().for_each(|it| removed.needles.add(it));
                    removed.blobs.insert(id);
                }
            }
        }
        Ok(removed)
    }

    fn add(&mut self, node: &Node) {
        self.blobs.extend(blobs_in(node.body().bytes()));
        if node.role().is_none() {
            return;
        }
        let Ok(message) = node.message() else { return };
        self.needles.add_message(message);
        // Nothing names a blob whose storing succeeded while the reply was lost.
        self.blobs.extend(message.tool_results().filter_map(spilled_blob));
        self.names.insert(MessageId::from(message.hash().to_string()));
        self.texts.push(message.plain_text().into_owned());
    }

    /// Whether a chat's title consists of words of one of the messages, as imports create it.
    fn has_title(&self, title: &str) -> bool {
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let title = words(title.trim_end_matches('…'));
        !title.is_empty() && self.texts.iter().any(|text| words(text).contains(&title))
    }
}

/// Adds the messages that summarise a part of a branch with one of these messages.
async fn with_branch_summaries(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    messages: &BTreeSet<MessageId>,
) -> Result<BTreeSet<MessageId>> {
    let nodes = reads::messages(history, chat).await?;
    let parents: HashMap<&MessageId, &MessageId> = nodes
        .iter()
        .filter_map(|placed| Some((&placed.node.id, placed.parent.as_ref()?)))
        .collect();
    let readable = nodes.iter().filter(|placed| placed.node.role() == Some(Role::User));
    let mut summaries: Vec<_> = readable
        .filter_map(|placed| Some((&placed.node.id, LeftBranch::of(placed.node.message().ok()?)?)))
        .collect();
    let mut found = messages.clone();
    // A summary may be of a branch with another summary.
    loop {
        let known = found.len();
        summaries.retain(|(id, left)| {
            let mut path = std::iter::successors(Some(&left.last), |id| {
                (**id != left.first).then(|| parents.get(*id).copied()).flatten()
            });
            let is_of_them = path.any(|id| found.contains(id));
            if is_of_them {
                found.insert((*id).clone());
            }
            !is_of_them
        });
        if found.len() == known {
            return Ok(found);
        }
    }
}

/// Removes the streams that are named like one of the messages or its turn, or whose chunks contain
/// its words. A turn has one stream for all its answers, and words of short ones are not searched
/// for.
async fn remove_streams(
    store: &dyn Store,
    chat: &ChatRef,
    removed: &RemovedContent,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let Some(streams) = store.streams() else { return Ok(()) };
    let turn = |node: &Arc<Node>| node.message().ok()?.written_in()?.turn;
    let turns: Vec<String> = removed.nodes.iter().filter_map(turn).collect();
    let ids = removed.nodes.iter().map(|node| node.id.as_str());
    let names: HashSet<&str> = ids.chain(turns.iter().map(String::as_str)).collect();
    let mut gone = Vec::new();
    for stream in reads::streams(streams, chat).await? {
        let is_it = names.contains(stream.id.as_str()) || {
            let chunks = reads::chunks(streams, chat, &stream.id).await?;
            removed.needles.find_in_chunks(&chunks).is_some()
        };
        if is_it {
            gone.push(stream);
        }
    }
    for StoredStream { id, bytes, .. } in gone {
        let is_gone = walk.plan("stream", Some(&chat.chat), &id, Some(bytes))
            || streams.remove_stream(chat, &id).await?;
        walk.report.streams += u64::from(is_gone);
    }
    Ok(())
}

async fn remove_title(
    store: &dyn Store,
    chat: &ChatRef,
    removed: &RemovedContent,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let known = store.history().chat(chat).await?;
    if known.and_then(|known| known.title).is_some_and(|title| removed.has_title(&title)) {
        if !walk.plan("title", Some(&chat.chat), "", None) {
            let patch = ChatPatch { title: TitleChange::Remove, ..ChatPatch::default() };
            store.history().update_chat(chat, &patch, walk.options.now).await?;
        }
        walk.report.titles += 1;
    }
    Ok(())
}

/// Drops the chat's references to blobs that only these messages named.
async fn remove_blobs(
    store: &dyn Store,
    chat: &ChatRef,
    removed: &RemovedContent,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let Some(blobs) = store.blobs().filter(|_| !removed.blobs.is_empty()) else { return Ok(()) };
    let gone: HashSet<&MessageId> = removed.nodes.iter().map(|node| &node.id).collect();
    let rewritten = boundaries_without(store.history(), chat, &gone).await?;
    let rewritten: HashMap<&MessageId, &Arc<Node>> =
        rewritten.iter().map(|node| (&node.id, node)).collect();
    let mut shared = BTreeSet::new();
    for placed in reads::messages(store.history(), chat).await? {
        let id = &placed.node.id;
        if !gone.contains(id) {
            shared.extend(blobs_in(rewritten.get(id).unwrap_or(&&placed.node).body().bytes()));
        }
    }
    for id in &removed.blobs {
        if shared.contains(id) {
            let (kind, reason) = (RemainingKind::Blob, RemainingReason::Shared);
            walk.report.remaining.push(Remaining::new(kind, Some(&chat.chat), id, reason));
        } else if walk.options.dry_run {
            let bytes = blobs.blob(chat, id).await?.map(|blob| blob.bytes);
            walk.report.blobs += u64::from(walk.plan("blob", Some(&chat.chat), id, bytes));
        } else {
            walk.report.blobs += blobs.remove_blob(chat, id).await?.references;
        }
    }
    Ok(())
}

/// Removes the content of stored messages, and the text of boundaries about them.
async fn redact_history(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    nodes: &[Arc<Node>],
    redaction: Redaction,
    walk: &mut RemovalWalk<'_>,
) -> Result<()> {
    let ids: HashSet<&MessageId> = nodes.iter().map(|node| &node.id).collect();
    let mut rewritten = HashSet::new();
    let mut redactions: Vec<Arc<Node>> =
        nodes.iter().map(|node| Arc::new(redaction.node(node))).collect();
    for _ in 0..ATTEMPTS {
        // A boundary that is redacted itself is empty already.
        let boundaries = boundaries_without(history, chat, &ids).await?;
        let boundaries: Vec<_> =
            boundaries.into_iter().filter(|node| !ids.contains(&node.id)).collect();
        rewritten.extend(boundaries.iter().map(|node| node.id.clone()));
        for boundary in &boundaries {
            walk.plan("boundary", Some(&chat.chat), &boundary.id, None);
        }
        redactions.extend(boundaries);
        if redactions.is_empty() || walk.options.dry_run {
            walk.report.boundaries += rewritten.len() as u64;
            let planned = redactions.into_iter().map(|node| (node.id.clone(), node));
            walk.planned.nodes.extend(planned);
            return Ok(());
        }
        for some in redactions.chunks(limits::MAX_COMMIT_ITEMS) {
            let mut commit = Commit::new(chat.clone(), Target::Stay, walk.options.now);
            commit.redactions = some.to_vec();
            let _applied = history.commit(commit).await?;
        }
        // Another writer may have compacted in the meantime.
        redactions = Vec::new();
    }
    Err(Error::new(
        ErrorKind::Conflict,
        "redact_messages",
        "other writers keep compacting the messages around it",
    ))
}

/// Returns the boundaries of the chat with content of these messages, rewritten without it.
async fn boundaries_without(
    history: &dyn HistoryStore,
    chat: &ChatRef,
    messages: &HashSet<&MessageId>,
) -> Result<Vec<Arc<Node>>> {
    let nodes = reads::messages(history, chat).await?;
    let places: HashMap<&MessageId, usize> =
        nodes.iter().enumerate().map(|(place, placed)| (&placed.node.id, place)).collect();
    let parent =
        |placed: &PlacedNode| placed.parent.as_ref().and_then(|id| places.get(id).copied());
    // Parents precede their children.
    let mut behind = vec![false; nodes.len()];
    let mut left = Vec::new();
    for (place, placed) in nodes.iter().enumerate() {
        behind[place] =
            parent(placed).is_some_and(|at| behind[at] || messages.contains(&nodes[at].node.id));
        if !behind[place] || placed.node.kind != NodeKind::Boundary {
            continue;
        }
        let Ok(mut boundary) = StoredBoundary::decode(placed.node.body()) else { continue };
        let path = std::iter::successors(Some(place), |at| parent(&nodes[*at]));
        let mut path: Vec<_> = path.map(|at| Arc::clone(&nodes[at].node)).collect();
        path.reverse();
        let before: HashSet<MessageId> = path.iter().map(|node| node.id.clone()).collect();
        let window = boundary.window(&Chain::from_nodes(0, path), placed.depth as usize);
        let mut is_changed = false;
        for message in messages.iter().filter(|message| before.contains(**message)) {
            let is_it = |shown: &ShownMessage| {
                shown.stored.as_ref().is_some_and(|stored| stored.id == **message)
            };
            if let Some(without) = boundary.without(message, !window.iter().any(is_it)) {
                boundary = without;
                is_changed = true;
            }
        }
        if is_changed {
            let node = &placed.node;
            let without = boundary.encode();
            left.push(Arc::new(Node::from_encoded(
                node.id.clone(),
                node.kind,
                node.created_at,
                without,
            )));
        }
    }
    Ok(left)
}
