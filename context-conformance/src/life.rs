//! A chat that lives in a store and in the model at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_core::{
    ChatPatch, Checkpoint, Commit, CommitKey, CommitOutcome, ErrorKind, ForkName, MessageId, Metadata,
    NewChat, Node, Store, Target, Timestamp,
};

use crate::checked::{Checked, Stop};
use crate::desk::{Desk, boundary, message, says, stored};
use crate::expect::{ensure, fail, same};
use crate::model::Model;
use crate::step::Step;
use crate::visible::Visible;

/// How often a call is made that is not answered.
const TRIES: usize = 100;

/// Makes a call until it is answered. What was answered, and whether a call before it was not.
macro_rules! answered {
    ($did:expr, $call:expr) => {{
        let mut lost = false;
        let mut tries = 0;
        loop {
            match $call.await {
                Err(error) if error.kind() == ErrorKind::Unavailable && tries < TRIES => {
                    lost = true;
                    tries += 1;
                }
                result => {
                    break (result.map_err(|error| (error.kind(), format!("{}: {error:?}", $did))), lost);
                }
            }
        }
    }};
}

/// A chat in the store and in the model.
pub(crate) struct Life {
    /// Where it is looked at.
    view: Desk,
    /// Where it is written; replies may be lost.
    desk: Desk,
    /// Whether calls may be made twice, so that every commit needs a key and only what it came to can be compared.
    lossy: bool,
    model: Model,
    commits: Vec<Commit>,
    new: usize,
    keys: usize,
    /// The edition and how many changes it has seen.
    edition: (u64, u64),
    /// Editions of chats that were deleted.
    past: BTreeSet<u64>,
}

impl Life {
    /// A new chat, read through `view` and written through `store` if that is another one.
    pub(crate) async fn begin(view: Desk, store: Option<Arc<dyn Store>>) -> Checked<Self> {
        let model = Model::new(view.create().await?);
        let lossy = store.is_some();
        let desk = store.map_or_else(|| view.clone(), |store| view.through(store));
        let edition = (view.whole("main").await?.edition(), 0);
        let (commits, past) = (Vec::new(), BTreeSet::new());
        Ok(Self { view, desk, lossy, model, commits, new: 0, keys: 0, edition, past })
    }

    pub(crate) async fn live(&mut self, steps: &[Step]) -> Checked {
        for (i, step) in steps.iter().enumerate() {
            let did = format!("step {i}, {step:?}");
            self.step(step, &did).await?;
            let seen = Visible::of(&self.view).await?;
            same(format!("the chat after {did}"), &seen.as_ref(), &Some(&self.model.visible()))?;
            self.look_at_edition(&did).await?;
        }
        Ok(())
    }

    /// It counts up if and only if stored messages were changed or removed.
    async fn look_at_edition(&mut self, did: &str) -> Checked {
        let active = self.model.chat.active.clone();
        let now = (self.view.whole(active.as_str()).await?.edition(), self.model.changes);
        let (before, changes) = self.edition;
        let grown = if now.1 == changes { now.0 == before } else { now.0 > before };
        ensure(grown, || {
            format!(
                "the edition after {did}: it was {before}, {} changes later it is {}",
                now.1 - changes,
                now.0
            )
        })?;
        let anew = !self.past.contains(&now.0);
        ensure(anew, || format!("the edition after {did}: {} was one of a chat that is deleted", now.0))?;
        self.edition = now;
        Ok(())
    }

    fn nodes(&mut self, size: usize, cut: bool) -> Vec<Arc<Node>> {
        let from = self.new;
        self.new += size;
        let node = |i| if cut && i == from { boundary(&format!("n{i}")) } else { message(&format!("n{i}")) };
        (from..self.new).map(node).collect()
    }

    fn key(&mut self, keyed: bool) -> Option<CommitKey> {
        self.keys += 1;
        (keyed || self.lossy).then(|| CommitKey::from(format!("k{}", self.keys)))
    }

    fn branch(&self, n: usize) -> &context_core::Branch {
        &self.model.branches[n % self.model.branches.len()]
    }

    fn message(&self, n: usize) -> Option<MessageId> {
        let count = self.model.messages.len();
        // Now and then none at all, which is a root for a fork.
        self.model.messages.keys().nth(n % (count + 1)).cloned()
    }

    /// The target that adds behind the first branch, with a few messages, or none.
    fn also(&mut self, and_extend: bool) -> (Target, Vec<Arc<Node>>) {
        if !and_extend {
            return (Target::Stay, Vec::new());
        }
        let first = self.branch(0);
        let target = Target::Extend { branch: first.name.clone(), expected: first.head.clone() };
        (target, self.nodes(2, false))
    }

    async fn commit(&mut self, commit: Commit, did: &str) -> Checked {
        let (seen, lost) = answered!(did, self.desk.history().commit(commit.clone()));
        let expected = self.model.commit(&commit);
        match (&seen, &expected) {
            (Ok(CommitOutcome::Replayed(seen)), Ok(CommitOutcome::Applied(expected))) if lost => {
                same(format!("where {did} was found to have gone"), seen, expected)?;
            }
            (Err((kind, text)), Ok(_)) => return fail(format!("{did}: saw {kind}: {text}")),
            _ => same(format!("the outcome of {did}"), &seen.map_err(|(kind, _)| kind), &expected)?,
        }
        if matches!(expected, Ok(CommitOutcome::Applied(_))) {
            self.commits.push(commit);
        }
        Ok(())
    }

    /// What was answered must be what the model says, unless an answer before it was lost.
    fn agree<T: PartialEq + std::fmt::Debug>(
        &self,
        did: &str,
        (seen, lost): (Result<T, (ErrorKind, String)>, bool),
        expected: Result<T, ErrorKind>,
    ) -> Checked {
        match (seen, expected) {
            _ if lost => Ok(()),
            (Err((_, text)), Ok(_)) => Err(Stop::Fail(text)),
            (seen, expected) => {
                same(format!("the answer to {did}"), &seen.map_err(|(kind, _)| kind), &expected)
            }
        }
    }

    async fn step(&mut self, step: &Step, did: &str) -> Checked {
        let desk = self.desk.clone();
        let (history, chat, at) = (desk.history(), &desk.chat, desk.at());
        match *step {
            Step::Extend { branch, behind, size, keyed, cut } => {
                let name = self.branch(branch).name.clone();
                let head = self.branch(branch).head.clone();
                let expected = if behind == 0 { head } else { self.message(behind) };
                let target = Target::Extend { branch: name, expected };
                let (nodes, key) = (self.nodes(size, cut), self.key(keyed));
                self.commit(Commit { target, nodes, key, ..desk.stay() }, did).await
            }
            Step::Fork { at, name, size, activate, keyed } => {
                let at = self.message(at);
                let name = match name {
                    0 => ForkName::Exact(self.branch(name).name.clone()),
                    1 | 2 => ForkName::Exact(format!("side-{}", self.new).into()),
                    3 => ForkName::Exact(format!("main-v{}", 2 + self.new % 3).into()),
                    n => ForkName::NextVersionOf(self.branch(n).name.clone()),
                };
                let (nodes, key) = (self.nodes(size, false), self.key(keyed));
                let target = Target::Fork { name, at, activate };
                self.commit(Commit { target, nodes, key, ..desk.stay() }, did).await
            }
            Step::Amend { message, text, and_extend } => {
                let id = self.message(message).unwrap_or_else(|| "ghost".into());
                let (target, nodes) = self.also(and_extend);
                let amendments = vec![says(id.as_str(), &"words ".repeat(text))];
                let key = self.key(false);
                self.commit(Commit { target, nodes, amendments, key, ..desk.stay() }, did).await
            }
            Step::Redact { message, and_amend, and_extend } => {
                let id = self.message(message).unwrap_or_else(|| "ghost".into());
                let other = self.message(and_amend).filter(|other| *other != id);
                let (target, nodes) = self.also(and_extend);
                let redactions = vec![says(id.as_str(), "[redacted]")];
                let amendments = other.iter().map(|other| says(other.as_str(), "amended beside")).collect();
                let key = self.key(false);
                self.commit(Commit { target, nodes, amendments, redactions, key, ..desk.stay() }, did).await
            }
            Step::Patch { n } => {
                let patch = ChatPatch {
                    title: (n % 3 == 0).then(|| (n % 2 == 0).then(|| format!("title {n}"))),
                    remove: vec![format!("k{}", n % 4)],
                    set: Metadata::default().with(format!("k{}", n % 5), n as i64),
                    add: Metadata::default().with("count", 1),
                };
                let key = self.key(false);
                self.commit(Commit { patch: Some(patch), key, ..desk.stay() }, did).await
            }
            Step::Put { fragment, text } => {
                let id = if fragment == 0 { String::new() } else { format!("f{fragment}") };
                let fragment = [stored(&id, &format!("text {text}"))];
                let put = answered!(did, desk.fragments().put_fragments(chat, &fragment, at));
                self.model.put_fragments(&fragment);
                self.model.chat.updated_at = at;
                self.agree(did, put, Ok(()))
            }
            Step::Remove { fragment } => {
                let id = format!("f{fragment}").into();
                let before = self.model.fragments.len();
                self.model.fragments.retain(|fragment| fragment.id.as_ref() != Some(&id));
                let expected = self.model.fragments.len() < before;
                let removed = answered!(did, desk.fragments().remove_fragment(chat, &id));
                self.agree(did, removed, Ok(expected))
            }
            Step::Activate { branch } => {
                let known = self.branch(branch).name.clone();
                let name = if branch % 9 == 8 { "ghost".into() } else { known };
                let expected = self.model.activate(&name, at).then_some(()).ok_or(ErrorKind::NotFound);
                let activated = answered!(did, history.activate_branch(chat, &name, at));
                self.agree(did, activated, expected)
            }
            Step::Rename { branch, to } => {
                let from = self.branch(branch).name.clone();
                let to = match to {
                    0 => self.branch(branch + 1).name.clone(),
                    1 => "main".into(),
                    n => format!("named-{n}").into(),
                };
                let expected = self.model.rename(&from, &to, at);
                let renamed = answered!(did, history.rename_branch(chat, &from, &to, at));
                self.agree(did, renamed, expected)
            }
            Step::DeleteBranch { branch, stale } => {
                let branch = self.branch(branch).clone();
                let stale = stale && branch.name != self.model.chat.active;
                let expected = if stale { self.message(7) } else { branch.head };
                let deleted = self.model.delete_branch(&branch.name, expected.as_ref(), at);
                let seen = answered!(did, history.delete_branch(chat, &branch.name, expected.as_ref(), at));
                self.agree(did, seen, deleted)
            }
            Step::Checkpoint { name, message } => {
                let name = format!("cp{name}").into();
                let message = self.message(message).unwrap_or_else(|| "ghost".into());
                let expected = Checkpoint::new(name, message, at);
                let set = answered!(did, history.set_checkpoint(chat, &expected.name, &expected.message, at));
                let known = self.model.set_checkpoint(expected.clone());
                self.agree(did, set, known.then_some(expected).ok_or(ErrorKind::NotFound))
            }
            Step::DeleteCheckpoint { name } => {
                let name = format!("cp{name}").into();
                let expected = self.model.delete_checkpoint(&name);
                let deleted = answered!(did, history.delete_checkpoint(chat, &name));
                self.agree(did, deleted, Ok(expected))
            }
            Step::Repeat { back } => {
                let Some(commit) = self.commits.iter().rev().nth(back).cloned() else { return Ok(()) };
                self.commit(Commit { at, ..commit }, did).await
            }
            Step::Reuse { message: id, branch } => {
                let id = self.message(id).unwrap_or_else(|| "fresh".into());
                let branch = self.branch(branch);
                let target = Target::Extend { branch: branch.name.clone(), expected: branch.head.clone() };
                let nodes = vec![says(id.as_str(), "something else")];
                let key = self.key(false);
                self.commit(Commit { target, nodes, key, ..desk.stay() }, did).await
            }
            Step::DeleteChat { busy } => {
                let written = self.model.chat.updated_at.as_micros();
                let idle_since = Timestamp::from_micros(written - i64::from(busy));
                let deleted = answered!(did, history.delete_chat(chat, Some(idle_since)));
                self.agree(did, deleted, Ok(!busy))?;
                if !busy {
                    let created = answered!(did, history.create_chat(NewChat::new(chat.clone(), at))).0;
                    let created = created.map_err(|(_, text)| Stop::Fail(text))?.into_chat();
                    self.model = Model::new(created);
                    self.commits.clear();
                    self.past.insert(self.edition.0);
                    self.edition = (self.view.whole("main").await?.edition(), 0);
                }
                Ok(())
            }
        }
    }
}
