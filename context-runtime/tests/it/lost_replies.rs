//! A commit whose answer was lost counts once.
//!
//! The peers this library learnt from write such a message twice, or make a branch of it: the retry finds the
//! ids stored and takes them for edits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use context_runtime::{
    Branch, BranchDeletion, BranchName, Chain, ChainEnd, Chat, ChatPatch, ChatQuery, ChatRef, ChatSize,
    ChatSummary, Checkpoint, CheckpointName, Commit, CommitOutcome, Created, Cursor, Error, ErrorKind,
    FragmentStore, HistoryStore, Maintenance, MessageId, NewChat, Page, Placed, Result, Revision,
    SaveOutcome, Store, StoreInfo, Timestamp, Window, last_assistant_message, role,
};

use crate::kit::{builder, say, shown, store, stored, with_messages};

/// What happens to the next commits, once each.
#[derive(Debug)]
enum Fault {
    /// Nothing.
    None,
    /// Applied, then the connection breaks.
    ReplyLost,
    /// Applied, then nothing is heard.
    Silence,
    /// Not applied.
    Unreachable,
}

#[derive(Debug)]
struct Flaky {
    inner: Arc<dyn Store>,
    plan: Vec<Fault>,
    commits: AtomicUsize,
}

impl Store for Flaky {
    fn info(&self) -> StoreInfo {
        self.inner.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        self
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.inner.fragments()
    }

    fn maintenance(&self) -> Option<&dyn Maintenance> {
        self.inner.maintenance()
    }
}

#[async_trait]
impl HistoryStore for Flaky {
    async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
        let broken = || Error::new(ErrorKind::Unavailable, "commit", "the connection broke");
        match self.plan.get(self.commits.fetch_add(1, Ordering::SeqCst)) {
            None | Some(Fault::None) => self.inner.history().commit(commit).await,
            Some(Fault::Unreachable) => Err(broken()),
            Some(fault) => {
                let _applied = self.inner.history().commit(commit).await?;
                if matches!(fault, Fault::Silence) {
                    std::future::pending::<()>().await;
                }
                Err(broken())
            }
        }
    }

    async fn create_chat(&self, new: NewChat) -> Result<Created> {
        self.inner.history().create_chat(new).await
    }

    async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
        self.inner.history().chat(chat).await
    }

    async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
        self.inner.history().list_chats(query).await
    }

    async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch, at: Timestamp) -> Result<Chat> {
        self.inner.history().update_chat(chat, patch, at).await
    }

    async fn delete_chat(&self, chat: &ChatRef, idle_since: Option<Timestamp>) -> Result<bool> {
        self.inner.history().delete_chat(chat, idle_since).await
    }

    async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
        self.inner.history().chat_size(chat).await
    }

    async fn rename_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        to: &BranchName,
        at: Timestamp,
    ) -> Result<()> {
        self.inner.history().rename_branch(chat, branch, to, at).await
    }

    async fn delete_branch(
        &self,
        chat: &ChatRef,
        branch: &BranchName,
        expected: Option<&MessageId>,
        at: Timestamp,
    ) -> Result<BranchDeletion> {
        self.inner.history().delete_branch(chat, branch, expected, at).await
    }

    async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
        self.inner.history().branches(chat).await
    }

    async fn activate_branch(&self, chat: &ChatRef, branch: &BranchName, at: Timestamp) -> Result<()> {
        self.inner.history().activate_branch(chat, branch, at).await
    }

    async fn set_checkpoint(
        &self,
        chat: &ChatRef,
        name: &CheckpointName,
        message: &MessageId,
        at: Timestamp,
    ) -> Result<Checkpoint> {
        self.inner.history().set_checkpoint(chat, name, message, at).await
    }

    async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
        self.inner.history().checkpoints(chat).await
    }

    async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName) -> Result<bool> {
        self.inner.history().delete_checkpoint(chat, name).await
    }

    async fn chain(&self, chat: &ChatRef, end: &ChainEnd, window: &Window) -> Result<Chain> {
        self.inner.history().chain(chat, end, window).await
    }

    async fn messages(&self, chat: &ChatRef, ids: &[MessageId]) -> Result<Vec<Option<Placed>>> {
        self.inner.history().messages(chat, ids).await
    }

    async fn all_messages(
        &self,
        chat: &ChatRef,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page<Placed>> {
        self.inner.history().all_messages(chat, limit, after).await
    }

    async fn revisions(&self, chat: &ChatRef, message: &MessageId) -> Result<Vec<Revision>> {
        self.inner.history().revisions(chat, message).await
    }
}

const CHAT: [&str; 2] = ["u1: text u1", "a1: text a1"];

/// Runs a save over a store with faults and returns the store below it and the engine.
async fn flaky(plan: Vec<Fault>) -> (Arc<dyn Store>, context_runtime::ContextEngine) {
    let inner = store().await;
    let _seed = with_messages(&inner, &["u1", "a1"]).await;
    let faulty: Arc<dyn Store> =
        Arc::new(Flaky { inner: Arc::clone(&inner), plan, commits: AtomicUsize::new(0) });
    let chat = builder(&faulty).open().await.unwrap();
    (inner, chat)
}

#[tokio::test]
async fn a_lost_reply_is_found_out_by_the_next_save() {
    let (inner, mut chat) = flaky(vec![Fault::ReplyLost, Fault::Unreachable]).await;
    chat.set([say("u2", "next")]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: text a1", "u2: next"]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    chat.set([say("a2", "more")]);
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.branch.as_str(), saved.outcome), ("main", SaveOutcome::Saved));
    let expected = [CHAT[0], CHAT[1], "u2: next", "a2: more"];
    assert_eq!(shown(&mut chat).await, expected);
    assert_eq!(stored(&inner, "main").await, expected);
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_edit_whose_reply_was_lost_makes_one_branch() {
    // The first commit is refused because of the id, the second makes the branch.
    let (inner, mut chat) = flaky(vec![Fault::None, Fault::ReplyLost]).await;
    chat.set([say("u1", "edited"), role("R").persisted()]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 2);
    let saved = chat.save().await.unwrap();
    assert_eq!((saved.branch.as_str(), saved.outcome), ("main-v2", SaveOutcome::Unchanged));
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 2);
    assert_eq!(inner.fragments().fragments(chat.chat_ref()).await.unwrap().len(), 1);
    assert_eq!(chat.pending().count(), 0);
    assert_eq!(stored(&inner, "main").await, CHAT);
}

#[tokio::test]
async fn an_edit_that_never_arrived_is_made_by_the_next_save() {
    let (inner, mut chat) = flaky(vec![Fault::None, Fault::Unreachable]).await;
    chat.set([say("u1", "edited")]);
    assert!(chat.save().await.is_err());
    let _saved = chat.save().await.unwrap();
    assert_eq!(shown(&mut chat).await.len(), 1);
    assert_eq!(inner.history().branches(chat.chat_ref()).await.unwrap().len(), 2);
    assert_eq!(stored(&inner, "main").await, CHAT);
}

#[tokio::test]
async fn what_is_taken_back_or_said_anew_after_a_failed_save_is_not_sent_as_it_was() {
    let (inner, mut chat) = flaky(vec![Fault::Unreachable]).await;
    chat.set([say("u2", "typo"), say("u3", "never mind")]);
    assert!(chat.save().await.is_err());
    chat.set([say("u2", "corrected")]);
    assert!(chat.unset(&"u3".into()).await.unwrap());
    let _saved = chat.save().await.unwrap();
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: corrected"]);

    // If it did arrive, it is a stored message like any other, and saying otherwise is an edit.
    let (inner, mut chat) = flaky(vec![Fault::ReplyLost]).await;
    chat.set([say("u2", "typo")]);
    assert!(chat.save().await.is_err());
    chat.set([say("u2", "corrected")]);
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.outcome, SaveOutcome::Edited { from: "main".into() });
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: typo"]);
    assert_eq!(shown(&mut chat).await[2].split(": ").nth(1), Some("corrected"));
}

#[tokio::test]
async fn an_amendment_whose_reply_was_lost_is_one_revision() {
    let (inner, mut chat) = flaky(vec![Fault::ReplyLost]).await;
    chat.set([last_assistant_message("fixed")]);
    assert!(chat.save().await.is_err());
    assert_eq!(chat.save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert_eq!(shown(&mut chat).await, ["u1: text u1", "a1: fixed"]);
    let revisions = inner.history().revisions(chat.chat_ref(), &"a1".into()).await.unwrap();
    assert_eq!(revisions.len(), 1);
}

#[tokio::test]
async fn a_save_that_is_dropped_half_way_is_settled_by_the_next_one() {
    let (inner, mut chat) = flaky(vec![Fault::Silence]).await;
    chat.set([say("u2", "next")]);
    {
        let save = std::pin::pin!(chat.save());
        tokio::select! {
            biased;
            _ = save => panic!("nothing is heard of it"),
            () = std::future::ready(()) => {}
        }
    }
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.head, Some("u2".into()));
    assert_eq!(stored(&inner, "main").await, [CHAT[0], CHAT[1], "u2: next"]);
}
