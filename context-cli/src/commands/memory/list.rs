//! `memory list`: lists memories page by page, newest first.

use context_runtime::{
    memory::MemoryScope,
    store::{Cursor, MemoryList},
};

use super::records_of;
use super::shown::{MemoryLine, Shown};
use crate::app::{App, Done};
use crate::error::Failure;
use crate::text::{clean, parse_limit};

/// List what is remembered, the newest first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory list
  context memory list --kind fact --project travel
  context memory list --here --session support-7   what is filed under just this scope
  context memory list -n 100 --json

What is visible from the scope is listed by when it was learned. What is filed under a project, an
agent or a session is visible only if that is named; `context memory stats` tells which there are.
With --json: one record per memory, then one that says where the next page begins.")]
pub(super) struct Args {
    /// Only this kind, such as episode, fact or block; may be repeated
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
    /// Only what is filed under exactly this scope, not all that is visible from it
    #[arg(long)]
    here: bool,
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", default_value_t = 20, value_parser = parse_limit)]
    limit: usize,
    /// Go on behind the page that ended here
    #[arg(long, value_name = "CURSOR")]
    after: Option<String>,
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Done, Failure> {
    let store = app.store_to_read().await?;
    let records = records_of(&*store)?;
    let scopes = if args.here { vec![scope.clone()] } else { scope.visible() };
    let mut list = MemoryList::new(scopes, args.limit);
    list.kinds = args.kind;
    list.after = args.after.map(Cursor::new);
    let page = records.list_memories(&list).await?;
    page.items.iter().try_for_each(|stored| Shown::from(stored).write(&mut app.out))?;
    let next = page.next.as_ref().map(Cursor::as_str);
    if app.out.is_json() {
        app.out.record(&MemoryLine::Page { v: 1, next })?;
    } else if let Some(next) = next {
        app.out.note(format_args!("there are more; repeat with --after {next}"));
    } else if page.items.is_empty() && list.after.is_some() {
        app.out.note("nothing more is remembered");
    } else if page.items.is_empty() {
        let scope = scope.to_string();
        let how = if args.here { "filed under" } else { "visible from" };
        app.out.note(format_args!(
            "nothing of this is {how} {}; `context memory stats` tells which scopes there are",
            clean(&scope)
        ));
    }
    Ok(Done::Fine)
}
