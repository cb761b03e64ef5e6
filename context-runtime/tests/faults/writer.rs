//! The writer, and the count afterwards.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use context_core::base::CommitKey;
use context_core::store::{ChainEnd, ChatPatch, Commit, CommitOutcome, NewChat, Target, Window};
use context_core::{
    CancelSignal, ChatRef, Error, Message, MessageId, Metadata, Node, Result, Retry, Role, Store,
    Timestamp,
};

/// The number of times a call is repeated before the writer gives up. With the waits this is longer
/// than any restart.
const TRIES: u32 = 2_000;
/// The time a writer waits for a call that an in-process store never answers.
const PATIENCE: Duration = Duration::from_millis(500);
/// The wait before a retry.
const PAUSE: Duration = Duration::from_millis(20);

/// A writer of one chat. Two of three writes are messages, which are idempotent by their ids. The
/// third increments a counter of the chat, which is idempotent by a key.
pub(crate) struct Writer {
    store: Arc<dyn Store>,
    chat: ChatRef,
    head: Option<MessageId>,
    pub(crate) repeated: u64,
}

/// The expected content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) messages: u64,
    pub(crate) counted: u64,
}

impl Count {
    /// Returns the content after this many writes.
    pub(crate) fn after(writes: usize) -> Self {
        let counted = (0..writes).filter(|n| counts(*n)).count() as u64;
        Self { messages: writes as u64 - counted, counted }
    }
}

/// Whether the nth write is the one that counts.
fn counts(n: usize) -> bool {
    n % 3 == 2
}

fn id(n: usize) -> String {
    format!("m{n:04}")
}

impl Writer {
    pub(crate) fn new(store: Arc<dyn Store>, chat: ChatRef) -> Self {
        Self { store, chat, head: None, repeated: 0 }
    }

    pub(crate) async fn begin(&mut self) -> Result<()> {
        let store = Arc::clone(&self.store);
        let new = NewChat::new(self.chat.clone(), Timestamp::from_micros(1));
        self.repeat(|| store.history().create_chat(new.clone())).await.map(drop)
    }

    /// Repeats the nth write until it is acknowledged.
    pub(crate) async fn write(&mut self, n: usize) -> Result<()> {
        let at = Timestamp::from_micros(2 + n as i64);
        let commit = if counts(n) {
            let add = Metadata::default().with("count", 1);
            let patch = ChatPatch { add, ..ChatPatch::default() };
            let commit = Commit::new(self.chat.clone(), Target::Stay, at);
            Commit { patch: Some(patch), key: Some(CommitKey::from(format!("k{n}"))), ..commit }
        } else {
            let target = Target::Extend { branch: "main".into(), expected: self.head.clone() };
            let node = Node::new(id(n), Message::text(Role::User, format!("this is {n}")), at);
            Commit { nodes: vec![Arc::new(node)], ..Commit::new(self.chat.clone(), target, at) }
        };
        let store = Arc::clone(&self.store);
        match self.repeat(|| store.history().commit(commit.clone())).await? {
            CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => {}
            outcome => {
                let text = format!("write {n} was neither applied nor found applied: {outcome:?}");
                return Err(Error::new(context_core::ErrorKind::Bug, "commit", text));
            }
        }
        if !counts(n) {
            self.head = Some(id(n).into());
        }
        Ok(())
    }

    /// Repeats a call until there is an answer, as long as the error allows a retry.
    async fn repeat<T, F: Future<Output = Result<T>>>(
        &mut self,
        call: impl Fn() -> F,
    ) -> Result<T> {
        for _ in 0..TRIES {
            match tokio::time::timeout(PATIENCE, call()).await {
                Ok(Err(error)) if error.retry() == Retry::Safe => {}
                Ok(answer) => return answer,
                // The caller's own timeout: the call is dropped, and may or may not have taken
                // effect.
                Err(_) => {}
            }
            self.repeated += 1;
            tokio::time::sleep(PAUSE).await;
        }
        call().await
    }
}

/// The content of a chat as a fresh handle reads it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChatContent {
    pub(crate) count: Count,
    /// Messages that are duplicated, that nobody wrote, or that are in the wrong position.
    pub(crate) wrong: u64,
}

pub(crate) async fn read_back(store: &dyn Store, chat: &ChatRef) -> Result<ChatContent> {
    let history = store.history();
    let Some(stored) = history.chat(chat).await? else { return Ok(ChatContent::default()) };
    let counted =
        stored.metadata.get("count").and_then(|count| count.as_str().parse().ok()).unwrap_or(0);
    let chain = history.chain(chat, &ChainEnd::Branch("main".into()), &Window::Whole).await?;
    let mut times: HashMap<&MessageId, u64> = HashMap::new();
    chain.iter().for_each(|node| *times.entry(&node.id).or_default() += 1);
    let expected = (0..).filter(|n| !counts(*n)).map(id);
    let misplaced =
        chain.iter().zip(expected).filter(|(node, id)| node.id.as_str() != id).count() as u64;
    let twice: u64 = times.values().map(|times| times - 1).sum();
    let count = Count { messages: chain.len() as u64 - twice, counted };
    Ok(ChatContent { count, wrong: twice + misplaced })
}

/// Returns the findings of the store's own check.
pub(crate) async fn check(store: &dyn Store) -> Result<Vec<String>> {
    let Some(maintenance) = store.maintenance() else { return Ok(Vec::new()) };
    let report = maintenance.check(&CancelSignal::never()).await?;
    Ok(report.findings.iter().map(ToString::to_string).collect())
}
