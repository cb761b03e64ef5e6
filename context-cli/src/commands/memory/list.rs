//! `memory list`: lists memories page by page, newest first.

use context_runtime::{
    memory::MemoryScope,
    store::{Cursor, MemoryList},
};

use super::memory_view::{MemoryLine, MemoryView};
use super::records_of;
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
scopes. With --json: one record per memory, then one with the cursor of the next page.")]
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

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let records = records_of(&*store)?;
    let scopes = if args.here { vec![scope.clone()] } else { scope.visible() };
    let mut list = MemoryList::new(scopes, args.limit);
    list.kinds = args.kind;
    list.after = args.after.map(Cursor::new);
    let page = records.list_memories(&list).await?;
    page.items.iter().try_for_each(|stored| MemoryView::from(stored).write(&mut app.out))?;
    let next = page.next.as_ref().map(Cursor::as_str);
    if app.out.is_json() {
        app.out.record(&MemoryLine::Page { v: 1, next })?;
    } else if let Some(next) = next {
        app.out.note(format_args!("there are more; repeat with --after {next}"));
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
