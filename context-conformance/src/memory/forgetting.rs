//! Cases about forgetting: forgotten memories do not come back.

use context_core::base::MemoryId;
use context_core::memory::{MemoryForget, MemoryScope, MemorySource};

use super::memory_cases;
use super::table::{Kit, Mind, turn, whole};
use crate::expect::{ensure, same};
use crate::verdict::{Check, Stop};

memory_cases!(
    forgotten_by_its_name,
    forgotten_by_its_message,
    forgotten_by_its_session,
    forgotten_with_its_scope,
    forgotten_before_it_is_kept,
    forgetting_nothing,
    forgetting_again,
    other_users_are_not_forgotten,
);

/// Returns a provider that has captured six messages.
async fn told(kit: &Kit<'_>) -> Check<Mind> {
    let mind = kit.capturing().await?;
    if !kit.claims.forgets {
        // A provider that cannot forget must refuse, and keeps everything.
        mind.told(&whole(), [0]).await?;
        let forget = MemoryForget::Scope(whole());
        let refused = mind
            .provider
            .forget(&forget)
            .await
            .is_err_and(|error| super::table::unsupported(&error));
        same("whether forgetting is refused", &refused, &true)?;
        mind.expect("forgetting was refused", &whole(), [0]).await?;
        return Err(Stop::Skip("does not claim to forget".to_owned()));
    }
    for n in 0..3 {
        mind.told(&whole(), [2 * n, 2 * n + 1]).await?;
    }
    mind.expect("six messages", &whole(), 0..6).await?;
    Ok(mind)
}

/// Forgets, and expects at least `least` removals to be reported and none to remain.
async fn forgotten(mind: &Mind, did: &str, forget: &MemoryForget, least: u64) -> Check {
    let forgotten = mind.forget(forget).await?;
    ensure(forgotten.removed >= least, || {
        format!("{did}: expected at least {least} to be removed, saw {}", forgotten.removed)
    })?;
    same(format!("{did}: what remains"), &forgotten.remaining, &0)
}

async fn forgotten_by_its_name(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    let mut names: Vec<(MemoryScope, MemoryId)> = Vec::new();
    for memory in mind.about(&whole(), 2).await? {
        match (memory.scope, memory.id) {
            (Some(scope), Some(id)) => names.push((scope, id)),
            _ if kit.claims.attributed => return crate::expect::fail("a memory without a name"),
            _ => return Err(Stop::Skip("gives no names".to_owned())),
        }
    }
    for (scope, id) in &names {
        forgotten(&mind, "by name", &MemoryForget::ids(scope.clone(), [id.clone()]), 1).await?;
    }
    mind.expect_gone("forgetting by name", &whole(), [2]).await?;
    mind.told(&whole(), [2, 3]).await?;
    mind.expect_gone("what was forgotten by name and told again", &whole(), [2]).await?;
    // A provider may store a turn as one memory. The other messages must all be there.
    mind.expect("forgetting another", &whole(), [0, 1, 4, 5]).await
}

async fn forgotten_by_its_message(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    let forget = MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m2"));
    forgotten(&mind, "by message", &forget, 1).await?;
    mind.expect_gone("forgetting by message", &whole(), [2]).await?;
    for overlap in [vec![2], vec![1, 2, 3], vec![2, 7]] {
        mind.told(&whole(), overlap).await?;
        mind.expect_gone("what was forgotten by message and told again", &whole(), [2]).await?;
    }
    mind.expect("forgetting another", &whole(), [0, 1, 4, 5, 7]).await
}

async fn forgotten_by_its_session(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    let other = whole().session("s2");
    mind.told(&other, 20..23).await?;
    let forget = MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s1"));
    forgotten(&mind, "by session", &forget, 1).await?;
    mind.expect_gone("forgetting by session", &whole(), 0..6).await?;
    mind.told(&whole(), 0..6).await?;
    mind.expect_gone("what was forgotten by session and told again", &whole(), 0..6).await?;
    mind.expect("forgetting another session", &other, 20..23).await
}

async fn forgotten_with_its_scope(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    forgotten(&mind, "a scope", &MemoryForget::Scope(MemoryScope::new("ada")), 1).await?;
    mind.expect_gone("forgetting a user", &whole(), 0..6).await?;
    for place in whole().visible() {
        if let Ok(recalled) = mind.asked(&super::table::query(&place, 0)).await {
            same("what is left of a user who was forgotten", &recalled.memories.len(), &0)?;
        }
    }
    mind.told(&whole(), [30]).await?;
    mind.expect("a user who comes back", &whole(), [30]).await
}

async fn forgotten_before_it_is_kept(kit: &Kit<'_>) -> Check {
    for forget in [
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m2")),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s1")),
        MemoryForget::Scope(MemoryScope::new("ada")),
    ] {
        let mind = told(kit).await?;
        mind.capture(&turn(&whole(), [2, 8])).await?;
        let _counted_or_on_its_way = mind.forget(&forget).await?;
        mind.flush().await?;
        mind.expect_gone("what was on its way when it was forgotten", &whole(), [2]).await?;
        let all =
            !matches!(&forget, MemoryForget::Source { source, .. } if source.message.is_some());
        if all {
            mind.expect_gone("what was on its way when all was forgotten", &whole(), [8]).await?;
        } else {
            mind.expect("forgetting what was told with it", &whole(), [8]).await?;
        }
    }
    Ok(())
}

async fn forgetting_nothing(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    for forget in [
        MemoryForget::ids(whole(), Vec::<String>::new()),
        MemoryForget::ids(whole(), ["there is none of this name"]),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "nothing")),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s9")),
        MemoryForget::Scope(MemoryScope::new("nobody")),
        MemoryForget::Scope(MemoryScope::new("ada").project("another")),
    ] {
        let none = mind.forget(&forget).await?;
        same(format!("{forget:?}: removed, remaining"), &(none.removed, none.remaining), &(0, 0))?;
    }
    mind.expect("forgetting nothing", &whole(), 0..6).await
}

async fn forgetting_again(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    for forget in [
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m2")),
        MemoryForget::Scope(MemoryScope::new("ada")),
    ] {
        forgotten(&mind, "the first time", &forget, 1).await?;
        let again = mind.forget(&forget).await?;
        same("the second time: removed, remaining", &(again.removed, again.remaining), &(0, 0))?;
    }
    Ok(())
}

async fn other_users_are_not_forgotten(kit: &Kit<'_>) -> Check {
    let mind = told(kit).await?;
    // Another user with the same names, sessions and messages.
    let bob = MemoryScope::new("bob").project("trip").agent("guide").session("s1");
    mind.told(&bob, 0..4).await?;
    for forget in [
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m0")),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s1")),
        MemoryForget::Scope(MemoryScope::new("ada")),
    ] {
        let _forgotten = mind.forget(&forget).await?;
        mind.expect("forgetting another user", &bob, 0..4).await?;
        mind.expect_gone("forgetting", &whole(), [0]).await?;
    }
    Ok(())
}
