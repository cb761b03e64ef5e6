//! Reading a damaged chat through the traits of its store.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::base::limits;
use context_core::store::{Branch, ChainEnd, Chat, Window};
use context_core::{BranchName, Chain, ChatRef, MessageId, Node, Result, Store};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};

use super::seam::{all, problem};

/// The messages of a chat that can be read.
#[derive(Default)]
struct Known {
    /// The parent of each message, `None` if it is a root or its parent is lost.
    parents: HashMap<MessageId, Option<MessageId>>,
    /// The messages that follow another one.
    followed: HashSet<MessageId>,
}

pub(super) async fn read(
    store: &dyn Store,
    listed: Chat,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    let chat = listed.chat.clone();
    let history = store.history();
    let found = match history.chat(&chat).await {
        Ok(found) => found.unwrap_or(listed),
        Err(error) => {
            let why = problem(error)?;
            sink.lose(Loss::new(LostKind::ChatDetails, &chat.chat, why).of_chat(&chat));
            listed
        }
    };
    sink.take(SalvagedPiece::Chat(found)).await?;
    let mut lose = |kind, name: String, why: String| {
        sink.lose(Loss::new(kind, name, why).of_chat(&chat));
    };
    let branches = match history.branches(&chat).await {
        Ok(branches) => branches,
        Err(error) => {
            lose(
                LostKind::Branch,
                String::new(),
                format!("the list of branches: {}", problem(error)?),
            );
            Vec::new()
        }
    };
    let checkpoints = match history.checkpoints(&chat).await {
        Ok(checkpoints) => checkpoints,
        Err(error) => {
            let why = format!("the list of checkpoints: {}", problem(error)?);
            lose(LostKind::Checkpoint, String::new(), why);
            Vec::new()
        }
    };
    let fragments = match store.fragments().fragments(&chat).await {
        Ok(fragments) => fragments,
        Err(error) => {
            let why = format!("the list of fragments: {}", problem(error)?);
            lose(LostKind::Fragment, String::new(), why);
            Vec::new()
        }
    };
    for fragment in fragments {
        sink.take(SalvagedPiece::Fragment(fragment)).await?;
    }
    blobs(store, &chat, sink).await?;
    messages(store, &chat, branches, sink).await?;
    for checkpoint in checkpoints {
        sink.take(SalvagedPiece::Checkpoint(checkpoint)).await?;
    }
    streams(store, &chat, sink).await
}

async fn messages(
    store: &dyn Store,
    chat: &ChatRef,
    branches: Vec<Branch>,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    let history = store.history();
    let (placed, damage) = all("all_messages", async |limit, after| {
        history.all_messages(chat, limit, after.as_ref()).await
    })
    .await?;
    let mut known = Known::default();
    for placed in placed {
        take(store, chat, placed.node, placed.parent, &mut known, sink).await?;
    }
    let Some(why) = damage else {
        for branch in branches {
            sink.take(SalvagedPiece::Branch(branch)).await?;
        }
        return Ok(());
    };
    let forward: HashSet<MessageId> = known.parents.keys().cloned().collect();
    let mut rest = 0;
    for branch in branches {
        let Some(head) = branch.head.clone() else {
            sink.take(SalvagedPiece::Branch(branch)).await?;
            continue;
        };
        if !known.parents.contains_key(&head) {
            let end = ChainEnd::Branch(branch.name.clone());
            let (chain, reason) = newest(store, chat, &end, branch.length).await?;
            let mut parent = None;
            for node in &chain {
                if known.parents.contains_key(&node.id) {
                    parent = Some(node.id.clone());
                    continue;
                }
                let id = node.id.clone();
                take(store, chat, Arc::clone(node), parent.replace(id), &mut known, sink).await?;
            }
            let reason = reason.unwrap_or_else(|| why.clone());
            if chain.is_empty() {
                sink.lose(Loss::new(LostKind::Message, &head, reason).of_chat(chat));
            }
        }
        let found = length(&known, &head);
        if found < branch.length {
            let lost = format!("{} messages of branch {}", branch.length - found, branch.name);
            sink.lose(Loss::new(LostKind::Message, lost, why.clone()).of_chat(chat));
            let beginning = beginning(&known, &forward, &head);
            if let Some(beginning) = beginning {
                rest += 1;
                if known.parents.contains_key(&head) {
                    let name = BranchName::from(format!("{}-rest-{rest}", branch.name));
                    let kept = Branch::new(name, Some(head), 0, false, branch.created_at);
                    sink.take(SalvagedPiece::Branch(kept)).await?;
                }
                let mut branch = branch;
                branch.head = Some(beginning);
                sink.take(SalvagedPiece::Branch(branch)).await?;
                continue;
            }
        }
        sink.take(SalvagedPiece::Branch(branch)).await?;
    }
    Ok(())
}

/// Returns the last message in front of the damage of a branch, if there is only one that it can
/// be.
fn beginning(known: &Known, forward: &HashSet<MessageId>, head: &MessageId) -> Option<MessageId> {
    let mut ends = forward.iter().filter(|id| *id != head && !known.followed.contains(*id));
    let end = ends.next()?;
    ends.next().is_none().then(|| end.clone())
}

/// Returns the number of messages from a message back to a root, or to the damage.
fn length(known: &Known, head: &MessageId) -> u64 {
    let (mut count, mut next) = (0, Some(head));
    while let Some(id) = next {
        let Some(parent) = known.parents.get(id) else { break };
        count += 1;
        next = parent.as_ref();
    }
    count
}

/// Returns the newest messages of a branch, as many as can be read, and the problem in front of
/// them.
async fn newest(
    store: &dyn Store,
    chat: &ChatRef,
    end: &ChainEnd,
    length: u64,
) -> Result<(Vec<Arc<Node>>, Option<String>)> {
    let history = store.history();
    let read = async |count: u64| -> Result<Result<Chain, String>> {
        let window = Window::Last(usize::try_from(count).unwrap_or(usize::MAX));
        match history.chain(chat, end, &window).await {
            Ok(chain) => Ok(Ok(chain)),
            Err(error) => problem(error).map(Err),
        }
    };
    let (mut most, mut too_many) = (0, length + 1);
    let (mut chain, mut why) = (Vec::new(), None);
    let mut next = 1;
    while most + 1 < too_many {
        match read(next).await? {
            Ok(read) => {
                most = next;
                chain = read.iter().map(Arc::clone).collect();
                next = (next * 2).min(most + (too_many - most) / 2).max(most + 1);
            }
            Err(problem) => {
                (too_many, why) = (next, Some(problem));
                next = most + (too_many - most) / 2;
            }
        }
    }
    Ok((chain, why))
}

async fn take(
    store: &dyn Store,
    chat: &ChatRef,
    node: Arc<Node>,
    parent: Option<MessageId>,
    known: &mut Known,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    let id = node.id.clone();
    let revisions = match node.revision {
        0 => Vec::new(),
        _ => match store.history().revisions(chat, &id).await {
            Ok(revisions) => revisions,
            Err(error) => {
                let why = problem(error)?;
                sink.lose(Loss::new(LostKind::Revision, &id, why).of_chat(chat));
                Vec::new()
            }
        },
    };
    known.followed.extend(parent.clone());
    known.parents.insert(id, parent.clone());
    sink.take(SalvagedPiece::Message { node, parent, revisions }).await
}

async fn blobs(store: &dyn Store, chat: &ChatRef, sink: &mut dyn SalvageSink) -> Result<()> {
    let Some(blobs) = store.blobs() else { return Ok(()) };
    let (listed, damage) =
        all("blobs", async |limit, after| blobs.blobs(chat, limit, after.as_ref()).await).await?;
    if let Some(why) = damage {
        let why = format!("those behind {} of the chat: {why}", listed.len());
        sink.lose(Loss::new(LostKind::Blob, "", why).of_chat(chat));
    }
    for blob in listed {
        let why = match blobs.read_blob(chat, &blob.id, 0..blob.bytes, None).await {
            Ok(Some(bytes)) => {
                let mut new = context_core::store::NewBlob::new(bytes, blob.created_at);
                new.media_type = blob.media_type;
                sink.take(SalvagedPiece::Blob(new, blob.used_at)).await?;
                continue;
            }
            Ok(None) => "it is listed and not there".to_owned(),
            Err(error) => problem(error)?,
        };
        sink.lose(Loss::new(LostKind::Blob, blob.id, why).of_chat(chat));
    }
    Ok(())
}

async fn streams(store: &dyn Store, chat: &ChatRef, sink: &mut dyn SalvageSink) -> Result<()> {
    let Some(streams) = store.streams() else { return Ok(()) };
    let (listed, damage) =
        all("streams", async |limit, after| streams.streams(chat, limit, after.as_ref()).await)
            .await?;
    if let Some(why) = damage {
        let why = format!("those behind {} of the chat: {why}", listed.len());
        sink.lose(Loss::new(LostKind::Stream, "", why).of_chat(chat));
    }
    for stream in listed {
        let (mut chunks, mut limit) = (Vec::new(), limits::MAX_PAGE);
        let mut damage = None;
        while (chunks.len() as u64) < stream.chunks {
            let from = chunks.len() as u64;
            match streams.read_stream(chat, &stream.id, from, limit).await {
                Ok(Some(part)) if !part.chunks.is_empty() => chunks.extend(part.chunks),
                Ok(_) => break,
                Err(error) if limit > 1 => {
                    damage = Some(problem(error)?);
                    limit = 1;
                }
                Err(error) => {
                    damage = Some(problem(error)?);
                    break;
                }
            }
        }
        if (chunks.len() as u64) < stream.chunks {
            let (kept, all) = (chunks.len(), stream.chunks);
            let why = damage.unwrap_or_default();
            let why = format!("its chunks from number {kept} of {all} on are lost: {why}");
            sink.lose(Loss::new(LostKind::Stream, &stream.id, why).of_chat(chat));
        }
        sink.take(SalvagedPiece::Stream(stream, chunks)).await?;
    }
    Ok(())
}
