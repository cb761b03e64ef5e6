//! `prepare`: the body of a request to a provider, out of a chat or a file. Writes nothing to the store.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use context_runtime::tokens::Estimate;
use context_runtime::{
    Breakdown, Diagnostic, PROVIDERS, PlanReport, RenderOptions, compaction::Stage, model::Unanswered,
    provider, renderer,
};
use serde::Serialize;

use super::conversation::Which;
use super::counting::{breakdown, by_id, estimate, model, table};
use super::planning::{Cut, pipeline};
use super::render;
use crate::app::{App, Done};
use crate::error::Failure;
use crate::input::Input;

const EXAMPLES: &str = "\
The history is repaired first, always in the same way: every call has its result right behind it, nothing
is blank, roles are in the order the provider wants. What was done and what the provider's form cannot hold
is told on standard error, with the tokens; with --json that is one record.

What does not fit the window is cut, gently first: old results of tools are shortened, media taken out, turns
in the middle left out, and at last the newest part alone is kept; the first and the newest request always
stay. The store is not changed: `context compact` does that. --policy none sends everything.

A file may hold several conversations: each becomes a body on a line of its own. A file that is a request
body keeps its system prompt and tools.

Examples:
  context prepare support-7 --provider anthropic >request.json
  context prepare support-7 --provider openai --window 32000 --reserve 4000 --explain >request.json
  context prepare session.jsonl --provider gemini --conversation 2
  context prepare chat.json --provider openai --fragments prompt.json --model gpt-5
  cat chat.json | context prepare - --provider openai-responses --json";

/// Print the body of a request to a provider.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: Which,
    /// For whom
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(PROVIDERS))]
    provider: String,
    /// The model [default: one of the provider's current ones]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// How many tokens the model takes, input and output [default: from the table of models]
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// How many of them are kept for the answer; the body asks for as many
    #[arg(long, value_name = "TOKENS")]
    reserve: Option<u64>,
    /// Which compaction policies, gentle to harsh, or `none` [default: all that need no model]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policy: Vec<String>,
    /// Say of every message what became of it, on standard error
    #[arg(long)]
    explain: bool,
    /// Fragments for the front of the system prompt, as `render` reads them
    #[arg(long, value_name = "FILE")]
    fragments: Option<PathBuf>,
    /// What becomes of calls without results
    #[arg(long, value_enum, default_value_t = Missing::Answer)]
    unanswered: Missing,
}

/// What becomes of calls without results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Missing {
    /// A placeholder answers them
    Answer,
    /// They are removed
    Remove,
}

/// JSON record that `prepare --json` writes to standard error: one for each body.
#[derive(Serialize)]
struct PrepareRecord<'a> {
    v: u32,
    name: &'a str,
    provider: &'a str,
    messages: usize,
    /// Tokens of the whole request before anything was cut.
    before: u64,
    /// The plans that were made, those that were not carried out included.
    plans: &'a [PlanReport],
    /// What the request consists of now, in the order in which it stands there.
    breakdown: &'a Breakdown,
    #[serde(flatten)]
    estimate: &'a Estimate,
    /// What was repaired, and what the form cannot hold.
    diagnostics: &'a [Diagnostic],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let codec = provider(&args.provider)
        .map_err(|_| Failure::Usage(format!("there is no provider {}", args.provider)))?;
    let front = args.fragments.as_deref().map(rendered).transpose()?;
    let pipeline = pipeline(&args.policy, Stage::shared)?;
    let conversations = args.which.read(app).await?;
    let many = conversations.len() > 1;
    for conversation in conversations {
        let mut request = conversation.request;
        if let Some(front) = front.as_deref().filter(|front| !front.is_empty()) {
            let back = std::mem::take(&mut request.system);
            request = request.system(front);
            request.system.extend(back);
        }
        let name = args.model.clone().unwrap_or_else(|| default_model(&args.provider).to_owned());
        let model = model(&name);
        // What is kept for the answer and what the body asks for are the same number.
        request.max_output_tokens = args.reserve.or(request.max_output_tokens).or(model.max_output());
        request.model = Some(name.clone());
        request.unanswered = match args.unanswered {
            Missing::Answer => Unanswered::Answer,
            Missing::Remove => Unanswered::Remove,
        };
        let whole = estimate(&request, &model, args.window);
        let cut = Cut::make(&mut request, &pipeline, &whole, &model);
        let lowered = codec.lower(&request).map_err(|source| Failure::Request {
            what: conversation.name.clone(),
            provider: args.provider.clone(),
            source,
        })?;
        app.out.line(lowered.body.compact())?;
        let mut diagnostics = conversation.diagnostics;
        let plans = cut.reports();
        let explained = args.explain.then(|| cut.explained(&conversation.ids, &model.counter()));
        diagnostics.extend(by_id(lowered.diagnostics, &cut.ids(conversation.ids)));
        // Counted is what was sent, as far as it is the same in canonical form.
        let estimate = estimate(&request, &model, args.window);
        let breakdown = breakdown(&request, &estimate, &model);
        if app.out.is_json() {
            let messages = request.messages.len();
            app.out.record_beside(&PrepareRecord {
                v: 1,
                name: &conversation.name,
                provider: &args.provider,
                messages,
                before: whole.total.tokens(),
                plans: &plans,
                breakdown: &breakdown,
                estimate: &estimate,
                diagnostics: &diagnostics,
            })?;
        } else {
            app.out.diagnostics(&conversation.name, &diagnostics);
            if many {
                app.out.beside(&conversation.name);
            }
            for text in [cut.lines(), explained.unwrap_or_default()] {
                if !text.is_empty() {
                    app.out.beside(text.trim_end());
                }
            }
            app.out.beside(table(&estimate, &breakdown, request.messages.len()));
        }
    }
    Ok(Done::Fine)
}

/// The model that is named when none is asked for.
fn default_model(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "claude-sonnet-4-5",
        "gemini" => "gemini-2.5-pro",
        _ => "gpt-5",
    }
}

fn rendered(file: &Path) -> Result<String, Failure> {
    let fragments = render::read(&Input::read(file)?)?;
    let xml = renderer("xml", RenderOptions::new())
        .ok_or_else(|| Failure::Usage("nothing renders xml".to_owned()))?;
    Ok(xml.render(&fragments)?)
}
