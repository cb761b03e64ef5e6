//! The end of writing a chat: sets branches, checkpoints and fragments, and deletes temporary
//! branches.

use std::collections::{HashMap, HashSet};

use context_core::base::limits;
use context_core::store::{
    Branch, ChatPatch, Checkpoint, Commit, CommitOutcome, ForkName, PageWalk, Target,
};
use context_core::{BranchName, MessageId, Result, Timestamp};

use super::{ChatWriter, INCOMPLETE, WrittenChat};

impl ChatWriter<'_> {
    /// Sets branches, checkpoints and fragments, and returns the result.
    pub async fn finish(mut self) -> Result<WrittenChat> {
        loop {
            let left = self.flush().await?;
            if left.is_empty() {
                break;
            }
            self.push_messages(left).await?;
        }
        let missing = self.find_missing().await?;
        let main = BranchName::main();
        let written_main =
            self.tips.iter().find(|(_, name)| **name == main).map(|(tip, _)| tip.clone());
        let keep_main = missing.is_empty()
            && self.branches.first().is_some_and(|first| {
                first.name == main
                    && first.head == written_main
                    && first.created_at == self.source.created_at
            });
        if keep_main {
            self.branches.remove(0);
            self.written.branches += 1;
            self.tips.retain(|_, name| *name != main);
        } else {
            let spare = self.spare("main");
            self.history().rename_branch(&self.chat, &main, &spare, self.source.created_at).await?;
            match &written_main {
                Some(tip) => {
                    self.tips.insert(tip.clone(), spare);
                }
                // The branch has no messages and is not needed.
                None => self.segment = None,
            }
        }
        if !missing.is_empty() || !self.written.diagnostics.is_empty() {
            self.recover(missing).await?;
        }
        let mut activated = keep_main && self.source.active == main;
        for branch in std::mem::take(&mut self.branches) {
            let activate = branch.name == self.source.active;
            activated |= activate;
            self.put_branch(branch.name, branch.head, branch.created_at, activate).await?;
        }
        let history = self.history();
        if !activated && let Some(first) = self.first_real_branch().await? {
            history.activate_branch(&self.chat, &first, self.source.created_at).await?;
        }
        for checkpoint in std::mem::take(&mut self.checkpoints) {
            let Checkpoint { name, message, created_at, .. } = checkpoint;
            match history.set_checkpoint(&self.chat, &name, &message, created_at).await {
                Err(error) if error.is_not_found() => {
                    self.note(
                        format!("checkpoint {name}"),
                        format!("stands at {message}, which is missing: left out"),
                    );
                }
                set => drop(set?),
            }
        }
        for fragments in self.fragments.chunks(limits::MAX_PAGE) {
            self.store
                .fragments()
                .put_fragments(&self.chat, fragments, self.source.created_at)
                .await?;
        }
        self.remove_spares(keep_main).await?;
        // Its entries are about the temporary branches.
        if let Some(log) = self.store.ref_log() {
            log.clear_ref_log(&self.chat).await?;
        }
        let complete = ChatPatch { remove: vec![INCOMPLETE.to_owned()], ..ChatPatch::default() };
        history.update_chat(&self.chat, &complete, self.source.updated_at).await?;
        Ok(self.written)
    }

    async fn put_branch(
        &mut self,
        name: BranchName,
        at: Option<MessageId>,
        created_at: Timestamp,
        activate: bool,
    ) -> Result<()> {
        let target = Target::Fork { name: ForkName::Exact(name.clone()), at, activate };
        match self.history().commit(Commit::new(self.chat.clone(), target, created_at)).await? {
            CommitOutcome::Applied(_) | CommitOutcome::Replayed(_) => self.written.branches += 1,
            _ => self.note(format!("branch {name}"), "its name is already used; left out"),
        }
        Ok(())
    }

    /// Returns the branches whose heads are missing.
    async fn find_missing(&mut self) -> Result<Vec<Branch>> {
        let mut missing = Vec::new();
        for part in self.branches.chunks(limits::MAX_PAGE) {
            let heads: Vec<_> = part.iter().filter_map(|branch| branch.head.clone()).collect();
            let found = self.history().messages(&self.chat, &heads).await?;
            let absent: HashSet<_> = heads
                .into_iter()
                .zip(found)
                .filter(|(_, found)| found.is_none())
                .map(|(head, _)| head)
                .collect();
            let is_absent =
                |branch: &&Branch| branch.head.as_ref().is_some_and(|head| absent.contains(head));
            missing.extend(part.iter().filter(is_absent).cloned());
        }
        self.branches.retain(|branch| missing.iter().all(|missing| missing.name != branch.name));
        Ok(missing)
    }

    /// Handles missing records: messages on no branch are put on one, so that they are kept. Holds
    /// the ids of the whole chat in memory, which a sound chat does not need.
    async fn recover(&mut self, missing: Vec<Branch>) -> Result<()> {
        let mut parents = HashMap::new();
        let mut after = None;
        let mut walk = PageWalk::new("all_messages", "message");
        loop {
            let page =
                self.history().all_messages(&self.chat, limits::MAX_PAGE, after.as_ref()).await?;
            let next = walk.next(&page)?;
            parents.extend(
                page.items.into_iter().map(|placed| (placed.node.id.clone(), placed.parent)),
            );
            after = next;
            if after.is_none() {
                break;
            }
        }
        let mut reached = HashSet::new();
        let kept = self.history().branches(&self.chat).await?;
        let kept =
            kept.into_iter().filter(|branch| !self.tips.values().any(|name| *name == branch.name));
        let heads: Vec<_> =
            self.branches.iter().cloned().chain(kept).filter_map(|branch| branch.head).collect();
        for head in &heads {
            let mut next = Some(head);
            while let Some(id) = next.filter(|id| reached.insert((*id).clone())) {
                next = parents.get(id).and_then(Option::as_ref);
            }
        }
        let mut lost: Vec<_> =
            self.tips.keys().filter(|tip| !reached.contains(*tip)).cloned().collect();
        lost.sort();
        let mut lost = lost.into_iter();
        for branch in missing {
            let head = branch.head.map(|head| head.to_string()).unwrap_or_default();
            let at = lost.next();
            let now = at
                .as_ref()
                .map_or("a branch without messages".to_owned(), |at| format!("ends at {at}"));
            self.note(
                format!("branch {}", branch.name),
                format!("its head {head} is missing: {now}"),
            );
            let active = branch.name == self.source.active;
            self.branches.push(Branch::new(branch.name, at, 0, active, branch.created_at));
        }
        for (number, at) in lost.enumerate() {
            let name = BranchName::from(format!("recovered-{}", number + 1));
            self.note(
                format!("branch {name}"),
                format!("created for {at}, which was on no branch"),
            );
            self.branches.push(Branch::new(name, Some(at), 0, false, self.source.created_at));
        }
        Ok(())
    }

    async fn first_real_branch(&self) -> Result<Option<BranchName>> {
        let branches = self.history().branches(&self.chat).await?;
        let spare = |branch: &Branch| self.is_spare(&branch.name);
        Ok(branches.into_iter().find(|branch| !spare(branch)).map(|branch| branch.name))
    }

    fn is_spare(&self, name: &BranchName) -> bool {
        self.tips.values().any(|spare| spare == name) || *name == self.spare("main")
    }

    /// Deletes the temporary branches. Their messages are on real branches by now.
    async fn remove_spares(&mut self, keep_main: bool) -> Result<()> {
        let history = self.history();
        let branches = history.branches(&self.chat).await?;
        let spares: Vec<_> =
            branches.into_iter().filter(|branch| self.is_spare(&branch.name)).collect();
        for branch in spares {
            if branch.active {
                // A chat without branches of its own keeps the one it was created with.
                let main = BranchName::main();
                history
                    .rename_branch(&self.chat, &branch.name, &main, self.source.created_at)
                    .await?;
                self.written.branches += u64::from(!keep_main);
                continue;
            }
            let _deleted = history
                .delete_branch(
                    &self.chat,
                    &branch.name,
                    branch.head.as_ref(),
                    self.source.created_at,
                )
                .await?;
        }
        Ok(())
    }
}
