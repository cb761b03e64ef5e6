//! Making a call: from its data to the method of a store.

use context_core::memory::{MemoryForget, MemoryScope};
use context_core::store::{ChainEnd, NewChat, Window};
use context_core::{ChatRef, Error, ErrorKind, Result, Store};

use super::call::{CheckedObject, ClientCall, ObjectNames, RoundCall, time};
use super::reply::Reply;
use crate::chat_fixture::{id, stored};

impl ClientCall {
    /// Makes the call.
    pub(crate) async fn make(&self, store: &dyn Store, names: &ObjectNames) -> Result<Reply> {
        match self.object() {
            CheckedObject::Chat => self.of_chat(store, &names.chat).await,
            CheckedObject::Round => self.of_round(store, names).await,
            CheckedObject::Memories => self.of_memories(store, &names.scope).await,
        }
    }

    async fn of_chat(&self, store: &dyn Store, chat: &ChatRef) -> Result<Reply> {
        let (history, fragments) = (store.history(), store.fragments());
        Ok(match self {
            Self::CreateChat { at } => {
                let new = NewChat::new(chat.clone(), time(*at));
                Reply::Created(history.create_chat(new).await?)
            }
            Self::DeleteChat { idle_since } => {
                Reply::Was(history.delete_chat(chat, idle_since.map(time)).await?)
            }
            Self::Commit(call) => Reply::Commit(history.commit(call.commit(chat)).await?),
            Self::PutFragment { id, text, at } => {
                fragments.put_fragments(chat, &[stored(id, text)], time(*at)).await?;
                Reply::Done
            }
            Self::RemoveFragment { id, at } => {
                let id = id.as_str().into();
                Reply::Was(fragments.remove_fragment(chat, &id, time(*at)).await?)
            }
            Self::ActivateBranch { branch, at } => {
                history.activate_branch(chat, &branch.as_str().into(), time(*at)).await?;
                Reply::Done
            }
            Self::RenameBranch { branch, to, at } => {
                let (from, to) = (branch.as_str().into(), to.as_str().into());
                history.rename_branch(chat, &from, &to, time(*at)).await?;
                Reply::Done
            }
            Self::DeleteBranch { branch, expected, at } => {
                let (branch, expected) = (branch.as_str().into(), id(expected));
                let deleted =
                    history.delete_branch(chat, &branch, expected.as_ref(), time(*at)).await?;
                Reply::Branch(deleted)
            }
            Self::SetCheckpoint { name, message, at } => {
                let (name, message) = (name.as_str().into(), message.as_str().into());
                Reply::Checkpoint(history.set_checkpoint(chat, &name, &message, time(*at)).await?)
            }
            Self::DeleteCheckpoint { name, at } => {
                let name = name.as_str().into();
                Reply::Was(history.delete_checkpoint(chat, &name, time(*at)).await?)
            }
            Self::ReadChat => Reply::Chat(history.chat(chat).await?),
            Self::ReadBranches => Reply::Branches(history.branches(chat).await?),
            Self::ReadChain { branch } => {
                let end = ChainEnd::Branch(branch.as_str().into());
                let chain = history.chain(chat, &end, &Window::Whole).await?;
                Reply::Chain(chain.iter().cloned().collect())
            }
            Self::ReadMessages { ids } => {
                let ids: Vec<_> = ids.iter().map(|id| id.as_str().into()).collect();
                Reply::Messages(history.messages(chat, &ids).await?)
            }
            Self::ReadRevisions { message } => {
                Reply::Revisions(history.revisions(chat, &message.as_str().into()).await?)
            }
            Self::ReadFragments => Reply::Fragments(fragments.fragments(chat).await?),
            Self::ReadCheckpoints => Reply::Checkpoints(history.checkpoints(chat).await?),
            _ => return self.of_stream(store, chat).await,
        })
    }

    async fn of_stream(&self, store: &dyn Store, chat: &ChatRef) -> Result<Reply> {
        let streams = store.streams().ok_or_else(lacks)?;
        Ok(match self {
            Self::CreateStream { stream, at } => {
                let id = stream.as_str().into();
                Reply::Stream(streams.create_stream(chat, &id, time(*at)).await?)
            }
            Self::ClaimStream { stream, writer, idle_since, at } => {
                let claim = Self::claim(writer, *idle_since, *at);
                let id = stream.as_str().into();
                Reply::Stream(streams.claim_stream(chat, &id, &claim).await?)
            }
            Self::AppendStream { stream, writer, offset, chunk, end, at } => {
                let append = Self::append(writer, *offset, chunk, *end, *at);
                let id = stream.as_str().into();
                Reply::Stream(streams.append_stream(chat, &id, append).await?)
            }
            Self::CancelStream { stream, at } => {
                let id = stream.as_str().into();
                Reply::StreamState(streams.cancel_stream(chat, &id, time(*at)).await?)
            }
            Self::ReopenStream { stream, run, at } => {
                let id = stream.as_str().into();
                Reply::Stream(streams.reopen_stream(chat, &id, *run, time(*at)).await?)
            }
            Self::RemoveStream { stream } => {
                Reply::Was(streams.remove_stream(chat, &stream.as_str().into()).await?)
            }
            Self::ReadStream { stream } => {
                let id = stream.as_str().into();
                let part = streams.read_stream(chat, &id, 0, 1000).await?;
                Reply::StreamPart(part.map(|part| (part.stream, part.chunks)))
            }
            _ => return Err(lacks()),
        })
    }

    async fn of_round(&self, store: &dyn Store, names: &ObjectNames) -> Result<Reply> {
        let rounds = store.trajectories().ok_or_else(lacks)?;
        match self {
            Self::RecordRound(RoundCall { commit: Some(commit), .. }) => {
                Ok(Reply::Recorded(rounds.record_round(commit).await?))
            }
            _ => Ok(Reply::Round(rounds.load_rounds(&names.agent, 0..=0).await?.pop())),
        }
    }

    async fn of_memories(&self, store: &dyn Store, scope: &MemoryScope) -> Result<Reply> {
        let memories = store.memories().ok_or_else(lacks)?;
        Ok(match self {
            Self::WriteMemory { id, text, expected, at } => {
                let write = Self::memory_write(scope, (id, text), *expected, *at);
                Reply::Memory(memories.write_memories(&[write]).await?)
            }
            Self::ForgetMemory { id } => {
                let forget = MemoryForget::ids(scope.clone(), [id.as_str()]);
                Reply::Forgotten(memories.forget_memories(&forget).await?.removed)
            }
            Self::ReadMemories { ids } => {
                let ids: Vec<_> = ids.iter().map(|id| id.as_str().into()).collect();
                Reply::Memories(memories.memories(scope, &ids).await?)
            }
            _ => return Err(lacks()),
        })
    }
}

fn lacks() -> Error {
    Error::new(ErrorKind::Unsupported, "linear", "the store lacks the ability")
}
