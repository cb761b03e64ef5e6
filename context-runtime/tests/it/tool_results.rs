//! Tool results: what is too large is stored as a blob, and can be read back.

mod failing_store;
mod media;
mod read_tool;

use std::sync::Arc;

use context_runtime::{
    CancelSource, ContextRuntime, DefaultContextRuntime, DefaultContextRuntimeBuilder,
    DiagnosticCode, ErrorKind, Message, Part, Role, Spilled, Store, ToolResult, ToolResultInput,
    ToolResultLimits, ToolResultOutput, store::BlobId,
};
use failing_store::{FailingStore, PutOutcome};
use proptest::prelude::*;
use proptest::test_runner::Config;

use super::kit::{TickingClock, store};

fn builder(store: &Arc<dyn Store>) -> DefaultContextRuntimeBuilder {
    DefaultContextRuntime::builder()
        .model("gpt-4o")
        .clock(TickingClock::default())
        .spill(Arc::clone(store))
}

fn runtime(store: &Arc<dyn Store>) -> DefaultContextRuntime {
    builder(store).build().unwrap()
}

fn input(results: impl IntoIterator<Item = Part>) -> ToolResultInput {
    let history = vec![Arc::new(Message::from("look"))];
    ToolResultInput::new(("ada", "s"), "t", history, Message::new(Role::Tool, results))
}

async fn applied(
    runtime: &DefaultContextRuntime,
    results: impl IntoIterator<Item = Part>,
) -> ToolResultOutput {
    runtime.apply_tool_results(input(results)).await.unwrap()
}

fn results(output: &ToolResultOutput) -> Vec<&ToolResult> {
    let parts = output.appended[0].parts.iter();
    parts
        .filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
        .collect()
}

fn text(result: &ToolResult) -> &str {
    match &result.output[..] {
        [Part::Text(text)] => &text.text,
        other => panic!("not one text: {other:?}"),
    }
}

fn codes(output: &ToolResultOutput) -> Vec<DiagnosticCode> {
    output.diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

/// Returns all bytes of a spilled result.
async fn kept(runtime: &DefaultContextRuntime, result: &ToolResult) -> Vec<u8> {
    let spilled = Spilled::of(&result.metadata).unwrap();
    let spill = runtime.spill().unwrap();
    let read =
        spill.read(&("ada", "s").into(), &spilled.blob.to_reference(), 0..u64::MAX).await.unwrap();
    assert_eq!(read.total, spilled.bytes);
    read.bytes.to_vec()
}

/// Returns text that tokenizers split into many tokens.
fn words(what: &str, count: usize) -> String {
    (0..count).map(|i| format!("{what} {i} ")).collect()
}

#[tokio::test]
async fn what_is_small_stays_in_its_allocation() {
    let store = store().await;
    let runtime = runtime(&store);
    let small = Part::tool_result("a", "all is well");
    let Part::ToolResult(result) = &small else { unreachable!() };
    let address = text(result).as_ptr();
    let input = input([small]);
    let asked = Arc::clone(&input.messages[0]);
    let output = runtime.apply_tool_results(input).await.unwrap();
    assert_eq!(text(results(&output)[0]).as_ptr(), address);
    assert!(
        Arc::ptr_eq(&output.messages[0], &asked)
            && Arc::ptr_eq(&output.messages[1], &output.appended[0])
    );
    assert_eq!((output.messages.len(), codes(&output)), (2, vec![]));
}

#[tokio::test]
async fn what_is_large_is_kept_to_the_byte_and_shown_at_both_ends() {
    let store = store().await;
    let runtime = runtime(&store);
    let (log, json) = (words("line", 20_000), format!("[{}1]", "1,".repeat(120_000)));
    let Part::ToolResult(mut failed) = Part::tool_result("a", &*log) else { unreachable!() };
    (failed.is_error, failed.name) = (true, Some("run".to_owned()));
    let output =
        applied(&runtime, [Part::ToolResult(failed), Part::tool_result("b", &*json)]).await;
    let [failed, listed] = results(&output)[..] else { panic!("two results") };

    assert_eq!(kept(&runtime, failed).await, log.as_bytes());
    assert_eq!(kept(&runtime, listed).await, json.as_bytes());
    assert!(failed.is_error && failed.call_id == "a" && failed.name.as_deref() == Some("run"));
    let spilled = Spilled::of(&failed.metadata).unwrap();
    assert_eq!(
        (spilled.media_type.as_deref(), &*spilled.reason),
        (Some("text/plain"), "tool_result_too_large")
    );
    assert_eq!(
        Spilled::of(&listed.metadata).unwrap().media_type.as_deref(),
        Some("application/json")
    );
    let shown = text(failed);
    assert!(shown.starts_with("line 0 line 1 ") && shown.ends_with("line 19999 "), "{shown}");
    assert!(
        shown.contains(&spilled.blob.to_reference()) && shown.contains("read_spilled_output"),
        "{shown}"
    );
    assert!(shown.len() <= 12_000);
    assert_eq!(codes(&output), [DiagnosticCode::ToolResultSpilled; 2]);
}

#[tokio::test]
async fn a_preview_of_wide_characters_keeps_its_limit() {
    let store = store().await;
    let runtime = runtime(&store);
    let output =
        applied(&runtime, [Part::tool_result("a", "漢字仮名交じり文。".repeat(12_000))]).await;
    let shown = text(results(&output)[0]);
    assert!(shown.len() <= 12_000 && shown.len() > 11_000, "{}", shown.len());
    let (head, tail) = (shown.find("[Too long").unwrap(), shown.len() - shown.rfind(']').unwrap());
    assert!(head.abs_diff(tail) < 10, "{head} {tail}");
}

#[tokio::test]
async fn calls_of_one_id_and_ids_that_look_alike_keep_apart() {
    let store = store().await;
    let runtime = runtime(&store);
    let texts = [
        words("first", 9_000),
        words("second", 9_000),
        words("third", 9_000),
        words("fourth", 9_000),
    ];
    let first =
        applied(&runtime, [Part::tool_result("x", &*texts[0]), Part::tool_result("x", &*texts[1])])
            .await;
    let second = applied(&runtime, [Part::tool_result("x:1", &*texts[2])]).await;
    let third = applied(&runtime, [Part::tool_result("x/1", &*texts[3])]).await;
    let all = [results(&first), results(&second), results(&third)].concat();
    for (result, text) in all.iter().zip(&texts) {
        assert_eq!(kept(&runtime, result).await, text.as_bytes());
    }
    assert_eq!(
        all.iter().map(|result| &*result.call_id).collect::<Vec<_>>(),
        ["x", "x", "x:1", "x/1"]
    );
}

#[tokio::test]
async fn many_results_share_a_limit_and_the_largest_give_way() {
    let store = store().await;
    let runtime = runtime(&store);
    let sizes = [3_000, 900, 2_600, 2_900, 800, 2_500, 2_400, 2_300];
    let parts = sizes
        .iter()
        .enumerate()
        .map(|(i, size)| Part::tool_result(format!("c{i}"), words("entry", *size)));
    let output = applied(&runtime, parts).await;
    let spilled: Vec<_> =
        results(&output).iter().map(|result| Spilled::of(&result.metadata).is_some()).collect();
    assert!(
        spilled.iter().any(|spilled| *spilled) && !spilled.iter().all(|spilled| *spilled),
        "{spilled:?}"
    );
    // No result that stays is larger than one that was spilled.
    let least =
        sizes.iter().zip(&spilled).filter(|(_, spilled)| **spilled).map(|(size, _)| *size).min();
    let most =
        sizes.iter().zip(&spilled).filter(|(_, spilled)| !**spilled).map(|(size, _)| *size).max();
    assert!(least > most, "{spilled:?}");
    assert!(tokens(&output) <= 40_000);

    let parts = (0..40).map(|i| Part::tool_result(format!("c{i}"), words("entry", 2_300)));
    let output = applied(&runtime, parts).await;
    assert!(tokens(&output) <= 40_000, "{}", tokens(&output));
    for result in results(&output) {
        let Some(spilled) = Spilled::of(&result.metadata) else {
            assert_eq!(text(result), words("entry", 2_300));
            continue;
        };
        assert_eq!(kept(&runtime, result).await, words("entry", 2_300).as_bytes());
        assert_eq!(spilled.reason, "tool_results_too_large");
    }
}

fn tokens(output: &ToolResultOutput) -> u64 {
    use context_runtime::model::TokenCounter as _;
    context_runtime::tokens::ModelCounter::for_model("gpt-4o")
        .count_message(&output.appended[0])
        .tokens()
}

#[tokio::test]
async fn a_result_that_says_nothing_is_said_to() {
    let store = store().await;
    let runtime = runtime(&store);
    let Part::ToolResult(mut none) = Part::tool_result("b", " \n") else { unreachable!() };
    none.is_error = true;
    let Part::ToolResult(mut bare) = Part::tool_result("c", "") else { unreachable!() };
    bare.output.clear();
    let output = applied(
        &runtime,
        [Part::tool_result("a", ""), Part::ToolResult(none), Part::ToolResult(bare)],
    )
    .await;
    let shown: Vec<_> = results(&output).into_iter().map(text).collect();
    assert_eq!(shown, ["[no output]", "[failed without a message]", "[no output]"]);
}

#[tokio::test]
async fn a_store_that_fails_costs_no_result() {
    let broken: Arc<dyn Store> = FailingStore::shared(store().await, PutOutcome::Fail);
    let long = words("line", 20_000);
    let output = applied(&runtime(&broken), [Part::tool_result("a", &*long)]).await;
    assert_eq!(text(results(&output)[0]), long);
    assert_eq!(codes(&output), [DiagnosticCode::ToolResultPersistenceFailed]);

    // A result that the model could never be sent is cut instead.
    let small = builder(&broken).window(8_000).reserve(1_000).build().unwrap();
    let output =
        applied(&small, [Part::tool_result("a", &*long), Part::tool_result("b", "short")]).await;
    assert!(tokens(&output) <= 7_000);
    assert!(
        text(results(&output)[0]).contains("The rest is lost"),
        "{}",
        text(results(&output)[0])
    );
    assert_eq!(text(results(&output)[1]), "short");
    assert_eq!(
        codes(&output),
        [DiagnosticCode::ToolResultPersistenceFailed, DiagnosticCode::OverLimit]
    );
}

#[tokio::test]
async fn without_a_store_only_what_can_never_be_sent_is_cut() {
    let runtime = DefaultContextRuntime::builder().model("gpt-4o").window(67_000).build().unwrap();
    let output = applied(&runtime, [Part::tool_result("a", words("line", 10_000))]).await;
    assert_eq!((text(results(&output)[0]), codes(&output)), (&*words("line", 10_000), vec![]));
    let output = applied(&runtime, [Part::tool_result("a", words("line", 40_000))]).await;
    // A quarter is reserved for the answer.
    assert!(tokens(&output) <= 50_250);
    assert_eq!(codes(&output), [DiagnosticCode::OverLimit]);
}

/// Regression: a run was aborted while a result was written. The bytes were stored, the reference
/// to them was not, and the next run failed at the file.
#[tokio::test]
async fn a_try_after_an_abort_is_as_the_first() {
    let inner = store().await;
    let hanging: Arc<dyn Store> =
        FailingStore::shared(Arc::clone(&inner), PutOutcome::HangAfterWriting);
    let (long, source) = (words("line", 20_000), CancelSource::new());
    let mut aborted = input([Part::tool_result("a", &*long)]);
    aborted.cancel = source.signal();
    let stuck = runtime(&hanging);
    let (ended, ()) = tokio::join!(stuck.apply_tool_results(aborted), async {
        tokio::task::yield_now().await;
        source.cancel();
    });
    assert_eq!(ended.unwrap_err().kind(), ErrorKind::Cancelled);

    let runtime = runtime(&inner);
    let output = applied(&runtime, [Part::tool_result("a", &*long)]).await;
    assert_eq!(kept(&runtime, results(&output)[0]).await, long.as_bytes());
    assert_eq!(
        Spilled::of(&results(&output)[0].metadata).unwrap().blob,
        BlobId::of(long.as_bytes())
    );
}

#[tokio::test]
async fn results_that_were_applied_are_left_as_they_are() {
    let store = store().await;
    let runtime = runtime(&store);
    let first = applied(&runtime, [Part::tool_result("a", words("line", 20_000))]).await;
    let again = applied(&runtime, first.appended[0].parts.iter().cloned()).await;
    assert_eq!(first.appended, again.appended);
    assert_eq!(codes(&again), []);
}

proptest! {
    #![proptest_config(Config { cases: 64, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_comes_back_keeps_the_limits_and_nothing_is_lost(
        outputs in prop::collection::vec(("[a-z:/]{0,3}", "(?s).{0,40}", 0_usize..400,
            any::<bool>()), 0..12),
        tokens in 100_u64..2_000,
        together in 4_000_u64..9_000,
    ) {
        let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
        executor.block_on(async {
            let store = store().await;
            let mut limits = ToolResultLimits::default();
            (limits.tokens, limits.message_tokens, limits.preview_bytes) = (tokens, together, 600);
            let runtime = builder(&store).tool_results(limits).build().unwrap();
            let parts: Vec<Part> = outputs
                .iter()
                .map(|(id, text, times, is_error)| {
                    let Part::ToolResult(mut result) = Part::tool_result(id,
                        text.repeat(*times)) else { unreachable!() };
                    result.is_error = *is_error;
                    Part::ToolResult(result)
                })
                .collect();
            let output = applied(&runtime, parts.clone()).await;
            assert_eq!(results(&output).len(), parts.len());
            for (result, given) in results(&output).iter().zip(&parts) {
                let Part::ToolResult(given) = given else { unreachable!() };
                assert_eq!((&result.call_id, result.is_error), (&given.call_id, given.is_error));
                match Spilled::of(&result.metadata) {
                    Some(_) => {
                        assert_eq!(kept(&runtime, result).await, text(given).as_bytes());
                        assert!(text(result).len() <= 600);
                    }
                    None if text(given).trim().is_empty() => assert!(!text(result).is_empty()),
                    None => assert_eq!(text(result), text(given)),
                }
            }
        });
    }
}
