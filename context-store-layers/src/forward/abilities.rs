//! The calls about blobs, streams, trajectories and memories.

/// The second part of the table: the methods that [`forward`](super::forward) does not know. Each
/// expansion continues there with the next method.
macro_rules! forward_abilities {
    // BlobStore
    (@ $s:ident $l:ident [$($d:tt)*] put_blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn put_blob(&self, chat: &ChatRef, blob: NewBlob) -> Result<Blob> {
                let call = Call::of(Operation::PutBlob, chat).with_payload(Payload::Blob(&blob));
                let put = || {
                    let blob = blob.clone();
                    async move { self.inner().require_blobs()?.put_blob(chat, blob).await }
                };
                self.make_call(call, put).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn blob(&self, chat: &ChatRef, id: &BlobId) -> Result<Option<Blob>> {
                let call = Call::of(Operation::Blob, chat);
                self.make_call(call, || async move { self.inner().require_blobs()?.blob(chat,
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
                    async move {
                        self.inner().require_blobs()?.read_blob(chat, id, range, at).await }
                };
                self.make_call(Call::of(Operation::ReadBlob, chat), read).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] blobs $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn blobs(&self, chat: &ChatRef, limit: usize,
                after: Option<&Cursor>) -> Result<Page<Blob>> {
                let call = Call::of(Operation::Blobs, chat);
                self.make_call(call, || async move {
                    self.inner().require_blobs()?.blobs(chat, limit,
                    after).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] remove_blob $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn remove_blob(&self, chat: &ChatRef, id: &BlobId) -> Result<BlobsPruned> {
                let call = Call::of(Operation::RemoveBlob, chat);
                self.make_call(call, || async move {
                    self.inner().require_blobs()?.remove_blob(chat,
                    id).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] prune_blobs $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn prune_blobs(&self, prune: &BlobPrune) -> Result<BlobsPruned> {
                let call = Call::about(Operation::PruneBlobs,
                    &prune.user).within(prune.chat.as_ref());
                self.make_call(call, || async move {
                    self.inner().require_blobs()?.prune_blobs(prune).await }).await
            }
        ] $($r)*);
    };

    // StreamStore
    (@ $s:ident $l:ident [$($d:tt)*] create_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn create_stream(&self, chat: &ChatRef, id: &StreamId,
                at: Timestamp) -> Result<StreamOutcome> {
                let call = Call::of(Operation::CreateStream, chat);
                self.make_call(call, || async move {
                    self.inner().require_streams()?.create_stream(chat, id,
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
                self.make_call(call, || async move {
                    self.inner().require_streams()?.claim_stream(chat, id,
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
                let call = Call::of(Operation::AppendStream, chat)
                    .with_payload(Payload::Chunks(&append));
                let write = || {
                    let append = append.clone();
                    async move {
                        self.inner().require_streams()?.append_stream(chat, id, append).await }
                };
                self.make_call(call, write).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] cancel_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn cancel_stream(&self, chat: &ChatRef, id: &StreamId,
                at: Timestamp) -> Result<StoredStream> {
                let call = Call::of(Operation::CancelStream, chat);
                self.make_call(call, || async move {
                    self.inner().require_streams()?.cancel_stream(chat, id,
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
                self.make_call(call, || async move {
                    self.inner().require_streams()?.reopen_stream(chat, id,
                    run, at).await })
                    .await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn stream(&self, chat: &ChatRef, id: &StreamId) -> Result<Option<StoredStream>> {
                let call = Call::of(Operation::Stream, chat);
                self.make_call(call, || async move {
                    self.inner().require_streams()?.stream(chat,
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
                self.make_call(call, || async move {
                    self.inner().require_streams()?.read_stream(chat, id,
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
                self.make_call(call, || async move {
                    self.inner().require_streams()?.streams(chat, limit,
                    after).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] remove_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn remove_stream(&self, chat: &ChatRef, id: &StreamId) -> Result<bool> {
                let call = Call::of(Operation::RemoveStream, chat);
                self.make_call(call, || async move {
                    self.inner().require_streams()?.remove_stream(chat,
                    id).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] prune_streams $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn prune_streams(&self, prune: &StreamPrune) -> Result<StreamsPruned> {
                let call = Call::about(Operation::PruneStreams,
                    &prune.user).within(prune.chat.as_ref());
                self.make_call(call, || async move {
                    self.inner().require_streams()?.prune_streams(prune).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] watch_stream $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn watch_stream(&self, chat: &ChatRef,
                id: &StreamId) -> Result<Option<Box<dyn StreamWatch>>> {
                let call = Call::of(Operation::WatchStream, chat);
                self.make_call(call, || async move {
                    self.inner().require_streams()?.watch_stream(chat,
                    id).await }).await
            }
        ] $($r)*);
    };

    // TrajectoryStore
    (@ $s:ident $l:ident [$($d:tt)*] record_round $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn record_round(&self, commit: &RoundCommit) -> Result<RecordOutcome> {
                let call = Call::about(Operation::RecordRound,
                    &commit.head.round.agent.user).with_payload(Payload::Round(commit));
                self.make_call(call, || async move {
                    self.inner().require_trajectories()?.record_round(commit).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] load_rounds $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn load_rounds(&self, agent: &AgentRef,
                rounds: RangeInclusive<u32>) -> Result<Vec<RoundRecord>> {
                let (call, rounds) = (Call::about(Operation::LoadRounds, &agent.user), &rounds);
                self.make_call(call, || async move {
                    self.inner().require_trajectories()?.load_rounds(agent,
                    rounds.clone()).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] rounds $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn rounds(&self, query: &RoundQuery) -> Result<Page<RoundHead>> {
                let call = Call::about(Operation::Rounds, &query.user);
                self.make_call(call, || async move {
                    self.inner().require_trajectories()?.rounds(query).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] nodes_of_message $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn nodes_of_message(
                &self, user: &UserId, chat: &ChatId, message: &MessageId,
            ) -> Result<Vec<MessageNode>> {
                let call = Call::about(Operation::NodesOfMessage, user).within(Some(chat));
                self.make_call(call, || async {
                    self.inner().require_trajectories()?.nodes_of_message(user, chat,
                    message).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] prune_rounds $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn prune_rounds(&self, prune: &RoundPrune) -> Result<RoundsPruned> {
                let call = Call::about(Operation::PruneRounds, &prune.user);
                self.make_call(call, || async move {
                    self.inner().require_trajectories()?.prune_rounds(prune).await }).await
            }
        ] $($r)*);
    };

    // MemoryRecordStore
    (@ $s:ident $l:ident [$($d:tt)*] write_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn write_memories(&self, writes: &[MemoryWrite]) -> Result<MemoryOutcome> {
                let mut call = Call::new(Operation::WriteMemories)
                    .with_payload(Payload::Memories(writes));
                call.user = writes.first().map(|write| &write.record.scope.user);
                self.make_call(call, || async move {
                    self.inner().require_memories()?.write_memories(writes).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn memories(&self, scope: &MemoryScope,
                ids: &[MemoryId]) -> Result<Vec<StoredMemory>> {
                let call = Call::about(Operation::Memories,
                    &scope.user).with_payload(Payload::Ids(ids.len()));
                self.make_call(call, || async move {
                    self.inner().require_memories()?.memories(scope,
                    ids).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] list_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn list_memories(&self, list: &MemoryList) -> Result<Page<StoredMemory>> {
                let mut call = Call::new(Operation::ListMemories);
                call.user = list.scopes.first().map(|scope| &scope.user);
                self.make_call(call, || async move {
                    self.inner().require_memories()?.list_memories(list).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] find_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn find_memories(&self, find: &MemoryFind) -> Result<MemoriesFound> {
                let mut call = Call::new(Operation::FindMemories)
                    .with_payload(Payload::Words(&find.words));
                call.user = find.scopes.first().map(|scope| &scope.user);
                self.make_call(call, || async move {
                    self.inner().require_memories()?.find_memories(find).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] memory_neighbours $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn memory_neighbours(
                &self, scope: &MemoryScope, ids: &[MemoryId], each_side: usize,
            ) -> Result<Vec<Vec<StoredMemory>>> {
                let call = Call::about(Operation::MemoryNeighbours,
                    &scope.user).with_payload(Payload::Ids(ids.len()));
                let read = || async move {
                    self.inner().require_memories()?.memory_neighbours(scope, ids,
                    each_side).await };
                self.make_call(call, read).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] forget_memories $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn forget_memories(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
                let call = Call::about(Operation::ForgetMemories, &forget.scope().user);
                self.make_call(call, || async move {
                    self.inner().require_memories()?.forget_memories(forget).await }).await
            }
        ] $($r)*);
    };
    (@ $s:ident $l:ident [$($d:tt)*] memory_stats $($r:ident)*) => {
        $crate::forward::forward!(@ $s $l [$($d)*
            async fn memory_stats(
                &self, user: &UserId, limit: usize, after: Option<&Cursor>,
            ) -> Result<Page<MemoryStats>> {
                let call = Call::about(Operation::MemoryStats, user);
                self.make_call(call, || async move {
                    self.inner().require_memories()?.memory_stats(user, limit,
                    after).await }).await
            }
        ] $($r)*);
    };
}
pub(crate) use forward_abilities;
