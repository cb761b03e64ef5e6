//! Mutants of commits.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context_core::store::{Branch, ChatPatch, Commit, CommitOutcome, ForkName, Target};
use context_core::{
    BranchName, ChatRef, Encoded, Error, ErrorKind, MessageId, Node, Result, Store,
};
use tokio::task::yield_now;

use crate::fault::Fault;
use crate::mutant::{BrokenStore, OWN_DURABILITY, lock};

impl BrokenStore {
    /// Commits at the head, wherever that is.
    async fn force(&self, mut commit: Commit) -> Result<CommitOutcome> {
        loop {
            let outcome = self.history().commit(commit.clone()).await?;
            match (outcome, &mut commit.target) {
                (CommitOutcome::Conflict { actual }, Target::Extend { expected, .. }) => {
                    *expected = actual
                }
                (outcome, _) => return Ok(outcome),
            }
        }
    }

    /// Commits to a fork after the head that the writer saw, which takes the place of the branch.
    async fn graft_over(
        &self,
        commit: Commit,
        branch: BranchName,
        seen: Option<MessageId>,
    ) -> Result<CommitOutcome> {
        let (chat, at, history) = (commit.chat.clone(), commit.at, self.history());
        // Writers who wait for their turn would otherwise look in step, each at its own head.
        yield_now().await;
        let head = self.branch(&chat, &branch).await?.and_then(|branch| branch.head);
        if head == seen || self.branch(&chat, &branch).await?.is_none() {
            return history.commit(commit).await;
        }
        let over = BranchName::from("over");
        let name = ForkName::Exact(over.clone());
        let target = Target::Fork { name, at: seen.clone(), activate: true };
        let outcome = history.commit(Commit { target, ..commit }).await?;
        let CommitOutcome::Applied(mut committed) = outcome else { return Ok(outcome) };
        let _gone = history.delete_branch(&chat, &branch, head.as_ref(), at).await?;
        history.rename_branch(&chat, &over, &branch, at).await?;
        committed.branch = Some(branch);
        Ok(CommitOutcome::Applied(committed.with_onto(seen)))
    }

    pub(crate) async fn branch(&self, chat: &ChatRef, name: &BranchName) -> Result<Option<Branch>> {
        let branches = self.history().branches(chat).await?;
        Ok(branches.into_iter().find(|branch| branch.name == *name))
    }

    fn spoil(&self, node: &Arc<Node>) -> Arc<Node> {
        let bytes = node.body().bytes();
        let end = match self.fault {
            Fault::TruncatesBodies => bytes.len().min(1 << 16),
            Fault::EndsBodiesAtNul => {
                bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len())
            }
            _ => return Arc::clone(node),
        };
        let body = Encoded::new(node.body().kind(), node.body().version(), bytes.slice(..end));
        let mut spoilt = Node::from_encoded(node.id.clone(), node.kind, node.created_at, body);
        spoilt.tokens = node.tokens;
        Arc::new(spoilt)
    }

    /// Commits to the store in memory, which gives no durability, as if it did.
    pub(crate) async fn durable_commit(&self, mut commit: Commit) -> Result<CommitOutcome> {
        let checked = OWN_DURABILITY.check_commit(&commit);
        match self.fault {
            Fault::ClaimsAnyDurability => {}
            Fault::RefusesDurabilityTooLate if checked.is_err() => {
                let _written =
                    self.broken_commit(Commit { durability: None, ..commit.clone() }).await?;
                checked?;
            }
            Fault::GivesItsOwnDurabilityOnly
                if commit.durability.is_some_and(|asked| asked < OWN_DURABILITY) =>
            {
                return Err(Error::new(ErrorKind::Unsupported, "commit", "too weak"));
            }
            Fault::ComparesDurability => {
                checked?;
                let known = *lock(&self.asked).entry(commit.digest()).or_insert(commit.durability);
                if known != commit.durability {
                    return Err(Error::invalid("commit", "the key belongs to another commit"));
                }
            }
            _ => checked?,
        }
        commit.durability = None;
        self.broken_commit(commit).await
    }

    pub(crate) async fn broken_commit(&self, mut commit: Commit) -> Result<CommitOutcome> {
        commit.nodes = commit.nodes.iter().map(|node| self.spoil(node)).collect();
        let ignores_the_lease = match self.fault {
            Fault::LetsOldOwnersCommit => commit.lease.is_some(),
            Fault::CommitsPastLeases => commit.lease.is_none(),
            _ => false,
        };
        if ignores_the_lease && let Some(leases) = self.inner.leases() {
            commit.lease = leases.lease(&commit.chat).await?.map(|lease| lease.number);
        }
        match (self.fault, commit.target.clone()) {
            (Fault::IgnoresExpected, Target::Extend { .. }) => self.force(commit).await,
            (Fault::GraftsOntoAnyChain, Target::Graft { branch, seen }) => {
                let outcome = self.history().commit(commit.clone()).await?;
                match (outcome, seen) {
                    (CommitOutcome::Conflict { .. }, Some(_)) => {
                        let target = Target::Graft { branch, seen: None };
                        self.history().commit(Commit { target, ..commit }).await
                    }
                    (outcome, _) => Ok(outcome),
                }
            }
            (Fault::GraftsOverOthers, Target::Graft { branch, seen }) => {
                self.graft_over(commit, branch, seen).await
            }
            (Fault::HidesWhatAGraftFollows, Target::Graft { seen, .. }) => {
                match self.history().commit(commit).await? {
                    CommitOutcome::Applied(committed) => {
                        Ok(CommitOutcome::Applied(committed.with_onto(seen)))
                    }
                    outcome => Ok(outcome),
                }
            }
            (Fault::RefusesGraftsThatLost, Target::Graft { branch, seen: expected }) => {
                let target = Target::Extend { branch, expected: expected.clone() };
                match self.history().commit(Commit { target, ..commit }).await? {
                    CommitOutcome::Applied(committed) => {
                        Ok(CommitOutcome::Applied(committed.with_onto(expected)))
                    }
                    outcome => Ok(outcome),
                }
            }
            (Fault::HidesTheActualHead, _) => match self.history().commit(commit).await? {
                CommitOutcome::Conflict { .. } => Ok(CommitOutcome::Conflict { actual: None }),
                outcome => Ok(outcome),
            },
            (Fault::WritesBeforeChecking, _) => {
                self.inner
                    .fragments()
                    .put_fragments(&commit.chat, &commit.fragments, commit.at)
                    .await?;
                self.history().commit(commit).await
            }
            (Fault::RedactingKeepsRevisions, _) => {
                commit.amendments.append(&mut commit.redactions);
                self.history().commit(commit).await
            }
            (Fault::ForgetsKeys, _) => self.history().commit(Commit { key: None, ..commit }).await,
            (Fault::ReplaysWithoutComparing, _) => {
                let key = commit.key.clone().map(|key| (commit.chat.clone(), key));
                let known = key.as_ref().and_then(|key| lock(&self.keys).get(key).cloned());
                if let Some(committed) = known {
                    return Ok(CommitOutcome::Replayed(committed));
                }
                let outcome = self.history().commit(commit).await?;
                if let (Some(key), CommitOutcome::Applied(committed)) = (key, &outcome) {
                    lock(&self.keys).insert(key, committed.clone());
                }
                Ok(outcome)
            }
            (Fault::ChecksAwaitsActs, Target::Extend { branch, expected }) => {
                match self.branch(&commit.chat, &branch).await? {
                    Some(found) if found.head != expected => {
                        Ok(CommitOutcome::Conflict { actual: found.head })
                    }
                    _ => {
                        yield_now().await;
                        self.force(commit).await
                    }
                }
            }
            (Fault::AwaitsBetweenWrites, Target::Extend { branch, .. })
                if commit.nodes.len() > 1 =>
            {
                let rest = commit.nodes.split_off(1);
                let expected = Some(commit.nodes[0].id.clone());
                let first = Commit {
                    nodes: commit.nodes.clone(),
                    ..Commit::new(commit.chat.clone(), commit.target.clone(), commit.at)
                };
                match self.history().commit(first).await? {
                    CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => {}
                    refused => return Ok(refused),
                }
                self.half_commit.store(true, Ordering::SeqCst);
                self.until_read().await;
                self.half_commit.store(false, Ordering::SeqCst);
                let target = Target::Extend { branch, expected };
                self.history().commit(Commit { target, nodes: rest, ..commit }).await
            }
            (
                Fault::CountsVersions,
                Target::Fork { name: ForkName::NextVersionOf(base), at, activate },
            ) => {
                let branches = self.history().branches(&commit.chat).await?;
                let prefix = format!("{base}-v");
                let count = branches
                    .iter()
                    .filter(|b| b.name == base || b.name.as_str().starts_with(&prefix))
                    .count();
                let name = ForkName::Exact(base.version(count as u32 + 1));
                self.history()
                    .commit(Commit { target: Target::Fork { name, at, activate }, ..commit })
                    .await
            }
            (Fault::ReadsThenPatches, _) => {
                if let Some(patch) = commit.patch.take()
                    && let Some(mut chat) = self.history().chat(&commit.chat).await?
                {
                    patch.apply(&mut chat)?;
                    yield_now().await;
                    commit.patch = Some(ChatPatch {
                        title: chat.title.into(),
                        set: chat.metadata,
                        ..ChatPatch::default()
                    });
                }
                self.history().commit(commit).await
            }
            _ => {
                let chat = commit.chat.clone();
                let amended = commit.amendments.last().map(|node| node.id.clone());
                let outcome = self.history().commit(commit).await?;
                if let (CommitOutcome::Applied(_), Some(amended)) = (&outcome, amended) {
                    lock(&self.amended).insert(chat, amended);
                }
                Ok(outcome)
            }
        }
    }
}
