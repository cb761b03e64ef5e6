//! Reads by plain commands: they return what the script returns, at every length, beside writers,
//! and with the same errors.

use std::sync::Arc;

use context_core::message::NodeKind;
use context_core::store::{ChainEnd, Commit, OpenedChat, StoredFragment, Window};
use context_core::{Chain, ChatRef, Encoded, ErrorKind, Node, Result, Store};
use redis::cmd;

use crate::fixture::{RedisFixture, T, apply, extend, fork, ids, many, says, stay};
use crate::round_trips::Monitor;

fn boundary(id: &str) -> Arc<Node> {
    let body = Encoded::new("boundary", 1, &b"{}"[..]);
    Arc::new(Node::from_encoded(id.into(), NodeKind::Boundary, T, body))
}

async fn branch(fixture: &RedisFixture, chat: &ChatRef, name: &str, window: &Window) -> Chain {
    fixture.history().chain(chat, &ChainEnd::Branch(name.into()), window).await.unwrap()
}

async fn open(fixture: &RedisFixture, chat: &ChatRef, window: &Window) -> Result<OpenedChat> {
    Ok(fixture.store.open_chat(chat, None, window).await?.unwrap())
}

fn same(read: &Chain, expected: &Chain, did: &str) {
    let parts = |chain: &Chain| (chain.skipped(), chain.generation(), ids(chain));
    assert_eq!(parts(read), parts(expected), "{did}");
    assert!(read.iter().eq(expected.iter()), "{did}");
}

/// Compares both reads of a branch with that of its newest message, which the script reads.
async fn compare(fixture: &RedisFixture, chat: &ChatRef, name: &str, did: &str) {
    let generation = branch(fixture, chat, name, &Window::Whole).await.generation();
    let after = |message: &str, generation| Window::After { message: message.into(), generation };
    let news = ["m0", "m14", "m62", "m63", "m64", "m129", "none"];
    let mut windows: Vec<_> = news.iter().map(|message| after(message, generation)).collect();
    windows.extend([Window::Whole, Window::Boundary, after("m14", generation + 1)]);
    windows.extend([Window::Last(3), Window::Tokens(9)]);
    for window in windows {
        let read = branch(fixture, chat, name, &window).await;
        if let Some(head) = read.head() {
            let end = ChainEnd::Message(head.clone());
            let expected = fixture.history().chain(chat, &end, &window).await.unwrap();
            same(&read, &expected, &format!("{did}, {name}, {window:?}"));
        }
        let opened = fixture.store.open_chat(chat, Some(&name.into()), &window).await.unwrap();
        same(&opened.unwrap().chain, &read, &format!("{did}, {name} opened, {window:?}"));
    }
}

pub(crate) async fn branches_of_every_length_are_read_as_by_the_script() {
    let fixture = RedisFixture::new().await;
    for n in [0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 130, 1000] {
        for step in [1, 2, 7, 1000] {
            if n > 200 && step == 1 {
                continue;
            }
            let chat = fixture.create("ada", &format!("{n} by {step}")).await;
            let (nodes, mut head) = (many("m", n), String::new());
            for part in nodes.chunks(step) {
                fixture.extend(&chat, "main", &head, part.to_vec()).await;
                head = part.last().unwrap().id.to_string();
            }
            let did = format!("{n} messages by {step}");
            compare(&fixture, &chat, "main", &did).await;
            let whole = fixture.whole(&chat, "main").await.unwrap();
            assert!(whole.iter().eq(nodes.iter()), "{did}");
        }
    }
}

pub(crate) async fn large_messages_have_runs_of_their_own() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let mut head = String::new();
    for i in 0..150 {
        let size = [10, 100_000, 300_000][i * i % 3];
        let node = says(format!("m{i}"), &"x".repeat(size));
        fixture.extend(&chat, "main", &head, vec![node]).await;
        head = format!("m{i}");
        if [0, 1, 14, 15, 16, 62, 63, 64, 127, 128, 149].contains(&i) {
            compare(&fixture, &chat, "main", &format!("{i} large messages")).await;
        }
    }
    let mut monitor = Monitor::of(&fixture);
    let cold = fixture.again().await;
    monitor.seen(&fixture);
    let main = ChainEnd::Branch("main".into());
    assert_eq!(cold.history().chain(&chat, &main, &Window::Whole).await.unwrap().len(), 150);
    assert_eq!(monitor.seen(&fixture), ["HMGET"; 3]);
}

pub(crate) async fn boundaries_and_forks_are_read_as_by_the_script() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let mut head = String::new();
    for (i, part) in many("m", 200).chunks(50).enumerate() {
        let mut part = part.to_vec();
        part.insert(20, boundary(&format!("b{i}")));
        fixture.extend(&chat, "main", &head, part.clone()).await;
        head = part.last().unwrap().id.to_string();
        compare(&fixture, &chat, "main", &format!("boundary {i}")).await;
    }
    for at in ["m3", "m63", "m64", "m199"] {
        let name = format!("at {at}");
        apply(fixture.history(), fork(&chat, &name, at, many(&name, 70))).await;
        compare(&fixture, &chat, &name, "fork").await;
        compare(&fixture, &chat, "main", "forked").await;
    }
    // The active branch is another one than the guess.
    fixture.history().activate_branch(&chat, &"at m63".into(), T).await.unwrap();
    let expected = branch(&fixture, &chat, "at m63", &Window::Boundary).await;
    for _ in 0..2 {
        let opened = open(&fixture, &chat, &Window::Boundary).await.unwrap();
        same(&opened.chain, &expected, "active");
    }
    fixture.history().rename_branch(&chat, &"main".into(), &"old".into(), T).await.unwrap();
    compare(&fixture, &chat, "old", "renamed").await;
    let error = fixture.store.open_chat(&chat, Some(&"main".into()), &Window::Whole).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::NotFound);
}

pub(crate) async fn an_opening_of_a_short_branch_is_one_plain_command() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 64)).await;
    let mut monitor = Monitor::of(&fixture);
    let after = |chain: &Chain| Window::After {
        message: chain.head().unwrap().clone(),
        generation: chain.generation(),
    };
    let opened = open(&fixture, &chat, &Window::Boundary).await.unwrap();
    assert_eq!((opened.chain.len(), monitor.seen(&fixture)), (64, vec!["HMGET".to_owned()]));
    let news = open(&fixture, &chat, &after(&opened.chain)).await.unwrap().chain;
    assert_eq!((news.len(), news.skipped()), (0, 64));
    assert_eq!(monitor.seen(&fixture), ["HMGET"]);
    // A longer one is two, unless this handle has read it before.
    fixture.extend(&chat, "main", "m63", many("n", 70)).await;
    monitor.seen(&fixture);
    for commands in [2, 1] {
        assert_eq!(open(&fixture, &chat, &Window::Boundary).await.unwrap().chain.len(), 134);
        assert_eq!(monitor.seen(&fixture), vec!["HMGET"; commands]);
    }
    let news = open(&fixture, &chat, &after(&opened.chain)).await.unwrap().chain;
    assert_eq!((ids(&news)[0].as_str(), news.skipped()), ("n0", 64));
    assert_eq!(monitor.seen(&fixture), ["HMGET"; 2]);
    // Fragments are a second one.
    let body = Encoded::new("text", 1, "words");
    let fragments = [StoredFragment { id: None, metadata: Default::default(), body }];
    fixture.store.fragments().put_fragments(&chat, &fragments, T).await.unwrap();
    monitor.seen(&fixture);
    let opened = open(&fixture, &chat, &after(&news)).await.unwrap();
    assert_eq!((opened.chain.len(), &opened.fragments[..]), (0, &fragments[..]));
    assert_eq!(monitor.seen(&fixture), ["HMGET"; 2]);
    // A boundary moves the block that is asked for, and messages before it do not.
    fixture.extend(&chat, "main", "n69", vec![boundary("b")]).await;
    assert_eq!(ids(&open(&fixture, &chat, &Window::Boundary).await.unwrap().chain), ["b"]);
    monitor.seen(&fixture);
    assert_eq!(ids(&branch(&fixture, &chat, "main", &Window::Boundary).await), ["b"]);
    assert_eq!(fixture.whole(&chat, "main").await.unwrap().len(), 135);
    assert_eq!(monitor.seen(&fixture), ["HMGET"; 2]);
}

pub(crate) async fn reads_beside_a_writer_see_a_beginning_of_what_it_writes() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    let store = Arc::new(fixture.again().await);
    let writer = {
        let (store, chat) = (Arc::clone(&store), chat.clone());
        tokio::spawn(async move {
            for i in 0..400 {
                let expected = if i == 0 { String::new() } else { format!("m{}", i - 1) };
                let commit = extend(&chat, "main", &expected, vec![says(format!("m{i}"), "x")]);
                apply(store.history(), commit).await;
                if i % 50 == 25 {
                    // Changes the version, and a stored message.
                    let amendments = vec![says(format!("m{}", i - 9), "y")];
                    apply(store.history(), Commit { amendments, ..stay(&chat) }).await;
                }
            }
        })
    };
    let mut last = 0;
    while !writer.is_finished() {
        for window in [Window::Whole, Window::Boundary] {
            let read = branch(&fixture, &chat, "main", &window).await;
            let opened = open(&fixture, &chat, &window).await.unwrap();
            assert!(opened.chain.len() >= read.len() && read.len() >= last);
            last = opened.chain.len();
            for chain in [read, opened.chain] {
                let expected: Vec<_> = (0..chain.len()).map(|i| format!("m{i}")).collect();
                assert_eq!((ids(&chain), chain.skipped()), (expected, 0));
            }
        }
    }
    writer.await.unwrap();
    compare(&fixture, &chat, "main", "after the writer").await;
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn damage_and_absence_are_the_same_errors() {
    let fixture = RedisFixture::new().await;
    let chat = fixture.create("ada", "trip").await;
    fixture.extend(&chat, "main", "", many("m", 150)).await;
    let (key, mut server) = (fixture.chat_key(), fixture.server());
    let kinds = async |window: &Window| {
        let chain = fixture.history().chain(&chat, &ChainEnd::Branch("main".into()), window).await;
        let opened = fixture.store.open_chat(&chat, None, window).await;
        (chain.err().map(|error| error.kind()), opened.err().map(|error| error.kind()))
    };
    let values: [(&str, Option<&[u8]>); 9] = [
        ("o", Some(b"00000000 1 0")),
        ("bmain", Some(b"1 x")),
        ("bmain", Some(b"1 999999999 m149")),
        ("p1", None),
        ("n1:1", None),
        ("n1:65", None),
        ("n1:65", Some(b"\x40")),
        ("n1:129", None),
        ("n1:129", Some(b"\x16abc")),
    ];
    for (field, value) in values {
        let stored: Vec<u8> = cmd("HGET").arg(&key).arg(field).query(&mut server).unwrap();
        let _done: u8 = match value {
            Some(value) => cmd("HSET").arg(&key).arg(field).arg(value).query(&mut server).unwrap(),
            None => cmd("HDEL").arg(&key).arg(field).query(&mut server).unwrap(),
        };
        for window in [Window::Whole, Window::Boundary] {
            let found = kinds(&window).await;
            let expected = Some(ErrorKind::Corrupt);
            if (field, value) == ("bmain", Some(b"1 x")) {
                // The script fails: it was never written for such an end.
                assert!(found.0.is_some() && found.1 == found.0, "{found:?}");
            } else {
                assert_eq!(found, (expected, expected), "{field} {value:?} {window:?}");
            }
        }
        let _set: u8 = cmd("HSET").arg(&key).arg(field).arg(stored).query(&mut server).unwrap();
    }
    compare(&fixture, &chat, "main", "repaired").await;
    let nowhere = ChainEnd::Branch("no".into());
    let absent = fixture.history().chain(&chat, &nowhere, &Window::Whole);
    let error = absent.await.unwrap_err();
    assert_eq!((error.kind(), error.get("branch")), (ErrorKind::NotFound, Some("no")));
    assert!(fixture.history().delete_chat(&chat, None).await.unwrap());
    let (chain, opened) = kinds(&Window::Whole).await;
    assert_eq!((chain, opened), (Some(ErrorKind::NotFound), None));
    assert!(fixture.store.open_chat(&chat, None, &Window::Whole).await.unwrap().is_none());
    let error = fixture.store.fragments().fragments(&chat).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}
