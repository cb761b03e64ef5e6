//! A runtime that has seen a conversation prepares the same request as one that has not, and a
//! conversation that shares its messages with an earlier one the same as a new list of them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_conformance::histories::{damaged, histories};
use context_runtime::memory::{CapturedTurn, MemoryProvider, RecallQuery, Recalled};
use context_runtime::{
    CancelSignal, CaptureTurnInput, ContextRuntime, DefaultContextRuntime,
    DefaultContextRuntimeBuilder, Media, MediaSource, Message, MessageId, Messages, Metadata,
    ModelContext, Part, PrepareInput, RecallPlace, Result, Role, Timestamp,
    compaction::{Boundary, BoundaryKind, CutOwner, HistoryRewrite},
    store::{Chain, MemoriesForgotten, MemoryForget, Node},
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// What happens to a conversation between two calls.
#[derive(Clone, Debug)]
enum Change {
    /// More messages follow.
    Goes(Vec<Arc<Message>>),
    /// A call and its result follow.
    CallsTool,
    /// A user sends an image.
    Shows,
    /// A message is replaced.
    Edited(Index),
    /// It ends earlier, on another branch.
    Rewound(Index),
    /// The branch before goes on.
    SwitchedBack,
    /// Some messages are cut by the caller.
    Compacted(Index, Index),
    /// The caller undoes its cuts.
    Undone,
    /// The caller has the same messages in a new list.
    Listed,
    /// The caller has read equal messages again.
    Reread,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => histories().prop_map(Change::Goes),
        1 => damaged().prop_map(|(history, _)| Change::Goes(history)),
        3 => Just(Change::CallsTool),
        1 => Just(Change::Shows),
        1 => any::<Index>().prop_map(Change::Edited),
        1 => any::<Index>().prop_map(Change::Rewound),
        1 => Just(Change::SwitchedBack),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Change::Compacted(a, b)),
        1 => Just(Change::Undone),
        1 => Just(Change::Listed),
        1 => Just(Change::Reread),
    ]
}

/// A conversation and the cuts that its owner has made.
#[derive(Clone, Debug, Default)]
struct Talk {
    messages: Messages,
    rewrite: Option<HistoryRewrite>,
}

impl Talk {
    fn change(&mut self, other: &mut Self, change: &Change, number: usize) {
        let len = self.messages.len();
        match change {
            Change::Goes(messages) => self.messages.extend(messages.iter().cloned()),
            Change::CallsTool => {
                let id = format!("extra-{number}");
                let call = Part::tool_call(id.clone(), "look", serde_json::json!({}));
                let call = Message::new(Role::Assistant, [call]);
                let result = Message::new(Role::Tool, [Part::tool_result(id, "seen")]);
                self.messages.extend([call, result].map(Arc::new));
            }
            Change::Shows => {
                let image = Part::Image(Media {
                    source: MediaSource::Base64("iVBORw0KGgo=".into()),
                    media_type: Some("image/png".into()),
                    name: None,
                    metadata: Metadata::default(),
                });
                self.messages.push(Arc::new(Message::new(Role::User, [image])));
            }
            Change::Edited(at) if len > 0 => {
                let edited = Arc::new(Message::from(format!("edited {number}")));
                self.messages.replace(at.index(len), edited);
                self.rewrite = None;
            }
            Change::Rewound(at) if len > 0 => {
                *other = self.clone();
                self.messages = self.messages.prefix(at.index(len));
                self.rewrite = None;
            }
            Change::SwitchedBack => std::mem::swap(self, other),
            Change::Compacted(from, to) if len > 0 => {
                let (from, to) = (from.index(len), to.index(len));
                let left = (0..len).filter(|at| !(from..to).contains(at));
                let cut = HistoryRewrite::retain(&self.messages, left);
                let retained = cut.messages.len();
                self.rewrite = Some(cut.boundary(Boundary::new(BoundaryKind::Snip, retained)));
            }
            Change::Undone => self.rewrite = None,
            Change::Listed => {
                self.messages = self.messages.to_vec().into();
            }
            Change::Reread => {
                let again = |message: &Arc<Message>| Arc::new(Message::clone(message));
                self.messages = self.messages.iter().map(again).collect();
            }
            _ => {}
        }
    }
}

fn builder(place: RecallPlace) -> DefaultContextRuntimeBuilder {
    DefaultContextRuntime::builder()
        .window(100_000_000)
        .memory(Remembering::default())
        .recall_place(place)
}

async fn prepare(
    runtime: &DefaultContextRuntime,
    talk: &Talk,
    turn: usize,
    most: Option<usize>,
) -> ModelContext {
    // A model that reads no images.
    let mut input = PrepareInput::new(("ada", "s"), format!("t{turn}"), "openai", "gpt-3.5-turbo")
        .system("You book trips.")
        .conversation(talk.messages.clone());
    (input.rewrite, input.cuts) = (talk.rewrite.clone(), CutOwner::Caller);
    input.limits.max_messages = most;
    runtime.prepare_for_model(input).await.unwrap()
}

fn place() -> impl Strategy<Value = RecallPlace> {
    prop_oneof![
        Just(RecallPlace::InRequest),
        Just(RecallPlace::AfterRequest),
        Just(RecallPlace::BeforeRequest),
        Just(RecallPlace::System),
    ]
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A system message alone needs no repair. That it was seen said that the conversation had begun,
/// so that one whose next message was the assistant's was sent without a message of the user.
#[tokio::test]
async fn a_conversation_of_system_messages_has_not_begun() {
    let seen = builder(RecallPlace::default()).build().unwrap();
    let mut talk = Talk::default();
    talk.messages.push(Arc::new(Message::text(Role::System, "Be brief.")));
    let _context = prepare(&seen, &talk, 0, None).await;
    talk.change(&mut Talk::default(), &Change::CallsTool, 1);
    let roles: Vec<_> =
        prepare(&seen, &talk, 1, None).await.request.messages.iter().map(|it| it.role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::Tool]);
}

proptest! {
    #[test]
    fn what_was_seen_changes_no_request(
        changes in vec(change(), 1..12),
        place in place(),
        most in proptest::option::weighted(0.2, 1usize..30),
    ) {
        block_on(async {
            let seen = builder(place).build().unwrap();
            let (mut talk, mut other) = (Talk::default(), Talk::default());
            for (number, change) in changes.iter().enumerate() {
                talk.change(&mut other, change, number);
                let incremental = prepare(&seen, &talk, number, most).await;
                let scratch = builder(place).build().unwrap();
                let listed = Talk {
                    messages: talk.messages.to_vec().into(),
                    rewrite: talk.rewrite.clone(),
                };
                let scratch = prepare(&scratch, &listed, number, most).await;
                prop_assert_eq!(&incremental.request, &scratch.request);
                prop_assert_eq!(incremental.breakdown, scratch.breakdown);
                prop_assert_eq!(&incremental.rewrite, &scratch.rewrite);
                prop_assert_eq!(&incremental.boundaries, &scratch.boundaries);
                prop_assert_eq!(&incremental.prefix.hash, &scratch.prefix.hash);
            }
            Ok(())
        })?;
    }

    /// Whatever happens to a conversation between two captures, no message is missed; and while it
    /// only grows, none is captured twice.
    #[test]
    fn every_message_is_captured(steps in vec((1usize..90, any::<Option<Index>>()), 1..8)) {
        block_on(async {
            let memory = Remembering::default();
            let runtime = DefaultContextRuntime::builder().memory(memory.clone()).build().unwrap();
            let (mut chain, mut grows) = (Chain::default(), true);
            for (step, (messages, rewind)) in steps.into_iter().enumerate() {
                if let Some(at) = rewind.filter(|_| !chain.is_empty()) {
                    chain = chain.prefix(at.index(chain.len()));
                    grows = false;
                }
                for n in 0..messages {
                    let message = Message::from(format!("{step} {n}"));
                    let id = format!("m{step}-{n}");
                    chain.push(Arc::new(Node::new(id, message, Timestamp::default())));
                }
                let input = CaptureTurnInput::of_chain(("ada", "s"), "t", chain.clone());
                prop_assert!(runtime.capture_turn(input).await.unwrap().is_empty());
                let captured = memory.0.lock().unwrap();
                prop_assert!(chain.iter().all(|node| captured.contains(&node.id)));
                prop_assert!(!grows || captured.len() == chain.len());
            }
            Ok(())
        })?;
    }
}

/// Recalls the same text for each turn, and lists what it captures.
#[derive(Clone, Debug, Default)]
struct Remembering(Arc<Mutex<Vec<MessageId>>>);

#[async_trait]
impl MemoryProvider for Remembering {
    async fn recall(&self, query: &RecallQuery, _: &CancelSignal) -> Result<Recalled> {
        Ok(Recalled::text(format!("{} messages", query.recent.len())))
    }

    async fn capture(&self, turn: &CapturedTurn, _: &CancelSignal) -> Result<()> {
        self.0.lock().unwrap().extend(turn.messages.iter().map(|captured| captured.id.clone()));
        Ok(())
    }

    async fn forget(&self, _: &MemoryForget) -> Result<MemoriesForgotten> {
        Ok(MemoriesForgotten::default())
    }
}
