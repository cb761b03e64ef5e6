//! Rounds made from the messages of a chat that nobody recorded.

use std::sync::Arc;

use context_runtime::trajectory::{AgentRef, Trajectories, record_chat};

use super::{Run, RunOrigin, heads};
use crate::OperationError;
use crate::operations::Operations;

/// A chat with more messages on its active branch, or more branches, is not made into rounds while
/// somebody waits.
const MESSAGES: usize = 5_000;
const BRANCHES: usize = 60;

/// Returns a name of the state of the chat.
pub(super) async fn version(operations: &Operations, chat: &str) -> Result<String, OperationError> {
    let state = operations.chat_state(chat).await?;
    let heads = state.heads.iter().filter(|(_, head)| head.is_some()).count();
    Ok(format!("d{}-{heads}-{}", state.updated_at.as_micros(), state.heads.len()))
}

/// Makes the rounds of a chat, in memory.
pub(super) async fn derive(
    operations: &Operations,
    chat: &str,
    agent: AgentRef,
    version: String,
) -> Result<Run, OperationError> {
    let (found, branches, _) = operations.chat(chat).await?;
    let now = operations.clock.now();
    let store = context_runtime::open("mem:").await?;
    let length = operations.branch(chat, None).await?.chain.len();
    if length > MESSAGES || branches.len() > BRANCHES {
        return Ok(Run::new(agent, RunOrigin::TooLong, version, Vec::new(), store, now));
    }
    let trajectories = Trajectories::builder(Arc::clone(&store)).build();
    let trajectories = trajectories.map_err(context_runtime::Error::from)?;
    let _recorded = record_chat(&trajectories, operations.history(), &found.chat).await?;
    let Some(rounds) = store.trajectories() else {
        return Err(OperationError::Missing { ability: "trajectories" });
    };
    let heads = heads(rounds, &agent).await?;
    Ok(Run::new(agent, RunOrigin::Derived, version, heads, store, now))
}
