//! The specification: the objects of a store as one client alone would see them.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope};
use context_core::store::{
    AppendPosition, Chat, Checkpoint, Created, MemoryOutcome, NewChat, RecordOutcome, StoredStream,
    StreamOutcome,
};
use context_core::{ChatRef, ErrorKind, Node};

use super::call::{ClientCall, RoundCall, time};
use super::reply::Reply;
use crate::chat_fixture::{id, stored};
use crate::memory_fixture::MemoryModel;
use crate::model::Model;

/// The answer of the specification to a call.
pub(crate) type Expected = Result<Reply, ErrorKind>;

type SequentialStreams = BTreeMap<String, (StoredStream, Vec<Bytes>)>;

/// The state of all objects of a run. At first there is nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct SequentialState {
    chat: Option<Model>,
    streams: SequentialStreams,
    round: SequentialRound,
    memories: MemoryModel,
    /// The ids of records that were forgotten and not written since.
    forgotten: Vec<String>,
}

#[derive(Clone, Debug, Default, Hash)]
struct SequentialRound {
    texts: Vec<String>,
    last_key: String,
}

impl SequentialState {
    /// Makes a call.
    pub(crate) fn apply(&mut self, call: &ClientCall) -> Expected {
        match call {
            ClientCall::CreateChat { at } => Ok(Reply::Created(self.create_chat(*at))),
            ClientCall::DeleteChat { idle_since } => {
                let idle = |chat: &Model| {
                    idle_since.is_none_or(|since| chat.chat.updated_at <= time(since))
                };
                let deleted = self.chat.as_ref().is_some_and(idle);
                if deleted {
                    self.chat = None;
                    self.streams.clear();
                }
                Ok(Reply::Was(deleted))
            }
            ClientCall::ReadChat => {
                Ok(Reply::Chat(self.chat.as_ref().map(|model| model.chat.clone())))
            }
            ClientCall::RecordRound(call) => Ok(Reply::Recorded(self.round.record(call))),
            ClientCall::LoadRound => {
                let texts = self.round.texts.clone();
                Ok(Reply::RoundTexts(texts.len() as u64, texts))
            }
            ClientCall::WriteMemory { .. }
            | ClientCall::ForgetMemory { .. }
            | ClientCall::ReadMemories { .. } => self.of_memories(call),
            _ => {
                let model = self.chat.as_mut().ok_or(ErrorKind::NotFound)?;
                match of_chat(model, call) {
                    Some(answer) => answer,
                    None => of_stream(&mut self.streams, call),
                }
            }
        }
    }

    fn create_chat(&mut self, at: i64) -> Created {
        if let Some(model) = &self.chat {
            return Created::Existing(model.chat.clone());
        }
        let chat = Chat::new(NewChat::new(ChatRef::new("user", "chat"), time(at)));
        self.chat = Some(Model::new(chat.clone()));
        Created::New(chat)
    }

    fn of_memories(&mut self, call: &ClientCall) -> Expected {
        let scope = MemoryScope::new("user");
        let memories = &mut self.memories;
        match call {
            ClientCall::WriteMemory { id, text, expected, at } => {
                let write = ClientCall::memory_write(&scope, (id, text), *expected, *at);
                let before = memories.get(&scope, &id.as_str().into());
                let version = before.map_or(0, |entry| entry.version);
                Ok(match memories.write(&[write]) {
                    Ok(written) => {
                        self.forgotten.retain(|forgotten| {
                            forgotten != id || memories.get(&scope, &id.as_str().into()).is_none()
                        });
                        Reply::Memory(MemoryOutcome::Applied(written))
                    }
                    Err(_) => Reply::MemoryConflict(version),
                })
            }
            ClientCall::ForgetMemory { id } => {
                let forget = MemoryForget::ids(scope, [id.as_str()]);
                let removed = memories.forget(&forget);
                if removed > 0 {
                    self.forgotten.push(id.clone());
                }
                Ok(Reply::Forgotten(removed))
            }
            ClientCall::ReadMemories { ids } => {
                let entries = ids.iter().filter_map(|id| memories.get(&scope, &id.as_str().into()));
                let text = |entry: &crate::memory_fixture::Entry| {
                    let MemoryRecord { id, text, .. } = entry.record();
                    (id.to_string(), entry.version, text.clone())
                };
                Ok(Reply::MemoryTexts(entries.map(text).collect()))
            }
            _ => Err(ErrorKind::Bug),
        }
    }

    /// Returns a number that differs between states that later calls can tell apart.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hash = DefaultHasher::new();
        self.chat.is_some().hash(&mut hash);
        if let Some(model) = &self.chat {
            hash_chat(model, &mut hash);
        }
        for (name, (stream, chunks)) in &self.streams {
            (name, format!("{stream:?}"), chunks).hash(&mut hash);
        }
        self.round.hash(&mut hash);
        for entry in &self.memories.entries {
            let MemoryRecord { id, text, at, .. } = entry.record();
            (id.as_str(), text, at.as_micros(), entry.version).hash(&mut hash);
        }
        self.forgotten.hash(&mut hash);
        hash.finish()
    }
}

impl SequentialRound {
    fn record(&mut self, call: &RoundCall) -> RecordOutcome {
        let actual = self.texts.len() as u64;
        if actual == call.expected + 1 && self.last_key == call.key {
            return RecordOutcome::Replayed;
        }
        if actual != call.expected {
            return RecordOutcome::Conflict { actual };
        }
        self.texts.push(call.text.clone());
        self.last_key.clone_from(&call.key);
        RecordOutcome::Applied
    }
}

/// Makes a call on a chat that exists. Returns `None` for a call on a stream.
fn of_chat(model: &mut Model, call: &ClientCall) -> Option<Expected> {
    let known = |known: bool| known.then_some(Reply::Done).ok_or(ErrorKind::NotFound);
    Some(match call {
        ClientCall::Commit(call) => {
            let commit = call.commit(&model.chat.chat);
            model.commit(&commit).map(Reply::Commit)
        }
        ClientCall::PutFragment { id, text, at } => {
            model.put_fragments(&[stored(id, text)]);
            model.touch(time(*at));
            Ok(Reply::Done)
        }
        ClientCall::RemoveFragment { id, at } => {
            model.touch(time(*at));
            let (before, id) = (model.fragments.len(), id.as_str().into());
            model.fragments.retain(|fragment| fragment.id.as_ref() != Some(&id));
            Ok(Reply::Was(model.fragments.len() < before))
        }
        ClientCall::ActivateBranch { branch, at } => {
            known(model.activate(&branch.as_str().into(), time(*at)))
        }
        ClientCall::RenameBranch { branch, to, at } => {
            let (from, to) = (branch.as_str().into(), to.as_str().into());
            model.rename(&from, &to, time(*at)).map(|()| Reply::Done)
        }
        ClientCall::DeleteBranch { branch, expected, at } => {
            let expected = id(expected);
            model
                .delete_branch(&branch.as_str().into(), expected.as_ref(), time(*at))
                .map(Reply::Branch)
        }
        ClientCall::SetCheckpoint { name, message, at } => {
            let checkpoint =
                Checkpoint::new(name.as_str().into(), message.as_str().into(), time(*at));
            known(model.set_checkpoint(checkpoint.clone())).map(|_| Reply::Checkpoint(checkpoint))
        }
        ClientCall::DeleteCheckpoint { name, at } => {
            Ok(Reply::Was(model.delete_checkpoint(&name.as_str().into(), time(*at))))
        }
        ClientCall::ReadBranches => Ok(Reply::Branches(model.visible(false).branches)),
        ClientCall::ReadChain { branch } => {
            match model.branch(&branch.as_str().into()).map(|branch| branch.head.clone()) {
                Some(head) => Ok(Reply::Chain(model.path(head.as_ref()))),
                None => Err(ErrorKind::NotFound),
            }
        }
        ClientCall::ReadMessages { ids } => {
            let slot = |id: &String| model.messages.get(id.as_str()).cloned();
            Ok(Reply::Messages(ids.iter().map(slot).collect()))
        }
        ClientCall::ReadRevisions { message } => {
            let revisions = model.revisions.get(message.as_str());
            Ok(Reply::Revisions(revisions.cloned().unwrap_or_default()))
        }
        ClientCall::ReadFragments => Ok(Reply::Fragments(model.fragments.clone())),
        ClientCall::ReadCheckpoints => {
            Ok(Reply::Checkpoints(model.checkpoints.values().cloned().collect()))
        }
        _ => return None,
    })
}

fn of_stream(streams: &mut SequentialStreams, call: &ClientCall) -> Expected {
    let outcome = |applied, stream: &StoredStream| {
        let stream = stream.clone();
        Reply::Stream(if applied {
            StreamOutcome::Applied(stream)
        } else {
            StreamOutcome::Refused(stream)
        })
    };
    let replayed = |stream: &StoredStream| Reply::Stream(StreamOutcome::Replayed(stream.clone()));
    Ok(match call {
        ClientCall::CreateStream { stream: name, at } => match streams.get(name) {
            Some((stream, _)) => replayed(stream),
            None => {
                let stream = StoredStream::new(name.as_str(), time(*at));
                streams.insert(name.clone(), (stream.clone(), Vec::new()));
                outcome(true, &stream)
            }
        },
        ClientCall::ClaimStream { stream, writer, idle_since, at } => {
            let (stream, _) = streams.get_mut(stream).ok_or(ErrorKind::NotFound)?;
            let claim = ClientCall::claim(writer, *idle_since, *at);
            if stream.is_claimed_by(&claim) {
                return Ok(replayed(stream));
            }
            let claimed = stream.claim(&claim);
            outcome(claimed, stream)
        }
        ClientCall::AppendStream { stream, writer, offset, chunk, end, at } => {
            let (stream, chunks) = streams.get_mut(stream).ok_or(ErrorKind::NotFound)?;
            let append = ClientCall::append(writer, *offset, chunk, *end, *at);
            let from = usize::try_from(*offset).unwrap_or(usize::MAX);
            match stream.place(&append) {
                AppendPosition::Next => {
                    stream.append(&append).map_err(|error| error.kind())?;
                    chunks.extend(append.chunks);
                    outcome(true, stream)
                }
                AppendPosition::Stored
                    if chunks
                        .get(from..)
                        .is_some_and(|known| known.starts_with(&append.chunks)) =>
                {
                    replayed(stream)
                }
                _ => outcome(false, stream),
            }
        }
        ClientCall::CancelStream { stream, at } => {
            let (stream, _) = streams.get_mut(stream).ok_or(ErrorKind::NotFound)?;
            stream.request_cancel(time(*at));
            Reply::StreamState(stream.clone())
        }
        ClientCall::ReopenStream { stream, run, at } => {
            let (stream, chunks) = streams.get_mut(stream).ok_or(ErrorKind::NotFound)?;
            if stream.is_reopened_from(*run) {
                return Ok(replayed(stream));
            }
            let reopened = stream.reopen(*run, time(*at));
            if reopened {
                chunks.clear();
            }
            outcome(reopened, stream)
        }
        ClientCall::RemoveStream { stream } => Reply::Was(streams.remove(stream).is_some()),
        ClientCall::ReadStream { stream } => Reply::StreamPart(streams.get(stream).cloned()),
        _ => return Err(ErrorKind::Bug),
    })
}

fn hash_chat(model: &Model, hash: &mut DefaultHasher) {
    fn hash_node(node: &Node, hash: &mut DefaultHasher) {
        (node.id.as_str(), node.revision, node.body().bytes()).hash(hash);
    }
    let chat = &model.chat;
    (chat.active.as_str(), chat.updated_at.as_micros()).hash(hash);
    chat.metadata.iter().for_each(|(key, value)| (key, value.as_str()).hash(hash));
    for branch in &model.branches {
        (branch.name.as_str(), branch.head.as_ref().map(|id| id.as_str())).hash(hash);
    }
    for placed in model.messages.values() {
        hash_node(&placed.node, hash);
        placed.parent.as_ref().map(|id| id.as_str()).hash(hash);
    }
    for (id, revisions) in &model.revisions {
        id.as_str().hash(hash);
        for revision in revisions {
            hash_node(&revision.node, hash);
            revision.replaced_at.as_micros().hash(hash);
        }
    }
    for checkpoint in model.checkpoints.values() {
        (checkpoint.name.as_str(), checkpoint.message.as_str()).hash(hash);
    }
    for fragment in &model.fragments {
        (fragment.id.as_ref().map(|id| id.as_str()), fragment.body.bytes()).hash(hash);
    }
    for (key, (digest, _)) in &model.keys {
        (key.as_str(), digest).hash(hash);
    }
}
