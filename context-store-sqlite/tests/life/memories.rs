//! Memories in the file: traces of forgotten records, findings of the check, and search among many
//! records.

use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{
    Bm25, MemoryExpected, MemoryFind, MemoryList, MemoryOutcome, MemoryRecordStore, MemoryWrite,
};
use context_core::{CancelSignal, Store};
use context_store_kit::MemoryWords;
use context_store_sqlite::{SqliteConfig, SqliteStore};
use proptest::prelude::*;

use crate::store_fixture::{StoreFixture, T, is_found};

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

fn memories(fixture: &StoreFixture) -> &dyn MemoryRecordStore {
    fixture.store.memories().unwrap()
}

fn said(scope: &MemoryScope, id: &str, text: &str) -> MemoryWrite {
    let mut record = MemoryRecord::new(scope.clone(), id, "episode", T, text);
    record.source = Some(MemorySource::message("monday", format!("of {id}")));
    MemoryWrite::new(record, text).expected(MemoryExpected::Anything)
}

async fn write(fixture: &StoreFixture, writes: &[MemoryWrite]) {
    let outcome = memories(fixture).write_memories(writes).await.unwrap();
    assert!(matches!(outcome, MemoryOutcome::Applied(_)), "{outcome:?}");
}

async fn found(fixture: &StoreFixture, scope: &MemoryScope, words: &str) -> Vec<String> {
    let words = words.split(' ').map(ToOwned::to_owned).collect();
    let found = memories(fixture)
        .find_memories(&MemoryFind::new(vec![scope.clone()], words, 10))
        .await
        .unwrap();
    found.hits.iter().map(|hit| hit.stored.record.id.to_string()).collect()
}

/// Writes a record that has the needle in every possible field, and other records.
async fn hide(fixture: &StoreFixture, scope: &MemoryScope) {
    let mut needle = said(scope, NEEDLE, &format!("{NEEDLE} plays"));
    needle.record.kind = NEEDLE.to_owned();
    needle.record.key = Some(NEEDLE.to_owned());
    needle.record.source = Some(MemorySource::message(NEEDLE, NEEDLE));
    needle.record.speaker = Some(NEEDLE.to_owned());
    needle.vector = Some(MemoryVector::new(NEEDLE, [1.0, 2.0].as_slice()));
    let others = (0..20).map(|i| said(scope, &format!("m{i}"), "rain plays"));
    write(fixture, &others.chain([needle]).collect::<Vec<_>>()).await;
    assert!(needles(fixture) > 5);
}

#[tokio::test]
async fn what_is_forgotten_is_gone_from_the_file_at_once() {
    let scope = MemoryScope::new("ada");
    for forget in [
        MemoryForget::ids(scope.clone(), [NEEDLE]),
        MemoryForget::source(scope.clone(), MemorySource::message(NEEDLE, NEEDLE)),
        MemoryForget::source(scope.clone(), MemorySource::session(NEEDLE)),
        MemoryForget::Scope(scope.clone()),
    ] {
        let fixture = StoreFixture::new().await;
        hide(&fixture, &scope).await;
        let all = matches!(forget, MemoryForget::Scope(_));
        let forgotten = memories(&fixture).forget_memories(&forget).await.unwrap();
        assert_eq!((forgotten.removed, forgotten.remaining), (if all { 21 } else { 1 }, 0));
        assert_eq!(needles(&fixture), 0, "{forget:?}");
        assert_eq!(found(&fixture, &scope, "plays").await.len(), if all { 0 } else { 10 });
        assert_eq!(fixture.problems().await, [""; 0]);
        let left = fixture.number("SELECT count(*) FROM memory_scope").await;
        assert_eq!(left, i64::from(!all), "a mark is kept of what was forgotten by name");
    }
}

#[tokio::test]
async fn what_was_written_over_is_gone_after_a_vacuum() {
    let fixture = StoreFixture::new().await;
    let scope = MemoryScope::new("ada");
    for round in 0..10 {
        let text = if round % 3 == 0 { NEEDLE } else { "rain" };
        let writes =
            (0..50).map(|i| said(&scope, &format!("m{i}"), &format!("{text} {round} {i}")));
        write(&fixture, &writes.collect::<Vec<_>>()).await;
    }
    assert!(needles(&fixture) > 0);
    let forget = MemoryForget::source(scope.clone(), MemorySource::session("monday"));
    assert_eq!(memories(&fixture).forget_memories(&forget).await.unwrap().removed, 50);
    fixture.maintenance().vacuum().await.unwrap();
    assert_eq!(needles(&fixture), 0);
    assert_eq!(fixture.problems().await, [""; 0]);
}

#[tokio::test]
async fn nothing_that_is_remembered_of_an_erased_user_is_left() {
    let fixture = StoreFixture::new().await;
    let (eve, bob) =
        (MemoryScope::new(format!("eve {NEEDLE}")), MemoryScope::new("bob").project("p"));
    hide(&fixture, &eve).await;
    hide(&fixture, &eve.clone().project(NEEDLE).session(NEEDLE)).await;
    let forgotten =
        memories(&fixture).forget_memories(&MemoryForget::ids(eve.clone(), ["m3"])).await.unwrap();
    assert_eq!(forgotten.removed, 1);
    write(&fixture, &[said(&bob, "m", "rain")]).await;
    let users = fixture.maintenance().users(10, None).await.unwrap();
    assert_eq!(users.items, [bob.user.clone(), eve.user.clone()]);

    let erased = fixture.maintenance().erase_user(&eve.user, &CancelSignal::never()).await.unwrap();
    assert_eq!((erased.memories, erased.remaining), (41, 0));
    assert_eq!(needles(&fixture), 0);
    let users = fixture.maintenance().users(10, None).await.unwrap();
    assert_eq!(users.items, std::slice::from_ref(&bob.user));
    assert_eq!(found(&fixture, &bob, "rain").await, ["m"]);
    for table in
        ["memory_scope", "memory_kind", "memory_session", "memory", "memory_word", "memory_words"]
    {
        let left = sqlx::query(sqlx::AssertSqlSafe(format!("SELECT count(*) FROM {table}")));
        let row = left.fetch_one(&mut fixture.file().await).await.unwrap();
        assert_eq!(sqlx::Row::get::<i64, _>(&row, 0), 1, "{table}");
    }
    assert_eq!(fixture.number("SELECT count(*) FROM memory_mark").await, 0);
    assert_eq!(fixture.problems().await, [""; 0]);
    // Places are never reused.
    write(&fixture, &[said(&bob, "n", "rain")]).await;
    assert_eq!(fixture.number("SELECT max(place) FROM memory").await, 44);
}

#[tokio::test]
async fn a_backup_remembers() {
    let fixture = StoreFixture::new().await;
    let scope = MemoryScope::new("ada");
    write(&fixture, &[said(&scope, "a", "rain today"), said(&scope, "b", "sun")]).await;
    let to = fixture.folder.path().join("copy.db");
    fixture.maintenance().backup(&to).await.unwrap();
    let copy = SqliteStore::open(SqliteConfig::new(&to).create(false)).await.unwrap();
    let copied = copy.memories().unwrap();
    let find = MemoryFind::new(vec![scope.clone()], vec!["rain".to_owned()], 5);
    let list = MemoryList::new(vec![scope], 5);
    assert_eq!(copied.find_memories(&find).await.unwrap().hits.len(), 1);
    assert_eq!(
        copied.list_memories(&list).await.unwrap(),
        memories(&fixture).list_memories(&list).await.unwrap()
    );
    let report = copy.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
    assert_eq!((report.findings.len(), report.memories), (0, 2));
}

#[tokio::test]
async fn the_check_finds_what_is_wrong_with_memories() {
    async fn after(tamper: &'static str) -> Vec<String> {
        let fixture = StoreFixture::new().await;
        let scope = MemoryScope::new("ada").project("p");
        let mut first = said(&scope, "a", "rain rain today");
        first.record.key = Some("k".to_owned());
        let vector = MemoryVector::new("e", [1.0].as_slice());
        write(&fixture, &[first, said(&scope, "b", "rain tomorrow").vector(vector)]).await;
        assert_eq!(fixture.problems().await, [""; 0]);
        let mut file = fixture.file().await;
        for part in ["PRAGMA foreign_keys = OFF", tamper] {
            sqlx::query(part).execute(&mut file).await.unwrap();
        }
        fixture.problems().await
    }
    for (tamper, problem) in [
        ("UPDATE memory_scope SET words = 9", "the counts of the scope are wrong"),
        ("UPDATE memory_scope SET project = 'q'", "the scope is stored under another key"),
        ("UPDATE memory_kind SET bytes = bytes + 1", "the counts of kind episode are wrong"),
        ("DELETE FROM memory_vector", "the counts of kind episode are wrong"),
        (
            "UPDATE memory_word SET found = 1 WHERE word = 'rain'",
            "the counts of the words of kind episode are wrong",
        ),
        (
            "DELETE FROM memory_word WHERE word = 'today'",
            "the counts of the words of kind episode are wrong",
        ),
        ("DELETE FROM memory_index WHERE rowid = 2", "b: the index has other words for the record"),
        ("DELETE FROM memory_words WHERE place = 1", "a: the list of its words cannot be read"),
        (
            "UPDATE memory_words SET list = (SELECT list FROM memory_words WHERE place = 1) WHERE place = 2",
            "b: has the words of another record",
        ),
        ("UPDATE memory SET key = 'other' WHERE id = 'a'", "a: its columns differ from the record"),
        (
            "UPDATE memory SET message = NULL WHERE id = 'b'",
            "b: its columns differ from the record",
        ),
        ("UPDATE memory SET body = x'7b' WHERE id = 'b'", "b: a memory cannot be read"),
        ("UPDATE memory_session SET user = 'bob'", "a: its columns differ from the record"),
    ] {
        let problems = after(tamper).await;
        let told = |found: &String| is_found(found, problem);
        assert!(problems.iter().any(told), "{tamper}: {problems:?}");
    }
    for (tamper, table) in [
        ("DELETE FROM memory_kind", "memory"),
        ("DELETE FROM memory WHERE place = 2", "memory_vector"),
        ("DELETE FROM memory WHERE place = 1", "memory_index"),
        ("DELETE FROM memory WHERE place = 1", "memory_words"),
        ("INSERT INTO memory_mark VALUES (7, x'00')", "memory_mark"),
        ("UPDATE memory_last SET word = 1", "memory_last"),
        ("INSERT INTO memory_session (user, session) VALUES ('ada', 'empty')", "memory_session"),
    ] {
        let problems = after(tamper).await;
        let problem = format!("table {table}: 1 rows belong to no other row");
        let two = format!("table {table}: 2 rows belong to no other row");
        let told =
            |found: &String| *found == problem || *found == two || found.contains("checksum");
        assert!(problems.iter().any(told), "{tamper}: {problems:?}");
    }
}

/// Returns words of a record: one common word for each bit that is set.
fn common(bits: u16) -> Vec<String> {
    (0..8).filter(|word| bits >> word & 1 == 1).map(|word| format!("w{word}")).collect()
}

/// Searches among more records than a search reads, and checks the documented guarantees.
async fn find_in_many(seeds: Vec<u16>, wanted: u16, planted: usize) {
    let fixture = StoreFixture::new().await;
    let scope = MemoryScope::new("ada");
    let words = common(wanted);
    let mut texts: Vec<String> = Vec::new();
    for (i, bits) in (0..4000).zip(seeds.iter().cycle()) {
        // No other record has all of the words.
        let bits = bits.rotate_left(i % 16) ^ (i as u16).wrapping_mul(0x9e37);
        let bits =
            if bits & wanted == wanted { bits & !(wanted & wanted.wrapping_neg()) } else { bits };
        texts.push(common(bits).join(" ") + " filler");
    }
    texts[planted] = words.join(" ");
    for (at, some) in texts.chunks(1000).enumerate() {
        let writes = some
            .iter()
            .enumerate()
            .map(|(i, text)| said(&scope, &format!("{}", at * 1000 + i), text));
        write(&fixture, &writes.collect::<Vec<_>>()).await;
    }
    let find = MemoryFind::new(vec![scope], words.clone(), 50);
    let hits = memories(&fixture).find_memories(&find).await.unwrap();
    let counted: Vec<_> = texts.iter().map(|text| MemoryWords::count(&words, text)).collect();
    let mut bm25 =
        Bm25::new(4000, counted.iter().map(|words| words.length).sum(), vec![0; words.len()]);
    for counts in &counted {
        bm25.found
            .iter_mut()
            .zip(&counts.counts)
            .for_each(|(found, count)| *found += u64::from(*count > 0));
    }
    assert_eq!(hits.bm25, bm25);
    assert!(bm25.found.iter().sum::<u64>() > 2000, "{:?}", bm25.found);
    let ids: Vec<usize> =
        hits.hits.iter().map(|hit| hit.stored.record.id.as_str().parse().unwrap()).collect();
    assert!(ids.contains(&planted), "{planted} is not in {ids:?}");
    assert_eq!(ids.len(), 50);
    let mut last = (f64::INFINITY, usize::MAX);
    for (hit, at) in hits.hits.iter().zip(ids) {
        let counts = &counted[at];
        assert!(counts.is_hit());
        assert_eq!(hit.score, bm25.score(counts.length, counts.counts.iter().copied()));
        assert!(
            hit.score < last.0 || hit.score == last.0 && at < last.1,
            "{:?} behind {last:?}",
            (hit.score, at)
        );
        last = (hit.score, at);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_shrink_iters: 20,
        ..ProptestConfig::with_cases(4) })]

    #[test]
    fn what_has_all_the_words_is_found_however_common_they_are(
        seeds in prop::collection::vec(any::<u16>(), 64),
        wanted in (0u16..256).prop_filter("words that are together in many",
            |wanted| wanted.count_ones() > 2),
        planted in 0usize..4000,
    ) {
        let work = find_in_many(seeds, wanted, planted);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work);
    }
}
