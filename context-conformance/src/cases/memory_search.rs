//! Cases about search in memories: within the limits of exact search, all matches are found,
//! ordered by BM25 and by the angle of vectors.

use context_core::base::limits;
use context_core::memory::{MemoryScope, MemoryVector};
use context_core::store::{MemoriesFound, MemoryExpected, MemoryFind, MemoryWrite};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::expect::{ensure, same};
use crate::memory_fixture::{MemoryFixture, MemoryStep, scope, search_words, vector, with};
use crate::verdict::Check;
use context_simulator::Random;

cases!("memory_search":
    found_by_some_of_its_words if Memories,
    rare_words_and_short_texts_first if Memories,
    of_equal_ones_the_newest if Memories,
    common_words_of_all_kinds_count if Memories,
    of_several_scopes_together if Memories,
    a_rewrite_changes_the_words if Memories,
    words_are_as_they_were_written if Memories,
    vectors_by_their_angle if Memories,
    vectors_of_another_embedder_are_not_compared if Memories,
    words_first_and_then_vectors if Memories,
    so_many_of_each if Memories,
    in_a_large_memory_what_has_all_words_is_found if Memories,
    random_searches_find_what_the_model_finds if Memories,
);

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

fn find(words: &[&str]) -> MemoryFind {
    MemoryFind::new(vec![ada()], words.iter().map(|word| (*word).to_owned()).collect(), 10)
}

fn near(values: &[f32]) -> MemoryFind {
    with(find(&[]), |find| find.vector = Some(MemoryVector::new("e", values)))
}

fn ids(found: &MemoriesFound) -> Vec<String> {
    found.hits.iter().map(|hit| hit.stored.record.id.to_string()).collect()
}

impl MemoryFixture {
    async fn note(&mut self, id: &str, words: &str) -> Check {
        self.notes(&[(&ada(), id, words)]).await
    }

    /// Expects a search to find these records, and the same as the model.
    async fn found(&self, did: &str, find: &MemoryFind, expected: &[&str]) -> Check {
        let found = self.fixture.memories()?.find_memories(find).await?;
        same(
            format!("finding {:?} after {did}", find.words),
            &ids(&found),
            &crate::chat_fixture::owned(expected),
        )?;
        self.finds(did, find).await
    }
}

async fn found_by_some_of_its_words(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    memories.found("nothing", &find(&["lisbon"]), &[]).await?;
    memories.note("trip", "lisbon flight may").await?;
    memories.note("hotel", "hotel lisbon").await?;
    memories.note("silent", "").await?;
    memories.found("three notes", &find(&["flight"]), &["trip"]).await?;
    memories.found("three notes", &find(&["absent", "hotel"]), &["hotel"]).await?;
    memories.found("three notes", &find(&["lisbon"]), &["hotel", "trip"]).await?;
    memories.found("three notes", &find(&["absent"]), &[]).await?;
    memories.found("three notes", &find(&["lisb"]), &[]).await?;
    memories.found("three notes, no words", &find(&[]), &[]).await
}

async fn rare_words_and_short_texts_first(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    memories.note("once", "lisbon x x x").await?;
    memories.note("twice", "lisbon lisbon x x").await?;
    memories.note("rare", "porto x x x").await?;
    memories.note("long", "lisbon x x x x x x x x x x x x").await?;
    memories.note("both", "lisbon porto x x x x x x x x x x").await?;
    for words in [&["lisbon"][..], &["porto"], &["lisbon", "porto"], &["x", "lisbon"], &["x"]] {
        memories.finds("five notes", &find(words)).await?;
    }
    memories.found("five notes", &find(&["lisbon"]), &["twice", "once", "both", "long"]).await
}

async fn of_equal_ones_the_newest(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    for id in ["b", "c", "a"] {
        memories.note(id, "lisbon flight").await?;
    }
    memories.found("three equal ones", &find(&["lisbon"]), &["a", "c", "b"]).await?;
    // A rewritten record keeps its position.
    memories.put(memories.fixture.note(&ada(), "b", "flight lisbon")).await?;
    memories.found("one was rewritten", &find(&["flight"]), &["a", "c", "b"]).await?;
    let two = with(find(&["lisbon"]), |find| find.limit = 2);
    memories.found("one was rewritten", &two, &["a", "c"]).await
}

async fn common_words_of_all_kinds_count(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    for n in 0..6 {
        let mut write =
            memories.fixture.note(&ada(), &format!("m{n}"), ["lisbon", "porto x x x"][n % 2]);
        write.record.kind = ["episode", "fact", "block"][n % 3].to_owned();
        memories.add(vec![write]).await?;
    }
    for kinds in [&["fact"][..], &["fact", "block"], &["nothing of it"], &["episode", "episode"]] {
        let kinds: Vec<_> = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        memories
            .finds(
                "notes of three kinds",
                &with(find(&["lisbon", "porto"]), |find| find.kinds = kinds),
            )
            .await?;
    }
    let facts = with(find(&["lisbon", "porto"]), |find| find.kinds = vec!["fact".into()]);
    memories.found("notes of three kinds", &facts, &["m4", "m1"]).await
}

async fn of_several_scopes_together(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let scopes = [ada(), ada().session("s"), ada().project("p"), ada().agent("p")];
    for (n, scope) in scopes.iter().enumerate() {
        for m in 0..=n {
            memories
                .notes(&[(scope, &format!("m{n}{m}"), ["lisbon", "lisbon porto", "x"][m % 3])])
                .await?;
        }
    }
    for n in 1..=scopes.len() {
        for scopes in scopes.windows(n) {
            let find = with(find(&["lisbon", "porto"]), |find| find.scopes = scopes.to_vec());
            memories.finds("notes in four scopes", &find).await?;
        }
    }
    let twice = with(find(&["lisbon"]), |find| find.scopes = vec![ada(), ada()]);
    memories.finds("a scope that is named twice", &twice).await
}

async fn a_rewrite_changes_the_words(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    memories.note("m", "lisbon flight").await?;
    memories.note("other", "porto porto").await?;
    for (words, lost) in
        [("porto", "lisbon"), ("porto x", "flight"), ("", "x"), ("lisbon", "porto x")]
    {
        memories.put(memories.fixture.note(&ada(), "m", words)).await?;
        for word in ["lisbon", "flight", "porto", "x"] {
            memories.finds(&format!("writing {words:?}, without {lost:?}"), &find(&[word])).await?;
        }
    }
    // A refused write, and one that keeps the existing record, change nothing.
    let kept = memories.fixture.note(&ada(), "m", "kept out");
    let _kept = memories.write("a write of what is there", &[kept]).await?;
    let stale = memories.fixture.note(&ada(), "m", "stale").expected(MemoryExpected::Version(1));
    let _conflict = memories.write("a stale write", &[stale]).await?;
    memories.found("writes in vain", &find(&["kept", "out", "stale"]), &[]).await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

/// Checks that words are opaque to the store: it neither folds nor splits them, and none has a
/// special meaning.
async fn words_are_as_they_were_written(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let words = [
        "lisbon",
        "Lisbon",
        "LISBON",
        "café",
        "cafe",
        "cafe\u{301}",
        "flights",
        "flight",
        "AND",
        "OR",
        "NOT",
        "NEAR",
        "a-b",
        "a",
        "b",
        "a.b",
        "a_b",
        "a:b",
        "*",
        "%",
        "_",
        "'",
        "(",
        "{",
        "-",
        "^a",
        "a*",
        "x'y",
        "🦀",
        "👩‍👩‍👧",
        "東京",
        "東",
        "\u{200b}",
        "\u{feff}x",
        "ß",
        "ss",
        "ﬁ",
        "fi",
        "i",
        "ı",
        "İ",
        "0",
        "00",
        "1.0",
        "\\",
        "\u{10ffff}",
    ];
    for (n, word) in words.iter().enumerate() {
        memories.note(&format!("m{n}"), &format!("{word} common {word}")).await?;
    }
    for (n, word) in words.iter().enumerate() {
        memories.found("notes of strange words", &find(&[word]), &[&format!("m{n}")]).await?;
    }
    let all = with(find(&words), |find| find.limit = 60);
    memories.finds("notes of strange words", &all).await?;
    let long = "é".repeat(limits::MAX_ID_BYTES / 2);
    memories.note("long", &long).await?;
    memories.found("a long word", &find(&[&long]), &["long"]).await?;
    // Words are separated by spaces, anywhere.
    memories.note("spaces", "  spaced   out ").await?;
    memories.found("words with spaces around them", &find(&["out"]), &["spaces"]).await
}

async fn vectors_by_their_angle(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    for (id, values) in
        [("x", [2.0, 0.0]), ("y", [0.0, 1.0]), ("xy", [1.0, 1.0]), ("-x", [-1.0, 0.0])]
    {
        let write =
            memories.fixture.note(&ada(), id, id).vector(MemoryVector::new("e", values.as_slice()));
        memories.add(vec![write]).await?;
    }
    memories.note("without", "words alone").await?;
    memories.found("vectors", &near(&[1.0, 0.0]), &["x", "xy", "y", "-x"]).await?;
    memories.found("vectors", &near(&[-3.0, -0.5]), &["-x", "y", "xy", "x"]).await?;
    let rewritten = memories
        .fixture
        .note(&ada(), "-x", "x")
        .vector(MemoryVector::new("e", [0.9, 0.1].as_slice()));
    memories.put(rewritten).await?;
    memories.put(memories.fixture.note(&ada(), "x", "without a vector")).await?;
    memories.found("vectors were rewritten", &near(&[1.0, 0.0]), &["-x", "xy", "y"]).await?;
    let zero = memories
        .fixture
        .note(&ada(), "zero", "zero")
        .vector(MemoryVector::new("e", [0.0, 0.0].as_slice()));
    memories.add(vec![zero]).await?;
    memories.finds("a vector without a direction", &near(&[1.0, 0.0])).await?;
    let large = memories
        .fixture
        .note(&ada(), "large", "x")
        .vector(MemoryVector::new("e", [f32::MAX, f32::MIN_POSITIVE].as_slice()));
    memories.add(vec![large]).await?;
    memories.finds("a vector of very large and small numbers", &near(&[f32::MAX, f32::MAX])).await
}

async fn vectors_of_another_embedder_are_not_compared(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    for (id, model) in [("own", "e"), ("other", "f"), ("case", "E")] {
        let write = memories
            .fixture
            .note(&ada(), id, "lisbon")
            .vector(MemoryVector::new(model, [1.0].as_slice()));
        memories.add(vec![write]).await?;
    }
    memories.found("vectors of three embedders", &near(&[1.0]), &["own"]).await?;
    let both = with(near(&[1.0]), |find| find.words = vec!["lisbon".into()]);
    memories.finds("vectors of three embedders", &both).await
}

async fn words_first_and_then_vectors(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    for (id, words, value) in [
        ("w", "lisbon x", None),
        ("wv", "lisbon", Some(0.0)),
        ("v", "x", Some(9.0)),
        ("v2", "", Some(0.5)),
    ] {
        let mut write = memories.fixture.note(&ada(), id, words);
        write.vector = value.map(|value| MemoryVector::new("e", [1.0, value].as_slice()));
        memories.add(vec![write]).await?;
    }
    let both = with(near(&[0.0, 1.0]), |find| find.words = vec!["lisbon".into()]);
    memories.found("both", &both, &["wv", "w", "v", "v2"]).await?;
    let facts = with(both, |find| find.kinds = vec!["fact".into()]);
    memories.found("both of another kind", &facts, &[]).await
}

async fn so_many_of_each(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let writes: Vec<MemoryWrite> = (0..30)
        .map(|n| {
            let write = memories.fixture.note(&ada(), &format!("m{n}"), ["lisbon", "x"][n % 2]);
            write.vector(MemoryVector::new("e", [1.0, n as f32].as_slice()))
        })
        .collect();
    memories.add(writes).await?;
    for limit in [1, 2, 15, 16, 1000] {
        let words = vec!["lisbon".to_owned()];
        let both = with(near(&[1.0, 0.0]), |find| {
            find.words = words;
            find.limit = limit;
        });
        memories.finds(&format!("at most {limit} of each"), &both).await?;
        memories
            .finds(&format!("at most {limit}"), &with(find(&["lisbon"]), |find| find.limit = limit))
            .await?;
        memories
            .finds(&format!("at most {limit}"), &with(near(&[0.0, 1.0]), |find| find.limit = limit))
            .await?;
    }
    Ok(())
}

/// Checks a memory above the limit of exact search. A store may leave out records of the common
/// word there, but not the one that also has the rare words.
async fn in_a_large_memory_what_has_all_words_is_found(case: &CaseContext) -> Check {
    let memories = case.memory_fixture().await?;
    let write = |id: &str, words: &str| memories.fixture.note(&ada(), id, words);
    let mut writes =
        vec![write("needle", "common lisbon porto"), write("half", "common porto x x x x")];
    for n in 0..limits::EXACT_MEMORY_POSTINGS + 500 {
        writes.push(write(&format!("m{n}"), "common x x"));
    }
    for writes in writes.chunks(500) {
        let _written = memories.fixture.write_memories(writes).await?;
    }
    for words in [&["common", "lisbon", "porto"][..], &["porto", "common"], &["lisbon", "common"]] {
        let find = with(find(words), |find| find.limit = 5);
        let found = memories.fixture.memories()?.find_memories(&find).await?;
        let ids = ids(&found);
        same(
            format!("the first of {words:?} among many"),
            &ids.first().map(String::as_str),
            &Some("needle"),
        )?;
        same("how many are found", &ids.len(), &5)?;
        let descend = found.hits.is_sorted_by(|a, b| a.score >= b.score);
        ensure(descend, || format!("finding {words:?} among many: not the best first"))?;
    }
    Ok(())
}

async fn random_searches_find_what_the_model_finds(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for n in 0..case.settings.sequences.div_ceil(4) {
        let seed = case.settings.seed.wrapping_add(n.into());
        let (mut random, user) = (Random::new(seed), format!("user-{n}"));
        let mut memories = MemoryFixture::new(&fixture);
        for i in 0..25 {
            let step = MemoryStep::random(&mut random, &user, &memories.model);
            memories.step(&format!("step {i} of seed {seed:#x}"), &step).await?;
            let scopes = (0..=random.below(4)).map(|_| scope(&mut random, &user)).collect();
            let mut find = MemoryFind::new(scopes, search_words(&mut random), 1 + random.below(6));
            find.vector = random.one_in(2).then(|| vector(&mut random));
            if random.one_in(3) {
                find.kinds = vec!["fact".to_owned(), "block".to_owned()];
            }
            memories.finds(&format!("step {i} of seed {seed:#x}, {find:?}"), &find).await?;
        }
    }
    Ok(())
}
