//! Cases about trust, quarantine and the log of uses.

use context_core::memory::{
    MemoryForget, MemoryScope, MemorySource, MemoryUse, Quarantine, QuarantineTarget, Trust,
};

use super::memory_cases;
use super::probe::{Kit, MemoryProbe, at, full_scope, query, turn};
use crate::expect::{ensure, same};
use crate::verdict::{Check, Stop};

memory_cases!(
    a_least_class_is_kept,
    quarantined_by_its_message_and_released,
    quarantined_by_its_name,
    a_quarantine_holds_for_later_captures_and_its_scope,
    forgetting_reaches_what_is_in_quarantine,
    uses_are_found_by_their_memory,
);

/// Returns a provider with a review that has captured four messages, or skips the case.
async fn reviewed_probe(kit: &Kit<'_>) -> Check<MemoryProbe> {
    let probe = kit.capturing().await?;
    if probe.provider.review().is_none() {
        return Err(Stop::Skip("has no review".to_owned()));
    }
    probe.capture_and_flush(&full_scope(), 0..4).await?;
    probe.expect("four messages", &full_scope(), 0..4).await?;
    Ok(probe)
}

fn review(probe: &MemoryProbe) -> Check<&dyn context_core::memory::MemoryReview> {
    probe.provider.review().ok_or_else(|| Stop::Fail("the review is gone".to_owned()))
}

fn of_user(source: MemorySource) -> Quarantine {
    let target = QuarantineTarget::Source(source);
    Quarantine::new(MemoryScope::new("ada"), target, "a poisoned page", at(3000))
}

/// Message 0 is of the user, message 1 of the assistant.
async fn a_least_class_is_kept(kit: &Kit<'_>) -> Check {
    let probe = kit.capturing().await?;
    probe.capture_and_flush(&full_scope(), 0..2).await?;
    for least in Trust::ALL {
        for n in 0..2 {
            let recalled = probe.recall(&query(&full_scope(), n).least_trust(least)).await?;
            let lower = recalled.memories.iter().find(|memory| memory.trust < Some(least));
            ensure(lower.is_none(), || {
                format!("asked for {least} at least, saw {:?}", lower.and_then(|low| low.trust))
            })?;
        }
    }
    probe.expect("recalls with a least class", &full_scope(), 0..2).await
}

async fn quarantined_by_its_message_and_released(kit: &Kit<'_>) -> Check {
    let probe = reviewed_probe(kit).await?;
    let quarantine = of_user(MemorySource::message("s1", "m2"));
    let narrow = full_scope();
    for _ in 0..2 {
        review(&probe)?.quarantine(&quarantine).await?;
        probe.expect_gone("a quarantine", &narrow, [2]).await?;
        probe.expect("a quarantine of another", &narrow, [0, 3]).await?;
        let listed = review(&probe)?.quarantined(&narrow).await?;
        same("what is listed", &listed, &vec![quarantine.clone()])?;
        let released = review(&probe)?.release(&quarantine.scope, &quarantine.id()).await?;
        same("whether it was released", &released, &true)?;
        probe.expect("a release", &narrow, 0..4).await?;
        let again = review(&probe)?.release(&quarantine.scope, &quarantine.id()).await?;
        same("whether it was released again", &again, &false)?;
        same("what is listed", &review(&probe)?.quarantined(&narrow).await?, &Vec::new())?;
    }
    Ok(())
}

async fn quarantined_by_its_name(kit: &Kit<'_>) -> Check {
    let probe = reviewed_probe(kit).await?;
    let named = probe.about(&full_scope(), 1).await?;
    let named = named.into_iter().filter_map(|memory| memory.scope.zip(memory.id));
    for (scope, id) in named {
        let quarantine = Quarantine::new(scope, QuarantineTarget::Id(id), "wrong", at(3000));
        review(&probe)?.quarantine(&quarantine).await?;
    }
    if kit.claims.attributed {
        probe.expect_gone("a quarantine by name", &full_scope(), [1]).await?;
    }
    Ok(())
}

async fn a_quarantine_holds_for_later_captures_and_its_scope(kit: &Kit<'_>) -> Check {
    let probe = reviewed_probe(kit).await?;
    let bob = MemoryScope::new("bob").project("trip").agent("guide").session("s1");
    probe.capture_and_flush(&bob, 0..4).await?;
    review(&probe)?.quarantine(&of_user(MemorySource::session("s1"))).await?;
    probe.capture(&turn(&full_scope(), [6])).await?;
    probe.flush().await?;
    probe.expect_gone("a quarantine of the session", &full_scope(), [0, 3, 6]).await?;
    let other = full_scope().session("s2");
    probe.capture_and_flush(&other, [20]).await?;
    probe.expect("a quarantine of another session", &other, [20]).await?;
    probe.expect("a quarantine of another user", &bob, 0..4).await?;
    same("what bob sees", &review(&probe)?.quarantined(&bob).await?, &Vec::new())
}

async fn forgetting_reaches_what_is_in_quarantine(kit: &Kit<'_>) -> Check {
    if !kit.claims.forgets {
        return Err(Stop::Skip("does not claim to forget".to_owned()));
    }
    let probe = reviewed_probe(kit).await?;
    let source = MemorySource::message("s1", "m2");
    let quarantine = of_user(source.clone());
    review(&probe)?.quarantine(&quarantine).await?;
    let forget = MemoryForget::source(MemoryScope::new("ada"), source);
    let forgotten = probe.forget(&forget).await?;
    ensure(forgotten.removed >= 1, || "nothing in quarantine was forgotten".to_owned())?;
    review(&probe)?.release(&quarantine.scope, &quarantine.id()).await?;
    probe.expect_gone("forgetting in quarantine", &full_scope(), [2]).await?;
    probe.expect("forgetting another", &full_scope(), [0, 3]).await
}

async fn uses_are_found_by_their_memory(kit: &Kit<'_>) -> Check {
    let probe = reviewed_probe(kit).await?;
    let name = |n| (full_scope().visible()[0].clone(), format!("memory {n}").into());
    let used = |turn: &str, time, memories| MemoryUse::new("s1", turn, at(time), memories);
    for memory_use in [
        used("t1", 10, vec![name(0), name(1)]),
        used("t2", 11, vec![name(1)]),
        used("t2", 11, vec![name(1)]),
    ] {
        review(&probe)?.record_use(&memory_use).await?;
    }
    for (n, expected) in [
        (0, vec![used("t1", 10, vec![name(0)])]),
        (1, vec![used("t2", 11, vec![name(1)]), used("t1", 10, vec![name(1)])]),
        (2, vec![]),
    ] {
        let (scope, id) = name(n);
        same("the uses", &review(&probe)?.uses(&scope, &id).await?, &expected)?;
    }
    let (_, id) = name(1);
    let of_bob = review(&probe)?.uses(&MemoryScope::new("bob"), &id).await?;
    same("the uses of another user's memory", &of_bob, &Vec::new())?;
    probe.expect("recorded uses", &full_scope(), 0..4).await
}
