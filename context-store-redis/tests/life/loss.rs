//! Data that others remove: expiry, operators, a server without memory. A chat is complete or
//! absent, or reading it is an error.

use std::time::Duration;

use context_core::ErrorKind;
use context_core::store::{ChatQuery, Commit, Created, NewChat, StoredFragment};
use redis::cmd;

use crate::lab::{Lab, T, apply, extend, ids, many, says, stay};

const DAY: Duration = Duration::from_secs(86_400);

#[tokio::test]
async fn a_chat_expires_whole_and_every_write_puts_it_off() {
    let Some(lab) = Lab::with(|config| config.chat_ttl(DAY)).await else { return };
    let chat = lab.create("ada", "trip").await;
    let key = lab.chat_key();
    let left = |key: &str| -> i64 { cmd("PTTL").arg(key).query(&mut lab.server()).unwrap() };
    let day = i64::try_from(DAY.as_millis()).unwrap();
    let forget_ttl = || -> bool { cmd("PERSIST").arg(&key).query(&mut lab.server()).unwrap() };
    assert!((1..=day).contains(&left(&key)));

    assert!(forget_ttl());
    lab.extend(&chat, "main", "", many("m", 3)).await;
    assert!((1..=day).contains(&left(&key)), "an append");
    assert!(forget_ttl());
    apply(lab.history(), Commit { amendments: vec![says("m1", "new")], ..stay(&chat) }).await;
    assert!((1..=day).contains(&left(&key)), "an amendment");
    let body = context_core::Encoded::new("fragment", 1, &b"x"[..]);
    let fragment = StoredFragment { id: None, metadata: Default::default(), body };
    context_core::Store::fragments(&lab.store).put_fragments(&chat, &[fragment], T).await.unwrap();

    // All of the chat is in one key, so it is never half removed.
    let generation = lab.whole(&chat, "main").await.unwrap().generation();
    let expired: u8 = cmd("EXPIREAT").arg(&key).arg(1).query(&mut lab.server()).unwrap();
    assert_eq!(expired, 1);
    assert_eq!(lab.history().chat(&chat).await.unwrap(), None);
    assert!(lab.whole(&chat, "main").await.unwrap_err().is_not_found());
    let again = lab.history().commit(extend(&chat, "main", "m2", many("n", 1))).await;
    assert!(again.unwrap_err().is_not_found());
    assert!(lab.keys(":chat2").is_empty());

    // A call that sees the entry in the list removes it, and a chat of the same name is a different
    // chat.
    assert!(lab.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.is_empty());
    assert!(lab.keys(":chats").is_empty());
    let created = lab.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    assert!(matches!(created, Created::New(_)));
    assert_eq!(lab.history().list_chats(&ChatQuery::new("ada")).await.unwrap().items.len(), 1);
    assert_ne!(lab.whole(&chat, "main").await.unwrap().generation(), generation);
    assert!(lab.problems().await.is_empty());
}

#[tokio::test]
async fn a_creation_that_was_swept_while_it_was_under_way_begins_again() {
    let Some(lab) = Lab::new().await else { return };
    let chat = lab.create("ada", "trip").await;
    let list = lab.keys(":chats").remove(0);
    assert!(lab.history().delete_chat(&chat, None).await.unwrap());
    // The mark says that all creations up to a number were found to have failed.
    let swept = lab.keys(":swept").remove(0);
    let _: () = cmd("SET").arg(&swept).arg(5).query(&mut lab.server()).unwrap();
    let created = lab.history().create_chat(NewChat::new(chat.clone(), T)).await.unwrap();
    assert!(matches!(created, Created::New(_)));
    let number: u64 = cmd("ZSCORE").arg(&list).arg("trip").query(&mut lab.server()).unwrap();
    assert_eq!(number, 6);
    assert!(lab.problems().await.is_empty());
}

#[tokio::test]
async fn everything_is_gone_after_a_flush_and_the_store_works_on() {
    let Some((_alone, lab)) = Lab::alone().await else { return };
    let chat = lab.create("ada", "trip").await;
    lab.extend(&chat, "main", "", many("m", 70)).await;
    let mut server = lab.server();
    let _: () = cmd("SCRIPT").arg("FLUSH").query(&mut server).unwrap();
    assert_eq!(lab.whole(&chat, "main").await.unwrap().len(), 70);
    let _: () = cmd("SCRIPT").arg("FLUSH").query(&mut server).unwrap();
    lab.extend(&chat, "main", "m69", many("n", 1)).await;

    let _: () = cmd("FLUSHALL").query(&mut server).unwrap();
    assert!(lab.whole(&chat, "main").await.unwrap_err().is_not_found());
    assert!(!lab.history().delete_chat(&chat, None).await.unwrap());
    let chat = lab.create("ada", "trip").await;
    lab.extend(&chat, "main", "", many("m", 1)).await;
    assert_eq!(ids(&lab.whole(&chat, "main").await.unwrap()), ["m0"]);
    assert!(lab.problems().await.is_empty());
}

#[tokio::test]
async fn a_chain_that_lacks_something_is_an_error_and_the_check_says_where() {
    let Some(lab) = Lab::new().await else { return };
    let chat = lab.create("ada", "trip").await;
    lab.extend(&chat, "main", "", many("m", 200)).await;
    let _gone: u8 = cmd("HDEL").arg(lab.chat_key()).arg("n1:65").query(&mut lab.server()).unwrap();
    assert_eq!(lab.whole(&chat, "main").await.unwrap_err().kind(), ErrorKind::Corrupt);
    assert_eq!(
        lab.history().all_messages(&chat, 1000, None).await.unwrap_err().kind(),
        ErrorKind::Corrupt
    );
    let last = context_core::store::Window::Last(20);
    let end = context_core::store::ChainEnd::Branch("main".into());
    assert_eq!(lab.history().chain(&chat, &end, &last).await.unwrap().len(), 20);
    let problems = lab.problems().await;
    assert!(
        problems.iter().any(|problem| problem.contains("has 64 messages, says 200")),
        "{problems:?}"
    );
}

#[tokio::test]
async fn the_check_finds_what_others_did_to_a_chat() {
    let Some(lab) = Lab::new().await else { return };
    let chat = lab.create("ada", "trip").await;
    lab.extend(&chat, "main", "", many("m", 5)).await;
    let key = lab.chat_key();
    let mut server = lab.server();
    // The counters of another chat.
    let other = lab.create("ada", "other").await;
    lab.extend(&other, "main", "", many("m", 4)).await;
    let others = lab.keys(":chat2").into_iter().find(|other| *other != key).unwrap();
    let counts: String = cmd("HGET").arg(others).arg("a").query(&mut server).unwrap();
    let mut check = async |field: &str, value: &str, problem: &str| {
        let before: Option<Vec<u8>> = cmd("HGET").arg(&key).arg(field).query(&mut server).unwrap();
        let _: i64 = cmd("HSET").arg(&key).arg(field).arg(value).query(&mut server).unwrap();
        let problems = lab.problems().await;
        assert!(problems.iter().any(|found| found.contains(problem)), "{field}: {problems:?}");
        let _: i64 = match before {
            Some(before) => {
                cmd("HSET").arg(&key).arg(field).arg(before).query(&mut server).unwrap()
            }
            None => cmd("HDEL").arg(&key).arg(field).query(&mut server).unwrap(),
        };
        assert!(lab.problems().await.is_empty(), "{field}");
    };
    check("im2", "1 4", "is not where it is filed").await;
    check("bmain", "1 4 m4", "has 5 messages, says 4").await;
    check("bmain", "1 5 m3", "its head is not its newest message").await;
    check("a", &counts, "says 4 messages of").await;
    check("a", &counts.replacen(" 4 ", " 5 ", 1), "its checksum differs").await;
    check("p1", "3 0 0", "is filed otherwise than it is").await;
    check("y1", "2", "the list of boundaries disagrees").await;
    check("n7:1", "x", "belongs to nothing").await;
    check("s", "{}", "its checksum differs").await;
    let _: u8 = cmd("DEL").arg(lab.keys(":chats")).query(&mut server).unwrap();
    assert!(lab.problems().await[0].ends_with("is not in the list of its user"));
}
