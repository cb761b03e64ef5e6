//! The options and the words of all commands that remove data.
//!
//! A dry run says `would go`, a removal `removed`. Both say what goes along (`with`), what holds
//! the same words (`still there`), what no removal here reaches (`not reached`), and end with a
//! line of totals.

use bytesize::ByteSize;
use context_runtime::Store;
use context_runtime::removal::{RemovalOptions, RemovalReport};

use super::all_chats;
use crate::app::App;
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count, filled};

/// The options of a removal.
#[derive(clap::Args, Debug)]
pub(super) struct RemovalArgs {
    /// Only show what would be removed, and what stays
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(super) yes: bool,
}

impl RemovalArgs {
    /// Whether the removal needs a question.
    pub(super) fn asks(&self) -> bool {
        !self.yes && !self.dry_run
    }

    /// The status of an item in records and lines.
    pub(super) fn status(&self) -> &'static str {
        if self.dry_run { "would_go" } else { "removed" }
    }
}

/// Starts the progress of a removal or a plan, and returns it with the options that report to it.
pub(super) fn shown(
    app: &App,
    phase: &str,
    options: &RemovalOptions,
) -> (Progress, RemovalOptions) {
    let progress = Progress::new(&app.out, phase);
    let options = options.clone().cancel(progress.signal(app.interrupt(), 0));
    (progress, options)
}

/// Like [`shown`], with the number of chats of the user in which copies are searched for.
pub(super) async fn shown_search(
    app: &App,
    store: &dyn Store,
    phase: &str,
    options: &RemovalOptions,
) -> Result<(Progress, RemovalOptions), Failure> {
    let (progress, options) = shown(app, phase, options);
    if progress.is_shown() {
        let chats = all_chats(app, store.history()).await?.len();
        progress.expect(SEARCHED, chats);
    }
    Ok((progress, options))
}

/// The steps of a search for copies.
pub(super) const SEARCHED: &str = "searched chat";

/// Asks before `going`, a text with numbers, is removed. `stays` says what stays, or is empty.
pub(super) fn confirm(app: &App, going: &str, stays: &str) -> Result<(), Failure> {
    app.confirm(&format!("remove {going} for good; not backups, exports and logs{stays}"))
}

/// Describes the number of copies that stay, for a question.
pub(super) fn copies<'a>(reports: impl IntoIterator<Item = &'a RemovalReport>) -> String {
    match reports.into_iter().map(|report| report.remaining.len()).sum() {
        0 => String::new(),
        1 => ", nor 1 copy elsewhere".to_owned(),
        n => format!(", nor {} copies elsewhere", crate::text::grouped(n as u64)),
    }
}

/// The data that a removal does not reach.
pub(super) fn not_reached(store: &dyn Store, others: &[&'static str]) -> Vec<&'static str> {
    let mut all = others.to_vec();
    all.extend(["backups and exports", "logs", "what running programs and model providers keep"]);
    // PostgreSQL and SQLite leave removed rows in place until the space is used again. SQLite
    // overwrites the text of redacted messages and memories, but not the log of its file.
    if matches!(store.info().name, "sqlite" | "postgres") {
        all.push("unused space of the store's files, until `context vacuum`");
    }
    all
}

/// Lists counts by kind, and a size, for example `1 chat, 7 messages, 1.2 KiB`.
pub(super) fn totals<'a>(reports: impl IntoIterator<Item = &'a RemovalReport>) -> String {
    let mut sums = RemovalReport::default().counts();
    let mut bytes = 0;
    for report in reports {
        bytes += report.bytes;
        sums.iter_mut().zip(report.counts()).for_each(|(sum, (n, _))| sum.0 += n);
    }
    let some = sums.into_iter().filter(|(n, _)| *n > 0);
    let mut words: Vec<String> = some.map(|(n, kind)| counted(n, kind)).collect();
    if words.is_empty() {
        return "nothing".to_owned();
    }
    if bytes > 0 {
        words.push(ByteSize(bytes).to_string());
    }
    words.join(", ")
}

/// Returns a number with its noun.
pub(super) fn counted(n: u64, kind: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), kind)
}

/// Writes the line of an item: `would go  chat trip, 18 B`.
pub(super) fn item(
    app: &mut App,
    status: &str,
    name: &str,
    bytes: Option<u64>,
) -> Result<(), Failure> {
    let size = bytes.map(|bytes| format!(", {}", ByteSize(bytes))).unwrap_or_default();
    app.out.line(format_args!("{:9} {}{size}", status.replace('_', " "), clean(name)))
}

/// Writes what goes along with the items of these kinds, and what still holds the same words.
pub(super) fn along(app: &mut App, report: &RemovalReport, named: &[&str]) -> Result<(), Failure> {
    let is_item = |kind: &str| report.items.iter().any(|item| item.kind == kind);
    let along: Vec<String> = report
        .removed()
        .filter(|(_, kind)| !named.contains(kind) && !is_item(kind))
        .map(|(n, kind)| counted(n, kind))
        .collect();
    if !along.is_empty() {
        app.out.line(format_args!("{:9} {}", "with", along.join(", ")))?;
    }
    for going in report.items.iter().filter(|item| !named.contains(&item.kind)) {
        item(app, "would go", &going.to_string(), going.bytes)?;
    }
    still_there(app, report)?;
    if report.found > 0 {
        app.out.note("another writer changed the store meanwhile; run the command again");
    }
    Ok(())
}

/// Writes what still holds the same words.
pub(super) fn still_there(app: &mut App, report: &RemovalReport) -> Result<(), Failure> {
    for remaining in &report.remaining {
        app.out.line(format_args!("still there: {}", clean(&remaining.to_string())))?;
    }
    Ok(())
}

/// Writes what is not reached, and the totals.
pub(super) fn end(
    app: &mut App,
    args: &RemovalArgs,
    totals: &str,
    not_reached: &[&str],
) -> Result<(), Failure> {
    if !not_reached.is_empty() {
        const HEAD: &str = "not reached: ";
        let all = filled(&not_reached.join("; "), HEAD.len(), app.out.columns());
        app.out.line(format_args!("{HEAD}{all}"))?;
    }
    let head = app.out.paint(Style::Bold, args.status().replace('_', " ")).to_string();
    let tail = if args.dry_run { "; nothing was changed" } else { "" };
    app.out.line(format_args!("{head}: {totals}{tail}"))
}
