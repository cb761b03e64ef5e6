//! Random lives of a chat, compared with the model after every step.
//!
//! A sequence that fails is made shorter before it is shown, and the failure says how to run just it again.

use std::fmt::Write;

use context_core::{
    ChatPatch, Checkpoint, Commit, CommitKey, CommitOutcome, Error, ErrorKind, ForkName, Metadata, Target,
};

use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::desk::{Desk, boundary, message, says, stored};
use crate::expect::same;
use crate::lab::Lab;
use crate::model::Model;
use crate::random::Random;
use crate::visible::Visible;

cases!("model": random_lives_look_as_they_must);

/// How many steps a life has.
const STEPS: usize = 25;
/// How often a failing life is tried again with a step less.
const SHRINKS: usize = 300;

/// A step, by numbers that are taken modulo what there is: so a step makes sense in any state, and a life
/// without some of its steps is still one.
#[derive(Clone, Debug)]
enum Step {
    Extend { branch: usize, behind: usize, size: usize, keyed: bool, cut: bool },
    Fork { at: usize, name: usize, size: usize, activate: bool, keyed: bool },
    Amend { message: usize, text: usize, and_extend: bool },
    Patch { n: usize },
    Put { fragment: usize, text: usize },
    Remove { fragment: usize },
    Activate { branch: usize },
    Checkpoint { name: usize, message: usize },
    DeleteCheckpoint { name: usize },
    Repeat { back: usize },
    Reuse { message: usize, branch: usize },
    DeleteChat,
}

fn step(random: &mut Random) -> Step {
    let small = |random: &mut Random| random.below(100);
    match random.below(30) {
        0..=9 => Step::Extend {
            branch: small(random),
            behind: if random.one_in(5) { 1 + random.below(9) } else { 0 },
            size: if random.one_in(8) { 40 } else { random.below(4) },
            keyed: random.one_in(4),
            cut: random.one_in(6),
        },
        10..=13 => Step::Fork {
            at: small(random),
            name: random.below(6),
            size: random.below(4),
            activate: random.one_in(2),
            keyed: random.one_in(3),
        },
        14..=17 => {
            Step::Amend { message: small(random), text: random.below(900), and_extend: random.one_in(3) }
        }
        18 => Step::Patch { n: small(random) },
        19 | 20 => Step::Put { fragment: random.below(5), text: random.below(3) },
        21 => Step::Remove { fragment: random.below(5) },
        22 => Step::Activate { branch: small(random) },
        23 => Step::Checkpoint { name: random.below(4), message: small(random) },
        24 => Step::DeleteCheckpoint { name: random.below(4) },
        25..=27 => Step::Repeat { back: random.below(6) },
        28 => Step::Reuse { message: small(random), branch: small(random) },
        _ if random.one_in(4) => Step::DeleteChat,
        _ => Step::Patch { n: small(random) },
    }
}

/// A chat in the store and in the model.
struct Life {
    desk: Desk,
    model: Model,
    commits: Vec<Commit>,
    new: usize,
}

impl Life {
    async fn begin(lab: &Lab) -> Checked<Self> {
        let desk = lab.desk().await?;
        let model = Model::new(desk.create().await?);
        Ok(Self { desk, model, commits: Vec::new(), new: 0 })
    }

    async fn live(&mut self, steps: &[Step]) -> Checked {
        for (i, step) in steps.iter().enumerate() {
            let did = format!("step {i}, {step:?}");
            self.step(step, &did).await?;
            let seen = Visible::of(&self.desk).await?;
            same(format!("the chat after {did}"), &seen.as_ref(), &Some(&self.model.visible()))?;
        }
        Ok(())
    }

    fn nodes(&mut self, size: usize, cut: bool) -> Vec<std::sync::Arc<context_core::Node>> {
        let from = self.new;
        self.new += size;
        let node = |i| if cut && i == from { boundary(&format!("n{i}")) } else { message(&format!("n{i}")) };
        (from..self.new).map(node).collect()
    }

    fn key(&self, keyed: bool) -> Option<CommitKey> {
        keyed.then(|| CommitKey::from(format!("k{}", self.commits.len())))
    }

    fn branch(&self, n: usize) -> &context_core::Branch {
        &self.model.branches[n % self.model.branches.len()]
    }

    fn message(&self, n: usize) -> Option<context_core::MessageId> {
        let count = self.model.messages.len();
        // Now and then none at all, which is a root for a fork.
        self.model.messages.keys().nth(n % (count + 1)).cloned()
    }

    async fn commit(&mut self, commit: Commit, did: &str) -> Checked {
        let seen = self.desk.history().commit(commit.clone()).await;
        let expected = self.model.commit(&commit);
        let seen = match seen {
            Err(error) if expected == Err(error.kind()) => Err(error.kind()),
            result => Ok(result?),
        };
        same(format!("the outcome of {did}"), &seen, &expected)?;
        if matches!(seen, Ok(CommitOutcome::Applied(_))) {
            self.commits.push(commit);
        }
        Ok(())
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
                let mut commit = desk.stay();
                if and_extend {
                    let main = self.branch(0);
                    commit.target = Target::Extend { branch: main.name.clone(), expected: main.head.clone() };
                    commit.nodes = self.nodes(2, false);
                }
                commit.amendments = vec![says(id.as_str(), &"words ".repeat(text))];
                self.commit(commit, did).await
            }
            Step::Patch { n } => {
                let patch = ChatPatch {
                    title: (n % 3 == 0).then(|| (n % 2 == 0).then(|| format!("title {n}"))),
                    remove: vec![format!("k{}", n % 4)],
                    set: Metadata::default().with(format!("k{}", n % 5), n as i64),
                    add: Metadata::default().with("count", 1),
                };
                self.commit(Commit { patch: Some(patch), ..desk.stay() }, did).await
            }
            Step::Put { fragment, text } => {
                let id = if fragment == 0 { String::new() } else { format!("f{fragment}") };
                let fragment = stored(&id, &format!("text {text}"));
                desk.fragments().put_fragments(chat, std::slice::from_ref(&fragment), at).await?;
                self.model.put_fragments(&[fragment]);
                self.model.chat.updated_at = at;
                Ok(())
            }
            Step::Remove { fragment } => {
                let id = format!("f{fragment}").into();
                let before = self.model.fragments.len();
                self.model.fragments.retain(|fragment| fragment.id.as_ref() != Some(&id));
                let expected = self.model.fragments.len() < before;
                same(did, &desk.fragments().remove_fragment(chat, &id).await?, &expected)
            }
            Step::Activate { branch } => {
                let known = self.branch(branch).name.clone();
                let name = if branch % 9 == 8 { "ghost".into() } else { known };
                let expected = self.model.activate(&name, at);
                same(did, &found(history.activate_branch(chat, &name, at).await)?.is_some(), &expected)
            }
            Step::Checkpoint { name, message } => {
                let name = format!("cp{name}").into();
                let message = self.message(message).unwrap_or_else(|| "ghost".into());
                let expected = Checkpoint::new(name, message, at);
                let set = history.set_checkpoint(chat, &expected.name, &expected.message, at).await;
                let known = self.model.set_checkpoint(expected.clone());
                same(did, &found(set)?, &known.then_some(expected))
            }
            Step::DeleteCheckpoint { name } => {
                let name = format!("cp{name}").into();
                let expected = self.model.delete_checkpoint(&name);
                same(did, &history.delete_checkpoint(chat, &name).await?, &expected)
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
                self.commit(Commit { target, nodes, ..desk.stay() }, did).await
            }
            Step::DeleteChat => {
                same(did, &history.delete_chat(chat, None).await?, &true)?;
                self.model = Model::new(desk.create().await?);
                self.commits.clear();
                Ok(())
            }
        }
    }
}

/// The value, or nothing if it was not found.
fn found<T>(result: Result<T, Error>) -> Checked<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

async fn fails(lab: &Lab, steps: &[Step]) -> Checked<Option<String>> {
    let mut life = Life::begin(lab).await?;
    match life.live(steps).await {
        Ok(()) => Ok(None),
        Err(Stop::Fail(text)) => Ok(Some(text)),
        Err(skip) => Err(skip),
    }
}

async fn random_lives_look_as_they_must(lab: &Lab) -> Checked {
    for i in 0..u64::from(lab.settings.sequences) {
        let seed = lab.settings.seed.wrapping_add(i);
        let mut random = Random::new(seed);
        let mut steps: Vec<_> = (0..STEPS).map(|_| step(&mut random)).collect();
        let Some(mut text) = fails(lab, &steps).await? else { continue };
        let mut tries = SHRINKS;
        let mut at = steps.len();
        while at > 0 && tries > 0 {
            at -= 1;
            tries -= 1;
            let mut fewer = steps.clone();
            fewer.remove(at);
            if let Some(still) = fails(lab, &fewer).await? {
                (steps, text) = (fewer, still);
                at = at.min(steps.len());
            }
        }
        let mut report = format!("{text}\nafter these steps:");
        for (i, step) in steps.iter().enumerate() {
            let _ = write!(report, "\n  {i} {step:?}");
        }
        let _ = write!(report, "\nagain: CONTEXT_CONFORMANCE_SEED={seed:#x} CONTEXT_CONFORMANCE_CASES=1");
        return Err(Stop::Fail(report));
    }
    Ok(())
}
