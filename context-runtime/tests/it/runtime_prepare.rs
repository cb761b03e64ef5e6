//! Prepared requests: repair, limits of messages, the system prompt, the budget.

use context_runtime::Origin;
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use context_runtime::{
    CancelSource, ContextRuntime, DecisionSet, DefaultContextRuntime, DiagnosticCode, ErrorKind,
    Message, NullContextRuntime, Part, PrepareInput, RecoveryChain, RecoveryInput, Role,
    RuntimeFault, Text,
    compaction::{Stage, StageFault},
    model::Usage,
    tokens::{Budget, BudgetError, ModelTable},
};
use proptest::prelude::*;

use crate::runtime_kit::*;

#[tokio::test]
async fn a_valid_history_comes_back_as_it_is() {
    let history = [ask("q"), call("c1"), result("c1", "ok"), reply("done")];
    let context = prepare(&builder().build().unwrap(), &history).await;
    assert!(
        context.request.messages.iter().zip(&history).all(|(sent, given)| Arc::ptr_eq(sent, given))
    );
    assert_eq!((context.request.messages.len(), codes(&context)), (4, vec![]));
    assert_eq!(context.rewrite, None);
}

#[tokio::test]
async fn calls_and_results_are_brought_together() {
    let runtime = builder().build().unwrap();
    let cases = [
        // An open call at the end.
        (
            vec![ask("q"), call("a")],
            vec!["user: q", "assistant: call a", "tool: result a"],
            "tool_result_injected",
        ),
        // The assistant went on.
        (
            vec![ask("q"), call("a"), reply("next")],
            vec!["user: q", "assistant: call a", "tool: result a", "assistant: next"],
            "tool_result_injected",
        ),
        // A result without a call.
        (
            vec![ask("q"), result("z", "ok"), reply("x")],
            vec!["user: q", "assistant: x"],
            "tool_result_orphaned",
        ),
        // A user message in between.
        (
            vec![ask("q"), call("a"), ask("wait")],
            vec!["user: q", "assistant: call a", "tool: result a", "user: wait"],
            "tool_result_injected",
        ),
        (
            vec![ask("q"), call("a"), ask("wait"), result("a", "ok")],
            vec!["user: q", "assistant: call a", "tool: result a", "user: wait"],
            "tool_result_moved",
        ),
        // The result before its call.
        (
            vec![ask("q"), result("a", "ok"), call("a")],
            vec!["user: q", "assistant: call a", "tool: result a"],
            "tool_result_orphaned",
        ),
    ];
    for (history, expected, code) in cases {
        runtime.forget_chat(&("ada", "s").into());
        let context = prepare(&runtime, &history).await;
        assert_eq!(shown(&context.request.messages), expected);
        assert!(codes(&context).contains(&code), "{code} in {:?}", codes(&context));
    }
}

#[tokio::test]
async fn what_comes_later_is_repaired_as_if_all_were_new() {
    // Only the new end of a growing history is checked. A result for an old call, and a repeated
    // id, need a check of the whole history.
    let history = [
        ask("q"),
        call("a"),
        result("a", "1"),
        ask("more"),
        call("a"),
        result("a", "2"),
        reply("so"),
        result("a", "3"),
        call("b"),
        ask("stop"),
        result("b", "4"),
        Arc::new(Message::new(Role::User, [Part::text(" ")])),
        reply("end"),
    ];
    let growing = builder().build().unwrap();
    for end in 1..=history.len() {
        let fresh = builder().build().unwrap();
        let (ours, new) =
            (prepare(&growing, &history[..end]).await, prepare(&fresh, &history[..end]).await);
        assert_eq!(ours.request.messages, new.request.messages, "{end} messages");
        let repairs: Vec<_> =
            codes(&ours).into_iter().filter(|code| *code != "prefix_changed").collect();
        assert_eq!(repairs, codes(&new), "{end} messages");
        assert_eq!(ours.breakdown, new.breakdown);
        assert_eq!(ours.prefix.hash, new.prefix.hash);
    }
}

#[tokio::test]
async fn a_limit_keeps_the_request_that_started_the_work() {
    let history = [ask("task"), call("a"), result("a", "1"), call("b"), result("b", "2")];
    for max in [1, 2] {
        let mut limited = input(&history);
        limited.limits.max_messages = Some(max);
        let context = builder().build().unwrap().prepare_for_model(limited).await.unwrap();
        assert_eq!(
            shown(&context.request.messages),
            ["user: task", "assistant: call b", "tool: result b"]
        );
        assert_eq!(codes(&context), ["context_truncated"]);
        assert_eq!(context.boundaries[0].retained_messages, 3);
    }
}

#[tokio::test]
async fn a_checkpoint_in_front_is_not_cut() {
    let checkpoint = Message::from("so far").with_origin(Origin::Checkpoint);
    let history = [Arc::new(checkpoint), ask("a"), reply("b"), ask("q"), reply("x")];
    let runtime = builder().max_messages(2).build().unwrap();
    let context = prepare(&runtime, &history).await;
    assert_eq!(shown(&context.request.messages), ["user: so far", "user: q", "assistant: x"]);
    let rest = prepare(&builder().max_messages(4).build().unwrap(), &history).await;
    assert_eq!((rest.request.messages.len(), codes(&rest)), (5, vec![]));
}

#[tokio::test]
async fn the_null_runtime_says_what_it_kept() {
    let history = [ask("q"), call("a"), result("a", "ok")];
    let context = prepare(&NullContextRuntime::default().max_messages(1), &history).await;
    assert_eq!(context.request.messages.len(), 3);
    let longer = [ask("p"), reply("r"), ask("q"), call("a"), result("a", "ok")];
    let context = prepare(&NullContextRuntime::default().max_messages(1), &longer).await;
    assert_eq!(
        shown(&context.request.messages),
        ["user: q", "assistant: call a", "tool: result a"]
    );
    assert_eq!(context.boundaries[0].retained_messages, 3);
    assert_eq!(codes(&context), ["context_truncated"]);
    let context = prepare(&NullContextRuntime::default(), &history).await;
    assert_eq!(
        (codes(&context), context.boundaries.as_slice()),
        (vec!["context_budget_not_enforced"], &[][..])
    );
}

#[tokio::test]
async fn a_cancelled_call_ends_at_once() {
    let source = CancelSource::new();
    source.cancel();
    let cancelled = || input(&[ask("q")]).cancel(source.signal());
    for runtime in
        [&builder().build().unwrap() as &dyn ContextRuntime, &NullContextRuntime::default()]
    {
        let error = runtime.prepare_for_model(cancelled()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled);
    }
}

#[tokio::test]
async fn the_prompt_is_the_callers_and_instructions_stand_in_it_once() {
    let clock = HandClock::default();
    clock.advance(86_400 * 365);
    let runtime = builder().window(10_010).environment(true).clock(clock.clone()).build().unwrap();
    let mut given = input(&[ask("q")]).system("You book trips.");
    given.instructions.push(Text { text: "Prices in EUR.".into(), ..Text::default() });
    given.append_system_prompt = Some("  Be short. ".into());
    given.environment.cwd = Some(PathBuf::from("/srv/<ada>"));
    let first = runtime.prepare_for_model(given.clone()).await.unwrap();
    assert_eq!(first.request.system.len(), 4);
    assert!(first.request.system[1].text.starts_with("<environment>\ndate: 1971-01-01\n"));
    assert!(first.request.system[1].text.contains("/srv/&lt;ada>"));
    assert_eq!(first.request.system[3].text, "Be short.");
    assert_eq!(first.request.system_prompt().unwrap().matches("Prices in EUR.").count(), 1);
    assert_eq!(first.breakdown.instructions.tokens(), 14);
    // Later that day nothing has changed.
    clock.advance(3_600);
    let second = runtime.prepare_for_model(given.clone()).await.unwrap();
    assert_eq!(second.prefix.shared.as_ref(), Some(&first.prefix.hash));
    assert!(second.prefix.intact);

    given.custom_system_prompt = Some(" \n".into());
    let blank = runtime.prepare_for_model(given.clone()).await.unwrap();
    assert_eq!(blank.request.system, second.request.system);
    given.custom_system_prompt = Some("You sing.".into());
    let custom = runtime.prepare_for_model(given).await.unwrap();
    assert_eq!(
        custom.request.system_texts().map(|part| &*part.text).collect::<Vec<_>>(),
        ["You sing.", "Prices in EUR.", "Be short."]
    );
    assert_eq!(codes(&custom), ["prefix_changed"]);
}

#[tokio::test]
async fn permissions_and_further_folders_are_shown_wherever_they_are_set() {
    let runtime = builder().build().unwrap();
    let mut given = input(&[ask("q")]).system("You book trips.");
    given.environment.cwd = Some(PathBuf::from("/srv/ada"));
    let context = runtime.prepare_for_model(given.clone()).await.unwrap();
    assert_eq!(context.request.system.len(), 1, "a working folder alone is for memories");
    given.environment.permission_mode = Some("ask before\nwriting".into());
    let context = runtime.prepare_for_model(given.clone()).await.unwrap();
    assert_eq!(
        context.request.system[1].text,
        "<environment>\npermissions: ask before writing\n</environment>"
    );
    given.environment.additional_working_directories = vec!["/srv/<shared>".into()];
    let context = runtime.prepare_for_model(given).await.unwrap();
    assert_eq!(
        context.request.system[1].text,
        "<environment>\nworking folder: /srv/ada\nfurther folder: /srv/&lt;shared>\n\
         permissions: ask before writing\n</environment>"
    );
}

#[tokio::test]
async fn parts_of_the_prompt_stand_as_given_and_blank_ones_are_left_out() {
    let mut given = input(&[ask("q")]);
    let text = |text: &str| Text { text: text.into(), ..Text::default() };
    given.request.system = ["You book trips.", " \n", "Ask before you pay.", ""].map(text).to_vec();
    given.instructions = vec![text("  ")];
    given.append_system_prompt = Some("Be short.".into());
    let context = builder().build().unwrap().prepare_for_model(given).await.unwrap();
    assert_eq!(
        context.request.system_texts().map(|part| &*part.text).collect::<Vec<_>>(),
        ["You book trips.", "Ask before you pay.", "Be short."]
    );
}

/// Regression: a checkpoint was counted as history if a system message preceded it.
#[tokio::test]
async fn a_checkpoint_behind_what_the_system_says_is_counted_as_one() {
    let system = Arc::new(Message::text(Role::System, "You book trips."));
    let checkpoint = Arc::new(Message::from("so far").with_origin(Origin::Checkpoint));
    let mut history = vec![system, checkpoint, ask("q"), reply("r")];
    let runtime = builder().build().unwrap();
    let valid = prepare(&runtime, &history).await.breakdown;
    assert_eq!((valid.checkpoint.tokens(), valid.history.tokens()), (6, 15 + 1 + 1));
    // Also if something had to be repaired.
    history.insert(3, result("z", "nobody called"));
    let repaired = prepare(&runtime, &history).await.breakdown;
    assert_eq!((repaired.checkpoint.tokens(), repaired.history.tokens()), (6, 15 + 1 + 1));
}

#[tokio::test]
async fn what_is_kept_free_is_what_is_asked_for() {
    let runtime = DefaultContextRuntime::builder().build().unwrap();
    let context = runtime.prepare_for_model(input(&[ask("q")])).await.unwrap();
    let budget = context.budget.unwrap();
    assert_eq!(context.request.max_output_tokens, Some(budget.reserve));
    assert_eq!((budget.window, budget.reserve), (200_000, 50_000));
    let context =
        runtime.prepare_for_model(input(&[ask("q")]).max_output_tokens(64_000)).await.unwrap();
    assert_eq!(context.budget.unwrap().input(), 136_000);
    // A smaller model takes over: its window counts.
    let small =
        PrepareInput::new(("ada", "s"), "t", "openai", "gpt-4o").messages([Message::from("q")]);
    assert_eq!(runtime.prepare_for_model(small).await.unwrap().budget.unwrap().window, 128_000);
    let unknown = PrepareInput::new(("ada", "s"), "t", "openai", "nobody-knows")
        .messages([Message::from("q")]);
    assert_eq!(codes(&runtime.prepare_for_model(unknown).await.unwrap()), ["window_unknown"]);
}

#[tokio::test]
async fn what_an_answer_may_have_leaves_most_of_a_small_window_to_the_history() {
    let runtime = DefaultContextRuntime::builder().build().unwrap();
    let context = runtime.prepare_for_model(input(&[ask("q")]).window(32_000)).await.unwrap();
    assert_eq!(context.budget, Some(Budget::new(32_000, 8_000)));
    assert_eq!(context.request.max_output_tokens, Some(8_000));
}

#[tokio::test]
async fn an_answer_that_would_fill_the_window_is_refused_with_the_numbers() {
    let runtime = DefaultContextRuntime::builder().build().unwrap();
    let refused = input(&[ask("q")]).window(32_000).max_output_tokens(32_000);
    let error = runtime.prepare_for_model(refused).await.unwrap_err();
    assert_eq!((error.kind(), error.get("window")), (ErrorKind::Invalid, Some("32000")));
    let source = std::error::Error::source(&error).and_then(|source| source.downcast_ref());
    assert_eq!(source, Some(&BudgetError::NoRoom { window: 32_000, reserve: 32_000 }));
}

#[tokio::test]
async fn an_assumed_window_is_reported_once_for_each_model() {
    let runtime = DefaultContextRuntime::builder().build().unwrap();
    let known = ModelTable::builtin();
    let said = async |chat: &str, name: &str| {
        let input =
            PrepareInput::new(("ada", chat), "t", "openai", name).messages([Message::from("q")]);
        let context = runtime.prepare_for_model(input).await.unwrap();
        let window = known.model(name).window().unwrap_or(32_768);
        assert_eq!(context.budget.map(|budget| budget.window), Some(window), "{name}");
        context.diagnostics
    };
    for model in known.models() {
        assert!(said("listed", model.name()).await.is_empty(), "{}", model.name());
    }
    for (name, basis) in [
        ("gpt-4o-of-mine", "128000 tokens are assumed, the smallest known of its family"),
        ("house-1", "32768 tokens are assumed, by default"),
    ] {
        let first = said("one", name).await;
        let [report] = &first[..] else { panic!("{name}: {first:?}") };
        assert_eq!(report.code, DiagnosticCode::UnknownWindow);
        assert!(report.message.contains(name) && report.message.contains(basis), "{report:?}");
        for chat in ["one", "another"] {
            assert!(said(chat, name).await.is_empty(), "{name} in {chat}");
        }
    }
}

#[tokio::test]
async fn what_providers_report_corrects_the_next_estimate_also_after_a_compaction() {
    let runtime = DefaultContextRuntime::builder().build().unwrap();
    let history = [ask(&"Two tickets to Lisbon, please. ".repeat(200))];
    let before = prepare(&runtime, &history).await.breakdown.total();
    let mut usage = Usage::default();
    // Tokens read from the cache and written to it count too.
    (usage.input, usage.cache_read) = (before.tokens() / 4, before.tokens());
    runtime.observe_usage(&("ada", "s").into(), &usage);
    let after = prepare(&runtime, &history).await.breakdown.total();
    assert!(
        (after.tokens() as f64 / before.tokens() as f64 - 1.25).abs() < 0.02,
        "{before} and {after}"
    );
    usage.input = before.tokens() * 10;
    for _ in 0..100 {
        runtime.observe_usage(&("ada", "s").into(), &usage);
    }
    assert!(runtime.calibrations().get("claude-sonnet-4-5").factor() <= 1.5);
    assert_eq!(runtime.calibrations().get("gpt-4o").factor(), 1.0);
    runtime.forget_chat(&("ada", "s").into());
    assert!(prepare(&runtime, &history).await.breakdown.total().tokens() > before.tokens());
}

#[test]
fn a_runtime_that_cannot_work_says_everything_at_once() {
    let stages = [
        Stage::new(SingleRemovalPolicy).trigger(0.9),
        Stage::new(ShorteningPolicy).trigger(0.5).target(0.7),
        Stage::new(SingleRemovalPolicy),
    ];
    let faults = builder().window(10).max_sessions(0).compaction(stages).build().unwrap_err();
    assert_eq!(
        faults.to_string(),
        "the parts of the runtime are invalid: a window of 10 tokens has no room beside 10 for the answer; max_sessions may not be 0; \
         microcompact: the target 0.7 is not below the trigger 0.5; microcompact begins at 0.5, before nibble, which is to be \
         asked first; nibble is given twice"
    );
    assert!(faults.0.contains(&RuntimeFault::Stage(StageFault::Twice { policy: "nibble" })));
    let shares = builder()
        .compaction([Stage::new(SingleRemovalPolicy).trigger(f64::NAN)])
        .build()
        .unwrap_err();
    assert!(matches!(shares.0[..], [RuntimeFault::Stage(StageFault::Share { .. })]));
}

fn message() -> impl Strategy<Value = Arc<Message>> {
    let id = prop::sample::select(vec!["a", "b", "c"]);
    prop_oneof![
        Just(ask("ask")),
        Just(reply("reply")),
        id.clone().prop_map(call),
        id.clone().prop_map(|id| result(id, "ok")),
        (id.clone(), id).prop_map(|(one, two)| Arc::new(Message::new(
            Role::User,
            [Part::tool_result(one, "x"), Part::tool_result(two, "y"), Part::text("and")]
        ))),
        Just(Arc::new(Message::from("note").with_origin(Origin::Synthetic))),
    ]
}

fn ids(messages: &[Arc<Message>]) -> (Vec<String>, Vec<String>) {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    let calls = parts().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.id.clone()),
        _ => None,
    });
    let results = parts().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result.call_id.clone()),
        _ => None,
    });
    (calls.collect(), results.collect())
}

/// Regression: a table said that a model writes 64,000 tokens. The provider refused the first
/// request of each turn, and the retry learned nothing for the next turn.
#[tokio::test]
async fn what_a_refusal_said_the_model_writes_at_most_holds_from_then_on() {
    let chain = RecoveryChain::new(DecisionSet::Full);
    let runtime = DefaultContextRuntime::builder().window(200_000).reserve(64_000).recovery(chain);
    let runtime = runtime.counter(Arc::new(ByteCounter)).build().unwrap();
    let asked = async |session: &str, model: &str, most: Option<u64>| {
        let mut input = PrepareInput::new(("ada", session), "t", "anthropic", model)
            .messages([Message::from("q")]);
        input.request.max_output_tokens = most;
        let context = runtime.prepare_for_model(input).await.unwrap();
        assert_eq!(context.request.max_output_tokens, context.budget.map(|budget| budget.reserve));
        context.budget.unwrap().reserve
    };
    let refuse = async |session: &str, words: &str| {
        let error = context_codec_kit::classify("anthropic", Some(400), words);
        let input = RecoveryInput::new(("ada", session), "t", error, vec![ask("q")]);
        runtime.recover_from_model_error(input).await.unwrap().kind().as_str()
    };
    assert_eq!(asked("first", "small", None).await, 64_000);
    let words = "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens";
    assert_eq!(refuse("first", words).await, "adjust_output_and_retry");
    assert_eq!(asked("first", "small", None).await, 8_192);
    assert_eq!(
        asked("second", "small", None).await,
        8_192,
        "it holds for the model, not for the session"
    );
    assert_eq!(asked("second", "small", Some(32_000)).await, 8_192, "more would be refused again");
    assert_eq!(asked("second", "small", Some(2_000)).await, 2_000);
    assert_eq!(asked("third", "large", None).await, 64_000);

    // The room that a full window leaves says nothing about the next call, and neither does a
    // number that no model has.
    let words = "input length and `max_tokens` exceed context limit: 150000 + 64000 > 200000";
    assert_eq!(refuse("third", words).await, "adjust_output_and_retry");
    assert_eq!(asked("third", "large", None).await, 64_000);
    let words = "max_tokens: 64000 > 7, which is the maximum allowed number of output tokens";
    assert_eq!(refuse("third", words).await, "adjust_output_and_retry");
    assert_eq!(asked("third", "large", None).await, 64_000);
}

fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256,
        ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_limit_pairs_are_whole_and_the_user_speaks_first(
        history in prop::collection::vec(message(), 1..24), max in 1_usize..12,
    ) {
        let mut limited = input(&history);
        limited.limits.max_messages = Some(max);
        let runtime = builder().build().unwrap();
        let all = block(prepare(&runtime, &history));
        runtime.forget_chat(&("ada", "s").into());
        let context = block(runtime.prepare_for_model(limited.clone())).unwrap();
        if let Some(first) = context.request.messages.first() {
            prop_assert_eq!(first.role, Role::User);
        }
        let (calls, results) = ids(&context.request.messages);
        prop_assert_eq!(calls.iter().collect::<HashSet<_>>().len(), calls.len());
        prop_assert_eq!(calls, results);
        // The cut adds no placeholder to those that the history needs anyway.
        let injected = |context: &[&str]| context.iter()
            .filter(|code| **code == "tool_result_injected").count();
        prop_assert!(injected(&codes(&context)) <= injected(&codes(&all)));
        let newest = history.iter().rev().find(|message| message.is_request());
        if let Some(newest) = newest {
            prop_assert!(context.request.messages.iter()
                .any(|message| message.plain_text() == newest.plain_text()));
        }
        let again = block(runtime.prepare_for_model(limited)).unwrap();
        prop_assert_eq!(again.request.messages, context.request.messages);
    }

    #[test]
    fn what_is_remembered_of_a_session_changes_nothing(
        histories in prop::collection::vec(prop::collection::vec(message(), 0..16), 1..5),
            cuts in prop::collection::vec(0_usize..16, 5),
    ) {
        // A session sees a history grow, be cut and continue differently. It sends what a new
        // session would send.
        let known = builder().build().unwrap();
        let mut history: Vec<Arc<Message>> = Vec::new();
        for (more, cut) in histories.into_iter().zip(cuts) {
            history.truncate(cut);
            for message in more {
                history.push(message);
                let (ours, new) = block(async {
                    (prepare(&known, &history).await,
                        prepare(&builder().build().unwrap(), &history).await)
                });
                prop_assert_eq!(ours.request.messages, new.request.messages);
                prop_assert_eq!(ours.prefix.hash, new.prefix.hash);
                prop_assert_eq!(ours.breakdown, new.breakdown);
            }
        }
    }
}
