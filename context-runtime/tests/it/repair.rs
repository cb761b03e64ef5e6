//! Saving what is sound of damaged stores: a value in a server is changed, the store is saved into
//! another one, and the value is set back.
//!
//! `CONTEXT_DAMAGED_VALUES` is the number of values per server, `CONTEXT_DAMAGE_SEED` the seed.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::repair::{Loss, LostKind, RepairReport, repair_store};
use context_runtime::store::{
    ChatQuery, Commit, CommitOutcome, ForkName, NewBlob, NewChat, Node, StoredFragment,
    StreamAppend, StreamClaim, Target,
};
use context_runtime::transfer::ChatDigest;
use context_runtime::{
    CancelSignal, ChatRef, ErrorKind, Message, Metadata, Role, Store, Timestamp, UserId,
};

const USERS: [&str; 2] = ["ada", "bob"];

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

fn nodes(prefix: &str, from: usize, count: usize) -> Vec<Arc<Node>> {
    let node = |n: usize| {
        let text =
            format!("{prefix}{n}: pay 100 to Ines, not to Bob. {}", "It is done. ".repeat(9));
        Node::new(format!("{prefix}{n}"), Message::text(Role::User, text), at(20 + n as i64))
    };
    (from..from + count).map(|n| Arc::new(node(n))).collect()
}

async fn apply(store: &dyn Store, chat: &ChatRef, target: Target, nodes: Vec<Arc<Node>>) {
    let commit = Commit { nodes, ..Commit::new(chat.clone(), target, at(100)) };
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

/// Writes two users with chats of several branches, and what belongs to them.
pub(crate) async fn fill(store: &dyn Store) {
    let history = store.history();
    for user in USERS {
        for name in ["trip", "bill", "note"] {
            let chat = ChatRef::new(user, name);
            let new = NewChat {
                title: Some(format!("The {name}")),
                metadata: Metadata::default().with("tags", "a, b"),
                ..NewChat::new(chat.clone(), at(10))
            };
            let _ = history.create_chat(new).await.unwrap();
            for from in (0..80).step_by(20) {
                let expected = (from > 0).then(|| format!("m{}", from - 1).into());
                let target = Target::Extend { branch: "main".into(), expected };
                apply(store, &chat, target, nodes("m", from, 20)).await;
            }
            let name = ForkName::Exact("side".into());
            let target = Target::Fork { name, at: Some("m40".into()), activate: false };
            apply(store, &chat, target, nodes("s", 0, 5)).await;
            history.set_checkpoint(&chat, &"start".into(), &"m3".into(), at(110)).await.unwrap();
            let fragment = StoredFragment {
                id: Some("f".into()),
                metadata: Metadata::default().with("n", 1),
                body: context_runtime::fragments::Encoded::new("test/fragment", 3, "one"),
            };
            store.fragments().put_fragments(&chat, &[fragment], at(111)).await.unwrap();
            let report = NewBlob::new("A report. ".repeat(500), at(112)).media_type("text/plain");
            store.blobs().unwrap().put_blob(&chat, report).await.unwrap();
            let (streams, id) = (store.streams().unwrap(), "answer".into());
            let _ = streams.create_stream(&chat, &id, at(113)).await.unwrap();
            let _ =
                streams.claim_stream(&chat, &id, &StreamClaim::new("w", at(114))).await.unwrap();
            let append = StreamAppend::new("w", 0, ["Window ", "or ", "aisle?"], at(115));
            let _ = streams.append_stream(&chat, &id, append).await.unwrap();
        }
    }
}

/// Returns the digest of every chat that can be read.
async fn digests(store: &dyn Store) -> BTreeMap<String, String> {
    let mut digests = BTreeMap::new();
    for user in USERS {
        let Ok(page) = store.history().list_chats(&ChatQuery::new(user)).await else { continue };
        for summary in page.items {
            let chat = summary.chat.chat;
            let Ok(digest) = ChatDigest::read(store, &chat).await else { continue };
            let streams = store.streams().unwrap().streams(&chat, 10, None).await.unwrap();
            let chunks = streams.items.iter().map(|stream| stream.chunks).sum::<u64>();
            let digest = format!("{digest:?}, {chunks} chunks");
            digests.insert(format!("{}/{}", chat.user, chat.chat), digest);
        }
    }
    digests
}

async fn repaired(damaged: &dyn Store) -> (Arc<dyn Store>, RepairReport) {
    let new = context_runtime::open("mem:").await.unwrap();
    let users = USERS.map(UserId::from);
    let report = repair_store(damaged, Arc::clone(&new), &users, &CancelSignal::never()).await;
    (new, report.unwrap())
}

async fn findings(store: &dyn Store) -> Vec<String> {
    let checked = store.maintenance().unwrap().check(&CancelSignal::never()).await;
    match checked {
        Ok(report) => report.findings.iter().map(ToString::to_string).collect(),
        Err(error) if error.kind() == ErrorKind::Corrupt => vec![error.to_string()],
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_sound_store_is_saved_as_a_whole() {
    let store = context_runtime::open("mem:").await.unwrap();
    fill(&*store).await;
    let (new, report) = repaired(&*store).await;
    assert_eq!(report.losses, []);
    assert_eq!(report.changes, []);
    assert_eq!(report.findings, []);
    assert_eq!((report.chats, report.messages, report.blobs, report.streams), (6, 510, 6, 6));
    assert_eq!(digests(&*new).await, digests(&*store).await);
    let error = repair_store(&*store, new, &[], &CancelSignal::never()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[cfg(all(feature = "postgres", feature = "redis"))]
mod of_servers {
    use super::*;
    use crate::servers::{Damage, Servers};

    fn number(variable: &str, default: u64) -> u64 {
        std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    }

    /// A damaged value costs one chat, a list, or a blob that chats share, and is told; all other
    /// chats are saved.
    #[tokio::test]
    #[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
    async fn a_changed_value_loses_only_what_it_belongs_to_and_is_named() {
        let servers = Servers::open("repair").await;
        for (name, store) in &servers.stores {
            fill(&**store).await;
            let before = digests(&**store).await;
            assert_eq!(before.len(), 6, "{name}");
            let (first, count) =
                (number("CONTEXT_DAMAGE_SEED", 1), number("CONTEXT_DAMAGED_VALUES", 6));
            let (mut whole, mut lossy, mut refused, mut wrong) = (0, 0, 0, Vec::new());
            for seed in first..first + count {
                let Some(damage) = servers.damage(name, seed).await else { continue };
                match problems(&servers, name, &before).await {
                    Ok(Some(0)) => whole += 1,
                    Ok(Some(_)) => lossy += 1,
                    Ok(None) => refused += 1,
                    Err(problem) => wrong.push(format!("seed {seed}, {}: {problem}", damage.what)),
                }
                undo(&servers, damage).await;
            }
            println!(
                "{name}: {count} damaged values: nothing is lost with {whole}, something with \
                 {lossy}, {refused} stores cannot be opened"
            );
            assert!(wrong.is_empty(), "{name}: {} problems:\n{}", wrong.len(), wrong.join("\n"));
            assert_eq!(digests(&**store).await, before, "{name}: the damage is undone");
        }
        servers.clear().await;
    }

    async fn undo(servers: &Servers, damage: Damage) {
        servers.undo(damage).await;
    }

    /// Saves a damaged store, and returns the number of losses, or a problem. `None` if the store
    /// cannot be opened.
    async fn problems(
        servers: &Servers,
        name: &str,
        before: &BTreeMap<String, String>,
    ) -> Result<Option<usize>, String> {
        let Ok(store) = servers.again(name).await else { return Ok(None) };
        let (new, report) = repaired(&*store).await;
        let after = digests(&*new).await;
        let unsound = findings(&*new).await;
        if !unsound.is_empty() {
            return Err(format!("the new store is unsound: {unsound:?}"));
        }
        let found = findings(&*store).await;
        let told = |chat: &str| {
            !report.findings.is_empty()
                || report.losses.iter().any(|loss| match (&loss.user, &loss.chat) {
                    (Some(user), Some(other)) => format!("{user}/{other}") == chat,
                    (Some(user), None) => chat.starts_with(&format!("{user}/")),
                    _ => true,
                })
        };
        let mut differ = Vec::new();
        for (chat, digest) in before {
            if after.get(chat) == Some(digest) {
                continue;
            }
            differ.push(chat);
            if !told(chat) && report.changes.is_empty() {
                return Err(format!("{chat} differs, and nothing tells: {:?}", report.losses));
            }
        }
        let lists = report.losses.iter().any(|loss| loss.kind == LostKind::User);
        // Chats of one user share a blob.
        let is_blob =
            |loss: &Loss| loss.kind == LostKind::Blob && loss.name == report.losses[0].name;
        let is_shared = !report.losses.is_empty() && report.losses.iter().all(is_blob);
        if differ.len() > 1 && !lists && !is_shared {
            return Err(format!("one value costs {differ:?}: {:?}", report.losses));
        }
        if found.is_empty() && !(differ.is_empty() && report.losses.is_empty()) {
            return Err(format!("the check finds nothing, but {differ:?} {:?}", report.losses));
        }
        store.close().await.unwrap();
        Ok(Some(report.losses.len()))
    }
}
