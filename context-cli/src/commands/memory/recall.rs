//! `memory recall`: recalls memories as a model would get them.

use std::sync::Arc;

use context_runtime::memory::{Blocks, Facts, ProviderChain, recalled_memories};
use context_runtime::{
    Clock, Diagnostic, DiagnosticCode, Error, ErrorKind, RenderOptions, Retry, Timestamp,
    memory::{MemoryProvider, MemoryScope, RecallQuery},
    renderer,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::memory_view::MemoryView;
use super::{episodic, records_of};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::{parse_limit, parse_time};

/// Search memories, best match first.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context memory recall 'where does Ada work?'
  context memory recall tickets --project travel -n 3
  context memory recall 'where did Ada work?' --at 2025-06-01
  context memory recall tickets --prompt --max-tokens 2000

Notes come first, then the facts that hold at the time, then episodes; each with its kind, time,
source, speaker, id, and its scope if that names more than the user. Only memories that are visible
from the scope are searched. No model is called: memories are found by words, names and times. With
--json: one record per memory, with its score. If one kind cannot be read, the others are shown
and the exit status is 1.")]
pub(super) struct Args {
    /// The topic or question
    #[arg(required = true, value_name = "TEXT")]
    text: Vec<String>,
    /// At most this many [default: all notes, the facts that fit, 8 episodes]
    #[arg(short = 'n', long, value_name = "N", value_parser = parse_limit)]
    limit: Option<usize>,
    /// At most about this many tokens; the default of a turn is 2000
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// The time of the question, for words such as `yesterday` and for facts [default: now]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    at: Option<Timestamp>,
    /// Show exactly the text that a model would be shown
    #[arg(long)]
    prompt: bool,
}

/// JSON record of `memory recall --prompt`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct MemoryPromptRecord<'a> {
    v: u32,
    /// The number of memories.
    memories: usize,
    /// The text. Empty without memories.
    text: &'a str,
}

pub(super) async fn run(args: Args, scope: MemoryScope, app: &mut App) -> Result<Outcome, Failure> {
    let store = app.store_to_read().await?;
    records_of(&*store)?;
    let clock: Arc<dyn Clock> = Arc::new(app.host.clone());
    let mut episodes = episodic(&store, &scope)?;
    if let Some(limit) = args.limit {
        episodes = episodes.limit(limit);
    }
    let chain = ProviderChain::new()
        .with("blocks", Blocks::new(Arc::clone(&store), Arc::clone(&clock))?, 1)
        .with("facts", Facts::new(Arc::clone(&store), clock)?, 1)
        .with("episodes", episodes, 2);
    let mut query = RecallQuery::new(scope, args.text.join(" "));
    query.max_tokens = args.max_tokens;
    query.at = Some(args.at.unwrap_or_else(|| app.now()));
    let mut recalled = chain.recall(&query, &app.interrupt()).await?;
    recalled.memories.truncate(args.limit.unwrap_or(usize::MAX));
    // A turn continues without a provider that fails. For this command, its failure is an error.
    let is_failure =
        |diagnostic: &Diagnostic| diagnostic.code == DiagnosticCode::MemoryProviderError;
    let (failed, notes): (Vec<_>, Vec<_>) = recalled.diagnostics.drain(..).partition(is_failure);
    app.out.diagnostics("memory", &notes);
    let memories = &recalled.memories;
    if args.prompt {
        let text = match memories.is_empty() {
            true => String::new(),
            false => prompt(&recalled_memories(memories))?,
        };
        if app.out.is_json() {
            app.out.record(&MemoryPromptRecord { v: 1, memories: memories.len(), text: &text })?;
        } else if !text.is_empty() {
            app.out.line(&text)?;
        }
    } else {
        memories.iter().try_for_each(|memory| MemoryView::from(memory).write(&mut app.out))?;
    }
    if !failed.is_empty() {
        let messages: Vec<_> =
            failed.into_iter().map(|failed| failed.message.to_string()).collect();
        let error = Error::new(ErrorKind::Unavailable, "recall", messages.join("; "));
        return Err(error.with_retry(Retry::Never).into());
    }
    if memories.is_empty() {
        app.out.note("no memory matches");
    }
    Ok(Outcome::Success)
}

/// Renders the fragment as turns do.
fn prompt(fragment: &context_runtime::Fragment) -> Result<String, Failure> {
    let renderer = renderer("xml", RenderOptions::new())
        .ok_or_else(|| Failure::Usage("nothing renders xml".to_owned()))?;
    Ok(renderer.render(std::slice::from_ref(fragment))?)
}
