//! Fields that other programs have changed: reading fails, and the check finds each. Stores without
//! checksums get them by an upgrade.

use std::time::Duration;

use context_core::base::{BlobId, CheckpointName, FragmentId, StreamId};
use context_core::memory::{MemoryRecord, MemoryScope, MemoryVector};
use context_core::store::{
    ChainEnd, ChatQuery, Commit, LeaseClaim, MemoryFind, MemoryWrite, NewBlob, NewChat,
    StoredFragment, StreamAppend, StreamClaim, Window,
};
use context_core::trajectory::Changes;
use context_core::{ChatRef, Encoded, ErrorKind, Metadata, Result, Store};
use context_store_redis::RedisStore;
use redis::cmd;

use crate::fixture::{RedisFixture, T, apply, extend, many, says, stay};
use crate::rounds;

fn chat() -> ChatRef {
    ChatRef::new("ada", "trip")
}

fn scope() -> MemoryScope {
    MemoryScope::new("ada")
}

fn vector() -> MemoryVector {
    MemoryVector::new("model", vec![1.0, 2.0])
}

/// Fills the store with data of every kind.
async fn fill(fixture: &RedisFixture) {
    let history = fixture.history();
    let metadata = Metadata::default().with("place", "lisbon");
    let new = NewChat { title: Some("pay 100".into()), metadata, ..NewChat::new(chat(), T) };
    let _created = history.create_chat(new).await.unwrap();
    apply(history, extend(&chat(), "main", "", many("m", 3))).await;
    let amend = Commit { amendments: vec![says("m1", "other words")], ..stay(&chat()) };
    apply(history, Commit { key: Some("again".into()), ..amend }).await;
    history.set_checkpoint(&chat(), &CheckpointName::from("mark"), &"m1".into(), T).await.unwrap();
    let fragment = StoredFragment {
        id: Some(FragmentId::from("rule")),
        metadata: Metadata::default(),
        body: Encoded::new("text", 1, "pay 100"),
    };
    let store: &dyn Store = &fixture.store;
    let earlier = StoredFragment { body: Encoded::new("text", 1, "pay 200"), ..fragment.clone() };
    store.fragments().put_fragments(&chat(), &[earlier], T).await.unwrap();
    store.fragments().put_fragments(&chat(), &[fragment], T).await.unwrap();
    let _done =
        store.blobs().unwrap().put_blob(&chat(), NewBlob::new(&b"pay 100"[..], T)).await.unwrap();
    let (streams, id) = (store.streams().unwrap(), StreamId::from("answer"));
    let _done = streams.create_stream(&chat(), &id, T).await.unwrap();
    let _done = streams.claim_stream(&chat(), &id, &StreamClaim::new("w", T)).await.unwrap();
    let chunk = StreamAppend::new("w", 0, vec!["pay 100"], T);
    let _done = streams.append_stream(&chat(), &id, chunk).await.unwrap();
    let claim = LeaseClaim::new("worker", T, Duration::from_secs(1));
    let _done = store.leases().unwrap().take_lease(&chat(), &claim).await.unwrap();
    let mut write =
        MemoryWrite::new(MemoryRecord::new(scope(), "m", "fact", T, "pay 100"), "pay 100");
    write.vector = Some(vector());
    let _done = store.memories().unwrap().write_memories(&[write]).await.unwrap();
}

/// Reads everything.
async fn read(store: &dyn Store) -> Result<()> {
    let history = store.history();
    history.list_chats(&ChatQuery::new("ada")).await?;
    history.chain(&chat(), &ChainEnd::Branch("main".into()), &Window::Whole).await?;
    history.revisions(&chat(), &"m1".into()).await?;
    history.checkpoints(&chat()).await?;
    store.fragments().fragments(&chat()).await?;
    store.fragment_log().unwrap().fragment_log(&chat()).await?;
    store.ref_log().unwrap().ref_log(&chat()).await?;
    store.leases().unwrap().lease(&chat()).await?;
    // Damage is detected even if only a part is read.
    store.blobs().unwrap().read_blob(&chat(), &BlobId::of(b"pay 100"), 2..5, None).await?;
    store.streams().unwrap().read_stream(&chat(), &"answer".into(), 0, 5).await?;
    let memories = store.memories().unwrap();
    memories.memories(&scope(), &["m".into()]).await?;
    let mut find = MemoryFind::new(vec![scope()], vec!["pay".to_owned()], 5);
    find.vector = Some(vector());
    memories.find_memories(&find).await?;
    Ok(())
}

/// A round of which a node was changed.
async fn fill_round(fixture: &RedisFixture) {
    let (mut round, query) = rounds::begin(fixture, &rounds::ada(), 0).await;
    let action = rounds::act(fixture, &mut round, query).await;
    let changes = round.change(action, &Changes::new().describe("more"), None, T).unwrap();
    rounds::apply(fixture, &mut round, changes).await;
}

/// Returns a value whose last digit or letter is changed.
fn changed(value: &[u8]) -> Vec<u8> {
    let mut value = value.to_vec();
    if let Some(at) = value.iter().rposition(u8::is_ascii_alphanumeric) {
        value[at] ^= 1;
    } else if let Some(last) = value.last_mut() {
        *last ^= 1;
    }
    value
}

pub(crate) async fn the_check_finds_a_change_in_any_field_of_any_hash() {
    let fixture = RedisFixture::new().await;
    fill(&fixture).await;
    fill_round(&fixture).await;
    assert_eq!(fixture.problems().await, [""; 0]);
    let mut server = fixture.server();
    let (mut tried, mut missed) = (0, Vec::new());
    for key in fixture.keys("") {
        let kind: String = cmd("TYPE").arg(&key).query(&mut server).unwrap();
        if kind != "hash" {
            continue;
        }
        let fields: Vec<(Vec<u8>, Vec<u8>)> = cmd("HGETALL").arg(&key).query(&mut server).unwrap();
        for (field, value) in fields {
            let mut set = |value: &[u8]| {
                let _set: u8 =
                    cmd("HSET").arg(&key).arg(&field).arg(value).query(&mut server).unwrap();
            };
            set(&changed(&value));
            let problems = fixture.problems().await;
            set(&value);
            tried += 1;
            if problems.is_empty() {
                let end = key.split("}:").nth(1).unwrap().split(':').next().unwrap();
                missed.push(format!("{end} {}", field[0].escape_ascii()));
            }
        }
    }
    assert_eq!(fixture.problems().await, [""; 0]);
    assert!(tried > 40, "{tried}");
    assert_eq!(missed, [""; 0]);
}

pub(crate) async fn a_change_in_any_field_is_an_error_when_it_is_read_and_a_finding_of_the_check() {
    let piece = format!("0:{}", BlobId::of(b"pay 100"));
    let plants = [
        (":chat2", "a"),
        (":chat2", "o"),
        (":chat2", "tanswer"),
        (":chat2", "m"),
        (":chat2", "s"),
        (":chat2", "x"),
        (":chat2", "f0"),
        (":chat2", "l"),
        (":chat2", "z"),
        (":chat2", "uanswer"),
        (":chat2", "c0:answer"),
        (":chat2", "n1:1"),
        (":chat2", "r0000000000m1"),
        (":blobs2", &piece),
        (":references2", "r*"),
        (":vectors2:*", "1"),
        (":memory2:*", "b1"),
    ];
    for (end, field) in plants {
        let fixture = RedisFixture::new().await;
        fill(&fixture).await;
        read(&fixture.store).await.unwrap();
        assert_eq!(fixture.problems().await, [""; 0]);
        let key = fixture.keys(end).remove(0);
        let mut server = fixture.server();
        let fields: Vec<String> = cmd("HKEYS").arg(&key).query(&mut server).unwrap();
        let named = |name: &String| {
            field.strip_suffix('*').map_or(name == field, |start| name.starts_with(start))
        };
        let field = fields.into_iter().find(named).unwrap();
        let mut value: Vec<u8> = cmd("HGET").arg(&key).arg(&field).query(&mut server).unwrap();
        let at = value.len() - 6;
        value[at] ^= 1;
        let _set: u8 = cmd("HSET").arg(&key).arg(&field).arg(value).query(&mut server).unwrap();
        let error = read(&fixture.store).await.err();
        // Only a listing reads the list of streams.
        let streams = fixture.store.streams().unwrap().streams(&chat(), 5, None).await.err();
        let error = error.or(streams).unwrap_or_else(|| panic!("{end} {field} was read"));
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{end} {field}: {error}");
        assert_ne!(fixture.problems().await, [""; 0], "{end} {field}");
    }
}

/// Removes the checksums from the values of a hash, and gives it its old name.
fn older(
    fixture: &RedisFixture,
    end: &str,
    (new, old): (&str, &str),
    change: impl Fn(&str, &[u8]) -> Option<Vec<u8>>,
) {
    let mut server = fixture.server();
    let key = fixture.keys(end).remove(0);
    let fields: Vec<(String, Vec<u8>)> = cmd("HGETALL").arg(&key).query(&mut server).unwrap();
    for (field, value) in fields {
        if let Some(value) = change(&field, &value) {
            let _set: u8 = cmd("HSET").arg(&key).arg(field).arg(value).query(&mut server).unwrap();
        }
    }
    let () = cmd("RENAME").arg(&key).arg(key.replace(new, old)).query(&mut server).unwrap();
}

pub(crate) async fn a_store_of_the_layout_before_gets_its_checksums_and_older_programs_stay_out() {
    let fixture = RedisFixture::new().await;
    fill(&fixture).await;
    let cut = |value: &[u8]| value[..value.len() - 4].to_vec();
    // After eight letters and a space.
    let text = |value: &[u8]| value[9..].to_vec();
    older(&fixture, ":chat2", (":chat2", ":chat"), |field, value| match field.as_bytes()[0] {
        b'm' | b's' | b'x' | b'z' if field.len() == 1 => Some(cut(value)),
        b'f' | b'u' | b'c' | b'k' => Some(cut(value)),
        b'v' | b'o' | b't' => Some(text(value)),
        // Three messages in one run, each with its checksum in front.
        b'n' => {
            let (mut run, mut at) = (vec![value[0]], 1);
            while at < value.len() {
                let length = u32::from_le_bytes(value[at + 4..at + 8].try_into().unwrap()) as usize;
                run.extend(&value[at + 4..at + 8 + length]);
                at += 8 + length;
            }
            Some(run)
        }
        b'r' => Some([&value[..8], &value[12..value.len() - 4]].concat()),
        b'a' => {
            let counts = String::from_utf8(text(value)).unwrap();
            let parts: Vec<&str> = counts.split(' ').collect();
            let bytes: u64 = parts[1].parse().unwrap();
            Some(format!("{} {} {}", parts[0], bytes - 4 * 4, parts[2]).into())
        }
        _ => None,
    });
    older(&fixture, ":blobs2", (":blobs2", ":blobs"), |field, value| {
        field.contains(':').then(|| cut(value))
    });
    older(&fixture, ":references2", (":references2", ":references"), |field, value| {
        field.starts_with('r').then(|| text(value))
    });
    older(&fixture, ":vectors2:*", (":vectors2:", ":vectors:"), |_, value| Some(cut(value)));
    older(&fixture, ":memory2:*", (":memory2:", ":memory:"), |field, value| {
        field.starts_with('b').then(|| cut(value))
    });
    let mut server = fixture.server();
    let layout = fixture.keys("{store}:layout").remove(0);
    let handles = fixture.keys("{store}:handles").remove(0);
    let _gone: u8 = cmd("DEL").arg(layout).query(&mut server).unwrap();
    let () = cmd("SET").arg(&handles).arg(7).query(&mut server).unwrap();

    let error = RedisStore::open(fixture.config.clone().read_only(true)).await.unwrap_err();
    assert!(error.message().contains("context upgrade"), "{error}");
    let store = fixture.again().await;
    read(&store).await.unwrap();
    assert_eq!(fixture.problems().await, [""; 0]);
    // Older programs first increment the counter of handles.
    let counted: redis::RedisResult<u64> = cmd("INCR").arg(&handles).query(&mut server);
    assert!(counted.is_err());
}
