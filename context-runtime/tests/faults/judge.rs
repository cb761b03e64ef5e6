//! Counting lost and duplicated writes.

use crate::plan::Plan;
use crate::table::Row;
use crate::writer::{Count, Found};

/// The number of acknowledged writes, and of further ones that may have taken effect.
pub(crate) struct Told {
    pub(crate) least: usize,
    pub(crate) more: usize,
    pub(crate) repeated: u64,
}

/// Counts lost and duplicated writes.
pub(crate) fn judge(row: &mut Row, plan: &Plan, told: &Told, found: Found) {
    row.runs += 1;
    row.acknowledged += told.least as u64;
    row.repeated += told.repeated;
    let (least, most) = (Count::after(told.least), Count::after(told.least + told.more));
    let lost = least.messages.saturating_sub(found.count.messages)
        + least.counted.saturating_sub(found.count.counted);
    let duplicated = found.count.messages.saturating_sub(most.messages)
        + found.count.counted.saturating_sub(most.counted)
        + found.wrong;
    if lost + duplicated > 0 {
        row.stories.push(format!(
            "plan {plan}: {} writes were acknowledged, so {least:?} to {most:?}; found {found:?}",
            told.least
        ));
    }
    row.lost += lost;
    row.duplicated += duplicated;
}
