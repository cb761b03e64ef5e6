//! Agents: what the turns of a program share.

use std::sync::Arc;

use context_runtime::{Agents as Shared, Result, Store as Backend};
use pyo3::prelude::*;

use crate::json::{JsonArgument, Reply};
use crate::turn;

/// Adds the classes to the module.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Agents>()?;
    module.add_class::<AsyncAgents>()
}

/// A model, a store and a recorder, for turns.
pub(crate) struct AgentsOperations {
    agents: Shared,
}

impl AgentsOperations {
    pub(crate) fn build(
        store: Arc<dyn Backend>,
        model: String,
        record: bool,
        freeze_prompt: bool,
    ) -> Result<Self> {
        let builder = Shared::builder(store).model(model).record(record);
        Ok(Self { agents: builder.freeze_prompt(freeze_prompt).build()? })
    }

    async fn turn(
        &self,
        user: String,
        chat: String,
        question: Option<JsonArgument>,
        system: Option<String>,
        tools: Option<JsonArgument>,
        max_output_tokens: Option<u64>,
    ) -> Result<Reply> {
        let asked = turn::Asked::new(question, system, tools, max_output_tokens)?;
        turn::begin(self.agents.chat(user, chat).await?, asked).await
    }
}

faces! {
    AgentsOperations => Agents, AsyncAgents;
    both {}
    blocking {}
    asyncio {}

    /// Begins a turn: the question is stored.
    #[pyo3(signature = (
        user, chat, question=None, *, system=None, tools=None, max_output_tokens=None
    ))]
    fn turn(
        user: String,
        chat: String,
        question: Option<JsonArgument>,
        system: Option<String>,
        tools: Option<JsonArgument>,
        max_output_tokens: Option<u64>,
    );
}
