//! Finding steps: by id, by message, and the next failure.

use context_runtime::MessageId;

use super::block::is_round;
use super::{Run, StepId, StepState};
use crate::OperationError;

/// The number of blocks that are read at once while looking for a failure.
const BATCH: usize = 100;

impl Run {
    /// Returns the position of the head of a step's round.
    pub(super) fn head_of(&self, step: StepId) -> Option<u32> {
        let wanted = (step.agent, step.node.round);
        let key = |head: &context_runtime::trajectory::RoundHead| {
            (head.round.agent.agent, head.round.round)
        };
        let at = self.heads.binary_search_by_key(&wanted, key).ok()?;
        u32::try_from(at)
            .ok()
            .filter(|at| is_round(&self.heads[*at as usize], step.agent, step.node.round))
    }

    /// Returns the line of a step.
    pub async fn line_of(&self, step: StepId) -> Result<usize, OperationError> {
        let missing = || context_runtime::Error::not_found("run", "step", step.to_string());
        let head = self.head_of(step).ok_or_else(missing)?;
        let block = self.layout.block_of[head as usize] as usize;
        let loaded = self.load(block..block + 1).await?;
        let lines = loaded.first().ok_or_else(missing)?;
        let at = lines.iter().position(|line| line.node == step).ok_or_else(missing)?;
        Ok(self.layout.blocks[block].first + at)
    }

    /// Returns the step that stands for a message of the chat, if there is one: the call of a tool
    /// result, the conclusion of an answer with calls.
    pub async fn step_of(&self, message: &MessageId) -> Result<Option<StepId>, OperationError> {
        let Some(chat) = &self.chat else { return Ok(None) };
        let chat = context_runtime::ChatId::from(chat.as_str());
        let nodes = self.trajectories()?.nodes_of_message(&self.agent.user, &chat, message).await?;
        let here = nodes.into_iter().find(|node| node.agent.session == self.agent.session);
        Ok(here.map(|node| StepId::new(node.agent.agent, node.node)))
    }

    /// Returns the nearest line with a failure, from a line on or back to the beginning.
    pub async fn next_failure(
        &self,
        from: usize,
        back: bool,
    ) -> Result<Option<usize>, OperationError> {
        let lines = if back {
            0..from.saturating_add(1).min(self.lines())
        } else {
            from.min(self.lines())..self.lines()
        };
        let mut blocks = self.layout.blocks_of(lines.clone());
        while !blocks.is_empty() {
            let batch = if back {
                blocks.end.saturating_sub(BATCH).max(blocks.start)..blocks.end
            } else {
                blocks.start..(blocks.start + BATCH).min(blocks.end)
            };
            if back {
                blocks.end = batch.start;
            } else {
                blocks.start = batch.end;
            }
            let loaded = self.load(batch.clone()).await?;
            let failures = batch.zip(&loaded).flat_map(|(at, steps)| {
                let first = self.layout.blocks[at].first;
                let failed = steps.iter().enumerate();
                failed
                    .filter(|(_, line)| line.state == StepState::Failed)
                    .map(move |(offset, _)| first + offset)
            });
            let mut failures = failures.filter(|line| lines.contains(line));
            let found = if back { failures.last() } else { failures.next() };
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}
