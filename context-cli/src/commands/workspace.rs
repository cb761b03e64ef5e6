//! The workspace of a command: the folder whose files go back together with the conversation.

use std::path::PathBuf;
use std::sync::Arc;

use context_runtime::store::Chat;
use context_runtime::workspace::{GitSnapshots, Restored, Snapshot, Workspace};
use context_runtime::{ContextEngine, Diagnostic, Store};
use schemars::JsonSchema;
use serde::Serialize;

use super::engine;
use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::output::Output;
use crate::text::clean;

/// The arguments that name a workspace.
#[derive(clap::Args, Debug)]
pub(super) struct WorkspaceArgs {
    /// The folder of the files: snapshots are taken and restored with git
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// Keep the snapshots in this folder instead of the repository of the workspace
    #[arg(long, value_name = "DIR", requires = "workspace")]
    snapshots: Option<PathBuf>,
    /// First give up an earlier move of files and conversation that was interrupted
    #[arg(long, requires = "workspace")]
    abandon_move: bool,
}

impl WorkspaceArgs {
    /// Whether a workspace is named.
    pub(super) fn is_named(&self) -> bool {
        self.workspace.is_some()
    }

    /// Opens an engine on an existing chat, with the workspace if one is named.
    pub(super) async fn engine(
        &self,
        app: &App,
        store: Arc<dyn Store>,
        chat: &str,
    ) -> Result<ContextEngine, Failure> {
        let workspace = self.open().await?;
        let mut engine = engine(app, store, chat).await?;
        engine.set_workspace(workspace);
        if self.abandon_move {
            engine.abandon_move().await?;
        }
        Ok(engine)
    }

    /// Removes all snapshots of a chat. Returns how many there were.
    pub(super) async fn discard(&self, chat: &Chat) -> Result<u64, Failure> {
        match self.open().await? {
            Some(workspace) => Ok(workspace.discard(chat).await?),
            None => Ok(0),
        }
    }

    async fn open(&self) -> Result<Option<Workspace>, Failure> {
        let Some(folder) = &self.workspace else { return Ok(None) };
        let git = match &self.snapshots {
            Some(snapshots) => GitSnapshots::open_apart(folder, snapshots).await?,
            None => GitSnapshots::open(folder).await?,
        };
        Ok(Some(Workspace::new(git)))
    }
}

/// The files in a JSON record of a move.
#[derive(Serialize, JsonSchema)]
pub(super) struct RestoredRecord<'a> {
    /// The id of the snapshot that was taken just before.
    before: &'a str,
    /// Number of files that were written.
    written: u64,
    /// Number of files that were removed.
    removed: u64,
}

impl<'a> From<&'a Restored> for RestoredRecord<'a> {
    fn from(restored: &'a Restored) -> Self {
        let Restored { before, written, removed, .. } = restored;
        Self { before: before.id.as_str(), written: *written, removed: *removed }
    }
}

/// Reports the files of a move, for people.
pub(super) fn report_files(
    args: &WorkspaceArgs,
    restored: Option<&Restored>,
    out: &mut Output,
) -> Result<Outcome, Failure> {
    match restored {
        _ if !args.is_named() || out.is_json() => {}
        None => out.note("there is no snapshot of the files for this place; they stay as they are"),
        Some(restored) => {
            let Restored { before, written, removed, .. } = restored;
            let before = short(before);
            out.line(format_args!(
                "files: {written} written, {removed} removed; as they were before: {before}"
            ))?;
        }
    }
    if let Some(restored) = restored {
        left_out(&restored.before.diagnostics, out);
    }
    Ok(Outcome::Success)
}

/// Reports what a snapshot leaves out.
pub(super) fn left_out(diagnostics: &[Diagnostic], out: &Output) {
    for diagnostic in diagnostics {
        let (path, text) = (clean(&diagnostic.path), clean(&diagnostic.message));
        out.note(format_args!("not in the snapshot: {path}: {text}"));
    }
}

/// Returns the first digits of a snapshot's id, as git shows them.
pub(super) fn short(snapshot: &Snapshot) -> String {
    clean(snapshot.id.as_str()).chars().take(12).collect()
}
