//! `import`: reads transcripts into chats. A file is read as a whole before anything of it is written; with
//! `--strict` all files are.

mod jsonl;
mod report;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::transfer::{TreePlan, TreeWritten};
use context_runtime::{
    CancelSignal, Diagnostic, Metadata, Store,
    store::{HistoryStore, NewChat},
};

use self::report::{Report, Told};
use super::{prompt, trajectory};
use crate::app::{App, Done};
use crate::error::Failure;
use crate::input::Input;
use crate::progress::Progress;
use crate::text::clean;
use crate::transcript::{self, Broken, Draft, Source, Wire};

const EXAMPLES: &str = "\
A file is a list of messages, an object with `messages`, `history`, `traj`, `contents` or
`input`, a list of such objects, or JSON Lines of either; a session of Claude Code, the
Codex CLI or the Gemini CLI; an answer tree of ToolBench; or what `context export --to
jsonl` has written. Whose messages they are is found out by what only one form has; name
it with --from if they could be of several. Branches stay branches. Everything else in it
is kept, so that `context export --to source` gives it back.

Examples:
  context import support.json                one chat `support`, or `support-0001` and so on
  context import ~/.claude/projects/*/*.jsonl
  context import ~/.codex/sessions/*/*/*/*.jsonl
  curl -s URL | context import - --chat day  from standard input
  context import support.json --prompt       and show what a model would get
  context import support.json --trajectory   and record its rounds: `context trajectory list`

A line of JSON Lines that cannot be read is left out and counted; --strict refuses it.
Reading the same file again changes nothing and says so. Messages without an id of
their own are named m1, m2, …";

/// Read transcripts into chats.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Files to read; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Name of the chat, or the beginning of the names [default: the file's name]
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// How the files are written
    #[arg(long, value_enum, default_value_t = Wire::Auto)]
    from: Wire,
    /// Import nothing at all if a line cannot be read
    #[arg(long)]
    strict: bool,
    /// List the lines that cannot be read
    #[arg(long)]
    broken: bool,
    /// Then show what a model would get of each chat
    #[arg(long)]
    prompt: bool,
    /// Then record what happened in each chat, as rounds of a session of its name
    #[arg(long)]
    trajectory: bool,
}

/// A file, ready to be written.
enum Prepared {
    /// In the library's own form, still to be read.
    Own(PathBuf),
    /// In another one, read.
    Read { input: FileName, chats: Vec<Planned>, broken: Vec<Broken> },
}

/// What a file is called.
struct FileName {
    /// As it was named, for people.
    shown: String,
    /// Without its folders.
    name: String,
}

impl FileName {
    fn of(path: &Path) -> Self {
        let shown =
            if path.as_os_str() == "-" { "standard input".to_owned() } else { path.display().to_string() };
        let name = path.file_name().map_or_else(|| shown.clone(), |name| name.to_string_lossy().into_owned());
        Self { shown, name }
    }
}

/// A conversation, ready to be written.
struct Planned {
    chat: String,
    messages: usize,
    branches: usize,
    plan: TreePlan,
    diagnostics: Vec<Diagnostic>,
}

/// Where chats are written to, and whether to stop.
type Opened = (Arc<dyn Store>, CancelSignal);

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Done, Failure> {
    if args.chat.is_some() && args.files.len() > 1 {
        return Err(Failure::Usage("--chat names the chats of one file; import the files one by one".into()));
    }
    let (mut opened, mut report) = (None, Report::new(args.broken));
    let done = files(&args, app, &mut opened, &mut report).await;
    // What was written before something failed is true.
    report.print(app)?;
    done?;
    let Some((store, interrupt)) = opened.filter(|_| args.prompt || args.trajectory) else {
        return Ok(Done::Fine);
    };
    for chat in report.chats() {
        interrupt.check("import")?;
        if args.trajectory {
            trajectory::record::record(app, &store, chat).await?;
        }
        if args.prompt {
            prompt::print(app, Arc::clone(&store), chat, None).await?;
        }
    }
    Ok(Done::Fine)
}

async fn files(
    args: &Args,
    app: &mut App,
    opened: &mut Option<Opened>,
    report: &mut Report,
) -> Result<(), Failure> {
    let mut prepared = Vec::new();
    if args.strict {
        for path in &args.files {
            prepared.push(prepare(app, args, path)?);
        }
    }
    let (mut prepared, mut taken) = (prepared.into_iter(), None);
    for path in &args.files {
        let prepared = match prepared.next() {
            Some(prepared) => prepared,
            None => prepare(app, args, path)?,
        };
        match write(args, app, opened, prepared, report).await {
            // The other files have nothing to do with it.
            Err(failure @ Failure::Taken { .. }) if args.files.len() > 1 => {
                if taken.is_some() {
                    app.out.note(clean(&failure.to_string()));
                }
                taken.get_or_insert(failure);
            }
            done => done?,
        }
    }
    taken.map_or(Ok(()), Err)
}

/// Reads a whole file, and refuses it as a whole. One in the library's own form may be longer than memory: it is
/// only looked through, if anything broken in it is to be refused.
fn prepare(app: &App, args: &Args, path: &Path) -> Result<Prepared, Failure> {
    if jsonl::is_own(args, path)? {
        if args.strict {
            jsonl::check(path, &CancelSignal::default())?;
        }
        return Ok(Prepared::Own(path.to_owned()));
    }
    let (input, at) = (Input::read_what_can_be(path)?, app.now());
    let reading = transcript::read(&input, args.from, at)?;
    let mut broken = reading.broken;
    if args.strict && !broken.is_empty() {
        return Err(broken.swap_remove(0).failure);
    }
    let name = args.chat.clone().unwrap_or_else(|| input.stem());
    let several = reading.drafts.len() > 1;
    let number = |index: usize| if several { format!("{name}-{:04}", index + 1) } else { name.clone() };
    let planned = |draft: Draft| {
        let Draft { source, title, tree, diagnostics } = draft;
        let chat = number(source.index);
        let mut new = NewChat::new(app.chat(&chat), at);
        new.title = title;
        new.metadata = Metadata::default().with(Source::KEY, source.to_json());
        let (messages, branches) = (tree.nodes().len(), tree.branches().len().max(1));
        Ok(Planned { chat, messages, branches, plan: TreePlan::new(new, &tree)?, diagnostics })
    };
    let chats = reading.drafts.into_iter().map(planned).collect::<Result<_, Failure>>()?;
    Ok(Prepared::Read { input: FileName { shown: input.shown, name: input.name }, chats, broken })
}

/// Writes the chats of a file. Only a file that can be imported makes a store; until then Ctrl-C just ends the
/// process.
async fn write(
    args: &Args,
    app: &mut App,
    opened: &mut Option<Opened>,
    prepared: Prepared,
    report: &mut Report,
) -> Result<(), Failure> {
    let (store, interrupt) = match opened {
        Some(opened) => opened,
        None => opened.insert((app.store_or_new().await?, app.interrupt())),
    };
    app.out.outlive_reader();
    let (input, chats, broken) = match prepared {
        Prepared::Own(path) => return jsonl::write(app, &**store, args, &path, interrupt, report).await,
        Prepared::Read { input, chats, broken } => (input, chats, broken),
    };
    let messages = chats.iter().map(|planned| planned.messages).sum();
    let bar = Progress::bar(&app.out, messages, clean(&input.shown).into_owned());
    let mut lines = broken.len();
    report.file(app, &input, broken)?;
    for planned in &chats {
        let is_new = chat(store.history(), &input, planned, interrupt, &bar).await?;
        let Planned { chat, messages, branches, diagnostics, .. } = planned;
        let told = Told { chat, messages: *messages, branches: *branches, diagnostics };
        bar.pausing(|| report.chat(app, &input, &told, is_new, std::mem::take(&mut lines)))?;
    }
    bar.done();
    Ok(())
}

/// Writes a chat and says whether it, or a part of it, was new.
async fn chat(
    history: &dyn HistoryStore,
    input: &FileName,
    planned: &Planned,
    interrupt: &CancelSignal,
    bar: &Progress,
) -> Result<bool, Failure> {
    match planned.plan.write(history, interrupt, |messages| bar.advance(messages)).await? {
        TreeWritten::New => Ok(true),
        TreeWritten::Unchanged => Ok(false),
        TreeWritten::Taken => Err(Failure::Taken { chat: planned.chat.clone(), file: input.shown.clone() }),
    }
}
