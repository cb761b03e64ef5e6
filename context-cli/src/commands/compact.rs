//! `compact`: cuts the view of a chat that a model gets, so that it fits a window. No message is
//! removed.

use std::sync::Arc;

use clap::value_parser;
use context_runtime::tokens::{Budget, WindowSource};
use context_runtime::{ContextEngine, Diagnostic, PlanReport, compaction::OnDemand};
use schemars::JsonSchema;
use serde::Serialize;

use super::counting::{Limits, overflow};
use super::planning::{line, pipeline};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::{clean, grouped, short_id};

/// Shorten the history that a model is shown.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context compact support-7 --dry-run
  context compact support-7 --model gpt-5 --window 128000
  context compact support-7 --policy truncate-head
  context compact support-7 --undo

The policies run in this order until the conversation fills at most 60 percent of the window. The
result is saved as a boundary on the branch: no message is removed, `context log` shows all of
them, and each --undo takes the newest compaction back. If the chat was written to within the last
hour, a provider may still have it in its cache, and a cut must save more than reading the rest
again costs. Summaries need a model, which this command does not have. If the policies cannot fit
the conversation into the window, nothing is saved and the exit status is 1.")]
pub(crate) struct Args {
    /// The chat
    chat: String,
    /// The branch [default: the active one]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The model [default: that of `context config`, else claude-sonnet-4-5]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The window in tokens, input and output [default: from the table of models]
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    window: Option<u64>,
    /// The tokens reserved for the answer [default: the model's limit, at most a quarter of the
    /// window]
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    reserve: Option<u64>,
    /// The policies, gentlest first [default: all that need no model]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policy: Vec<String>,
    /// Only show the plans
    #[arg(long)]
    dry_run: bool,
    /// Undo the newest compaction
    #[arg(long, conflicts_with_all = ["model", "window", "reserve", "policy"])]
    undo: bool,
}

/// JSON record of `compact`.
#[derive(Serialize, JsonSchema)]
pub(super) struct CompactRecord<'a> {
    v: u32,
    chat: &'a str,
    branch: &'a str,
    /// `compacted`, `would_compact`, `undone`, `would_undo` or `unchanged`.
    status: &'static str,
    /// The boundary that was written or, for an undo, removed.
    boundary: Option<&'a str>,
    /// Tokens of the messages before the compaction. Not set for an undo.
    before: Option<u64>,
    /// Tokens of the messages after the compaction. Not set for an undo.
    after: Option<u64>,
    /// The window, the reserve, and the origin of the window. Not set for an undo.
    #[schemars(with = "Option<serde_json::Value>")]
    budget: Option<Budget>,
    #[schemars(with = "Option<String>")]
    window_source: Option<WindowSource>,
    /// All plans, including those that were not carried out.
    #[schemars(with = "Vec<serde_json::Value>")]
    steps: Vec<PlanReport>,
    /// Diagnostics of reading the chat. Empty for an undo.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let pipeline = pipeline(&args.policy, OnDemand::stage)?;
    let settings = Arc::clone(&app.settings);
    let name = args.model.as_deref().or(settings.model.as_deref()).unwrap_or("claude-sonnet-4-5");
    let model = settings.models.model(name);
    let limits = Limits::new(&model, args.window, args.reserve)?;
    let store = app.store_unless(args.dry_run).await?;
    let mut builder = ContextEngine::builder(store).user(app.user.clone()).chat(args.chat.as_str());
    builder = builder.clock(app.host.clone()).ids(app.host.clone()).existing();
    if let Some(branch) = &args.branch {
        builder = builder.branch(branch.as_str());
    }
    let mut engine = builder.open().await?;
    if args.undo {
        return undo(&args, &mut engine, app).await;
    }
    let turn = engine.resolve().await?;
    let budget = limits.budget();
    let plan = OnDemand::plan(&turn, &pipeline, (&model, budget), app.now());
    if let Some(note) = limits.note(&model) {
        app.out.note(note);
    }
    if let Some(failure) = overflow(&args.chat, plan.left(), budget) {
        return Err(failure);
    }
    let reports = plan.reports();
    let boundary = match plan.planned.rewrite.as_ref().filter(|_| !args.dry_run) {
        Some(rewrite) => engine.compact(&turn, rewrite, &reports).await?,
        None => None,
    };
    if boundary.is_some() {
        app.out.outlive_reader();
        let _saved = engine.save().await?;
    }
    let status = match (&plan.planned.rewrite, args.dry_run) {
        (None, _) => "unchanged",
        (Some(_), true) => "would_compact",
        (Some(_), false) => "compacted",
    };
    if app.out.is_json() {
        app.out.record(&CompactRecord {
            v: 1,
            chat: &args.chat,
            branch: engine.branch().as_str(),
            status,
            boundary: boundary.as_ref().map(|id| id.as_str()),
            before: Some(plan.before),
            after: Some(plan.planned.after),
            budget: Some(budget),
            window_source: Some(limits.source()),
            steps: reports,
            diagnostics: &turn.diagnostics,
        })?;
        return Ok(Outcome::Success);
    }
    app.out.diagnostics(&args.chat, &turn.diagnostics);
    let width = reports.iter().map(|report| report.policy.len()).max().unwrap_or(0);
    for report in &reports {
        app.out.line(format_args!("  {:width$}   {}", report.policy, line(report)))?;
    }
    let chat = clean(&args.chat);
    match (status, boundary) {
        ("unchanged", _) => app.out.line(format_args!(
            "{chat}: nothing to do: {} tokens in a window of {}",
            grouped(plan.total),
            grouped(budget.window)
        ))?,
        (_, boundary) => {
            let (before, after) = (grouped(plan.before), grouped(plan.planned.after));
            let saved =
                boundary.map(|id| format!(", saved as {}", short_id(&id))).unwrap_or_default();
            app.out.line(format_args!("{chat}: {before} → {after} tokens of messages{saved}"))?;
        }
    }
    Ok(Outcome::Success)
}

async fn undo(args: &Args, engine: &mut ContextEngine, app: &mut App) -> Result<Outcome, Failure> {
    let undone = engine.undo_compaction().await?;
    if undone.is_some() && !args.dry_run {
        app.out.outlive_reader();
        let _saved = engine.save().await?;
    }
    let (chat, branch) = (clean(&args.chat), engine.branch().as_str());
    if app.out.is_json() {
        let status = match (&undone, args.dry_run) {
            (None, _) => "unchanged",
            (Some(_), true) => "would_undo",
            (Some(_), false) => "undone",
        };
        let boundary = undone.as_ref().map(|id| id.as_str());
        let (before, after, budget, window_source, steps) = (None, None, None, None, Vec::new());
        app.out.record(&CompactRecord {
            v: 1,
            chat: &args.chat,
            branch,
            status,
            boundary,
            before,
            after,
            budget,
            window_source,
            steps,
            diagnostics: &[],
        })?;
        return Ok(Outcome::Success);
    }
    match undone {
        None => app.out.line(format_args!(
            "{chat}: branch {} has no compaction to take back",
            clean(branch)
        ))?,
        Some(id) => {
            let done = if args.dry_run { "would take back" } else { "took back" };
            app.out.line(format_args!("{chat}: {done} {}", short_id(&id)))?;
        }
    }
    Ok(Outcome::Success)
}
