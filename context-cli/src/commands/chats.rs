//! `chats`: lists the chats of the user, most recent activity first.

use context_runtime::limits;
use context_runtime::store::{ChatQuery, ChatSummary, PageWalk};
use schemars::JsonSchema;
use serde::Serialize;

use super::source_of;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::table::{Column, Table};
use crate::text::{grouped, parse_limit, time};

/// The number of chats that a person is shown without asking for more.
const SHOWN: usize = 50;

/// List the chats.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context chats                              those written to last, at most 50
  context chats --all
  context chats -n 5 --json
  context chats --json=chat,title            only these fields")]
pub(crate) struct Args {
    /// At most this many [default: 50, all with --json]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_limit)]
    limit: Option<usize>,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// JSON record of `chats`: one chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct ChatRecord<'a> {
    v: u32,
    chat: &'a str,
    title: Option<&'a str>,
    /// The active branch.
    active: &'a str,
    messages: u64,
    branches: u64,
    created_at: String,
    updated_at: String,
    /// The file from which the chat was imported.
    file: Option<String>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let is_all = args.all || app.out.is_json();
    let mut left = args.limit.unwrap_or(if is_all { usize::MAX } else { SHOWN });
    let mut query = ChatQuery::new(app.user.clone());
    let mut walk = PageWalk::new("list_chats", "chat");
    let (mut shown, mut table) = (0, Table::new(COLUMNS));
    let has_more = loop {
        query.limit = left.min(limits::MAX_PAGE);
        let page = store.history().list_chats(&query).await?;
        let next = walk.next(&page)?;
        shown += page.items.len();
        left = left.saturating_sub(page.items.len());
        for summary in &page.items {
            match app.out.is_json() {
                true => record(summary, app)?,
                false => row(summary, &mut table, app),
            }
        }
        query.after = next;
        if query.after.is_none() || left == 0 {
            break query.after.is_some();
        }
    };
    table.write(&mut app.out)?;
    if shown == 0 {
        app.out.note(format_args!("user {} has no chats here; --user names another", app.user));
    } else if has_more && args.limit.is_none() {
        app.out.end_note(format_args!("the newest {shown}; --all lists the others too"))?;
    }
    Ok(Outcome::Success)
}

const COLUMNS: [Column; 5] = [
    Column::id("CHAT"),
    Column::text("TITLE"),
    Column::number("MESSAGES"),
    Column::number("BRANCHES"),
    Column::time("UPDATED"),
];

fn row(summary: &ChatSummary, table: &mut Table<5>, app: &App) {
    let chat = &summary.chat;
    table.row([
        chat.chat.chat.as_str().into(),
        chat.title.as_deref().unwrap_or_default().into(),
        grouped(summary.messages).into(),
        grouped(summary.branches).into(),
        app.out.when(chat.updated_at).into(),
    ]);
}

fn record(summary: &ChatSummary, app: &mut App) -> Result<(), Failure> {
    let chat = &summary.chat;
    let id = chat.chat.chat.as_str();
    // A source written by a newer version does not keep the chat from being listed.
    let file = source_of(id, &chat.metadata).ok().flatten().map(|source| source.file);
    app.out.record(&ChatRecord {
        v: 1,
        chat: id,
        title: chat.title.as_deref(),
        active: chat.active.as_str(),
        messages: summary.messages,
        branches: summary.branches,
        created_at: time(chat.created_at),
        updated_at: time(chat.updated_at),
        file,
    })
}
