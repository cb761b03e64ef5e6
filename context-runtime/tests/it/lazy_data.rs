//! Data that is loaded when a prompt is made.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use context_runtime::kinds::policy;
use context_runtime::{
    CancelSource, Clock, DiagnosticCode, ErrorKind, Fragment, FragmentData, ResolveOptions,
    Timestamp, fragment,
    fragments::{LazyData, OnFailure, Reuse},
    hint, lazy, lazy_future, lazy_stream,
};
use futures_util::stream;
use tokio::sync::Notify;

use crate::kit::{builder, engine, say, store};

/// Data that counts how often it was loaded.
fn counted(count: &Arc<AtomicUsize>) -> LazyData {
    let count = Arc::clone(count);
    lazy(move || {
        let number = count.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok::<_, Infallible>(format!("load {number}")) }
    })
}

fn failing() -> LazyData {
    lazy(|| async { Err::<&str, _>(std::io::Error::other("disk gone")) })
}

fn never() -> LazyData {
    lazy(std::future::pending::<Result<&str, Infallible>>)
}

/// A clock that stands still until it is set, in seconds.
#[derive(Clone, Debug, Default)]
struct ManualClock(Arc<AtomicI64>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::SeqCst) * 1_000_000)
    }
}

#[tokio::test]
async fn closures_futures_and_streams_become_data_wherever_they_stand() {
    let mut chat = engine(&store().await).await;
    chat.set([
        hint(lazy(|| async { Ok::<_, Infallible>("from a closure") })),
        policy("Ask.")
            .policies([lazy_future(async { Ok::<_, Infallible>(hint("from a future")) })])
            .into(),
        fragment("rows", [lazy_stream(|| stream::iter([1, 2].map(Ok::<_, Infallible>)))]),
        Fragment::new(
            "nested",
            lazy(|| async {
                Ok::<_, Infallible>(FragmentData::map([(
                    "inner",
                    lazy(|| async { Ok::<_, Infallible>("deep") }),
                )]))
            }),
        ),
        Fragment::new("nothing", lazy(|| async { Ok::<_, Infallible>(FragmentData::Null) })),
    ]);
    let turn = chat.resolve().await.unwrap();
    let expected = "\
<hint>from a closure</hint>
<policy>
  <rule>Ask.</rule>
  <policies>
    <hint>from a future</hint>
  </policies>
</policy>
<rows>
  <row>
    <row>1</row>
    <row>2</row>
  </row>
</rows>
<nested>
  <inner>deep</inner>
</nested>";
    assert_eq!(turn.system_prompt, expected);
}

#[tokio::test]
async fn what_was_loaded_is_used_as_long_as_the_data_says() {
    let watch = ManualClock::default();
    let mut chat = builder(&store().await).clock(watch.clone()).open().await.unwrap();
    let counts: [Arc<AtomicUsize>; 3] = Default::default();
    chat.set([
        Fragment::new("once", counted(&counts[0])),
        Fragment::new("each", counted(&counts[1]).reuse(Reuse::PerResolve)),
        Fragment::new("minute", counted(&counts[2]).reuse(Reuse::For(Duration::from_secs(60)))),
    ]);
    let mut loads = Vec::new();
    for seconds in [0, 59, 60] {
        watch.0.store(seconds, Ordering::SeqCst);
        let turn = chat.resolve().await.unwrap();
        loads.push(counts.each_ref().map(|count| count.load(Ordering::SeqCst)));
        assert!(turn.system_prompt.contains(&format!("<each>load {}</each>", loads.len())));
    }
    assert_eq!(loads, [[1, 1, 1], [1, 2, 1], [1, 3, 2]]);
}

#[tokio::test]
async fn data_that_stands_in_several_places_is_loaded_once() {
    let count = Arc::default();
    let data = counted(&count).reuse(Reuse::PerResolve);
    let mut chat = engine(&store().await).await;
    chat.set([fragment("a", [data.clone(), data.clone()]), hint(data)]);
    let turn = chat.resolve().await.unwrap();
    assert_eq!(turn.system_prompt.matches("load 1").count(), 3);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_failure_names_the_path_and_what_did_not_fail_is_not_loaded_again() {
    let count = Arc::default();
    let mut chat = builder(&store().await).load_concurrency(1).open().await.unwrap();
    let broken = policy("Ask.").policies([FragmentData::from("p"), failing().into()]);
    chat.set([hint(counted(&count)), Fragment::from(broken).with_id("p")]);
    for _ in 0..2 {
        let error = chat.resolve().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.contains("policy.policies[1]") && text.contains("disk gone"), "{text}");
    }
    assert!(chat.unset(&"p".into()).await.unwrap());
    assert_eq!(chat.resolve().await.unwrap().system_prompt, "<hint>load 1</hint>");
}

#[tokio::test]
async fn a_placeholder_or_nothing_can_stand_in_for_what_failed() {
    let mut chat = engine(&store().await).await;
    chat.set([
        hint(failing().on_failure(OnFailure::Placeholder("(not known)".into()))),
        Fragment::new("gone", failing().on_failure(OnFailure::Drop)),
    ]);
    let turn = chat.resolve().await.unwrap();
    assert_eq!(turn.system_prompt, "<hint>(not known)</hint>");
    let told: Vec<_> =
        turn.diagnostics.iter().map(|told| (told.code, told.path.as_str())).collect();
    assert_eq!(told, [(DiagnosticCode::NotLoaded, "hint"), (DiagnosticCode::NotLoaded, "gone")]);
}

/// A substitute for failed data must never be stored as the data.
#[tokio::test]
async fn what_could_not_be_loaded_is_tried_again_and_never_stored() {
    let store = store().await;
    let tries = Arc::new(AtomicUsize::new(0));
    let data = lazy({
        let tries = Arc::clone(&tries);
        move || {
            let first = tries.fetch_add(1, Ordering::SeqCst) == 0;
            async move { if first { Err(std::io::Error::other("no net")) } else { Ok("weather") } }
        }
    });
    let mut chat = engine(&store).await;
    chat.set([
        hint(data.on_failure(OnFailure::Placeholder("?".into()))).persisted(),
        say("u1", "hi"),
    ]);
    assert_eq!(chat.resolve().await.unwrap().system_prompt, "<hint>?</hint>");
    let _saved = chat.save().await.unwrap();
    let mut next = engine(&store).await;
    assert_eq!(next.resolve().await.unwrap().system_prompt, "<hint>weather</hint>");
    assert_eq!(chat.resolve().await.unwrap().system_prompt, "<hint>weather</hint>");
}

/// Regression: a placeholder that had been shown was stored when the loader failed again during the
/// save.
#[tokio::test]
async fn a_placeholder_that_was_shown_is_not_stored_however_often_the_loader_fails() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let broken = failing().on_failure(OnFailure::Placeholder("?".into()));
    chat.set([hint(broken).with_id("h").persisted(), say("u1", "hi")]);
    for _ in 0..2 {
        assert_eq!(chat.resolve().await.unwrap().system_prompt, "<hint>?</hint>");
        let _saved = chat.save().await.unwrap();
    }
    let mut next = engine(&store).await;
    let turn = next.resolve().await.unwrap();
    assert_eq!((&*turn.system_prompt, turn.messages.len()), ("", 1));
}

#[tokio::test]
async fn what_is_stored_is_what_was_shown() {
    let store = store().await;
    let count = Arc::default();
    let mut chat = engine(&store).await;
    let data = counted(&count).reuse(Reuse::PerResolve);
    chat.set([Fragment::from(policy(data)), say("u1", "hi")].map(Fragment::persisted));
    let shown = chat.resolve().await.unwrap().system_prompt;
    let _saved = chat.save().await.unwrap();
    assert_eq!(engine(&store).await.resolve().await.unwrap().system_prompt, shown);
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_persisted_fragment_with_an_id_is_stored_again_when_it_is_loaded_anew() {
    let store = store().await;
    let count = Arc::default();
    let mut chat = engine(&store).await;
    let data = counted(&count).reuse(Reuse::PerResolve);
    chat.set([hint(data).with_id("weather").persisted()]);
    for load in ["load 1", "load 2"] {
        let _turn = chat.resolve().await.unwrap();
        let _saved = chat.save().await.unwrap();
        let mut next = engine(&store).await;
        assert_eq!(next.resolve().await.unwrap().system_prompt, format!("<hint>{load}</hint>"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_loader_that_takes_too_long_fails_with_its_limit() {
    let mut chat = engine(&store().await).await;
    chat.set([hint(never().timeout(Duration::from_secs(5)))]);
    let error = chat.resolve().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let text = error.to_string();
    assert!(text.contains("hint") && text.contains("5s"), "{text}");
}

#[tokio::test]
async fn loading_can_be_cancelled_by_signal_whatever_the_failure_policy() {
    let mut chat = engine(&store().await).await;
    chat.set([hint(never().on_failure(OnFailure::Drop))]);
    let source = CancelSource::new();
    let options = ResolveOptions::new().cancel(source.signal());
    let (resolved, ()) = tokio::join!(chat.resolve_with(options), async { source.cancel() });
    assert_eq!(resolved.unwrap_err().kind(), ErrorKind::Cancelled);
}

#[tokio::test]
async fn no_more_loaders_run_at_once_than_allowed_and_that_many_do() {
    const LIMIT: usize = 3;
    let (running, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let full = Arc::new(Notify::new());
    let mut chat = builder(&store().await).load_concurrency(LIMIT).open().await.unwrap();
    chat.set((0..10).map(|_| {
        let (running, peak, full) = (Arc::clone(&running), Arc::clone(&peak), Arc::clone(&full));
        hint(lazy(move || {
            let (running, peak, full) =
                (Arc::clone(&running), Arc::clone(&peak), Arc::clone(&full));
            async move {
                let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                if peak.fetch_max(now, Ordering::SeqCst).max(now) < LIMIT {
                    // Continues only when as many loaders run as are allowed.
                    full.notified().await;
                } else {
                    full.notify_waiters();
                }
                tokio::task::yield_now().await;
                running.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Infallible>("x")
            }
        }))
    }));
    let _turn = chat.resolve().await.unwrap();
    assert_eq!(peak.load(Ordering::SeqCst), LIMIT);
}

#[tokio::test]
async fn a_loader_that_gives_itself_is_an_error_not_a_loop() {
    fn again() -> LazyData {
        lazy(|| async { Ok::<_, Infallible>(FragmentData::list([again()])) })
    }
    let mut chat = engine(&store().await).await;
    chat.set([hint(again())]);
    let error = chat.resolve().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("hint[0][0]"), "{error}");
}

#[tokio::test]
async fn loaders_that_give_ever_more_loaders_are_an_error_long_before_memory_ends() {
    fn many() -> LazyData {
        lazy(|| async { Ok::<_, Infallible>(FragmentData::list((0..30).map(|_| many()))) })
    }
    let mut chat = engine(&store().await).await;
    chat.set([hint(many())]);
    let error = chat.resolve().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = error.to_string();
    assert!(text.contains("hint[0][0]") && text.contains("10000"), "{text}");
}
