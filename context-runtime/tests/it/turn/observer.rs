//! Observers: the events of a turn in order, with the numbers of its report; vetoes and
//! replacements of compactions; what a panic of an observer changes, which is nothing.

use std::sync::Mutex;

use context_runtime::compaction::{
    BoundaryKind, Edit, HistoryView, Plan, Stage, microcompact, snip, summarize, truncate_head,
};
use context_runtime::model::Usage;
use context_runtime::{
    CallOutcome, CompactionDecision, DefaultContextRuntime, DiagnosticCode, Message, ModelCall,
    Observer, PlanReport, PrepareInput, ProposedCompaction, RecoveryDecision, ToolFunction,
    TurnEvent, TurnOutcome, TurnRef, TurnReport,
};

use super::*;
use crate::kit::store;

/// Keeps the names of the events, and what they say.
#[derive(Default)]
struct Recorder(Mutex<Record>);

#[derive(Clone, Default)]
struct Record {
    names: Vec<String>,
    turns: Vec<TurnRef>,
    usage: Usage,
    cost: f64,
    spilled: u64,
    cuts: Vec<PlanReport>,
    decisions: Vec<RecoveryDecision>,
    report: Option<TurnReport>,
}

impl Observer for Recorder {
    fn on_event(&self, turn: &TurnRef, event: &TurnEvent<'_>) {
        let mut record = self.0.lock().unwrap();
        let name = match *event {
            TurnEvent::TurnBegan => "turn".to_owned(),
            TurnEvent::TurnEnded { report } => {
                record.report = Some(report.clone());
                "turn ended".to_owned()
            }
            TurnEvent::CallBegan { is_summary, .. } => {
                if is_summary { "summary" } else { "call" }.to_owned()
            }
            TurnEvent::CallEnded { provider, model, outcome, usage, cost_usd, .. } => {
                assert_eq!((provider, model), ("anthropic", MODEL));
                record.usage += usage.unwrap_or_default();
                record.cost += cost_usd.unwrap_or_default();
                match outcome {
                    CallOutcome::Failed(code) => format!("failed: {code}"),
                    outcome => format!("{outcome:?}").to_lowercase(),
                }
            }
            TurnEvent::ToolBegan { name, .. } => format!("tool {name}"),
            TurnEvent::ToolEnded { name, failed, .. } => format!("tool {name} failed: {failed}"),
            TurnEvent::Recovery { decision, .. } => {
                record.decisions.push(decision.clone());
                decision.kind().to_string()
            }
            TurnEvent::Cut { plan } => {
                record.cuts.push(plan.clone());
                format!("cut by {}", plan.policy)
            }
            TurnEvent::Spilled { bytes, reason, .. } => {
                record.spilled += bytes;
                reason.to_owned()
            }
            TurnEvent::Recalled { tokens, .. } => format!("recalled: {}", tokens > 0),
            TurnEvent::Captured { failed, .. } => format!("captured: {}", !failed),
            _ => panic!("an unknown event"),
        };
        record.names.push(name);
        record.turns.push(turn.clone());
    }
}

impl Recorder {
    fn take(&self) -> Record {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn reads_the_log(request: &ModelRequest) -> Vec<AnswerPiece> {
    match request.messages.last().unwrap().plain_text().as_ref() {
        "Read the log." => vec![AnswerPiece::call("log", json!({}))],
        _ => vec![AnswerPiece::text("One two three four five six.")],
    }
}

fn log() -> ToolFunction {
    let tool = FunctionTool::new("log", json!({"type": "object"}));
    ToolFunction::with_schema(tool, |call| async move {
        call.result("a line of the log\n".repeat(6_000))
    })
}

/// Adds a long talk to the chat.
fn talk(chat: &mut AgentChat, turns: usize) {
    for _ in 0..turns {
        chat.set([context_runtime::user("What is the weather in Lisbon? ".repeat(300))]);
        chat.set([context_runtime::assistant("Warm. ".repeat(300))]);
    }
}

fn assert_is_told(record: &Record, report: &TurnReport) {
    assert_eq!(record.usage, report.usage);
    assert!((record.cost - report.cost_usd.unwrap()).abs() < 1e-12);
    let calls = record.names.iter().filter(|name| matches!(name.as_str(), "call" | "summary"));
    assert_eq!(calls.count() as u32, report.calls);
    assert_eq!(record.spilled, report.spilled_bytes);
    assert_eq!(record.cuts, report.plans);
    let decisions: Vec<_> = report.attempts.iter().map(|try_| try_.decision.clone()).collect();
    assert_eq!(record.decisions, decisions);
    let ended = record.report.as_ref().unwrap();
    assert_eq!((ended.outcome, ended.usage), (report.outcome, report.usage));
}

#[tokio::test]
async fn an_observer_is_told_of_a_session_in_order_and_with_its_numbers() {
    let store = store().await;
    let recorder = Arc::new(Recorder::default());
    // The third request is answered by a stream that breaks.
    let script =
        context_simulator::Script::default().at(2, ProviderFault::BrokenStream { after_events: 4 });
    let model: Arc<dyn LanguageModel> =
        Arc::new(simulator(reads_the_log).window(60_000).script(script));
    let agents = builder(&store)
        .client(model)
        .memory(context_runtime::memory::episodic(&store).unwrap())
        .compaction([microcompact(), truncate_head()])
        .observer(Arc::clone(&recorder))
        .build()
        .unwrap();
    let mut chat = chat(&agents).await;

    let answer = chat.ask("Read the log.").tools([log()]).await.unwrap();
    let told = recorder.take();
    assert_eq!(
        told.names,
        [
            "turn",
            "recalled: false",
            "call",
            "answered",
            "tool log",
            "tool log failed: false",
            "tool_result_too_large",
            "call",
            "answered",
            "captured: true",
            "turn ended",
        ]
    );
    assert!(told.spilled > 100_000);
    assert_is_told(&told, &answer.report);
    let turn = TurnRef::new(("ada", "lisbon"), answer.turn.as_str());
    assert!(told.turns.iter().all(|of| *of == turn), "{:?}", told.turns);

    let answer = chat.ask("Tell me.").on_text(|_| ()).await.unwrap();
    let told = recorder.take();
    assert_eq!(
        told.names[2..],
        [
            "call",
            "failed: network",
            "retry_unchanged",
            "call",
            "answered",
            "captured: true",
            "turn ended"
        ]
    );
    assert_is_told(&told, &answer.report);

    talk(&mut chat, 20);
    let answer = chat.ask("And now?").await.unwrap();
    let told = recorder.take();
    assert_eq!(
        told.names[2..],
        [
            "call",
            "failed: context_overflow",
            "compact_and_retry",
            "cut by truncate-head",
            "call",
            "answered",
            "captured: true",
            "turn ended",
        ]
    );
    assert_is_told(&told, &answer.report);
}

/// Asks before compactions.
struct Asks<F>(F);

impl<F> Observer for Asks<F>
where
    F: Fn(&ProposedCompaction<'_>) -> CompactionDecision + Send + Sync + 'static,
{
    fn before_compaction(
        &self,
        turn: &TurnRef,
        compaction: &ProposedCompaction<'_>,
    ) -> CompactionDecision {
        assert_eq!(turn.chat, ("ada", "lisbon").into());
        (self.0)(compaction)
    }
}

fn asks<F>(decide: F) -> Asks<F>
where
    F: Fn(&ProposedCompaction<'_>) -> CompactionDecision + Send + Sync + 'static,
{
    Asks(decide)
}

fn veto(_: &ProposedCompaction<'_>) -> CompactionDecision {
    CompactionDecision::Veto("an audit is running".to_owned())
}

/// Returns agents whose runtime has a small window, and whose provider has a large one.
fn cautious(
    store: &Arc<dyn Store>,
    model: &Simulator,
    stages: impl IntoIterator<Item = Stage>,
    observer: impl Observer,
) -> Agents {
    builder(store)
        .client(Arc::new(model.clone()) as Arc<dyn LanguageModel>)
        .runtime(|runtime| runtime.window(16_000).reserve(1_000))
        .compaction(stages)
        .observer(observer)
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_vetoed_compaction_is_reported_and_the_request_is_sent_whole() {
    let store = store().await;
    let model = simulator(done);
    let agents = cautious(&store, &model, [snip(), truncate_head()], asks(veto));
    let mut chat = chat(&agents).await;
    talk(&mut chat, 10);
    let mut turn = chat.turn("And now?").begin().await.unwrap();
    let request = turn.next().await.unwrap().unwrap();
    let plans: Vec<_> = request.context.plans.iter().collect();
    assert_eq!(plans.iter().map(|plan| plan.policy).collect::<Vec<_>>(), ["snip", "truncate-head"]);
    assert!(
        plans.iter().all(|plan| !plan.applied && plan.reason == "vetoed: an audit is running"),
        "{plans:?}"
    );
    assert_eq!(request.context.request.messages.len(), 21);
    turn.answered(model.complete(&request.context.request, &Default::default()).await);
    assert!(turn.next().await.unwrap().is_none());
    let answer = turn.finish().await.unwrap();
    assert!(answer.report.plans.is_empty());
    let refused = |diagnostic: &&context_runtime::Diagnostic| {
        diagnostic.code == DiagnosticCode::CompactionPlanRefused
    };
    assert_eq!(answer.report.diagnostics.iter().filter(refused).count(), 2);
    assert!(chat.engine_mut().compactions().await.unwrap().is_empty());
}

/// A veto of one stage leaves the next one its turn.
#[tokio::test]
async fn a_veto_of_a_stage_leaves_the_next_stage_its_turn() {
    let store = store().await;
    let model = simulator(done);
    let only_snip = |compaction: &ProposedCompaction<'_>| match compaction.policy {
        "snip" => veto(compaction),
        _ => CompactionDecision::Proceed,
    };
    let agents = cautious(&store, &model, [snip(), truncate_head()], asks(only_snip));
    let mut chat = chat(&agents).await;
    talk(&mut chat, 10);
    let report = chat.ask("And now?").await.unwrap().report;
    assert_eq!(report.plans.iter().map(|plan| plan.policy).collect::<Vec<_>>(), ["truncate-head"]);
}

/// Nothing helps that is not cut, so the turn ends. The request that was refused is not sent again.
#[tokio::test]
async fn vetoes_after_a_refusal_end_the_call_without_further_requests() {
    let store = store().await;
    let model = simulator(done).window(20_000);
    let agents = builder(&store)
        .client(Arc::new(model.clone()) as Arc<dyn LanguageModel>)
        .compaction([truncate_head()])
        .observer(asks(veto))
        .build()
        .unwrap();
    let mut chat = chat(&agents).await;
    talk(&mut chat, 20);
    let error = chat.ask("And now?").await.unwrap_err();
    assert!(error.to_string().contains("context_overflow"), "{error}");
    assert_eq!(model.log().len(), 1);
    assert!(chat.engine_mut().compactions().await.unwrap().is_empty());
}

/// Only the stages are vetoed, so the recovery cuts in their place.
#[tokio::test]
async fn the_recovery_cuts_where_only_the_stage_was_vetoed() {
    let store = store().await;
    let model = simulator(done).window(20_000);
    let stages = |compaction: &ProposedCompaction<'_>| match compaction.policy {
        "recovery" => CompactionDecision::Proceed,
        _ => veto(compaction),
    };
    let agents = builder(&store)
        .client(Arc::new(model.clone()) as Arc<dyn LanguageModel>)
        .compaction([truncate_head()])
        .observer(asks(stages))
        .build()
        .unwrap();
    let mut chat = chat(&agents).await;
    talk(&mut chat, 20);
    let report = chat.ask("And now?").await.unwrap().report;
    assert!(report.plans.iter().all(|plan| plan.policy == "recovery"), "{:?}", report.plans);
    assert!(!report.plans.is_empty() && model.log().len() < 8);
}

/// Removes everything between the first and the newest message.
fn by_hand(view: &HistoryView<'_>) -> Plan {
    let edits = vec![Edit::remove(1..view.messages().len() - 1)];
    Plan::new("by hand", BoundaryKind::Snip, view, edits, "all but two").unwrap()
}

#[tokio::test]
async fn a_replaced_plan_is_carried_out_in_place_of_the_planned_one() {
    let store = store().await;
    let model = simulator(done);
    let replace = |compaction: &ProposedCompaction<'_>| {
        let mut plan = by_hand(compaction.view);
        plan.after = 0; // counted anew
        CompactionDecision::Replace(plan)
    };
    let agents = cautious(&store, &model, [snip()], asks(replace));
    let mut chat = chat(&agents).await;
    talk(&mut chat, 10);
    let report = chat.ask("And now?").await.unwrap().report;
    let [plan] = &report.plans[..] else { panic!("{:?}", report.plans) };
    assert_eq!((plan.policy, plan.applied), ("by hand", true));
    assert!(plan.after > 1_000 && plan.after < plan.before / 4, "{plan:?}");
    assert_eq!(plan.reason, "an observer replaced the plan");
    let shown = chat.engine_mut().resolve().await.unwrap();
    assert_eq!(shown.messages.len(), 3, "the two messages and the answer");
}

#[tokio::test]
async fn a_replaced_plan_that_may_not_be_applied_cuts_nothing() {
    let store = store().await;
    let model = simulator(done);
    let replace = |compaction: &ProposedCompaction<'_>| {
        let mut plan = by_hand(compaction.view);
        plan.edits = vec![Edit::remove(0..compaction.view.messages().len() - 1)];
        CompactionDecision::Replace(plan)
    };
    let agents = cautious(&store, &model, [snip()], asks(replace));
    let mut chat = chat(&agents).await;
    talk(&mut chat, 10);
    let report = chat.ask("And now?").await.unwrap().report;
    assert!(report.plans.is_empty());
    let refused = report.diagnostics.iter().map(|diagnostic| diagnostic.to_string());
    let refused: Vec<_> = refused.filter(|text| text.contains("drop the user's request")).collect();
    assert_eq!(refused.len(), 1, "{:?}", report.diagnostics);
}

#[tokio::test]
async fn a_summary_is_asked_about_before_a_model_is_paid_for_it() {
    for vetoed in [true, false] {
        let store = store().await;
        let model = simulator(done);
        let decide = move |compaction: &ProposedCompaction<'_>| match compaction.plan {
            None if vetoed => veto(compaction),
            _ => CompactionDecision::Proceed,
        };
        let agents = cautious(&store, &model, [summarize()], asks(decide));
        let mut chat = chat(&agents).await;
        talk(&mut chat, 10);
        let report = chat.ask("And now?").await.unwrap().report;
        // "Done." is no summary: it was paid for in vain.
        assert_eq!((report.calls, model.log().len()), if vetoed { (1, 1) } else { (2, 2) });
    }
}

/// Panics whenever it is told or asked something.
struct Panics;

impl Observer for Panics {
    fn on_event(&self, _: &TurnRef, _: &TurnEvent<'_>) {
        panic!("an observer's fault");
    }

    fn before_compaction(&self, _: &TurnRef, _: &ProposedCompaction<'_>) -> CompactionDecision {
        panic!("an observer's fault");
    }
}

#[tokio::test]
async fn an_observer_that_panics_breaks_no_turn() {
    let store = store().await;
    let recorder = Arc::new(Recorder::default());
    let model: Arc<dyn LanguageModel> = Arc::new(simulator(reads_the_log));
    let agents = builder(&store)
        .client(model)
        .runtime(|runtime| runtime.window(16_000).reserve(1_000))
        .compaction([snip()])
        .observer(Panics)
        .observer(Arc::clone(&recorder))
        .build()
        .unwrap();
    let mut chat = chat(&agents).await;
    talk(&mut chat, 10);
    let answer = chat.ask("Read the log.").tools([log()]).await.unwrap();
    assert!(!answer.report.plans.is_empty());
    assert_is_told(&recorder.take(), &answer.report);
}

#[tokio::test]
async fn a_dropped_turn_and_its_call_end_too() {
    let store = store().await;
    let recorder = Arc::new(Recorder::default());
    let agents = builder(&store).observer(Arc::clone(&recorder)).build().unwrap();
    let mut chat = chat(&agents).await;
    let mut turn = chat.turn("Hello?").begin().await.unwrap();
    let _request = turn.next().await.unwrap();
    drop(turn);
    let told = recorder.take();
    assert_eq!(told.names, ["turn", "call", "abandoned", "turn ended"]);
    assert_eq!(told.report.unwrap().outcome, TurnOutcome::Open);
}

/// A program that owns its loop gives the call the observers of its runtime.
#[tokio::test]
async fn a_call_of_a_loop_of_its_own_is_observed() {
    let recorder = Arc::new(Recorder::default());
    let runtime = DefaultContextRuntime::builder()
        .model(MODEL)
        .compaction([truncate_head()])
        .observer(Arc::clone(&recorder))
        .build()
        .unwrap();
    let history = (0..40).map(|turn| {
        let role = if turn % 2 == 0 { Role::User } else { Role::Assistant };
        Message::text(role, "What is the weather in Lisbon? ".repeat(100))
    });
    let history = history.chain([Message::from("And now?")]);
    let input = PrepareInput::new(("ada", "lisbon"), "turn", "anthropic", MODEL).messages(history);
    let mut call = ModelCall::new(&runtime, provider("anthropic").unwrap(), input)
        .observer(runtime.observer());
    let _answer = call.run(&simulator(done).window(20_000)).await.unwrap();
    let told = recorder.take();
    assert_eq!(
        told.names,
        [
            "call",
            "failed: context_overflow",
            "compact_and_retry",
            "cut by truncate-head",
            "call",
            "answered"
        ]
    );
    assert_eq!((told.usage, told.cuts.as_slice()), (call.usage(), call.plans()));
}
