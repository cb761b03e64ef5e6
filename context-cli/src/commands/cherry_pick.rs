//! `cherry-pick`: copies messages to the end of another branch.

use context_runtime::{BranchName, Diagnostic};
use schemars::JsonSchema;
use serde::Serialize;

use super::{engine, find_message};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean, count, short_id};

/// Copy messages to the end of another branch.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context cherry-pick support-7 m4 --onto main-v2
  context cherry-pick support-7 m4 m5 --onto main-v2    a call and its result, in this order

The copies get new ids; the original messages stay where they are. A call without its result, or a
result without its call, is copied too and reported.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The messages, in the order of the copies
    #[arg(required = true, value_name = "MESSAGE")]
    messages: Vec<String>,
    /// The target branch
    #[arg(long, value_name = "BRANCH")]
    onto: String,
}

/// JSON record of `cherry-pick`: the complete result.
#[derive(Serialize, JsonSchema)]
pub(super) struct CherryPickRecord<'a> {
    v: u32,
    chat: &'a str,
    /// The target branch.
    branch: &'a str,
    /// The newest message of the branch.
    head: Option<&'a str>,
    copies: Vec<CopyRecord<'a>>,
    /// Calls without results, and results without calls.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

/// A message of a [`CherryPickRecord`].
#[derive(Serialize, JsonSchema)]
pub(super) struct CopyRecord<'a> {
    message: &'a str,
    copy: &'a str,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_write().await?;
    let mut messages = Vec::with_capacity(args.messages.len());
    for text in &args.messages {
        messages.push(
            find_message(store.history(), &app.chat(&args.chat), text).await?.node.id.clone(),
        );
    }
    let mut engine = engine(app, store, &args.chat).await?;
    let picked = engine.cherry_pick(&messages, BranchName::from(args.onto)).await?;
    if app.out.is_json() {
        let copies = picked.copies.iter();
        app.out.record(&CherryPickRecord {
            v: 1,
            chat: &args.chat,
            branch: picked.branch.as_str(),
            head: picked.head.as_ref().map(AsRef::as_ref),
            copies: copies
                .map(|(message, copy)| CopyRecord {
                    message: message.as_str(),
                    copy: copy.as_str(),
                })
                .collect(),
            diagnostics: &picked.diagnostics,
        })?;
        return Ok(Outcome::Success);
    }
    app.out.diagnostics(&args.chat, &picked.diagnostics);
    let branch = app.out.paint(Style::Bold, clean(picked.branch.as_str())).to_string();
    let copied = count(picked.copies.len(), "message");
    app.out.line(format_args!("{}: copied {copied} onto {branch}", clean(&args.chat)))?;
    for (message, copy) in &picked.copies {
        app.out.line(format_args!("  {} is {} there", short_id(message), short_id(copy)))?;
    }
    Ok(Outcome::Success)
}
