//! `render`: fragments as JSON to prompt text. Needs no store.

use std::path::PathBuf;

use clap::ValueEnum;
use context_runtime::{Fragment, Renderer, XmlRenderer};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::app::{App, Done};
use crate::error::Failure;
use crate::input::Input;

const EXAMPLES: &str = "\
A file holds one fragment or a list of them: {\"name\": \"role\", \"data\": \"You book trips.\"}. Inside
data a fragment is wrapped: {\"$fragment\": {\"name\": …, \"data\": …}}; at the top level the wrapper
may be left out.

Examples:
  context render fragments.json
  echo '{\"name\": \"hint\", \"data\": [\"a\", \"b\"]}' | context render --group";

/// Turn fragments into prompt text.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A file of fragments; `-` is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    file: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value_t = Format::Xml)]
    format: Format,
    /// Gather the fragments of a list by name
    #[arg(long)]
    group: bool,
    /// Indent text of several lines
    #[arg(long)]
    indent_text: bool,
}

/// What to write.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Format {
    /// XML
    Xml,
}

/// JSON record of `render`: the text.
#[derive(Serialize)]
struct RenderRecord<'a> {
    v: u32,
    format: &'a str,
    text: &'a str,
}

pub(crate) fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    let input = Input::read(&args.file)?;
    let fragments = read(&input)?;
    let Format::Xml = args.format;
    let renderer = XmlRenderer::new().group(args.group).indent_text(args.indent_text);
    let text = renderer.render(&fragments)?;
    if app.out.is_json() {
        app.out.record(&RenderRecord { v: 1, format: renderer.name(), text: &text })?;
    } else if !text.is_empty() {
        app.out.line(&text)?;
    }
    Ok(Done::Fine)
}

fn read(input: &Input) -> Result<Vec<Fragment>, Failure> {
    let whole: &RawValue =
        serde_json::from_str(&input.text).map_err(|error| input.syntax(&input.text, error))?;
    let items: Vec<&RawValue> = match whole.get().starts_with('[') {
        true => serde_json::from_str(whole.get()).map_err(|error| input.syntax(whole.get(), error))?,
        false => vec![whole],
    };
    let fragment = |(i, raw): (usize, &&RawValue)| {
        serde_json::from_str(raw.get()).map_err(|source| Failure::Fragment {
            file: input.shown.clone(),
            line: input.line_of(raw.get()),
            index: i + 1,
            source,
        })
    };
    items.iter().enumerate().map(fragment).collect()
}
