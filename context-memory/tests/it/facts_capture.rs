//! Facts from captured messages.

use context_core::message::Origin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::FixedClock;
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryForget, MemorySource, RecallQuery,
};
use context_core::model::{LanguageModel, ModelErrorCode};
use context_core::{
    Answer, CancelSignal, ErrorKind, MemoryProvider, Message, ModelError, ModelRequest, Part, Role,
    Store,
};
use context_memory::{Facts, ModelExtractor};
use context_store_inmem::InMemoryStore;

use crate::facts::{ada, day, facts, recalled, shown};
use crate::slow::Slow;

/// A model that gives prepared answers, or the text after `fact:`, and records its requests.
#[derive(Debug, Default)]
struct ScriptedModel {
    answers: Mutex<Vec<Result<String, ModelErrorCode>>>,
    asked: Mutex<Vec<String>>,
}

impl ScriptedModel {
    fn next(answer: Result<&str, ModelErrorCode>) -> Arc<Self> {
        let answers = Mutex::new(vec![answer.map(str::to_owned)]);
        Arc::new(Self { answers, asked: Mutex::default() })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl LanguageModel for ScriptedModel {
    fn name(&self) -> &str {
        "told"
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _cancel: &CancelSignal,
    ) -> Result<Answer, ModelError> {
        assert!(request.output.is_some() && request.max_output_tokens.is_some());
        let text = request.messages[0].plain_text().into_owned();
        self.asked.lock().unwrap().push(text.clone());
        tokio::task::yield_now().await;
        let next = self.answers.lock().unwrap().pop();
        let answer = match next {
            Some(Err(code)) => return Err(ModelError::new("told", code, "as it was told")),
            Some(Ok(answer)) => answer,
            None => {
                let messages: Vec<serde_json::Value> =
                    serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
                let fact = |message: &serde_json::Value| {
                    let words: Vec<_> =
                        message["text"].as_str()?.strip_prefix("fact: ")?.split(", ").collect();
                    Some(serde_json::json!({
                        "from": words.get(3), "holds": "one", "message": message["message"], "object": words[2],
                        "relation": words[1], "subject": words[0], "until": null,
                    }))
                };
                let facts: Vec<_> = messages.iter().filter_map(fact).collect();
                serde_json::json!({ "facts": facts }).to_string()
            }
        };
        Ok(Answer::new(Message::text(Role::Assistant, answer)))
    }
}

fn said(id: &str, role: Role, text: &str, at: i64) -> CapturedMessage {
    CapturedMessage::new(id, Message::text(role, text)).at(day(at))
}

fn turn(messages: Vec<CapturedMessage>) -> CapturedTurn {
    CapturedTurn::new(ada().session("s"), "t", day(100), messages)
}

fn with(store: &Arc<InMemoryStore>, model: &Arc<ScriptedModel>) -> Facts {
    facts(store).with_extractor(Arc::new(ModelExtractor::new(Arc::clone(model) as _)))
}

async fn capture(facts: &Facts, turn: &CapturedTurn) -> context_core::Result<()> {
    facts.capture(turn, &CancelSignal::never()).await
}

#[tokio::test]
async fn without_an_extractor_nothing_is_captured() {
    let store = Arc::new(InMemoryStore::default());
    capture(&facts(&store), &turn(vec![said("m", Role::User, "fact: Ada, is, here", 0)]))
        .await
        .unwrap();
    assert!(
        store
            .memories()
            .unwrap()
            .memory_stats(&"ada".into(), 9, None)
            .await
            .unwrap()
            .items
            .is_empty()
    );
}

#[tokio::test]
async fn messages_are_looked_through_once() {
    let store = Arc::new(InMemoryStore::default());
    let model = Arc::new(ScriptedModel::default());
    let facts = with(&store, &model);
    let first = turn(vec![
        said("m1", Role::User, "fact: Ada, works at, Initech, 2025-06-01", 0),
        said("m2", Role::Assistant, "fact: Ada, owns, a bank", 0),
        CapturedMessage::new(
            "m3",
            Message::new(Role::Tool, [Part::tool_result("c", "fact: Ada, owns, a bank")]),
        ),
        CapturedMessage::new(
            "m4",
            Message::text(Role::User, "fact: Ada, owns, a bank").with_origin(Origin::Synthetic),
        ),
    ]);
    capture(&facts, &first).await.unwrap();
    assert_eq!(model.asked(), 1);
    assert!(!model.asked.lock().unwrap()[0].contains("bank"));
    let known = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!(shown(&known), ["Ada works at Initech (since 2025-06-01)"]);
    assert_eq!(known[0].sources, [MemorySource::message("s", "m1")]);
    capture(&facts, &first).await.unwrap();
    assert_eq!(model.asked(), 1);
    // If a turn repeats earlier messages, only the new ones are processed.
    let mut more = first.clone();
    more.messages.push(said("m5", Role::User, "fact: Ada, works at, Globex", 40));
    capture(&facts, &more).await.unwrap();
    assert_eq!(model.asked(), 2);
    assert!(!model.asked.lock().unwrap()[1].contains("Initech"));
    let query = RecallQuery::new(ada().session("other"), "where does ada work");
    assert_eq!(recalled(&facts, query).await, ["Ada works at Globex (as of 2026-02-10)"]);
    // Model answers are used only if the application enables that.
    capture(&facts.clone().from_answers(true), &first).await.unwrap();
    assert_eq!(facts.about(&ada(), "Ada", Some("owns")).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_forgotten_message_is_not_looked_through_again() {
    let store = Arc::new(InMemoryStore::default());
    let model = Arc::new(ScriptedModel::default());
    let facts = with(&store, &model);
    let told = turn(vec![
        said("m1", Role::User, "fact: Ada, is, tired", 0),
        said("m2", Role::User, "hello", 0),
    ]);
    capture(&facts, &told).await.unwrap();
    for message in ["m1", "m2"] {
        let forget = MemoryForget::source(ada(), MemorySource::message("s", message));
        assert_eq!(facts.forget(&forget).await.unwrap().remaining, 0);
    }
    let stats = store.memories().unwrap().memory_stats(&"ada".into(), 9, None).await.unwrap();
    assert!(stats.items.is_empty());
    capture(&facts, &told).await.unwrap();
    assert_eq!(model.asked(), 1);
    assert!(facts.about(&ada(), "Ada", None).await.unwrap().is_empty());
}

#[tokio::test]
async fn what_is_forgotten_while_the_model_thinks_stays_forgotten() {
    let store: Arc<Slow> = Arc::default();
    let model = Arc::new(ScriptedModel::default());
    let facts = Facts::new(Arc::clone(&store) as _, Arc::new(FixedClock::at(0))).unwrap();
    let facts = facts.with_extractor(Arc::new(ModelExtractor::new(Arc::clone(&model) as _)));
    let told = turn(vec![
        said("m1", Role::User, "fact: Ada, is, tired", 0),
        said("m2", Role::User, "fact: Ada, sits in, Lisbon", 0),
    ]);
    let forget = MemoryForget::source(ada(), MemorySource::message("s", "m1"));
    let forgetting = async {
        while model.asked() == 0 {
            tokio::task::yield_now().await;
        }
        store.memories().unwrap().forget_memories(&forget).await.unwrap()
    };
    let (captured, forgotten) = tokio::join!(capture(&facts, &told), forgetting);
    captured.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    let known = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!(known.iter().map(|fact| fact.object.as_str()).collect::<Vec<_>>(), ["Lisbon"]);
}

#[tokio::test]
async fn two_captures_of_a_message_at_once_keep_what_one_of_them_found() {
    let store: Arc<Slow> = Arc::default();
    let model = Arc::new(ScriptedModel::default());
    let facts = Facts::new(store as _, Arc::new(FixedClock::at(0))).unwrap();
    let facts = facts.with_extractor(Arc::new(ModelExtractor::new(Arc::clone(&model) as _)));
    let told = turn(vec![said("m1", Role::User, "fact: Ada, is, tired", 0)]);
    let (one, two) = tokio::join!(capture(&facts, &told), capture(&facts, &told));
    one.unwrap();
    two.unwrap();
    let known = facts.about(&ada(), "Ada", None).await.unwrap();
    assert_eq!((known.len(), known[0].statements.len()), (1, 1));
}

#[tokio::test]
async fn a_model_that_fails_is_asked_again_and_one_that_talks_nonsense_is_not() {
    let store = Arc::new(InMemoryStore::default());
    let model = ScriptedModel::next(Err(ModelErrorCode::Unknown));
    let facts = with(&store, &model);
    let told = turn(vec![said("m1", Role::User, "fact: Ada, is, tired", 0)]);
    let failed = capture(&facts, &told).await.unwrap_err();
    assert_eq!(
        (failed.kind(), failed.retry()),
        (ErrorKind::Unavailable, context_core::Retry::Safe)
    );
    assert!(!format!("{failed:?}").contains("tired"));
    capture(&facts, &told).await.unwrap();
    assert_eq!(facts.about(&ada(), "Ada", None).await.unwrap().len(), 1);

    // Repeating the call with the same key or the same messages would fail in the same way.
    for (code, kind) in [
        (ModelErrorCode::Authentication, ErrorKind::Unavailable),
        (ModelErrorCode::Billing, ErrorKind::Unavailable),
        (ModelErrorCode::ContentFilter, ErrorKind::Invalid),
    ] {
        let told = turn(vec![said(code.as_str(), Role::User, "fact: Ada, is, tired", 0)]);
        let failed =
            capture(&with(&store, &ScriptedModel::next(Err(code))), &told).await.unwrap_err();
        assert_eq!((failed.kind(), failed.retry()), (kind, context_core::Retry::Never), "{code}");
    }

    let fact = |more: &str| {
        format!(r#"{{"holds": "one", "message": 1, "subject": "Eve", "relation": "is", {more}}}"#)
    };
    let nonsense = [
        "I would rather not.".to_owned(),
        format!(
            r#"{{"facts": [{}, {}, 3]}}"#,
            fact(r#""object": """#),
            fact(r#""object": "a\nb""#)
        ),
        format!("[{}]", fact(r#""object": "x", "from": "2026-02-01", "until": "2026-01-01""#)),
        format!("[{}]", fact(r#""object": "x", "message": 9"#)),
    ];
    for (number, answer) in nonsense.iter().enumerate() {
        let model = ScriptedModel::next(Ok(answer));
        let facts = with(&store, &model);
        let told = turn(vec![said(&format!("n{number}"), Role::User, "fact: Ada, is, awake", 0)]);
        capture(&facts, &told).await.unwrap();
        capture(&facts, &told).await.unwrap();
        assert_eq!(model.asked(), 1, "{answer}");
        assert!(facts.about(&ada(), "Eve", None).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_long_turn_is_asked_about_in_pieces_and_a_cancel_stops_it() {
    let store = Arc::new(InMemoryStore::default());
    let model = Arc::new(ScriptedModel::default());
    let facts = with(&store, &model);
    let messages = (0..40)
        .map(|at| said(&format!("m{at}"), Role::User, &format!("fact: Ada, knows {at}, it"), 0));
    let told = turn(messages.collect());
    let source = context_core::base::CancelSource::new();
    source.cancel();
    assert_eq!(
        facts.capture(&told, &source.signal()).await.unwrap_err().kind(),
        ErrorKind::Cancelled
    );
    capture(&facts, &told).await.unwrap();
    assert_eq!(model.asked(), 3);
    assert_eq!(facts.about(&ada(), "Ada", None).await.unwrap().len(), 40);
    let nowhere = CapturedTurn::new(ada(), "t", day(0), told.messages);
    assert_eq!(capture(&facts, &nowhere).await.unwrap_err().kind(), ErrorKind::Unsupported);
}
