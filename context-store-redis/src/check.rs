//! The check of the whole store: the hash of every chat is read at one moment, and each field and
//! the graph are checked.

pub(crate) mod blobs;
pub(crate) mod memories;
pub(crate) mod rounds;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{CheckReport, Finding};
use context_core::{CancelSignal, ChatRef, MessageId, Node};
use context_store_kit::{check_chat_graph, pack};
use redis::cmd;

use crate::chat::fields::{self, ChatCounts, Generation, Position, Tip};
use crate::chat::snapshot::ChatHeader;
use crate::chat::tree::{BranchTree, Piece};
use crate::connections::shared::Shared;
use crate::error::{Fault, Result};
use crate::fragments::log::VersionList;
use crate::fragments::{self, FragmentList};
use crate::history::messages::read_revision;
use crate::history::{ref_log, runs};
use crate::values::{self, unreadable};
use crate::{check, checksums, leases, streams};

pub(crate) async fn check(shared: &Shared, cancel: &CancelSignal) -> Result<CheckReport> {
    let mut report = CheckReport::default();
    for key in shared.connection.scan(&shared.keys.pattern_of_chats()).await? {
        cancel.check("check")?;
        let hash: HashMap<Vec<u8>, Vec<u8>> =
            shared.connection.run(cmd("HGETALL").arg(&key[..])).await?;
        if hash.is_empty() {
            // The chat was deleted or has expired meanwhile.
            continue;
        }
        report.chats += 1;
        let hash = hash.into_iter().map(|(field, value)| (field, value.into())).collect();
        let mut chat = ChatCheck { fields: hash, report: &mut report, chat: None };
        let number = match chat.check() {
            Ok(number) => number,
            Err(Fault::Corrupt(problem, _)) => {
                let about = if chat.chat.is_some() { "layout".to_owned() } else { self::key(&key) };
                chat.add(about, problem);
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let Some(chat) = chat.chat else { continue };
        if shared.keys.chat(&chat).as_bytes() != key {
            report.findings.push(Finding::new(
                Some(&chat),
                "chat",
                "the chat is stored under the key of another chat",
            ));
        } else if !is_listed(shared, &chat, number).await? {
            report.findings.push(Finding::new(
                Some(&chat),
                "chat",
                "the chat is missing from the list of its user",
            ));
        }
        cancel.report("message", report.messages);
    }
    check::blobs::check(shared, cancel, &mut report).await?;
    check::rounds::check(shared, cancel, &mut report).await?;
    check::memories::check(shared, cancel, &mut report).await?;
    Ok(report)
}

/// Returns the name of a key for a finding whose content does not name its owner.
fn key(key: &[u8]) -> String {
    format!("key {}", key.escape_ascii())
}

/// Whether a chat is listed, unless it was deleted since it was read.
async fn is_listed(shared: &Shared, chat: &ChatRef, number: u64) -> Result<bool> {
    let entry = cmd("ZSCORE").arg(shared.keys.chats(&chat.user)).arg(chat.chat.as_str()).clone();
    let entry: Option<f64> = shared.connection.run(&entry).await?;
    if entry.is_some() {
        return Ok(true);
    }
    let generation: Option<Vec<u8>> =
        shared.connection.run(cmd("HGET").arg(shared.keys.chat(chat)).arg("o")).await?;
    Ok(match generation {
        Some(generation) => Generation::read(&generation)?.number != number,
        None => true,
    })
}

/// A chat whose fields are removed as they are checked. Fields that remain belong to nothing.
struct ChatCheck<'a> {
    fields: HashMap<Vec<u8>, Bytes>,
    report: &'a mut CheckReport,
    chat: Option<ChatRef>,
}

impl ChatCheck<'_> {
    fn add(&mut self, about: impl Into<String>, problem: impl Into<String>) {
        self.report.findings.push(Finding::new(self.chat.as_ref(), about.into(), problem));
    }

    fn take(&mut self, field: &str) -> Option<Bytes> {
        self.fields.remove(field.as_bytes())
    }

    fn need(&mut self, field: &str) -> Result<Bytes> {
        self.take(field).ok_or_else(unreadable)
    }

    /// Checks the whole chat and returns its number.
    fn check(&mut self) -> Result<u64> {
        let about = ChatHeader::read(&self.need("m")?)?;
        self.chat = Some(about.chat.clone());
        checksums::text_of("v", &self.need("v")?)?;
        let counts = ChatCounts::read(&self.need("a")?)?;
        let generation = Generation::read(&self.need("o")?)?;
        let tree = BranchTree::read(&self.need("s")?)?;
        let mut nodes = Vec::new();
        let mut at: HashMap<Position, MessageId> = HashMap::new();
        let mut branches = Vec::new();
        let mut bytes = 0;
        for piece in &tree.pieces {
            let tip = self.tip(piece)?;
            let own = tip.as_ref().map_or(piece.own, |tip| tip.own);
            self.piece(piece, &tree)?;
            let parent = piece.parent.and_then(|parent| at.get(&parent)).cloned();
            if parent.is_none() && piece.parent.is_some() {
                self.add(
                    format!("branch {}", piece.no),
                    "the branch forks after a message that does not exist",
                );
            }
            let mut last = parent;
            let mut boundaries = Vec::new();
            for (node, pos) in self.nodes(piece.no, own)?.into_iter().zip(1..) {
                let position = Position { piece: piece.no, pos };
                bytes += size(&node) + self.message(&node, position)?;
                if node.kind == NodeKind::Boundary {
                    boundaries.push(pos);
                }
                at.insert(position, node.id.clone());
                nodes.push(PlacedNode::new(Arc::clone(&node), last, piece.base + pos - 1));
                last = Some(node.id.clone());
            }
            let filed = self.take(&fields::boundaries(piece.no));
            if fields::read_boundaries(filed.as_deref())? != boundaries {
                self.add(
                    format!("branch {}", piece.no),
                    "the list of boundaries disagrees with the messages",
                );
            }
            if let (Some(tip), Some(name)) = (tip, &piece.name) {
                if tip.head != last {
                    self.add(
                        format!("branch {name}"),
                        "the head of the branch is not its newest message",
                    );
                }
                branches.push(tree.branch(name, piece, &tip));
            }
        }
        for mark in
            tree.checkpoints.iter().filter(|mark| at.get(&mark.position) != Some(&mark.message))
        {
            self.add(
                format!("checkpoint {}", mark.name),
                "the checkpoint does not point to its message",
            );
        }
        if (counts.messages, counts.bytes) != (nodes.len() as u64, bytes) {
            let problem = format!(
                "the counters state {} messages of {} bytes, but the chat has {} of {bytes} bytes",
                counts.messages,
                counts.bytes,
                nodes.len()
            );
            self.add("chat", problem);
        }
        self.rest()?;
        self.report.messages += nodes.len() as u64;
        let chat = about.chat(tree.active.clone(), counts.updated_at);
        self.report.findings.extend(check_chat_graph(
            &chat,
            &nodes,
            &branches,
            &tree.checkpoints(),
        ));
        Ok(generation.number)
    }

    /// Returns the end of a piece that has a name.
    fn tip(&mut self, piece: &Piece) -> Result<Option<Tip>> {
        let Some(name) = &piece.name else { return Ok(None) };
        let tip = self
            .take(&fields::branch(name.as_str()))
            .ok_or(Fault::Corrupt("a branch has no end", None))?;
        let tip = Tip::read(&tip)?;
        if tip.piece != piece.no {
            self.add(format!("branch {name}"), "the branch ends in messages of another branch");
        }
        Ok(Some(tip))
    }

    /// Checks a piece, except for its messages.
    fn piece(&mut self, piece: &Piece, tree: &BranchTree) -> Result<()> {
        let about = format!("branch {}", piece.no);
        if self.take(&fields::piece(piece.no)).as_deref() != Some(&piece.write()) {
            self.add(
                about.clone(),
                "the field of the branch disagrees with the branches of the chat",
            );
        }
        let base =
            piece.parent.map_or(Ok(0), |parent| tree.depth(parent).map(|depth| depth + 1))?;
        if base != piece.base {
            self.add(
                about.clone(),
                format!("the branch begins after {base} messages, but states {}", piece.base),
            );
        }
        if piece.name.is_none() && !tree.clone().prune(piece.no)?.is_empty() {
            self.add(
                about,
                "the branch was deleted, but keeps messages that no fork and no checkpoint needs",
            );
        }
        Ok(())
    }

    /// Returns the messages of a piece, as long as its runs follow each other without a gap.
    fn nodes(&mut self, piece: u64, own: u64) -> Result<Vec<Arc<Node>>> {
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        while (nodes.len() as u64) < own {
            let first = Position { piece, pos: nodes.len() as u64 + 1 };
            let Some(run) = self.take(&fields::run(first)) else { break };
            let read = runs::unpack(&run)?;
            if first.pos - first.block() + read.len() as u64 > fields::BLOCK || read.is_empty() {
                self.add(
                    format!("branch {piece}"),
                    "a run of messages crosses the end of its block",
                );
            }
            nodes.extend(read);
        }
        if nodes.len() as u64 != own {
            self.add(
                format!("branch {piece}"),
                format!("the branch has {} messages, but states {own}", nodes.len()),
            );
        }
        Ok(nodes)
    }

    /// Checks the fields of a message. Returns the number of bytes of its revisions.
    fn message(&mut self, node: &Node, position: Position) -> Result<u64> {
        let about = format!("message {}", node.id);
        let filed = self.take(&fields::id(&node.id));
        if filed.as_deref().map(Position::read).transpose()? != Some(position) {
            self.add(about.clone(), "the stored position is not the position of the message");
        }
        let Some(count) = self.take(&fields::revisions(&node.id)) else { return Ok(0) };
        let mut bytes = 0;
        for nth in 0..values::read_number(&count)? {
            let revision = self.take(&fields::revision(nth, &node.id));
            let revision = revision.map(|revision| read_revision(&revision)).transpose()?;
            match revision.filter(|revision| revision.node.id == node.id) {
                Some(revision) => bytes += size(&revision.node),
                None => {
                    self.add(about.clone(), "a revision is missing or belongs to another message")
                }
            }
        }
        Ok(bytes)
    }

    /// Checks fragments, streams and commit keys. No other field may then remain.
    fn rest(&mut self) -> Result<()> {
        let listed = self.take("x");
        let listed = FragmentList::read(listed.as_ref())?;
        let versions = self.take(fields::VERSIONS);
        for field in VersionList::read(versions.as_ref(), &listed)?.earlier() {
            match self.take(&field) {
                Some(value) => drop(fragments::read(&value)?),
                None => self.add(
                    format!("field {field}"),
                    "the log of fragments has a version whose content is missing",
                ),
            }
        }
        for entry in listed.list {
            match self.take(&fields::fragment(entry.no)) {
                Some(value) => drop(fragments::read(&value)?),
                None => self.add(
                    format!("fragment {}", entry.no),
                    "the fragment is in the list of fragments, but its field is missing",
                ),
            }
        }
        leases::read(self.take(fields::LEASE).as_ref())?;
        for field in ref_log::kept(ref_log::read_newest(self.take(fields::REFS).as_ref())?) {
            match self.take(&field) {
                Some(value) => drop(ref_log::read_entry(&field, &value)?),
                None => self
                    .add(format!("field {field}"), "an entry of the log of references is missing"),
            }
        }
        let streams = self.take(streams::fields::LIST);
        for id in streams::fields::listed(streams.as_deref())? {
            self.report.streams += 1;
            if let Some(problem) =
                streams::fields::check(&id, |field| self.fields.remove(field.as_bytes()))?
            {
                self.add(format!("stream {id}"), problem);
            }
        }
        let rest = std::mem::take(&mut self.fields);
        for (field, value) in rest {
            match String::from_utf8(field) {
                Ok(key) if key.starts_with('k') && checksums::opened(&key, &value).is_ok() => {}
                Ok(key) if key.starts_with('k') => {
                    self.add(
                        format!("commit key {}", &key[1..]),
                        "the stored outcome of the commit does not match its checksum",
                    );
                }
                Ok(field) => {
                    self.add(format!("field {field}"), "the field belongs to no part of the chat")
                }
                Err(field) => {
                    let field = field.into_bytes();
                    self.add(
                        format!("field {}", field.escape_ascii()),
                        "the field belongs to no part of the chat",
                    );
                }
            }
        }
        Ok(())
    }
}

fn size(node: &Node) -> u64 {
    let mut record = Vec::new();
    pack::pack(node, &mut record);
    record.len() as u64
}
