//! `memory list`: lists memories page by page, newest first.

use context_runtime::{
    memory::{MEMORY_USE, MemoryScope, QUARANTINE},
    store::{Cursor, MemoryList},
};

use super::memory_view::{MemoryLine, MemoryView};
use super::quarantine::review_of;
use super::{episodic, records_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::{clean, parse_limit};

/// List memories, newest first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory list
  context memory list --kind fact --project travel
  context memory list --here --session support-7   what is filed under just this scope
  context memory list -n 100 --json

Lists the memories that are visible from the scope, by the time at which they were added. Memories of
a project, an agent or a session are visible only if that is named; `context memory stats` lists the
scopes. The class `foreign` and memories in quarantine are marked. With --json: one record per
memory, then one with the cursor of the next page.")]
pub(super) struct Args {
    /// Only this kind, such as episode, fact or block; may be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only memories of exactly this scope, not all that are visible from it
    #[arg(long)]
    here: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = parse_limit)]
    limit: usize,
    /// Continue after the page with this cursor
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

/// Quarantines and uses are kept beside the memories, and have lists of their own.
fn is_memory(kind: &str) -> bool {
    kind != QUARANTINE && kind != MEMORY_USE
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let records = records_of(&*store)?;
    let scopes = if args.here { vec![scope.clone()] } else { scope.visible() };
    let mut list = MemoryList::new(scopes, args.limit);
    list.kinds = args.kind;
    list.after = args.after.map(Cursor::new);
    let page = records.list_memories(&list).await?;
    let memory = episodic(&store, &scope)?;
    let quarantines = review_of(&memory)?.quarantined(&scope).await?;
    for stored in page.items.iter().filter(|stored| is_memory(&stored.record.kind)) {
        let quarantine = quarantines.iter().find(|known| known.takes(&stored.record));
        let reason = quarantine.map(|known| known.reason.as_str());
        MemoryView::from(stored).quarantine(reason).write(&mut app.out)?;
    }
    let next = page.next.as_ref().map(Cursor::as_str);
    if app.out.is_json() {
        app.out.record(&MemoryLine::Page { v: 1, next })?;
    } else if let Some(next) = next {
        app.out.end_note(format_args!("there are more; repeat with --after {next}"))?;
    } else if page.items.is_empty() && list.after.is_some() {
        app.out.note("no more memories");
    } else if page.items.is_empty() {
        let scope = scope.to_string();
        let how = if args.here { "filed under" } else { "visible from" };
        app.out.note(format_args!(
            "no memory is {how} {}; `context memory stats` lists the scopes",
            clean(&scope)
        ));
    }
    Ok(Outcome::Success)
}
