//! Full-text search of this store: its hits, its updates by every write, and files without it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod unindexed;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{
    Commit, CommitOutcome, Cursor, ForkName, NewChat, SearchHit, SearchQuery, SearchScope, Target,
};
use context_core::{
    BranchName, CancelSignal, ChatRef, Encoded, ErrorKind, Message, MessageId, Node, Role, Store,
    Timestamp,
};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use proptest::prelude::*;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

const T: Timestamp = Timestamp::from_micros(1_000_000);

struct SearchFixture {
    folder: TempDir,
    store: SqliteStore,
}

impl SearchFixture {
    async fn new() -> Self {
        Self::of(|_| {}).await
    }

    /// Opens a store over an existing file.
    async fn of(before: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        before(&folder.path().join("s.db"));
        let store = SqliteStore::open(SqliteConfig::new(folder.path().join("s.db"))).await.unwrap();
        Self { folder, store }
    }

    async fn file(&self) -> SqliteConnection {
        SqliteConnectOptions::new()
            .filename(self.folder.path().join("s.db"))
            .connect()
            .await
            .unwrap()
    }

    async fn chat(&self, user: &str, id: &str) -> ChatRef {
        let chat = ChatRef::new(user, id);
        let _ = self.store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
        chat
    }

    async fn apply(&self, commit: Commit) {
        let outcome = self.store.history().commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
    }

    async fn extend(
        &self,
        chat: &ChatRef,
        branch: &str,
        expected: Option<&str>,
        nodes: Vec<Arc<Node>>,
    ) {
        let target =
            Target::Extend { branch: branch.into(), expected: expected.map(MessageId::from) };
        self.apply(Commit { nodes, ..Commit::new(chat.clone(), target, T) }).await;
    }

    async fn fork(&self, chat: &ChatRef, branch: &str, at: Option<&str>, nodes: Vec<Arc<Node>>) {
        let name = ForkName::Exact(branch.into());
        let target = Target::Fork { name, at: at.map(MessageId::from), activate: false };
        self.apply(Commit { nodes, ..Commit::new(chat.clone(), target, T) }).await;
    }

    async fn search(&self, query: &SearchQuery) -> Vec<SearchHit> {
        self.store.search().unwrap().search(query).await.unwrap().items
    }

    /// Returns the ids of the user's messages that are found, sorted.
    async fn ids(&self, user: &str, text: &str) -> Vec<String> {
        ids(&self.search(&SearchQuery { limit: 1000, ..SearchQuery::new(user, text) }).await)
    }

    async fn problems(&self) -> Vec<String> {
        let report = self.store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        report.findings.iter().map(ToString::to_string).collect()
    }
}

fn ids(hits: &[SearchHit]) -> Vec<String> {
    let mut ids: Vec<_> = hits.iter().map(|hit| hit.message.to_string()).collect();
    ids.sort();
    ids
}

fn says(id: &str, role: Role, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(role, text), T))
}

fn user(id: &str, text: &str) -> Arc<Node> {
    says(id, Role::User, text)
}

#[tokio::test]
async fn finds_what_every_way_of_writing_wrote() {
    let lab = SearchFixture::new().await;
    let chat = lab.chat("ada", "c").await;
    // A transaction, then an append of one row, of two rows, and of many.
    lab.extend(&chat, "main", None, vec![user("a", "Two tickets to Lisbon")]).await;
    lab.extend(&chat, "main", Some("a"), vec![user("b", "On FRIDAY, to lisbon!")]).await;
    lab.extend(
        &chat,
        "main",
        Some("b"),
        vec![user("c", " …"), says("d", Role::Assistant, "Café in Lisbon")],
    )
    .await;
    let many = (0..20)
        .map(|i| user(&format!("e{i}"), if i == 7 { "lisbon again" } else { "else" }))
        .collect();
    lab.extend(&chat, "main", Some("d"), many).await;
    let foreign = Encoded::new("other", 1, "lisbon");
    let foreign = Node::from_encoded("f".into(), NodeKind::Message(Role::User), T, foreign);
    let boundary =
        Node::from_encoded("g".into(), NodeKind::Boundary, T, Encoded::new("cut", 1, "lisbon"));
    lab.extend(&chat, "main", Some("e19"), vec![Arc::new(foreign)]).await;
    lab.extend(&chat, "main", Some("f"), vec![Arc::new(boundary)]).await;
    assert_eq!(lab.ids("ada", "LISBON").await, ["a", "b", "d", "e7"]);
    assert_eq!(lab.ids("ada", "to lisbon").await, ["a", "b"]);
    assert_eq!(lab.ids("ada", "cafe").await, ["d"]);
    assert_eq!(lab.ids("ada", "").await, [""; 0]);
    assert_eq!(lab.ids("bob", "lisbon").await, [""; 0]);
    assert_eq!(lab.problems().await, ["ada/c message f: stored as \"other\", not as \"message\""]);
    let best = &lab.search(&SearchQuery::new("ada", "friday")).await[0];
    assert_eq!(
        (best.message.as_str(), best.chat.clone(), best.role, best.created_at),
        ("b", chat, Role::User, T)
    );
    assert_eq!(best.snippet.text, "On FRIDAY, to lisbon!");
    assert_eq!(best.snippet.marks, vec![3..9]);
    assert!(best.score > 0.0);
}

#[tokio::test]
async fn nothing_that_is_typed_is_syntax() {
    let lab = SearchFixture::new().await;
    let chat = lab.chat("ada", "c").await;
    lab.extend(
        &chat,
        "main",
        None,
        vec![user("a", "what's up? foo:bar a-b NEAR \"quoted\" 北京 or")],
    )
    .await;
    for text in
        ["what's up?", "foo:bar", "a-b", "\"quoted\"", "NEAR", "北京", "OR", "user", "{user} :"]
    {
        let expected: &[&str] = if text.contains("user") { &[] } else { &["a"] };
        assert_eq!(lab.ids("ada", text).await, expected, "{text}");
    }
    for text in ["\"", "'", "*", "(", "a AND", "^a", "-", "京北", "foo bar:", "\0", ")\" OR \"a"]
    {
        lab.ids("ada", text).await;
    }
    let longest = "q ".repeat(2048);
    assert_eq!(lab.ids("ada", &longest).await, [""; 0]);
    let many: String = (0..1000).map(|i| format!("{i:x} ")).collect();
    assert_eq!(lab.ids("ada", &many).await, [""; 0]);
    let mut prefix = SearchQuery { prefix: true, ..SearchQuery::new("ada", "up quo") };
    assert_eq!(lab.search(&prefix).await.len(), 1);
    prefix.prefix = false;
    assert_eq!(lab.search(&prefix).await.len(), 0);
}

#[tokio::test]
async fn scopes_and_roles() {
    let lab = SearchFixture::new().await;
    let (one, two) = (lab.chat("ada", "one").await, lab.chat("ada", "two").await);
    let others = lab.chat("bob", "one").await;
    lab.extend(
        &one,
        "main",
        None,
        vec![user("a", "word"), says("b", Role::Assistant, "word"), user("c", "word")],
    )
    .await;
    lab.extend(&two, "main", None, vec![says("d", Role::Tool, "word")]).await;
    lab.extend(&others, "main", None, vec![user("x", "word")]).await;
    lab.fork(&one, "side", Some("b"), vec![says("e", Role::System, "word")]).await;
    lab.extend(&one, "side", Some("e"), vec![user("f", "word")]).await;
    let found = async |scope: SearchScope, roles: &[Role]| {
        let query = SearchQuery { scope, roles: roles.to_vec(), ..SearchQuery::new("ada", "word") };
        ids(&lab.search(&query).await)
    };
    let branch = |name: &str| SearchScope::Branch("one".into(), BranchName::from(name));
    assert_eq!(found(SearchScope::User, &[]).await, ["a", "b", "c", "d", "e", "f"]);
    assert_eq!(found(SearchScope::Chat("one".into()), &[]).await, ["a", "b", "c", "e", "f"]);
    assert_eq!(found(branch("main"), &[]).await, ["a", "b", "c"]);
    assert_eq!(found(branch("side"), &[]).await, ["a", "b", "e", "f"]);
    assert_eq!(found(SearchScope::User, &[Role::Tool, Role::System]).await, ["d", "e"]);
    assert_eq!(found(branch("side"), &[Role::User]).await, ["a", "f"]);
    let absent = async |user: &str, scope: SearchScope| {
        let query = SearchQuery { scope, ..SearchQuery::new(user, "word") };
        lab.store.search().unwrap().search(&query).await.unwrap_err().kind()
    };
    assert_eq!(absent("ada", branch("none")).await, ErrorKind::NotFound);
    assert_eq!(absent("ada", SearchScope::Chat("none".into())).await, ErrorKind::NotFound);
    assert_eq!(absent("bob", SearchScope::Chat("two".into())).await, ErrorKind::NotFound);
    let bad = SearchQuery { after: Some(Cursor::new("1")), ..SearchQuery::new("ada", "word") };
    let error = lab.store.search().unwrap().search(&bad).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn pages_are_in_order_and_lose_nothing() {
    let lab = SearchFixture::new().await;
    let chat = lab.chat("ada", "c").await;
    let nodes = (0..50)
        .map(|i| user(&format!("m{i:02}"), if i % 7 == 0 { "word word" } else { "word of" }))
        .collect();
    lab.extend(&chat, "main", None, nodes).await;
    let mut query = SearchQuery { limit: 7, ..SearchQuery::new("ada", "word") };
    let mut all = Vec::new();
    loop {
        let page = lab.store.search().unwrap().search(&query).await.unwrap();
        all.extend(page.items);
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let mut sorted = all.clone();
    sorted.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| b.message.cmp(&a.message)));
    assert_eq!(all, sorted);
    assert_eq!(ids(&all), (0..50).map(|i| format!("m{i:02}")).collect::<Vec<_>>());
    assert_eq!(all[0].message.as_str(), "m49");
}

#[tokio::test]
async fn the_index_follows_what_is_changed_and_what_goes() {
    let lab = SearchFixture::new().await;
    let (chat, other) = (lab.chat("ada", "c").await, lab.chat("ada", "d").await);
    lab.extend(
        &chat,
        "main",
        None,
        vec![user("a", "apple"), user("b", "apple"), user("c", "apple")],
    )
    .await;
    lab.extend(&other, "main", None, vec![user("z", "apple")]).await;
    lab.fork(&chat, "side", Some("b"), vec![user("s", "apple")]).await;
    let stay = |chat: &ChatRef| Commit::new(chat.clone(), Target::Stay, T);
    lab.apply(Commit { amendments: vec![user("a", "pear")], ..stay(&chat) }).await;
    lab.apply(Commit { redactions: vec![user("b", "")], ..stay(&chat) }).await;
    assert_eq!(lab.ids("ada", "apple").await, ["c", "s", "z"]);
    assert_eq!(lab.ids("ada", "pear").await, ["a"]);
    assert_eq!(lab.problems().await, [""; 0]);
    let side = MessageId::from("s");
    let deleted =
        lab.store.history().delete_branch(&chat, &"side".into(), Some(&side), T).await.unwrap();
    assert!(
        matches!(deleted, context_core::store::BranchDeletion::Deleted { messages: 1, .. }),
        "{deleted:?}"
    );
    assert_eq!(lab.ids("ada", "apple").await, ["c", "z"]);
    assert!(lab.store.history().delete_chat(&chat, None).await.unwrap());
    assert_eq!(lab.ids("ada", "apple").await, ["z"]);
    assert_eq!(lab.ids("ada", "pear").await, [""; 0]);
    assert_eq!(lab.problems().await, [""; 0]);
}

#[tokio::test]
async fn a_branch_that_is_cut_keeps_the_words_of_what_is_needed() {
    let lab = SearchFixture::new().await;
    let chat = lab.chat("ada", "c").await;
    lab.extend(&chat, "main", None, vec![user("a", "fig")]).await;
    lab.fork(&chat, "one", Some("a"), (0..40).map(|i| user(&format!("n{i:02}"), "fig")).collect())
        .await;
    lab.fork(&chat, "two", Some("n09"), vec![user("t", "fig")]).await;
    let head = MessageId::from("n39");
    let _ = lab.store.history().delete_branch(&chat, &"one".into(), Some(&head), T).await.unwrap();
    let mut expected: Vec<_> = (0..10).map(|i| format!("n{i:02}")).collect();
    expected.insert(0, "a".to_owned());
    expected.push("t".to_owned());
    assert_eq!(lab.ids("ada", "fig").await, expected);
    assert_eq!(lab.problems().await, [""; 0]);
}

#[tokio::test]
async fn an_erased_users_words_are_in_no_file() {
    let lab = SearchFixture::new().await;
    let (chat, others) = (lab.chat("ada", "c").await, lab.chat("bob", "c").await);
    lab.extend(&chat, "main", None, vec![user("a", "xylophone")]).await;
    lab.extend(&others, "main", None, vec![user("a", "trumpet")]).await;
    let erasure = lab
        .store
        .maintenance()
        .unwrap()
        .erase_user(&"ada".into(), &CancelSignal::never())
        .await
        .unwrap();
    assert_eq!((erasure.messages, erasure.remaining), (1, 0));
    assert_eq!(lab.ids("bob", "trumpet").await, ["a"]);
    let mut bytes = Vec::new();
    for entry in std::fs::read_dir(lab.folder.path()).unwrap() {
        bytes.extend(std::fs::read(entry.unwrap().path()).unwrap());
    }
    let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    assert!(has(b"trumpet") && !has(b"xylophone"));
}

#[tokio::test]
async fn the_check_finds_an_index_that_disagrees() {
    async fn after(tamper: &'static str) -> Vec<String> {
        let lab = SearchFixture::new().await;
        let chat = lab.chat("ada", "c").await;
        lab.extend(
            &chat,
            "main",
            None,
            vec![user("a", "apple"), user("b", "pear"), user("c", "…")],
        )
        .await;
        // Until something searches, the messages are only noted.
        assert_eq!(lab.problems().await, [""; 0]);
        assert_eq!(lab.ids("ada", "apple").await, ["a"]);
        assert_eq!(lab.problems().await, [""; 0]);
        sqlx::query(tamper).execute(&mut lab.file().await).await.unwrap();
        lab.problems().await
    }
    let missing = after("DELETE FROM words WHERE rowid = (1 << 32) + 1").await;
    let about = "ada/c branch 1: the full-text index";
    assert_eq!(missing, [format!("{about} lacks 1 message")]);
    let others = [
        "UPDATE words SET user = 'other', assistant = NULL, tool = NULL, system = NULL WHERE rowid = (1 << 32) + 1",
        "UPDATE words SET user = 'one two', assistant = NULL, tool = NULL, system = NULL WHERE rowid = (1 << 32) + 2",
        "UPDATE words SET user = NULL, assistant = 'pear', tool = NULL, system = NULL WHERE rowid = (1 << 32) + 2",
    ];
    for tamper in others {
        let other = after(tamper).await;
        assert_eq!(other, [format!("{about} has other words for 1 message")]);
    }
    let more = after("INSERT INTO words (rowid, user) VALUES ((1 << 32) + 3, 'more')").await;
    assert_eq!(more, [format!("{about} has 1 message without words")]);
    let stray = after("INSERT INTO words (rowid, user) VALUES ((9 << 32) + 1, 'more')").await;
    assert_eq!(stray, ["table words, place 9/1: belongs to no chat"]);
    let twice = after("INSERT INTO unindexed (pos, added) VALUES ((1 << 32) + 1, 1)").await;
    assert_eq!(twice, [format!("{about} has 1 message without words")]);
    let stray = after("INSERT INTO unindexed (pos, added) VALUES ((1 << 32) + 3, 2)").await;
    assert_eq!(stray[0], "table unindexed, place 1/3: belongs to no chat");
}

#[tokio::test]
async fn full_text_is_decided_when_the_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let config = |name: &str| SqliteConfig::new(folder.path().join(name));
    let without = SqliteStore::open(config("without").full_text(false)).await.unwrap();
    assert!(without.search().is_none());
    assert!(SqliteStore::open(config("without")).await.unwrap().search().is_none());
    let error = SqliteStore::open(config("without").full_text(true)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(
        error.message(),
        "the file has no full-text search, which is fixed when the file is created"
    );
    assert!(SqliteStore::open(config("with")).await.unwrap().search().is_some());
    assert!(SqliteStore::open(config("with").full_text(true)).await.unwrap().search().is_some());
    let error = SqliteStore::open(config("with").full_text(false)).await.unwrap_err();
    assert_eq!(
        error.message(),
        "the file has full-text search, which is fixed when the file is created"
    );
}

#[tokio::test]
async fn an_old_file_gets_an_index_of_all_that_is_in_it() {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/old/v1.db");
    let lab = SearchFixture::of(|path| assert!(std::fs::copy(old, path).unwrap() > 0)).await;
    assert_eq!(lab.problems().await, [""; 0]);
    let history = lab.store.history();
    let chat = ChatRef::new("ada", "trip");
    let placed = history.all_messages(&chat, 1000, None).await.unwrap().items;
    let query = |text: &str| SearchQuery {
        limit: 1000,
        scope: SearchScope::Chat(chat.chat.clone()),
        ..SearchQuery::new("ada", text)
    };
    for text in ["after", "third words", "m7"] {
        let terms = context_store_kit::search::Terms::parse(text, false);
        let text_of = |placed: &PlacedNode| Some(placed.node.message().ok()?.readable_text());
        let has =
            |placed: &&PlacedNode| text_of(placed).is_some_and(|text| terms.count(&text).is_hit());
        let mut expected: Vec<_> =
            placed.iter().filter(has).map(|placed| placed.node.id.to_string()).collect();
        expected.sort();
        assert_eq!(ids(&lab.search(&query(text)).await), expected, "{text}");
    }
    assert_eq!(ids(&lab.search(&query("third words")).await), ["m5", "s3"]);
}

/// An index that was updated step by step equals an index that is built from the stored messages.
async fn agrees(texts: Vec<(u8, String)>, queries: Vec<String>) {
    let lab = SearchFixture::new().await;
    let (chat, once) = (lab.chat("ada", "c").await, lab.chat("bob", "c").await);
    let role = |n: u8| [Role::User, Role::Assistant, Role::Tool, Role::System][usize::from(n) % 4];
    let nodes: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(i, (n, text))| says(&format!("m{i}"), role(*n), text))
        .collect();
    let mut head: Option<String> = None;
    let (mut at, mut step) = (0, 1);
    while at < nodes.len() {
        let next = nodes[at..nodes.len().min(at + step)].to_vec();
        at += step;
        step = step % 4 + 1;
        let last = next.last().unwrap().id.to_string();
        lab.extend(&chat, "main", head.as_deref(), next).await;
        head = Some(last);
    }
    lab.extend(&once, "main", None, nodes.clone()).await;
    for text in queries {
        let terms = context_store_kit::search::Terms::parse(&text, false);
        let expected: BTreeMap<_, _> = nodes
            .iter()
            .filter(|node| terms.count(&node.message().unwrap().readable_text()).is_hit())
            .map(|node| (node.id.to_string(), ()))
            .collect();
        let expected: Vec<_> = expected.into_keys().collect();
        assert_eq!(lab.ids("ada", &text).await, expected, "{text:?}");
        assert_eq!(lab.ids("bob", &text).await, expected, "{text:?}");
    }
    assert_eq!(lab.problems().await, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(24) })]

    #[test]
    fn the_index_finds_what_reading_finds(
        texts in prop::collection::vec((0u8..4, "[abcä京東'\" ]{0,12}"), 1..40),
        queries in prop::collection::vec("[abcä京東'\"* ]{1,5}", 1..6),
    ) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(agrees(texts,
            queries));
    }
}
