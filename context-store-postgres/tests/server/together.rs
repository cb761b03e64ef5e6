//! Calls that wait for a connection are answered together, each with its own answer.

use context_core::store::{
    ChainEnd, Commit, CommitOutcome, Durability, SearchQuery, Target, Window,
};
use context_core::{Chain, ChatRef, Result, Store};
use context_store_postgres::PostgresStore;
use futures_util::future::join_all;

use crate::fixture::{StoreFixture, append, chat, extend, ids, nothing_is_wrong, says};
use crate::proxy::Proxy;

const CHATS: usize = 12;

async fn chats(store: &PostgresStore) -> Vec<ChatRef> {
    let mut chats = Vec::new();
    for i in 0..CHATS {
        let chat = chat(store, &format!("user-{i}")).await;
        append(store, &chat, "", &["m0"]).await;
        chats.push(chat);
    }
    chats
}

async fn all(store: &PostgresStore, commits: Vec<Commit>) -> Vec<Result<CommitOutcome>> {
    join_all(commits.into_iter().map(|commit| store.history().commit(commit))).await
}

/// The next message of each chat. Every other one is grafted.
fn next(chats: &[ChatRef], number: usize) -> Vec<Commit> {
    let (head, id) = (format!("m{}", number - 1), format!("m{number}"));
    let next = chats.iter().enumerate().map(|(i, chat)| {
        let mut commit = extend(chat, &head, vec![says(&id, "some words")]);
        if i % 2 == 0 {
            commit.target =
                Target::Graft { branch: "main".into(), seen: Some(head.clone().into()) };
        }
        commit
    });
    next.collect()
}

fn is_applied(outcome: &Result<CommitOutcome>) -> bool {
    matches!(outcome, Ok(CommitOutcome::Applied(_)))
}

async fn looks(store: &PostgresStore, chats: &[ChatRef], have: &[Chain]) -> Vec<Chain> {
    let end = ChainEnd::Branch("main".into());
    let looks = chats.iter().zip(have).map(|(chat, have)| {
        let message = have.iter().last().unwrap().id.clone();
        let window = Window::After { message, generation: have.generation() };
        let end = &end;
        async move { store.history().chain(chat, end, &window).await.unwrap() }
    });
    join_all(looks).await
}

async fn chains(store: &PostgresStore, chats: &[ChatRef]) -> Vec<Chain> {
    let end = ChainEnd::Branch("main".into());
    join_all(
        chats
            .iter()
            .map(|chat| async { store.history().chain(chat, &end, &Window::Whole).await.unwrap() }),
    )
    .await
}

pub(crate) async fn calls_that_wait_share_a_statement() {
    let fixture = StoreFixture::new();
    let (proxy, config) = Proxy::in_front_of(&fixture).await;
    let store = PostgresStore::open(config).await.unwrap();
    let chats = chats(&store).await;
    // Blocks of 16 and of 64 messages fill up on the way.
    for number in 1..70 {
        let before = proxy.round_trips();
        let outcomes = all(&store, next(&chats, number)).await;
        assert!(outcomes.iter().all(is_applied), "{outcomes:?}");
        // The first ones also prepare statements.
        assert!(number < 10 || proxy.round_trips() - before <= 2, "message {number}");
    }
    let whole = chains(&store, &chats).await;
    assert!(whole.iter().all(|chain| chain.len() == 70));
    let mut trips = Vec::new();
    for _ in 0..3 {
        let before = proxy.round_trips();
        let found = looks(&store, &chats, &whole).await;
        assert!(found.iter().all(|chain| chain.is_empty() && chain.skipped() == 70), "{found:?}");
        trips.push(proxy.round_trips() - before);
    }
    assert!(trips[2] <= 2, "{trips:?}");
    // A look that finds something returns it, and the others are not affected.
    let other = fixture.open().await;
    append(&other, &chats[7], "m69", &["news"]).await;
    let found = looks(&store, &chats, &whole).await;
    let lengths: Vec<usize> = found.iter().map(|chain| chain.len()).collect();
    assert_eq!(lengths, [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

pub(crate) async fn each_append_of_a_group_has_its_own_outcome() {
    let fixture = StoreFixture::new();
    let store = PostgresStore::open(fixture.config().connections(1)).await.unwrap();
    let chats = chats(&store).await;
    for round in 0..3 {
        let number = round + 1;
        let mut commits = next(&chats[3..], number);
        // A chat that another one of the group writes to as well, from the same head.
        commits.push(extend(&chats[3], &format!("m{round}"), vec![says("late", "some words")]));
        // A head that never was.
        commits.push(extend(&chats[0], "no such", vec![says("lost", "some words")]));
        // Repeated after a lost answer.
        commits.push(extend(&chats[1], "", vec![says("m0", "some words")]));
        commits.push(extend(&ChatRef::new("nobody", "chat"), "", vec![says("m0", "words")]));
        for (commit, durability) in
            commits.iter_mut().zip([None, Some(Durability::Process), Some(store.info().strongest)])
        {
            commit.durability = durability;
        }
        let outcomes = all(&store, commits).await;
        let (written, others) = outcomes.split_at(CHATS - 3);
        assert!(written.iter().all(is_applied), "{written:?}");
        assert!(matches!(others[0], Ok(CommitOutcome::Conflict { .. })), "{others:?}");
        assert!(matches!(others[1], Ok(CommitOutcome::Conflict { .. })), "{others:?}");
        assert!(matches!(others[2], Ok(CommitOutcome::Replayed(_))), "{others:?}");
        assert!(others[3].as_ref().is_err_and(|error| error.is_not_found()), "{others:?}");
    }
    assert_eq!(ids(&store, &chats[3]).await, ["m0", "m1", "m2", "m3"]);
    assert_eq!(ids(&store, &chats[0]).await, ["m0"]);
    let query = SearchQuery::new("user-5", "words");
    assert_eq!(store.search().unwrap().search(&query).await.unwrap().items.len(), 4);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

/// A group waits for nobody: a chat that another program holds delays its own append alone.
pub(crate) async fn a_locked_chat_does_not_delay_the_others() {
    let fixture = StoreFixture::new();
    let store = PostgresStore::open(fixture.config().connections(2)).await.unwrap();
    let chats = chats(&store).await;
    let mut holder = fixture.connection().await;
    let lock = "BEGIN; SELECT FROM @store.chat WHERE user_id = 'user-11' FOR UPDATE";
    fixture.run(&mut holder, lock).await;
    let mut commits = next(&chats, 1);
    let held = commits.pop().unwrap();
    let (others, held) = (all(&store, commits), store.history().commit(held));
    let mut held = std::pin::pin!(held);
    let outcomes = tokio::select! {
        biased;
        outcomes = others => outcomes,
        outcome = &mut held => panic!("the chat is locked, but: {outcome:?}"),
    };
    assert!(outcomes.iter().all(is_applied), "{outcomes:?}");
    fixture.run(&mut holder, "COMMIT").await;
    assert!(is_applied(&held.await));
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}
