//! Summaries by the policy of this library: requested within a call, stored with the chat, and
//! found again.

use std::sync::Arc;

use context_runtime::summarize::{Summarize, SummaryCheckpoint};
use context_runtime::{
    CancelSource, ContextEngine, DefaultContextRuntime, Fragment, Message, ModelCall, Part,
    PrepareInput, Role, Text,
    compaction::{HistoryView, Stage},
    model::{Answer, LanguageModel, ModelErrorCode},
    provider,
};

use super::input;
use super::models::{ScriptedModel, SilentModel, broken, cut_off, error, nothing, says};
use crate::kit::{engine, store};
use crate::runtime_kit::{ByteCounter, ShorteningPolicy, call, codes, prepare, result};

const TASK: &str = "Find out why the build fails.";
const FIRST: &str = "## Objective\nThe build\n## Current state\nHalf of the files are read\n## Remaining\nThe rest\n\
                     ## Files and artifacts\nNone";
const SECOND: &str = "## Objective\nThe build\n## Current state\nIt is the linker\n## Remaining\nNothing\n\
                      ## Files and artifacts\nNone";

/// Returns a runtime with 20,000 tokens of input, one per byte. From 90 percent on a summary is
/// wanted.
fn runtime() -> DefaultContextRuntime {
    let builder = DefaultContextRuntime::builder()
        .window(24_000)
        .reserve(4_000)
        .counter(Arc::new(ByteCounter));
    builder.compaction([Stage::new(Summarize::new())]).build().unwrap()
}

/// Returns this many steps of about a thousand bytes each.
fn steps(name: &str, steps: usize) -> Vec<Arc<Message>> {
    let step = |step| {
        let id = format!("{name}{step}");
        [call(&id), result(&id, format!("{id} ").repeat(1_000 / (id.len() + 1)))]
    };
    (0..steps).flat_map(step).collect()
}

/// Returns a conversation that fits but should be summarized.
fn nearly_full() -> Vec<Arc<Message>> {
    let list = serde_json::json!({"todos": ["mend the linker"]});
    let todo = Message::new(Role::Assistant, [Part::tool_call("t", "todo_write", list)]);
    let mut history = vec![Arc::new(Message::from(TASK)), Arc::new(todo), result("t", "written")];
    history.extend(steps("a", 18));
    history
}

fn summarised_by<'r>(
    runtime: &'r DefaultContextRuntime,
    model: &Arc<ScriptedModel>,
    history: &[Arc<Message>],
) -> ModelCall<'r> {
    let model: Arc<dyn LanguageModel> = Arc::clone(model) as _;
    ModelCall::new(runtime, provider("openai").unwrap(), input("openai", history)).summaries(model)
}

/// Runs one turn of an agent on a chat: sends the history shown, and saves the cuts and the answer.
/// Returns what the model was sent.
async fn turn(
    chat: &mut ContextEngine,
    summary: &str,
    answer: &str,
) -> (Vec<Arc<Message>>, Arc<ScriptedModel>) {
    let runtime = runtime();
    let (summaries, model) =
        (ScriptedModel::new([Ok(says(summary))]), ScriptedModel::new([Ok(says(answer))]));
    let shown = chat.resolve().await.unwrap();
    let mut call = summarised_by(&runtime, &summaries, &shown.request().messages);
    let answer = call.run(&*model).await.unwrap();
    let compacted = call.rewrite().unwrap();
    chat.compact(&shown, compacted, call.plans()).await.unwrap().unwrap();
    chat.set([Fragment::from(answer.message)]);
    let _saved = chat.save().await.unwrap();
    (model.asked()[0].messages.to_vec(), summaries)
}

/// Returns the policy of each compaction, and whether it reports how many tokens it saved.
async fn compactions(chat: &mut ContextEngine) -> Vec<(String, bool)> {
    let all = chat.compactions().await.unwrap();
    all.iter()
        .map(|all| (all.boundary.policy.clone(), all.boundary.before > all.boundary.after))
        .collect()
}

/// Regression: a summary of a summary lost the earliest decisions and the task, or two checkpoints
/// followed each other.
#[tokio::test]
async fn a_second_summary_holds_the_facts_of_the_first_and_is_the_only_checkpoint() {
    let store = store().await;
    let mut chat =
        ContextEngine::builder(Arc::clone(&store)).user("ada").chat("c").open().await.unwrap();
    chat.set(nearly_full().iter().map(|message| Fragment::from((**message).clone())));
    let (sent, _) = turn(&mut chat, FIRST, "Half of it is read.").await;
    let first = SummaryCheckpoint::read(&sent[0]).unwrap();
    let own = |text: &str| {
        text.replace("## Remaining\nThe rest\n", "").replace("## Remaining\nNothing\n", "")
    };
    assert_eq!((first.summary.as_str(), &*sent[1].plain_text()), (&*own(FIRST), TASK));
    assert_eq!(first.facts.tasks, ["The rest"], "carried beside the summary");
    assert_eq!(first.facts.todo.as_deref(), Some(r#"{"todos":["mend the linker"]}"#));

    // Another process continues with it.
    let mut chat =
        ContextEngine::builder(Arc::clone(&store)).user("ada").chat("c").open().await.unwrap();
    chat.set([Fragment::from(Message::from("And why only on Fridays?"))]);
    chat.set(steps("b", 13).iter().map(|message| Fragment::from((**message).clone())));
    let (sent, summaries) = turn(&mut chat, SECOND, "Rotation.").await;
    assert!(summaries.asked()[0].messages[0].plain_text().contains("Half of the files are read"));
    assert_eq!(sent.iter().filter(|message| message.is_checkpoint()).count(), 1);
    let second = SummaryCheckpoint::read(&sent[0]).unwrap();
    assert_eq!((second.summary, second.facts.todo), (own(SECOND), first.facts.todo));
    assert!(second.messages > first.messages);
    assert_eq!(sent[1].plain_text(), TASK);
    let requests: Vec<_> = sent.iter().filter(|message| message.is_request()).collect();
    assert_eq!(requests.last().unwrap().plain_text(), "And why only on Fridays?");

    let mut chat = engine(&store).await;
    assert_eq!(
        compactions(&mut chat).await,
        [("summarize".to_owned(), true), ("summarize".to_owned(), true)]
    );
    let shown = chat.resolve().await.unwrap().request().messages;
    assert_eq!(shown[..shown.len() - 1], sent[..]);
    assert_eq!(shown.last().unwrap().plain_text(), "Rotation.");
    let context = prepare(&runtime(), &shown).await;
    assert_eq!(
        (codes(&context), context.fits(), context.summary.as_ref()),
        (vec![], Some(true), None)
    );
}

#[tokio::test]
async fn what_is_no_summary_changes_nothing_and_the_call_is_sent() {
    let history = nearly_full();
    let mut refused = says(FIRST);
    refused.stop = Some(context_runtime::model::StopReason::Refusal);
    let answers = [
        Ok(broken(FIRST)),
        Ok(cut_off(FIRST)),
        Ok(refused),
        Ok(nothing()),
        Ok(says("I cannot do that.")),
        Err(error(ModelErrorCode::Server)),
    ];
    for answer in answers {
        let runtime = runtime();
        let (summaries, model) =
            (ScriptedModel::new([answer]), ScriptedModel::new([Ok(says("Rotation."))]));
        let mut call = summarised_by(&runtime, &summaries, &history);
        let _answer = call.run(&*model).await.unwrap();
        assert_eq!(model.asked()[0].messages, history);
        assert!(call.rewrite().is_none() && call.plans().is_empty());
        let said: Vec<_> = call.diagnostics().iter().map(|said| said.code.as_str()).collect();
        assert_eq!(said, ["compact_summary_failed"]);
        // The next call does not ask again immediately either.
        let mut call = summarised_by(&runtime, &summaries, &history);
        let _answer = call.run(&*model).await.unwrap();
        assert_eq!((summaries.asked().len(), model.asked().len()), (1, 2));
    }
}

/// Regression: a summary that the user cancelled was handled as failed, and none was requested any
/// more.
#[tokio::test]
async fn a_summary_that_is_cancelled_changes_nothing_and_counts_for_nothing() {
    let (runtime, history, source) = (runtime(), nearly_full(), CancelSource::new());
    let model = ScriptedModel::new([Ok(says("Rotation."))]);
    let given = input("openai", &history).cancel(source.signal());
    let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), given)
        .summaries(Arc::new(SilentModel));
    let (ended, ()) = tokio::join!(call.run(&*model), async {
        tokio::task::yield_now().await;
        source.cancel();
    });
    assert!(ended.unwrap_err().is_cancelled());
    assert!(call.rewrite().is_none() && call.diagnostics().is_empty() && model.asked().is_empty());

    let summaries = ScriptedModel::new([Ok(says(FIRST))]);
    let mut call = summarised_by(&runtime, &summaries, &history);
    let _answer = call.run(&*model).await.unwrap();
    assert_eq!(summaries.asked().len(), 1);
    assert!(
        model.asked()[0].messages[0].is_checkpoint()
            && call.diagnostics().iter().all(is_no_failure)
    );
}

fn is_no_failure(said: &context_runtime::Diagnostic) -> bool {
    said.code != context_runtime::DiagnosticCode::CompactSummaryFailed
}

#[tokio::test]
async fn after_a_summary_instructions_stand_once_and_the_counts_are_those_of_what_is_left() {
    const RULE: &str = "Say what you changed.";
    let (runtime, history) = (runtime(), nearly_full());
    let given = |text: &str, history: &[Arc<Message>]| {
        let mut input: PrepareInput = input("openai", history).system("You mend programs.");
        input.instructions.push(Text { text: text.into(), ..Text::default() });
        input
    };
    let summaries = ScriptedModel::new([Ok(says(FIRST))]);
    let asked: Arc<dyn LanguageModel> = Arc::clone(&summaries) as _;
    let mut call = ModelCall::new(&runtime, provider("openai").unwrap(), given(RULE, &history))
        .summaries(Arc::clone(&asked));
    let sent = call.next().await.unwrap().unwrap();
    assert!(sent.context.request.messages[0].is_checkpoint());
    assert_eq!(sent.body().as_str().matches(RULE).count(), 1);
    assert!(
        !provider("openai")
            .unwrap()
            .lower(&summaries.asked()[0])
            .unwrap()
            .body
            .as_str()
            .contains(RULE)
    );

    let (breakdown, messages) = (&sent.context.breakdown, &sent.context.request.messages);
    let count = |messages: &[Arc<Message>]| HistoryView::new(messages, &ByteCounter).total();
    assert_eq!(breakdown.instructions.tokens(), RULE.len() as u64);
    assert_eq!(breakdown.checkpoint.tokens(), count(&messages[..1]));
    assert_eq!(breakdown.history.tokens(), count(&messages[1..]));
    assert!(breakdown.total().tokens() < count(&history));
    assert_eq!((sent.context.fits(), sent.context.summary.is_none()), (Some(true), true));
    // The provider's usage report is compared with this request, not with the history before.
    call.answered(Ok(Answer::new(Message::text(Role::Assistant, "Rotation."))));
    assert!(call.next().await.unwrap().is_none());
    let adopted = call.rewrite().unwrap().messages.clone();
    let next = context_runtime::ContextRuntime::prepare_for_model(&runtime, given(RULE, &adopted));
    let next = next.await.unwrap();
    assert_eq!(next.breakdown, sent.context.breakdown);
}

/// Regression: a history shortened by the stage before was considered a different one, and the paid
/// summary was discarded.
#[tokio::test]
async fn a_summary_behind_another_stage_is_taken() {
    let builder = DefaultContextRuntime::builder()
        .window(24_000)
        .reserve(4_000)
        .counter(Arc::new(ByteCounter));
    let stages =
        [Stage::new(ShorteningPolicy), Stage::new(Summarize::new()).trigger(0.8).target(0.2)];
    let runtime = builder.compaction(stages).build().unwrap();
    let mut history = nearly_full();
    let says_much = Message::text(Role::Assistant, "So far nothing is wrong. ".repeat(600));
    history.insert(3, Arc::new(says_much));
    let (summaries, model) =
        (ScriptedModel::new([Ok(says(FIRST))]), ScriptedModel::new([Ok(says("Rotation."))]));
    let mut call = summarised_by(&runtime, &summaries, &history);
    let _answer = call.run(&*model).await.unwrap();
    assert_eq!(summaries.asked().len(), 1);
    assert!(call.diagnostics().iter().all(is_no_failure), "{:?}", call.diagnostics());
    assert!(model.asked()[0].messages[0].is_checkpoint());
    let policies: Vec<_> = call.plans().iter().map(|plan| plan.policy).collect();
    assert_eq!(policies, ["microcompact", "summarize"]);
    let origins = &call.rewrite().unwrap().origins;
    assert_eq!(
        (origins[0], origins[1], *origins.last().unwrap()),
        (None, Some(0), Some(history.len() - 1))
    );
}
