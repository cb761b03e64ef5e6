//! Cases about forgetting: forgotten memories do not come back.

use context_core::base::MemoryId;
use context_core::memory::{MemoryForget, MemoryScope, MemorySource};

use super::memory_cases;
use super::probe::{Kit, MemoryProbe, full_scope, turn};
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
async fn captured_probe(kit: &Kit<'_>) -> Check<MemoryProbe> {
    let probe = kit.capturing().await?;
    if !kit.claims.forgets {
        // A provider that cannot forget must refuse, and keeps everything.
        probe.capture_and_flush(&full_scope(), [0]).await?;
        let forget = MemoryForget::Scope(full_scope());
        let refused = probe
            .provider
            .forget(&forget)
            .await
            .is_err_and(|error| super::probe::unsupported(&error));
        same("whether forgetting is refused", &refused, &true)?;
        probe.expect("forgetting was refused", &full_scope(), [0]).await?;
        return Err(Stop::Skip("does not claim to forget".to_owned()));
    }
    for n in 0..3 {
        probe.capture_and_flush(&full_scope(), [2 * n, 2 * n + 1]).await?;
    }
    probe.expect("six messages", &full_scope(), 0..6).await?;
    Ok(probe)
}

/// Forgets, and expects at least `least` removals to be reported and none to remain.
async fn forgotten(probe: &MemoryProbe, did: &str, forget: &MemoryForget, least: u64) -> Check {
    let forgotten = probe.forget(forget).await?;
    ensure(forgotten.removed >= least, || {
        format!("{did}: expected at least {least} to be removed, saw {}", forgotten.removed)
    })?;
    same(format!("{did}: what remains"), &forgotten.remaining, &0)
}

async fn forgotten_by_its_name(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    let mut names: Vec<(MemoryScope, MemoryId)> = Vec::new();
    for memory in probe.about(&full_scope(), 2).await? {
        match (memory.scope, memory.id) {
            (Some(scope), Some(id)) => names.push((scope, id)),
            _ if kit.claims.attributed => return crate::expect::fail("a memory without a name"),
            _ => return Err(Stop::Skip("gives no names".to_owned())),
        }
    }
    for (scope, id) in &names {
        forgotten(&probe, "by name", &MemoryForget::ids(scope.clone(), [id.clone()]), 1).await?;
    }
    probe.expect_gone("forgetting by name", &full_scope(), [2]).await?;
    probe.capture_and_flush(&full_scope(), [2, 3]).await?;
    probe.expect_gone("what was forgotten by name and told again", &full_scope(), [2]).await?;
    // A provider may store a turn as one memory. The other messages must all be there.
    probe.expect("forgetting another", &full_scope(), [0, 1, 4, 5]).await
}

async fn forgotten_by_its_message(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    let forget = MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m2"));
    forgotten(&probe, "by message", &forget, 1).await?;
    probe.expect_gone("forgetting by message", &full_scope(), [2]).await?;
    for overlap in [vec![2], vec![1, 2, 3], vec![2, 7]] {
        probe.capture_and_flush(&full_scope(), overlap).await?;
        probe
            .expect_gone("what was forgotten by message and told again", &full_scope(), [2])
            .await?;
    }
    probe.expect("forgetting another", &full_scope(), [0, 1, 4, 5, 7]).await
}

async fn forgotten_by_its_session(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    let other = full_scope().session("s2");
    probe.capture_and_flush(&other, 20..23).await?;
    let forget = MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s1"));
    forgotten(&probe, "by session", &forget, 1).await?;
    probe.expect_gone("forgetting by session", &full_scope(), 0..6).await?;
    probe.capture_and_flush(&full_scope(), 0..6).await?;
    probe.expect_gone("what was forgotten by session and told again", &full_scope(), 0..6).await?;
    probe.expect("forgetting another session", &other, 20..23).await
}

async fn forgotten_with_its_scope(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    forgotten(&probe, "a scope", &MemoryForget::Scope(MemoryScope::new("ada")), 1).await?;
    probe.expect_gone("forgetting a user", &full_scope(), 0..6).await?;
    for place in full_scope().visible() {
        if let Ok(recalled) = probe.recall(&super::probe::query(&place, 0)).await {
            same("what is left of a user who was forgotten", &recalled.memories.len(), &0)?;
        }
    }
    probe.capture_and_flush(&full_scope(), [30]).await?;
    probe.expect("a user who comes back", &full_scope(), [30]).await
}

async fn forgotten_before_it_is_kept(kit: &Kit<'_>) -> Check {
    for forget in [
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m2")),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s1")),
        MemoryForget::Scope(MemoryScope::new("ada")),
    ] {
        let probe = captured_probe(kit).await?;
        probe.capture(&turn(&full_scope(), [2, 8])).await?;
        let _counted_or_on_its_way = probe.forget(&forget).await?;
        probe.flush().await?;
        probe.expect_gone("what was on its way when it was forgotten", &full_scope(), [2]).await?;
        let all =
            !matches!(&forget, MemoryForget::Source { source, .. } if source.message.is_some());
        if all {
            probe
                .expect_gone("what was on its way when all was forgotten", &full_scope(), [8])
                .await?;
        } else {
            probe.expect("forgetting what was told with it", &full_scope(), [8]).await?;
        }
    }
    Ok(())
}

async fn forgetting_nothing(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    for forget in [
        MemoryForget::ids(full_scope(), Vec::<String>::new()),
        MemoryForget::ids(full_scope(), ["there is none of this name"]),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "nothing")),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s9")),
        MemoryForget::Scope(MemoryScope::new("nobody")),
        MemoryForget::Scope(MemoryScope::new("ada").project("another")),
    ] {
        let none = probe.forget(&forget).await?;
        same(format!("{forget:?}: removed, remaining"), &(none.removed, none.remaining), &(0, 0))?;
    }
    probe.expect("forgetting nothing", &full_scope(), 0..6).await
}

async fn forgetting_again(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    for forget in [
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m2")),
        MemoryForget::Scope(MemoryScope::new("ada")),
    ] {
        forgotten(&probe, "the first time", &forget, 1).await?;
        let again = probe.forget(&forget).await?;
        same("the second time: removed, remaining", &(again.removed, again.remaining), &(0, 0))?;
    }
    Ok(())
}

async fn other_users_are_not_forgotten(kit: &Kit<'_>) -> Check {
    let probe = captured_probe(kit).await?;
    // Another user with the same names, sessions and messages.
    let bob = MemoryScope::new("bob").project("trip").agent("guide").session("s1");
    probe.capture_and_flush(&bob, 0..4).await?;
    for forget in [
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::message("s1", "m0")),
        MemoryForget::source(MemoryScope::new("ada"), MemorySource::session("s1")),
        MemoryForget::Scope(MemoryScope::new("ada")),
    ] {
        let _forgotten = probe.forget(&forget).await?;
        probe.expect("forgetting another user", &bob, 0..4).await?;
        probe.expect_gone("forgetting", &full_scope(), [0]).await?;
    }
    Ok(())
}
