//! Counting lost and duplicated writes.

use crate::plan::Plan;
use crate::table::Row;
use crate::writer::{ChatContent, Count};

/// The number of acknowledged writes, and of further ones that may have taken effect.
pub(crate) struct AcknowledgedWrites {
    pub(crate) least: usize,
    pub(crate) more: usize,
    pub(crate) repeated: u64,
}

/// Counts lost and duplicated writes.
pub(crate) fn judge(
    row: &mut Row,
    plan: &Plan,
    acknowledged: &AcknowledgedWrites,
    content: ChatContent,
) {
    row.runs += 1;
    row.acknowledged += acknowledged.least as u64;
    row.repeated += acknowledged.repeated;
    let (least, most) =
        (Count::after(acknowledged.least), Count::after(acknowledged.least + acknowledged.more));
    let lost = least.messages.saturating_sub(content.count.messages)
        + least.counted.saturating_sub(content.count.counted);
    let duplicated = content.count.messages.saturating_sub(most.messages)
        + content.count.counted.saturating_sub(most.counted)
        + content.wrong;
    if lost + duplicated > 0 {
        row.stories.push(format!(
            "plan {plan}: {} writes were acknowledged, so {least:?} to {most:?}; found {content:?}",
            acknowledged.least
        ));
    }
    row.lost += lost;
    row.duplicated += duplicated;
}
