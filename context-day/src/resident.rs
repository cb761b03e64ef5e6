//! The memory of the process, in long runs.

use crate::failure::{DayFailure, Invariant};

/// The steps between two measurements.
const EVERY: u64 = 5_000;
/// The steps after which a process has met everything that it keeps.
const WARM: u64 = 50_000;
/// The growth that is allowed beside a doubling.
const SLACK: u64 = 64 << 20;

/// Watches the resident memory of this process, where the system tells it.
#[derive(Debug, Default)]
pub(crate) struct ResidentMemory {
    warm: u64,
    pub(crate) most: u64,
}

impl ResidentMemory {
    /// Measures, after some of the steps.
    pub(crate) fn watch(&mut self, step: u64) -> Result<(), DayFailure> {
        if !step.is_multiple_of(EVERY) {
            return Ok(());
        }
        self.take(step, resident().unwrap_or_default())
    }

    fn take(&mut self, step: u64, now: u64) -> Result<(), DayFailure> {
        self.most = self.most.max(now);
        if step <= WARM {
            self.warm = self.warm.max(now);
            return Ok(());
        }
        match now > self.warm.saturating_mul(2).saturating_add(SLACK) {
            true => {
                let text = format!("{now} bytes after {step} steps, {} at first", self.warm);
                Err(DayFailure::new(Invariant::Bounded, text))
            }
            false => Ok(()),
        }
    }
}

/// Returns the resident bytes of this process. `None` on a system that does not tell them.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_without_end_is_noticed() {
        let mut memory = ResidentMemory::default();
        assert!(memory.take(50_000, 100 << 20).is_ok());
        assert!(memory.take(500_000, 260 << 20).is_ok());
        let failure = memory.take(505_000, 300 << 20).unwrap_err();
        assert_eq!(failure.invariant, Invariant::Bounded);
        assert_eq!(memory.most, 300 << 20);
    }
}
