//! Cases about scopes: a call sees exactly the memories of the scopes it names, and bad input is
//! refused before anything is done.

use context_core::base::{MemoryId, limits};
use context_core::memory::{MemoryForget, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{MemoryFind, MemoryList, MemoryWrite};
use context_core::{Error, ErrorKind, Json, Metadata, Retry};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, refused, same};
use crate::memory_fixture::{MemoryFixture, MemoryStep, scope, vector, with};
use crate::verdict::Check;
use context_simulator::Random;

cases!("memory_scopes":
    scopes_are_exact if Memories,
    lookalike_scopes_are_apart if Memories,
    users_are_apart if Memories,
    namespaces_are_apart if Memories,
    random_scopes_never_give_anothers if Memories,
    bad_writes_are_refused if Memories,
    bad_questions_are_refused if Memories,
);

/// Checks that everything visible from these scopes belongs to them.
async fn sees_only(
    fixture: &ChatFixture,
    did: &str,
    scopes: &[MemoryScope],
    random: &mut Random,
) -> Check {
    let mut seen = fixture.list_memories(&MemoryList::new(scopes.to_vec(), 7)).await?;
    let words = ["lisbon", "flight", "a", "b", "word"].map(ToOwned::to_owned).to_vec();
    let mut find = MemoryFind::new(scopes.to_vec(), words, 50);
    find.vector = Some(vector(random));
    let found = fixture.memories()?.find_memories(&find).await?;
    seen.extend(found.hits.into_iter().map(|hit| hit.stored));
    for scope in scopes {
        let ids: Vec<MemoryId> = (0..8).map(|n| format!("m{n}").into()).collect();
        seen.extend(fixture.memories()?.memories(scope, &ids).await?);
        seen.extend(
            fixture.memories()?.memory_neighbours(scope, &ids, 5).await?.into_iter().flatten(),
        );
    }
    for stored in seen {
        let own = scopes.contains(&stored.record.scope);
        ensure(own, || {
            format!(
                "{did}: {scopes:?} must not see memory {} of {:?}",
                stored.record.id, stored.record.scope
            )
        })?;
    }
    Ok(())
}

/// Writes the same names into all of these scopes, and checks that they stay separate.
async fn are_apart(case: &CaseContext, scopes: &[MemoryScope]) -> Check {
    let mut memories = case.memory_fixture().await?;
    let mut random = Random::new(case.settings.seed);
    for (n, scope) in scopes.iter().enumerate() {
        let mut write = memories.fixture.note(scope, "m1", &format!("word own{n}"));
        write.record.source = Some(MemorySource::message("s", "m"));
        write.vector = Some(MemoryVector::new("small", [1.0, n as f32, 0.0].as_slice()));
        let mut beside = memories.fixture.note(scope, "m2", "word");
        beside.record.source = Some(MemorySource::message("s", "m2"));
        memories.add(vec![write, beside]).await?;
    }
    for (n, scope) in scopes.iter().enumerate() {
        sees_only(&memories.fixture, "writing alike", std::slice::from_ref(scope), &mut random)
            .await?;
        for m in [n, (n + 1) % scopes.len()] {
            let find =
                MemoryFind::new(vec![scope.clone()], vec![format!("own{m}"), "word".into()], 10);
            memories.finds("writing alike", &find).await?;
        }
    }
    memories.matches_model("writing alike").await?;
    // A change in one scope affects no other.
    for scope in scopes.iter().step_by(2) {
        memories.put(memories.fixture.note(scope, "m1", "changed")).await?;
        memories
            .forget("forgetting in one of them", &MemoryForget::ids(scope.clone(), ["m2"]))
            .await?;
    }
    memories.matches_model("changing every second").await?;
    same("what check() found", &memories.fixture.findings().await?, &Vec::new())
}

async fn scopes_are_exact(case: &CaseContext) -> Check {
    are_apart(case, &MemoryScope::new("ada").project("p").agent("a").session("s").visible()).await
}

async fn lookalike_scopes_are_apart(case: &CaseContext) -> Check {
    let ada = || MemoryScope::new("ada");
    are_apart(
        case,
        &[
            ada().project("a|b"),
            ada().project("a").agent("b"),
            ada().project("a").session("b"),
            ada().agent("a").session("b"),
            ada().project("a|b|"),
            ada().project("a").agent("b|"),
            ada().project("a\u{0}b"),
            ada().project("a").agent("\u{0}b"),
            ada().project("a:b"),
            ada().project("a/b"),
            ada().project("a\",\"b"),
            ada().project("A"),
            ada().project("a "),
            ada().project("a"),
            ada().agent("a"),
            ada().session("a"),
            ada().project("null"),
            ada().project("é"),
            ada().project("e\u{301}"),
            ada().project("%"),
            ada().project("_"),
            ada().project("*"),
        ],
    )
    .await
}

async fn users_are_apart(case: &CaseContext) -> Check {
    let users =
        ["ada", "ADA", "ada ", "ad", "ada:p", "ada|p", "ada\u{0}", "bob", "ada%", "{ada}", "ada/p"];
    let scopes = users
        .iter()
        .flat_map(|user| [MemoryScope::new(*user), MemoryScope::new(*user).project("p")]);
    are_apart(case, &scopes.collect::<Vec<_>>()).await
}

async fn namespaces_are_apart(case: &CaseContext) -> Check {
    let (one, two) = (case.fixture_in("one").await?, case.fixture_in("two").await?);
    one.memories()?;
    let (mut one, mut two) = (MemoryFixture::new(&one), MemoryFixture::new(&two));
    let user = MemoryScope::new("ada");
    one.notes(&[(&user, "m1", "word one"), (&user, "m2", "word")]).await?;
    let nothing = two.fixture.list_memories(&MemoryList::new(vec![user.clone()], 5)).await?;
    same("the other namespace", &nothing.len(), &0)?;
    two.notes(&[(&user, "m1", "word two")]).await?;
    for (memories, did) in [(&one, "one"), (&two, "two")] {
        memories.matches_model(did).await?;
        let find = MemoryFind::new(vec![user.clone()], vec!["word".into(), "one".into()], 5);
        memories.finds(did, &find).await?;
    }
    two.forget("in the other namespace", &MemoryForget::Scope(user)).await?;
    one.matches_model("all was forgotten in the other namespace").await
}

async fn random_scopes_never_give_anothers(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for n in 0..case.settings.sequences.div_ceil(4) {
        let seed = case.settings.seed.wrapping_add(n.into());
        let mut random = Random::new(seed);
        let users = [format!("user-{n}"), format!("user-{n} ")];
        let mut memories = MemoryFixture::new(&fixture);
        for i in 0..20 {
            let did = format!("step {i} of seed {seed:#x}");
            let step = MemoryStep::random(&mut random, &users[i % 2], &memories.model);
            memories.step(&did, &step).await?;
            let user = &users[random.below(2)];
            let scopes: Vec<_> = (0..=random.below(3)).map(|_| scope(&mut random, user)).collect();
            sees_only(&fixture, &did, &scopes, &mut random).await?;
        }
    }
    Ok(())
}

fn long() -> String {
    "x".repeat(limits::MAX_ID_BYTES + 1)
}

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

/// Expects the error to name the limit and not to suggest a retry.
fn limit(did: &str, error: &Error, limit: Option<usize>) -> Check {
    if let Some(limit) = limit {
        same(
            format!("{did}: the limit in {error}"),
            &error.get("limit"),
            &Some(limit.to_string().as_str()),
        )?;
    }
    same(format!("{did}: whether to retry"), &error.retry(), &Retry::Never)
}

/// Returns invalid writes, each with its problem and the limit that it exceeds.
fn bad_writes(fixture: &ChatFixture) -> Vec<(&'static str, MemoryWrite, Option<usize>)> {
    let scoped = |scope: MemoryScope| fixture.note(&scope, "m", "word");
    let vectored = |values: Vec<f32>| scoped(ada()).vector(MemoryVector::new("e", values));
    let with = |change: fn(&mut MemoryWrite)| {
        let mut write = fixture.note(&ada(), "m", "word");
        change(&mut write);
        write
    };
    const ID: Option<usize> = Some(limits::MAX_ID_BYTES);
    const BYTES: usize = limits::MAX_MEMORY_BYTES;
    let source = |session: &str, message: &str| {
        let mut write = scoped(ada());
        write.record.source = Some(MemorySource::message(session, message));
        write
    };
    let words = |words: &str| MemoryWrite::new(scoped(ada()).record, words);
    let many = "w ".repeat(limits::MAX_MEMORY_WORDS + 1);
    vec![
        ("an empty user", scoped(MemoryScope::new("")), None),
        ("a long user", scoped(MemoryScope::new(long())), ID),
        ("an empty project", scoped(ada().project("")), None),
        ("a long agent", scoped(ada().agent(long())), ID),
        ("an empty session", scoped(ada().session("")), None),
        ("another user", scoped(MemoryScope::new("bob")), None),
        ("an empty id", fixture.note(&ada(), "", "word"), None),
        ("a long id", fixture.note(&ada(), &long(), "word"), ID),
        ("an empty kind", with(|write| write.record.kind.clear()), None),
        ("a long kind", with(|write| write.record.kind = long()), ID),
        ("an empty key", with(|write| write.record.key = Some(String::new())), None),
        ("a long key", with(|write| write.record.key = Some(long())), ID),
        ("an empty speaker", with(|write| write.record.speaker = Some(String::new())), None),
        ("a long speaker", with(|write| write.record.speaker = Some(long())), ID),
        ("an empty session of the source", source("", "m"), None),
        ("a long message of the source", source("s", &long()), ID),
        ("a large text", with(|write| write.record.text = "x".repeat(BYTES + 1)), Some(BYTES)),
        (
            "large data",
            with(|write| {
                let large = Json::from("x".repeat(limits::MAX_METADATA_BYTES).as_str());
                write.record.data = Metadata::default().with("k", large);
            }),
            Some(limits::MAX_METADATA_BYTES),
        ),
        ("too many words", words(&many), Some(limits::MAX_MEMORY_WORDS)),
        ("a long word", words(&format!("word {}", long())), ID),
        ("a word with a tab", words("word wo\trd"), None),
        ("a word with a line in it", words("wo\nrd"), None),
        ("a word with another space", words("wo\u{a0}rd"), None),
        ("a word with a quote", words("wo\"rd"), None),
        ("a word with a NUL", words("wo\u{0}rd"), None),
        ("no embedder", scoped(ada()).vector(MemoryVector::new("", [1.0].as_slice())), None),
        ("an empty vector", vectored(vec![]), None),
        (
            "a long vector",
            vectored(vec![1.0; limits::MAX_VECTOR_LENGTH + 1]),
            Some(limits::MAX_VECTOR_LENGTH),
        ),
        ("no number in a vector", vectored(vec![1.0, f32::NAN]), None),
        ("a number without end", vectored(vec![f32::INFINITY]), None),
        ("the same memory twice", fixture.note(&ada(), "good", "other"), None),
    ]
}

async fn bad_writes_are_refused(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    memories.notes(&[(&ada(), "m", "before")]).await?;
    for (label, bad, expected) in bad_writes(&memories.fixture) {
        let writes = [memories.fixture.note(&ada(), "good", "word"), bad];
        let result = memories.fixture.memories()?.write_memories(&writes).await;
        limit(
            label,
            &refused(format!("a write with {label}"), result, ErrorKind::Invalid)?,
            expected,
        )?;
    }
    let many =
        (0..=limits::MAX_PAGE).map(|n| memories.fixture.note(&ada(), &format!("m{n}"), "word"));
    for writes in [Vec::new(), many.collect()] {
        let result = memories.fixture.memories()?.write_memories(&writes).await;
        let did = format!("a write of {}", writes.len());
        limit(&did, &refused(&did, result, ErrorKind::Invalid)?, Some(limits::MAX_PAGE))?;
    }
    memories.matches_model("bad writes").await?;
    let found = MemoryFind::new(vec![ada()], vec!["word".into(), "before".into()], 5);
    memories.finds("bad writes", &found).await?;
    let users = memories.fixture.memory_stats(&"bob".into(), 5).await?;
    same("what there is of another user", &users.len(), &0)
}

async fn bad_questions_are_refused(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    memories.notes(&[(&ada(), "m", "word")]).await?;
    let store = memories.fixture.memories()?;
    let invalid = |did: &str, error: Option<Error>| {
        let result = error.map_or(Ok(()), Err);
        refused(did, result, ErrorKind::Invalid).and_then(|error| limit(did, &error, None))
    };
    let many = (0..=limits::MAX_MEMORY_SCOPES).map(|n| ada().project(format!("p{n}"))).collect();
    let bad_scopes: [(&str, Vec<MemoryScope>); 4] = [
        ("no scope", Vec::new()),
        ("too many scopes", many),
        ("scopes of two users", vec![ada(), MemoryScope::new("bob")]),
        ("a bad scope", vec![ada(), ada().project("")]),
    ];
    for (label, scopes) in bad_scopes {
        let find = MemoryFind::new(scopes.clone(), vec!["word".into()], 5);
        invalid(&format!("a search of {label}"), store.find_memories(&find).await.err())?;
        invalid(
            &format!("a listing of {label}"),
            store.list_memories(&MemoryList::new(scopes, 5)).await.err(),
        )?;
    }
    for size in [0, limits::MAX_PAGE + 1, usize::MAX] {
        let find = MemoryFind::new(vec![ada()], vec!["word".into()], size);
        invalid(&format!("a search for {size}"), store.find_memories(&find).await.err())?;
        let list = MemoryList::new(vec![ada()], size);
        invalid(&format!("a listing of {size}"), store.list_memories(&list).await.err())?;
        let stats = store.memory_stats(&"ada".into(), size, None).await;
        invalid(&format!("stats of {size}"), stats.err())?;
    }
    let terms = |n: usize| (0..n).map(|n| format!("w{n}")).collect::<Vec<_>>();
    let find = |words: Vec<String>| MemoryFind::new(vec![ada()], words, 5);
    let vector = |values: Vec<f32>| {
        with(find(terms(1)), |find| find.vector = Some(MemoryVector::new("e", values)))
    };
    for (label, find) in [
        ("too many words", find(terms(limits::MAX_MEMORY_TERMS + 1))),
        ("an empty word", find(vec![String::new()])),
        ("a word of two", find(vec!["two words".into()])),
        ("a word with a quote", find(vec!["a\"b".into()])),
        ("a long word", find(vec![long()])),
        ("an empty kind", with(find(terms(1)), |find| find.kinds = vec![String::new()])),
        (
            "too many kinds",
            with(find(terms(1)), |find| find.kinds = terms(limits::MAX_MEMORY_TERMS + 1)),
        ),
        ("an empty vector", vector(vec![])),
        ("no number", vector(vec![f32::NAN])),
        ("a long vector", vector(vec![0.5; limits::MAX_VECTOR_LENGTH + 1])),
    ] {
        invalid(&format!("a search with {label}"), store.find_memories(&find).await.err())?;
    }
    let list = || MemoryList::new(vec![ada()], 5);
    let mut sourced = list();
    sourced.source = Some(MemorySource::session(""));
    for (label, list) in [
        ("an empty kind", list().kind("")),
        ("a long key", list().key(long())),
        ("a bad source", sourced),
    ] {
        invalid(&format!("a listing with {label}"), store.list_memories(&list).await.err())?;
    }
    let ids = |n: usize| (0..n).map(|n| MemoryId::from(format!("m{n}"))).collect::<Vec<_>>();
    for (label, scope, ids) in [
        ("too many ids", ada(), ids(limits::MAX_PAGE + 1)),
        ("an empty id", ada(), vec!["".into()]),
        ("a long id", ada(), vec![long().into()]),
        ("a bad scope", ada().agent(""), ids(1)),
    ] {
        invalid(&format!("reading {label}"), store.memories(&scope, &ids).await.err())?;
        invalid(
            &format!("those beside {label}"),
            store.memory_neighbours(&scope, &ids, 1).await.err(),
        )?;
        let forget = MemoryForget::ids(scope, ids);
        invalid(&format!("forgetting {label}"), store.forget_memories(&forget).await.err())?;
    }
    let too_many =
        store.memory_neighbours(&ada(), &ids(1), limits::MAX_MEMORY_NEIGHBOURS + 1).await;
    invalid("too many beside one", too_many.err())?;
    for forget in [
        MemoryForget::source(ada(), MemorySource::session("")),
        MemoryForget::Scope(ada().project("")),
    ] {
        invalid("forgetting of a bad name", store.forget_memories(&forget).await.err())?;
    }
    invalid("stats of nobody", store.memory_stats(&"".into(), 5, None).await.err())?;
    memories.matches_model("bad questions").await
}
