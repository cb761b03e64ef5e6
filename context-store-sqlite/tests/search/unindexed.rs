//! Messages whose words are not in the index yet.

use context_core::store::{Commit, CommitOutcome, SearchQuery, SearchScope, Target};
use context_core::{ErrorKind, Role, Store};
use context_store_sqlite::{SqliteConfig, SqliteStore};
use proptest::prelude::*;

use crate::{SearchFixture, T, ids, says, user};

/// What is written is indexed later, many messages at a time. No search may show that.
async fn agrees_with_one_at_a_time(texts: Vec<(u8, String)>, queries: Vec<String>) {
    let (late, once) = (SearchFixture::new().await, SearchFixture::new().await);
    let role = |n: u8| [Role::User, Role::Assistant, Role::Tool, Role::System][usize::from(n) % 4];
    let users = ["ada", "bob"];
    let mut heads = [[None::<String>, None], [None, None]];
    for (which, lab) in [&late, &once].into_iter().enumerate() {
        let chats = [lab.chat("ada", "c").await, lab.chat("bob", "c").await];
        for (i, (n, text)) in texts.iter().enumerate() {
            let (whose, id) = (usize::from(*n / 4) % 2, format!("m{i}"));
            let head = heads[which][whose].replace(id.clone());
            let node = says(&id, role(*n), text);
            lab.extend(&chats[whose], "main", head.as_deref(), vec![node]).await;
            if which == 1 {
                let _ = lab.search(&SearchQuery::new("ada", "a")).await;
            }
        }
    }
    let config = SqliteConfig::new(late.folder.path().join("s.db"));
    let reader = SqliteStore::open(config.read_only(true)).await.unwrap();
    let pages = async |store: &SqliteStore, query: &SearchQuery| {
        let (mut hits, mut query) = (Vec::new(), SearchQuery { limit: 3, ..query.clone() });
        loop {
            let page = store.search().unwrap().search(&query).await.unwrap();
            hits.extend(page.items);
            query.after = page.next;
            if query.after.is_none() {
                return hits;
            }
        }
    };
    let scopes = [
        SearchScope::User,
        SearchScope::Chat("c".into()),
        SearchScope::Branch("c".into(), "main".into()),
    ];
    let mut queries: Vec<SearchQuery> = queries
        .iter()
        .flat_map(|text| users.map(|user| SearchQuery::new(user, text.as_str())))
        .flat_map(|query| scopes.clone().map(|scope| SearchQuery { scope, ..query.clone() }))
        .collect();
    for query in queries.iter_mut().step_by(4) {
        query.roles = vec![Role::User, Role::Tool];
    }
    // A handle that only reads cannot index: it finds the same, and orders it by the same rule.
    let mut read = Vec::new();
    for query in &queries {
        read.push(ids(&pages(&reader, query).await));
    }
    for (query, read) in queries.iter().zip(read) {
        let expected = pages(&once.store, query).await;
        assert_eq!(pages(&late.store, query).await, expected, "{query:?}");
        assert_eq!(read, ids(&expected), "{query:?}");
    }
    assert_eq!(late.problems().await, [""; 0]);
}

/// More messages than a handle leaves unindexed. They are indexed by a task of the store, or by the
/// append where no task can run.
#[tokio::test]
async fn many_messages_are_indexed_without_a_search() {
    let lab = SearchFixture::new().await;
    let chat = lab.chat("ada", "c").await;
    let mut head: Option<String> = None;
    let mut file = lab.file().await;
    let waiting = "SELECT coalesce(sum(added), 0) FROM unindexed";
    for i in 0..2_000 {
        let id = format!("m{i}");
        lab.extend(&chat, "main", head.as_deref(), vec![user(&id, "a word")]).await;
        head = Some(id);
        let waiting: i64 = sqlx::query_scalar(waiting).fetch_one(&mut file).await.unwrap();
        assert!(waiting <= 1_024, "{waiting} after {i}");
        tokio::task::yield_now().await;
    }
    let indexed: i64 = sqlx::query_scalar("SELECT count(*) FROM words_docsize")
        .fetch_one(&mut file)
        .await
        .unwrap();
    assert!(indexed > 900, "{indexed}");
    let query = SearchQuery { limit: 1_000, ..SearchQuery::new("ada", "word") };
    assert_eq!(lab.search(&query).await.len(), 1_000);
    assert_eq!(lab.problems().await, [""; 0]);
}

/// An append that finds too many messages indexes some itself. The append is stored by then, so
/// damage that keeps them from being indexed is no error of it, but one of the search.
#[tokio::test]
async fn what_cannot_be_indexed_fails_the_search_and_not_the_append() {
    let lab = SearchFixture::new().await;
    let chat = lab.chat("ada", "c").await;
    lab.extend(&chat, "main", None, vec![user("a", "apple")]).await;
    let stray = "INSERT INTO unindexed (pos, added) VALUES ((9 << 32) + 1, 5000)";
    sqlx::query(stray).execute(&mut lab.file().await).await.unwrap();
    let store = SqliteStore::open(SqliteConfig::new(lab.folder.path().join("s.db"))).await.unwrap();
    let target = Target::Extend { branch: "main".into(), expected: Some("a".into()) };
    let commit = Commit { nodes: vec![user("b", "pear")], ..Commit::new(chat, target, T) };
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
    let error = store.search().unwrap().search(&SearchQuery::new("ada", "pear")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(24) })]

    #[test]
    fn a_search_does_not_show_when_messages_were_indexed(
        texts in prop::collection::vec((0u8..8, "[abcä京東'\" ]{0,12}"), 1..30),
        queries in prop::collection::vec("[abcä京東'\"* ]{1,5}", 1..4),
    ) {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
            .block_on(agrees_with_one_at_a_time(texts, queries));
    }
}
