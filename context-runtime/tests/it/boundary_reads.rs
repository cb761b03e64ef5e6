//! An engine reads a branch from its last boundary on, and sends and answers what an engine does
//! that has read all of it.

use std::sync::Arc;

use context_runtime::instructions::{Predicate, reminder};
use context_runtime::{
    ChainCache, Clock, ContextEngine, Edits, IdGenerator, MessageId, Store, assistant,
    last_assistant_message, user,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::compactions::compacted;
use crate::kit::{CountingIds, TickingClock, builder, engine, say, shown, store};

#[derive(Clone, Debug)]
enum Step {
    Say(bool),
    /// Sets a message without saving it.
    SetOnly(bool),
    /// Gives a message that is stored another text.
    Edit(Index, Edits),
    /// Shows another text in the place of a stored message, until the next save.
    Transient(Index),
    LastAnswer,
    Compact(Cut),
    Undo,
    Redo,
    Pin(Index, bool),
    Redact(Index),
    Rewind(Index),
    /// Another engine says something, and compacts if there is a cut.
    Elsewhere(Option<Cut>),
    Ask(Question),
    Reopen,
}

/// The first messages that stay, those that are removed, and whether a checkpoint stands for them.
#[derive(Clone, Debug)]
struct Cut {
    head: Index,
    tail: Index,
    checkpoint: bool,
    shortens: Option<Index>,
}

#[derive(Clone, Copy, Debug)]
enum Question {
    Turns,
    First,
    Newest,
    Compactions,
    Inspection,
    Fork,
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let cut = || {
        (index(), index(), any::<bool>(), proptest::option::of(index()))
            .prop_map(|(head, tail, checkpoint, shortens)| Cut { head, tail, checkpoint, shortens })
    };
    let edits = prop_oneof![Just(Edits::Auto), Just(Edits::Amend)];
    let question = prop_oneof![
        Just(Question::Turns),
        Just(Question::First),
        Just(Question::Newest),
        Just(Question::Compactions),
        Just(Question::Inspection),
        Just(Question::Fork),
    ];
    prop_oneof![
        6 => any::<bool>().prop_map(Step::Say),
        1 => any::<bool>().prop_map(Step::SetOnly),
        1 => (index(), edits).prop_map(|(of, edits)| Step::Edit(of, edits)),
        1 => index().prop_map(Step::Transient),
        1 => Just(Step::LastAnswer),
        4 => cut().prop_map(Step::Compact),
        1 => Just(Step::Undo),
        1 => Just(Step::Redo),
        1 => (index(), any::<bool>()).prop_map(|(of, pins)| Step::Pin(of, pins)),
        1 => index().prop_map(Step::Redact),
        1 => index().prop_map(Step::Rewind),
        2 => proptest::option::of(cut()).prop_map(Step::Elsewhere),
        1 => question.prop_map(Step::Ask),
        4 => Just(Step::Reopen),
    ]
}

/// A chat, and an engine that may have read a part of it.
struct World {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdGenerator>,
    engine: ContextEngine,
    /// Whether the engine reads the whole branch before each step.
    reads_all: bool,
    reminds: bool,
    count: usize,
}

impl World {
    async fn new(reads_all: bool, reminds: bool) -> Self {
        let store = store().await;
        let (clock, ids) = (Arc::new(TickingClock::default()), Arc::new(CountingIds::default()));
        let engine = builder(&store).shared_environment(clock.clone(), ids.clone());
        let engine = engine.open().await.unwrap();
        Self { store, clock, ids, engine, reads_all, reminds, count: 0 }
    }

    async fn open(&self) -> ContextEngine {
        let builder = builder(&self.store).branch(self.engine.branch().clone());
        let mut builder = builder.shared_environment(self.clock.clone(), self.ids.clone());
        if !self.reads_all && self.count.is_multiple_of(2) {
            builder = builder.read_ahead();
        }
        let mut engine = builder.open().await.unwrap();
        if self.reminds {
            let remind = reminder("Be brief.").when(Predicate::every_n_turns(3));
            engine.remind([remind.build().unwrap()]);
        }
        engine
    }

    fn set(&mut self, is_user: bool) {
        self.count += 1;
        let text = format!("text {}", self.count);
        let message = if is_user { user(text) } else { assistant(text) };
        let id = format!("m{}", self.count);
        // Some messages get an id of the engine.
        let message = if self.count.is_multiple_of(3) { message } else { message.with_id(id) };
        self.engine.set([message]);
    }

    /// The messages of all branches.
    async fn stored(&self) -> Vec<MessageId> {
        let graph = self.engine.graph().await.unwrap();
        let messages = graph.nodes.iter().filter(|placed| placed.node.role().is_some());
        messages.map(|placed| placed.node.id.clone()).collect()
    }

    /// Takes a step, and returns what it answers.
    async fn take(&mut self, step: &Step) -> String {
        if self.reads_all {
            let _read = self.engine.compactions().await.unwrap();
        }
        let stored = self.stored().await;
        let pick = |which: &Index| (!stored.is_empty()).then(|| which.get(&stored).clone());
        match step {
            Step::Say(is_user) => {
                self.set(*is_user);
                format!("{:?}", self.engine.save().await)
            }
            Step::SetOnly(is_user) => {
                self.set(*is_user);
                String::new()
            }
            Step::Edit(which, edits) => {
                let Some(id) = pick(which) else { return String::new() };
                self.count += 1;
                self.engine.set([user(format!("edit {}", self.count)).with_id(id.as_str())]);
                let seen = shown(&mut self.engine).await;
                format!("{seen:?} {:?}", self.engine.save_with(*edits).await)
            }
            Step::Transient(which) => {
                let Some(id) = pick(which) else { return String::new() };
                self.engine.set([user("for now").with_id(id.as_str()).transient()]);
                String::new()
            }
            Step::LastAnswer => {
                self.engine.set([last_assistant_message("a better answer")]);
                format!("{:?}", self.engine.save().await)
            }
            Step::Compact(cut) => {
                compact(&mut self.engine, cut).await;
                format!("{:?}", self.engine.save().await)
            }
            Step::Undo => format!("{:?}", self.engine.undo_compaction().await),
            Step::Redo => format!("{:?}", self.engine.redo_compaction().await),
            Step::Pin(which, pins) => match pick(which) {
                Some(id) if *pins => format!("{:?}", self.engine.pin(&id).await.ok()),
                Some(id) => format!("{:?}", self.engine.unpin(&id).await.ok()),
                None => String::new(),
            },
            Step::Redact(which) => match pick(which) {
                Some(id) => format!("{:?}", self.engine.redact(&id).await.ok()),
                None => String::new(),
            },
            Step::Rewind(which) => match pick(which) {
                Some(id) => format!("{:?}", self.engine.rewind(&id).await),
                None => String::new(),
            },
            Step::Elsewhere(cut) => {
                let mut other = self.open().await;
                self.count += 1;
                other.set([user(format!("elsewhere {}", self.count))]);
                if let Some(cut) = cut {
                    compact(&mut other, cut).await;
                }
                format!("{:?}", other.save().await)
            }
            Step::Ask(question) => self.ask(*question).await,
            Step::Reopen => {
                self.engine = self.open().await;
                String::new()
            }
        }
    }

    async fn ask(&mut self, question: Question) -> String {
        let engine = &mut self.engine;
        match question {
            Question::Turns => format!("{:?}", engine.turn_count().await),
            Question::First => format!("{:?}", engine.first_user_message().await),
            Question::Newest => format!("{:?}", engine.head_message().await),
            Question::Compactions => format!("{:?}", engine.compactions().await),
            Question::Inspection => {
                serde_json::to_string(&engine.inspect().await.unwrap()).unwrap()
            }
            Question::Fork => {
                self.count += 1;
                let forked = engine.fork(format!("fork-{}", self.count)).await;
                format!("{:?}", shown(&mut forked.unwrap()).await)
            }
        }
    }

    /// Everything that the next call would be sent.
    async fn sent(&mut self) -> String {
        let turn = self.engine.resolve().await.unwrap();
        let (messages, request) = (&turn.messages, turn.request());
        format!("{} {messages:?} {request:?} {:?}", &*turn.system_prompt, turn.diagnostics)
    }
}

async fn compact(engine: &mut ContextEngine, cut: &Cut) {
    let turn = engine.resolve().await.unwrap();
    let len = turn.messages.len();
    let (head, tail) = (cut.head.index(len + 1), cut.tail.index(len + 1));
    let mut recipe: Vec<(Option<usize>, Option<&str>)> =
        (0..head.min(tail)).map(|at| (Some(at), None)).collect();
    recipe.extend(cut.checkpoint.then_some((None, Some("so far"))));
    recipe.extend((head.max(tail)..len).map(|at| (Some(at), None)));
    if let Some(which) = cut.shortens.filter(|_| !recipe.is_empty()) {
        let which = which.index(recipe.len());
        recipe[which].1 = Some("short");
    }
    let rewrite = compacted(&turn.messages, &recipe);
    let _id = engine.compact(&turn, &rewrite, &[]).await.unwrap();
}

fn run(steps: &[Step], reminds: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut part = World::new(false, reminds).await;
        let mut all = World::new(true, reminds).await;
        for step in steps {
            assert_eq!(part.take(step).await, all.take(step).await, "{step:?}");
            assert_eq!(part.sent().await, all.sent().await, "after {step:?}");
        }
        let questions = [
            Question::Newest,
            Question::First,
            Question::Turns,
            Question::Compactions,
            Question::Inspection,
            Question::Fork,
        ];
        for question in questions {
            assert_eq!(part.ask(question).await, all.ask(question).await, "{question:?}");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn a_part_sends_and_answers_what_the_whole_does(
        steps in proptest::collection::vec(step(), 1..30),
        reminds in proptest::bool::weighted(0.2),
    ) {
        run(&steps, reminds);
    }
}

#[tokio::test]
async fn a_compacted_chat_is_opened_at_its_boundary_and_read_further_back_when_asked() {
    let store = store().await;
    let mut chat = engine(&store).await;
    let text = "A long question about the trains from Lisbon to Porto. ".repeat(4);
    for i in 0..2_000 {
        chat.set([say(&format!("u{i}"), &format!("{i} {text}"))]);
    }
    let _saved = chat.save().await.unwrap();
    // The first question, a checkpoint, and the newest ten messages.
    let mut recipe = vec![(Some(0), None), (None, Some("so far"))];
    recipe.extend((1_990..2_000).map(|at| (Some(at), None)));
    crate::compactions::compact(&mut chat, &recipe).await;
    chat.set([say("a2000", "An answer.")]);
    let _saved = chat.save().await.unwrap();
    let expected = shown(&mut chat).await;
    assert_eq!(expected.len(), 13);

    let cache = ChainCache::new(Arc::clone(&store), 64 << 20);
    let mut next = builder(&store).cache(&cache).open().await.unwrap();
    next.set([say("u2001", "And back?")]);
    assert_eq!(shown(&mut next).await[..13], expected);
    let _saved = next.save().await.unwrap();
    assert!(cache.bytes() < 20_000, "{} bytes for 14 messages", cache.bytes());

    assert_eq!(next.turn_count().await.unwrap(), 2_001);
    assert!(cache.bytes() > 500_000, "{} bytes for all messages", cache.bytes());
    assert_eq!(shown(&mut next).await[..13], expected);
}

#[tokio::test]
async fn a_message_from_before_the_part_is_edited_where_it_is() {
    let store = store().await;
    let mut chat = crate::kit::with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    crate::compactions::compact(&mut chat, &[(Some(0), None), (Some(3), None)]).await;
    for id in ["u1", "a1"] {
        let mut next = engine(&store).await;
        next.set([say(id, "anew")]);
        let expected = match id {
            // It is shown, from before the part that was read.
            "u1" => ["u1: anew", "a2: text a2"],
            _ => ["u1: text u1", "a2: text a2"],
        };
        assert_eq!(shown(&mut next).await, expected);
        next.unset(&id.into()).await.unwrap();
    }
    let mut next = engine(&store).await;
    next.pin(&"u1".into()).await.unwrap();
    let seen = next.resolve().await.unwrap();
    assert!(seen.messages[0].message().unwrap().is_pinned());
}
