//! `ui`: the inspector in a browser.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::Store;
use context_runtime::store::OpenMode;
use context_server::{Operations, Server, chat_path};
use schemars::JsonSchema;
use serde::Serialize;

use super::existing_chat;
use super::import::into_memory;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::file_format::FileFormat;
use crate::missing;

const EXAMPLES: &str = "\
Examples:
  context ui                                 the chats of the store
  context ui support-7                       one chat
  context ui conversation.json               a file, without a store
  context ui ~/.claude/projects              the sessions of a coding agent
  context ui --read-only --no-open --port 8080

Opens a page on this machine with the messages, branches and runs of each chat, with what was
sent for each answer, what was cut from it and why, and what it cost. A chat that grows is
followed. Only this machine can open the page, and only with the address that is printed: it
holds a token. Nothing is loaded from elsewhere.

Files and folders of any form that `context import` reads are read into memory: they are not
changed, and changes that are made on the page are gone when the command ends. Ctrl-C ends it.";

/// Look at chats in a browser.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A chat of the store, or files and folders to read into memory [default: all chats]
    #[arg(value_name = "CHAT|FILE")]
    what: Vec<PathBuf>,
    /// The format of the files
    #[arg(long, value_enum, default_value_t = FileFormat::Auto)]
    from: FileFormat,
    /// Refuse all changes
    #[arg(long)]
    read_only: bool,
    /// Print the address and open no browser
    #[arg(long)]
    no_open: bool,
    /// The port [default: a free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,
}

/// JSON record of `ui`.
#[derive(Serialize, JsonSchema)]
pub(super) struct UiRecord<'a> {
    v: u32,
    /// The address to open, with its token.
    url: &'a str,
    port: u16,
}

pub(crate) async fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let (store, path) = source(&args, app).await?;
    let token = random_token()?;
    let server = Server::bind(args.port, token).await.map_err(|source| match args.port {
        Some(port) => Failure::Port { port, source },
        None => Failure::Runtime(source),
    })?;
    let url = server.url(&path);
    if app.out.is_json() {
        app.out.record(&UiRecord { v: 1, url: &url, port: server.port() })?;
    } else {
        app.out.line(&url)?;
        app.out.note("Ctrl-C ends it");
    }
    app.out.flush()?;
    if !args.no_open && !app.out.is_json() && open::that_detached(&url).is_err() {
        app.out.note("no browser could be started: open the address above");
    }
    let operations = Operations::new(store)
        .user(app.user.clone())
        .read_only(args.read_only)
        .environment(Arc::new(app.host.clone()), Arc::new(app.host.clone()));
    let interrupt = app.quiet_interrupt();
    server
        .serve(operations, async move { interrupt.cancelled().await })
        .await
        .map_err(Failure::Runtime)?;
    Ok(Outcome::Success)
}

/// Returns the store to look at, and the page to open first.
async fn source(args: &Args, app: &mut App) -> Result<(Arc<dyn Store>, String), Failure> {
    let chat = match args.what.as_slice() {
        [] => None,
        [one] if !one.exists() => Some(one.to_string_lossy().into_owned()),
        files => {
            let (store, chats) = into_memory(files, args.from, app).await?;
            let page = match chats.as_slice() {
                [only] => chat_path(only),
                _ => "/".to_owned(),
            };
            return Ok((store, page));
        }
    };
    let mode = if args.read_only { OpenMode::Read } else { OpenMode::Write };
    let Some(chat) = chat else { return Ok((app.store_in(mode).await?, "/".to_owned())) };
    let path = Path::new(&chat);
    let missing = || missing::unreadable(path, std::io::ErrorKind::NotFound.into());
    let looks_like_a_file = path.extension().is_some() || path.components().count() > 1;
    let store = match app.store_in(mode).await {
        Err(Failure::NoStore { .. }) if looks_like_a_file => return Err(missing()),
        store => store?,
    };
    match existing_chat(store.history(), &app.chat(&chat)).await {
        Err(Failure::Store(error)) if error.is_not_found() && looks_like_a_file => Err(missing()),
        found => {
            found?;
            Ok((store, chat_path(&chat)))
        }
    }
}

/// Returns a token that cannot be guessed.
pub(super) fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; 24];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Runtime(std::io::Error::other(error.to_string())))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
