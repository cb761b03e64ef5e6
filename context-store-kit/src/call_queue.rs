//! Calls that wait for a connection, and are served together by the one that gets it.
//!
//! The task that gets a connection takes the queued calls, in the order of their arrival, and sends
//! each caller its answer. No caller depends on that: if the serving task was dropped, or if it
//! left a call out, the caller gets no answer and does its work alone.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::sync::oneshot;

/// The calls that wait, each with the place for its answer.
pub struct CallQueue<T, A> {
    waiting: Mutex<VecDeque<QueuedCall<T, A>>>,
    /// Whether the last group had several calls. The next call is then probably not alone either.
    several: AtomicBool,
}

/// A call that waits.
pub struct QueuedCall<T, A> {
    /// The call.
    pub call: T,
    /// The place for the answer. Dropped without one, the call is left to its caller.
    pub answer: oneshot::Sender<A>,
}

/// Whether the next call belongs to a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It belongs to this group.
    Joins,
    /// It belongs to no group and is left to its caller.
    Leaves,
    /// It and those after it wait for another group.
    Ends,
}

/// The answer to a queued call, or the resource that the caller has waited for.
pub enum AnswerOr<A, R> {
    /// Another caller has served the call. `None` if it was left out.
    Answer(Option<A>),
    /// The call still waits, and its caller can serve the queue.
    Resource(R),
}

impl<T, A> Default for CallQueue<T, A> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), several: AtomicBool::new(false) }
    }
}

impl<T, A> CallQueue<T, A> {
    /// Whether the next call is probably not alone.
    pub fn has_several(&self) -> bool {
        self.several.load(Ordering::Relaxed)
    }

    /// Returns the number of calls that wait.
    pub fn waiting_calls(&self) -> usize {
        self.waiting().len()
    }

    /// Adds a call. Returns the place where its answer arrives.
    pub fn put(&self, call: T) -> oneshot::Receiver<A> {
        let (answer, receiver) = oneshot::channel();
        self.waiting().push_back(QueuedCall { call, answer });
        receiver
    }

    /// Removes and returns the next group of calls whose callers are still waiting, in the order of
    /// their arrival. `fits` is called with the group so far and the next call.
    pub fn take(&self, fits: impl Fn(&[QueuedCall<T, A>], &T) -> Fit) -> Vec<QueuedCall<T, A>> {
        let mut waiting = self.waiting();
        self.several.store(waiting.len() > 1, Ordering::Relaxed);
        let mut group = Vec::new();
        while let Some(next) = waiting.front() {
            match fits(&group, &next.call) {
                Fit::Ends => break,
                Fit::Joins => {
                    group.extend(waiting.pop_front().filter(|next| !next.answer.is_closed()));
                }
                Fit::Leaves => drop(waiting.pop_front()),
            }
        }
        group
    }

    fn waiting(&self) -> MutexGuard<'_, VecDeque<QueuedCall<T, A>>> {
        // Calls are added and removed whole, so the queue is valid even if a holder has panicked.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the answer to a queued call and for a resource, whichever comes first.
pub async fn answer_or<A, R>(
    answer: &mut oneshot::Receiver<A>,
    resource: impl Future<Output = R>,
) -> AnswerOr<A, R> {
    let mut resource = pin!(resource);
    poll_fn(|context| match Pin::new(&mut *answer).poll(context) {
        Poll::Ready(answer) => Poll::Ready(AnswerOr::Answer(answer.ok())),
        Poll::Pending => resource.as_mut().poll(context).map(AnswerOr::Resource),
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(group: &[QueuedCall<u32, ()>]) -> Vec<u32> {
        group.iter().map(|queued| queued.call).collect()
    }

    #[test]
    fn a_call_that_leaves_gets_no_answer_and_one_that_ends_a_group_begins_the_next() {
        let queue = CallQueue::default();
        let mut receivers = [1, 1, 2, 9, 3].map(|call| queue.put(call));
        let fits = |group: &[QueuedCall<u32, ()>], call: &u32| match call {
            9 if !group.is_empty() => Fit::Ends,
            call if calls(group).contains(call) => Fit::Leaves,
            _ => Fit::Joins,
        };
        let group = queue.take(fits);
        assert_eq!(calls(&group), [1, 2]);
        assert!(queue.has_several());
        assert_eq!(receivers[0].try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert_eq!(receivers[1].try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert_eq!(calls(&queue.take(fits)), [9, 3]);
        assert!(queue.take(fits).is_empty());
        assert!(!queue.has_several());
    }

    #[test]
    fn a_caller_that_no_longer_waits_is_left_out() {
        let queue = CallQueue::default();
        let (gone, _waits) = (queue.put(1), queue.put(2));
        drop(gone);
        assert_eq!(calls(&queue.take(|_, _| Fit::Joins)), [2]);
    }
}
