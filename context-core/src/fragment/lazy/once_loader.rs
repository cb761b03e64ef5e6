//! A loader around one future, for any number of concurrent loads.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use async_trait::async_trait;

use super::Loader;
use crate::{BoxError, CancelSignal, FragmentData};

type LoadFuture = Pin<Box<dyn Future<Output = Result<FragmentData, BoxError>> + Send>>;

/// Runs a shared future in the context of any task that polls it, so that the future continues when
/// one of the tasks is dropped.
pub(super) struct OnceLoader {
    state: Mutex<State>,
    waiting: Arc<WakerList>,
}

enum State {
    Loading(LoadFuture),
    Loaded(FragmentData),
    Failed(SharedError),
}

/// Wakes every waiting task, because the task that polled last may have been dropped.
#[derive(Default)]
struct WakerList(Mutex<Vec<Waker>>);

impl WakerList {
    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        // A list of wakers is valid even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for WakerList {
    fn wake(self: Arc<Self>) {
        let wakers = std::mem::take(&mut *self.wakers());
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// A failure that is returned to several callers.
#[derive(Clone, Debug)]
struct SharedError(Arc<BoxError>);

impl fmt::Display for SharedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for SharedError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl OnceLoader {
    pub(super) fn new(
        future: impl Future<Output = Result<FragmentData, BoxError>> + Send + 'static,
    ) -> Self {
        Self { state: Mutex::new(State::Loading(Box::pin(future))), waiting: Arc::default() }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<Result<FragmentData, BoxError>> {
        // A future that panicked is not polled again: the lock stays poisoned.
        let Ok(mut state) = self.state.lock() else { return Poll::Ready(Err(Panicked.into())) };
        if let State::Loading(loading) = &mut *state {
            {
                let mut wakers = self.waiting.wakers();
                if !wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                    wakers.push(context.waker().clone());
                }
            }
            let waker = Waker::from(Arc::clone(&self.waiting));
            match loading.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(data)) => *state = State::Loaded(data),
                Poll::Ready(Err(error)) => *state = State::Failed(SharedError(Arc::new(error))),
            }
            self.waiting.wakers().drain(..).for_each(Waker::wake);
        }
        Poll::Ready(match &*state {
            State::Loaded(data) => Ok(data.clone()),
            State::Failed(error) => Err(error.clone().into()),
            State::Loading(_) => return Poll::Pending,
        })
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the future panicked")]
struct Panicked;

#[async_trait]
impl Loader for OnceLoader {
    async fn load(&self, _cancel: &CancelSignal) -> Result<FragmentData, BoxError> {
        poll_fn(|context| self.poll(context)).await
    }
}
