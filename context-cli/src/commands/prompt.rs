//! `prompt`: shows what a model would get: the resolved system prompt and the messages. Writes
//! nothing.

use std::sync::Arc;

use context_runtime::{ContextEngine, Diagnostic, Json, Store};
use serde::Serialize;

use super::{all_readable, body};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Style;
use crate::text::{clean_lines, part, role, short_id};

/// Show what a model would get: system prompt and messages.
#[derive(clap::Args, Debug)]
#[command(
    after_help = "Examples:\n  context prompt support-7\n  context prompt support-7 --branch main-v2 --json"
)]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The branch [default: the active one]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
}

/// JSON record of `prompt`: the complete result.
#[derive(Serialize)]
struct PromptRecord<'a> {
    v: u32,
    chat: &'a str,
    branch: &'a str,
    /// The rendered context fragments. Empty without fragments.
    system_prompt: &'a str,
    messages: Vec<PromptMessage<'a>>,
    /// Content that was left out, with reasons.
    diagnostics: &'a [Diagnostic],
}

/// A message of a [`PromptRecord`].
#[derive(Serialize)]
struct PromptMessage<'a> {
    id: &'a str,
    /// The message: `role`, `parts`, `metadata`.
    message: Option<Json>,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    print(app, store, &args.chat, args.branch.as_deref()).await?;
    Ok(Outcome::Success)
}

/// Prints what a model would get of a chat.
pub(crate) async fn print(
    app: &mut App,
    store: Arc<dyn Store>,
    chat: &str,
    branch: Option<&str>,
) -> Result<(), Failure> {
    let mut builder = ContextEngine::builder(store).user(app.user.clone()).chat(chat).existing();
    if let Some(branch) = branch {
        builder = builder.branch(branch);
    }
    let mut engine = builder.open().await?;
    let resolved = engine.resolve().await?;
    app.out.diagnostics(chat, &resolved.diagnostics);
    if app.out.is_json() {
        let messages = resolved.messages.iter();
        app.out.record(&PromptRecord {
            v: 1,
            chat,
            branch: engine.branch().as_str(),
            system_prompt: &resolved.system_prompt,
            messages: messages
                .map(|node| PromptMessage { id: node.id.as_str(), message: body(node) })
                .collect(),
            diagnostics: &resolved.diagnostics,
        })?;
        return all_readable(chat, resolved.messages.iter().map(|node| &**node));
    }
    if !resolved.system_prompt.is_empty() {
        app.out.line(clean_lines(&resolved.system_prompt))?;
        app.out.line("")?;
    }
    for node in resolved.messages.iter() {
        let Ok(message) = node.message() else { continue };
        let head = format!("{} ({})", role(node), short_id(&node.id));
        let head = app.out.paint(Style::Bold, head).to_string();
        app.out.line(head)?;
        for each in &message.parts {
            app.out.line(clean_lines(&part(each)).trim_end())?;
        }
        app.out.line("")?;
    }
    all_readable(chat, resolved.messages.iter().map(|node| &**node))
}
