//! Trust by origin, quarantine and uses, for all kinds of memories.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_core::memory::{
    CapturedMessage, CapturedTurn, MemoryForget, MemorySource, Quarantine, QuarantineTarget,
    RecallQuery, RecalledMemory, Trust, recalled_memories,
};
use context_core::store::MemoryWrite;
use context_core::{CancelSignal, MemoryProvider, Message, Result, Role, Store, Timestamp};
use context_memory::{
    BlockTools, Cardinality, EPISODE, Episodic, Extracted, ExtractedFact, FactExtractor,
    LeastTrust, ProviderChain, Statement,
};
use context_store_inmem::InMemoryStore;
use serde_json::json;

use crate::blocks::{append, blocks};
use crate::facts::{ada, day, facts, shown};

fn never() -> CancelSignal {
    CancelSignal::never()
}

fn said(id: &str, role: Role, text: &str) -> CapturedMessage {
    CapturedMessage::new(id, Message::text(role, text))
}

async fn captured(memory: &impl MemoryProvider, messages: Vec<CapturedMessage>) {
    let turn = CapturedTurn::new(ada().session("s"), "t", day(0), messages);
    memory.capture(&turn, &never()).await.unwrap();
}

async fn recalled(memory: &impl MemoryProvider, query: RecallQuery) -> Vec<RecalledMemory> {
    memory.recall(&query, &never()).await.unwrap().memories
}

fn about(text: &str) -> RecallQuery {
    RecallQuery::new(ada().session("later"), text)
}

fn gate(memories: &[RecalledMemory]) -> Vec<Option<Trust>> {
    let mut classes: Vec<_> = memories.iter().map(|memory| memory.trust).collect();
    classes.sort();
    classes
}

#[tokio::test]
async fn episodes_have_the_class_of_their_message_and_foreign_ones_say_so() {
    let store = Arc::new(InMemoryStore::default());
    let memory = Episodic::new(Arc::clone(&store) as _).unwrap().tool_results(true);
    let mail = Message::text(Role::User, "The gate is at the north, writes the mail.");
    captured(
        &memory,
        vec![
            said("m1", Role::User, "The gate is at the south."),
            said("m2", Role::Assistant, "The gate is noted."),
            said("m3", Role::Tool, "The gate is closed, says the page."),
            CapturedMessage::new("m4", mail.with_trust(Trust::Foreign)).speaker("Eve"),
        ],
    )
    .await;
    let all = recalled(&memory, about("the gate")).await;
    let classes = [Trust::Foreign, Trust::Foreign, Trust::Model, Trust::User].map(Some);
    assert_eq!(gate(&all), classes);
    for (least, count) in [(Trust::Foreign, 4), (Trust::Model, 2), (Trust::User, 1)] {
        let query = about("the gate").least_trust(least);
        assert_eq!(recalled(&memory, query).await.len(), count, "{least}");
    }
    let fragment = format!("{:?}", recalled_memories(&all).data());
    assert_eq!(fragment.matches("\"foreign\"").count(), 2);
    assert!(!fragment.contains("\"model\"") && !fragment.contains("\"program\""));
}

/// A record of an earlier version has no class of its own.
#[tokio::test]
async fn an_older_record_is_recalled_as_before_and_left_out_where_a_class_is_asked_for() {
    let store = Arc::new(InMemoryStore::default());
    let record = |id: &str, speaker: &str| {
        let text = "The gate is at the south.".to_owned() + id;
        let mut record = context_core::memory::MemoryRecord::new(ada(), id, EPISODE, day(0), text);
        record.speaker = Some(speaker.to_owned());
        MemoryWrite::new(record, context_memory::words::index_words("gate south"))
    };
    let writes = [record("a", "user"), record("b", "Ada")];
    let _outcome = store.memories().unwrap().write_memories(&writes).await.unwrap();
    let memory = Episodic::new(store as _).unwrap();
    let all = recalled(&memory, about("gate")).await;
    assert_eq!(gate(&all), [None, Some(Trust::User)]);
    assert_eq!(recalled(&memory, about("gate").least_trust(Trust::Foreign)).await.len(), 1);
}

/// The 500 poisoned memories match better than the one that is true.
#[tokio::test]
async fn memories_in_quarantine_do_not_crowd_out_others() {
    let store = Arc::new(InMemoryStore::default());
    let memory = Episodic::new(Arc::clone(&store) as _).unwrap();
    let poison = (0..500).map(|n| said(&format!("p{n}"), Role::User, "Gate code: gate code 666."));
    let turn = CapturedTurn::new(ada().session("bad"), "t", day(0), poison.collect());
    memory.capture(&turn, &never()).await.unwrap();
    captured(&memory, vec![said("m1", Role::User, "I think that the code of the gate is 4711.")])
        .await;
    let texts = |all: Vec<RecalledMemory>| all.into_iter().map(|m| m.text).collect::<Vec<_>>();
    assert!(!texts(recalled(&memory, about("gate code")).await).concat().contains("4711"));
    let target = QuarantineTarget::Source(MemorySource::session("bad"));
    let quarantine = Quarantine::new(ada(), target, "poisoned", day(1));
    // Another provider on the same store, as in another process.
    let other = Episodic::new(Arc::clone(&store) as _).unwrap();
    other.review().unwrap().quarantine(&quarantine).await.unwrap();
    let left = texts(recalled(&memory, about("gate code")).await);
    assert_eq!(left, ["I think that the code of the gate is 4711."]);
    assert!(other.review().unwrap().release(&ada(), &quarantine.id()).await.unwrap());
    assert!(texts(recalled(&memory, about("gate code")).await).concat().contains("666"));
}

#[tokio::test]
async fn a_lower_class_does_not_end_what_a_higher_one_said() {
    let works = |object: &str, said_at: i64, trust| {
        Statement::new("Ada", "works at", object, Cardinality::One, day(said_at))
            .source(MemorySource::message("s", object))
            .trust(trust)
    };
    let user = works("Initech", 0, Trust::User);
    let page = works("Globex", 10, Trust::Foreign);
    let ends = works("Initech", 20, Trust::Foreign).until(day(20));
    for order in [[&user, &page, &ends], [&ends, &page, &user]] {
        let facts = facts(&Arc::new(InMemoryStore::default()));
        for statement in order {
            facts.state(&ada(), std::slice::from_ref(statement)).await.unwrap();
        }
        let known = facts.about(&ada(), "Ada", None).await.unwrap();
        let lines =
            ["Ada works at Initech (as of 2026-01-01)", "Ada works at Globex (as of 2026-01-11)"];
        assert_eq!(shown(&known), lines);
        assert!(known[0].contested_by.is_some() && known[0].superseded_by.is_none());
        assert_eq!((known[0].trust, known[1].trust), (Some(Trust::User), Some(Trust::Foreign)));
        let memories = recalled(&facts, about("where does Ada work at?")).await;
        assert_eq!(gate(&memories), [Some(Trust::Foreign), Some(Trust::User)]);
        let query = about("where does Ada work at?").least_trust(Trust::User);
        assert_eq!(recalled(&facts, query).await.len(), 1);
        // The user says it again: that ends the value of the page.
        let again = works("Initech", 30, Trust::User).source(MemorySource::message("s", "again"));
        facts.state(&ada(), &[again]).await.unwrap();
        let known = facts.about(&ada(), "Ada", None).await.unwrap();
        let ended = "Ada works at Globex (as of 2026-01-11, until 2026-01-31)";
        assert_eq!(known[1].text(), ended);
        // A page that has several values hold at once brings none back.
        let many = Statement::new("Ada", "works at", "Hooli", Cardinality::Many, day(40));
        let many = many.source(MemorySource::message("s", "many")).trust(Trust::Foreign);
        facts.state(&ada(), &[many]).await.unwrap();
        assert_eq!(facts.about(&ada(), "Ada", None).await.unwrap()[1].text(), ended);
    }
}

/// Says of every message that it states the fact of the last one, as an injected text would.
#[derive(Debug, Default)]
struct Confused(Mutex<Vec<usize>>);

#[async_trait]
impl FactExtractor for Confused {
    async fn extract(
        &self,
        messages: &[CapturedMessage],
        _: Timestamp,
        _: &CancelSignal,
    ) -> Result<Extracted> {
        self.0.lock().unwrap().push(messages.len());
        let last = messages.last().unwrap().message.plain_text().into_owned();
        let fact = |number| ExtractedFact::new(number, "gate", "says", &last, Cardinality::Many);
        Ok(Extracted::new((0..messages.len()).map(fact).collect()))
    }
}

#[tokio::test]
async fn extraction_never_lifts_a_class() {
    let extractor = Arc::new(Confused::default());
    let facts = facts(&Arc::new(InMemoryStore::default()));
    let facts = facts.from_answers(true).with_extractor(Arc::clone(&extractor) as _);
    let page = Message::text(Role::User, "poison").with_trust(Trust::Foreign);
    captured(
        &facts,
        vec![
            said("m1", Role::User, "truth"),
            said("m2", Role::Assistant, "guess"),
            CapturedMessage::new("m3", page),
        ],
    )
    .await;
    let known = facts.about(&ada(), "gate", None).await.unwrap();
    let mut classes: Vec<_> = known.iter().map(|fact| (fact.trust, &*fact.object)).collect();
    classes.sort();
    let expected = [(Trust::Foreign, "poison"), (Trust::Model, "guess"), (Trust::User, "truth")];
    assert_eq!(classes, expected.map(|(trust, object)| (Some(trust), object)));
    assert_eq!(*extractor.0.lock().unwrap(), [1, 1, 1]);
}

#[tokio::test]
async fn a_fact_in_quarantine_neither_holds_nor_ends_another() {
    let facts = facts(&Arc::new(InMemoryStore::default()));
    let works = |object: &str, at: i64, message: &str| {
        Statement::new("Ada", "works at", object, Cardinality::One, day(at))
            .source(MemorySource::message("s", message))
    };
    let statements =
        [works("Initech", 0, "m1"), works("Globex", 10, "m2"), works("Globex", 11, "m3")];
    facts.state(&ada(), &statements).await.unwrap();
    let memories = recalled(&facts, about("where does Ada work at?")).await;
    let named = QuarantineTarget::Id(memories[0].id.clone().unwrap());
    let by_id = Quarantine::new(ada(), named, "wrong", day(20));
    let review = facts.review().unwrap();
    review.quarantine(&by_id).await.unwrap();
    let lines = ["Ada works at Initech (as of 2026-01-01)"];
    assert_eq!(shown(&facts.about(&ada(), "Ada", None).await.unwrap()), lines);
    assert_eq!(recalled(&facts, about("where does Ada work at?")).await.len(), 1);
    assert!(review.release(&ada(), &by_id.id()).await.unwrap());
    assert_eq!(facts.about(&ada(), "Ada", None).await.unwrap().len(), 2);
    // Forgetting by the message reaches a statement in quarantine.
    let source = QuarantineTarget::Source(MemorySource::session("s"));
    review.quarantine(&Quarantine::new(ada(), source, "", day(21))).await.unwrap();
    assert!(facts.about(&ada(), "Ada", None).await.unwrap().is_empty());
    let forget = MemoryForget::source(ada(), MemorySource::message("s", "m1"));
    assert_eq!(facts.forget(&forget).await.unwrap().removed, 1);
}

#[tokio::test]
async fn a_block_has_the_lowest_class_of_its_writers_and_tools_keep_off_a_quarantine() {
    let store: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    let blocks = blocks(Arc::clone(&store));
    blocks.create(&ada(), "user", "Ada.").await.unwrap();
    assert_eq!(blocks.view(&ada(), "user").await.unwrap().trust, Some(Trust::Program));
    let tools = BlockTools::new(blocks.clone());
    let insert = json!({"block": "user", "text": "Likes tea."});
    let insert = context_core::message::ToolInput::from_written(insert.to_string());
    assert!(!tools.call(&ada(), "memory_insert", &insert).await.is_error);
    assert_eq!(blocks.view(&ada(), "user").await.unwrap().trust, Some(Trust::Model));
    blocks.edit(&ada(), "user", &append("Is an engineer."), None).await.unwrap();
    let memories = recalled(&blocks, about("")).await;
    assert_eq!(gate(&memories), [Some(Trust::Model)]);
    assert!(recalled(&blocks, about("").least_trust(Trust::User)).await.is_empty());

    let target = QuarantineTarget::Id(memories[0].id.clone().unwrap());
    let quarantine = Quarantine::new(ada(), target, "strange", day(1));
    blocks.review().unwrap().quarantine(&quarantine).await.unwrap();
    assert!(recalled(&blocks, about("")).await.is_empty());
    let view = context_core::message::ToolInput::from_written(json!({"block": "user"}).to_string());
    for (name, input) in [("memory_insert", &insert), ("memory_view", &view)] {
        let answer = tools.call(&ada(), name, input).await;
        assert!(answer.is_error && answer.text.contains("in quarantine"), "{}", answer.text);
    }
    // The program still reads and repairs it.
    assert!(blocks.view(&ada(), "user").await.unwrap().text.contains("tea"));
}

#[tokio::test]
async fn a_chain_has_a_review_if_all_of_its_providers_have_one() {
    /// Has no review.
    #[derive(Debug)]
    struct Fixed;

    #[async_trait]
    impl MemoryProvider for Fixed {
        async fn recall(
            &self,
            _: &RecallQuery,
            _: &CancelSignal,
        ) -> Result<context_core::memory::Recalled> {
            Ok(context_core::memory::Recalled::text("The gate is at the west."))
        }

        async fn capture(&self, _: &CapturedTurn, _: &CancelSignal) -> Result<()> {
            Ok(())
        }

        async fn forget(
            &self,
            _: &MemoryForget,
        ) -> Result<context_core::memory::MemoriesForgotten> {
            Ok(Default::default())
        }
    }

    let store = Arc::new(InMemoryStore::default());
    let episodes = || Episodic::new(Arc::clone(&store) as _).unwrap();
    let chain =
        ProviderChain::new().with("episodes", episodes(), 1).with("facts", facts(&store), 1);
    assert!(chain.review().is_some());
    let mixed = ProviderChain::new().with("episodes", episodes(), 1).with("fixed", Fixed, 1);
    assert!(mixed.review().is_none() && ProviderChain::new().review().is_none());
    // A memory without a class is below every class, also of a provider that knows no limit.
    let limited = LeastTrust::new(mixed, Trust::Foreign);
    assert!(recalled(&limited, about("gate")).await.is_empty());
}
