//! A chat or a session as one file: the pages of the inspector, with their data within it.
//!
//! The exporter asks the router for each page, as a browser would, and packs the answers in chunks.
//! The scripts of the page find them there. So a file has the same views as the server, whatever
//! its size, and a browser unpacks what is in sight.

mod page_file;
mod run;

use std::io::{self, Write};

use self::page_file::PageFile;
use crate::links::{Links, encode};
use crate::operations::{BranchView, SentQuery, StepId};
use crate::{OperationError, Operations, pages, router};

/// The newest requests that a file has.
const REQUESTS: usize = 100;
/// The rows of all branches up to which a file has branches other than the one it shows.
const ROWS_OF_BRANCHES: usize = 30_000;
/// The turns of a page of the outline, as the script asks for them.
const TURNS: usize = 200;

/// The error of an export.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HtmlExportError {
    /// The chat cannot be read.
    #[error(transparent)]
    Operation(#[from] OperationError),
    /// The file cannot be written.
    #[error("the page cannot be written")]
    Write(#[from] io::Error),
    /// A page of the inspector failed.
    #[error("the page {path} cannot be made: {problem}")]
    Page {
        /// The address of the page.
        path: String,
        /// The answer.
        problem: String,
    },
}

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HtmlExported {
    /// The rows of the branch. 0 if the session has no chat.
    pub rows: usize,
    /// The past requests that can be looked at, the newest of the branch.
    pub requests: usize,
    /// The requests of the branch.
    pub all_requests: usize,
    /// The steps of the run that can be opened: the oldest, or those around the first one shown.
    pub steps: usize,
    /// The steps of the run.
    pub all_steps: usize,
    /// The branches.
    pub branches: usize,
    /// The branches of the chat. 0 if the session has no chat.
    pub all_branches: usize,
}

/// The page that a file opens with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstView {
    /// The messages.
    #[default]
    Chat,
    /// The run, which needs no chat.
    Run,
    /// A step of the run. A file has the steps around it in full.
    Step(StepId),
}

/// Writes a chat or a session as one page that needs no network: messages, branches, past requests
/// and their differences, and the run. `branch` is the active one if it is not named.
///
/// A file that opens at the run can be of a session of recorded rounds whose chat has another name
/// or is not in the store. It has the views for which there is data.
///
/// The page is written in pieces, so the memory that is used does not depend on its size. A branch
/// of more than some hundred requests has the newest of them only, and a run of more than some
/// thousand steps has some of them in full; the outcome says so.
pub async fn write_html(
    operations: &Operations,
    name: &str,
    branch: Option<&str>,
    first: FirstView,
    out: &mut (impl Write + Send),
) -> Result<HtmlExported, HtmlExportError> {
    let operations = operations.snapshot();
    let links = Links::default();
    let run = match first {
        FirstView::Chat => None,
        FirstView::Run | FirstView::Step(_) => Some(operations.run(name, None).await?),
    };
    let chat = run.as_ref().map_or(Some(name), |run| run.chat.as_deref());
    let view = match chat {
        Some(chat) => Some(operations.branch(chat, branch).await?),
        None => None,
    };
    let own = view.as_ref().map(|view| branch_query(view, view.branch.as_str()));
    let own = own.unwrap_or_default();
    let start = match first {
        FirstView::Chat => format!("{}{own}", links.chat(name, "")),
        FirstView::Run => format!("{}{own}", links.chat(name, "run")),
        FirstView::Step(step) => format!("{}?node={step}", links.chat(name, "run")),
    };
    let title = view.as_ref().filter(|_| chat == Some(name));
    let title = title.and_then(|view| view.chat.title.as_deref()).unwrap_or(name);
    let mut file = PageFile::new(router(operations.clone()), out);
    let base = chat.map(|chat| links.chat(chat, "")).unwrap_or_default();
    file.begin(title, &start, &base).await?;
    let mut done = HtmlExported::default();
    if let (Some(chat), Some(view)) = (chat, &view) {
        add_chat(&mut file, &operations, (chat, view), &mut done).await?;
    }
    let step = if let FirstView::Step(step) = first { Some(step) } else { None };
    (done.steps, done.all_steps) = run::add(&mut file, &operations, name, step).await?;
    if let (Some(chat), Some(view)) = (chat, &view) {
        let branch = (!own.is_empty()).then(|| view.branch.to_string());
        (done.requests, done.all_requests) =
            add_requests(&mut file, &operations, chat, branch).await?;
    }
    file.end()?;
    Ok(done)
}

/// Returns the query of a branch. The active one has none.
fn branch_query(view: &BranchView, branch: &str) -> String {
    if branch == view.chat.active.as_str() {
        return String::new();
    }
    format!("?branch={}", encode(branch))
}

/// Adds the messages of a chat, with those of other branches if there are not too many.
async fn add_chat(
    file: &mut PageFile<'_, impl Write>,
    operations: &Operations,
    (chat, view): (&str, &BranchView),
    done: &mut HtmlExported,
) -> Result<(), HtmlExportError> {
    let links = Links::default();
    let (_, branches, _) = operations.chat(chat).await?;
    (done.rows, done.branches, done.all_branches) = (view.rows(), 1, branches.len());
    let mut rows_of_branches = 0;
    for one in &branches {
        let is_shown = one.name == view.branch;
        let other = operations.branch(chat, Some(one.name.as_str())).await?;
        rows_of_branches += other.rows();
        if !is_shown && rows_of_branches > ROWS_OF_BRANCHES {
            continue;
        }
        done.branches += usize::from(!is_shown);
        let query = branch_query(view, one.name.as_str());
        file.add(&format!("{}{query}", links.chat(chat, ""))).await?;
        let more = if query.is_empty() { "?".to_owned() } else { format!("{query}&") };
        for from in (0..other.rows()).step_by(pages::CHUNK) {
            let count = pages::CHUNK.min(other.rows() - from);
            file.add(&format!("{}{more}from={from}&count={count}", links.chat(chat, "rows")))
                .await?;
        }
        for from in (0..other.turns()).step_by(TURNS) {
            file.add(&format!("{}{more}from={from}&count={TURNS}", links.api(chat, "outline")))
                .await?;
        }
        file.add(&format!("{}{query}", links.api(chat, "failures"))).await?;
        let ids: Vec<_> = (0..other.rows())
            .filter_map(|at| other.row(at))
            .map(|row| row.node.id.clone())
            .collect();
        let ids = serde_json::to_string(&ids).map_err(io::Error::from)?;
        file.put(&[format!("ids{query}")], ids)?;
    }
    let views = ["branches", "prompt", "prompt/top"].map(|view| links.chat(chat, view));
    for path in views.into_iter().chain([links.api(chat, "facts"), links.api(chat, "tree")]) {
        file.add(&path).await?;
    }
    Ok(())
}

/// Adds the newest requests of a branch and their differences. Returns how many, and of how
/// many.
async fn add_requests(
    file: &mut PageFile<'_, impl Write>,
    operations: &Operations,
    chat: &str,
    branch: Option<String>,
) -> Result<(usize, usize), HtmlExportError> {
    let links = Links::default();
    let query = SentQuery { branch, ..SentQuery::default() };
    let newest = match operations.sent(chat, query.clone()).await {
        Ok(newest) => newest,
        // A branch without an answer, or a model that no table knows: the other views remain.
        Err(OperationError::Invalid { .. }) => return Ok((0, 0)),
        Err(error) => return Err(error.into()),
    };
    let all = newest.requests;
    let first = all.saturating_sub(REQUESTS) + 1;
    for number in first..=all {
        let mut asked = query.clone();
        asked.number = Some(number);
        let report = operations.sent(chat, asked.clone()).await?.report;
        let (sent, api) = (links.chat(chat, "sent"), links.api(chat, "sent/body"));
        let page = file.page(&format!("{sent}?{}", asked.encoded())).await?;
        let mut addresses = vec![format!("{sent}?number={number}")];
        if let Some(answer) = &report.answer {
            addresses.push(format!("{sent}?message={}", encode(answer.as_str())));
        }
        if number == all {
            addresses.push(sent.clone());
        }
        file.put(&addresses, page)?;
        file.put(&[format!("{api}?number={number}")], report.body.as_str().to_owned())?;
        if number > 1 {
            let compare = links.chat(chat, "compare");
            let branch = query.encoded();
            let page = file.page(&format!("{compare}?after={number}&{branch}")).await?;
            let mut addresses = vec![format!("{compare}?after={number}")];
            if number == all {
                addresses.push(compare);
            }
            file.put(&addresses, page)?;
        }
    }
    Ok((all + 1 - first, all))
}
