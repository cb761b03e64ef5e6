//! One of many writers of a branch: reads the head, commits after it, and retries after a conflict.

use std::sync::Arc;
use std::time::Duration;

use context_core::store::{Commit, CommitOutcome, Target};
use context_core::{
    ChatRef, Error, ErrorKind, Message, Node, Result, Retry, Role, Store, Timestamp,
};

/// The wait before a retry.
const PAUSE: Duration = Duration::from_millis(5);
/// The maximum number of retries.
const TRIES: u32 = 20_000;

/// Appends this many messages after the current head.
pub(crate) async fn compete(
    store: &dyn Store,
    chat: &ChatRef,
    name: &str,
    messages: u64,
) -> Result<()> {
    let history = store.history();
    for n in 0..messages {
        let id = format!("{name}-{n}");
        let at = Timestamp::from_micros(2);
        let node = Arc::new(Node::new(id.as_str(), Message::text(Role::User, id.as_str()), at));
        let mut tries = 0;
        loop {
            tries += 1;
            let written = async {
                let branches = history.branches(chat).await?;
                let head = branches
                    .into_iter()
                    .find(|branch| branch.name.as_str() == "main")
                    .and_then(|main| main.head);
                let target = Target::Extend { branch: "main".into(), expected: head };
                let nodes = vec![Arc::clone(&node)];
                history.commit(Commit { nodes, ..Commit::new(chat.clone(), target, at) }).await
            };
            match written.await {
                Ok(CommitOutcome::Applied(_) | CommitOutcome::Replayed(_)) => break,
                Ok(CommitOutcome::Conflict { .. }) => {}
                Ok(outcome) => {
                    let text = format!("{id} was not written: {outcome:?}");
                    return Err(Error::new(ErrorKind::Bug, "commit", text));
                }
                Err(error) if error.retry() == Retry::Safe && tries < TRIES => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
