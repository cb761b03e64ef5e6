//! Running operations for Python: blocking, and as awaitables of asyncio.

use std::pin::pin;
use std::sync::OnceLock;
use std::time::Duration;

use context_runtime::{Error, ErrorKind, Result};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tokio::runtime::{Builder, Runtime};
use tokio::task::AbortHandle;

use crate::error::exception;
use crate::json::Reply;

/// The time between two looks at the signals of the process, such as Ctrl-C, of a blocking call.
const SIGNALS: Duration = Duration::from_millis(50);

/// The face of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Face {
    /// Methods wait.
    Blocking,
    /// Methods return awaitables.
    Asyncio,
}

/// Returns the runtime of the process, on which all operations run.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let built = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread().thread_name("context-layer").enable_all().build()
    });
    built.as_ref().map_err(|error| {
        let text = "the threads of the context layer cannot be started";
        Error::new(ErrorKind::Unavailable, "start", format!("{text}: {error}"))
    })
}

/// Waits for an operation, without the interpreter. A signal whose handler raises drops the
/// operation.
pub(crate) fn wait(
    py: Python<'_>,
    face: Face,
    work: impl Future<Output = Result<Reply>> + Send,
) -> PyResult<Py<PyAny>> {
    let runtime = runtime().map_err(|error| exception(py, &error))?;
    let reply: PyResult<Result<Reply>> = py.detach(|| {
        runtime.block_on(async {
            let mut work = pin!(work);
            loop {
                if let Ok(reply) = tokio::time::timeout(SIGNALS, &mut work).await {
                    return Ok(reply);
                }
                Python::attach(|py| py.check_signals())?;
            }
        })
    });
    reply?.map_err(|error| exception(py, &error))?.into_python(py, face)
}

/// Starts an operation and returns a future of the running event loop. Cancelling that future drops
/// the operation, which leaves all of it or nothing in the store.
pub(crate) fn start(
    py: Python<'_>,
    work: impl Future<Output = Result<Reply>> + Send + 'static,
) -> PyResult<Py<PyAny>> {
    static RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let event_loop = RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
    let future = event_loop.call_method0("create_future")?;
    let (to_loop, to_future) = (event_loop.unbind(), future.clone().unbind());
    let runtime = runtime().map_err(|error| exception(py, &error))?;
    let task = runtime.spawn(async move {
        let reply = work.await;
        // Without an interpreter there is nobody to tell.
        Python::try_attach(|py| deliver(py, &to_loop, to_future, reply));
    });
    let cancel = Canceller { task: task.abort_handle() };
    future.call_method1("add_done_callback", (Bound::new(py, cancel)?,))?;
    Ok(future.unbind())
}

/// Hands a reply to the event loop.
fn deliver(py: Python<'_>, event_loop: &Py<PyAny>, future: Py<PyAny>, reply: Result<Reply>) {
    let outcome = match reply {
        Ok(reply) => reply.into_python(py, Face::Asyncio),
        Err(error) => Err(exception(py, &error)),
    };
    let (value, error) = match outcome {
        Ok(value) => (value, None),
        Err(error) => (py.None(), Some(error.into_value(py).into_any())),
    };
    let delivery = Delivery { future, value, error };
    // The only failure is a loop that was closed: nobody waits any more.
    let _closed = Bound::new(py, delivery)
        .and_then(|delivery| event_loop.bind(py).call_method1("call_soon_threadsafe", (delivery,)));
}

/// Sets the result of a future, on the thread of its event loop.
#[pyclass(frozen)]
struct Delivery {
    future: Py<PyAny>,
    value: Py<PyAny>,
    error: Option<Py<PyAny>>,
}

#[pymethods]
impl Delivery {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let future = self.future.bind(py);
        if future.call_method0("done")?.is_truthy()? {
            return Ok(()); // cancelled
        }
        match &self.error {
            Some(error) => future.call_method1("set_exception", (error,)).map(drop),
            None => future.call_method1("set_result", (&self.value,)).map(drop),
        }
    }
}

/// Drops an operation when its future is cancelled.
#[pyclass(frozen)]
struct Canceller {
    task: AbortHandle,
}

#[pymethods]
impl Canceller {
    fn __call__(&self, future: &Bound<'_, PyAny>) -> PyResult<()> {
        if future.call_method0("cancelled")?.is_truthy()? {
            self.task.abort();
        }
        Ok(())
    }
}
