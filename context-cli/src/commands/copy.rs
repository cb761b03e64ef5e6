//! `copy`: a chat with its whole graph, under another name or in another store.

use std::sync::Arc;

use context_runtime::{Diagnostic, transfer};
use serde::Serialize;

use crate::app::{App, Done};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean, count};

/// Copy a chat with all its branches.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context copy support-7 support-7-before
  context copy support-7 support-7 --to sqlite:archive.db

Everything goes along: branches, checkpoints, fragments, revisions, ids and times. The new chat must
not exist. A copy that is interrupted is not there.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// What the copy is called
    new: String,
    /// The store that gets it [default: the same]
    #[arg(long, value_name = "URL")]
    to: Option<String>,
}

/// JSON record of `copy`: the new chat.
#[derive(Serialize)]
struct CopyRecord<'a> {
    v: u32,
    /// What was copied.
    from: &'a str,
    /// The new chat.
    chat: &'a str,
    messages: u64,
    branches: u64,
    /// What did not fit together and what was made of it.
    diagnostics: &'a [Diagnostic],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let store = app.store().await?;
    let other = match &args.to {
        None => Arc::clone(&store),
        Some(url) => context_runtime::open(url).await?,
    };
    let (from, to) = (app.chat(&args.chat), app.chat(&args.new));
    let working = Progress::spinner(&app.out, "copying");
    let copied = transfer::copy_chat(&*store, &from, &*other, &to, &app.interrupt()).await?;
    working.done();
    if app.out.is_json() {
        app.out.record(&CopyRecord {
            v: 1,
            from: &args.chat,
            chat: &args.new,
            messages: copied.messages,
            branches: copied.branches,
            diagnostics: &copied.diagnostics,
        })?;
        return Ok(Done::Fine);
    }
    app.out.diagnostics(&args.chat, &copied.diagnostics);
    let done = app.out.paint(Style::Green, "copied").to_string();
    let size = [(copied.messages, "message"), (copied.branches, "branch")];
    let [messages, branches] = size.map(|(n, what)| count(n as usize, what));
    app.out
        .line(format_args!("{done} {} to {}: {messages}, {branches}", clean(&args.chat), clean(&args.new)))
        .map(|()| Done::Fine)
}
