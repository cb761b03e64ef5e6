//! Cases about pages and counts of memories.

use context_core::ErrorKind;
use context_core::memory::{MemoryForget, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{Cursor, MemoryList};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::expect::{refused, same};
use crate::memory_fixture::{MemoryFixture, MemoryStep, scope};
use crate::verdict::Check;
use context_simulator::Random;

cases!("memory_listing":
    the_newest_first_page_by_page if Memories,
    by_kind_key_and_source if Memories,
    of_several_scopes if Memories,
    pages_go_on_while_memories_are_written if Memories,
    stats_count_what_is_there if Memories,
    stats_come_page_by_page if Memories,
    cursors_of_nobody_are_refused if Memories,
    random_listings_are_those_of_the_model if Memories,
);

fn ada() -> MemoryScope {
    MemoryScope::new("ada")
}

async fn the_newest_first_page_by_page(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    for batch in 0..3 {
        let writes = (0..7)
            .map(|n| memories.fixture.note(&user, &format!("m{}", (batch * 7 + n) * 11 % 21), "x"));
        memories.add(writes.collect()).await?;
    }
    memories.put(memories.fixture.note(&user, "m0", "rewritten")).await?;
    for limit in [1, 2, 7, 20, 21, 22, 1000] {
        memories
            .lists(&format!("pages of {limit}"), &MemoryList::new(vec![user.clone()], limit))
            .await?;
    }
    let full = memories.fixture.memories()?.list_memories(&MemoryList::new(vec![user], 21)).await?;
    same("whether a page that has all has another behind it", &full.next.is_none(), &true)
}

async fn by_kind_key_and_source(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    let mut writes = Vec::new();
    for n in 0..24 {
        let mut write = memories.fixture.note(&user, &format!("m{n}"), "x");
        write.record.kind = ["episode", "fact", "fac"][n % 3].to_owned();
        write.record.key = [None, Some("k"), Some("k2"), Some("K")][n % 4].map(ToOwned::to_owned);
        write.record.source = match n % 5 {
            0 => None,
            1 => Some(MemorySource::session("s")),
            2 => Some(MemorySource::message("s", "m")),
            3 => Some(MemorySource::message("s", "m2")),
            _ => Some(MemorySource::message("s2", "m")),
        };
        writes.push(write);
    }
    memories.add(writes).await?;
    let all = MemoryList::new(vec![user], 3);
    let mut lists = vec![
        all.clone().kind("fact"),
        all.clone().kind("fact").kind("fac"),
        all.clone().kind("nothing of it"),
        all.clone().key("k"),
        all.clone().kind("episode").key("K"),
    ];
    for source in [
        MemorySource::session("s"),
        MemorySource::session("s3"),
        MemorySource::message("s", "m"),
        MemorySource::message("s2", "m"),
    ] {
        let mut list = all.clone();
        list.source = Some(source);
        lists.extend([list.clone().kind("fact"), list.clone().key("k2"), list]);
    }
    for list in lists {
        memories.lists(&format!("{list:?}"), &list).await?;
    }
    Ok(())
}

async fn of_several_scopes(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let scopes: Vec<_> = (0..16).map(|n| ada().project(format!("p{n}"))).collect();
    for n in 0..40 {
        let scope = &scopes[n * 7 % 16];
        memories.notes(&[(scope, &format!("m{n}"), "x")]).await?;
    }
    for limit in [3, 16, 100] {
        memories.lists("all scopes", &MemoryList::new(scopes.clone(), limit)).await?;
        memories.lists("one scope", &MemoryList::new(scopes[3..4].to_vec(), limit)).await?;
        let empty = vec![ada(), scopes[5].clone(), ada().project("p")];
        memories.lists("scopes with nothing in them", &MemoryList::new(empty, limit)).await?;
        let twice = vec![scopes[2].clone(), scopes[2].clone()];
        memories.lists("a scope that is named twice", &MemoryList::new(twice, limit)).await?;
    }
    Ok(())
}

/// Checks that each record that exists from the first page to the last is listed once, regardless
/// of concurrent writes and removals.
async fn pages_go_on_while_memories_are_written(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let user = ada();
    let writes = (0..12).map(|n| memories.fixture.note(&user, &format!("m{n}"), "x"));
    memories.add(writes.collect()).await?;
    let (mut list, mut seen) = (MemoryList::new(vec![user.clone()], 2), Vec::new());
    for n in 0..20 {
        let page = memories.fixture.memories()?.list_memories(&list).await?;
        seen.extend(page.items.iter().map(|stored| stored.record.id.to_string()));
        list.after = page.next;
        if list.after.is_none() {
            break;
        }
        memories.notes(&[(&user, &format!("new{n}"), "x")]).await?;
        let last = seen.last().cloned().unwrap_or_default();
        memories.put(memories.fixture.note(&user, &last, "rewritten")).await?;
        memories
            .forget("forgetting what was listed", &MemoryForget::ids(user.clone(), [last]))
            .await?;
    }
    let expected: Vec<_> = (0..12).rev().map(|n| format!("m{n}")).collect();
    same("a listing while memories are written and forgotten", &seen, &expected)
}

async fn stats_count_what_is_there(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    let nobody = memories.fixture.memory_stats(&"ada".into(), 10).await?;
    same("the stats of a user without memories", &nobody, &Vec::new())?;
    let (user, session) = (ada(), ada().session("s"));
    for n in 0..9 {
        let mut write = memories.fixture.note(
            if n % 3 == 0 { &session } else { &user },
            &format!("m{n}"),
            "é x",
        );
        write.record.kind = ["episode", "fact"][n % 2].to_owned();
        write.vector = (n % 4 == 0).then(|| MemoryVector::new("e", [1.0].as_slice()));
        memories.add(vec![write]).await?;
    }
    memories.matches_model("writing").await?;
    // A record of another kind and length, without a vector.
    memories.put(memories.fixture.note(&user, "m4", "")).await?;
    memories.matches_model("writing over one").await?;
    let bob = MemoryScope::new("bob");
    memories.notes(&[(&bob, "m", "of another user")]).await?;
    memories.forget("a session", &MemoryForget::Scope(session)).await?;
    memories.matches_model("forgetting a scope").await
}

async fn stats_come_page_by_page(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    // Ordered by the keys of the scopes, which differs from the order of their names.
    let names = ["a", "B", "b", "é", "\"", "\\", "\u{0}", " ", "🦀", "\u{ffff}"];
    let mut scopes = vec![ada()];
    for name in names {
        scopes.extend([ada().project(name), ada().agent(name).session(name), ada().session(name)]);
    }
    for scope in &scopes {
        memories.notes(&[(scope, "m", "x")]).await?;
    }
    memories
        .notes(&[
            (&MemoryScope::new("ada2"), "m", "x"),
            (&MemoryScope::new("ada2").agent("a"), "m", "x"),
        ])
        .await?;
    for limit in [1, 2, 10, scopes.len(), 1000] {
        let stats = memories.fixture.memory_stats(&"ada".into(), limit).await?;
        same(format!("the stats, {limit} a page"), &stats, &memories.model.stats(&"ada".into()))?;
    }
    Ok(())
}

async fn cursors_of_nobody_are_refused(case: &CaseContext) -> Check {
    let mut memories = case.memory_fixture().await?;
    memories.notes(&[(&ada(), "m", "x")]).await?;
    for cursor in ["", "nothing", "1 or 1=1", "🦀"] {
        let list = MemoryList::new(vec![ada()], 5).after(Some(Cursor::new(cursor)));
        let page = memories.fixture.memories()?.list_memories(&list).await;
        refused(format!("a listing behind {cursor:?}"), page, ErrorKind::Invalid)?;
    }
    Ok(())
}

async fn random_listings_are_those_of_the_model(case: &CaseContext) -> Check {
    let fixture = case.memory_fixture().await?.fixture;
    for n in 0..case.settings.sequences.div_ceil(8) {
        let seed = case.settings.seed.wrapping_add(n.into());
        let (mut random, user) = (Random::new(seed), format!("user-{n}"));
        let mut memories = MemoryFixture::new(&fixture);
        for i in 0..20 {
            let step = MemoryStep::random(&mut random, &user, &memories.model);
            memories.step(&format!("step {i} of seed {seed:#x}"), &step).await?;
            let scopes = (0..=random.below(4)).map(|_| scope(&mut random, &user)).collect();
            let mut list = MemoryList::new(scopes, 1 + random.below(4));
            if random.one_in(2) {
                list = list.kind("fact");
            }
            if random.one_in(4) {
                list = list.key("k");
            }
            list.source = random.one_in(3).then(|| MemorySource::session("s1"));
            memories.lists(&format!("step {i} of seed {seed:#x}, {list:?}"), &list).await?;
        }
    }
    Ok(())
}
