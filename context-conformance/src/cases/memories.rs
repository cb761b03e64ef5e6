//! Cases about memory records: writes are atomic, conditional, and read back unchanged.

use context_core::base::limits;
use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{MemoryExpected, MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{Json, Metadata, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, same};
use crate::memory_fixture::{MemoryFixture, MemoryStep, same_memories};
use crate::round_fixture::{JSONS, TEXTS};
use crate::verdict::Check;
use context_simulator::Random;

cases!("memories":
    what_is_written_is_there if Memories,
    absent_keeps_what_is_there if Memories,
    anything_writes_over_it if Memories,
    a_version_is_written_once if Memories,
    a_conflict_leaves_nothing_written if Memories,
    a_repeated_write_counts_once if Memories,
    read_in_the_order_asked if Memories,
    places_grow_and_stay if Memories,
    beside_are_those_of_its_session if Memories,
    any_text_comes_back if Memories,
    any_name_comes_back if Memories,
    times_data_and_sources_come_back if Memories,
    the_largest_is_accepted if Memories,
    need_no_chat if Memories,
    random_memories_come_back if Memories,
    there_after_opening_again if Durable,
    seen_through_another_handle if SecondHandle,
);

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

async fn what_is_written_is_there(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let (user, session) = (ada(), ada().session("s"));
    memories.matches_model("nothing").await?;
    memories.notes(&[(&user, "m1", "lisbon flight")]).await?;
    memories.matches_model("a first record").await?;
    memories
        .notes(&[(&session, "m1", "lisbon again"), (&user, "m2", ""), (&session, "m0", "hotel")])
        .await?;
    memories.matches_model("three at once, in two scopes").await?;
    let nothing = MemoryOutcome::Applied(vec![MemoryWritten::Unchanged(1)]);
    let again = memories.fixture.note(&user, "m1", "other words");
    same(
        "the outcome of a write of what is there",
        &memories.write("the same name", &[again]).await?,
        &nothing,
    )?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn absent_keeps_what_is_there(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    memories.notes(&[(&user, "m1", "first"), (&user, "m2", "second")]).await?;
    memories.put(memories.fixture.note(&user, "m2", "changed")).await?;
    let mixed = [("m0", "new"), ("m1", "not this"), ("m2", "nor this"), ("m3", "new too")];
    let mixed = mixed.map(|(id, words)| memories.fixture.note(&user, id, words));
    let outcome = memories.write("a write of old and new records", &mixed).await?;
    use MemoryWritten::{Unchanged, Written};
    let expected = MemoryOutcome::Applied(vec![Written(1), Unchanged(1), Unchanged(2), Written(1)]);
    same("its outcome, one answer for each in their order", &outcome, &expected)?;
    memories.matches_model("old and new records in one write").await
}

async fn anything_writes_over_it(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let (user, other) = (ada(), ada().agent("a"));
    memories.notes(&[(&other, "m", "of another scope")]).await?;
    for (n, words) in ["first", "second", "", "fourth"].into_iter().enumerate() {
        let mut write = memories.fixture.note(&user, "m", words);
        write.record.kind = format!("kind {n}");
        write.record.key = (n % 2 == 0).then(|| "key".into());
        write.record.source = (n % 2 == 1).then(|| MemorySource::message("s", format!("m{n}")));
        write.vector = (n == 1).then(|| MemoryVector::new("e", [n as f32].as_slice()));
        memories.put(write).await?;
        memories.matches_model(&format!("writing it the {n}th time")).await?;
    }
    Ok(())
}

async fn a_version_is_written_once(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    for version in 0..4 {
        let write = |text: &str| {
            memories.fixture.note(&user, "m", text).expected(MemoryExpected::Version(version))
        };
        let (first, second) = (write(&format!("{version}")), write("too late"));
        let outcome = memories.write("a write of a version", &[first]).await?;
        same(
            "its outcome",
            &outcome,
            &MemoryOutcome::Applied(vec![MemoryWritten::Written(version + 1)]),
        )?;
        let MemoryOutcome::Conflict { .. } =
            memories.write("another write of it", &[second]).await?
        else {
            return fail(format!("version {version} was written twice"));
        };
        memories.matches_model("a conflict").await?;
    }
    for (id, version) in [("m", 3), ("m", 5), ("m", u64::MAX), ("absent", 1), ("absent", u64::MAX)]
    {
        let write =
            memories.fixture.note(&user, id, "no").expected(MemoryExpected::Version(version));
        let MemoryOutcome::Conflict { .. } =
            memories.write("a write of a wrong version", &[write]).await?
        else {
            return fail(format!("{id} was written, though it was never at version {version}"));
        };
    }
    memories.matches_model("writes of wrong versions").await
}

async fn a_conflict_leaves_nothing_written(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let (user, session) = (ada(), ada().session("s"));
    memories.notes(&[(&user, "m1", "one"), (&session, "m2", "two")]).await?;
    for at in 0..4 {
        let mut writes: Vec<_> = [(&user, "m1"), (&user, "m3"), (&session, "m2"), (&session, "m4")]
            .map(|(scope, id)| {
                memories.fixture.note(scope, id, "in vain").expected(MemoryExpected::Anything)
            })
            .into();
        writes[at].expected = MemoryExpected::Version(7);
        let MemoryOutcome::Conflict { write, .. } =
            memories.write("a write of four", &writes).await?
        else {
            return fail(format!("the {at}th of four is in conflict, and they were written"));
        };
        same("which of four is in conflict", &write, &at)?;
        memories.matches_model("a conflict").await?;
        same("what check() found", &memories.fixture.findings().await?, &Vec::new())?;
    }
    Ok(())
}

async fn a_repeated_write_counts_once(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    let batch = |version| {
        let write = |id| {
            memories.fixture.note(&user, id, "again").expected(MemoryExpected::Version(version))
        };
        [write("m1"), write("m2")]
    };
    let (first, second) = (batch(0), batch(1));
    for writes in [&first, &second] {
        let written = memories.write("a batch", writes).await?;
        for _ in 0..2 {
            same(
                "the outcome of the same batch again",
                &memories.write("it again", writes).await?,
                &written,
            )?;
            memories.matches_model("a batch that came again").await?;
        }
    }
    let MemoryOutcome::Conflict { .. } =
        memories.write("the first batch after the second", &first).await?
    else {
        return fail("a batch was written again after another one");
    };
    memories.matches_model("an old batch came again").await
}

async fn read_in_the_order_asked(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let (user, other) = (ada(), ada().project("p"));
    memories
        .notes(&[(&user, "b", "x"), (&user, "a", "x"), (&other, "c", "x"), (&user, "d", "x")])
        .await?;
    for ids in [vec!["a", "b", "d"], vec!["d", "absent", "b"], vec!["c"], vec!["b", "b"], vec![]] {
        let ids: Vec<_> = ids.into_iter().map(Into::into).collect();
        let read = memories.fixture.memories()?.memories(&user, &ids).await?;
        let expected: Vec<_> = ids.iter().filter_map(|id| memories.model.get(&user, id)).collect();
        same_memories(&format!("reading {ids:?}"), &read, &expected)?;
    }
    let nobody =
        memories.fixture.memories()?.memories(&MemoryScope::new("bob"), &["a".into()]).await?;
    same("what another user reads", &nobody.len(), &0)
}

async fn places(fixture: &ChatFixture, scope: &MemoryScope, ids: &[&str]) -> Check<Vec<u64>> {
    let ids: Vec<_> = ids.iter().map(|id| (*id).into()).collect();
    let read = fixture.memories()?.memories(scope, &ids).await?;
    same("how many are there", &read.len(), &ids.len())?;
    Ok(read.iter().map(|stored| stored.place).collect())
}

async fn places_grow_and_stay(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let (user, session) = (ada(), ada().session("s"));
    // Ordered by the time of writing, not by name or by timestamp.
    let mut early = memories.fixture.note(&user, "a", "early");
    early.record.at = Timestamp::from_micros(-7);
    memories
        .add(vec![
            memories.fixture.note(&user, "z", "x"),
            early,
            memories.fixture.note(&user, "m", "x"),
        ])
        .await?;
    memories.notes(&[(&session, "s", "x")]).await?;
    memories.notes(&[(&user, "b", "x")]).await?;
    let order = ["z", "a", "m", "b"];
    let before = places(&memories.fixture, &user, &order).await?;
    let between = places(&memories.fixture, &session, &["s"]).await?[0];
    same("whether places grow", &before.is_sorted_by(|one, next| one < next), &true)?;
    same(
        "whether they grow over all scopes",
        &(before[2] < between && between < before[3]),
        &true,
    )?;
    for id in ["m", "z"] {
        memories.put(memories.fixture.note(&user, id, "anew")).await?;
    }
    same(
        "the places after records were rewritten",
        &places(&memories.fixture, &user, &order).await?,
        &before,
    )?;
    memories.matches_model("records were rewritten").await?;
    memories.forget("forgetting one", &MemoryForget::ids(user.clone(), ["a"])).await?;
    memories.put(memories.fixture.note(&user, "a", "back")).await?;
    let back = places(&memories.fixture, &user, &["a"]).await?[0];
    same("whether one that is written anew is the newest", &(back > before[3]), &true)?;
    memories.matches_model("one was forgotten and written anew").await
}

async fn beside_are_those_of_its_session(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    let said = |scope: &MemoryScope, id: &str, kind: &str, source: Option<MemorySource>| {
        let mut write = memories.fixture.note(scope, id, id);
        write.record.kind = kind.to_owned();
        write.record.source = source;
        write
    };
    let of = |session: &str, n: usize| Some(MemorySource::message(session, format!("m{n}")));
    let mut writes = Vec::new();
    for n in 0..6 {
        writes.push(said(&user, &format!("e{n}"), "episode", of("s", n)));
        writes.push(said(&user, &format!("t{n}"), "episode", of("t", n)));
        writes.push(said(&user, &format!("f{n}"), "fact", of("s", n)));
        writes.push(said(&user, &format!("n{n}"), "episode", None));
        writes.push(said(&user.clone().session("s"), &format!("e{n}"), "episode", of("s", n)));
    }
    writes.push(said(&user, "whole", "episode", Some(MemorySource::session("s"))));
    memories.add(writes).await?;
    let ids: Vec<_> =
        ["e2", "absent", "e0", "n3", "e5", "f1", "whole", "e2"].map(Into::into).into();
    for each_side in [0, 1, 2, limits::MAX_MEMORY_NEIGHBOURS] {
        let beside = memories.fixture.memories()?.memory_neighbours(&user, &ids, each_side).await?;
        same("how many answers there are", &beside.len(), &ids.len())?;
        for (saw, id) in beside.iter().zip(&ids) {
            let expected = memories.model.beside(&user, id, each_side);
            same_memories(&format!("{each_side} on each side of {id}"), saw, &expected)?;
        }
    }
    memories.matches_model("writing two sessions").await
}

/// Builds a record with this text in every field.
fn all_of(fixture: &ChatFixture, id: &str, text: &str) -> MemoryWrite {
    let name = if text.is_empty() { "empty" } else { text };
    let mut record = MemoryRecord::new(ada(), id, name, fixture.at(), text);
    record.key = Some(name.to_owned());
    record.source = Some(MemorySource::message(name, name));
    record.speaker = Some(name.to_owned());
    record.data = Metadata::default().with(text, text);
    MemoryWrite::new(record, "word")
}

async fn any_text_comes_back(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let writes =
        TEXTS.iter().enumerate().map(|(n, text)| all_of(&memories.fixture, &format!("m{n}"), text));
    memories.add(writes.collect()).await?;
    memories.matches_model("writing strange texts").await?;
    for (n, text) in TEXTS.iter().rev().enumerate() {
        memories.put(all_of(&memories.fixture, &format!("m{n}"), text)).await?;
    }
    memories.matches_model("writing them over each other").await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn any_name_comes_back(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let long = "é".repeat(limits::MAX_ID_BYTES / 2);
    let names =
        ["a\u{0}b", "a", "a:b", "a|b", "a/b", "a{b}", " ", "%", "*", "a'b", "a\"b", "🦀", &long];
    for name in names {
        let scope = MemoryScope::new(name).project(name).agent(name).session(name);
        memories.notes(&[(&scope, name, "word"), (&MemoryScope::new(name), name, "word")]).await?;
    }
    memories.matches_model("writing under strange names").await?;
    for name in names {
        let scope = MemoryScope::new(name);
        memories.put(memories.fixture.note(&scope, name, "another")).await?;
        memories
            .forget("forgetting a strange name", &MemoryForget::ids(scope.project(name), [name]))
            .await?;
    }
    memories.matches_model("writing over strange names").await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn times_data_and_sources_come_back(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let micros = [0, -1, 1, i64::MAX, i64::MIN, 1_700_000_000_123_456];
    for (n, micros) in micros.into_iter().enumerate() {
        let mut write = memories.fixture.note(&ada(), &format!("t{n}"), "time");
        write.record.at = Timestamp::from_micros(micros);
        write.record.source = Some(MemorySource::session("s"));
        memories.add(vec![write]).await?;
    }
    for (n, json) in JSONS.iter().enumerate() {
        let mut write = memories.fixture.note(&ada(), &format!("j{n}"), "json");
        let json = Json::from_text(*json).expect("the table is JSON");
        write.record.data = Metadata::default().with("z", json.clone()).with("a", json);
        memories.add(vec![write]).await?;
    }
    memories.matches_model("writing times, data and sources").await
}

async fn the_largest_is_accepted(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let long = "x".repeat(limits::MAX_ID_BYTES);
    let scope = MemoryScope::new(&*long).project(&*long).agent(&*long).session(&*long);
    let text = "é".repeat(limits::MAX_MEMORY_BYTES / 2);
    let mut record = MemoryRecord::new(scope.clone(), &*long, &*long, memories.fixture.at(), text);
    record.key = Some(long.clone());
    record.speaker = Some(long.clone());
    record.source = Some(MemorySource::message(&*long, &*long));
    let half = limits::MAX_METADATA_BYTES / 2;
    record.data = Metadata::default().with("k", Json::from("x".repeat(half).as_str()));
    let words: Vec<_> = (0..limits::MAX_MEMORY_WORDS).map(|n| format!("w{}", n % 5000)).collect();
    let values: Vec<_> = (0..limits::MAX_VECTOR_LENGTH).map(|n| n as f32).collect();
    memories
        .add(vec![
            MemoryWrite::new(record, words.join(" ")).vector(MemoryVector::new(&*long, values)),
        ])
        .await?;
    memories.matches_model("writing the largest record").await?;
    let many = (0..limits::MAX_PAGE)
        .map(|n| memories.fixture.note(&scope, &format!("m{n}"), &format!("w{n}")));
    memories.add(many.collect()).await?;
    let ids: Vec<_> = (0..limits::MAX_PAGE).map(|n| format!("m{n}").into()).collect();
    let read = memories.fixture.memories()?.memories(&scope, &ids).await?;
    let expected: Vec<_> = ids.iter().filter_map(|id| memories.model.get(&scope, id)).collect();
    same_memories("reading as many as may be", &read, &expected)?;
    let forget = MemoryForget::ids(scope, ids);
    same(
        "how many go at once",
        &memories.forget("the most ids", &forget).await?,
        &(limits::MAX_PAGE as u64),
    )
}

async fn need_no_chat(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let scope = MemoryScope::new("nobody with a chat").session("no chat");
    let mut write = memories.fixture.note(&scope, "m", "word");
    write.record.source = Some(MemorySource::message("no chat", "no message"));
    memories.add(vec![write]).await?;
    memories.matches_model("writing of a session that is no chat").await?;
    memories.fixture.history().delete_chat(&memories.fixture.chat, None).await?;
    memories.matches_model("a chat was deleted").await
}

async fn random_memories_come_back(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for n in 0..case.settings.sequences.div_ceil(4) {
        let seed = case.settings.seed.wrapping_add(n.into());
        let (mut random, user) = (Random::new(seed), format!("user-{n}"));
        let mut memories = MemoryFixture::new(&fixture);
        for i in 0..25 {
            let step = MemoryStep::random(&mut random, &user, &memories.model);
            let did = format!("step {i} of seed {seed:#x}");
            memories.step(&did, &step).await?;
            if i % 5 == 4 {
                memories.matches_model(&did).await?;
            }
        }
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn there_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("again").await?;
    fixture.memories()?;
    let mut memories = MemoryFixture::new(&fixture);
    let mut random = Random::new(case.settings.seed);
    for i in 0..40 {
        let step = MemoryStep::random(&mut random, "ada", &memories.model);
        memories.step(&format!("step {i}"), &step).await?;
    }
    let model = memories.model;
    drop((fixture, memories.fixture));
    let mut memories = MemoryFixture {
        fixture: ChatFixture::new(case.reopen("again").await?, "ada", "chat"),
        model,
    };
    memories.matches_model("opening again").await?;
    for i in 0..20 {
        let step = MemoryStep::random(&mut random, "ada", &memories.model);
        memories.step(&format!("step {i} after opening again"), &step).await?;
    }
    memories.matches_model("going on").await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn seen_through_another_handle(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    fixture.memories()?;
    let second = fixture.through(case.second_handle("two").await?);
    let mut memories = MemoryFixture::new(&fixture);
    let mut random = Random::new(case.settings.seed);
    for i in 0..30 {
        memories.fixture = if i % 2 == 0 { fixture.clone() } else { second.clone() };
        let step = MemoryStep::random(&mut random, "ada", &memories.model);
        memories.step(&format!("step {i}"), &step).await?;
        memories.fixture = if i % 2 == 0 { second.clone() } else { fixture.clone() };
        memories.matches_model(&format!("step {i} through another handle")).await?;
    }
    Ok(())
}
