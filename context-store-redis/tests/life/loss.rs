//! Data that others remove: expiry, operators, a server without memory. A chat is complete or
//! absent, or reading it is an error.

use std::time::Duration;

use context_core::ErrorKind;
use context_core::store::{ChatQuery, Commit, Created, NewChat, StoredFragment};
use redis::cmd;

use crate::fixture::{RedisFixture, T, apply, extend, ids, many, says, stay};

const DAY: Duration = Duration::from_secs(86_400);

pub(crate) async fn a_chat_expires_whole_and_every_write_puts_it_off() {
    let fixture = RedisFixture::with(|config| config.chat_ttl(DAY)).await;
    let chat = fixture.create("ada", "trip").await;
    let key = fixture.chat_key();
    let left = |key: &str| -> i64 { cmd("PTTL").arg(key).query(&mut fixture.server()).unwrap() };
    let day = i64::try_from(DAY.as_millis()).unwrap();
    let forget_ttl = || -> bool { cmd("PERSIST").arg(&key).query(&mut fixture.server()).unwrap() };
    assert!((1..=day).contains(&left(&key)));

    assert!(forget_ttl());
    fixture.extend(&chat, "main", "", many("m", 3)).await;
    assert!((1..=day).contains(&left(&key)), "an append");
    assert!(forget_ttl());
    apply(fixture.history(), Commit { amendments: vec![says("m1", "new")], ..stay(&chat) }).await;
    assert!((1..=day).contains(&left(&key)), "an amendment");
    let body = context_core::Encoded::new("fragment", 1, &b"x"[..]);
    let fragment = StoredFragment { id: None, metadata: Default::default(), body };
    context_core::Store::fragments(&fixture.store)
        .put_fragments(&chat, &[fragment], T)
        .await
        .unwrap();

    // All of the chat is in one key, so it is never half removed.
    let generation = fixture.whole(&chat, "main").await.unwrap().generation();
    let expired: u8 = cmd("EXPIREAT").arg(&key).arg(1).query(&mut fixture.server()).unwrap();
    assert_eq!(expired, 1);
    assert_eq!(fixture.history().chat(&chat).await.unwrap(), None);
    assert!(fixture.whole(&chat, "main").await.unwrap_err().is_not_found());
    let again = fixture.history().commit(extend(&chat, "main", "m2", many("n", 1))).await;
    assert!(again.unwrap_err().is_not_found());
    assert!(fixture.keys(":chat2").is_empty());

    // A call that sees the entry in the list removes it, and a chat of the same name is a different
    // chat.
    assert!(fixture.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.is_empty());
    assert!(fixture.keys(":chats").is_empty());
    let created = fixture.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    assert!(matches!(created, Created::New(_)));
    assert_eq!(fixture.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.len(), 1);
    assert_ne!(fixture.whole(&chat, "main").await.unwrap().generation(), generation);
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn a_creation_that_was_swept_while_it_was_under_way_begins_again() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let list = fixture.keys(":chats").remove(0);
    assert!(fixture.history().delete_chat(&chat, None).await.unwrap());
    // The mark says that all creations up to a number were found to have failed.
    let swept = fixture.keys(":swept").remove(0);
    let _: () = cmd("SET").arg(&swept).arg(5).query(&mut fixture.server()).unwrap();
    let created = fixture.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    assert!(matches!(created, Created::New(_)));
    let number: u64 = cmd("ZSCORE").arg(&list).arg("trip").query(&mut fixture.server()).unwrap();
    assert_eq!(number, 6);
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn everything_is_gone_after_a_flush_and_the_store_works_on() {
    let (_alone, fixture) = RedisFixture::alone().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 70)).await;
    let mut server = fixture.server();
    let _: () = cmd("SCRIPT").arg("FLUSH").query(&mut server).unwrap();
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 70);
    let _: () = cmd("SCRIPT").arg("FLUSH").query(&mut server).unwrap();
    fixture.extend(&chat, "main", "m69", many("n", 1)).await;

    let _: () = cmd("FLUSHALL").query(&mut server).unwrap();
    assert!(fixture.whole(&chat, "main").await.unwrap_err().is_not_found());
    assert!(!fixture.history().delete_chat(&chat, None).await.unwrap());
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 1)).await;
    assert_eq!(ids(&fixture.whole(&chat, "main").await.unwrap()), ["m0"]);
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn a_chain_that_lacks_something_is_an_error_and_the_check_says_where() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 200)).await;
    let _gone: u8 =
        cmd("HDEL").arg(fixture.chat_key()).arg("n1:65").query(&mut fixture.server()).unwrap();
    assert_eq!(fixture.whole(&chat, "main").await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(
        fixture.history().all_messages(&chat, 1000, None).await.unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    let last = context_core::store::Window::Last(20);
    let end = context_core::store::ChainEnd::Branch("main".into());
    assert_eq!(fixture.history().chain(&chat, &end, &last).await.unwrap().len(), 20);
    let problems = fixture.problems().await;
    assert!(
        problems.iter().any(|problem| problem.contains("has 64 messages, but states 200")),
        "{problems:?}"
    );
}

pub(crate) async fn the_check_finds_what_others_did_to_a_chat() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 5)).await;
    let key = fixture.chat_key();
    let mut server = fixture.server();
    // The counters of another chat.
    let other = fixture.create("ada", "other").await;
    fixture.extend(&other, "main", "", many("m", 4)).await;
    let others = fixture.keys(":chat2").into_iter().find(|other| *other != key).unwrap();
    let counts: String = cmd("HGET").arg(others).arg("a").query(&mut server).unwrap();
    let mut check = async |field: &str, value: &str, problem: &str| {
        let before: Option<Vec<u8>> = cmd("HGET").arg(&key).arg(field).query(&mut server).unwrap();
        let _: i64 = cmd("HSET").arg(&key).arg(field).arg(value).query(&mut server).unwrap();
        let problems = fixture.problems().await;
        assert!(problems.iter().any(|found| found.contains(problem)), "{field}: {problems:?}");
        let _: i64 = match before {
            Some(before) => {
                cmd("HSET").arg(&key).arg(field).arg(before).query(&mut server).unwrap()
            }
            None => cmd("HDEL").arg(&key).arg(field).query(&mut server).unwrap(),
        };
        assert!(fixture.problems().await.is_empty(), "{field}");
    };
    check("im2", "1 4", "the stored position is not the position of the message").await;
    check("bmain", "1 4 m4", "has 5 messages, but states 4").await;
    check("bmain", "1 5 m3", "the head of the branch is not its newest message").await;
    check("a", &counts, "state 4 messages of").await;
    check("a", &counts.replacen(" 4 ", " 5 ", 1), "does not match its checksum").await;
    check("p1", "3 0 0", "the field of the branch disagrees with the branches of the chat").await;
    check("y1", "2", "the list of boundaries disagrees").await;
    check("n7:1", "x", "the field belongs to no part of the chat").await;
    check("s", "{}", "does not match its checksum").await;
    let _: u8 = cmd("DEL").arg(fixture.keys(":chats")).query(&mut server).unwrap();
    assert!(fixture.problems().await[0].ends_with("the chat is missing from the list of its user"));
}
