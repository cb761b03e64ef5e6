//! Names with any text: no name collides with another, whatever it means to the server.

use context_core::store::{ChatQuery, Commit, StoredFragment};
use context_core::{CancelSignal, Encoded, Store, UserId};

use crate::fixture::{RedisFixture, T, apply, extend, fork, ids, says, stay};

const ODD: [&str; 12] = [
    " ",
    "{a}",
    "a}",
    "*",
    "a\0b",
    "line\nline\r\n",
    "\u{1f600}",
    "1 2 x",
    "%d %s",
    "\\\"'",
    "]]--",
    "na:1",
];

pub(crate) async fn odd_names_are_names_everywhere() {
    let fixture = RedisFixture::new().await;
    let mut chats = Vec::new();
    for name in ODD {
        let chat = fixture.create(name, name).await;
        let second = format!("{name}{name}");
        fixture
            .extend(&chat, "main", "", vec![says(name, name), says(second.as_str(), name)])
            .await;
        apply(fixture.history(), fork(&chat, name, name, vec![says(format!("{name}!"), name)]))
            .await;
        fixture.history().set_checkpoint(&chat, &name.into(), &name.into(), T).await.unwrap();
        let body = Encoded::new(name, 1, name.as_bytes().to_vec());
        let fragment = StoredFragment { id: Some(name.into()), metadata: Default::default(), body };
        let keyed = Commit {
            key: Some(name.into()),
            amendments: vec![says(name, "new")],
            fragments: vec![fragment.clone()],
            ..stay(&chat)
        };
        apply(fixture.history(), keyed.clone()).await;
        assert_eq!(ids(&fixture.whole(&chat, name).await.unwrap()), [name, &format!("{name}!")]);
        assert_eq!(ids(&fixture.whole(&chat, "main").await.unwrap()), [name, &second]);
        assert_eq!(fixture.store.fragments().fragments(&chat).await.unwrap(), [fragment]);
        assert_eq!(fixture.history().revisions(&chat, &name.into()).await.unwrap().len(), 1);
        let again = fixture.history().commit(keyed).await.unwrap();
        assert!(matches!(again, context_core::store::CommitOutcome::Replayed(_)), "{again:?}");
        fixture
            .history()
            .rename_branch(&chat, &name.into(), &format!("{name}~").as_str().into(), T)
            .await
            .unwrap();
        chats.push(chat);
    }
    assert!(fixture.problems().await.is_empty(), "{:?}", fixture.problems().await);
    for chat in chats {
        let listed =
            fixture.history().list_chats(&ChatQuery::new(chat.user.clone())).await.unwrap();
        assert_eq!(listed.items.len(), 1, "{chat:?}");
        let erased =
            fixture.maintenance().erase_user(&chat.user, &CancelSignal::never()).await.unwrap();
        assert_eq!((erased.chats, erased.messages, erased.remaining), (1, 3, 0), "{chat:?}");
    }
    assert!(fixture.keys(":chat2").is_empty() && fixture.keys(":chats").is_empty());
}

pub(crate) async fn stores_with_other_prefixes_know_nothing_of_each_other() {
    let one = RedisFixture::new().await;
    let prefix = one.config.prefix.clone();
    // The second prefix, read as a pattern, also matches the keys of the first.
    let two =
        RedisFixture::with(|config| config.prefix(format!("{}*", &prefix[..prefix.len() - 1])))
            .await;
    let chat = one.create("ada", "trip").await;
    one.extend(&chat, "main", "", vec![says("a", "a")]).await;
    assert_eq!(two.history().chat(&chat).await.unwrap(), None);
    assert_eq!(two.maintenance().check(&CancelSignal::never()).await.unwrap().chats, 0);
    let erased =
        two.maintenance().erase_user(&UserId::from("ada"), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.chats, erased.remaining), (0, 0));
    apply(one.history(), extend(&chat, "main", "a", vec![says("b", "b")])).await;
    assert_eq!(one.maintenance().check(&CancelSignal::never()).await.unwrap().chats, 1);
}
