//! Cancelled, dropped and refused calls.

use context_core::base::CancelSource;
use context_core::memory::{CapturedMessage, MemoryForget, MemoryScope, MemorySource, RecallQuery};
use context_core::{CancelSignal, Message, Role};

use super::memory_cases;
use super::table::{Kit, at, query, turn, turn_of, whole};
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
    let mind = kit.open().await;
    if kit.claims.captures {
        mind.told(&whole(), [0]).await?;
    }
    let early = CancelSource::new();
    early.cancel();
    let _either = mind.provider.recall(&query(&whole(), 0), &early.signal()).await;
    let late = CancelSource::new();
    let (signal, asked) = (late.signal(), mind.clone());
    let recall = tokio::spawn(async move {
        let _either = asked.provider.recall(&query(&whole(), 0), &signal).await;
    });
    tokio::task::yield_now().await;
    late.cancel();
    ensure(recall.await.is_ok(), || "a recall that was cancelled panicked".to_owned())?;
    let _either = mind.provider.flush(&early.signal()).await;
    if kit.claims.captures {
        mind.expect("cancelled recalls", &whole(), [0]).await?;
    }
    Ok(())
}

/// Checks that a cancelled capture is either complete or, with an error, has no effect.
async fn a_cancelled_capture_is_taken_or_not(kit: &Kit<'_>) -> Check {
    let mind = kit.capturing().await?;
    let cancelled = CancelSource::new();
    cancelled.cancel();
    let taken = mind.provider.capture(&turn(&whole(), 0..2), &cancelled.signal()).await;
    let _either = mind.provider.flush(&cancelled.signal()).await;
    mind.flush().await?;
    match taken {
        Ok(()) => mind.expect("a cancelled capture that succeeded", &whole(), 0..2).await?,
        Err(_) => mind.expect_gone("a cancelled capture that failed", &whole(), 0..2).await?,
    }
    mind.told(&whole(), 0..2).await?;
    mind.expect("telling it again", &whole(), 0..2).await
}

async fn a_dropped_recall_harms_nothing(kit: &Kit<'_>) -> Check {
    let mind = kit.capturing().await?;
    mind.told(&whole(), 0..3).await?;
    for polls in 0..MOST_POLLS {
        let (query, never) = (query(&whole(), 1), CancelSignal::never());
        let ended = polled(mind.provider.recall(&query, &never), polls).await;
        mind.expect(&format!("a recall dropped after {polls} polls"), &whole(), 0..3).await?;
        if ended.is_some() {
            break;
        }
    }
    Ok(())
}

async fn a_dropped_capture_is_told_again(kit: &Kit<'_>) -> Check {
    let mind = kit.capturing().await?;
    for polls in 0..MOST_POLLS {
        let (from, never) = (polls * 2, CancelSignal::never());
        let told = turn(&whole(), from..from + 2);
        let ended = polled(mind.provider.capture(&told, &never), polls).await.is_some();
        let flushed = polled(mind.provider.flush(&never), polls).await.is_some();
        mind.capture(&told).await?;
        mind.flush().await?;
        let did = format!("a capture and a flush dropped after {polls} polls");
        mind.expect(&did, &whole(), from..from + 2).await?;
        if ended && flushed {
            break;
        }
    }
    Ok(())
}

async fn a_dropped_forgetting_is_done_again(kit: &Kit<'_>) -> Check {
    let mind = kit.capturing().await?;
    for polls in 0..MOST_POLLS {
        mind.told(&whole(), [polls, polls + 100]).await?;
        let source = MemorySource::message("s1", format!("m{polls}"));
        let forget = MemoryForget::source(MemoryScope::new("ada"), source);
        let ended = polled(mind.provider.forget(&forget), polls).await.is_some();
        let _counted = mind.forget(&forget).await?;
        let did = format!("forgetting dropped after {polls} polls, and done again");
        mind.expect_gone(&did, &whole(), [polls]).await?;
        mind.expect(&did, &whole(), [polls + 100]).await?;
        if ended {
            break;
        }
    }
    Ok(())
}

/// Checks that neither errors nor `Debug` output contain captured content.
async fn nobody_sees_content_by_debugging(kit: &Kit<'_>) -> Check {
    const SECRET: &str = "swordfish77";
    let mind = kit.open().await;
    let says = |id: &str| {
        let text = format!("The password is {SECRET}.");
        CapturedMessage::new(id, Message::text(Role::User, text)).at(at(0))
    };
    let (mut shown, mut texts) = (Vec::new(), Vec::new());
    let cancelled = CancelSource::new();
    cancelled.cancel();
    for signal in [CancelSignal::never(), cancelled.signal()] {
        let long = "x".repeat(100_000);
        for (scope, id) in
            [(whole(), "m"), (whole(), ""), (whole(), &long), (MemoryScope::new(""), "m")]
        {
            if kit.claims.captures {
                let turn = turn_of(&scope, vec![says(id)]);
                shown.extend(mind.provider.capture(&turn, &signal).await.err());
                shown.extend(mind.provider.flush(&signal).await.err());
                texts.push(format!("{:?}", mind.provider));
            }
            let query = RecallQuery::new(scope.clone(), format!("Is it {SECRET}?"));
            shown.extend(mind.provider.recall(&query, &signal).await.err());
            shown.extend(mind.provider.forget(&MemoryForget::Scope(scope)).await.err());
        }
    }
    texts.extend(shown.iter().flat_map(|error| [format!("{error}"), format!("{error:?}")]));
    let leak = texts.iter().find(|text| text.contains(SECRET));
    ensure(leak.is_none(), || "an error or `Debug` shows what was said".to_owned())
}
