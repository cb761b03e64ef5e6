//! Compactions that a program asks for, and their undo.

use context_runtime::compaction::{OnDemand, Pipeline};
use context_runtime::tokens::ModelTable;
use context_runtime::{Clock, Error, MessageId, PlanReport, Result, SystemClock};
use serde::Serialize;

use super::ChatOperations;
use crate::json::Reply;
use crate::prepare::policies_named;

/// The outcome of a compaction.
#[derive(Serialize)]
struct Compacted {
    /// The boundary. `None` if there was nothing to cut.
    boundary: Option<MessageId>,
    /// The tokens of the messages before.
    before: u64,
    /// The tokens of the messages after.
    after: u64,
    plans: Vec<PlanReport>,
}

impl ChatOperations {
    pub(super) async fn compact(
        &self,
        model: String,
        window: Option<u64>,
        policies: Option<Vec<String>>,
    ) -> Result<Reply> {
        const OPERATION: &str = "compact";
        let policies = policies_named(policies.as_deref())?;
        let pipeline = Pipeline::new(policies.into_iter().map(OnDemand::stage))
            .map_err(|faults| Error::invalid(OPERATION, faults.to_string()))?;
        let model = ModelTable::builtin().model(&model);
        let budget = model
            .budget(window, None)
            .map_err(|error| Error::invalid(OPERATION, error.to_string()))?;
        let mut lent = self.slot.engine().await?;
        let turn = lent.engine.resolve().await?;
        let plan = OnDemand::plan(&turn, &pipeline, (&model, budget), SystemClock.now());
        let (before, plans) = (plan.before, plan.reports());
        let mut compacted = Compacted { boundary: None, before, after: before, plans };
        if let Some(rewrite) = &plan.planned.rewrite {
            compacted.boundary = lent.engine.compact(&turn, rewrite, &compacted.plans).await?;
            compacted.after = plan.planned.after;
            lent.engine.save().await?;
        }
        lent.give_back();
        Reply::json(&compacted)
    }

    pub(super) async fn undo_compaction(&self) -> Result<Reply> {
        let mut lent = self.slot.engine().await?;
        let undone = lent.engine.undo_compaction().await?;
        lent.engine.save().await?;
        lent.give_back();
        Reply::json(&undone)
    }
}
