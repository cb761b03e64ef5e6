//! Blocks as applications and models use them.

use std::sync::Arc;

use context_conformance::FixedClock;
use context_core::memory::{MemoryForget, MemoryScope, RecallQuery};
use context_core::message::ToolInput;
use context_core::model::Tool;
use context_core::store::{FragmentStore, HistoryStore, StoreInfo};
use context_core::{CancelSignal, ErrorKind, MemoryProvider, Store};
use context_memory::{
    BlockEdit, BlockError, BlockRule, BlockTools, Blocks, InsertPosition, ScopeLevel,
};
use context_simulator::Random;
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;

pub(crate) fn blocks(store: Arc<dyn Store>) -> Blocks {
    Blocks::new(store, Arc::new(FixedClock::at(1_000_000))).unwrap()
}

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

pub(crate) fn append(text: &str) -> BlockEdit {
    BlockEdit::Insert { place: InsertPosition::End, text: text.to_owned() }
}

pub(crate) fn replace(old: &str, new: &str) -> BlockEdit {
    BlockEdit::Replace { old: old.to_owned(), new: new.to_owned() }
}

async fn recalled(blocks: &Blocks, scope: &MemoryScope) -> Vec<String> {
    let query = RecallQuery::new(scope.clone(), "");
    let recalled = blocks.recall(&query, &CancelSignal::never()).await.unwrap();
    recalled.memories.into_iter().map(|memory| memory.text).collect()
}

/// A store without memories.
#[derive(Debug, Default)]
struct StoreWithoutMemories(InMemoryStore);

impl Store for StoreWithoutMemories {
    fn info(&self) -> StoreInfo {
        self.0.info()
    }

    fn history(&self) -> &dyn HistoryStore {
        self.0.history()
    }

    fn fragments(&self) -> &dyn FragmentStore {
        self.0.fragments()
    }
}

#[test]
fn a_store_without_memories_is_refused() {
    let refused =
        Blocks::new(Arc::new(StoreWithoutMemories::default()), Arc::new(FixedClock::at(0)))
            .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[tokio::test]
async fn blocks_are_recalled_by_name_whatever_is_asked() {
    let blocks = blocks(Arc::new(InMemoryStore::default()))
        .declare(BlockRule::new("user").description("Who the user is."))
        .unwrap();
    blocks.create(&ada(), "task", "Book a trip.").await.unwrap();
    assert_eq!(recalled(&blocks, &ada()).await, ["task:\nBook a trip."]);
    blocks.edit(&ada(), "user", &append("Ada."), None).await.unwrap();
    let all = ["task:\nBook a trip.", "user (Who the user is.):\nAda."];
    assert_eq!(recalled(&blocks, &ada().session("s")).await, all);
    let tight = RecallQuery::new(ada(), "").max_tokens(60);
    let recalled = blocks.recall(&tight, &CancelSignal::never()).await.unwrap();
    assert_eq!((recalled.memories.len(), recalled.diagnostics.len()), (1, 1));
}

#[tokio::test]
async fn the_program_says_where_a_block_lives() {
    let blocks = blocks(Arc::new(InMemoryStore::default()))
        .declare(BlockRule::new("user").scope_level(ScopeLevel::User))
        .unwrap()
        .declare(BlockRule::new("scratch").scope_level(ScopeLevel::Session))
        .unwrap();
    let here = ada().project("p").session("s");
    for name in ["user", "scratch", "other"] {
        blocks.edit(&here, name, &append(name), None).await.unwrap();
    }
    assert_eq!(recalled(&blocks, &here).await.len(), 3);
    assert_eq!(
        recalled(&blocks, &ada().project("p").session("t")).await,
        ["other:\nother", "user:\nuser"]
    );
    assert_eq!(recalled(&blocks, &ada()).await, ["user:\nuser"]);
    assert!(recalled(&blocks, &MemoryScope::new("bob").project("p").session("s")).await.is_empty());
    // Nothing is filed under a wider scope than intended.
    let refused = blocks.edit(&ada(), "scratch", &append("x"), None).await.unwrap_err();
    assert!(matches!(refused, BlockError::Store(error) if error.kind() == ErrorKind::Invalid));
}

#[tokio::test]
async fn earlier_versions_stay_until_the_block_is_forgotten() {
    let store = Arc::new(InMemoryStore::default());
    let blocks = blocks(Arc::clone(&store) as _).keep_versions(2);
    for text in ["a", "b", "c", "d"] {
        blocks
            .edit(&ada(), "n", &BlockEdit::Rewrite { text: text.to_owned() }, None)
            .await
            .unwrap();
    }
    assert!(blocks.edit(&ada(), "n", &BlockEdit::Delete, None).await.unwrap().is_deleted);
    let history = blocks.history(&ada(), "n").await.unwrap();
    let shown: Vec<_> =
        history.iter().map(|v| (v.version, v.text.as_str(), v.is_deleted)).collect();
    assert_eq!(shown, [(5, "", true), (4, "d", false), (3, "c", false)]);
    assert_eq!(blocks.view_version(&ada(), "n", 3).await.unwrap().text, "c");
    let gone = blocks.view_version(&ada(), "n", 1).await.unwrap_err();
    assert!(matches!(gone, BlockError::NoSuchVersion { version: 1, .. }));
    assert!(matches!(blocks.view(&ada(), "n").await, Err(BlockError::Unknown { .. })));
    assert!(recalled(&blocks, &ada()).await.is_empty());
    // A deleted block can be created again and continues its version numbers.
    assert_eq!(blocks.create(&ada(), "n", "e").await.unwrap().version, 6);

    let forgotten = blocks.forget(&MemoryForget::ids(ada(), ["block:n"])).await.unwrap();
    assert_eq!((forgotten.removed, forgotten.remaining), (1, 0));
    assert!(matches!(blocks.history(&ada(), "n").await, Err(BlockError::Unknown { .. })));
    let left = store.memories().unwrap().memory_stats(&"ada".into(), 10, None).await.unwrap();
    assert!(left.items.is_empty());
    // A write after forgetting creates a new block.
    assert_eq!(blocks.create(&ada(), "n", "f").await.unwrap().version, 1);
    assert_eq!(blocks.history(&ada(), "n").await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_history_of_large_blocks_is_shorter_and_never_in_the_way() {
    let store = Arc::new(InMemoryStore::default());
    let blocks =
        blocks(store).declare(BlockRule::new("n").max_chars(32_000)).unwrap().keep_versions(100);
    // In JSON these are six times as long.
    for letter in ["\u{1}", "\u{2}", "\u{3}", "\u{4}", "\u{5}", "\u{6}", "\u{7}"] {
        let edit = BlockEdit::Rewrite { text: letter.repeat(32_000) };
        blocks.edit(&ada(), "n", &edit, None).await.unwrap();
    }
    assert_eq!(blocks.history(&ada(), "n").await.unwrap().len(), 5);
}

#[tokio::test]
async fn an_edit_of_an_old_version_is_made_only_if_it_means_the_same() {
    let blocks = blocks(Arc::new(InMemoryStore::default()));
    let old = blocks.create(&ada(), "n", "one\ntwo").await.unwrap().version;
    blocks.edit(&ada(), "n", &append("three"), Some(old)).await.unwrap();
    let done = blocks.edit(&ada(), "n", &replace("two", "2"), Some(old)).await.unwrap();
    assert_eq!((done.text.as_str(), done.version), ("one\n2\nthree", 3));
    let line = BlockEdit::Insert { place: InsertPosition::Line(1), text: "x".to_owned() };
    for edit in [line, BlockEdit::Delete, BlockEdit::Rewrite { text: String::new() }] {
        let refused = blocks.edit(&ada(), "n", &edit, Some(old)).await.unwrap_err();
        assert!(matches!(refused, BlockError::Changed { version: 3, .. }), "{edit:?}");
        assert_eq!(context_core::Error::from(refused).kind(), ErrorKind::Conflict);
    }
    let refused = blocks.edit(&ada(), "n", &replace("two", "2"), Some(old)).await.unwrap_err();
    assert!(matches!(refused, BlockError::NoSuchText { .. }));
    assert!(matches!(
        blocks.create(&ada(), "n", "").await,
        Err(BlockError::Exists { version: 3, .. })
    ));
}

#[tokio::test]
async fn there_are_not_more_blocks_than_may_be() {
    let blocks = blocks(Arc::new(InMemoryStore::default())).max_blocks(2);
    blocks.create(&ada(), "a", "a").await.unwrap();
    blocks.create(&ada(), "b", "b").await.unwrap();
    assert!(matches!(blocks.create(&ada(), "c", "c").await, Err(BlockError::TooMany { limit: 2 })));
    // Each scope has its own limit.
    blocks.create(&ada().project("p"), "c", "c").await.unwrap();
    blocks.edit(&ada(), "a", &BlockEdit::Delete, None).await.unwrap();
    blocks.create(&ada(), "c", "c").await.unwrap();
    assert!(matches!(blocks.create(&ada(), "a", "a").await, Err(BlockError::TooMany { limit: 2 })));
    // Repeated deletion does not grow without bound.
    for number in 0..13 {
        blocks.edit(&ada(), "b", &BlockEdit::Delete, None).await.ok();
        blocks.create(&ada(), &format!("n{number}"), "x").await.unwrap();
        blocks.edit(&ada(), &format!("n{number}"), &BlockEdit::Delete, None).await.unwrap();
    }
    let refused = blocks.create(&ada(), "z", "x").await.unwrap_err();
    assert!(matches!(refused, BlockError::TooManyDeleted { limit: 16 }), "{refused}");
    blocks.create(&ada(), "b", "x").await.unwrap();
}

#[tokio::test]
async fn a_model_is_told_what_would_be_right() {
    let blocks = blocks(Arc::new(InMemoryStore::default()))
        .declare(BlockRule::new("user").max_chars(40).description("Who the user is"))
        .unwrap()
        .only_declared();
    let tools = BlockTools::new(blocks);
    let calls = [
        ("memory_view", "{}"),
        ("memory_view", r#"{"block": "user"}"#),
        ("memory_insert", r#"{"block": "user", "text": "Ada, Lisbon"}"#),
        ("memory_insert", r#"{"block": "user", "text": "Calls herself Ada", "line": 0}"#),
        ("memory_view", r#"{"block": "user"}"#),
        ("memory_view", r#"{"block": "user", "version": 1}"#),
        ("memory_view", r#"{"block": "user", "version": 9}"#),
        ("memory_replace", r#"{"block": "user", "old": "Ada", "new": "Eve"}"#),
        ("memory_replace", r#"{"block": "user", "old": "Bob", "new": "Eve"}"#),
        ("memory_replace", r#"{"block": "user", "old": "", "new": "Eve"}"#),
        ("memory_replace", r#"{"block": "user", "old": "Lisbon", "new": "Porto"}"#),
        ("memory_insert", r#"{"block": "user", "text": "0123456789 and more"}"#),
        ("memory_insert", r#"{"block": "user", "text": "x", "line": 7}"#),
        ("memory_insert", r#"{"block": "user", "text": "\n"}"#),
        ("memory_insert", r#"{"block": "task", "text": "x"}"#),
        ("memory_insert", r#"{"block": "../x", "text": "x"}"#),
        ("memory_insert", r#"{"block": "user", "text": "x", "scope": "bob"}"#),
        ("memory_insert", r#"{"block": "user"}"#),
        ("memory_delete", r#"{"block": 3}"#),
        ("memory_delete", r#"{"block": "#),
        ("memory_delete", r#"{"block": "user"}"#),
        ("memory_delete", r#"{"block": "user"}"#),
        ("memory_view", "{}"),
        ("bash", "{}"),
    ];
    let mut log = String::new();
    for (name, input) in calls {
        let answer = tools.call(&ada(), name, &ToolInput::from_written(input)).await;
        assert!(answer.fault.is_none());
        let sign = if answer.is_error { "!" } else { ">" };
        log.push_str(&format!("{name} {input}\n{sign} {}\n", answer.text.trim_end()));
    }
    insta::assert_snapshot!("answers", log);
}

#[test]
fn a_model_is_told_the_tools_in_the_same_words_each_time() {
    let make = || {
        let blocks = blocks(Arc::new(InMemoryStore::default()))
            .declare(BlockRule::new("user").max_chars(40).description("Who the user is"))
            .unwrap();
        BlockTools::new(blocks).tools()
    };
    assert_eq!(make(), make());
    let tools = make();
    let told = tools.iter().map(|tool| match tool {
        Tool::Function(tool) => {
            let said = tool.description.as_deref().unwrap_or_default();
            format!("{}\n{said}\n{}\n", tool.name, tool.input_schema.as_str())
        }
        other => format!("{other:?}"),
    });
    insta::assert_snapshot!("tools", told.collect::<Vec<_>>().join("\n"));
}

#[tokio::test]
async fn nothing_shows_what_a_block_says() {
    let blocks = blocks(Arc::new(InMemoryStore::default()));
    let block = blocks.create(&ada(), "n", "hush-hush").await.unwrap();
    let history = blocks.history(&ada(), "n").await.unwrap();
    let refused = blocks.edit(&ada(), "n", &replace("hush", "psst"), None).await.unwrap_err();
    let shown =
        format!("{blocks:?} {block:?} {history:?} {refused} {refused:?} {:?}", append("hush"));
    assert!(!shown.contains("hush"), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_model_says_is_answered(input in "\\PC{0,60}", seed in any::<u64>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let tools = BlockTools::new(blocks(Arc::new(InMemoryStore::default())));
        let mut random = Random::new(seed);
        let words = ["user", "é", "\n", "", "ab\nab", &input];
        for _ in 0..20 {
            let mut word = || words[random.below(words.len())];
            let written = serde_json::json!({"block": "user", "text": word(), "old": word(), "new": word(), "line": word().len()});
            let mut fields = written.as_object().unwrap().clone();
            let name = ["memory_view", "memory_insert", "memory_replace",
                "memory_delete"][random.below(4)];
            let taken: &[&str] = match name {
                "memory_insert" => &["block", "text", "line"],
                "memory_replace" => &["block", "old", "new"],
                _ => &["block"],
            };
            fields.retain(|field, _| taken.contains(&field.as_str()));
            let written = if random.below(8) == 0 { input.clone() } else {
                serde_json::to_string(&fields).unwrap() };
            let written = ToolInput::from_written(written);
            prop_assert!(runtime.block_on(tools.call(&ada(), name, &written)).fault.is_none());
        }
    }

    #[test]
    fn blocks_are_seen_where_their_scope_is_and_nowhere_else(
        filed in scopes(), asked in scopes(), name in "[a-z]{1,4}",
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = Arc::new(InMemoryStore::default());
            let whole = match filed.session {
                Some(_) => ScopeLevel::Session,
                None => ScopeLevel::Agent,
            };
            let writer = blocks(Arc::clone(&store) as _).others(100, whole).unwrap();
            writer.create(&filed, &name, "here").await.unwrap();
            let is_seen = !recalled(&blocks(store), &asked).await.is_empty();
            assert_eq!(is_seen, asked.sees(&filed));
        });
    }
}

pub(crate) fn scopes() -> impl Strategy<Value = MemoryScope> {
    let name = || proptest::option::of("[ab]");
    ("[ab]", name(), name(), name()).prop_map(|(user, project, agent, session)| {
        let mut scope = MemoryScope::new(user);
        scope.project = project;
        scope.agent = agent;
        scope.session = session.map(Into::into);
        scope
    })
}
