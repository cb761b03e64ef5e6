//! A change of a chat that was decided after a read. It is applied only if the data it was based on
//! has not changed.

use context_core::{BranchName, ChatRef, MessageId, Timestamp};
use redis::Value;

use crate::chat::fields::{self, Generation, Tip};
use crate::chat::snapshot::{ChatSnapshot, chat_not_found};
use crate::chat::tree::{BranchTree, Cut};
use crate::checksums;
use crate::connections::shared::{ATTEMPTS, Shared};
use crate::error::{Fault, Result};
use crate::scripts::APPLY;
use crate::values::{self, unreadable};

/// The writes of a change and their preconditions.
#[derive(Default)]
pub(crate) struct ChatChange {
    /// Fields that must not exist. Apart from the ends of branches, plain appends change nothing
    /// else that a decision could depend on.
    absent: Vec<String>,
    /// Fields that must still have these values.
    equal: Vec<(String, Vec<u8>)>,
    remove: Vec<String>,
    /// Fields whose present value another field gets.
    copies: Vec<(String, String)>,
    /// Messages that lose their revisions.
    forget: Vec<MessageId>,
    cuts: Vec<Cut>,
    /// A piece, with its number of messages before and after.
    merges: Vec<(u64, u64, u64)>,
    graft: Option<Graft>,
    set: Vec<(String, Vec<u8>)>,
    messages: u64,
    bytes: i64,
    at: Option<Timestamp>,
}

/// Messages that are appended to a branch wherever it ends, if its chain has what was seen.
struct Graft {
    branch: BranchName,
    seen: Option<MessageId>,
    /// Id and packed form of each message.
    nodes: Vec<(MessageId, Vec<u8>)>,
}

/// The result of applying a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeOutcome {
    Applied,
    /// The change was applied, and its messages follow this head.
    Grafted(Option<MessageId>),
    /// Another write was first. Read again.
    Conflict,
}

impl ChatChange {
    /// Returns an empty change at a time.
    pub(crate) fn at(at: Timestamp) -> Self {
        Self { at: Some(at), ..Self::default() }
    }

    pub(crate) fn set(&mut self, field: impl Into<String>, value: impl Into<Vec<u8>>) {
        self.set.push((field.into(), value.into()));
    }

    pub(crate) fn remove(&mut self, field: impl Into<String>) {
        self.remove.push(field.into());
    }

    /// Sets a field to the value that another one had before the change.
    pub(crate) fn copy(&mut self, from: String, to: String) {
        self.copies.push((from, to));
    }

    /// Requires that this field does not exist.
    pub(crate) fn if_absent(&mut self, field: String) {
        self.absent.push(field);
    }

    /// Requires that the branch still has this end.
    pub(crate) fn if_at(&mut self, branch: &str, tip: &Tip) {
        self.equal.push((fields::branch(branch), tip.write()));
    }

    /// Appends messages to a branch wherever it ends.
    pub(crate) fn graft(
        &mut self,
        branch: BranchName,
        seen: Option<MessageId>,
        nodes: impl Iterator<Item = (MessageId, Vec<u8>)>,
    ) {
        self.graft = Some(Graft { branch, seen, nodes: nodes.collect() });
    }

    pub(crate) fn forget_revisions(&mut self, id: &MessageId) {
        self.forget.push(id.clone());
    }

    pub(crate) fn merge_after(&mut self, piece: u64, before: u64, after: u64) {
        self.merges.push((piece, before, after));
    }

    pub(crate) fn add_messages(&mut self, messages: u64) {
        self.messages += messages;
    }

    pub(crate) fn add_bytes(&mut self, bytes: i64) {
        self.bytes += bytes;
    }

    pub(crate) fn set_tree(&mut self, tree: &BranchTree) -> Result<()> {
        self.set("s", tree.write()?);
        Ok(())
    }

    /// Removes messages that nothing needs, which starts a new generation. Returns how many.
    pub(crate) fn cut(&mut self, generation: Generation, cuts: Vec<Cut>) -> u64 {
        let messages = cuts.iter().map(|cut| cut.own - cut.keep).sum();
        if messages > 0 {
            self.set("o", generation.changed().write());
        }
        self.cuts = cuts;
        messages
    }

    pub(crate) async fn apply(
        self,
        shared: &Shared,
        operation: &'static str,
        chat: &ChatRef,
        snapshot: &ChatSnapshot,
    ) -> Result<ChangeOutcome> {
        let mut call = APPLY.key(shared.keys.chat(chat));
        call.arg(&snapshot.version[..]).arg(shared.new_version()).arg(shared.ttl);
        call.arg(self.messages).arg(self.bytes).arg(self.at.map(values::time).unwrap_or_default());
        let counts = [self.absent.len(), self.equal.len(), self.remove.len(), self.forget.len()];
        let grafted = self.graft.as_ref().map_or(0, |graft| graft.nodes.len());
        let others = [self.cuts.len(), self.merges.len(), self.copies.len(), grafted];
        counts.into_iter().chain(others).for_each(|count| {
            call.arg(count);
        });
        self.absent.iter().for_each(|field| {
            call.arg(field);
        });
        self.equal.iter().for_each(|(field, value)| {
            call.arg(field).arg(&value[..]);
        });
        self.remove.iter().for_each(|field| {
            call.arg(field);
        });
        self.forget.iter().for_each(|id| {
            call.arg(id.as_str());
        });
        self.cuts.iter().for_each(|cut| {
            call.arg(cut.piece).arg(cut.keep).arg(cut.own);
        });
        self.merges.iter().for_each(|(piece, before, after)| {
            call.arg(piece).arg(before).arg(after);
        });
        self.copies.iter().for_each(|(from, to)| {
            call.arg(from).arg(to);
        });
        if let Some(graft) = &self.graft {
            call.arg(graft.branch.as_str());
            call.arg(graft.seen.as_ref().map_or("", |seen| seen.as_str()));
            graft.nodes.iter().for_each(|(id, node)| {
                call.arg(id.as_str()).arg(&node[..]);
            });
        }
        self.set.iter().for_each(|(field, value)| {
            call.arg(field).arg(&value[..]);
        });
        let code = match shared.connection.call::<Value>(&call).await? {
            Value::BulkString(head) => {
                let head = String::from_utf8(head).map_err(|_| unreadable())?;
                return Ok(ChangeOutcome::Grafted(
                    Some(head).filter(|it| !it.is_empty()).map(Into::into),
                ));
            }
            Value::Int(code) => code,
            _ => return Err(unreadable()),
        };
        match code {
            0 => Err(chat_not_found(operation, chat)),
            // An earlier try was applied, and its answer was lost: what it follows is read.
            1 if self.graft.is_some() => Ok(ChangeOutcome::Conflict),
            1 => Ok(ChangeOutcome::Applied),
            2 => Ok(ChangeOutcome::Conflict),
            3 => Err(Fault::Corrupt("messages of a branch or a fragment are missing", None)),
            _ => Err(checksums::damaged()),
        }
    }
}

impl Shared {
    /// Reads the chat, lets `decide` choose the writes and the answer, and applies the writes.
    /// Repeats all of this if another write was first. Writes nothing if `decide` returns no
    /// change.
    pub(crate) async fn change<T>(
        &self,
        operation: &'static str,
        chat: &ChatRef,
        fields: &[String],
        decide: impl Fn(&ChatSnapshot) -> Result<(Option<ChatChange>, T)>,
    ) -> Result<T> {
        for _ in 0..ATTEMPTS {
            let snapshot = self.snapshot(operation, chat, fields).await?;
            let (change, answer) = decide(&snapshot)?;
            let Some(change) = change else { return Ok(answer) };
            if change.apply(self, operation, chat, &snapshot).await? == ChangeOutcome::Applied {
                return Ok(answer);
            }
        }
        Err(Fault::Contended)
    }
}
