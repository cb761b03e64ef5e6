//! `render`: renders fragments from JSON as prompt text. Needs no store.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use context_runtime::transcript::FileText;
use context_runtime::{FORMATS, Fragment, RenderOptions, fragments::FRAGMENTS_SCHEMA, renderer};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::output_args::OutputArgs;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::input;

const EXAMPLES: &str = "\
A file holds one fragment or a list of them: {\"name\": \"role\", \"data\": \"You book trips.\"}. Inside
data a fragment is wrapped: {\"$fragment\": {\"name\": …, \"data\": …}}; at the top level the wrapper
may be left out. --schema prints the whole form as a JSON Schema.

Mark content of other authors with \"untrusted\": true: every format shows the mark, and the content
cannot break out of its place in the prompt.

Examples:
  context render fragments.json
  context render fragments.json --format markdown --group
  echo '{\"name\": \"hint\", \"data\": [\"a\", \"b\"]}' | context render --format toon
  context render --schema >fragments.schema.json";

/// Render fragments as prompt text.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file of fragments; `-` is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    file: PathBuf,
    /// The output format
    #[arg(long, default_value = FORMATS[0], value_parser = PossibleValuesParser::new(FORMATS))]
    format: String,
    /// Gather the fragments of a list by name, under the plural
    #[arg(long)]
    group: bool,
    /// Indent text of several lines (XML)
    #[arg(long)]
    indent_text: bool,
    /// Treat all content as untrusted
    #[arg(long)]
    untrusted: bool,
    /// Only print the JSON Schema of fragment files
    #[arg(long)]
    schema: bool,
    #[command(flatten)]
    to: OutputArgs,
}

/// JSON record of `render`: the text.
#[derive(Serialize, JsonSchema)]
pub(super) struct RenderRecord<'a> {
    v: u32,
    format: &'a str,
    text: &'a str,
}

pub(crate) fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    args.to.redirect(&mut app.out)?;
    if args.schema {
        // The schema is JSON already, with or without `--json`.
        app.out.text(FRAGMENTS_SCHEMA)?;
        return Ok(Outcome::Success);
    }
    input::announce(&app.out, &args.file, "fragments");
    let fragments = read(&input::read(&args.file)?)?;
    let options = RenderOptions::new()
        .group(args.group)
        .indent_text(args.indent_text)
        .untrusted(args.untrusted);
    let renderer = renderer(&args.format, options)
        .ok_or_else(|| Failure::Usage(format!("nothing renders {}", args.format)))?;
    let text = renderer.render(&fragments)?;
    if app.out.is_json() {
        app.out.record(&RenderRecord { v: 1, format: renderer.name(), text: &text })?;
    } else if !text.is_empty() {
        app.out.content(&text)?;
    }
    Ok(Outcome::Success)
}

/// Reads a file of fragments.
pub(super) fn read(file: &FileText) -> Result<Vec<Fragment>, Failure> {
    let whole: &RawValue =
        serde_json::from_str(file.text()).map_err(|error| file.syntax_error(file.text(), error))?;
    let items: Vec<&RawValue> = match whole.get().starts_with('[') {
        true => serde_json::from_str(whole.get())
            .map_err(|error| file.syntax_error(whole.get(), error))?,
        false => vec![whole],
    };
    let fragment = |(i, raw): (usize, &&RawValue)| {
        serde_json::from_str(raw.get()).map_err(|source| Failure::Fragment {
            file: file.shown().to_owned(),
            line: file.line_of(raw.get()),
            index: i + 1,
            source,
        })
    };
    items.iter().enumerate().map(fragment).collect()
}
