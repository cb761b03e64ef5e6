//! Working off the queues of a round.

use std::fmt;

use context_core::trajectory::{QueueItem, QueueName};
use thiserror::Error as ThisError;

use crate::{OpenRound, RecordError};

/// Why a run stopped.
#[derive(ThisError)]
#[non_exhaustive]
pub enum RunError<E> {
    /// A step failed. It is still the first of its queue: the next run begins with it.
    #[error("step {name:?} of the queue {queue} failed", queue = queue.as_str())]
    Step {
        /// The queue.
        queue: QueueName,
        /// The name of the step.
        name: String,
        /// What its handler said.
        source: E,
    },
    /// That a step is done could not be written. The next run may do it again.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// For people, as far as what the handler said is: a `main` that returns an error prints its
/// `Debug`.
impl<E: fmt::Debug> fmt::Debug for RunError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step { source, .. } => write!(f, "{self}\n  caused by: {source:?}"),
            Self::Record(error) => fmt::Debug::fmt(error, f),
        }
    }
}

/// Works off the queues: all of `pre`, then `todo`, then `post`. A step that puts others into an
/// earlier queue has those done first. Returns how many steps were done.
///
/// A step leaves its queue when its handler has done it, and durably: a run that was ended in the
/// middle goes on, in another process too, with the step it was at. So a handler may see a step
/// twice, and never misses one.
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
        // A handler that took its step itself, or emptied the queue, has said what it wants.
        open.pop_done(queue, &item).await?;
        done += 1;
    }
}
