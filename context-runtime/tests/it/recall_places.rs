//! The places of recalled memories: the shape of the requests, the cache marks, and what a provider
//! reads from its prompt cache.

use std::sync::Arc;

use context_runtime::{
    ContextRuntime, DefaultContextRuntime, FunctionTool, Message, Part, PrepareInput, RecallPlace,
    Role, provider,
};
use context_simulator::{Served, Simulator};
use proptest::prelude::*;

use crate::runtime_kit::*;
use crate::simulator::QuarterCounter;

const PLACES: [RecallPlace; 4] = [
    RecallPlace::InRequest,
    RecallPlace::AfterRequest,
    RecallPlace::BeforeRequest,
    RecallPlace::System,
];

fn with(place: RecallPlace, notes: &Arc<FixedMemory>) -> DefaultContextRuntime {
    builder().window(100_010).memory(Arc::clone(notes)).recall_place(place).build().unwrap()
}

fn roles(messages: &[Arc<Message>]) -> Vec<Role> {
    messages.iter().map(|message| message.role).collect()
}

#[tokio::test]
async fn each_place_is_where_it_says_and_the_history_stays() {
    let history = [ask("hello"), reply("hi"), ask("book"), call("a"), result("a", "ok")];
    for place in PLACES {
        let notes = FixedMemory::saying("Ada prefers trains.");
        let given = input(&history).system("You book trips.");
        let context = with(place, &notes).prepare_for_model(given).await.unwrap();
        let request = &context.request;
        let holds = |message: &Arc<Message>| message.plain_text().contains("Ada prefers trains.");
        let at = request.messages.iter().position(holds);
        let (expected, messages, system) = match place {
            RecallPlace::InRequest => (Some(2), 5, 1),
            RecallPlace::AfterRequest => (Some(3), 6, 1),
            RecallPlace::BeforeRequest => (Some(2), 6, 1),
            _ => (None, 5, 2),
        };
        assert_eq!(
            (at, request.messages.len(), request.system.len()),
            (expected, messages, system)
        );
        // Without the recall it is the history, in which nothing was changed.
        let left: Vec<_> = request
            .messages
            .iter()
            .filter(|message| !message.is_synthetic())
            .map(|message| message.without_recall().into_owned())
            .collect();
        assert!(left.iter().eq(history.iter().map(|message| &**message)), "{place:?}");
        assert!(history.iter().all(|message| !holds(message)));
        assert!(context.breakdown.recall.tokens() > 0);
    }
}

#[tokio::test]
async fn a_recall_stays_in_its_place_through_a_turn_and_is_gone_with_the_next() {
    for place in PLACES {
        let notes = FixedMemory::saying("note");
        let runtime = with(place, &notes);
        let mut history = vec![ask("hello"), reply("hi"), ask("book a trip")];
        let mut sent = Vec::new();
        for step in 0..3 {
            *notes.says.lock().unwrap() = Some(format!("note {step}"));
            sent.push(prepare(&runtime, &history).await);
            history.extend([call(&format!("c{step}")), result(&format!("c{step}"), "ok")]);
        }
        for pair in sent.windows(2) {
            assert!(pair[1].request.messages.starts_with(&pair[0].request.messages), "{place:?}");
            assert_eq!(pair[1].request.system, pair[0].request.system);
            assert!(pair[1].prefix.intact && pair[1].prefix.reused >= pair[0].prefix.reused);
        }
        history.extend([reply("done"), ask("and back")]);
        *notes.says.lock().unwrap() = None;
        let mut next = input(&history);
        next.turn.id = "t2".into();
        let next = runtime.prepare_for_model(next).await.unwrap();
        assert_eq!(next.request.messages, history, "{place:?}");
        assert!(next.request.system.is_empty());
    }
}

#[tokio::test]
async fn cache_marks_stand_where_the_next_request_is_the_same() {
    // The marks of three calls of a turn, and of the first call of the next one.
    for (place, expected) in [
        (RecallPlace::InRequest, [&[1, 2][..], &[1, 2, 4], &[1, 4, 6], &[1, 7, 8]]),
        (RecallPlace::AfterRequest, [&[2], &[2, 5], &[2, 5, 7], &[2, 8]]),
        (RecallPlace::BeforeRequest, [&[1, 3], &[1, 3, 5], &[1, 5, 7], &[1, 7, 9]]),
        (RecallPlace::System, [&[2], &[2, 4], &[4, 6], &[6, 8]]),
    ] {
        let notes = FixedMemory::saying("note");
        let runtime = with(place, &notes);
        let mut history = vec![ask("hello"), reply("hi"), ask("book")];
        let mut marks = Vec::new();
        for step in 0..3 {
            marks.push(prepare(&runtime, &history).await.request.cache.positions().to_vec());
            history.extend([call(&format!("c{step}")), result(&format!("c{step}"), "ok")]);
        }
        history.truncate(7);
        history.extend([reply("done"), ask("and back")]);
        let mut next = input(&history);
        next.turn.id = "t2".into();
        let next = runtime.prepare_for_model(next).await.unwrap();
        marks.push(next.request.cache.positions().to_vec());
        assert_eq!(marks, expected, "{place:?}");
    }
}

/// Returns some messages of a conversation, valid or not.
fn histories() -> impl Strategy<Value = Vec<Arc<Message>>> {
    let message = (0..5_u8, 0..4_u8).prop_map(|(kind, id)| match kind {
        0 => ask(&format!("question {id}")),
        1 => reply(&format!("answer {id}")),
        2 => call(&format!("c{id}")),
        3 => result(&format!("c{id}"), "ok"),
        _ => Arc::new(Message::new(Role::User, [Part::text("an image"), Part::text(" ")])),
    });
    prop::collection::vec(message, 0..12)
}

proptest! {
    #[test]
    fn by_default_a_recall_adds_no_message(history in histories()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let notes = FixedMemory::saying("Ada prefers trains.");
            let with = builder().window(100_010).memory(notes).build().unwrap();
            let without = builder().window(100_010).build().unwrap();
            let with = prepare(&with, &history).await;
            let without = prepare(&without, &history).await;
            assert_eq!(roles(&with.request.messages), roles(&without.request.messages));
            assert_eq!(with.request.system, without.request.system);
        });
    }
}

/// Returns the share of the tokens sent that was read from the cache, in percent, over eight turns
/// of four calls. Without a place nothing is recalled.
async fn cached(name: &str, place: Option<RecallPlace>) -> u64 {
    let notes = Arc::new(FixedMemory::default());
    let runtime = DefaultContextRuntime::builder()
        .window(200_000)
        .counter(Arc::new(QuarterCounter))
        .memory(Arc::clone(&notes))
        .recall_place(place.unwrap_or_default())
        .build()
        .unwrap();
    let codec = provider(name).unwrap();
    let simulator = Simulator::new(Arc::clone(&codec), Arc::new(QuarterCounter));
    let words = |n: usize, about: &str| format!("{about}: {}", "word ".repeat(n));
    let mut history: Vec<Arc<Message>> = Vec::new();
    for turn in 0..8 {
        let memory = words(400, &format!("memory of turn {turn}"));
        *notes.says.lock().unwrap() = place.map(|_| memory);
        history.push(ask(&words(80, &format!("question {turn}"))));
        for step in 0..4 {
            let schema = serde_json::json!({"type": "object"});
            let tool = FunctionTool::new("read_file", schema).description("Reads.");
            let input = PrepareInput::new(("ada", "s"), format!("t{turn}"), name, "a-model")
                .system(words(1_200, "You are an agent"))
                .tools([tool])
                .messages(history.iter().map(Arc::clone));
            let context = runtime.prepare_for_model(input).await.unwrap();
            let body = codec.lower(&context.request).unwrap().body;
            let answer = simulator.send(body.as_str());
            assert_eq!(answer.status, 200, "{name} {place:?}: {:?}", answer.content);
            let id = format!("call_{turn}_{step}");
            if step < 3 {
                history.extend([call(&id), result(&id, words(480, "file"))]);
            } else {
                history.push(reply(&words(80, "answer")));
            }
        }
    }
    let log = simulator.log();
    let sum = |of: fn(&Served) -> u64| log.iter().map(of).sum::<u64>();
    sum(|served| served.cache_read) * 100 / sum(|served| served.input.unwrap())
}

/// The table in the documentation of [`RecallPlace`] and the page of design decisions have these
/// numbers.
#[tokio::test]
async fn the_cost_of_each_place_is_the_one_in_its_table() {
    let mut table = Vec::new();
    for place in [None].into_iter().chain(PLACES.map(Some)) {
        let mut row = Vec::new();
        for name in ["anthropic", "gemini", "openai", "openai-responses"] {
            row.push(cached(name, place).await);
        }
        table.push(row);
    }
    let nothing_recalled = [94, 94, 93, 93];
    let in_request = [89, 89, 88, 88];
    let after_request = [87, 89, 88, 88];
    let before_request = [89, 89, 88, 88];
    let system = [76, 76, 75, 72];
    assert_eq!(table, [nothing_recalled, in_request, after_request, before_request, system]);
}
