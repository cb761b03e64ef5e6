//! The calls about blobs, streams, trajectories and memories.

/// The second part of the table: the methods that [`forward`](super::forward) does not know. Each
/// expansion continues there with the next method.
macro_rules! beside {
    // BlobStore
    (@ $s:ident $l:ident [$($d:tt)*] put_blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
                let call = Call::of(Operation::PutBlob, chat).sends(Sent::Blob(&blob));
                let put = || {
                    let blob = blob.clone();
                    async move { self.below().shelf()?.put_blob(chat, blob).await }
                };
                self.around(call, put).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
                let call = Call::of(Operation::Blob, chat);
                self.around(call, || async move { self.below().shelf()?.blob(chat,
                    id).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] read_blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn read_blob(
                &self,
                chat: &ChatRef,
                id: &BlobId,
                range: std::ops::Range<u64>,
                at: Option<Timestamp>,
            ) -> Result<Option<bytes::Bytes>> {
                let read = || {
                    let range = range.clone();
                    async move { self.below().shelf()?.read_blob(chat, id, range, at).await }
                };
                self.around(Call::of(Operation::ReadBlob, chat), read).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] blobs $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn blobs(&self, chat: &ChatRef, limit: usize,
                after: Option<&Cursor>) -> Result<Page<Blob>> {
                let call = Call::of(Operation::Blobs, chat);
                self.around(call, || async move { self.below().shelf()?.blobs(chat, limit,
                    after).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] remove_blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
                let call = Call::of(Operation::RemoveBlob, chat);
                self.around(call, || async move { self.below().shelf()?.remove_blob(chat,
                    id).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] prune_blobs $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
                let call = Call::about(Operation::PruneBlobs,
                    &prune.user).within(prune.chat.as_ref());
                self.around(call, || async move {
                    self.below().shelf()?.prune_blobs(prune).await }).await
            }
        ] $($r)*);
    };

    // StreamStore
    (@ $s:ident $l:ident [$($d:tt)*] create_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn create_stream(&self, chat: &ChatRef, id: &StreamId,
                at: Timestamp) -> Result<StreamOutcome> {
                let call = Call::of(Operation::CreateStream, chat);
                self.around(call, || async move { self.below().channel()?.create_stream(chat, id,
                    at).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] claim_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn claim_stream(
                &self,
                chat: &ChatRef,
                id: &StreamId,
                claim: &StreamClaim,
            ) -> Result<StreamOutcome> {
                let call = Call::of(Operation::ClaimStream, chat);
                self.around(call, || async move { self.below().channel()?.claim_stream(chat, id,
                    claim).await })
                    .await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] append_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn append_stream(
                &self,
                chat: &ChatRef,
                id: &StreamId,
                append: StreamAppend,
            ) -> Result<StreamOutcome> {
                let call = Call::of(Operation::AppendStream, chat).sends(Sent::Chunks(&append));
                let write = || {
                    let append = append.clone();
                    async move { self.below().channel()?.append_stream(chat, id, append).await }
                };
                self.around(call, write).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] cancel_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn cancel_stream(&self, chat: &ChatRef, id: &StreamId,
                at: Timestamp) -> Result<StoredStream> {
                let call = Call::of(Operation::CancelStream, chat);
                self.around(call, || async move { self.below().channel()?.cancel_stream(chat, id,
                    at).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] reopen_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn reopen_stream(
                &self,
                chat: &ChatRef,
                id: &StreamId,
                run: u32,
                at: Timestamp,
            ) -> Result<StreamOutcome> {
                let call = Call::of(Operation::ReopenStream, chat);
                self.around(call, || async move { self.below().channel()?.reopen_stream(chat, id,
                    run, at).await })
                    .await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
                let call = Call::of(Operation::Stream, chat);
                self.around(call, || async move { self.below().channel()?.stream(chat,
                    id).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] read_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn read_stream(
                &self, chat: &ChatRef, id: &StreamId, offset: u64, limit: usize,
            ) -> Result<Option<StreamPart>> {
                let call = Call::of(Operation::ReadStream, chat);
                self.around(call, || async move { self.below().channel()?.read_stream(chat, id,
                    offset, limit).await })
                    .await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] streams $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn streams(
                &self,
                chat: &ChatRef,
                limit: usize,
                after: Option<&Cursor>,
            ) -> Result<Page<StoredStream>> {
                let call = Call::of(Operation::Streams, chat);
                self.around(call, || async move { self.below().channel()?.streams(chat, limit,
                    after).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] remove_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
                let call = Call::of(Operation::RemoveStream, chat);
                self.around(call, || async move { self.below().channel()?.remove_stream(chat,
                    id).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] prune_streams $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
                let call = Call::about(Operation::PruneStreams,
                    &prune.user).within(prune.chat.as_ref());
                self.around(call, || async move {
                    self.below().channel()?.prune_streams(prune).await }).await
            }
        ] $($r)*);
    };

    // TrajectoryStore
    (@ $s:ident $l:ident [$($d:tt)*] record_round $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
                let call = Call::about(Operation::RecordRound,
                    &commit.head.round.agent.user).sends(Sent::Round(commit));
                self.around(call, || async move {
                    self.below().ledger()?.record_round(commit).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] load_rounds $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn load_rounds(&self, agent: &AgentRef,
                rounds: RangeInclusive<u32>) -> Result<Vec<RoundRecord>> {
                let (call, rounds) = (Call::about(Operation::LoadRounds, &agent.user), &rounds);
                self.around(call, || async move { self.below().ledger()?.load_rounds(agent,
                    rounds.clone()).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] rounds $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
                let call = Call::about(Operation::Rounds, &query.user);
                self.around(call, || async move {
                    self.below().ledger()?.rounds(query).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] nodes_of_message $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn nodes_of_message(
                &self, user: &UserId, chat: &ChatId, message: &MessageId,
            ) -> Result<Vec<MessageNode>> {
                let call = Call::about(Operation::NodesOfMessage, user).within(Some(chat));
                self.around(call, || async { self.below().ledger()?.nodes_of_message(user, chat,
                    message).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] prune_rounds $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
                let call = Call::about(Operation::PruneRounds, &prune.user);
                self.around(call, || async move {
                    self.below().ledger()?.prune_rounds(prune).await }).await
            }
        ] $($r)*);
    };

    // MemoryRecordStore
    (@ $s:ident $l:ident [$($d:tt)*] write_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
                let mut call = Call::new(Operation::WriteMemories).sends(Sent::Memories(writes));
                call.user = writes.first().map(|write| &write.record.scope.user);
                self.around(call, || async move {
                    self.below().memory()?.write_memories(writes).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn memories(&self, scope: &MemoryScope,
                ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
                let call = Call::about(Operation::Memories,
                    &scope.user).sends(Sent::Ids(ids.len()));
                self.around(call, || async move { self.below().memory()?.memories(scope,
                    ids).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] list_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
                let mut call = Call::new(Operation::ListMemories);
                call.user = list.scopes.first().map(|scope| &scope.user);
                self.around(call, || async move {
                    self.below().memory()?.list_memories(list).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] find_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
                let mut call = Call::new(Operation::FindMemories).sends(Sent::Words(&find.words));
                call.user = find.scopes.first().map(|scope| &scope.user);
                self.around(call, || async move {
                    self.below().memory()?.find_memories(find).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] memories_beside $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn memories_beside(
                &self, scope: &MemoryScope, ids: &[MemoryId], each_side: usize,
            ) -> Result<Vec<Vec<StoredMemory>>> {
                let call = Call::about(Operation::MemoriesBeside,
                    &scope.user).sends(Sent::Ids(ids.len()));
                let read = || async move { self.below().memory()?.memories_beside(scope, ids,
                    each_side).await };
                self.around(call, read).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] forget_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
                let call = Call::about(Operation::ForgetMemories, &forget.scope().user);
                self.around(call, || async move {
                    self.below().memory()?.forget_memories(forget).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] memory_stats $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn memory_stats(
                &self, user: &UserId, limit: usize, after: Option<&Cursor>,
            ) -> Result<Page<MemoryStats>> {
                let call = Call::about(Operation::MemoryStats, user);
                self.around(call, || async move { self.below().memory()?.memory_stats(user, limit,
                    after).await }).await
            }
        ] $($r)*);
    };
}
pub(crate) use beside;
