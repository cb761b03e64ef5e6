//! `export --to html`: writes a chat as one page, with the views of the inspector.

use std::io;
use std::sync::Arc;

use context_runtime::Store;
use context_server::{
    FirstView, HtmlExportError, HtmlExported, OperationError, Operations, write_html,
};

use crate::app::{App, Outcome};
use crate::error::Failure;

/// Writes the page of a chat.
pub(super) async fn run(
    app: &mut App,
    store: Arc<dyn Store>,
    chats: &[&str],
    branch: Option<&str>,
) -> Result<Outcome, Failure> {
    let [chat] = chats else {
        return Err(Failure::Usage("a page is of one chat: name one".into()));
    };
    if app.out.is_json() {
        return Err(Failure::Usage("a page is no JSON: --to jsonl has all of a chat".into()));
    }
    page(app, store, (chat, branch), FirstView::Chat).await
}

/// Writes the page of a chat or a session that opens with a view.
pub(super) async fn page(
    app: &mut App,
    store: Arc<dyn Store>,
    (name, branch): (&str, Option<&str>),
    first: FirstView,
) -> Result<Outcome, Failure> {
    let operations = Operations::new(store)
        .user(app.user.clone())
        .environment(Arc::new(app.host.clone()), Arc::new(app.host.clone()));
    let mut out = app.out.writer();
    let written = write_html(&operations, name, branch, first, &mut out).await.map_err(failure)?;
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
