//! `prepare`: prints a provider's request body for a chat or a file. Writes nothing to the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{ValueEnum, value_parser};
use context_runtime::tokens::{Estimate, Model};
use context_runtime::{
    Breakdown, Diagnostic, PROVIDERS, PlanReport, RenderOptions,
    compaction::{Pipeline, Stage},
    model::{ModelCodec, Unanswered},
    provider, renderer,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::conversation::{Conversation, ConversationArgs, each};
use super::counting::{Limits, breakdown, by_id, overflow, table, unlisted};
use super::output_args::OutputArgs;
use super::planning::{Cut, pipeline};
use super::render;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::input;
use crate::text::clean;

const EXAMPLES: &str = "\
The history is repaired first, always in the same way: each call is followed by its result, no message is
blank, and roles are in the order that the provider requires. The repairs, the content that the provider's
form cannot represent, and the tokens are reported on standard error; with --json as one record.

A conversation that does not fit the window is cut, gently first: old tool results are shortened, media are
removed, turns in the middle are left out, and finally only the newest part is kept. The first and the newest
request always stay. The store is not changed: `context compact` does that. --policy none cuts nothing. A
request that still does not fit is not printed: standard error says by how many tokens, and the exit status
is 1.

A file may hold several conversations: each becomes a body on its own line. A conversation that cannot be
sent is reported and left out, and the exit status is 1. A file that is a request body keeps its system
prompt and tools, and asks for no more answer tokens than the reserve.

Examples:
  context prepare support-7 --provider anthropic >request.json
  context prepare support-7 --provider openai --window 32000 --explain >request.json
  context prepare session.jsonl --provider gemini --conversation 2
  context prepare chat.json --provider openai --fragments prompt.json --model gpt-5
  context prepare <(zcat chat.json.gz) --provider openai
  cat chat.json | context prepare - --provider openai-responses --json";

/// Print the body of a request to a provider.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ConversationArgs,
    /// The provider
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(PROVIDERS))]
    provider: String,
    /// The model [default: one of the provider's current ones]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The window in tokens, input and output [default: from the table of models]
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    window: Option<u64>,
    /// The tokens reserved for the answer, and the answer limit of the body [default: the model's
    /// limit, at most a quarter of the window]
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(1..))]
    reserve: Option<u64>,
    /// The compaction policies, gentlest first, or `none` [default: all that need no model]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    policy: Vec<String>,
    /// Report the outcome for every message, on standard error
    #[arg(long)]
    explain: bool,
    /// Fragments for the front of the system prompt, as `render` reads them
    #[arg(long, value_name = "FILE")]
    fragments: Option<PathBuf>,
    /// The treatment of calls without results
    #[arg(long, value_enum, default_value_t = UnansweredCalls::Answer)]
    unanswered: UnansweredCalls,
    #[command(flatten)]
    to: OutputArgs,
}

/// The treatment of calls without results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum UnansweredCalls {
    /// A placeholder answers them
    Answer,
    /// They are removed
    Remove,
}

/// JSON record that `prepare --json` writes to standard error, one per body.
#[derive(Serialize, JsonSchema)]
pub(super) struct PrepareRecord<'a> {
    v: u32,
    name: &'a str,
    provider: &'a str,
    messages: usize,
    /// Tokens of the whole request before compaction.
    before: u64,
    /// All plans, including those that were not carried out.
    #[schemars(with = "Vec<serde_json::Value>")]
    plans: &'a [PlanReport],
    /// The tokens of the request's parts, in order.
    #[schemars(with = "serde_json::Value")]
    breakdown: &'a Breakdown,
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    estimate: &'a Estimate,
    /// Headers that the body needs besides those of every request, as pairs of name and value.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    headers: &'a [(&'static str, &'static str)],
    /// Repairs, and content that the form cannot represent.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let codec = provider(&args.provider)
        .map_err(|_| Failure::Usage(format!("there is no provider {}", args.provider)))?;
    if let Some(file) = &args.fragments {
        input::announce(&app.out, file, "fragments");
    }
    let front = args.fragments.as_deref().map(rendered).transpose()?;
    let pipeline = pipeline(&args.policy, Stage::shared)?;
    let settings = Arc::clone(&app.settings);
    let configured = settings.model.as_deref().filter(|model| is_of(model, &args.provider));
    let name = args.model.as_deref().or(configured).unwrap_or(default_model(&args.provider));
    let model = settings.models.model(name);
    let limits = Limits::new(&model, args.window, args.reserve)?;
    let conversations = args.which.read(app).await?;
    args.to.redirect(&mut app.out)?;
    if let Some(note) = unlisted(&model, args.window) {
        app.out.note(note);
    }
    if let Some(note) = limits.note(&model) {
        app.out.note(note);
    }
    let many = conversations.len() > 1;
    let preparation = Preparation { args: &args, codec, front, pipeline, model, limits, many };
    each(conversations, app, |conversation, app| preparation.prepare(conversation, app))
}

/// The settings for all conversations of a command.
struct Preparation<'a> {
    args: &'a Args,
    codec: Arc<dyn ModelCodec>,
    /// The text in front of the system prompt.
    front: Option<String>,
    pipeline: Pipeline,
    model: Model<'a>,
    limits: Limits,
    /// Whether there are several conversations.
    many: bool,
}

impl Preparation<'_> {
    /// Writes the body of a request. A request that does not fit is explained but not written.
    fn prepare(&self, conversation: Conversation, app: &mut App) -> Result<(), Failure> {
        let (args, model) = (self.args, &self.model);
        let mut request = conversation.request;
        if let Some(front) = self.front.as_deref().filter(|front| !front.is_empty()) {
            let back = std::mem::take(&mut request.system);
            request = request.system(front);
            request.system.extend(back);
        }
        let (budget, lowered) = self.limits.apply(&mut request);
        request.model = Some(model.name().to_owned());
        request.unanswered = match args.unanswered {
            UnansweredCalls::Answer => Unanswered::Answer,
            UnansweredCalls::Remove => Unanswered::Remove,
        };
        let whole = self.limits.estimate(&request, budget, model);
        let cut = Cut::make(&mut request, &self.pipeline, &whole, model);
        let body = self.codec.lower(&request).map_err(|source| Failure::Request {
            subject: conversation.name.clone(),
            provider: args.provider.clone(),
            source,
        })?;
        // The count covers what was sent, as far as the canonical form represents it.
        let estimate = self.limits.estimate(&request, budget, model);
        let overflow = overflow(&conversation.name, estimate.total.tokens(), budget);
        if overflow.is_none() {
            app.out.content(body.body.compact())?;
            for (name, value) in &body.headers {
                app.out.note(format!("the body has to be sent with the header {name}: {value}"));
            }
        }
        let mut diagnostics = conversation.diagnostics;
        diagnostics.extend(lowered);
        let plans = cut.reports();
        let explained = args.explain.then(|| cut.explained(&conversation.ids, &model.counter()));
        diagnostics.extend(by_id(body.diagnostics, &cut.ids(conversation.ids)));
        let breakdown = breakdown(&request, &estimate, model);
        if !app.out.is_json() {
            app.out.diagnostics(&conversation.name, &diagnostics);
            if self.many {
                app.out.to_stderr(clean(&conversation.name));
            }
            for text in [cut.lines(), explained.unwrap_or_default()] {
                if !text.is_empty() {
                    app.out.to_stderr(text.trim_end());
                }
            }
            app.out.to_stderr(table(&estimate, &breakdown, request.messages.len()));
        }
        if let Some(failure) = overflow {
            return Err(failure);
        }
        if app.out.is_json() {
            let messages = request.messages.len();
            app.out.record_to_stderr(&PrepareRecord {
                v: 1,
                name: &conversation.name,
                provider: &args.provider,
                messages,
                before: whole.total.tokens(),
                plans: &plans,
                breakdown: &breakdown,
                estimate: &estimate,
                headers: &body.headers,
                diagnostics: &diagnostics,
            })?;
        }
        Ok(())
    }
}

/// Returns whether a model may be one of a provider: it is not named as the models of another are.
fn is_of(model: &str, provider: &str) -> bool {
    let maker = |name: &str| name.split('-').next().unwrap_or_default().to_owned();
    let ours = maker(default_model(provider));
    let mut others = PROVIDERS.iter().map(|other| maker(default_model(other)));
    maker(model) == ours || others.all(|other| other != maker(model))
}

/// Returns the default model of a provider.
fn default_model(provider: &str) -> &'static str {
    match provider {
        "anthropic" => "claude-sonnet-4-5",
        "gemini" => "gemini-2.5-pro",
        _ => "gpt-5",
    }
}

fn rendered(file: &Path) -> Result<String, Failure> {
    let fragments = render::read(&input::read(file)?)?;
    let xml = renderer("xml", RenderOptions::new())
        .ok_or_else(|| Failure::Usage("nothing renders xml".to_owned()))?;
    Ok(xml.render(&fragments)?)
}
