//! Cases about forgetting: forgotten records are gone from every call and stay so, others stay.

use std::path::Path;

use context_core::memory::{MemoryForget, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{MemoryExpected, MemoryFind, MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{CancelSignal, ErrorKind};

use super::maintenance::all_users;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, same};
use crate::memory_fixture::{MemoryFixture, MemoryStep, vector};
use crate::verdict::{Check, Stop};
use context_simulator::Random;

cases!("memory_removal":
    forgotten_by_their_ids if Memories,
    forgotten_by_their_source if Memories,
    forgotten_with_their_scope if Memories,
    forgetting_nothing_is_none if Memories,
    marks_keep_forgotten_ones_away if Memories,
    marks_go_with_their_scope if Memories,
    whoever_says_so_brings_it_back if Memories,
    words_and_vectors_go_too if Memories,
    deleting_a_chat_leaves_memories if Memories,
    erased_with_their_user if Memories,
    users_with_memories_are_listed if Memories,
    check_looks_at_them if Memories,
    a_backup_has_them if Memories,
    random_forgetting_leaves_what_the_model_has if Memories,
    forgotten_after_opening_again if Durable,
);

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

fn said(
    fixture: &ChatFixture,
    scope: &MemoryScope,
    id: &str,
    source: Option<MemorySource>,
) -> MemoryWrite {
    let mut write = fixture.note(scope, id, &format!("word own-{id}"));
    write.record.source = source;
    write.vector(MemoryVector::new("small", [1.0, 0.0, id.len() as f32].as_slice()))
}

/// Creates records of several scopes and sources, and of another user.
async fn full(case: &CaseContext) -> Check<MemoryFixture> {
    let mut memories = case.memory_fixture().await?;
    let whole = ada().project("p").agent("a").session("s");
    for scope in whole.visible().iter().chain([&MemoryScope::new("bob"), &ada().project("q")]) {
        let writes = (0..6).map(|n| {
            let source = match n {
                0 => None,
                1 => Some(MemorySource::session("s")),
                2 | 3 => Some(MemorySource::message("s", "m1")),
                4 => Some(MemorySource::message("s", "m2")),
                _ => Some(MemorySource::message("t", "m1")),
            };
            said(&memories.fixture, scope, &format!("m{n}"), source)
        });
        memories.add(writes.collect()).await?;
    }
    Ok(memories)
}

/// Compares the complete visible state and the results of searches by words and vectors.
async fn looks_right(memories: &MemoryFixture, did: &str) -> Check {
    memories.matches_model(did).await?;
    let scopes: Vec<_> = memories
        .model
        .names
        .keys()
        .filter(|scope| scope.user == *"ada")
        .take(16)
        .cloned()
        .collect();
    let words: Vec<_> =
        ["word".to_owned()].into_iter().chain((0..6).map(|n| format!("own-m{n}"))).collect();
    let mut find = MemoryFind::new(scopes, words, 100);
    memories.finds(did, &find).await?;
    find.vector = Some(vector(&mut Random::new(7)));
    find.words.clear();
    memories.finds(did, &find).await?;
    same(
        format!("what check() found after {did}"),
        &memories.fixture.findings().await?,
        &Vec::new(),
    )
}

async fn forgotten_by_their_ids(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    let forget = MemoryForget::ids(ada().project("p"), ["m1", "m3", "absent", "m1"]);
    same(
        "how many of four ids were there",
        &memories.forget("forgetting by id", &forget).await?,
        &2,
    )?;
    looks_right(&memories, "forgetting by id").await?;
    same(
        "how many are there to forget again",
        &memories.forget("forgetting again", &forget).await?,
        &0,
    )?;
    looks_right(&memories, "forgetting again").await
}

async fn forgotten_by_their_source(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    let whole = ada().project("p").agent("a");
    for (did, scope, source, expected) in [
        ("a message of a narrow scope", whole, MemorySource::message("s", "m1"), 2 * 2),
        (
            "a message of a scope and those within",
            ada().project("p"),
            MemorySource::message("s", "m1"),
            2 * 2,
        ),
        ("a message of all", ada(), MemorySource::message("t", "m1"), 9),
        ("a message that is not there", ada(), MemorySource::message("u", "m1"), 0),
        ("a session, with its messages", ada(), MemorySource::session("s"), 9 * 4 - 8),
    ] {
        let removed = memories.forget(did, &MemoryForget::source(scope, source)).await?;
        same(format!("how many came from {did}"), &removed, &expected)?;
        looks_right(&memories, did).await?;
    }
    Ok(())
}

async fn forgotten_with_their_scope(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    let project = || ada().project("p");
    for (did, scope, expected) in [
        ("the narrowest scope", project().agent("a").session("s"), 6),
        ("a scope that covers others", project(), 3 * 6),
        ("a session of no project", ada().session("s"), 2 * 6),
        ("a scope that nobody has", ada().project("r"), 0),
        ("a user", ada(), 3 * 6),
    ] {
        let removed = memories.forget(did, &MemoryForget::Scope(scope)).await?;
        same(format!("how many were of {did}"), &removed, &expected)?;
        looks_right(&memories, did).await?;
    }
    let left = memories.fixture.memory_stats(&"bob".into(), 5).await?;
    same(
        "what another user has left",
        &left.iter().map(context_core::store::MemoryStats::records).sum(),
        &6u64,
    )
}

async fn forgetting_nothing_is_none(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    for forget in [
        MemoryForget::ids(ada(), Vec::<String>::new()),
        MemoryForget::ids(MemoryScope::new("carl"), ["m1"]),
        MemoryForget::Scope(MemoryScope::new("carl")),
        MemoryForget::source(MemoryScope::new("carl"), MemorySource::session("s")),
        MemoryForget::source(ada().session("t"), MemorySource::session("s")),
    ] {
        same("how many go", &memories.forget("forgetting nothing", &forget).await?, &0)?;
    }
    // Forgetting an id that never existed does not keep it away later.
    memories.forget("an id that never was", &MemoryForget::ids(ada(), ["later"])).await?;
    memories.notes(&[(&ada(), "later", "word")]).await?;
    looks_right(&memories, "forgetting nothing").await
}

async fn marks_keep_forgotten_ones_away(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    memories.forget("by id", &MemoryForget::ids(ada(), ["m0"])).await?;
    let message = MemorySource::message("s", "m1");
    memories.forget("by source", &MemoryForget::source(ada(), message.clone())).await?;
    let writes = ["m0", "m2", "m3", "m6"]
        .map(|id| said(&memories.fixture, &ada(), id, Some(message.clone())));
    use MemoryWritten::{Forgotten, Written};
    let expected = MemoryOutcome::Applied(vec![Forgotten, Forgotten, Forgotten, Written(1)]);
    let outcome = memories.write("a write of what was forgotten", &writes).await?;
    same("its outcome", &outcome, &expected)?;
    // The same name in another scope was not forgotten by id. By source it was.
    let other = ada().agent("a");
    let elsewhere =
        ["m2", "new"].map(|id| said(&memories.fixture, &other, id, Some(message.clone())));
    let outcome = memories.write("a write within", &elsewhere).await?;
    same("its outcome", &outcome, &MemoryOutcome::Applied(vec![Forgotten, Written(1)]))?;
    looks_right(&memories, "writes of what was forgotten").await
}

async fn marks_go_with_their_scope(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    let narrow = ada().project("p");
    for scope in [&narrow, &ada()] {
        memories.forget("by id", &MemoryForget::ids(scope.clone(), ["m1", "m2"])).await?;
    }
    memories.forget("a scope", &MemoryForget::Scope(narrow.clone())).await?;
    memories.notes(&[(&narrow, "m1", "back"), (&narrow, "m2", "back")]).await?;
    let outcome =
        memories.write("in a wider scope", &[memories.fixture.note(&ada(), "m1", "back")]).await?;
    same(
        "what was forgotten there",
        &outcome,
        &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]),
    )?;
    memories.forget("the user", &MemoryForget::Scope(ada())).await?;
    memories.notes(&[(&ada(), "m1", "back"), (&narrow, "m1", "back")]).await?;
    looks_right(&memories, "forgetting scopes with marks").await
}

async fn whoever_says_so_brings_it_back(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    for (id, expected) in [("m1", MemoryExpected::Anything), ("m2", MemoryExpected::Version(0))] {
        let forget = MemoryForget::ids(ada(), [id]);
        memories.forget("by id", &forget).await?;
        let stale = memories.fixture.note(&ada(), id, "stale").expected(MemoryExpected::Version(1));
        let MemoryOutcome::Conflict { stored: None, .. } =
            memories.write("behind what was forgotten", &[stale]).await?
        else {
            return fail("a record that was forgotten is not at version 1");
        };
        let back = memories.fixture.note(&ada(), id, "word back").expected(expected);
        let outcome = memories.write("bringing it back", &[back]).await?;
        same("its outcome", &outcome, &MemoryOutcome::Applied(vec![MemoryWritten::Written(1)]))?;
        looks_right(&memories, "bringing it back").await?;
        // The record can be forgotten again, and stays forgotten.
        same("how many go", &memories.forget("once more", &forget).await?, &1)?;
        let outcome =
            memories.write("absent", &[memories.fixture.note(&ada(), id, "word")]).await?;
        same("its outcome", &outcome, &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]))?;
    }
    looks_right(&memories, "forgetting what was brought back").await
}

async fn words_and_vectors_go_too(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    for forget in [
        MemoryForget::ids(ada(), ["m5"]),
        MemoryForget::source(ada(), MemorySource::message("s", "m1")),
        MemoryForget::Scope(ada().session("s")),
    ] {
        memories.forget("forgetting", &forget).await?;
        for word in ["own-m5", "own-m2", "own-m0"] {
            let mut find = MemoryFind::new(ada().session("s").visible(), vec![word.into()], 20);
            find.vector = Some(MemoryVector::new("small", [1.0, 0.0, 2.0].as_slice()));
            memories.finds("forgetting", &find).await?;
        }
    }
    // A record that comes back has only its new words and vector.
    memories.put(memories.fixture.note(&ada(), "m5", "other")).await?;
    looks_right(&memories, "one came back with other words and no vector").await
}

async fn deleting_a_chat_leaves_memories(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let session = ada().session("chat");
    memories
        .add(vec![said(
            &memories.fixture,
            &session,
            "m1",
            Some(MemorySource::message("chat", "m")),
        )])
        .await?;
    memories.fixture.history().delete_chat(&memories.fixture.chat, None).await?;
    looks_right(&memories, "deleting the chat it comes from").await
}

async fn erased_with_their_user(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    let fixture = memories.fixture.clone();
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let none = maintenance.erase_user(&"carl".into(), &CancelSignal::never()).await?;
    same("memories of nobody", &(none.memories, none.remaining), &(0, 0))?;
    let ids = MemoryForget::ids(ada(), ["m1"]);
    let forgotten = memories.fixture.forget_memories(&ids).await?;
    same("how many go", &(forgotten.removed, memories.model.forget(&ids)), &(1, 1))?;
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    let expected = memories.model.erase(&"ada".into());
    same(
        "memories erased, records remaining",
        &(erased.memories, erased.remaining),
        &(expected, 0),
    )?;
    looks_right(&memories, "erasing a user").await?;
    let again = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("erased again", &(again.memories, again.remaining), &(0, 0))?;
    // Not even a mark of forgotten records is left.
    memories.notes(&[(&ada(), "m1", "word")]).await?;
    memories.notes(&[(&ada().project("p"), "m2", "word")]).await?;
    looks_right(&memories, "a user came back").await
}

async fn users_with_memories_are_listed(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let Some(maintenance) = memories.fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    all_users(maintenance).await?;
    for user in ["zoe", "bea", "bea", "eve"] {
        let scope = MemoryScope::new(user).session(format!("s{}", memories.model.entries.len()));
        memories.notes(&[(&scope, "m", "word")]).await?;
    }
    let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let fixture = memories.fixture.clone();
    let users = async || {
        all_users(fixture.store.maintenance().ok_or_else(|| Stop::Skip(String::new()))?).await
    };
    same(
        "whoever has a chat or a memory",
        &users().await?,
        &listed(&["ada", "bea", "eve", "zoe"]),
    )?;
    memories.forget("all of a user", &MemoryForget::Scope(MemoryScope::new("eve"))).await?;
    same("who is left", &users().await?, &listed(&["ada", "bea", "zoe"]))
}

async fn check_looks_at_them(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    memories.put(memories.fixture.note(&ada(), "m1", "rewritten")).await?;
    memories.forget("by id", &MemoryForget::ids(ada(), ["m0"])).await?;
    let Some(maintenance) = memories.fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let report = maintenance.check(&CancelSignal::never()).await?;
    let expected = memories.model.entries.len() as u64;
    same(
        "findings, memories looked at",
        &(report.findings.len(), report.memories),
        &(0, expected),
    )?;
    memories.matches_model("a check").await
}

async fn a_backup_has_them(case: &CaseContext) -> Check {
    let mut memories = full(case).await?;
    memories.forget("by id", &MemoryForget::ids(ada(), ["m0"])).await?;
    let Some(maintenance) = memories.fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    // An in-process store has no location, and no backups.
    let location = case.location("backup")?;
    match maintenance.backup(Path::new(&location)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Stop::Skip(error.to_string()));
        }
        result => result?,
    }
    let mut copy = memories.clone();
    memories.forget("a user", &MemoryForget::Scope(ada())).await?;
    copy.fixture = memories.fixture.through(crate::child::open(case.subject(), &location).await?);
    looks_right(&copy, "a backup").await?;
    let outcome =
        copy.write("what was forgotten before", &[copy.fixture.note(&ada(), "m0", "word")]).await?;
    same("its outcome", &outcome, &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]))
}

async fn random_forgetting_leaves_what_the_model_has(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for n in 0..case.settings.sequences.div_ceil(4) {
        let seed = case.settings.seed.wrapping_add(n.into());
        let (mut random, user) = (Random::new(seed), format!("user-{n}"));
        let mut memories = MemoryFixture::new(&fixture);
        for i in 0..30 {
            let step = MemoryStep::random(&mut random, &user, &memories.model);
            let did = format!("step {i} of seed {seed:#x}");
            memories.step(&did, &step).await?;
            if matches!(step, MemoryStep::Forget(_)) {
                memories.matches_model(&did).await?;
                let scopes: Vec<_> = memories.model.names.keys().take(16).cloned().collect();
                if !scopes.is_empty() {
                    let mut find = MemoryFind::new(scopes, vec!["lisbon".into(), "a".into()], 100);
                    find.vector = Some(vector(&mut random));
                    memories.finds(&did, &find).await?;
                }
            }
        }
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn forgotten_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("again").await?;
    fixture.memories()?;
    let mut memories = MemoryFixture::new(&fixture);
    let write = |id: &str| said(&fixture, &ada(), id, Some(MemorySource::message("s", id)));
    memories.add(vec![write("m1"), write("m2"), write("m3")]).await?;
    memories.forget("by id", &MemoryForget::ids(ada(), ["m1"])).await?;
    memories
        .forget("by source", &MemoryForget::source(ada(), MemorySource::message("s", "m2")))
        .await?;
    let writes = ["m1", "m2", "m3", "m4"].map(write);
    let model = memories.model;
    drop((fixture, memories.fixture));
    let mut memories = MemoryFixture {
        fixture: ChatFixture::new(case.reopen("again").await?, "ada", "chat"),
        model,
    };
    looks_right(&memories, "opening again").await?;
    use MemoryWritten::{Forgotten, Unchanged, Written};
    let outcome = memories.write("all of it again", &writes).await?;
    let expected = MemoryOutcome::Applied(vec![Forgotten, Forgotten, Unchanged(1), Written(1)]);
    same("what became of it", &outcome, &expected)?;
    looks_right(&memories, "writing all of it again").await
}
