//! Data that is loaded when a prompt is built.
//!
//! A [`LazyData`] is a placeholder in a fragment. This crate defines it and finds it in a tree. The
//! engine runs the loaders and decides about concurrency and caching. Renderers refuse a tree that
//! still contains a placeholder.

mod once_loader;
mod replace;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_core::Stream;

use self::once_loader::OnceLoader;
use super::FragmentData;
use crate::{BoxError, CancelSignal};

/// Maximum number of items of a stream. More items are an error, because a prompt has no room for
/// them.
pub const MAX_STREAM_ITEMS: usize = 10_000;

/// Default timeout of a load.
pub const DEFAULT_LOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Loads the data of a fragment.
///
/// Contract with implementors: a loader may be called again after a failure, and by several engines
/// at once. A load may be dropped at any point, by a timeout or a cancelled caller, and must leave
/// no inconsistent state. Closures, futures and streams need no implementation of their own; see
/// [`lazy`], [`lazy_future`] and [`lazy_stream`].
#[async_trait]
pub trait Loader: Send + Sync + 'static {
    /// Loads the data. `cancel` is raised when no caller waits for the data any more.
    async fn load(&self, cancel: &CancelSignal) -> Result<FragmentData, BoxError>;
}

/// The effect of a failed or timed-out load on the prompt.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum OnFailure {
    /// Building the prompt fails with an error that names the fragment's path.
    #[default]
    Error,
    /// The placeholder is used instead, with a diagnostic.
    Placeholder(FragmentData),
    /// The data is left out, with a diagnostic.
    Drop,
}

/// The lifetime of loaded data. Failures are never cached: the next resolve tries again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reuse {
    /// The data is loaded once and kept as long as the engine has the fragment.
    #[default]
    Once,
    /// The data is loaded again in each resolve.
    PerResolve,
    /// The data is kept for this duration, by the engine's clock.
    For(Duration),
}

/// Data that is loaded when a prompt is built. Clones refer to the same data, which is loaded once
/// for all of them.
#[derive(Clone)]
pub struct LazyData(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    loader: Arc<dyn Loader>,
    timeout: Duration,
    on_failure: OnFailure,
    reuse: Reuse,
}

/// Creates lazy data from an asynchronous closure, which is called once per load.
///
/// ```
/// use std::time::Duration;
/// use context_core::fragment;
/// use context_core::fragment::{OnFailure, Reuse, lazy};
///
/// # async fn fetch_weather() -> Result<String, std::io::Error> { Ok("sunny".into()) }
/// let weather = lazy(|| async { fetch_weather().await })
///     .timeout(Duration::from_secs(2))
///     .on_failure(OnFailure::Placeholder("unknown".into()))
///     .reuse(Reuse::For(Duration::from_secs(600)));
/// let today = fragment("today", [weather]);
/// # let _ = today;
/// ```
pub fn lazy<F, Fut, T, E>(load: F) -> LazyData
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<FragmentData>,
    E: Into<BoxError>,
{
    LazyData::new(Closure(move || {
        let loading = load();
        async move { loading.await.map(Into::into).map_err(Into::into) }
    }))
}

/// Creates lazy data from one future. The future is first polled by the first load and runs once,
/// whatever [`Reuse`] says. If a load ends early, the next load continues the future.
pub fn lazy_future<Fut, T, E>(future: Fut) -> LazyData
where
    Fut: Future<Output = Result<T, E>> + Send + 'static,
    T: Into<FragmentData>,
    E: Into<BoxError>,
{
    LazyData::new(OnceLoader::new(async move { future.await.map(Into::into).map_err(Into::into) }))
}

/// Creates a list from all items of a stream. Each load opens a new stream. More than
/// [`MAX_STREAM_ITEMS`] items are an error.
pub fn lazy_stream<F, S, T, E>(open: F) -> LazyData
where
    F: Fn() -> S + Send + Sync + 'static,
    S: Stream<Item = Result<T, E>> + Send + 'static,
    T: Into<FragmentData>,
    E: Into<BoxError>,
{
    LazyData::new(Closure(move || collect(open())))
}

async fn collect<S, T, E>(stream: S) -> Result<FragmentData, BoxError>
where
    S: Stream<Item = Result<T, E>> + Send,
    T: Into<FragmentData>,
    E: Into<BoxError>,
{
    let mut stream = pin!(stream);
    let mut items: Vec<FragmentData> = Vec::new();
    while let Some(item) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
        if items.len() == MAX_STREAM_ITEMS {
            return Err(TooManyItems.into());
        }
        items.push(item.map_err(Into::into)?.into());
    }
    Ok(FragmentData::list(items))
}

#[derive(Debug, thiserror::Error)]
#[error("the stream gave more than {MAX_STREAM_ITEMS} items")]
struct TooManyItems;

struct Closure<F>(F);

#[async_trait]
impl<F, Fut> Loader for Closure<F>
where
    F: Fn() -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<FragmentData, BoxError>> + Send,
{
    async fn load(&self, _cancel: &CancelSignal) -> Result<FragmentData, BoxError> {
        (self.0)().await
    }
}

impl LazyData {
    /// Creates lazy data from a loader.
    pub fn new(loader: impl Loader) -> Self {
        Self(Arc::new(Inner {
            loader: Arc::new(loader),
            timeout: DEFAULT_LOAD_TIMEOUT,
            on_failure: OnFailure::default(),
            reuse: Reuse::default(),
        }))
    }

    /// Sets the timeout of a load. Default: [`DEFAULT_LOAD_TIMEOUT`].
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|inner| inner.timeout = timeout)
    }

    /// Sets the effect of a failed load. Default: an error.
    #[must_use]
    pub fn on_failure(self, policy: OnFailure) -> Self {
        self.with(|inner| inner.on_failure = policy)
    }

    /// Sets the lifetime of loaded data. Default: as long as the engine has the fragment.
    #[must_use]
    pub fn reuse(self, reuse: Reuse) -> Self {
        self.with(|inner| inner.reuse = reuse)
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Returns the loader.
    pub fn loader(&self) -> &dyn Loader {
        &*self.0.loader
    }

    /// Returns the timeout of a load.
    pub fn load_timeout(&self) -> Duration {
        self.0.timeout
    }

    /// Returns the effect of a failed load.
    pub fn failure_policy(&self) -> &OnFailure {
        &self.0.on_failure
    }

    /// Returns the lifetime of loaded data.
    pub fn reuse_policy(&self) -> Reuse {
        self.0.reuse
    }

    /// Returns whether both are the same data, so that one load serves both.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns a key that is unique among all lazy data as long as a clone of this data exists.
    pub fn key(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl fmt::Debug for LazyData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyData")
            .field("timeout", &self.0.timeout)
            .field("on_failure", &self.0.on_failure)
            .field("reuse", &self.0.reuse)
            .finish_non_exhaustive()
    }
}

impl From<LazyData> for FragmentData {
    fn from(lazy: LazyData) -> Self {
        Self::Lazy(lazy)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    use super::*;
    use crate::{Fragment, fragment, hint};

    fn never(_: &str, _: &LazyData) -> FragmentData {
        panic!("nothing is lazy here")
    }

    fn text(text: &'static str) -> LazyData {
        lazy(move || async move { Ok::<_, Infallible>(text) })
    }

    #[test]
    fn lazy_places_are_found_by_path_and_replaced_in_order() {
        let tree = FragmentData::list([
            FragmentData::from("plain"),
            FragmentData::map([
                ("a", FragmentData::list([FragmentData::from(1), text("x").into()])),
                (
                    "b",
                    fragment("rules", [FragmentData::from(text("y")), hint(text("z")).into()])
                        .into(),
                ),
            ]),
            text("end").into(),
        ]);
        assert!(tree.has_lazy());
        let mut paths = Vec::new();
        let replaced = tree.replace_lazy("root", |path, _| {
            paths.push(path.to_owned());
            paths.len().into()
        });
        assert_eq!(
            paths,
            ["root[1].a[1]", "root[1].b.rules[0]", "root[1].b.rules[1].hint", "root[2]"]
        );
        assert!(!replaced.has_lazy());
        let expected = FragmentData::list([
            FragmentData::from("plain"),
            FragmentData::map([
                ("a", FragmentData::list([1, 1])),
                ("b", fragment("rules", [FragmentData::from(2), hint(3).into()]).into()),
            ]),
            4.into(),
        ]);
        assert_eq!(replaced, expected);
        assert_eq!(replaced.replace_lazy("root", never), expected);
    }

    #[test]
    fn deep_trees_are_searched_without_recursion() {
        let deep = |bottom: FragmentData| {
            (0..100_000).fold(bottom, |inner, level| match level % 3 {
                0 => FragmentData::list([inner]),
                1 => FragmentData::map([("k", inner)]),
                _ => Fragment::new("f", inner).into(),
            })
        };
        let replaced = deep(text("x").into()).replace_lazy("root", |_, _| "x".into());
        assert!(replaced == deep("x".into()));
    }

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Is pending at the first two polls. The test wakes its task.
    struct PendingTwice(Arc<std::sync::Mutex<(usize, Option<Waker>)>>);

    impl Future for PendingTwice {
        type Output = Result<&'static str, Infallible>;

        fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
            let mut state = self.0.lock().unwrap();
            state.0 += 1;
            state.1 = Some(context.waker().clone());
            if state.0 > 2 { Poll::Ready(Ok("done")) } else { Poll::Pending }
        }
    }

    #[test]
    fn a_future_goes_on_when_the_first_to_wait_for_it_goes_away() {
        let state = Arc::default();
        let data = lazy_future(PendingTwice(Arc::clone(&state)));
        let other = data.clone();
        let cancel = CancelSignal::never();
        let (gone, stays) = (Arc::new(Count::default()), Arc::new(Count::default()));
        let mut second = other.loader().load(&cancel);
        {
            let mut first = data.loader().load(&cancel);
            let waker = Waker::from(Arc::clone(&stays));
            assert!(second.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
            let waker = Waker::from(Arc::clone(&gone));
            assert!(first.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        let waker = state.lock().unwrap().1.take().unwrap();
        waker.wake();
        assert_eq!(stays.0.load(Ordering::SeqCst), 1, "who still waits is woken");
        let Poll::Ready(loaded) = second.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        else {
            panic!("the third poll completes it")
        };
        assert_eq!(loaded.unwrap(), "done".into());
        let mut again = data.loader().load(&cancel);
        assert!(again.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }

    struct Counting(usize);

    impl Stream for Counting {
        type Item = Result<usize, Infallible>;

        fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.0 = self.0.saturating_sub(1);
            Poll::Ready((self.0 > 0).then_some(Ok(self.0)))
        }
    }

    #[test]
    fn a_stream_is_a_list_and_an_endless_one_an_error() {
        let load = |data: LazyData| {
            let cancel = CancelSignal::never();
            let mut loading = data.loader().load(&cancel);
            match loading.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(loaded) => loaded,
                Poll::Pending => panic!("it never waits"),
            }
        };
        let three = lazy_stream(|| Counting(4));
        assert_eq!(load(three.clone()).unwrap(), FragmentData::list([3, 2, 1]));
        assert_eq!(load(three).unwrap(), FragmentData::list([3, 2, 1]), "each load opens it anew");
        assert!(load(lazy_stream(|| Counting(MAX_STREAM_ITEMS + 1))).is_ok());
        assert!(load(lazy_stream(|| Counting(usize::MAX))).is_err());
    }
}
