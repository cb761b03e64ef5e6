//! `tokens`: counts the tokens of a chat, a file or a text, and the cost of sending it.

use std::collections::BTreeSet;
use std::sync::Arc;

use clap::value_parser;
use context_runtime::Diagnostic;
use context_runtime::tokens::{AS_OF, Estimate, Modality, TokenCount, TokenCounter, WindowSource};
use schemars::JsonSchema;
use serde::Serialize;

use super::conversation::ConversationArgs;
use super::counting::{Limits, breakdown, table, unlisted};
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::input;
use crate::table::{Column, Table};
use crate::text::{clean, grouped};

const EXAMPLES: &str = "\
Counts are exact for models whose vocabulary is published, and an interval for the others. The conversation
is counted as it is stored, without the repairs for a provider. Windows and prices come from a dated table,
which `--models` prints. At most a quarter of the window is reserved for the answer.

Examples:
  context tokens support-7
  context tokens session.jsonl --model claude-sonnet-4-5
  echo 'hello world' | context tokens - --text
  context tokens --models --json";

/// Count tokens and their cost.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    which: ConversationArgs,
    /// The model [default: that of `context config`, else gpt-5]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// The window in tokens, input and output [default: from the table of models]
    #[arg(long, value_name = "TOKENS", value_parser = value_parser!(u64).range(2..))]
    window: Option<u64>,
    /// Read the file as a text, not as a conversation
    #[arg(long)]
    text: bool,
    /// Only print the table of models
    #[arg(long)]
    models: bool,
}

/// JSON record of `tokens`: one conversation.
#[derive(Serialize, JsonSchema)]
pub(super) struct TokensRecord<'a> {
    v: u32,
    name: &'a str,
    messages: usize,
    #[serde(flatten)]
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    estimate: &'a Estimate,
    /// Content that was left out or changed.
    #[schemars(with = "Vec<serde_json::Value>")]
    diagnostics: &'a [Diagnostic],
}

/// JSON record of `tokens --text`.
#[derive(Serialize, JsonSchema)]
pub(super) struct TextRecord<'a> {
    v: u32,
    model: &'a str,
    #[schemars(with = "serde_json::Value")]
    tokens: TokenCount,
}

/// JSON record of `tokens --models`: one model.
#[derive(Serialize, JsonSchema)]
pub(super) struct ModelRecord<'a> {
    v: u32,
    as_of: &'a str,
    name: &'a str,
    window: Option<u64>,
    #[schemars(with = "Option<String>")]
    window_source: Option<WindowSource>,
    max_output: Option<u64>,
    /// The modalities that the model reads.
    #[schemars(with = "Option<Vec<String>>")]
    modalities: Option<BTreeSet<Modality>>,
    input: Option<f64>,
    output: Option<f64>,
    currency: &'a str,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    if args.models {
        return models(app);
    }
    let settings = Arc::clone(&app.settings);
    let name = args.model.as_deref().or(settings.model.as_deref()).unwrap_or("gpt-5");
    let model = settings.models.model(name);
    if let Some(note) = unlisted(&model, args.window) {
        app.out.note(note);
    }
    if args.text {
        input::announce(&app.out, args.which.path(), "text");
        let input = input::read(args.which.path())?;
        let tokens = model.counter().count(input.text());
        return match app.out.is_json() {
            true => app.out.record(&TextRecord { v: 1, model: name, tokens }),
            false => app.out.line(tokens),
        }
        .map(|()| Outcome::Success);
    }
    // Tokens can be counted without a known window.
    let limits = Limits::new(&model, args.window, None).ok();
    if let Some(note) = limits.and_then(|limits| limits.note(&model)) {
        app.out.note(note);
    }
    for mut conversation in args.which.read(app).await? {
        app.out.diagnostics(&conversation.name, &conversation.diagnostics);
        let messages = conversation.request.messages.len();
        let request = &mut conversation.request;
        let estimate = match limits.map(|limits| (limits, limits.apply(request))) {
            Some((limits, (budget, _))) => limits.estimate(request, budget, &model),
            None => Estimate::new(request, &model.counter(), &model),
        };
        if app.out.is_json() {
            app.out.record(&TokensRecord {
                v: 1,
                name: &conversation.name,
                messages,
                estimate: &estimate,
                diagnostics: &conversation.diagnostics,
            })?;
        } else {
            app.out.line(format_args!(
                "{} for {}\n{}",
                clean(&conversation.name),
                clean(name),
                table(&estimate, &breakdown(&conversation.request, &estimate, &model), messages)
            ))?;
        }
    }
    Ok(Outcome::Success)
}

fn models(app: &mut App) -> Result<Outcome, Failure> {
    let settings = Arc::clone(&app.settings);
    let table = &settings.models;
    let mut shown = Table::new([
        Column::id("MODEL"),
        Column::number("WINDOW"),
        Column::number("OUTPUT"),
        Column::number("IN"),
        Column::number("OUT"),
    ]);
    for model in table.models() {
        let prices = model.prices();
        let (input, output) =
            (prices.map(|prices| prices.input), prices.map(|prices| prices.output));
        if app.out.is_json() {
            app.out.record(&ModelRecord {
                v: 1,
                as_of: model.as_of(),
                name: model.name(),
                window: model.window(),
                window_source: model.window_source(),
                max_output: model.max_output(),
                modalities: model.modalities().map(|modalities| modalities.input),
                input,
                output,
                currency: table.currency(),
            })?;
            continue;
        }
        let number = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), grouped);
        let price = |price: Option<f64>| {
            price.map_or_else(|| "?".to_owned(), |price| format!("{price:.2}"))
        };
        let (window, most) = (number(model.window()), number(model.max_output()));
        shown.row([
            model.name().into(),
            window.into(),
            most.into(),
            price(input).into(),
            price(output).into(),
        ]);
    }
    shown.write(&mut app.out)?;
    app.out.end_note(format_args!(
        "prices in {} for a million tokens, as of {AS_OF}",
        table.currency()
    ))?;
    Ok(Outcome::Success)
}
