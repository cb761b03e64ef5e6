//! `export --to md`: writes chats as Markdown documents.

use std::sync::Arc;

use context_runtime::Store;
use context_runtime::store::Window;
use context_runtime::transcript::MarkdownDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::{all_readable, branch_end, existing_chat, prompt};
use crate::app::{App, Outcome};
use crate::error::Failure;

/// JSON record of `export --to md`: one chat.
#[derive(Serialize, JsonSchema)]
pub(super) struct DocumentRecord<'a> {
    v: u32,
    chat: &'a str,
    /// Always `md`.
    to: &'static str,
    /// The document.
    document: String,
}

/// Writes one document after the other.
pub(super) async fn run(
    app: &mut App,
    store: Arc<dyn Store>,
    chats: &[String],
    branch: Option<&str>,
    in_full: bool,
) -> Result<Outcome, Failure> {
    for (number, id) in chats.iter().enumerate() {
        let history = store.history();
        let chat = existing_chat(history, &app.chat(id)).await?;
        let end = branch_end(history, &chat.chat, branch).await?;
        let chain = history.chain(&chat.chat, &end, &Window::Whole).await?;
        all_readable(id, chain.iter().map(|node| &**node))?;
        let prompt = prompt::system_prompt(app, Arc::clone(&store), id, branch).await?;
        let mut document = MarkdownDocument::new(id, &chain)
            .title(chat.title.as_deref())
            .branch(branch.unwrap_or(chat.active.as_str()))
            .system_prompt(&prompt);
        if in_full {
            document = document.in_full();
        }
        if app.out.is_json() {
            let document = document.to_string();
            app.out.record(&DocumentRecord { v: 1, chat: id, to: "md", document })?;
            continue;
        }
        if number > 0 {
            app.out.content("")?;
        }
        app.out.content(document.to_string().trim_end_matches('\n'))?;
    }
    Ok(Outcome::Success)
}
