//! Cases about scopes: nothing is recalled from a scope that must not see it.

use context_core::memory::MemoryScope;
use context_core::{CancelSignal, ErrorKind};

use super::memory_cases;
use super::probe::{Kit, ScopeVisibility, full_scope, query, turn, unsupported, word};
use crate::expect::{ensure, fail, same};
use crate::memory_fixture::scope;
use crate::verdict::Check;
use context_simulator::Random;

memory_cases!(
    users_are_apart,
    lookalike_scopes_are_apart,
    random_recalls_see_only_what_is_visible,
    scopes_are_kept_apart_or_refused,
    bad_scopes_are_refused,
);

async fn users_are_apart(kit: &Kit<'_>) -> Check {
    let probe = kit.capturing().await?;
    let of = |user: &str| MemoryScope::new(user).project("trip").agent("guide").session("s1");
    let users = ["ada", "ADA", "ada ", "ad", "bob", "ada|trip"];
    for (n, user) in users.iter().enumerate() {
        probe.capture_and_flush(&of(user), [n]).await?;
    }
    for (n, user) in users.iter().enumerate() {
        probe.expect("users apart", &of(user), [n]).await?;
        let others = (0..users.len()).filter(|other| *other != n);
        probe
            .expect_gone(&format!("what user {user} is told of others"), &of(user), others)
            .await?;
    }
    Ok(())
}

async fn lookalike_scopes_are_apart(kit: &Kit<'_>) -> Check {
    let visibility = ScopeVisibility::of(&kit.capturing().await?).await?;
    let probe = kit.capturing().await?;
    let of = |project: &str, agent: &str| {
        MemoryScope::new("ada").project(project).agent(agent).session("s1")
    };
    let scopes =
        [of("a|b", "c"), of("a", "b|c"), of("A", "b"), of("a ", "b"), of("a", "b"), of("b", "a")];
    let mut captured = Vec::new();
    for (n, scope) in scopes.iter().enumerate() {
        match probe.provider.capture(&turn(scope, [n]), &CancelSignal::never()).await {
            Err(error) if unsupported(&error) => continue,
            result => result?,
        }
        probe.flush().await?;
        captured.push((n, scope));
    }
    for (n, scope) in &captured {
        for from in &scopes {
            let times = if visibility.sees(from, scope) { 1 } else { 0 };
            same(
                format!("what {from:?} is told of {scope:?}"),
                &probe.times(from, *n).await?,
                &times,
            )?;
        }
    }
    Ok(())
}

async fn random_recalls_see_only_what_is_visible(kit: &Kit<'_>) -> Check {
    let visibility = ScopeVisibility::of(&kit.capturing().await?).await?;
    for n in 0..kit.settings.sequences.div_ceil(10) {
        let seed = kit.settings.seed.wrapping_add(n.into());
        let mut random = Random::new(seed);
        let probe = kit.capturing().await?;
        let users = ["ada", "bob"];
        let mut captured: Vec<MemoryScope> = Vec::new();
        for i in 0..20 {
            let user = users[random.below(2)];
            let place = scope(&mut random, user);
            match probe
                .provider
                .capture(&turn(&place, [captured.len()]), &CancelSignal::never())
                .await
            {
                Ok(()) => captured.push(place),
                Err(error) if unsupported(&error) => {}
                Err(error) => return Err(error.into()),
            }
            if random.one_in(2) {
                continue;
            }
            probe.flush().await?;
            let user = users[random.below(2)];
            let from = scope(&mut random, user);
            for (n, place) in captured.iter().enumerate().filter(|(n, _)| n + 8 > captured.len()) {
                let recalled =
                    match probe.provider.recall(&query(&from, n), &CancelSignal::never()).await {
                        Err(error) if unsupported(&error) => break,
                        recalled => recalled?,
                    };
                let did = format!("step {i} of seed {seed:#x}: asking from {from:?}");
                for memory in &recalled.memories {
                    if let Some(filed) = memory.scope.as_ref().filter(|filed| !from.sees(filed)) {
                        return fail(format!(
                            "{did}: a memory of {filed:?}, which is not visible from there"
                        ));
                    }
                    let foreign = captured.iter().enumerate().find(|(n, place)| {
                        memory.text.contains(&word(*n)) && !visibility.sees(&from, place)
                    });
                    if let Some((_, place)) = foreign {
                        return fail(format!(
                            "{did}: what was said in {place:?}, which is not visible from there"
                        ));
                    }
                }
                let comes = recalled.memories.iter().any(|memory| memory.text.contains(&word(n)));
                let visible = visibility.sees(&from, place);
                same(
                    format!("{did}: whether what was said in {place:?} comes back"),
                    &comes,
                    &visible,
                )?;
            }
        }
    }
    Ok(())
}

/// Checks that a scope that cannot be isolated is refused, instead of answered from a wider one.
async fn scopes_are_kept_apart_or_refused(kit: &Kit<'_>) -> Check {
    let probe = kit.open().await;
    for place in full_scope().visible() {
        if let Err(error) = probe.provider.recall(&query(&place, 0), &CancelSignal::never()).await {
            same(
                format!("the kind of error of a recall from {place:?}"),
                &error.kind(),
                &ErrorKind::Unsupported,
            )?;
        }
    }
    Ok(())
}

async fn bad_scopes_are_refused(kit: &Kit<'_>) -> Check {
    let probe = kit.open().await;
    if kit.claims.captures {
        probe.capture_and_flush(&full_scope(), [0]).await?;
    }
    let long = "x".repeat(10_000);
    for bad in
        [MemoryScope::new(""), MemoryScope::new(long.as_str()), MemoryScope::new("ada").project("")]
    {
        let recalled = probe.provider.recall(&query(&bad, 0), &CancelSignal::never()).await;
        let nothing =
            recalled.is_err() || recalled.is_ok_and(|recalled| recalled.memories.is_empty());
        ensure(nothing, || "a recall from a scope with a bad name gave something".to_owned())?;
    }
    Ok(())
}
