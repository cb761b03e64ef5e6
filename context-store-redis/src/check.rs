//! The check of the whole store: the hash of every chat is read at one moment, and each field and
//! the graph are checked.

pub(crate) mod blobs;
pub(crate) mod memories;
pub(crate) mod rounds;

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use context_core::message::{NodeKind, Placed};
use context_core::store::{CheckReport, Finding};
use context_core::{CancelSignal, ChatRef, MessageId, Node};
use context_store_kit::{check_chat_graph, pack};
use redis::cmd;

use crate::error::{Fault, Result};
use crate::fragments::{self, Listed};
use crate::history::fields::{self, Counts, Generation, Place, Tip, broken};
use crate::history::look::About;
use crate::history::messages::read_revision;
use crate::history::runs;
use crate::history::shape::{Piece, Shape};
use crate::shared::Shared;
use crate::{check, seals, streams};

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
        let mut chat = Checked { fields: hash, report: &mut report, chat: None };
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
                "is kept under the key of another one",
            ));
        } else if !is_listed(shared, &chat, number).await? {
            report.findings.push(Finding::new(
                Some(&chat),
                "chat",
                "is not in the list of its user",
            ));
        }
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
struct Checked<'a> {
    fields: HashMap<Vec<u8>, Bytes>,
    report: &'a mut CheckReport,
    chat: Option<ChatRef>,
}

impl Checked<'_> {
    fn add(&mut self, about: impl Into<String>, problem: impl Into<String>) {
        self.report.findings.push(Finding::new(self.chat.as_ref(), about.into(), problem));
    }

    fn take(&mut self, field: &str) -> Option<Bytes> {
        self.fields.remove(field.as_bytes())
    }

    fn need(&mut self, field: &str) -> Result<Bytes> {
        self.take(field).ok_or_else(broken)
    }

    /// Checks the whole chat and returns its number.
    fn check(&mut self) -> Result<u64> {
        let about = About::read(&self.need("m")?)?;
        self.chat = Some(about.chat.clone());
        seals::text_of("v", &self.need("v")?)?;
        let counts = Counts::read(&self.need("a")?)?;
        let generation = Generation::read(&self.need("o")?)?;
        let shape = Shape::read(&self.need("s")?)?;
        let mut nodes = Vec::new();
        let mut at: HashMap<Place, MessageId> = HashMap::new();
        let mut branches = Vec::new();
        let mut bytes = 0;
        for piece in &shape.pieces {
            let tip = self.tip(piece)?;
            let own = tip.as_ref().map_or(piece.own, |tip| tip.own);
            self.piece(piece, &shape)?;
            let parent = piece.parent.and_then(|parent| at.get(&parent)).cloned();
            if parent.is_none() && piece.parent.is_some() {
                self.add(format!("branch {}", piece.no), "forks behind no message");
            }
            let mut last = parent;
            let mut boundaries = Vec::new();
            for (node, pos) in self.nodes(piece.no, own)?.into_iter().zip(1..) {
                let place = Place { piece: piece.no, pos };
                bytes += size(&node) + self.message(&node, place)?;
                if node.kind == NodeKind::Boundary {
                    boundaries.push(pos);
                }
                at.insert(place, node.id.clone());
                nodes.push(Placed::new(Arc::clone(&node), last, piece.base + pos - 1));
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
                    self.add(format!("branch {name}"), "its head is not its newest message");
                }
                branches.push(shape.branch(name, piece, &tip));
            }
        }
        for mark in
            shape.checkpoints.iter().filter(|mark| at.get(&mark.place) != Some(&mark.message))
        {
            self.add(format!("checkpoint {}", mark.name), "is not where its message is");
        }
        if (counts.messages, counts.bytes) != (nodes.len() as u64, bytes) {
            let problem = format!(
                "says {} messages of {} bytes, has {} of {bytes}",
                counts.messages,
                counts.bytes,
                nodes.len()
            );
            self.add("chat", problem);
        }
        self.rest()?;
        self.report.messages += nodes.len() as u64;
        let chat = about.chat(shape.active.clone(), counts.updated_at);
        self.report.findings.extend(check_chat_graph(
            &chat,
            &nodes,
            &branches,
            &shape.checkpoints(),
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
            self.add(format!("branch {name}"), "ends in messages of another branch");
        }
        Ok(Some(tip))
    }

    /// Checks a piece, except for its messages.
    fn piece(&mut self, piece: &Piece, shape: &Shape) -> Result<()> {
        let about = format!("branch {}", piece.no);
        if self.take(&fields::piece(piece.no)).as_deref() != Some(&piece.write()) {
            self.add(about.clone(), "is filed otherwise than it is");
        }
        let base =
            piece.parent.map_or(Ok(0), |parent| shape.depth(parent).map(|depth| depth + 1))?;
        if base != piece.base {
            self.add(about.clone(), format!("begins behind {base} messages, says {}", piece.base));
        }
        if piece.name.is_none() && !shape.clone().prune(piece.no)?.is_empty() {
            self.add(about, "was deleted, but has messages that nothing needs");
        }
        Ok(())
    }

    /// Returns the messages of a piece, as long as its runs follow each other without a gap.
    fn nodes(&mut self, piece: u64, own: u64) -> Result<Vec<Arc<Node>>> {
        let mut nodes: Vec<Arc<Node>> = Vec::new();
        while (nodes.len() as u64) < own {
            let first = Place { piece, pos: nodes.len() as u64 + 1 };
            let Some(run) = self.take(&fields::run(first)) else { break };
            let read = runs::unpack(&run)?;
            if first.pos - first.block() + read.len() as u64 > fields::BLOCK || read.is_empty() {
                self.add(
                    format!("branch {piece}"),
                    "has a run that goes over the end of its block",
                );
            }
            nodes.extend(read);
        }
        if nodes.len() as u64 != own {
            self.add(
                format!("branch {piece}"),
                format!("has {} messages, says {own}", nodes.len()),
            );
        }
        Ok(nodes)
    }

    /// Checks the fields of a message. Returns the number of bytes of its revisions.
    fn message(&mut self, node: &Node, place: Place) -> Result<u64> {
        let about = format!("message {}", node.id);
        let filed = self.take(&fields::id(&node.id));
        if filed.as_deref().map(Place::read).transpose()? != Some(place) {
            self.add(about.clone(), "is not where it is filed");
        }
        let Some(count) = self.take(&fields::revisions(&node.id)) else { return Ok(0) };
        let mut bytes = 0;
        for nth in 0..fields::read_number(&count)? {
            let revision = self.take(&fields::revision(nth, &node.id));
            let revision = revision.map(|revision| read_revision(&revision)).transpose()?;
            match revision.filter(|revision| revision.node.id == node.id) {
                Some(revision) => bytes += size(&revision.node),
                None => self.add(about.clone(), "has a revision that is not one"),
            }
        }
        Ok(bytes)
    }

    /// Checks fragments, streams and commit keys. No other field may then remain.
    fn rest(&mut self) -> Result<()> {
        let listed = self.take("x");
        for entry in Listed::read(listed.as_ref())?.list {
            match self.take(&fields::fragment(entry.no)) {
                Some(value) => drop(fragments::read(&value)?),
                None => self.add(format!("fragment {}", entry.no), "is listed, but not there"),
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
                Ok(key) if key.starts_with('k') && seals::opened(&key, &value).is_ok() => {}
                Ok(key) if key.starts_with('k') => {
                    self.add(
                        format!("commit key {}", &key[1..]),
                        "does not say what became of its commit",
                    );
                }
                Ok(field) => self.add(format!("field {field}"), "belongs to nothing"),
                Err(field) => {
                    let field = field.into_bytes();
                    self.add(format!("field {}", field.escape_ascii()), "belongs to nothing");
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
