//! The default clock and the default id generator.

use std::time::{SystemTime, UNIX_EPOCH};

use context_core::{Clock, IdGenerator, Timestamp};

#[derive(Debug)]
pub(crate) struct HostClock;

impl Clock for HostClock {
    fn now(&self) -> Timestamp {
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()).unwrap_or(i64::MAX),
            Err(before) => {
                i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
            }
        };
        Timestamp::from_micros(micros)
    }
}

#[derive(Debug)]
pub(crate) struct UuidKeys;

impl IdGenerator for UuidKeys {
    fn next_id(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
