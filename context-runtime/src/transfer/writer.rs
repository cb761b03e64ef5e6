//! Into a store, with nothing but the calls every store has.
//!
//! Messages come in an order that says nothing of branches, so they are written through branches that are only there
//! for the import: each goes on from the end of one of them, or begins a new one where it forks. When all are there,
//! the real branches are put at their heads, in their order, and the others are deleted. A chat whose first
//! branch comes in one piece, as most do, needs none.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use context_core::{
    Branch, BranchName, Chat, ChatPatch, ChatRef, Checkpoint, Commit, CommitOutcome, Created, Diagnostic,
    DiagnosticCode, Error, ErrorKind, ForkName, HistoryStore, MessageId, NewChat, Node, Result, Revision,
    Severity, Store, StoredFragment, Target, Timestamp, limits,
};

use super::record::{ChatRecord, MessageRecord};

/// How many messages, and about how many bytes of them, are written at once.
const BATCH: usize = 1000;
const BATCH_BYTES: usize = 4 << 20;

/// The metadata key of a chat that is not complete yet.
const INCOMPLETE: &str = "context.incomplete";

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct WrittenChat {
    /// How many messages.
    pub messages: u64,
    /// How many branches.
    pub branches: u64,
    /// What did not fit together and what was made of it.
    pub diagnostics: Vec<Diagnostic>,
}

/// Writes a chat piece by piece. Until [`finish`](Self::finish) the chat has branches of the import's own.
pub struct ChatWriter<'a> {
    store: &'a dyn Store,
    chat: ChatRef,
    source: Chat,
    branches: Vec<Branch>,
    checkpoints: Vec<Checkpoint>,
    fragments: Vec<StoredFragment>,
    /// Which branch ends with a message, as far as it is written.
    tips: HashMap<MessageId, BranchName>,
    segment: Option<Segment>,
    segments: usize,
    written: WrittenChat,
}

/// The branch that is being written to.
struct Segment {
    name: BranchName,
    /// What the waiting messages follow.
    end: Option<MessageId>,
    exists: bool,
    waiting: Vec<MessageRecord>,
    bytes: usize,
}

impl<'a> ChatWriter<'a> {
    /// Creates the chat; nothing if it exists. What an earlier writer has left without finishing it, because its
    /// process ended, is deleted and begun again.
    pub async fn create(store: &'a dyn Store, to: ChatRef, source: &Chat) -> Result<Option<Self>> {
        let mut new = NewChat::new(to.clone(), source.created_at);
        new.title.clone_from(&source.title);
        new.metadata = source.metadata.clone().with(INCOMPLETE, 1);
        let history = store.history();
        if let Created::Existing(found) = history.create_chat(new.clone()).await? {
            let left = found.metadata.get(INCOMPLETE).is_some() && history.delete_chat(&to, None).await?;
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

    /// How many messages have been taken.
    pub fn messages(&self) -> u64 {
        self.written.messages
    }

    /// Takes the next piece.
    pub async fn push(&mut self, record: ChatRecord) -> Result<()> {
        match record {
            ChatRecord::Branch(branch) => self.branches.push(branch),
            ChatRecord::Checkpoint(checkpoint) => self.checkpoints.push(checkpoint),
            ChatRecord::Fragment(fragment) => self.fragments.push(fragment),
            ChatRecord::Message(message) => self.push_message(message).await?,
            ChatRecord::End { messages } if messages != self.written.messages => {
                let text = format!("{messages} messages were announced, {} came", self.written.messages);
                self.note("chat", text);
            }
            _ => {}
        }
        Ok(())
    }

    async fn push_message(&mut self, message: MessageRecord) -> Result<()> {
        self.written.messages += 1;
        let follows = self.segment.as_ref().is_some_and(|segment| segment.last() == message.parent.as_ref());
        if !follows {
            self.flush().await?;
            let known = message.parent.as_ref().and_then(|parent| self.tips.get(parent)).cloned();
            let first = self.segments == 0;
            let name = match known.clone() {
                Some(name) => name,
                None if first => BranchName::main(),
                None => self.spare(&self.segments.to_string()),
            };
            self.segments += usize::from(known.is_none());
            let (end, waiting) = (message.parent.clone(), Vec::new());
            // The first one is `main`, which was created with the chat; it begins with a root or not at all.
            let exists = known.is_some() || first && end.is_none();
            self.segment = Some(Segment { name, end, exists, waiting, bytes: 0 });
        }
        if let Some(segment) = &mut self.segment {
            segment.bytes += message.node.body().bytes().len();
            segment.waiting.push(message);
            if segment.waiting.len() >= BATCH || segment.bytes >= BATCH_BYTES {
                self.flush().await?;
            }
        }
        Ok(())
    }

    /// A name that no real branch has.
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

    /// Writes what waits.
    async fn flush(&mut self) -> Result<()> {
        let Some(mut segment) = self.segment.take() else { return Ok(()) };
        let mut waiting = std::mem::take(&mut segment.waiting);
        segment.bytes = 0;
        while !waiting.is_empty() {
            let (first, forms): (Vec<_>, Vec<_>) = waiting.iter().map(MessageRecord::history).unzip();
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
                    for id in &ids {
                        self.note(format!("message {id}"), "its id is used before; left out");
                    }
                    waiting.retain(|message| !ids.contains(&message.node.id));
                    self.written.messages -= ids.len() as u64;
                }
                Ok(_) => {
                    let error =
                        Error::new(ErrorKind::Conflict, "write_chat", "somebody else writes to the chat");
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
        Ok(())
    }

    async fn commit(&self, target: Target, nodes: Vec<Arc<Node>>) -> Result<CommitOutcome> {
        let commit = Commit::new(self.chat.clone(), target, self.source.created_at);
        self.history().commit(Commit { nodes, ..commit }).await
    }

    /// Goes through what a message became after it was first written.
    async fn amend(&self, forms: Vec<Revision>) -> Result<()> {
        for Revision { node, replaced_at, .. } in forms {
            let commit = Commit::new(self.chat.clone(), Target::Stay, replaced_at);
            let _applied = self.history().commit(Commit { amendments: vec![node], ..commit }).await?;
        }
        Ok(())
    }

    /// Puts branches, checkpoints and fragments in their places and says what was written.
    pub async fn finish(mut self) -> Result<WrittenChat> {
        self.flush().await?;
        let missing = self.find_missing().await?;
        let main = BranchName::main();
        let written_main = self.tips.iter().find(|(_, name)| **name == main).map(|(tip, _)| tip.clone());
        let keep_main = missing.is_empty()
            && self.branches.first().is_some_and(|first| {
                first.name == main && first.head == written_main && first.created_at == self.source.created_at
            });
        if keep_main {
            self.branches.remove(0);
            self.written.branches += 1;
            self.tips.retain(|_, name| *name != main);
        } else {
            let spare = self.spare("main");
            self.history().rename_branch(&self.chat, &main, &spare, self.source.created_at).await?;
            match &written_main {
                Some(tip) => {
                    self.tips.insert(tip.clone(), spare);
                }
                // It has no messages and nothing needs it.
                None => self.segment = None,
            }
        }
        if !missing.is_empty() || !self.written.diagnostics.is_empty() {
            self.recover(missing).await?;
        }
        let mut activated = keep_main && self.source.active == main;
        for branch in std::mem::take(&mut self.branches) {
            let activate = branch.name == self.source.active;
            activated |= activate;
            self.put_branch(branch.name, branch.head, branch.created_at, activate).await?;
        }
        let history = self.history();
        if !activated && let Some(first) = self.first_real_branch().await? {
            history.activate_branch(&self.chat, &first, self.source.created_at).await?;
        }
        for checkpoint in std::mem::take(&mut self.checkpoints) {
            let Checkpoint { name, message, created_at, .. } = checkpoint;
            match history.set_checkpoint(&self.chat, &name, &message, created_at).await {
                Err(error) if error.is_not_found() => {
                    self.note(
                        format!("checkpoint {name}"),
                        format!("stands at {message}, which is missing: left out"),
                    );
                }
                set => drop(set?),
            }
        }
        for fragments in self.fragments.chunks(limits::MAX_PAGE) {
            self.store.fragments().put_fragments(&self.chat, fragments, self.source.created_at).await?;
        }
        self.remove_spares(keep_main).await?;
        let complete = ChatPatch { remove: vec![INCOMPLETE.to_owned()], ..ChatPatch::default() };
        history.update_chat(&self.chat, &complete, self.source.updated_at).await?;
        Ok(self.written)
    }

    async fn put_branch(
        &mut self,
        name: BranchName,
        at: Option<MessageId>,
        created_at: Timestamp,
        activate: bool,
    ) -> Result<()> {
        let target = Target::Fork { name: ForkName::Exact(name.clone()), at, activate };
        match self.history().commit(Commit::new(self.chat.clone(), target, created_at)).await? {
            CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => self.written.branches += 1,
            _ => self.note(format!("branch {name}"), "its name is used before; left out"),
        }
        Ok(())
    }

    /// Branches whose heads have not come.
    async fn find_missing(&mut self) -> Result<Vec<Branch>> {
        let mut missing = Vec::new();
        for part in self.branches.chunks(limits::MAX_PAGE) {
            let heads: Vec<_> = part.iter().filter_map(|branch| branch.head.clone()).collect();
            let found = self.history().messages(&self.chat, &heads).await?;
            let absent: HashSet<_> = heads
                .into_iter()
                .zip(found)
                .filter(|(_, found)| found.is_none())
                .map(|(head, _)| head)
                .collect();
            let is_absent = |branch: &&Branch| branch.head.as_ref().is_some_and(|head| absent.contains(head));
            missing.extend(part.iter().filter(is_absent).cloned());
        }
        self.branches.retain(|branch| missing.iter().all(|missing| missing.name != branch.name));
        Ok(missing)
    }

    /// Something is missing: what came and is on no branch is put on one, so that it is kept. Takes memory for the
    /// ids of the chat, which a sound one does not need.
    async fn recover(&mut self, missing: Vec<Branch>) -> Result<()> {
        let mut parents = HashMap::new();
        let mut after = None;
        loop {
            let page = self.history().all_messages(&self.chat, limits::MAX_PAGE, after.as_ref()).await?;
            parents.extend(page.items.into_iter().map(|placed| (placed.node.id.clone(), placed.parent)));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        let mut reached = HashSet::new();
        let kept = self.history().branches(&self.chat).await?;
        let kept = kept.into_iter().filter(|branch| !self.tips.values().any(|name| *name == branch.name));
        let heads: Vec<_> =
            self.branches.iter().cloned().chain(kept).filter_map(|branch| branch.head).collect();
        for head in &heads {
            let mut next = Some(head);
            while let Some(id) = next.filter(|id| reached.insert((*id).clone())) {
                next = parents.get(id).and_then(Option::as_ref);
            }
        }
        let mut lost: Vec<_> = self.tips.keys().filter(|tip| !reached.contains(*tip)).cloned().collect();
        lost.sort();
        let mut lost = lost.into_iter();
        for branch in missing {
            let head = branch.head.map(|head| head.to_string()).unwrap_or_default();
            let at = lost.next();
            let now =
                at.as_ref().map_or("a branch without messages".to_owned(), |at| format!("ends at {at}"));
            self.note(format!("branch {}", branch.name), format!("its head {head} is missing: {now}"));
            let active = branch.name == self.source.active;
            self.branches.push(Branch::new(branch.name, at, 0, active, branch.created_at));
        }
        for (number, at) in lost.enumerate() {
            let name = BranchName::from(format!("recovered-{}", number + 1));
            self.note(format!("branch {name}"), format!("made for {at}, which was on none"));
            self.branches.push(Branch::new(name, Some(at), 0, false, self.source.created_at));
        }
        Ok(())
    }

    async fn first_real_branch(&self) -> Result<Option<BranchName>> {
        let branches = self.history().branches(&self.chat).await?;
        let spare = |branch: &Branch| self.is_spare(&branch.name);
        Ok(branches.into_iter().find(|branch| !spare(branch)).map(|branch| branch.name))
    }

    fn is_spare(&self, name: &BranchName) -> bool {
        self.tips.values().any(|spare| spare == name) || *name == self.spare("main")
    }

    /// Deletes the branches that were there for the import. What they hold is on real ones by now.
    async fn remove_spares(&mut self, keep_main: bool) -> Result<()> {
        let history = self.history();
        let branches = history.branches(&self.chat).await?;
        let spares: Vec<_> = branches.into_iter().filter(|branch| self.is_spare(&branch.name)).collect();
        for branch in spares {
            if branch.active {
                // A chat without any branch of its own keeps the one it was created with.
                let main = BranchName::main();
                history.rename_branch(&self.chat, &branch.name, &main, self.source.created_at).await?;
                self.written.branches += u64::from(!keep_main);
                continue;
            }
            let _deleted = history
                .delete_branch(&self.chat, &branch.name, branch.head.as_ref(), self.source.created_at)
                .await?;
        }
        Ok(())
    }
}

impl Segment {
    fn last(&self) -> Option<&MessageId> {
        self.waiting.last().map(|message| &message.node.id).or(self.end.as_ref())
    }
}
