//! `export --to html`: writes a chat as one page, with the views of the inspector.

use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use context_runtime::Store;
use context_server::{
    FirstView, HtmlExportError, HtmlExported, OperationError, Operations, write_html,
};

use crate::app::{App, Outcome};
use crate::error::Failure;

/// Writes the page of a chat to standard output or to a new file.
pub(super) async fn run(
    app: &mut App,
    store: Arc<dyn Store>,
    chats: &[&str],
    branch: Option<&str>,
    output: Option<&Path>,
) -> Result<Outcome, Failure> {
    let [chat] = chats else {
        return Err(Failure::Usage("a page is of one chat: name one".into()));
    };
    if app.out.is_json() {
        return Err(Failure::Usage("a page is no JSON: --to jsonl has all of a chat".into()));
    }
    page(app, store, (chat, branch), FirstView::Chat, output).await
}

/// Writes the page of a chat or a session that opens with a view.
pub(super) async fn page(
    app: &mut App,
    store: Arc<dyn Store>,
    (name, branch): (&str, Option<&str>),
    first: FirstView,
    output: Option<&Path>,
) -> Result<Outcome, Failure> {
    let operations = Operations::new(store)
        .user(app.user.clone())
        .environment(Arc::new(app.host.clone()), Arc::new(app.host.clone()));
    let written = match output {
        None => {
            let mut out = app.out.writer();
            write_html(&operations, name, branch, first, &mut out).await.map_err(failure)?
        }
        Some(path) => {
            let failed = |source| Failure::WriteFile { file: path.display().to_string(), source };
            if path.exists() {
                return Err(Failure::Exists { file: path.display().to_string() });
            }
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            // The name is there when the page is complete, and never over another file.
            let mut new = tempfile::Builder::new();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                // Those of every new file, less the user's mask.
                new.permissions(std::fs::Permissions::from_mode(0o666));
            }
            let new = new.tempfile_in(folder.unwrap_or(Path::new(".")));
            let mut file = BufWriter::new(new.map_err(failed)?);
            let written = write_html(&operations, name, branch, first, &mut file).await;
            let written = written.map_err(failure)?;
            let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
            file.persist_noclobber(path).map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => {
                    Failure::Exists { file: path.display().to_string() }
                }
                _ => failed(error.error),
            })?;
            written
        }
    };
    app.out.flush()?;
    note(app, &written);
    Ok(Outcome::Success)
}

/// Says what a page leaves out.
fn note(app: &App, written: &HtmlExported) {
    if written.all_branches == 0 {
        app.out.note(format_args!("the session has no stored chat: the page has its run alone"));
    }
    if written.requests < written.all_requests {
        app.out.note(format_args!(
            "the page has the newest {} of {} requests; `context ui` has all",
            written.requests, written.all_requests
        ));
    }
    if written.steps < written.all_steps {
        app.out.note(format_args!(
            "the page has {} of {} steps in full; `context ui` has all",
            written.steps, written.all_steps
        ));
    }
    if written.branches < written.all_branches {
        app.out.note(format_args!(
            "the page has {} of {} branches; --branch names another",
            written.branches, written.all_branches
        ));
    }
}

fn failure(error: HtmlExportError) -> Failure {
    match error {
        HtmlExportError::Operation(OperationError::Store(error)) => Failure::Store(error),
        HtmlExportError::Write(source) => Failure::Write(source),
        error => Failure::Write(io::Error::other(error.to_string())),
    }
}
