//! Processing the task queues of a round.

use std::fmt;

use context_core::trajectory::{QueueItem, QueueName};
use thiserror::Error as ThisError;

use crate::{OpenRound, RecordError};

/// The reason why a run stopped.
#[derive(ThisError)]
#[non_exhaustive]
pub enum RunError<E> {
    /// A step failed. It is still the first of its queue, so the next run starts with it.
    #[error("step {name:?} of the queue {queue} failed", queue = queue.as_str())]
    Step {
        /// The queue.
        queue: QueueName,
        /// The name of the step.
        name: String,
        /// The handler's error.
        source: E,
    },
    /// The completion of a step could not be written. The next run may repeat the step.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Prints a readable chain of causes, as far as the handler's error does: a `main` that returns an
/// error prints its `Debug` form.
impl<E: fmt::Debug> fmt::Debug for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { source, .. } => write!(f, "{self}\n  caused by: {source:?}"),
            Self::Record(error) => fmt::Debug::fmt(error, f),
        }
    }
}

/// Processes the queues: all of `pre`, then `todo`, then `post`. If a step adds steps to an earlier
/// queue, those run first. Returns the number of completed steps.
///
/// A step leaves its queue durably after its handler has completed it. An interrupted run continues
/// with that step, also in another process. A handler may therefore see a step twice, but never
/// misses one.
pub async fn work_off<E>(
    open: &OpenRound,
    mut handler: impl AsyncFnMut(QueueName, &QueueItem) -> Result<(), E>,
) -> Result<u64, RunError<E>> {
    let mut done = 0;
    loop {
        let round = open.round();
        let queues = round.queues();
        let next = QueueName::ALL.into_iter().find_map(|queue| {
            let first = queues.get(queue).iter().next()?;
            Some((queue, first.clone()))
        });
        drop(round);
        let Some((queue, item)) = next else { return Ok(done) };
        if let Err(source) = handler(queue, &item).await {
            return Err(RunError::Step { queue, name: item.name, source });
        }
        // If the handler removed its step itself or cleared the queue, nothing is left to remove.
        open.pop_done(queue, &item).await?;
        done += 1;
    }
}
