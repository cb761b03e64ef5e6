//! The clock, the ids and the token counts of a simulated day.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use context_runtime::model::{TokenCount, TokenCounter};
use context_runtime::tokens::MediaKind;
use context_runtime::{Clock, IdGenerator, Media, Timestamp};

/// The time at which a day begins.
const MORNING: i64 = 1_780_000_000_000_000;

/// A clock that only the steps move.
#[derive(Clone, Debug)]
pub(crate) struct DayClock(Arc<AtomicI64>);

impl Default for DayClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(MORNING)))
    }
}

impl DayClock {
    pub(crate) fn advance(&self, by: Duration) {
        let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.0.fetch_add(micros, Ordering::Relaxed);
    }
}

impl Clock for DayClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Relaxed))
    }
}

/// Ids that are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct DayIds(Arc<AtomicU64>);

impl IdGenerator for DayIds {
    fn next_id(&self) -> String {
        format!("m{}", self.0.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// A token per four bytes, times a percentage: exact and fast.
#[derive(Debug)]
pub(crate) struct DayCounter {
    pub(crate) percent: u64,
}

impl DayCounter {
    fn scaled(&self, tokens: u64) -> TokenCount {
        TokenCount::exact((tokens * self.percent).div_ceil(100))
    }
}

impl TokenCounter for DayCounter {
    fn name(&self) -> &str {
        "quarters"
    }

    fn count(&self, text: &str) -> TokenCount {
        self.scaled(text.len().div_ceil(4) as u64)
    }

    fn count_media(&self, _kind: MediaKind, _media: &Media) -> TokenCount {
        self.scaled(100)
    }
}
