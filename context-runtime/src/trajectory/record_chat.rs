//! Recording a stored chat with what the file that it was imported from says of its answers.

use context_core::store::HistoryStore;
use context_core::{ChatRef, Error, ErrorKind, Result};
use context_trajectory::{BranchHistory, ChatRecorded, Trajectories};
use context_transcript::{SOURCE_BRANCH, SourceError, TranscriptSource, measures};

/// Records the turns of a stored chat, on all of its branches, with
/// [`Trajectories::record_chat`]. If the chat was imported from a file, the answers get the model,
/// the token usage and the cost that the file has.
///
/// Repeating the call adds what is new. Returns [`NotFound`](ErrorKind::NotFound) for a chat that
/// does not exist, and [`Unsupported`](ErrorKind::Unsupported) for one that a newer version of this
/// library imported.
///
/// ```
/// use context_runtime::trajectory::{Trajectories, record_chat};
/// use context_runtime::{ContextEngine, assistant, user};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> context_runtime::Result<()> {
/// let store = context_runtime::open("mem:").await?;
/// let builder = ContextEngine::builder(store.clone()).user("ada").chat("lisbon");
/// let mut engine = builder.open().await?;
/// engine.set([user("Two tickets to Lisbon.")]).set([assistant("For which day?")]);
/// engine.save().await?;
///
/// let trajectories = Trajectories::new(store.clone())?;
/// let recorded = record_chat(&trajectories, store.history(), engine.chat_ref()).await?;
/// assert_eq!(recorded.recorded(), 1);
/// # Ok(())
/// # }
/// ```
pub async fn record_chat(
    trajectories: &Trajectories,
    history: &dyn HistoryStore,
    chat: &ChatRef,
) -> Result<ChatRecorded> {
    const OPERATION: &str = "record_chat";
    let found = history.chat(chat).await?;
    let found = found
        .ok_or_else(|| Error::not_found(OPERATION, "chat", &chat.chat).with("user", &chat.user))?;
    let source = TranscriptSource::of(&found.metadata).map_err(|error| {
        let kind = match &error {
            SourceError::NewerVersion { .. } => ErrorKind::Unsupported,
            _ => ErrorKind::Corrupt,
        };
        let message = "the source of the imported chat cannot be read";
        Error::new(kind, OPERATION, message).with("chat", &chat.chat).with_source(error)
    })?;
    let mut branches = BranchHistory::read(history, chat).await?;
    let sidecar = branches.iter().position(|branch| branch.name.as_str() == SOURCE_BRANCH);
    let sidecar = sidecar.filter(|_| source.is_some()).map(|at| branches.remove(at));
    let measured: Vec<_> = branches
        .iter()
        .map(|branch| {
            let lines = sidecar.iter().flat_map(|sidecar| sidecar.chain.iter());
            measures(source.as_ref(), lines, branch.chain.iter())
        })
        .collect();
    let of_answer = |branch: usize, node: &context_core::Node| {
        measured[branch].get(&node.id).cloned().unwrap_or_default()
    };
    Ok(trajectories.record_chat(chat, &branches, of_answer).await?)
}
