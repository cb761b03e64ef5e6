//! `prompt`: shows what a model would get: the resolved system prompt and the messages. Writes
//! nothing.

use std::sync::Arc;

use context_runtime::store::{Chain, Node};
use context_runtime::{ContextEngine, Diagnostic, Json, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::{all_readable, body, find_message};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::progress::Progress;
use crate::text::{clean_lines, part, role, short_id};

/// Show what a model would get: system prompt and messages.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context prompt support-7
  context prompt support-7 --branch main-v2 --json
  context prompt support-7 --as-of m4

`--as-of` shows the persisted fragments and the messages as they were at the time of that message.
An id may be shortened at either end.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The branch [default: the active one]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// As it was at the time of this message
    #[arg(long, value_name = "MESSAGE", conflicts_with = "branch")]
    as_of: Option<String>,
}

/// JSON record of `prompt`: the complete result.
#[derive(Serialize, JsonSchema)]
pub(super) struct PromptRecord<'a> {
    v: u32,
    chat: &'a str,
    /// Missing with `--as-of`.
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
    /// The message of `--as-of`.
    #[serde(skip_serializing_if = "Option::is_none")]
    as_of: Option<&'a str>,
    /// The rendered context fragments. Empty without fragments.
    system_prompt: &'a str,
    messages: Vec<PromptMessage<'a>>,
    /// Content that was left out, with reasons.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

/// A message of a [`PromptRecord`].
#[derive(Serialize, JsonSchema)]
pub(super) struct PromptMessage<'a> {
    id: &'a str,
    /// The message: `role`, `parts`, `metadata`.
    #[schemars(with = "Option<serde_json::Value>")]
    message: Option<Json>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    let Some(message) = &args.as_of else {
        print(app, store, &args.chat, args.branch.as_deref()).await?;
        return Ok(Outcome::Success);
    };
    let placed = find_message(store.history(), &app.chat(&args.chat), message).await?;
    let then = engine(app, store, &args.chat, None).await?.as_of(&placed.node.id).await?;
    let record = PromptRecord {
        as_of: Some(then.message.as_str()),
        ..PromptRecord::new(&args.chat, &then.system_prompt, &then.messages, &then.diagnostics)
    };
    write(app, &record, &then.messages)?;
    Ok(Outcome::Success)
}

async fn engine(
    app: &App,
    store: Arc<dyn Store>,
    chat: &str,
    branch: Option<&str>,
) -> Result<ContextEngine, Failure> {
    let mut builder = ContextEngine::builder(store).user(app.user.clone()).chat(chat).existing();
    if let Some(branch) = branch {
        builder = builder.branch(branch);
    }
    Ok(builder.open().await?)
}

/// Returns the system prompt of a chat. Empty without fragments.
pub(super) async fn system_prompt(
    app: &App,
    store: Arc<dyn Store>,
    chat: &str,
    branch: Option<&str>,
) -> Result<String, Failure> {
    let mut engine = engine(app, store, chat, branch).await?;
    Ok(engine.resolve().await?.system_prompt.to_string())
}

/// Prints what a model would get of a chat.
pub(crate) async fn print(
    app: &mut App,
    store: Arc<dyn Store>,
    chat: &str,
    branch: Option<&str>,
) -> Result<(), Failure> {
    let reading = Progress::new(&app.out, format!("reading {chat}"));
    let mut engine = engine(app, store, chat, branch).await?;
    let resolved = engine.resolve().await?;
    drop(reading);
    let (prompt, messages) = (&resolved.system_prompt, &resolved.messages);
    let record = PromptRecord {
        branch: Some(engine.branch().as_str()),
        ..PromptRecord::new(chat, prompt, messages, &resolved.diagnostics)
    };
    write(app, &record, messages)
}

impl<'a> PromptRecord<'a> {
    fn new(
        chat: &'a str,
        system_prompt: &'a str,
        messages: &'a Chain,
        diagnostics: &'a [Diagnostic],
    ) -> Self {
        let message =
            |node: &'a Arc<Node>| PromptMessage { id: node.id.as_str(), message: body(node) };
        let messages = messages.iter().map(message).collect();
        Self { v: 1, chat, branch: None, as_of: None, system_prompt, messages, diagnostics }
    }
}

/// Prints a prompt and its messages.
fn write(app: &mut App, record: &PromptRecord<'_>, messages: &Chain) -> Result<(), Failure> {
    app.out.diagnostics(record.chat, record.diagnostics);
    if app.out.is_json() {
        app.out.record(record)?;
        return all_readable(record.chat, messages.iter().map(|node| &**node));
    }
    if !record.system_prompt.is_empty() {
        app.out.line(clean_lines(record.system_prompt))?;
        app.out.line("")?;
    }
    for node in messages.iter() {
        let Ok(message) = node.message() else { continue };
        let head = format!("{} ({})", role(node), short_id(&node.id));
        let head = app.out.paint(Style::Bold, head).to_string();
        app.out.line(head)?;
        for each in &message.parts {
            app.out.line(clean_lines(&part(each)).trim_end())?;
        }
        app.out.line("")?;
    }
    all_readable(record.chat, messages.iter().map(|node| &**node))
}
