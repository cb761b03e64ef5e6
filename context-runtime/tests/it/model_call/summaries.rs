//! Summaries within a call.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use context_runtime::{
    CallOptions, DiagnosticCode, Message, ModelCall,
    model::{LanguageModel, ModelErrorCode},
    provider,
};

use super::models::{ScriptedModel, broken, error, nothing, says};
use super::runtimes::SummarisingRuntime;
use super::{history, input};

fn call<'r>(
    runtime: &'r SummarisingRuntime,
    summaries: &Arc<ScriptedModel>,
    history: &[Arc<Message>],
) -> ModelCall<'r> {
    let summaries: Arc<dyn LanguageModel> = Arc::clone(summaries) as _;
    ModelCall::new(runtime, provider("openai").unwrap(), input("openai", history))
        .summaries(summaries)
}

#[tokio::test]
async fn a_summary_is_asked_for_once_and_takes_the_place_of_what_it_covers() {
    let (runtime, history) = (SummarisingRuntime::new(), history(3));
    let (summaries, model) = (
        ScriptedModel::new([Ok(says("read three files"))]),
        ScriptedModel::new([Ok(says("Rotation."))]),
    );
    let mut call = call(&runtime, &summaries, &history);
    let answer = call.run(&*model).await.unwrap();
    assert_eq!(answer.message.plain_text(), "Rotation.");
    let sent: Vec<_> =
        model.asked()[0].messages.iter().map(|message| message.plain_text().into_owned()).collect();
    assert_eq!(sent, ["so far: read three files", "And why only on Fridays?"]);
    assert_eq!(summaries.asked()[0].model.as_deref(), Some("scripted"));
    assert_eq!((call.calls(), runtime.accepted.load(Ordering::Relaxed)), (2, 1));
    assert_eq!(call.rewrite().unwrap().origins, [None, Some(history.len() - 1)]);
}

#[tokio::test]
async fn a_summary_that_fails_changes_nothing_and_is_not_tried_again() {
    for failed in [Err(error(ModelErrorCode::Server)), Ok(nothing())] {
        let (runtime, history) = (SummarisingRuntime::new(), history(3));
        let summaries = ScriptedModel::new([failed]);
        // The call itself needs two requests; the summary is still requested once.
        let model = ScriptedModel::new([Ok(broken("")), Ok(says("Rotation."))]);
        let mut call = call(&runtime, &summaries, &history);
        let _answer = call.run(&*model).await.unwrap();
        assert!(model.asked().iter().all(|request| request.messages.len() == history.len()));
        assert_eq!((summaries.asked().len(), call.calls()), (1, 3));
        assert!(call.rewrite().is_none());
        let codes: Vec<_> = call.diagnostics().iter().map(|diagnostic| diagnostic.code).collect();
        assert_eq!(codes, [DiagnosticCode::CompactSummaryFailed]);
    }
}

#[tokio::test]
async fn a_summary_leaves_a_call_for_the_request_itself() {
    let runtime = SummarisingRuntime::new();
    let (summaries, model) =
        (ScriptedModel::new([Ok(says("read"))]), ScriptedModel::new([Ok(says("Rotation."))]));
    let mut options = CallOptions::default();
    options.max_calls = 1;
    let mut call = call(&runtime, &summaries, &history(3)).options(options);
    let _answer = call.run(&*model).await.unwrap();
    assert_eq!((summaries.asked().len(), model.asked().len()), (0, 1));
}
