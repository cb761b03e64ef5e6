//! The report of a removal and of remaining copies, shared by all commands that remove data.

use context_runtime::removal::RemovalReport;

use crate::app::App;
use crate::error::Failure;
use crate::text::{clean, count};

/// Reports what was removed along with the named objects, whose kind is `named`, and what is left.
/// Not for JSON, where records contain the report.
pub(super) fn show(
    app: &mut App,
    chat: &str,
    report: &RemovalReport,
    named: &str,
) -> Result<(), Failure> {
    if app.out.is_json() {
        return Ok(());
    }
    let along: Vec<String> = report
        .removed()
        .filter(|(_, kind)| !["message", named].contains(kind))
        .map(|(n, kind)| count(usize::try_from(n).unwrap_or(usize::MAX), kind))
        .collect();
    let chat = clean(chat);
    if !along.is_empty() {
        app.out.line(format_args!("{chat}: with {}", along.join(", ")))?;
    }
    for remaining in &report.remaining {
        app.out.line(format_args!("{chat}: still there: {}", clean(&remaining.to_string())))?;
    }
    if report.found > 0 {
        app.out.note("another writer changed the store meanwhile; run the command again");
    }
    Ok(())
}
