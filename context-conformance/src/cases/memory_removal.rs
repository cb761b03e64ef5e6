//! Cases about forgetting: forgotten records are gone from every call and stay so, others stay.

use std::path::Path;

use context_core::memory::{MemoryForget, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{MemoryExpected, MemoryFind, MemoryOutcome, MemoryWrite, MemoryWritten};
use context_core::{CancelSignal, ErrorKind};

use super::maintenance::all_users;
use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::desk::Desk;
use crate::expect::{fail, same};
use crate::lab::Lab;
use crate::notebook::{MemoryStep, Notebook, vector};
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

fn said(desk: &Desk, scope: &MemoryScope, id: &str, source: Option<MemorySource>) -> MemoryWrite {
    let mut write = desk.note(scope, id, &format!("word own-{id}"));
    write.record.source = source;
    write.vector(MemoryVector::new("small", [1.0, 0.0, id.len() as f32].as_slice()))
}

/// Creates records of several scopes and sources, and of another user.
async fn full(lab: &Lab) -> Checked<Notebook> {
    let mut book = lab.notebook().await?;
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
            said(&book.desk, scope, &format!("m{n}"), source)
        });
        book.add(writes.collect()).await?;
    }
    Ok(book)
}

/// Compares the complete visible state and the results of searches by words and vectors.
async fn looks_right(book: &Notebook, did: &str) -> Checked {
    book.is_kept(did).await?;
    let scopes: Vec<_> =
        book.model.names.keys().filter(|scope| scope.user == *"ada").take(16).cloned().collect();
    let words: Vec<_> =
        ["word".to_owned()].into_iter().chain((0..6).map(|n| format!("own-m{n}"))).collect();
    let mut find = MemoryFind::new(scopes, words, 100);
    book.finds(did, &find).await?;
    find.vector = Some(vector(&mut Random::new(7)));
    find.words.clear();
    book.finds(did, &find).await?;
    same(format!("what check() found after {did}"), &book.desk.findings().await?, &Vec::new())
}

async fn forgotten_by_their_ids(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    let forget = MemoryForget::ids(ada().project("p"), ["m1", "m3", "absent", "m1"]);
    same("how many of four ids were there", &book.forget("forgetting by id", &forget).await?, &2)?;
    looks_right(&book, "forgetting by id").await?;
    same(
        "how many are there to forget again",
        &book.forget("forgetting again", &forget).await?,
        &0,
    )?;
    looks_right(&book, "forgetting again").await
}

async fn forgotten_by_their_source(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
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
        let removed = book.forget(did, &MemoryForget::source(scope, source)).await?;
        same(format!("how many came from {did}"), &removed, &expected)?;
        looks_right(&book, did).await?;
    }
    Ok(())
}

async fn forgotten_with_their_scope(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    let project = || ada().project("p");
    for (did, scope, expected) in [
        ("the narrowest scope", project().agent("a").session("s"), 6),
        ("a scope that covers others", project(), 3 * 6),
        ("a session of no project", ada().session("s"), 2 * 6),
        ("a scope that nobody has", ada().project("r"), 0),
        ("a user", ada(), 3 * 6),
    ] {
        let removed = book.forget(did, &MemoryForget::Scope(scope)).await?;
        same(format!("how many were of {did}"), &removed, &expected)?;
        looks_right(&book, did).await?;
    }
    let left = book.desk.memory_stats(&"bob".into(), 5).await?;
    same(
        "what another user has left",
        &left.iter().map(context_core::store::MemoryStats::records).sum(),
        &6u64,
    )
}

async fn forgetting_nothing_is_none(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    for forget in [
        MemoryForget::ids(ada(), Vec::<String>::new()),
        MemoryForget::ids(MemoryScope::new("carl"), ["m1"]),
        MemoryForget::Scope(MemoryScope::new("carl")),
        MemoryForget::source(MemoryScope::new("carl"), MemorySource::session("s")),
        MemoryForget::source(ada().session("t"), MemorySource::session("s")),
    ] {
        same("how many go", &book.forget("forgetting nothing", &forget).await?, &0)?;
    }
    // Forgetting an id that never existed does not keep it away later.
    book.forget("an id that never was", &MemoryForget::ids(ada(), ["later"])).await?;
    book.notes(&[(&ada(), "later", "word")]).await?;
    looks_right(&book, "forgetting nothing").await
}

async fn marks_keep_forgotten_ones_away(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    book.forget("by id", &MemoryForget::ids(ada(), ["m0"])).await?;
    let message = MemorySource::message("s", "m1");
    book.forget("by source", &MemoryForget::source(ada(), message.clone())).await?;
    let writes =
        ["m0", "m2", "m3", "m6"].map(|id| said(&book.desk, &ada(), id, Some(message.clone())));
    use MemoryWritten::{Forgotten, Written};
    let expected = MemoryOutcome::Applied(vec![Forgotten, Forgotten, Forgotten, Written(1)]);
    let outcome = book.write("a write of what was forgotten", &writes).await?;
    same("its outcome", &outcome, &expected)?;
    // The same name in another scope was not forgotten by id. By source it was.
    let other = ada().agent("a");
    let elsewhere = ["m2", "new"].map(|id| said(&book.desk, &other, id, Some(message.clone())));
    let outcome = book.write("a write within", &elsewhere).await?;
    same("its outcome", &outcome, &MemoryOutcome::Applied(vec![Forgotten, Written(1)]))?;
    looks_right(&book, "writes of what was forgotten").await
}

async fn marks_go_with_their_scope(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    let narrow = ada().project("p");
    for scope in [&narrow, &ada()] {
        book.forget("by id", &MemoryForget::ids(scope.clone(), ["m1", "m2"])).await?;
    }
    book.forget("a scope", &MemoryForget::Scope(narrow.clone())).await?;
    book.notes(&[(&narrow, "m1", "back"), (&narrow, "m2", "back")]).await?;
    let outcome = book.write("in a wider scope", &[book.desk.note(&ada(), "m1", "back")]).await?;
    same(
        "what was forgotten there",
        &outcome,
        &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]),
    )?;
    book.forget("the user", &MemoryForget::Scope(ada())).await?;
    book.notes(&[(&ada(), "m1", "back"), (&narrow, "m1", "back")]).await?;
    looks_right(&book, "forgetting scopes with marks").await
}

async fn whoever_says_so_brings_it_back(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    for (id, expected) in [("m1", MemoryExpected::Anything), ("m2", MemoryExpected::Version(0))] {
        let forget = MemoryForget::ids(ada(), [id]);
        book.forget("by id", &forget).await?;
        let stale = book.desk.note(&ada(), id, "stale").expected(MemoryExpected::Version(1));
        let MemoryOutcome::Conflict { stored: None, .. } =
            book.write("behind what was forgotten", &[stale]).await?
        else {
            return fail("a record that was forgotten is not at version 1");
        };
        let back = book.desk.note(&ada(), id, "word back").expected(expected);
        let outcome = book.write("bringing it back", &[back]).await?;
        same("its outcome", &outcome, &MemoryOutcome::Applied(vec![MemoryWritten::Written(1)]))?;
        looks_right(&book, "bringing it back").await?;
        // The record can be forgotten again, and stays forgotten.
        same("how many go", &book.forget("once more", &forget).await?, &1)?;
        let outcome = book.write("absent", &[book.desk.note(&ada(), id, "word")]).await?;
        same("its outcome", &outcome, &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]))?;
    }
    looks_right(&book, "forgetting what was brought back").await
}

async fn words_and_vectors_go_too(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    for forget in [
        MemoryForget::ids(ada(), ["m5"]),
        MemoryForget::source(ada(), MemorySource::message("s", "m1")),
        MemoryForget::Scope(ada().session("s")),
    ] {
        book.forget("forgetting", &forget).await?;
        for word in ["own-m5", "own-m2", "own-m0"] {
            let mut find = MemoryFind::new(ada().session("s").visible(), vec![word.into()], 20);
            find.vector = Some(MemoryVector::new("small", [1.0, 0.0, 2.0].as_slice()));
            book.finds("forgetting", &find).await?;
        }
    }
    // A record that comes back has only its new words and vector.
    book.put(book.desk.note(&ada(), "m5", "other")).await?;
    looks_right(&book, "one came back with other words and no vector").await
}

async fn deleting_a_chat_leaves_memories(lab: &Lab) -> Checked {
    let mut book = lab.notebook().await?;
    let session = ada().session("chat");
    book.add(vec![said(&book.desk, &session, "m1", Some(MemorySource::message("chat", "m")))])
        .await?;
    book.desk.history().delete_chat(&book.desk.chat, None).await?;
    looks_right(&book, "deleting the chat it comes from").await
}

async fn erased_with_their_user(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    let desk = book.desk.clone();
    let Some(maintenance) = desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let none = maintenance.erase_user(&"carl".into(), &CancelSignal::never()).await?;
    same("memories of nobody", &(none.memories, none.remaining), &(0, 0))?;
    let ids = MemoryForget::ids(ada(), ["m1"]);
    let forgotten = book.desk.forget_memories(&ids).await?;
    same("how many go", &(forgotten.removed, book.model.forget(&ids)), &(1, 1))?;
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    let expected = book.model.erase(&"ada".into());
    same(
        "memories erased, records remaining",
        &(erased.memories, erased.remaining),
        &(expected, 0),
    )?;
    looks_right(&book, "erasing a user").await?;
    let again = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("erased again", &(again.memories, again.remaining), &(0, 0))?;
    // Not even a mark of forgotten records is left.
    book.notes(&[(&ada(), "m1", "word")]).await?;
    book.notes(&[(&ada().project("p"), "m2", "word")]).await?;
    looks_right(&book, "a user came back").await
}

async fn users_with_memories_are_listed(lab: &Lab) -> Checked {
    let mut book = lab.notebook().await?;
    let Some(maintenance) = book.desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    all_users(maintenance).await?;
    for user in ["zoe", "bea", "bea", "eve"] {
        let scope = MemoryScope::new(user).session(format!("s{}", book.model.entries.len()));
        book.notes(&[(&scope, "m", "word")]).await?;
    }
    let listed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let desk = book.desk.clone();
    let users = async || {
        all_users(desk.store.maintenance().ok_or_else(|| Stop::Skip(String::new()))?).await
    };
    same(
        "whoever has a chat or a memory",
        &users().await?,
        &listed(&["ada", "bea", "eve", "zoe"]),
    )?;
    book.forget("all of a user", &MemoryForget::Scope(MemoryScope::new("eve"))).await?;
    same("who is left", &users().await?, &listed(&["ada", "bea", "zoe"]))
}

async fn check_looks_at_them(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    book.put(book.desk.note(&ada(), "m1", "rewritten")).await?;
    book.forget("by id", &MemoryForget::ids(ada(), ["m0"])).await?;
    let Some(maintenance) = book.desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let report = maintenance.check(&CancelSignal::never()).await?;
    let expected = book.model.entries.len() as u64;
    same(
        "findings, memories looked at",
        &(report.findings.len(), report.memories),
        &(0, expected),
    )?;
    book.is_kept("a check").await
}

async fn a_backup_has_them(lab: &Lab) -> Checked {
    let mut book = full(lab).await?;
    book.forget("by id", &MemoryForget::ids(ada(), ["m0"])).await?;
    let Some(maintenance) = book.desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    // An in-process store has no location, and no backups.
    let location = lab.location("backup")?;
    match maintenance.backup(Path::new(&location)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Stop::Skip(error.to_string()));
        }
        result => result?,
    }
    let mut copy = book.clone();
    book.forget("a user", &MemoryForget::Scope(ada())).await?;
    copy.desk = book.desk.through(crate::child::open(lab.subject(), &location).await?);
    looks_right(&copy, "a backup").await?;
    let outcome =
        copy.write("what was forgotten before", &[copy.desk.note(&ada(), "m0", "word")]).await?;
    same("its outcome", &outcome, &MemoryOutcome::Applied(vec![MemoryWritten::Forgotten]))
}

async fn random_forgetting_leaves_what_the_model_has(lab: &Lab) -> Checked {
    let desk = lab.notebook().await?.desk;
    for n in 0..lab.settings.sequences.div_ceil(4) {
        let seed = lab.settings.seed.wrapping_add(n.into());
        let (mut random, user) = (Random::new(seed), format!("user-{n}"));
        let mut book = Notebook::new(&desk);
        for i in 0..30 {
            let step = MemoryStep::random(&mut random, &user, &book.model);
            let did = format!("step {i} of seed {seed:#x}");
            book.step(&did, &step).await?;
            if matches!(step, MemoryStep::Forget(_)) {
                book.is_kept(&did).await?;
                let scopes: Vec<_> = book.model.names.keys().take(16).cloned().collect();
                if !scopes.is_empty() {
                    let mut find = MemoryFind::new(scopes, vec!["lisbon".into(), "a".into()], 100);
                    find.vector = Some(vector(&mut random));
                    book.finds(&did, &find).await?;
                }
            }
        }
    }
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn forgotten_after_opening_again(lab: &Lab) -> Checked {
    let desk = lab.desk_in("again").await?;
    desk.memories()?;
    let mut book = Notebook::new(&desk);
    let write = |id: &str| said(&desk, &ada(), id, Some(MemorySource::message("s", id)));
    book.add(vec![write("m1"), write("m2"), write("m3")]).await?;
    book.forget("by id", &MemoryForget::ids(ada(), ["m1"])).await?;
    book.forget("by source", &MemoryForget::source(ada(), MemorySource::message("s", "m2")))
        .await?;
    let writes = ["m1", "m2", "m3", "m4"].map(write);
    let model = book.model;
    drop((desk, book.desk));
    let mut book = Notebook { desk: Desk::new(lab.reopen("again").await?, "ada", "chat"), model };
    looks_right(&book, "opening again").await?;
    use MemoryWritten::{Forgotten, Kept, Written};
    let outcome = book.write("all of it again", &writes).await?;
    let expected = MemoryOutcome::Applied(vec![Forgotten, Forgotten, Kept(1), Written(1)]);
    same("what became of it", &outcome, &expected)?;
    looks_right(&book, "writing all of it again").await
}
