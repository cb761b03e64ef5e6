//! Memories: the number of round trips, large scopes, many writers, findings of the check, users
//! with memories, and deletion.

use std::sync::Arc;
use std::time::Duration;

use context_core::base::{MemoryId, limits};
use context_core::memory::{
    MemoriesForgotten, MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector,
};
use context_core::store::{
    MemoriesFound, MemoryExpected, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore,
    MemoryWrite, MemoryWritten,
};
use context_core::{CancelSignal, Store};
use redis::cmd;

use crate::fixture::{RedisFixture, T};
use crate::round_trips::Monitor;

fn memories(fixture: &RedisFixture) -> &dyn MemoryRecordStore {
    fixture.store.memories().unwrap()
}

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

fn record(id: &str) -> MemoryRecord {
    let mut record = MemoryRecord::new(ada(), id, "episode", T, "text");
    record.source = Some(MemorySource::message("s", id));
    record
}

async fn write(fixture: &RedisFixture, writes: &[MemoryWrite]) -> Vec<MemoryWritten> {
    match memories(fixture).write_memories(writes).await.unwrap() {
        MemoryOutcome::Applied(written) => written,
        other => panic!("{other:?}"),
    }
}

/// Writes the records `<prefix>0`, `<prefix>1`, …, all with these words.
async fn many(fixture: &RedisFixture, prefix: &str, count: usize, words: &str) {
    let writes: Vec<_> =
        (0..count).map(|n| MemoryWrite::new(record(&format!("{prefix}{n}")), words)).collect();
    for writes in writes.chunks(500) {
        write(fixture, writes).await;
    }
}

async fn find(fixture: &RedisFixture, words: &[&str], limit: usize) -> MemoriesFound {
    let words = words.iter().map(ToString::to_string).collect();
    memories(fixture).find_memories(&MemoryFind::new(vec![ada()], words, limit)).await.unwrap()
}

fn ids(found: &MemoriesFound) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.stored.record.id.as_str()).collect()
}

pub(crate) async fn a_write_is_one_question_and_a_recall_three() {
    let fixture = RedisFixture::new().await;
    many(&fixture, "m", 1100, "one two").await;
    find(&fixture, &["one"], 5).await;
    let mut monitor = Monitor::of(&fixture);
    write(
        &fixture,
        &[MemoryWrite::new(record("x"), "one two three"), MemoryWrite::new(record("y"), "two")],
    )
    .await;
    assert_eq!(monitor.seen(&fixture), ["EVALSHA"]);
    assert_eq!(ids(&find(&fixture, &["one", "three"], 2).await), ["x", "m1099"]);
    assert_eq!(monitor.seen(&fixture), ["EVALSHA", "HMGET", "HMGET"]);
    // All records with a rare word are in the first read.
    assert_eq!(ids(&find(&fixture, &["three"], 2).await), ["x"]);
    assert_eq!(monitor.seen(&fixture), ["EVALSHA", "HMGET"]);
    let again = write(&fixture, &[MemoryWrite::new(record("x"), "other")]).await;
    assert_eq!(
        (again, monitor.seen(&fixture)),
        (vec![MemoryWritten::Unchanged(1)], vec!["EVALSHA".to_owned()])
    );
    memories(&fixture).list_memories(&MemoryList::new(vec![ada()], 50)).await.unwrap();
    assert_eq!(monitor.seen(&fixture)[0], "EVALSHA");
    assert!(fixture.problems().await.is_empty());
}

pub(crate) async fn a_record_with_all_words_is_found_however_common_they_are() {
    let fixture = RedisFixture::new().await;
    // Only the oldest record has all three words, each of which occurs in thousands.
    write(&fixture, &[MemoryWrite::new(record("all"), "one two three")]).await;
    for words in ["one two", "two three", "one three"] {
        many(&fixture, words, 1500, words).await;
    }
    let found = find(&fixture, &["one", "two", "three"], 5).await;
    assert!(found.bm25.found.iter().sum::<u64>() > 4 * limits::EXACT_MEMORY_POSTINGS);
    assert_eq!(found.bm25.found, [3001; 3]);
    assert_eq!(ids(&found)[0], "all");
    assert_eq!(
        ids(&found)[1..],
        ["one three1499", "one three1498", "one three1497", "one three1496"]
    );
    for hit in &found.hits[1..] {
        assert_eq!(hit.score, found.bm25.score(2, [1, 0, 1]));
    }
}

pub(crate) async fn and_in_a_memory_so_large_that_not_all_is_read() {
    let fixture = RedisFixture::new().await;
    const WORDS: [&str; 5] = ["a", "b", "c", "d", "e"];
    write(&fixture, &[MemoryWrite::new(record("all"), WORDS.join(" "))]).await;
    let places = fixture.keys(":places").remove(0);
    let mut server = fixture.server();
    // Each record is in a block of its own, as if thousands of others were between them. Each lacks
    // one of the words.
    for n in 1..530usize {
        let _: () = cmd("SET").arg(&places).arg(n * 1024).query(&mut server).unwrap();
        let words: Vec<&str> =
            (0..5).filter(|word| *word != n % 5).map(|word| WORDS[word]).collect();
        write(&fixture, &[MemoryWrite::new(record(&format!("m{n}")), words.join(" "))]).await;
    }
    let found = find(&fixture, &WORDS, 3).await;
    assert!(found.bm25.found.iter().sum::<u64>() > 2048);
    assert_eq!((found.hits.len(), ids(&found)[0]), (3, "all"));
    assert_eq!(found.hits[0].score, found.bm25.score(5, [1; 5]));
    for hit in &found.hits[1..] {
        let n: usize = hit.stored.record.id.as_str()[1..].parse().unwrap();
        assert_eq!(hit.score, found.bm25.score(4, (0..5).map(|word| u32::from(word != n % 5))));
    }
}

pub(crate) async fn the_newest_vectors_are_looked_at() {
    let fixture = RedisFixture::new().await;
    let most = usize::try_from(limits::EXACT_MEMORY_VECTORS).unwrap();
    let vector = |x: f32| MemoryVector::new("e", [x, 1.0].as_slice());
    let near = |id: &str| MemoryWrite::new(record(id), "").vector(vector(0.0));
    write(&fixture, &[near("old"), near("first")]).await;
    let writes: Vec<_> = (0..most - 1)
        .map(|n| MemoryWrite::new(record(&format!("m{n}")), "word").vector(vector(1.0 + n as f32)))
        .collect();
    for writes in writes.chunks(limits::MAX_PAGE) {
        write(&fixture, writes).await;
    }
    let mut wanted = MemoryFind::new(vec![ada()], vec!["word".into()], 2);
    wanted.vector = Some(vector(0.0));
    let found = memories(&fixture).find_memories(&wanted).await.unwrap();
    assert_eq!(
        ids(&found),
        [&*format!("m{}", most - 2), &*format!("m{}", most - 3), "first", "m0"]
    );
    assert_eq!((found.hits[2].similarity, found.hits[2].score), (Some(1.0), 0.0));
    assert!(found.hits[3].score > 0.0 && found.hits[0].similarity.is_some());
}

pub(crate) async fn many_writers_lose_nothing_and_a_version_is_given_once() {
    const WRITERS: usize = 8;
    const EACH: u64 = 25;
    let fixture = RedisFixture::new().await;
    let stores = [Arc::new(fixture.again().await), Arc::new(fixture.again().await)];
    let writers = (0..WRITERS).map(|writer| {
        let store = Arc::clone(&stores[writer % 2]);
        tokio::spawn(async move {
            let memories = store.memories().unwrap();
            for n in 0..EACH {
                // A record of its own, and one that all writers write.
                let own = MemoryWrite::new(record(&format!("w{writer}-{n}")), "own word");
                let mut version = 0;
                loop {
                    let mut all = record("all");
                    all.text = format!("{writer} {n}");
                    let all = MemoryWrite::new(all, format!("all word w{writer}"));
                    let writes = [own.clone(), all.expected(MemoryExpected::Version(version))];
                    match memories.write_memories(&writes).await.unwrap() {
                        MemoryOutcome::Applied(written) => {
                            assert_eq!(written[1], MemoryWritten::Written(version + 1));
                            assert_eq!(
                                written[0],
                                MemoryWritten::Written(1),
                                "nothing of a conflict is written"
                            );
                            break;
                        }
                        MemoryOutcome::Conflict { write, stored } => {
                            assert_eq!(write, 1);
                            version = stored.unwrap().version;
                        }
                        other => panic!("{other:?}"),
                    }
                }
            }
        })
    });
    let forgetting = tokio::spawn({
        let store = Arc::clone(&stores[0]);
        async move {
            for n in 0..EACH {
                let forget = MemoryForget::ids(ada(), [format!("w0-{n}")]);
                let _ = store.memories().unwrap().forget_memories(&forget).await.unwrap();
            }
        }
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    forgetting.await.unwrap();
    let all = memories(&fixture).memories(&ada(), &["all".into()]).await.unwrap().remove(0);
    assert_eq!(all.version, WRITERS as u64 * EACH);
    let found = find(&fixture, &["word"], 1000).await;
    let stats =
        memories(&fixture).memory_stats(&"ada".into(), 10, None).await.unwrap().items.remove(0);
    assert_eq!(found.hits.len() as u64, stats.records());
    assert!(stats.records() > (WRITERS as u64 - 1) * EACH);
    assert_eq!(fixture.problems().await, [""; 0]);
}

pub(crate) async fn a_write_whose_answer_was_lost_counts_as_written_whatever_the_order_of_its_data()
{
    let fixture = RedisFixture::new().await;
    let with = |keys: [&str; 2]| {
        let mut record = record("m");
        keys.iter().for_each(|key| record.data.insert(*key, "x"));
        MemoryWrite::new(record, "word").expected(MemoryExpected::Version(0))
    };
    assert_eq!(write(&fixture, &[with(["a", "b"])]).await, [MemoryWritten::Written(1)]);
    assert_eq!(write(&fixture, &[with(["b", "a"])]).await, [MemoryWritten::Written(1)]);
    let outcome = memories(&fixture).write_memories(&[with(["a", "c"])]).await.unwrap();
    assert!(
        matches!(outcome, MemoryOutcome::Conflict { write: 0, stored: Some(_) }),
        "{outcome:?}"
    );
}

pub(crate) async fn what_is_forgotten_by_source_goes_however_much_it_is() {
    let fixture = RedisFixture::new().await;
    many(&fixture, "m", 1300, "word").await;
    let mut other = record("other");
    other.source = Some(MemorySource::session("t"));
    write(&fixture, &[MemoryWrite::new(other, "word")]).await;
    let forget = MemoryForget::source(ada(), MemorySource::session("s"));
    assert_eq!(
        memories(&fixture).forget_memories(&forget).await.unwrap(),
        MemoriesForgotten::new(1300, 0)
    );
    assert_eq!(ids(&find(&fixture, &["word"], 10).await), ["other"]);
    let again = write(&fixture, &[MemoryWrite::new(record("m7"), "word")]).await;
    assert_eq!(again, [MemoryWritten::Forgotten]);
    assert_eq!(fixture.problems().await, [""; 0]);

    // The marks are removed with the scope. Only the number of the last place remains.
    let scope = MemoryForget::Scope(ada());
    assert_eq!(
        memories(&fixture).forget_memories(&scope).await.unwrap(),
        MemoriesForgotten::new(1, 0)
    );
    let left: Vec<String> =
        fixture.keys("").into_iter().filter(|key| !key.contains("{store}")).collect();
    assert!(left.len() == 1 && left[0].ends_with(":places"), "{left:?}");
    assert!(fixture.maintenance().users(10, None).await.unwrap().items.is_empty());
    let again = write(&fixture, &[MemoryWrite::new(record("m7"), "word")]).await;
    assert_eq!(again, [MemoryWritten::Written(1)]);
}

pub(crate) async fn memories_do_not_expire() {
    let fixture = RedisFixture::with(|config| config.chat_ttl(Duration::from_secs(86_400))).await;
    write(
        &fixture,
        &[MemoryWrite::new(record("m"), "word").vector(MemoryVector::new("e", [1.0].as_slice()))],
    )
    .await;
    let keys: Vec<String> =
        fixture.keys("").into_iter().filter(|key| !key.contains("{store}")).collect();
    assert_eq!(keys.len(), 6, "{keys:?}");
    for key in keys {
        let left: i64 = cmd("PTTL").arg(&key).query(&mut fixture.server()).unwrap();
        assert_eq!(left, -1, "{key}");
    }
}

pub(crate) async fn damage_to_memories_is_found() {
    let fixture = RedisFixture::new().await;
    many(&fixture, "m", 1100, "common").await;
    let rare = MemoryWrite::new(record("rare"), "common rare");
    write(&fixture, &[rare.vector(MemoryVector::new("e", [1.0].as_slice()))]).await;
    assert_eq!(fixture.problems().await, [""; 0]);
    let mut server = fixture.server();
    for kind in ["memory2", "vectors2", "recall", "remembered"] {
        let key = fixture.keys(&format!(":{kind}:*")).remove(0);
        let fields: Vec<Vec<u8>> = cmd("HKEYS").arg(&key).query(&mut server).unwrap();
        // One field of each kind, and the blocks of a word.
        let mut sorts: Vec<u8> = Vec::new();
        for field in fields {
            let is_new = !sorts.contains(&field[0]);
            sorts.push(field[0]);
            if !is_new && field[0] != b'p' {
                continue;
            }
            let value: Vec<u8> = cmd("HGET").arg(&key).arg(&field).query(&mut server).unwrap();
            let _: u8 = cmd("HDEL").arg(&key).arg(&field).query(&mut server).unwrap();
            let name = String::from_utf8_lossy(&field).into_owned();
            assert_ne!(fixture.problems().await, [""; 0], "{kind} {name}");
            let _: u8 = cmd("HSET").arg(&key).arg(&field).arg(&value).query(&mut server).unwrap();
        }
        if kind != "remembered" {
            let _: u8 = cmd("HSET").arg(&key).arg("zz").arg("1").query(&mut server).unwrap();
            assert_eq!(fixture.problems().await.len(), 1, "{kind}");
            let _: u8 = cmd("HDEL").arg(&key).arg("zz").query(&mut server).unwrap();
        }
    }
    let counts = fixture.keys(":remembered:*").remove(0);
    cmd("RENAME").arg(&counts).arg(format!("{counts}x")).query::<()>(&mut server).unwrap();
    let problem = format!(
        "key {}: the counters of the memories are missing",
        fixture.keys(":memory2:*").remove(0)
    );
    let problems = fixture.problems().await;
    assert!(problems.contains(&problem), "{problems:?}");
    assert!(problems.contains(
        &"memories of user ada: the memories are stored under the key of another scope".to_owned()
    ));
    cmd("RENAME").arg(format!("{counts}x")).arg(&counts).query::<()>(&mut server).unwrap();
    let scopes = fixture.keys(":scopes").remove(0);
    let _: u8 = cmd("ZREM").arg(&scopes).arg(ada().key()).query(&mut server).unwrap();
    assert_eq!(
        fixture.problems().await,
        ["memories of user ada: the scope is missing from the list of scopes of its user"]
    );
    // Nothing remains of a scope that is not listed either.
    let erased =
        fixture.maintenance().erase_user(&"ada".into(), &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.memories, erased.remaining), (1101, 0));
    assert_eq!(fixture.keys(":memory2:*"), [""; 0]);
}

pub(crate) async fn who_has_only_memories_is_a_user_and_is_erased() {
    let fixture = RedisFixture::new().await;
    fixture.create("bob", "trip").await;
    for user in ["ada", "bob", "a.b}"] {
        let scope = MemoryScope::new(user);
        for scope in [scope.clone(), scope.session("s")] {
            write(
                &fixture,
                &[MemoryWrite::new(MemoryRecord::new(scope, "m", "fact", T, "text"), "word")],
            )
            .await;
        }
    }
    let users = fixture.maintenance().users(10, None).await.unwrap().items;
    assert_eq!(users, ["a.b}", "ada", "bob"]);
    let report = fixture.maintenance().check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.memories, report.findings), (6, vec![]));
    for user in ["bob", "ada", "a.b}"] {
        let erased =
            fixture.maintenance().erase_user(&user.into(), &CancelSignal::never()).await.unwrap();
        assert_eq!(
            (erased.chats, erased.memories, erased.remaining),
            (u64::from(user == "bob"), 2, 0)
        );
        assert_eq!(
            memories(&fixture).memory_stats(&user.into(), 10, None).await.unwrap().items,
            vec![]
        );
    }
    let left: Vec<String> = fixture.keys("");
    assert!(left.iter().all(|key| key.contains("{store}") || key.ends_with(":swept")), "{left:?}");
}

pub(crate) async fn neighbours_are_found_across_blocks() {
    let fixture = RedisFixture::new().await;
    many(&fixture, "m", 1030, "word").await;
    let names = |beside: &[context_core::memory::StoredMemory]| {
        beside.iter().map(|stored| stored.record.id.to_string()).collect::<Vec<_>>()
    };
    // The first block ends after the 1,023rd place.
    let wanted: Vec<MemoryId> =
        ["m1022", "m1023", "m0", "nobody", "m1029"].map(MemoryId::from).to_vec();
    let beside = memories(&fixture).memory_neighbours(&ada(), &wanted, 2).await.unwrap();
    assert_eq!(names(&beside[0]), ["m1020", "m1021", "m1023", "m1024"]);
    assert_eq!(names(&beside[1]), ["m1021", "m1022", "m1024", "m1025"]);
    assert_eq!(names(&beside[2]), ["m1", "m2"]);
    assert_eq!(names(&beside[3]), [""; 0]);
    assert_eq!(names(&beside[4]), ["m1027", "m1028"]);
    let mut list = MemoryList::new(vec![ada()], limits::MAX_PAGE);
    let page = memories(&fixture).list_memories(&list).await.unwrap();
    assert_eq!((page.items.len(), &*page.items[999].record.id.to_string()), (1000, "m30"));
    list.after = page.next;
    assert_eq!(memories(&fixture).list_memories(&list).await.unwrap().items.len(), 30);
}
