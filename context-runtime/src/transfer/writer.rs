//! Writing a chat to a store, with only the calls that every store has.
//!
//! The order of the messages is independent of branches. So they are written through temporary
//! branches: each message extends the end of one of them, or begins a new one where it forks. When
//! all messages are written, the real branches are set to their heads, in their order, and the
//! temporary ones are deleted. A chat whose first branch arrives without interruption, as most do,
//! needs no temporary branch.

mod finish;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use context_core::base::{BlobId, DiagnosticCode, Severity};
use context_core::store::{
    Branch, Chat, Checkpoint, Commit, CommitOutcome, Created, ForkName, HistoryStore, NewBlob,
    NewChat, Revision, StoredFragment, Target,
};
use context_core::{
    BranchName, ChatRef, Diagnostic, Error, ErrorKind, MessageId, Node, Result, Store,
};

use super::record::{BlobRecord, ChatMessageRecord, ChatRecord};

/// The maximum number of messages in one commit, and the approximate maximum of their bytes.
const BATCH: usize = 1000;
const BATCH_BYTES: usize = 4 << 20;

/// The metadata key that marks an incomplete chat.
pub(super) const INCOMPLETE: &str = "context.incomplete";

/// The result of writing a chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct WrittenChat {
    /// The number of messages.
    pub messages: u64,
    /// The number of branches.
    pub branches: u64,
    /// Inconsistencies, and how they were resolved.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes a chat record by record. The chat has temporary branches until [`finish`](Self::finish).
pub struct ChatWriter<'a> {
    store: &'a dyn Store,
    chat: ChatRef,
    source: Chat,
    branches: Vec<Branch>,
    checkpoints: Vec<Checkpoint>,
    fragments: Vec<StoredFragment>,
    /// The branch that ends with each message, as far as it is written.
    tips: HashMap<MessageId, BranchName>,
    segment: Option<Segment>,
    segments: usize,
    written: WrittenChat,
}

/// The branch that is being written to.
struct Segment {
    name: BranchName,
    /// The parent of the first buffered message.
    end: Option<MessageId>,
    exists: bool,
    waiting: Vec<ChatMessageRecord>,
    /// The ids of the buffered messages.
    ids: HashSet<MessageId>,
    bytes: usize,
}

impl<'a> ChatWriter<'a> {
    /// Creates the chat, or returns `None` if it exists. An incomplete chat of an earlier writer,
    /// whose process ended, is deleted and written again.
    pub async fn create(store: &'a dyn Store, to: ChatRef, source: &Chat) -> Result<Option<Self>> {
        let mut new = NewChat::new(to.clone(), source.created_at);
        new.title.clone_from(&source.title);
        new.metadata = source.metadata.clone().with(INCOMPLETE, 1);
        let history = store.history();
        if let Created::Existing(found) = history.create_chat(new.clone()).await? {
            let left =
                found.metadata.get(INCOMPLETE).is_some() && history.delete_chat(&to, None).await?;
            if !left || matches!(history.create_chat(new).await?, Created::Existing(_)) {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            store,
            chat: to,
            source: source.clone(),
            branches: Vec::new(),
            checkpoints: Vec::new(),
            fragments: Vec::new(),
            tips: HashMap::new(),
            segment: None,
            segments: 0,
            written: WrittenChat::default(),
        }))
    }

    /// The number of messages taken.
    pub fn messages(&self) -> u64 {
        self.written.messages
    }

    /// Takes the next record.
    pub async fn push(&mut self, record: ChatRecord) -> Result<()> {
        match record {
            ChatRecord::Branch(branch) => self.branches.push(branch),
            ChatRecord::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint),
            ChatRecord::Fragment(fragment) => self.fragments.push(fragment),
            ChatRecord::Blob(blob) => self.put_blob(blob).await?,
            ChatRecord::Message(message) => self.push_messages(vec![message]).await?,
            ChatRecord::End { messages } if messages != self.written.messages => {
                let text = format!(
                    "{messages} messages were announced, {} arrived",
                    self.written.messages
                );
                self.note("chat", text);
            }
            _ => {}
        }
        Ok(())
    }

    async fn put_blob(&mut self, record: BlobRecord) -> Result<()> {
        let BlobRecord { bytes, media_type, created_at, used_at } = record;
        let Some(blobs) = self.store.blobs() else {
            let about = format!("blob {}", BlobId::of(&bytes));
            self.note(about, "this store keeps no blobs; left out");
            return Ok(());
        };
        let mut new = NewBlob::new(bytes, created_at);
        new.media_type = media_type;
        let blob = blobs.put_blob(&self.chat, new).await?;
        if used_at > created_at {
            blobs.read_blob(&self.chat, &blob.id, 0..0, Some(used_at)).await?;
        }
        Ok(())
    }

    /// Takes messages. Takes messages again whose expected predecessor was left out.
    async fn push_messages(&mut self, messages: Vec<ChatMessageRecord>) -> Result<()> {
        let mut left: VecDeque<_> = messages.into();
        while let Some(message) = left.pop_front() {
            for again in self.push_message(message).await?.into_iter().rev() {
                left.push_front(again);
            }
        }
        Ok(())
    }

    /// Takes a message. Returns messages that must be taken again.
    async fn push_message(&mut self, message: ChatMessageRecord) -> Result<Vec<ChatMessageRecord>> {
        if self.segment.as_ref().is_some_and(|segment| segment.ids.contains(&message.node.id)) {
            self.note_used(&message.node.id);
            return Ok(Vec::new());
        }
        let follows =
            self.segment.as_ref().is_some_and(|segment| segment.last() == message.parent.as_ref());
        if !follows {
            let mut left = self.flush().await?;
            if !left.is_empty() {
                left.push(message);
                return Ok(left);
            }
            let known = message.parent.as_ref().and_then(|parent| self.tips.get(parent)).cloned();
            let first = self.segments == 0;
            let name = match known.clone() {
                Some(name) => name,
                None if first => BranchName::main(),
                None => self.spare(&self.segments.to_string()),
            };
            self.segments += usize::from(known.is_none());
            // The first branch is `main`, which was created with the chat. It can only begin with a
            // root.
            let exists = known.is_some() || first && message.parent.is_none();
            self.segment = Some(Segment::new(name, message.parent.clone(), exists));
        }
        self.written.messages += 1;
        let Some(segment) = &mut self.segment else { return Ok(Vec::new()) };
        segment.push(message);
        if segment.waiting.len() >= BATCH || segment.bytes >= BATCH_BYTES {
            return self.flush().await;
        }
        Ok(Vec::new())
    }

    fn note_used(&mut self, id: &MessageId) {
        self.note(format!("message {id}"), "its id is already used; left out");
    }

    /// Returns a name that no real branch has.
    fn spare(&self, number: &str) -> BranchName {
        let mut prefix = "import".to_owned();
        while self.branches.iter().any(|branch| branch.name.as_str().starts_with(&prefix)) {
            prefix.push(':');
        }
        format!("{prefix}:{number}").into()
    }

    fn history(&self) -> &'a dyn HistoryStore {
        self.store.history()
    }

    fn note(&mut self, path: impl Into<String>, text: impl Into<String>) {
        let note = Diagnostic::new(DiagnosticCode::BrokenInput, Severity::Warning, path, text);
        self.written.diagnostics.push(note);
    }

    /// Writes the buffered messages. Returns those after a message that was left out, since they
    /// need another position.
    async fn flush(&mut self) -> Result<Vec<ChatMessageRecord>> {
        let Some(mut segment) = self.segment.take() else { return Ok(Vec::new()) };
        let (mut waiting, mut left) = (segment.take(), Vec::new());
        while !waiting.is_empty() {
            let (first, forms): (Vec<_>, Vec<_>) =
                waiting.iter().map(ChatMessageRecord::history).unzip();
            let (branch, at) = (segment.name.clone(), segment.end.clone());
            let target = if segment.exists {
                Target::Extend { branch, expected: at.clone() }
            } else {
                Target::Fork { name: ForkName::Exact(branch), at: at.clone(), activate: false }
            };
            let head = first.last().map(|node| node.id.clone());
            match self.commit(target, first).await {
                Ok(CommitOutcome::Applied(_) | CommitOutcome::Replayed(_)) => {
                    segment.exists = true;
                    at.iter().for_each(|at| {
                        self.tips.remove(at);
                    });
                    head.iter().for_each(|head| {
                        self.tips.insert(head.clone(), segment.name.clone());
                    });
                    segment.end = head;
                    for forms in forms {
                        self.amend(forms).await?;
                    }
                    waiting.clear();
                }
                Ok(CommitOutcome::Exists { ids }) => {
                    let used = waiting.iter().position(|message| ids.contains(&message.node.id));
                    let Some(used) = used else {
                        let message = "the store reports ids as used that were never written";
                        return Err(Error::new(ErrorKind::Bug, "write_chat", message));
                    };
                    let behind = waiting.split_off(used + 1);
                    self.written.messages -= 1 + behind.len() as u64;
                    left.splice(0..0, behind);
                    waiting.pop().iter().for_each(|used| self.note_used(&used.node.id));
                }
                Ok(_) => {
                    let error = Error::new(
                        ErrorKind::Conflict,
                        "write_chat",
                        "another writer is writing to the chat",
                    );
                    return Err(error.with("chat", &self.chat.chat));
                }
                Err(error) if error.is_not_found() && at.is_some() && !segment.exists => {
                    let parent = at.map(|at| at.to_string()).unwrap_or_default();
                    let message = waiting[0].node.id.clone();
                    self.note(
                        format!("message {message}"),
                        format!("follows {parent}, which is missing: made a root"),
                    );
                    segment.end = None;
                    segment.exists = segment.name == BranchName::main();
                }
                Err(error) => return Err(error),
            }
        }
        self.segment = Some(segment);
        Ok(left)
    }

    async fn commit(&self, target: Target, nodes: Vec<Arc<Node>>) -> Result<CommitOutcome> {
        let commit = Commit::new(self.chat.clone(), target, self.source.created_at);
        self.history().commit(Commit { nodes, ..commit }).await
    }

    /// Applies the amendments of the messages, in order.
    async fn amend(&self, forms: Vec<Revision>) -> Result<()> {
        for Revision { node, replaced_at, .. } in forms {
            let commit = Commit::new(self.chat.clone(), Target::Stay, replaced_at);
            let _applied =
                self.history().commit(Commit { amendments: vec![node], ..commit }).await?;
        }
        Ok(())
    }
}

impl Segment {
    fn new(name: BranchName, end: Option<MessageId>, exists: bool) -> Self {
        Self { name, end, exists, waiting: Vec::new(), ids: HashSet::new(), bytes: 0 }
    }

    fn push(&mut self, message: ChatMessageRecord) {
        self.bytes += message.node.body().bytes().len();
        self.ids.insert(message.node.id.clone());
        self.waiting.push(message);
    }

    fn take(&mut self) -> Vec<ChatMessageRecord> {
        self.bytes = 0;
        self.ids.clear();
        std::mem::take(&mut self.waiting)
    }

    fn last(&self) -> Option<&MessageId> {
        self.waiting.last().map(|message| &message.node.id).or(self.end.as_ref())
    }
}
