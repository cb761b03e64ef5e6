//! Cancelled, dropped and refused calls.

use context_core::base::CancelSource;
use context_core::memory::{CapturedMessage, MemoryForget, MemoryScope, MemorySource, RecallQuery};
use context_core::{CancelSignal, Message, Role};

use super::memory_cases;
use super::probe::{Kit, at, full_scope, query, turn, turn_of};
use crate::expect::ensure;
use crate::polls::polled;
use crate::verdict::Check;

memory_cases!(
    a_cancelled_recall_ends,
    a_cancelled_capture_is_taken_or_not,
    a_dropped_recall_harms_nothing,
    a_dropped_capture_is_told_again,
    a_dropped_forgetting_is_done_again,
    nobody_sees_content_by_debugging,
);

/// The maximum number of polls after which a call is dropped.
const MOST_POLLS: usize = 40;

async fn a_cancelled_recall_ends(kit: &Kit<'_>) -> Check {
    let probe = kit.open().await;
    if kit.claims.captures {
        probe.capture_and_flush(&full_scope(), [0]).await?;
    }
    let early = CancelSource::new();
    early.cancel();
    let _either = probe.provider.recall(&query(&full_scope(), 0), &early.signal()).await;
    let late = CancelSource::new();
    let (signal, recalling) = (late.signal(), probe.clone());
    let recall = tokio::spawn(async move {
        let _either = recalling.provider.recall(&query(&full_scope(), 0), &signal).await;
    });
    tokio::task::yield_now().await;
    late.cancel();
    ensure(recall.await.is_ok(), || "a recall that was cancelled panicked".to_owned())?;
    let _either = probe.provider.flush(&early.signal()).await;
    if kit.claims.captures {
        probe.expect("cancelled recalls", &full_scope(), [0]).await?;
    }
    Ok(())
}

/// Checks that a cancelled capture is either complete or, with an error, has no effect.
async fn a_cancelled_capture_is_taken_or_not(kit: &Kit<'_>) -> Check {
    let probe = kit.capturing().await?;
    let cancelled = CancelSource::new();
    cancelled.cancel();
    let taken = probe.provider.capture(&turn(&full_scope(), 0..2), &cancelled.signal()).await;
    let _either = probe.provider.flush(&cancelled.signal()).await;
    probe.flush().await?;
    match taken {
        Ok(()) => probe.expect("a cancelled capture that succeeded", &full_scope(), 0..2).await?,
        Err(_) => probe.expect_gone("a cancelled capture that failed", &full_scope(), 0..2).await?,
    }
    probe.capture_and_flush(&full_scope(), 0..2).await?;
    probe.expect("telling it again", &full_scope(), 0..2).await
}

async fn a_dropped_recall_harms_nothing(kit: &Kit<'_>) -> Check {
    let probe = kit.capturing().await?;
    probe.capture_and_flush(&full_scope(), 0..3).await?;
    for polls in 0..MOST_POLLS {
        let (query, never) = (query(&full_scope(), 1), CancelSignal::never());
        let ended = polled(probe.provider.recall(&query, &never), polls).await;
        probe.expect(&format!("a recall dropped after {polls} polls"), &full_scope(), 0..3).await?;
        if ended.is_some() {
            break;
        }
    }
    Ok(())
}

async fn a_dropped_capture_is_told_again(kit: &Kit<'_>) -> Check {
    let probe = kit.capturing().await?;
    for polls in 0..MOST_POLLS {
        let (from, never) = (polls * 2, CancelSignal::never());
        let turn_again = turn(&full_scope(), from..from + 2);
        let ended = polled(probe.provider.capture(&turn_again, &never), polls).await.is_some();
        let flushed = polled(probe.provider.flush(&never), polls).await.is_some();
        probe.capture(&turn_again).await?;
        probe.flush().await?;
        let did = format!("a capture and a flush dropped after {polls} polls");
        probe.expect(&did, &full_scope(), from..from + 2).await?;
        if ended && flushed {
            break;
        }
    }
    Ok(())
}

async fn a_dropped_forgetting_is_done_again(kit: &Kit<'_>) -> Check {
    let probe = kit.capturing().await?;
    for polls in 0..MOST_POLLS {
        probe.capture_and_flush(&full_scope(), [polls, polls + 100]).await?;
        let source = MemorySource::message("s1", format!("m{polls}"));
        let forget = MemoryForget::source(MemoryScope::new("ada"), source);
        let ended = polled(probe.provider.forget(&forget), polls).await.is_some();
        let _counted = probe.forget(&forget).await?;
        let did = format!("forgetting dropped after {polls} polls, and done again");
        probe.expect_gone(&did, &full_scope(), [polls]).await?;
        probe.expect(&did, &full_scope(), [polls + 100]).await?;
        if ended {
            break;
        }
    }
    Ok(())
}

/// Checks that neither errors nor `Debug` output contain captured content.
async fn nobody_sees_content_by_debugging(kit: &Kit<'_>) -> Check {
    const SECRET: &str = "swordfish77";
    let probe = kit.open().await;
    let message_with_text = |id: &str| {
        let text = format!("The password is {SECRET}.");
        CapturedMessage::new(id, Message::text(Role::User, text)).at(at(0))
    };
    let (mut shown, mut texts) = (Vec::new(), Vec::new());
    let cancelled = CancelSource::new();
    cancelled.cancel();
    for signal in [CancelSignal::never(), cancelled.signal()] {
        let long = "x".repeat(100_000);
        for (scope, id) in [
            (full_scope(), "m"),
            (full_scope(), ""),
            (full_scope(), &long),
            (MemoryScope::new(""), "m"),
        ] {
            if kit.claims.captures {
                let turn = turn_of(&scope, vec![message_with_text(id)]);
                shown.extend(probe.provider.capture(&turn, &signal).await.err());
                shown.extend(probe.provider.flush(&signal).await.err());
                texts.push(format!("{:?}", probe.provider));
            }
            let query = RecallQuery::new(scope.clone(), format!("Is it {SECRET}?"));
            shown.extend(probe.provider.recall(&query, &signal).await.err());
            shown.extend(probe.provider.forget(&MemoryForget::Scope(scope)).await.err());
        }
    }
    texts.extend(shown.iter().flat_map(|error| [format!("{error}"), format!("{error:?}")]));
    let leak = texts.iter().find(|text| text.contains(SECRET));
    ensure(leak.is_none(), || "an error or `Debug` shows what was said".to_owned())
}
