//! Conversion of steps to actions, based on the model alone. So two processes with the same seed
//! generate the same actions.

use std::sync::Arc;

use context_core::base::CommitKey;
use context_core::store::{
    Branch, Chat, ChatPatch, Checkpoint, Commit, CommitOutcome, ForkName, NewChat, Target,
    TitleChange,
};
use context_core::{ChatRef, MessageId, Metadata, Node, Timestamp};

use crate::action::{Action, Answer};
use crate::chat_fixture::{boundary, message, says, stored};
use crate::environment::FixedClock;
use crate::model::Model;
use crate::step::Step;

/// The time at which a random chat is created, in microseconds.
pub(crate) const BIRTH: i64 = 1_600_000_000_000_000;

/// The expected state of a chat, and the generator of its next actions.
pub(crate) struct Script {
    pub(crate) model: Model,
    clock: FixedClock,
    /// Whether calls may be retried, so that every commit needs a key.
    keyed: bool,
    commits: Vec<Commit>,
    new: usize,
    keys: usize,
}

impl Script {
    /// Creates the script of a chat that was just created with [`Script::birth`].
    pub(crate) fn new(chat: ChatRef, keyed: bool) -> Self {
        let model = Model::new(Chat::new(Self::birth(chat)));
        Self { model, clock: FixedClock::at(BIRTH), keyed, commits: Vec::new(), new: 0, keys: 0 }
    }

    pub(crate) fn birth(chat: ChatRef) -> NewChat {
        NewChat::new(chat, Timestamp::from_micros(BIRTH))
    }

    /// Returns the action of a step in the current state, or `None` if there is nothing to repeat.
    pub(crate) fn next(&mut self, step: &Step) -> Option<Action> {
        let at = self.clock.tick();
        Some(match *step {
            Step::Extend { branch, behind, size, keyed, cut } => {
                let branch = self.branch(branch).clone();
                let expected = if behind == 0 { branch.head } else { self.message(behind) };
                let target = Target::Extend { branch: branch.name, expected };
                let (nodes, key) = (self.nodes(size, cut), self.key(keyed));
                self.commit(Commit { nodes, key, ..self.empty(target, at) })
            }
            Step::Graft { branch, seen, size, keyed, cut } => {
                let (branch, seen) = (self.branch(branch).name.clone(), self.message(seen));
                let target = Target::Graft { branch, seen };
                let (nodes, key) = (self.nodes(size, cut), self.key(keyed));
                self.commit(Commit { nodes, key, ..self.empty(target, at) })
            }
            Step::Fork { at: place, name, size, activate, keyed } => {
                let place = self.message(place);
                let name = match name {
                    0 => ForkName::Exact(self.branch(name).name.clone()),
                    1 | 2 => ForkName::Exact(format!("side-{}", self.new).into()),
                    3 => ForkName::Exact(format!("main-v{}", 2 + self.new % 3).into()),
                    n => ForkName::NextVersionOf(self.branch(n).name.clone()),
                };
                let (nodes, key) = (self.nodes(size, false), self.key(keyed));
                let target = Target::Fork { name, at: place, activate };
                self.commit(Commit { nodes, key, ..self.empty(target, at) })
            }
            Step::Amend { message, text, and_extend } => {
                let id = self.message(message).unwrap_or_else(|| "ghost".into());
                let (target, nodes) = self.also(and_extend);
                let (amendments, key) =
                    (vec![says(id.as_str(), &"words ".repeat(text))], self.key(false));
                self.commit(Commit { nodes, amendments, key, ..self.empty(target, at) })
            }
            Step::Redact { message, and_amend, and_extend } => {
                let id = self.message(message).unwrap_or_else(|| "ghost".into());
                let other = self.message(and_amend).filter(|other| *other != id);
                let (target, nodes) = self.also(and_extend);
                let redactions = vec![says(id.as_str(), "[redacted]")];
                let amendments =
                    other.iter().map(|other| says(other.as_str(), "amended beside")).collect();
                let key = self.key(false);
                self.commit(Commit { nodes, amendments, redactions, key, ..self.empty(target, at) })
            }
            Step::Patch { n } => {
                let patch = ChatPatch {
                    title: match n % 6 {
                        0 => TitleChange::Set(format!("title {n}")),
                        3 => TitleChange::Remove,
                        _ => TitleChange::Keep,
                    },
                    remove: vec![format!("k{}", n % 4)],
                    set: Metadata::default().with(format!("k{}", n % 5), n as i64),
                    add: Metadata::default().with("count", 1),
                };
                let key = self.key(false);
                self.commit(Commit { patch: Some(patch), key, ..self.empty(Target::Stay, at) })
            }
            Step::Put { fragment, text } => {
                let id = if fragment == 0 { String::new() } else { format!("f{fragment}") };
                Action::Put(stored(&id, &format!("text {text}")), at)
            }
            Step::Remove { fragment } => Action::Remove(format!("f{fragment}").into(), at),
            Step::Activate { branch } => {
                let known = self.branch(branch).name.clone();
                Action::Activate(if branch % 9 == 8 { "ghost".into() } else { known }, at)
            }
            Step::Rename { branch, to } => {
                let from = self.branch(branch).name.clone();
                let to = match to {
                    0 => self.branch(branch + 1).name.clone(),
                    1 => "main".into(),
                    n => format!("named-{n}").into(),
                };
                Action::Rename(from, to, at)
            }
            Step::DeleteBranch { branch, stale } => {
                let Branch { name, head, .. } = self.branch(branch).clone();
                let stale = stale && name != self.model.chat.active;
                Action::DeleteBranch(name, if stale { self.message(7) } else { head }, at)
            }
            Step::Checkpoint { name, message } => {
                let message = self.message(message).unwrap_or_else(|| "ghost".into());
                Action::Checkpoint(Checkpoint::new(format!("cp{name}").into(), message, at))
            }
            Step::DeleteCheckpoint { name } => {
                Action::DeleteCheckpoint(format!("cp{name}").into(), at)
            }
            Step::Repeat { back } => {
                let commit = self.commits.iter().rev().nth(back)?.clone();
                self.commit(Commit { at, ..commit })
            }
            Step::Reuse { message: id, branch } => {
                let id = self.message(id).unwrap_or_else(|| "fresh".into());
                let branch = self.branch(branch).clone();
                let target = Target::Extend { branch: branch.name, expected: branch.head };
                let (nodes, key) = (vec![says(id.as_str(), "something else")], self.key(false));
                self.commit(Commit { nodes, key, ..self.empty(target, at) })
            }
            Step::DeleteChat { busy } => {
                let written = self.model.chat.updated_at.as_micros();
                Action::DeleteChat {
                    idle_since: Timestamp::from_micros(written - i64::from(busy)),
                    at,
                }
            }
        })
    }

    /// Applies an action to the model and returns the expected result.
    pub(crate) fn expect(&mut self, action: &Action) -> Result<Answer, context_core::ErrorKind> {
        let answer = action.expect(&mut self.model);
        match (action, &answer) {
            (Action::Commit(commit), Ok(Answer::Commit(CommitOutcome::Applied(_)))) => {
                self.commits.push((**commit).clone());
            }
            (Action::DeleteChat { .. }, Ok(Answer::Was(true))) => self.commits.clear(),
            _ => {}
        }
        answer
    }

    fn empty(&self, target: Target, at: Timestamp) -> Commit {
        Commit::new(self.model.chat.chat.clone(), target, at)
    }

    fn commit(&self, commit: Commit) -> Action {
        Action::Commit(Box::new(commit))
    }

    fn nodes(&mut self, size: usize, cut: bool) -> Vec<Arc<Node>> {
        let from = self.new;
        self.new += size;
        let node = |i| {
            if cut && i == from { boundary(&format!("n{i}")) } else { message(&format!("n{i}")) }
        };
        (from..self.new).map(node).collect()
    }

    fn key(&mut self, keyed: bool) -> Option<CommitKey> {
        self.keys += 1;
        (keyed || self.keyed).then(|| CommitKey::from(format!("k{}", self.keys)))
    }

    fn branch(&self, n: usize) -> &Branch {
        &self.model.branches[n % self.model.branches.len()]
    }

    fn message(&self, n: usize) -> Option<MessageId> {
        let count = self.model.messages.len();
        // Sometimes returns `None`, which makes a fork begin at the root.
        self.model.messages.keys().nth(n % (count + 1)).cloned()
    }

    /// Returns a target that extends the first branch and a few messages, or nothing to add.
    fn also(&mut self, and_extend: bool) -> (Target, Vec<Arc<Node>>) {
        if !and_extend {
            return (Target::Stay, Vec::new());
        }
        let first = self.branch(0);
        let target = Target::Extend { branch: first.name.clone(), expected: first.head.clone() };
        (target, self.nodes(2, false))
    }
}
