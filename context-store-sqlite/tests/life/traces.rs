//! Redacted, deleted and erased data is not in the bytes of the file either.

use context_core::base::CancelSource;
use context_core::store::{ChatPatch, StoredFragment, TitleChange};
use context_core::{CancelSignal, ChatRef, Encoded, ErrorKind, Metadata, Store};

use crate::store_fixture::{StoreFixture, T, apply, many, says, stay};

const NEEDLE: &str = "xylophone-in-the-attic";

/// Counts the occurrences of the needle in the store's files.
fn needles(fixture: &StoreFixture) -> usize {
    let mut found = 0;
    for name in ["s.db", "s.db-wal"] {
        let bytes = std::fs::read(fixture.folder.path().join(name)).unwrap_or_default();
        found += bytes.windows(NEEDLE.len()).filter(|window| *window == NEEDLE.as_bytes()).count();
    }
    found
}

/// Writes the needle in every possible place.
async fn hide(fixture: &StoreFixture, chat: &ChatRef) {
    let mut nodes = many("m", 70);
    nodes[40] = says("needle", NEEDLE);
    for (i, node) in nodes.iter().enumerate() {
        let expected = if i == 0 { String::new() } else { nodes[i - 1].id.to_string() };
        fixture.extend(chat, "main", &expected, vec![node.clone()]).await;
    }
}

#[tokio::test]
async fn a_redacted_text_is_gone_from_the_file_after_a_vacuum() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    hide(&fixture, &chat).await;
    let amend = |words: &str| vec![says("needle", words)];
    apply(
        fixture.history(),
        context_core::store::Commit {
            amendments: amend("once more: xylophone-in-the-attic"),
            ..stay(&chat)
        },
    )
    .await;
    assert!(needles(&fixture) > 1);
    apply(
        fixture.history(),
        context_core::store::Commit { redactions: amend("[redacted]"), ..stay(&chat) },
    )
    .await;
    assert_eq!(fixture.history().revisions(&chat, &"needle".into()).await.unwrap(), []);
    let vacuumed = fixture.maintenance().vacuum().await.unwrap();
    assert_eq!(needles(&fixture), 0);
    assert!(vacuumed.after <= vacuumed.before, "{vacuumed:?}");
    assert_eq!(fixture.problems().await, [""; 0]);
    // The store is still usable.
    fixture.extend(&chat, "main", "m69", many("n", 3)).await;
}

#[tokio::test]
async fn a_text_that_was_never_moved_is_gone_at_once() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("ada", "chat").await;
    fixture.extend(&chat, "main", "", vec![says("needle", NEEDLE), says("other", "other")]).await;
    assert!(needles(&fixture) > 0);
    apply(
        fixture.history(),
        context_core::store::Commit { redactions: vec![says("needle", "gone")], ..stay(&chat) },
    )
    .await;
    assert_eq!(needles(&fixture), 0);
}

#[tokio::test]
async fn nothing_of_an_erased_user_is_left() {
    let fixture = StoreFixture::new().await;
    let kept = fixture.create("bob", "chat").await;
    fixture.extend(&kept, "main", "", many("m", 20)).await;
    for i in 0..3 {
        let chat = fixture.create("eve xylophone-in-the-attic", &format!("chat {i}")).await;
        hide(&fixture, &chat).await;
        fixture.fork(&chat, NEEDLE, "needle", vec![says(NEEDLE, "x")]).await;
        fixture.history().set_checkpoint(&chat, &NEEDLE.into(), &NEEDLE.into(), T).await.unwrap();
        let body = Encoded::new("test", 1, NEEDLE);
        let fragments =
            vec![StoredFragment { id: Some(NEEDLE.into()), metadata: Metadata::default(), body }];
        let title = TitleChange::Set(NEEDLE.to_owned());
        let patch = Some(ChatPatch {
            title,
            set: Metadata::default().with(NEEDLE, 1),
            ..ChatPatch::default()
        });
        let key = Some(NEEDLE.into());
        let amendments = vec![says("needle", "other words")];
        apply(
            fixture.history(),
            context_core::store::Commit { fragments, patch, key, amendments, ..stay(&chat) },
        )
        .await;
    }
    assert!(needles(&fixture) > 10);
    let maintenance = fixture.maintenance();
    let erased = maintenance
        .erase_user(&"eve xylophone-in-the-attic".into(), &CancelSignal::never())
        .await
        .unwrap();
    assert_eq!((erased.chats, erased.messages, erased.remaining), (3, 3 * 71, 0));
    assert_eq!(needles(&fixture), 0);
    assert_eq!(fixture.history().chat_size(&kept).await.unwrap().messages, 20);
    assert_eq!(fixture.problems().await, [""; 0]);
    let again = maintenance
        .erase_user(&"eve xylophone-in-the-attic".into(), &CancelSignal::never())
        .await
        .unwrap();
    assert_eq!((again.chats, again.messages, again.remaining), (0, 0, 0));
}

#[tokio::test]
async fn erasing_can_be_cancelled_and_says_when_others_keep_the_log() {
    let fixture = StoreFixture::new().await;
    let chat = fixture.create("eve", "chat").await;
    fixture.extend(&chat, "main", "", vec![says("needle", NEEDLE)]).await;
    let source = CancelSource::new();
    source.cancel();
    let error =
        fixture.maintenance().erase_user(&"eve".into(), &source.signal()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(fixture.history().chat(&chat).await.unwrap().is_some());

    let hasty = context_store_sqlite::SqliteConfig::new(fixture.path())
        .busy_timeout(std::time::Duration::ZERO);
    let hasty = context_store_sqlite::SqliteStore::open(hasty).await.unwrap();
    let mut other = fixture.file().await;
    let mut read = sqlx::Connection::begin(&mut other).await.unwrap();
    sqlx::query("SELECT count(*) FROM chat").fetch_one(&mut *read).await.unwrap();
    let error = hasty
        .maintenance()
        .unwrap()
        .erase_user(&"eve".into(), &CancelSignal::never())
        .await
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.retry()),
        (ErrorKind::Unavailable, context_core::Retry::Safe),
        "{error}"
    );
    read.rollback().await.unwrap();
    let erased = hasty
        .maintenance()
        .unwrap()
        .erase_user(&"eve".into(), &CancelSignal::never())
        .await
        .unwrap();
    assert_eq!(erased.remaining, 0);
    assert_eq!(needles(&fixture), 0);
}
