//! The knowledge of the clients about the store, and their next calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_core::store::{CommitOutcome, MemoryOutcome, MemoryWritten, RoundCommit};
use context_core::trajectory::{AgentRef, EdgeNames, NewNode, NewQuery, NodeBody, NodeId, Round};
use context_core::trajectory::{Change, RoundRecord, TrajectoryError};
use context_simulator::Random;

use super::call::{CallTarget, ClientCall, CommitCall, Expectation, RoundCall, time};
use super::reply::Reply;

/// The objects that clients use beside the chat.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    pub(crate) streams: bool,
    pub(crate) rounds: bool,
    pub(crate) memories: bool,
}

/// The latest replies, which the clients share. They may be out of date.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    /// The heads of the known branches.
    heads: BTreeMap<String, String>,
    messages: Vec<String>,
    /// The run, the number of chunks and the writer of each stream.
    streams: BTreeMap<String, (u32, u64, String)>,
    round: Option<RoundRecord>,
    versions: BTreeMap<String, u64>,
    /// Whether the chat was seen to be absent.
    absent: bool,
    updated_at: i64,
}

/// The names that a client gives to what it makes.
#[derive(Clone, Debug)]
pub(crate) struct ClientNames {
    pub(crate) client: usize,
    /// The prefix of all names, which differs between processes.
    pub(crate) prefix: String,
    pub(crate) made: usize,
}

impl ClientNames {
    fn next(&mut self) -> String {
        self.made += 1;
        format!("{}{}-{}", self.prefix, self.client, self.made)
    }
}

const FRAGMENTS: usize = 3;
const CHECKPOINTS: usize = 2;
const STREAMS: usize = 2;
const MEMORIES: usize = 3;

impl Board {
    /// Takes notice of a reply.
    pub(crate) fn learn(&mut self, call: &ClientCall, reply: &Reply) {
        match reply {
            Reply::Commit(CommitOutcome::Applied(committed)) => {
                if let (Some(branch), Some(head)) = (&committed.branch, &committed.head) {
                    self.heads.insert(branch.to_string(), head.to_string());
                }
                if let ClientCall::Commit(call) = call {
                    self.messages.extend(call.messages.iter().cloned());
                }
            }
            Reply::Commit(CommitOutcome::Conflict { actual }) => {
                if let ClientCall::Commit(CommitCall {
                    target: CallTarget::Extend { branch, .. },
                    ..
                }) = call
                {
                    let head = actual.as_ref().map_or("", |id| id.as_str());
                    self.heads.insert(branch.clone(), head.to_owned());
                }
            }
            Reply::Branches(branches) => {
                let head = |id: &Option<context_core::MessageId>| {
                    id.as_ref().map_or_else(String::new, ToString::to_string)
                };
                self.heads = branches.iter().map(|b| (b.name.to_string(), head(&b.head))).collect();
            }
            Reply::Chat(chat) => {
                self.absent = chat.is_none();
                self.updated_at = chat.as_ref().map_or(0, |chat| chat.updated_at.as_micros());
            }
            Reply::Created(_) => self.absent = false,
            Reply::Was(true) if matches!(call, ClientCall::DeleteChat { .. }) => {
                self.heads = BTreeMap::from([("main".to_owned(), String::new())]);
                (self.absent, self.messages, self.streams) = (true, Vec::new(), BTreeMap::new());
            }
            Reply::Stream(outcome) => self.learn_stream(outcome.stream()),
            Reply::StreamState(stream) | Reply::StreamPart(Some((stream, _))) => {
                self.learn_stream(stream);
            }
            Reply::Round(record) => self.round.clone_from(record),
            Reply::Memory(MemoryOutcome::Applied(written)) => {
                if let (ClientCall::WriteMemory { id, .. }, Some(MemoryWritten::Written(version))) =
                    (call, written.first())
                {
                    self.versions.insert(id.clone(), *version);
                }
            }
            Reply::Memories(memories) => {
                let versions = memories.iter().map(|m| (m.record.id.to_string(), m.version));
                self.versions.extend(versions);
            }
            _ => {}
        }
    }

    fn learn_stream(&mut self, stream: &context_core::store::StoredStream) {
        let writer = stream.writer.as_ref().map_or_else(String::new, ToString::to_string);
        self.streams.insert(stream.id.to_string(), (stream.run, stream.chunks, writer));
    }

    /// Returns the next call of a client.
    pub(crate) fn next(
        &self,
        random: &mut Random,
        abilities: Abilities,
        names: &mut ClientNames,
        agent: &AgentRef,
        at: i64,
    ) -> ClientCall {
        if self.absent && random.one_in(2) {
            return ClientCall::CreateChat { at };
        }
        match random.below(100) {
            0..14 if abilities.streams => self.stream_call(random, names, at),
            14..26 if abilities.rounds => self.round_call(random, names, agent, at),
            26..40 if abilities.memories => self.memory_call(random, names, at),
            40..62 => self.chat_read(random),
            62..64 if random.one_in(2) => {
                let idle_since = (!random.one_in(3)).then_some(self.updated_at);
                ClientCall::DeleteChat { idle_since }
            }
            64 => ClientCall::CreateChat { at },
            65..75 => self.chat_write(random, names, at),
            _ => ClientCall::Commit(self.commit_call(random, names, at)),
        }
    }

    /// Returns an append to the main branch, or a read of it.
    pub(crate) fn append(
        &self,
        random: &mut Random,
        names: &mut ClientNames,
        at: i64,
    ) -> ClientCall {
        let branch = "main".to_owned();
        if random.one_in(4) {
            return ClientCall::ReadChain { branch };
        }
        let seen = String::new();
        let (messages, target) = (vec![names.next()], CallTarget::Graft { branch, seen });
        ClientCall::Commit(CommitCall { messages, target, at, ..CommitCall::default() })
    }

    fn branch(&self, random: &mut Random) -> (String, String) {
        // Most calls meet on the main branch.
        let n = if random.one_in(2) { 0 } else { random.below(self.heads.len()) };
        let known = self.heads.iter().nth(n).map(|(name, head)| (name.clone(), head.clone()));
        known.unwrap_or_else(|| ("main".to_owned(), String::new()))
    }

    fn message(&self, random: &mut Random) -> String {
        let known = self.messages.get(random.below(self.messages.len()));
        known.cloned().unwrap_or_else(|| "ghost".to_owned())
    }

    fn commit_call(&self, random: &mut Random, names: &mut ClientNames, at: i64) -> CommitCall {
        let (branch, head) = self.branch(random);
        let key = random.one_in(3).then(|| format!("k{}", names.next()));
        let mut call = CommitCall { key, at, ..CommitCall::default() };
        let new = |names: &mut ClientNames, n: usize| (0..n).map(|_| names.next()).collect();
        match random.below(20) {
            0..8 => {
                call.messages = new(names, 1 + random.below(2));
                call.target = CallTarget::Extend { branch, expected: head };
                call.count = random.one_in(3);
            }
            8..12 => {
                let seen = if random.one_in(3) { self.message(random) } else { head };
                call.messages = new(names, 1);
                call.target = CallTarget::Graft { branch, seen };
            }
            12 | 13 => {
                let (name, at) = (format!("b{}", random.below(3)), self.message(random));
                call.messages = new(names, random.below(2));
                let activate = random.one_in(3);
                call.target = CallTarget::Fork { name, at, activate };
            }
            14 => {
                call.messages = new(names, 1);
                let at = self.message(random);
                call.target = CallTarget::ForkVersion { of: "main".to_owned(), at };
            }
            15 | 16 => call.amend = Some((self.message(random), format!("words {}", names.next()))),
            17 => call.redact = Some(self.message(random)),
            _ => call.count = true,
        }
        // Without new messages, only a key makes a commit safe to send again.
        if call.messages.is_empty() && random.one_in(2) {
            call.key.get_or_insert_with(|| format!("k{}", names.next()));
        }
        call
    }

    fn chat_write(&self, random: &mut Random, names: &mut ClientNames, at: i64) -> ClientCall {
        let (branch, head) = self.branch(random);
        let fragment = |random: &mut Random| format!("f{}", random.below(FRAGMENTS));
        let checkpoint = |random: &mut Random| format!("cp{}", random.below(CHECKPOINTS));
        match random.below(12) {
            0..4 => {
                let text = format!("text {}", names.next());
                ClientCall::PutFragment { id: fragment(random), text, at }
            }
            4 => ClientCall::RemoveFragment { id: fragment(random), at },
            5 | 6 => ClientCall::ActivateBranch { branch, at },
            7 => ClientCall::RenameBranch { branch, to: format!("b{}", random.below(4)), at },
            8 => ClientCall::DeleteBranch { branch, expected: head, at },
            9 | 10 => {
                let message = self.message(random);
                ClientCall::SetCheckpoint { name: checkpoint(random), message, at }
            }
            _ => ClientCall::DeleteCheckpoint { name: checkpoint(random), at },
        }
    }

    fn chat_read(&self, random: &mut Random) -> ClientCall {
        match random.below(12) {
            0..5 => ClientCall::ReadChain { branch: self.branch(random).0 },
            5..7 => ClientCall::ReadBranches,
            7 => ClientCall::ReadChat,
            8 => ClientCall::ReadMessages { ids: vec![self.message(random), self.message(random)] },
            9 => ClientCall::ReadRevisions { message: self.message(random) },
            10 => ClientCall::ReadFragments,
            _ => ClientCall::ReadCheckpoints,
        }
    }

    fn stream_call(&self, random: &mut Random, names: &mut ClientNames, at: i64) -> ClientCall {
        let stream = format!("s{}", random.below(STREAMS));
        let Some((run, chunks, writer)) = self.streams.get(&stream).cloned() else {
            return ClientCall::CreateStream { stream, at };
        };
        match random.below(12) {
            0..7 if writer.is_empty() => {
                ClientCall::ClaimStream { stream, writer: names.next(), idle_since: None, at }
            }
            0 | 1 => {
                let idle_since = random.one_in(2).then_some(at - 10);
                ClientCall::ClaimStream { stream, writer: names.next(), idle_since, at }
            }
            2..7 => {
                let (offset, end) = (chunks, random.one_in(6));
                let chunk = format!("chunk {}", names.next());
                ClientCall::AppendStream { stream, writer, offset, chunk, end, at }
            }
            7 if random.one_in(2) => ClientCall::CancelStream { stream, at },
            8 => ClientCall::ReopenStream { stream, run, at },
            9 if random.one_in(4) => ClientCall::RemoveStream { stream },
            _ => ClientCall::ReadStream { stream },
        }
    }

    fn round_call(
        &self,
        random: &mut Random,
        names: &mut ClientNames,
        agent: &AgentRef,
        at: i64,
    ) -> ClientCall {
        if random.one_in(3) {
            return ClientCall::LoadRound;
        }
        let text = format!("node {}", names.next());
        match self.next_commit(agent, &text, at) {
            Ok(commit) => ClientCall::RecordRound(RoundCall {
                expected: commit.expected,
                key: commit.key.to_string(),
                text,
                commit: Some(Arc::new(commit)),
            }),
            Err(_) => ClientCall::LoadRound,
        }
    }

    /// Builds a commit of one more node to the known round.
    fn next_commit(
        &self,
        agent: &AgentRef,
        text: &str,
        at: i64,
    ) -> Result<RoundCommit, TrajectoryError> {
        let mut round = match &self.round {
            Some(record) => Round::from_record(record.clone())?,
            None => Round::new(agent.round(0), time(at)),
        }
        .edge_names(EdgeNames::Any);
        let changes: Vec<Change> = if round.is_empty() {
            round.ask(NewQuery::new(text), time(at))?.1
        } else {
            let new = NewNode::new(NodeBody::state(text), [NodeId::new(0, 0)]);
            round.add(new.edge("has_conclusion").append(), time(at))?.1
        };
        round.committed();
        Ok(RoundCommit::new(format!("key {text}"), changes, round.head()))
    }

    fn memory_call(&self, random: &mut Random, names: &mut ClientNames, at: i64) -> ClientCall {
        let id = format!("memory-{}", random.below(MEMORIES));
        let text = format!("note {}", names.next());
        match random.below(10) {
            0..4 => {
                let version = self.versions.get(&id).copied().unwrap_or(0);
                ClientCall::WriteMemory { id, text, expected: Expectation::Version(version), at }
            }
            4 => ClientCall::WriteMemory { id, text, expected: Expectation::Absent, at },
            5 => ClientCall::WriteMemory { id, text, expected: Expectation::Anything, at },
            6 => ClientCall::ForgetMemory { id },
            _ => ClientCall::ReadMemories { ids: Self::memory_ids() },
        }
    }

    fn memory_ids() -> Vec<String> {
        (0..MEMORIES).map(|n| format!("memory-{n}")).collect()
    }

    /// Returns reads of everything, which end a run.
    pub(crate) fn final_reads(&self, abilities: Abilities) -> Vec<ClientCall> {
        let mut reads = vec![
            ClientCall::ReadBranches,
            ClientCall::ReadChat,
            ClientCall::ReadFragments,
            ClientCall::ReadCheckpoints,
            ClientCall::ReadMessages { ids: self.messages.clone() },
        ];
        let branches = self.heads.keys().cloned();
        reads.extend(branches.map(|branch| ClientCall::ReadChain { branch }));
        if abilities.streams {
            let streams = (0..STREAMS).map(|n| format!("s{n}"));
            reads.extend(streams.map(|stream| ClientCall::ReadStream { stream }));
        }
        if abilities.rounds {
            reads.push(ClientCall::LoadRound);
        }
        if abilities.memories {
            reads.push(ClientCall::ReadMemories { ids: Self::memory_ids() });
        }
        reads
    }
}
