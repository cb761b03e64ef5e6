//! Migrating chats between stores: copies are compared, and interrupted migrations are resumed.

use std::sync::Arc;

use context_runtime::transfer::{
    ChatDigest, ChatReader, ChatRecord, ChatWriter, MigrateChat, MigratePhase, Migrated,
    migrate_chat,
};
use context_runtime::{
    ErrorKind, Metadata, Result, Store, Timestamp,
    fragments::Encoded,
    store::{ChatPatch, NewBlob, StoredFragment, TitleChange},
};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};
use proptest::prelude::*;
use tokio::runtime::{Handle, Runtime};

use crate::kit::store;
use crate::transfer::{Step, chat, make, sound, steps};

async fn migrate(from: &dyn Store, to: &dyn Store, options: &MigrateChat) -> Result<Migrated> {
    migrate_chat(from, &chat("c"), to, &chat("c"), options, &mut |_, _| {}).await
}

async fn digest(store: &dyn Store) -> ChatDigest {
    ChatDigest::read(store, &chat("c")).await.unwrap()
}

/// Returns a store with a chat that has items of every kind.
async fn rich() -> Arc<dyn Store> {
    let store = store().await;
    let mut steps: Vec<_> = (0..12).map(|i| Step::Fork(i, 3)).collect();
    steps.extend([
        Step::Amend(2),
        Step::Redact(5),
        Step::Checkpoint(7),
        Step::Fragment(1),
        Step::Activate(3),
    ]);
    make(&*store, "c", steps).await;
    let blob =
        NewBlob::new(vec![0, 159, 146, 150], Timestamp::from_micros(5)).media_type("image/x");
    store.blobs().unwrap().put_blob(&chat("c"), blob).await.unwrap();
    store
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn what_arrives_is_what_was_sent_and_is_sent_once(steps in steps()) {
        Runtime::new().unwrap().block_on(async {
            let (from, to) = (store().await, store().await);
            make(&*from, "c", steps).await;
            let options = MigrateChat::default();
            assert_eq!(migrate(&*from, &*to, &options.dry_run()).await.unwrap(), Migrated::Missing);
            assert_eq!(to.history().chat(&chat("c")).await.unwrap(), None, "a dry run writes nothing");
            let Migrated::Copied(sent, written) = migrate(&*from, &*to,
                &options).await.unwrap() else {
                panic!("it was not there");
            };
            assert_eq!((*sent, sent.to_string()),
                (digest(&*to).await, digest(&*from).await.to_string()));
            assert_eq!((sent.messages.count, written.diagnostics), (written.messages, vec![]));
            sound(&*to).await;
            for options in [options, options.without_verifying(), options.dry_run()] {
                assert_eq!(migrate(&*from, &*to, &options).await.unwrap(), Migrated::Unchanged);
            }
        });
    }
}

#[cfg(feature = "sqlite")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// Stores list messages in different orders, which makes no difference.
    #[test]
    fn a_chat_is_the_same_in_stores_of_different_kinds(steps in steps()) {
        Runtime::new().unwrap().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}", folder.path().join("other.db").display());
            let (from, to) = (store().await, context_runtime::open(&url).await.unwrap());
            make(&*from, "c", steps).await;
            let migrated = migrate(&*from, &*to, &MigrateChat::default()).await.unwrap();
            assert!(matches!(migrated, Migrated::Copied(..)), "{migrated:?}");
            let back = store().await;
            let migrated = migrate(&*to, &*back, &MigrateChat::default()).await.unwrap();
            assert!(matches!(migrated, Migrated::Copied(..)), "{migrated:?}");
            assert_eq!(digest(&*back).await, digest(&*from).await);
        });
    }
}

#[tokio::test]
async fn a_chat_that_differs_is_told_and_left() {
    let at = Timestamp::from_micros(1_000_000);
    for part in ["chat", "branches", "checkpoints", "fragments", "blobs", "messages"] {
        let (from, to) = (rich().await, store().await);
        let _copied = migrate(&*from, &*to, &MigrateChat::default()).await.unwrap();
        let history = to.history();
        // These changes leave the chat's own timestamps unchanged.
        let head = history.branches(&chat("c")).await.unwrap().remove(1);
        match part {
            "chat" => {
                let patch =
                    ChatPatch { title: TitleChange::Set("other".into()), ..ChatPatch::default() };
                history.update_chat(&chat("c"), &patch, Timestamp::default()).await.unwrap();
            }
            "branches" => {
                let new = "other".into();
                history
                    .rename_branch(&chat("c"), &head.name, &new, Timestamp::default())
                    .await
                    .unwrap();
            }
            "checkpoints" => {
                let (name, message) = ("other".into(), head.head.unwrap());
                history
                    .set_checkpoint(&chat("c"), &name, &message, Timestamp::default())
                    .await
                    .unwrap();
            }
            "fragments" => {
                let body = Encoded::new("note", 1, vec![9]);
                let note = StoredFragment { id: None, metadata: Metadata::default(), body };
                to.fragments()
                    .put_fragments(&chat("c"), &[note], Timestamp::default())
                    .await
                    .unwrap();
            }
            "blobs" => {
                to.blobs().unwrap().put_blob(&chat("c"), NewBlob::new("more", at)).await.unwrap();
            }
            _ => {
                let redaction = context_runtime::store::Node::new(
                    head.head.unwrap(),
                    context_runtime::Message::from("other"),
                    Timestamp::default(),
                );
                let target = context_runtime::store::Target::Stay;
                let commit =
                    context_runtime::store::Commit::new(chat("c"), target, Timestamp::default());
                let commit = context_runtime::store::Commit {
                    redactions: vec![Arc::new(redaction)],
                    ..commit
                };
                let _applied = history.commit(commit).await.unwrap();
            }
        }
        let there = digest(&*to).await;
        let migrated = migrate(&*from, &*to, &MigrateChat::default()).await.unwrap();
        assert_eq!(migrated, Migrated::Different(part));
        assert_eq!(digest(&*to).await, there);
        let outline =
            migrate(&*from, &*to, &MigrateChat::default().without_verifying()).await.unwrap();
        let seen = !matches!(part, "blobs" | "messages");
        assert_eq!(outline, if seen { Migrated::Different(part) } else { Migrated::Unchanged });
    }
}

/// Any call may fail, before or after it takes effect: the next attempt copies the chat, and a
/// third one finds it there.
#[tokio::test]
async fn what_fails_half_way_is_brought_by_the_next_try() {
    let from = rich().await;
    let mut failed = 0;
    for operation in Operation::WRITES.iter().chain(Operation::READS).chain([&Operation::PutBlob]) {
        for (nth, fault) in
            [(0, Fault::BeforeApply), (0, Fault::AfterApply), (2, Fault::AfterApply)]
        {
            let to = store().await;
            let plan = FaultPlan::default().with(*operation, nth, fault);
            let faulty = FaultStore::new(Arc::clone(&to), plan);
            match migrate(&*from, &faulty, &MigrateChat::default()).await {
                Ok(migrated) => {
                    assert!(matches!(migrated, Migrated::Copied(..)), "{operation:?} {migrated:?}")
                }
                Err(_) => failed += 1,
            }
            let again = migrate(&*from, &*to, &MigrateChat::default()).await.unwrap();
            assert!(
                matches!(again, Migrated::Copied(..) | Migrated::Unchanged),
                "{operation:?} {again:?}"
            );
            let third = migrate(&*from, &*to, &MigrateChat::default()).await.unwrap();
            assert_eq!((third, digest(&*to).await), (Migrated::Unchanged, digest(&*from).await));
            sound(&*to).await;
        }
    }
    assert!(failed > 10, "the faults were met: {failed}");
}

/// Another writer puts a fragment into the copy while it is made.
#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_is_not_what_was_sent_is_taken_back() {
    let (from, to) = (rich().await, store().await);
    let body = Encoded::new("note", 1, vec![9]);
    let note = [StoredFragment { id: None, metadata: Metadata::default(), body }];
    let (c, options) = (chat("c"), MigrateChat::default());
    let mut progress = |_, messages| {
        if messages == 1 {
            let put = to.fragments().put_fragments(&c, &note, Timestamp::default());
            tokio::task::block_in_place(|| Handle::current().block_on(put)).unwrap();
        }
    };
    let error = migrate_chat(&*from, &c, &*to, &c, &options, &mut progress).await.unwrap_err();
    assert_eq!((error.kind(), error.get("part")), (ErrorKind::Corrupt, Some("fragments")));
    assert_eq!(to.history().chat(&c).await.unwrap(), None);
}

#[tokio::test]
async fn each_phase_tells_its_messages() {
    let (from, to, c) = (rich().await, store().await, chat("c"));
    let messages = digest(&*from).await.messages.count;
    let mut told = Vec::new();
    for options in [MigrateChat::default(), MigrateChat::default()] {
        let mut progress = |phase, messages| told.push((phase, messages));
        let migrated = migrate_chat(&*from, &c, &*to, &c, &options, &mut progress).await.unwrap();
        assert_ne!(migrated, Migrated::Missing);
    }
    for (phase, all) in [
        (MigratePhase::Sending, messages),
        (MigratePhase::ReadingBack, messages),
        (MigratePhase::Comparing, 2 * messages),
    ] {
        let of_phase: Vec<_> = told
            .extract_if(.., |(other, _)| *other == phase)
            .map(|(_, messages)| messages)
            .collect();
        assert!(of_phase.is_sorted(), "{phase:?}: {of_phase:?}");
        assert_eq!(of_phase.last(), Some(&all), "{phase:?}");
    }
    assert_eq!(told, []);
}

#[tokio::test]
async fn a_chat_that_is_not_complete_is_begun_anew_and_not_handed_on() {
    let (from, to) = (rich().await, store().await);
    let mut reader = ChatReader::open(&*from, &chat("c")).await.unwrap();
    let Some(ChatRecord::Chat(source)) = reader.next().await.unwrap() else { panic!("a chat") };
    let mut writer = ChatWriter::create(&*to, chat("c"), &source).await.unwrap().unwrap();
    for _ in 0..20 {
        writer.push(reader.next().await.unwrap().unwrap()).await.unwrap();
    }
    drop(writer);
    let third = store().await;
    assert_eq!(
        migrate(&*to, &*third, &MigrateChat::default()).await.unwrap(),
        Migrated::Unfinished
    );
    let migrated = migrate(&*from, &*to, &MigrateChat::default()).await.unwrap();
    assert!(matches!(migrated, Migrated::Copied(..)), "{migrated:?}");
    let error = migrate(&*third, &*to, &MigrateChat::default()).await.unwrap_err();
    assert!(error.is_not_found());
}

/// From memory over each available server and back.
#[cfg(all(feature = "postgres", feature = "redis"))]
#[tokio::test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
async fn a_chat_goes_from_server_to_server() {
    // Without blobs, which not every server stores.
    let from = store().await;
    make(
        &*from,
        "c",
        (0..12).map(|i| Step::Fork(i, 3)).chain([Step::Amend(2), Step::Fragment(1)]).collect(),
    )
    .await;
    let servers = crate::servers::Servers::open("migrate").await;
    let on_servers = servers.stores.iter().map(|(_, store)| Arc::clone(store));
    let mut stores: Vec<_> = std::iter::once(Arc::clone(&from)).chain(on_servers).collect();
    stores.push(store().await);
    for pair in stores.windows(2) {
        let migrated = migrate(&*pair[0], &*pair[1], &MigrateChat::default()).await.unwrap();
        assert!(matches!(migrated, Migrated::Copied(..)), "{migrated:?}");
        assert_eq!(
            migrate(&*pair[0], &*pair[1], &MigrateChat::default()).await.unwrap(),
            Migrated::Unchanged
        );
        assert_eq!(digest(&*pair[1]).await, digest(&*from).await);
    }
    let never = context_runtime::CancelSignal::never();
    for store in &stores[1..stores.len() - 1] {
        let erased = store.maintenance().unwrap().erase_user(&"ada".into(), &never).await.unwrap();
        assert_eq!((erased.chats, erased.remaining), (1, 0));
    }
    drop(stores);
    servers.clear().await;
}
