//! Running operations for Python: blocking, and as awaitables of asyncio.

use std::pin::pin;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::thread;
use std::time::Duration;

use context_runtime::{Error, ErrorKind, Result};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
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

/// The number of our threads that are in the interpreter, or about to enter it.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Whether the interpreter ends.
///
/// It then stops every other thread that asks for it, by unwinding the frames of that thread, which
/// ends the process. So the end waits until none of our threads is inside, and none enters later.
static ENDED: AtomicBool = AtomicBool::new(false);

/// A thread of ours that is in the interpreter, for as long as this lives.
struct Inside;

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, SeqCst);
    }
}

/// Enters the interpreter from a thread of ours, if it does not end.
fn enter(work: impl FnOnce(Python<'_>)) {
    INSIDE.fetch_add(1, SeqCst);
    let _inside = Inside;
    if !ENDED.load(SeqCst) {
        Python::try_attach(work);
    }
}

/// Waits until no thread of ours is in the interpreter, before it ends.
#[pyfunction]
fn end(py: Python<'_>) {
    ENDED.store(true, SeqCst);
    py.detach(|| {
        while INSIDE.load(SeqCst) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Begins anew in a copy of the process, which has none of our threads.
#[pyfunction]
fn copied() {
    INSIDE.store(0, SeqCst);
}

/// Registers what is done when the interpreter ends.
pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    py.import("atexit")?.call_method1("register", (wrap_pyfunction!(end, module)?,))?;
    let os = py.import("os")?;
    // There is none where processes cannot be copied.
    if os.hasattr("register_at_fork")? {
        let options = PyDict::new(py);
        options.set_item("after_in_child", wrap_pyfunction!(copied, module)?)?;
        os.call_method("register_at_fork", (), Some(&options))?;
    }
    Ok(())
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
    if ENDED.load(SeqCst) {
        return Err(PyRuntimeError::new_err("the interpreter ends: nothing can be started"));
    }
    static RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let event_loop = RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?;
    let future = event_loop.call_method0("create_future")?;
    let (to_loop, to_future) = (event_loop.unbind(), future.clone().unbind());
    let runtime = runtime().map_err(|error| exception(py, &error))?;
    let task = runtime.spawn(async move {
        let reply = work.await;
        // Without an interpreter there is nobody to tell.
        enter(|py| deliver(py, &to_loop, to_future, reply));
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
