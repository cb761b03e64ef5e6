//! Blocks as a memory provider.

use async_trait::async_trait;
use context_core::base::{DiagnosticCode, Severity};
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryReview, RecallQuery, Recalled,
    RecalledMemory,
};
use context_core::{CancelSignal, Diagnostic, MemoryProvider, Result};

use super::store::OPERATION;
use super::{Block, Blocks, block_record};
use crate::cost;
use crate::episodic::own;

/// Recalls all blocks visible from the scope that are not empty, by name, for every question: the
/// same blocks give the same text in each turn. Blocks that do not fit the token limit of a query
/// are left out as a whole. Nothing is captured.
#[async_trait]
impl MemoryProvider for Blocks {
    async fn recall(&self, query: &RecallQuery, cancel: &CancelSignal) -> Result<Recalled> {
        cancel.check("recall")?;
        query.scope.check("recall")?;
        let mut blocks = self.list(&query.scope).await?;
        blocks.retain(|block| {
            let is_enough = |least| block.trust.is_some_and(|trust| trust >= least);
            !block.text.is_empty() && query.least_trust.is_none_or(is_enough)
        });
        let all = blocks.len();
        let mut recalled = Recalled::new(blocks.into_iter().map(recalled).collect());
        // Half a block would have a different meaning, so a block that does not fit is left out
        // even if it is the only one.
        cost::fit(&mut recalled.memories, query.max_tokens);
        let left = all - recalled.memories.len();
        if left > 0 {
            let message = format!("{left} of {all} blocks do not fit");
            let diagnostic =
                Diagnostic::new(DiagnosticCode::OverLimit, Severity::Warning, OPERATION, message);
            recalled.diagnostics.push(diagnostic);
        }
        Ok(recalled)
    }

    async fn capture(&self, _turn: &CapturedTurn, _cancel: &CancelSignal) -> Result<()> {
        Ok(())
    }

    async fn forget(&self, forget: &MemoryForget) -> Result<MemoriesForgotten> {
        forget.check()?;
        let records = self.records.get("forget")?;
        match own(records, forget, block_record::KIND).await? {
            Some(own) => records.forget_memories(&own).await,
            None => Ok(MemoriesForgotten::default()),
        }
    }

    fn review(&self) -> Option<&dyn MemoryReview> {
        Some(&self.records)
    }
}

fn recalled(block: Block) -> RecalledMemory {
    let Block { name, text, description, .. } = &block;
    let text = match description {
        Some(description) => format!("{name} ({description}):\n{text}"),
        None => format!("{name}:\n{text}"),
    };
    let mut memory = RecalledMemory::new("block", text);
    memory.id = Some(Block::id(name));
    memory.at = block.at;
    memory.trust = block.trust;
    memory.scope = Some(block.scope);
    memory.score = 1.0;
    memory
}
