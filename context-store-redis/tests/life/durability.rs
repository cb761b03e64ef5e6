//! Commits that ask for a durability, on servers with an append-only file.

use std::sync::Arc;
use std::time::Duration;

use context_conformance::Missing;
use context_core::store::{Commit, CommitOutcome, Durability, DurabilityRefusal, ForkName, Target};
use context_core::{ErrorKind, Retry, Store};
use context_servers::{Fsync, Redis, RedisOptions};
use context_store_redis::{RedisConfig, RedisStore};
use redis::cmd;
use tokio::task::JoinSet;

use crate::fixture::{RedisFixture, T, absent, extend, says};

/// The number of commits that wait at the same time.
const MANY: usize = 40;

fn asking(durability: Durability, commit: Commit) -> Commit {
    Commit { durability: Some(durability), ..commit }
}

/// Starts a server that flushes its append-only file once a second. The test is ignored if none can
/// be started.
async fn server() -> (Redis, RedisFixture) {
    let (server, fixture) = with_file(|config| config).await;
    reports_flushes(&fixture.store);
    (server, fixture)
}

/// The test is ignored if the server is too old to report flushes.
fn reports_flushes(store: &RedisStore) {
    if store.info().strongest < Durability::PowerLoss {
        Missing::new("the server is older than version 7.2").ignore_test()
    }
}

async fn with_file(change: impl FnOnce(RedisConfig) -> RedisConfig) -> (Redis, RedisFixture) {
    RedisFixture::alone_with(RedisOptions::new().append_only(Fsync::EverySecond), change).await
}

/// The number of calls of a command since the server was started.
fn calls(fixture: &RedisFixture, command: &str) -> u64 {
    let info: String = cmd("INFO").arg("commandstats").query(&mut fixture.server()).unwrap();
    let line =
        info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
    line.map_or(0, |rest| rest.split(',').next().unwrap().parse().unwrap())
}

fn set(fixture: &RedisFixture, name: &str, value: &str) {
    cmd("CONFIG").arg("SET").arg(name).arg(value).exec(&mut fixture.server()).unwrap();
}

/// Makes commits at the same time, and expects each to be applied.
async fn applied_at_once(store: RedisStore, commits: Vec<Commit>) {
    let store = Arc::new(store);
    let mut tasks = JoinSet::new();
    for commit in commits {
        let store = Arc::clone(&store);
        tasks.spawn(async move { store.history().commit(commit).await });
    }
    for outcome in tasks.join_all().await {
        assert!(matches!(outcome, Ok(CommitOutcome::Applied(_))), "{outcome:?}");
    }
}

pub(crate) async fn only_a_commit_that_asks_for_it_waits_for_the_append_only_file() {
    let (_server, fixture) = server().await;
    assert_eq!(fixture.store.info().durability, Durability::ProcessCrash);
    let chat = fixture.create("ada", "trip").await;
    let history = fixture.history();
    let mut waits = 0;
    let mut head = String::new();
    for (i, (asked, flushed)) in [
        (None, 0),
        (Some(Durability::PowerLoss), 1),
        (Some(Durability::ProcessCrash), 0),
        (Some(Durability::Process), 0),
        (Some(Durability::PowerLoss), 1),
        (None, 0),
    ]
    .into_iter()
    .enumerate()
    {
        let id = format!("m{i}");
        let append = extend(&chat, "main", &head, vec![says(id.as_str(), "x")]);
        let name = ForkName::NextVersionOf("main".into());
        let target = Target::Fork { name, at: Some(id.as_str().into()), activate: false };
        let key = Some(format!("k{i}").into());
        let fork = Commit { key, ..Commit::new(chat.clone(), target, T) };
        for commit in [append, fork] {
            let commit = Commit { durability: asked, ..commit };
            let outcome = history.commit(commit.clone()).await.unwrap();
            assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
            waits += flushed;
            assert_eq!(calls(&fixture, "waitaof"), waits, "{asked:?}");
            // Nobody knows with which durability the first one was written.
            let outcome = history.commit(commit).await.unwrap();
            assert!(matches!(outcome, CommitOutcome::Replayed(_)), "{outcome:?}");
            waits += flushed;
            assert_eq!(calls(&fixture, "waitaof"), waits, "{asked:?}, repeated");
        }
        head = id;
    }
    // Nothing was written, so nothing is flushed.
    let stale = asking(Durability::PowerLoss, extend(&chat, "main", "m0", vec![says("x", "x")]));
    let outcome = history.commit(stale).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Conflict { .. }), "{outcome:?}");
    assert_eq!(calls(&fixture, "waitaof"), waits);
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 6);
    assert_eq!(fixture.problems().await, Vec::<String>::new());
}

pub(crate) async fn commits_that_wait_at_the_same_time_share_a_flush() {
    let (_server, fixture) = server().await;
    let mut commits = Vec::new();
    for i in 0..MANY {
        let chat = fixture.create("ada", &format!("chat {i}")).await;
        commits
            .push(asking(Durability::PowerLoss, extend(&chat, "main", "", vec![says("a", "x")])));
    }
    applied_at_once(fixture.again().await, commits).await;
    let waits = calls(&fixture, "waitaof");
    assert!((1..=u64::try_from(MANY / 2).unwrap()).contains(&waits), "{waits} waits");
}

pub(crate) async fn a_server_that_cannot_report_flushes_refuses() {
    let (_server, fixture) = with_file(|config| config).await;
    let always = RedisOptions::new().append_only(Fsync::Always);
    let no = RedisOptions::new().append_only(Fsync::No);
    let mut expected = vec![
        (RedisOptions::new(), Durability::Server, Durability::Server),
        (no, Durability::ProcessCrash, Durability::ProcessCrash),
        (always, Durability::PowerLoss, Durability::PowerLoss),
    ];
    // Some server that this test can start must refuse, whatever the version.
    let own = fixture.store.info();
    assert_eq!(own.durability, Durability::ProcessCrash);
    for (options, durability, strongest) in expected.drain(..) {
        let (_server, fixture) = RedisFixture::alone_with(options, |it| it).await;
        let info = fixture.store.info();
        assert_eq!((info.durability, info.strongest), (durability, strongest));
        let chat = fixture.create("ada", "trip").await;
        let before = fixture.history().chat(&chat).await.unwrap();
        let commit = asking(Durability::PowerLoss, extend(&chat, "main", "", vec![says("a", "x")]));
        let outcome = fixture.history().commit(commit).await;
        if strongest == Durability::PowerLoss {
            assert!(matches!(outcome, Ok(CommitOutcome::Applied(_))), "{outcome:?}");
            assert_eq!(calls(&fixture, "waitaof"), 0);
            continue;
        }
        let refusal = DurabilityRefusal::of(&outcome.unwrap_err()).cloned().unwrap();
        assert_eq!((refusal.asked, refusal.strongest), (Durability::PowerLoss, strongest));
        assert_eq!(fixture.history().chat(&chat).await.unwrap(), before);
        assert!(fixture.whole(&chat, "main").await.unwrap().is_empty());
    }
}

pub(crate) async fn a_flush_that_fails_says_that_the_commit_is_applied() {
    let short = |mut config: RedisConfig| {
        config.response_timeout = Duration::from_secs(4);
        config
    };
    let (_server, fixture) = with_file(short).await;
    reports_flushes(&fixture.store);
    let chat = fixture.create("ada", "trip").await;
    let commit = |head: &str, id: &str| {
        asking(Durability::PowerLoss, extend(&chat, "main", head, vec![says(id, "x")]))
    };
    // Flushed by the operating system, at some time that the server does not know.
    set(&fixture, "appendfsync", "no");
    let error = fixture.history().commit(commit("", "a")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Timeout, Retry::Safe), "{error:?}");
    assert_eq!(error.get("applied"), Some("true"));
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 1);
    set(&fixture, "appendfsync", "everysec");
    let outcome = fixture.history().commit(commit("", "a")).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Replayed(_)), "{outcome:?}");

    set(&fixture, "appendonly", "no");
    let error = fixture.history().commit(commit("a", "b")).await.unwrap_err();
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unsupported, Retry::Never), "{error:?}");
    assert_eq!(error.get("applied"), Some("true"));
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 2);
}

/// A server that was restarted has flushed the mark, but perhaps not the commit before.
pub(crate) async fn a_flush_by_another_run_of_the_server_counts_for_later_commits_only() {
    let (mut server, fixture) = server().await;
    let chat = fixture.create("ada", "trip").await;
    let commit = |head: &str, id: &str| {
        asking(Durability::PowerLoss, extend(&chat, "main", head, vec![says(id, "x")]))
    };
    let outcome = fixture.history().commit(commit("", "a")).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
    server.restart().unwrap();
    // The first calls find a broken connection.
    let error = loop {
        match fixture.history().commit(commit("a", "b")).await {
            Err(error)
                if error.get("applied").is_some() && error.message().contains("restarted") =>
            {
                break error;
            }
            Err(error) if error.retry() == Retry::Safe => tokio::task::yield_now().await,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((error.kind(), error.retry()), (ErrorKind::Unavailable, Retry::Safe), "{error:?}");
    let outcome = fixture.history().commit(commit("a", "b")).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Replayed(_)), "{outcome:?}");
    let outcome = fixture.history().commit(commit("b", "c")).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

#[cfg(feature = "cluster")]
pub(crate) async fn each_node_of_a_cluster_flushes_its_own_chats() {
    use context_core::ChatRef;
    use context_core::store::NewChat;
    use context_servers::RedisCluster;

    let _wanted = context_conformance::server_url("CONTEXT_TEST_REDIS_CLUSTER_URL");
    let options = RedisOptions::new().append_only(Fsync::EverySecond);
    let cluster = RedisCluster::start_with(options).unwrap_or_else(|error| absent(error));
    let store = RedisStore::open(RedisConfig::from_url(&cluster.urls()).unwrap()).await.unwrap();
    reports_flushes(&store);
    let mut commits = Vec::new();
    for i in 0..MANY {
        let chat = ChatRef::new("ada", format!("chat {i}"));
        let _created = store.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
        commits
            .push(asking(Durability::PowerLoss, extend(&chat, "main", "", vec![says("a", "x")])));
    }
    applied_at_once(store, commits).await;
    for node in cluster.nodes() {
        let client = redis::Client::open(node.url()).unwrap();
        let info: String =
            cmd("INFO").arg("commandstats").query(&mut client.get_connection().unwrap()).unwrap();
        let has_chats = info.contains("cmdstat_evalsha");
        assert_eq!(info.contains("cmdstat_waitaof"), has_chats, "{info}");
    }
}
