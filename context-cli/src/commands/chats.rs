//! `chats`: lists the chats of the user, most recent activity first.

use serde::Serialize;

use super::{all_chats, source_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count, parse_limit, preview, short_time, time};

/// List the chats.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:\n  context chats\n  context chats -n 5 --json")]
pub(crate) struct Args {
    /// At most this many
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_limit)]
    limit: Option<usize>,
}

/// JSON record of `chats`: one chat.
#[derive(Serialize)]
struct ChatRecord<'a> {
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
    let mut chats = all_chats(app, store.history()).await?;
    chats.truncate(args.limit.unwrap_or(usize::MAX));
    let width = chats
        .iter()
        .map(|chat| clean(chat.chat.chat.chat.as_str()).chars().count())
        .max()
        .unwrap_or(0);
    for summary in &chats {
        let chat = &summary.chat;
        let id = chat.chat.chat.as_str();
        if app.out.is_json() {
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
            })?;
            continue;
        }
        let branches = match summary.branches {
            1 => String::new(),
            n => format!(", {}", count(n as usize, "branch")),
        };
        let id = app.out.paint(Style::Bold, format!("{:width$}", clean(id))).to_string();
        let when = app.out.paint(Style::Dim, short_time(chat.updated_at)).to_string();
        let title = preview(chat.title.as_deref().unwrap_or_default(), 60);
        let size = format!("{}{branches}", count(summary.messages as usize, "message"));
        app.out.line(format!("{id}  {when}  {size:24}  {title}").trim_end())?;
    }
    if chats.is_empty() {
        app.out.note(format_args!("user {} has no chats here; --user names another", app.user));
    }
    Ok(Outcome::Success)
}
