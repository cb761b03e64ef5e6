//! The table of all calls of the store, so that a layer writes only the calls that it changes. The
//! calls about blobs, streams, trajectories and memories are in a file of their own.

pub(crate) mod abilities;

/// Implements a store trait for a layer. Named methods are passed to the inner store. Methods in
/// braces are used as they are.
///
/// The layer has a method `inner`, which returns the inner store, and a method `make_call`,
/// which gets a description of the call and a closure that makes the call each time it is invoked.
macro_rules! forward {
    ($seam:ident for $layer:ident: $($call:ident)*; { $($own:tt)* }) => {
        $crate::forward::forward!(@ $seam $layer [$($own)*] $($call)*);
    };
    (@ $seam:ident $layer:ident [$($done:tt)*]) => {
        const _: () = {
            #[allow(
                unused_imports, clippy::wildcard_imports, reason = "the table names most of it"
            )]
            use context_core::{
                base::*, memory::*, message::*, store::*, trajectory::{AgentRef, RoundRef}, *,
            };
            #[allow(unused_imports, reason = "a layer may make all calls itself")]
            use $crate::{call::{Call, Operation, Payload}, abilities::Abilities as _};
            #[allow(unused_imports, reason = "for one seam of them")]
            use {context_core::trajectory::{RoundHead, RoundRecord}, std::ops::RangeInclusive};

            #[async_trait::async_trait]
            #[deny(clippy::missing_trait_methods)]
            impl $seam for $layer {
                $($done)*
            }
        };
    };

    // HistoryStore
    (@ $s:ident $l:ident [$($d:tt)*] create_chat $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn create_chat(&self, new: NewChat) -> Result<Created> {
                let call = Call::of(Operation::CreateChat, &new.chat)
                    .with_payload(Payload::Chat(&new));
                self.make_call(call, || self.inner().history().create_chat(new.clone())).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] chat $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn chat(&self, chat: &ChatRef) -> Result<Option<Chat>> {
                self.make_call(Call::of(Operation::Chat, chat),
                    || self.inner().history().chat(chat)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] list_chats $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn list_chats(&self, query: &ChatQuery) -> Result<Page<ChatSummary>> {
                let call = Call::about(Operation::ListChats, &query.user);
                self.make_call(call, || self.inner().history().list_chats(query)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] update_chat $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn update_chat(&self, chat: &ChatRef, patch: &ChatPatch,
                at: Timestamp) -> Result<Chat> {
                let call = Call::of(Operation::UpdateChat, chat)
                    .with_payload(Payload::Patch(patch));
                self.make_call(call, || self.inner().history().update_chat(chat, patch, at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] delete_chat $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn delete_chat(&self, chat: &ChatRef,
                idle_since: Option<Timestamp>) -> Result<bool> {
                let call = Call::of(Operation::DeleteChat, chat);
                self.make_call(call, || self.inner().history().delete_chat(chat, idle_since)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] chat_size $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn chat_size(&self, chat: &ChatRef) -> Result<ChatSize> {
                self.make_call(Call::of(Operation::ChatSize, chat),
                    || self.inner().history().chat_size(chat)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] commit $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn commit(&self, commit: Commit) -> Result<CommitOutcome> {
                let call = Call::of(Operation::Commit, &commit.chat)
                    .with_payload(Payload::Commit(&commit));
                self.make_call(call, || self.inner().history().commit(commit.clone())).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] branches $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn branches(&self, chat: &ChatRef) -> Result<Vec<Branch>> {
                self.make_call(Call::of(Operation::Branches, chat),
                    || self.inner().history().branches(chat)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] activate_branch $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn activate_branch(&self, chat: &ChatRef, branch: &BranchName,
                at: Timestamp) -> Result<()> {
                let call = Call::of(Operation::ActivateBranch, chat);
                self.make_call(call,
                    || self.inner().history().activate_branch(chat, branch, at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] rename_branch $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn rename_branch(
                &self, chat: &ChatRef, branch: &BranchName, to: &BranchName, at: Timestamp,
            ) -> Result<()> {
                let call = Call::of(Operation::RenameBranch, chat);
                self.make_call(call, || self.inner().history().rename_branch(chat, branch, to,
                    at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] delete_branch $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn delete_branch(
                &self, chat: &ChatRef, branch: &BranchName, expected: Option<&MessageId>,
                    at: Timestamp,
            ) -> Result<BranchDeletion> {
                let call = Call::of(Operation::DeleteBranch, chat);
                self.make_call(call, || self.inner().history().delete_branch(chat, branch, expected,
                    at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] set_checkpoint $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn set_checkpoint(
                &self, chat: &ChatRef, name: &CheckpointName, message: &MessageId, at: Timestamp,
            ) -> Result<Checkpoint> {
                let call = Call::of(Operation::SetCheckpoint, chat);
                self.make_call(call, || self.inner().history().set_checkpoint(chat, name, message,
                    at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] checkpoints $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn checkpoints(&self, chat: &ChatRef) -> Result<Vec<Checkpoint>> {
                let call = Call::of(Operation::Checkpoints, chat);
                self.make_call(call, || self.inner().history().checkpoints(chat)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] delete_checkpoint $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn delete_checkpoint(&self, chat: &ChatRef, name: &CheckpointName,
                at: Timestamp) -> Result<bool> {
                let call = Call::of(Operation::DeleteCheckpoint, chat);
                self.make_call(call,
                    || self.inner().history().delete_checkpoint(chat, name, at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] chain $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn chain(&self, chat: &ChatRef, end: &ChainEnd,
                window: &Window) -> Result<Chain> {
                let call = Call::of(Operation::Chain, chat);
                self.make_call(call, || self.inner().history().chain(chat, end, window)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] messages $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn messages(&self, chat: &ChatRef,
                ids: &[MessageId]) -> Result<Vec<Option<PlacedNode>>> {
                let call = Call::of(Operation::Messages, chat)
                    .with_payload(Payload::Ids(ids.len()));
                self.make_call(call, || self.inner().history().messages(chat, ids)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] all_messages $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn all_messages(
                &self,
                chat: &ChatRef,
                limit: usize,
                after: Option<&Cursor>,
            ) -> Result<Page<PlacedNode>> {
                let call = Call::of(Operation::AllMessages, chat);
                self.make_call(call,
                    || self.inner().history().all_messages(chat, limit, after)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] revisions $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn revisions(&self, chat: &ChatRef,
                message: &MessageId) -> Result<Vec<Revision>> {
                let call = Call::of(Operation::Revisions, chat);
                self.make_call(call, || self.inner().history().revisions(chat, message)).await
            }
        ] $($r)*);
    };

    // FragmentStore
    (@ $s:ident $l:ident [$($d:tt)*] fragments $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn fragments(&self, chat: &ChatRef) -> Result<Vec<StoredFragment>> {
                let call = Call::of(Operation::Fragments, chat);
                self.make_call(call, || self.inner().fragments().fragments(chat)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] put_fragments $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn put_fragments(
                &self,
                chat: &ChatRef,
                fragments: &[StoredFragment],
                at: Timestamp,
            ) -> Result<()> {
                let call = Call::of(Operation::PutFragments,
                    chat).with_payload(Payload::Fragments(fragments));
                self.make_call(call, || self.inner().fragments().put_fragments(chat, fragments,
                    at)).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] remove_fragment $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn remove_fragment(
                &self,
                chat: &ChatRef,
                id: &FragmentId,
                at: Timestamp,
            ) -> Result<bool> {
                let call = Call::of(Operation::RemoveFragment, chat);
                self.make_call(call,
                    || self.inner().fragments().remove_fragment(chat, id, at)).await
            }
        ] $($r)*);
    };

    // FragmentLogStore
    (@ $s:ident $l:ident [$($d:tt)*] fragment_log $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn fragment_log(&self, chat: &ChatRef) -> Result<FragmentLog> {
                let call = Call::of(Operation::FragmentLog, chat);
                self.make_call(call, || async move {
                    self.inner().require_fragment_log()?.fragment_log(chat).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] clear_fragment_log $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn clear_fragment_log(&self, chat: &ChatRef) -> Result<u64> {
                let call = Call::of(Operation::ClearFragmentLog, chat);
                self.make_call(call, || async move {
                    self.inner().require_fragment_log()?.clear_fragment_log(chat).await }).await
            }
        ] $($r)*);
    };

    // RefLogStore
    (@ $s:ident $l:ident [$($d:tt)*] ref_log $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn ref_log(&self, chat: &ChatRef) -> Result<RefLog> {
                let call = Call::of(Operation::RefLog, chat);
                self.make_call(call, || async move {
                    self.inner().require_ref_log()?.ref_log(chat).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] clear_ref_log $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn clear_ref_log(&self, chat: &ChatRef) -> Result<u64> {
                let call = Call::of(Operation::ClearRefLog, chat);
                self.make_call(call, || async move {
                    self.inner().require_ref_log()?.clear_ref_log(chat).await }).await
            }
        ] $($r)*);
    };

    // SearchStore
    (@ $s:ident $l:ident [$($d:tt)*] search $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn search(&self, query: &SearchQuery) -> Result<Page<SearchHit>> {
                let chat = match &query.scope {
                    SearchScope::Chat(chat) | SearchScope::Branch(chat, _) => Some(chat),
                    _ => None,
                };
                let call = Call::about(Operation::Search, &query.user).within(chat);
                let call = call.with_payload(Payload::Text(&query.text));
                self.make_call(call, || async move {
                    self.inner().require_search()?.search(query).await }).await
            }
        ] $($r)*);
    };

    // Maintenance
    (@ $s:ident $l:ident [$($d:tt)*] check $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn check(&self, cancel: &CancelSignal) -> Result<CheckReport> {
                let call = Call::new(Operation::Check);
                self.make_call(call, || async move {
                    self.inner().require_maintenance()?.check(cancel).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] erase_user $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn erase_user(&self, user: &UserId, cancel: &CancelSignal) -> Result<Erasure> {
                let call = Call::about(Operation::EraseUser, user);
                self.make_call(call, || async move {
                    self.inner().require_maintenance()?.erase_user(user,
                    cancel).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] users $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn users(&self, limit: usize, after: Option<&Cursor>) -> Result<Page<UserId>> {
                let call = Call::new(Operation::Users);
                self.make_call(call, || async move {
                    self.inner().require_maintenance()?.users(limit,
                    after).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] facts $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn facts(&self) -> Result<StoreFacts> {
                let call = Call::new(Operation::Facts);
                self.make_call(call, || async move {
                    self.inner().require_maintenance()?.facts().await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] vacuum $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn vacuum(&self) -> Result<Vacuumed> {
                let call = Call::new(Operation::Vacuum);
                self.make_call(call, || async move {
                    self.inner().require_maintenance()?.vacuum().await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] backup $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn backup(&self, to: &std::path::Path) -> Result<()> {
                let call = Call::new(Operation::Backup);
                self.make_call(call, || async move {
                    self.inner().require_maintenance()?.backup(to).await }).await
            }
        ] $($r)*);
    };

    // Blobs, streams, trajectories and memories.
    (@ $s:ident $l:ident [$($d:tt)*] $next:ident $($r:ident)*) => {
        $crate::forward::abilities::forward_abilities!(@ $s $l [$($d)*] $next $($r)*);
    };
}
pub(crate) use forward;
