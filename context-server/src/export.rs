//! A chat as one file: the pages of the inspector, with their data within it.
//!
//! The exporter asks the router for each page, as a browser would, and packs the answers in chunks.
//! The scripts of the page find them there. So a file has the same views as the server, whatever
//! its size, and a browser unpacks what is in sight.

use std::collections::BTreeMap;
use std::io::{self, Write};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::PreEscaped;
use sha2::{Digest, Sha256};
use tower::ServiceExt as _;

use crate::links::{Links, encode};
use crate::operations::SentQuery;
use crate::{OperationError, Operations, assets, pages, router};

/// The bytes of answers that are packed together.
const PACK: usize = 400 * 1024;
/// The newest requests that a file has.
const REQUESTS: usize = 100;
/// The rows of all branches up to which a file has branches other than the one it shows.
const ROWS_OF_BRANCHES: usize = 30_000;
/// The steps of a run that a file has.
const STEPS: usize = 300;
/// The lines of a page of the run, as the script asks for them.
const LINES: usize = 200;
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
    /// The rows of the branch.
    pub rows: usize,
    /// The past requests that can be looked at, the newest of the branch.
    pub requests: usize,
    /// The requests of the branch.
    pub all_requests: usize,
    /// The steps of the run that can be opened, the oldest.
    pub steps: usize,
    /// The steps of the run.
    pub all_steps: usize,
    /// The branches.
    pub branches: usize,
    /// The branches of the chat.
    pub all_branches: usize,
}

/// The page that a file opens with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FirstView {
    /// The messages.
    #[default]
    Chat,
    /// The run.
    Run,
}

/// Writes a chat as one page that needs no network: messages, branches, past requests and their
/// differences. `branch` is the active one if it is not named.
///
/// The page is written in pieces, so the memory that is used does not depend on its size. A branch
/// of more than some thousand requests has the newest of them only; the outcome says so.
pub async fn write_html(
    operations: &Operations,
    chat: &str,
    branch: Option<&str>,
    first: FirstView,
    out: &mut (impl Write + Send),
) -> Result<HtmlExported, HtmlExportError> {
    let operations = operations.clone().read_only(true);
    let view = operations.branch(chat, branch).await?;
    let (_, branches, _) = operations.chat(chat).await?;
    let active = view.chat.active.clone();
    let links = Links::default();
    let mut done = HtmlExported {
        rows: view.rows(),
        all_branches: branches.len(),
        branches: 1,
        ..HtmlExported::default()
    };
    let mut file = PageFile {
        router: router(operations.clone()),
        places: BTreeMap::new(),
        packs: 0,
        open: Vec::new(),
        bytes: 0,
        out,
    };
    let of_branch = |name: &str| match name == active.as_str() {
        true => String::new(),
        false => format!("?branch={}", encode(name)),
    };
    let own = of_branch(view.branch.as_str());
    let start = match first {
        FirstView::Chat => format!("{}{own}", links.chat(chat, "")),
        FirstView::Run => format!("{}{own}", links.chat(chat, "run")),
    };
    let title = view.chat.title.as_deref().unwrap_or(chat);
    file.begin(title, &start, &links.chat(chat, "")).await?;

    let mut rows_of_branches = 0;
    for one in &branches {
        let is_shown = one.name == view.branch;
        let other = operations.branch(chat, Some(one.name.as_str())).await?;
        rows_of_branches += other.rows();
        if !is_shown && rows_of_branches > ROWS_OF_BRANCHES {
            continue;
        }
        done.branches += usize::from(!is_shown);
        let query = of_branch(one.name.as_str());
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
    let views = [links.chat(chat, "branches"), links.chat(chat, "prompt")];
    for path in views.into_iter().chain([links.api(chat, "facts"), links.api(chat, "tree")]) {
        file.add(&path).await?;
    }
    (done.steps, done.all_steps) = file.add_run(&operations, chat).await?;
    let view_name = view.branch.to_string();
    (done.requests, done.all_requests) =
        file.add_requests(&operations, chat, &view_name, &own).await?;
    file.end()?;
    Ok(done)
}

/// A file that is being written.
struct PageFile<'o, W> {
    router: Router,
    /// For each address the pack and the place in it.
    places: BTreeMap<String, (usize, usize)>,
    packs: usize,
    /// The answers of the pack that is not full yet.
    open: Vec<String>,
    bytes: usize,
    out: &'o mut W,
}

impl<W: Write> PageFile<'_, W> {
    /// Returns the answer of the inspector.
    async fn answer(&self, path: &str) -> Result<(StatusCode, String), HtmlExportError> {
        let failed = |problem: String| HtmlExportError::Page { path: path.to_owned(), problem };
        let request = Request::get(path).header("host", "localhost").body(Body::empty());
        let request = request.map_err(|error| failed(error.to_string()))?;
        let answer = match self.router.clone().oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        };
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), usize::MAX).await;
        let bytes = bytes.map_err(|error| failed(error.to_string()))?;
        Ok((status, String::from_utf8_lossy(&bytes).into_owned()))
    }

    async fn page(&self, path: &str) -> Result<String, HtmlExportError> {
        match self.answer(path).await? {
            (status, body) if status.is_success() => Ok(body),
            (status, _) => {
                Err(HtmlExportError::Page { path: path.to_owned(), problem: status.to_string() })
            }
        }
    }

    /// Adds the answer for an address.
    async fn add(&mut self, path: &str) -> Result<(), HtmlExportError> {
        let body = self.page(path).await?;
        self.put(&[path.to_owned()], body)
    }

    /// Adds a body under several addresses.
    fn put(&mut self, addresses: &[String], body: String) -> Result<(), HtmlExportError> {
        for address in addresses {
            self.places.insert(address.clone(), (self.packs, self.open.len()));
        }
        self.bytes += body.len();
        self.open.push(body);
        if self.bytes >= PACK {
            self.pack()?;
        }
        Ok(())
    }

    fn pack(&mut self) -> Result<(), HtmlExportError> {
        if self.open.is_empty() {
            return Ok(());
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        serde_json::to_writer(&mut packed, &self.open).map_err(io::Error::from)?;
        let packed = STANDARD.encode(packed.finish()?);
        writeln!(
            self.out,
            "<script type=\"text/plain\" id=\"pack-{}\">{packed}</script>",
            self.packs
        )?;
        self.open.clear();
        (self.packs, self.bytes) = (self.packs + 1, 0);
        Ok(())
    }

    /// Writes the head and the first page, so that a browser draws it before it has the rest.
    async fn begin(&mut self, title: &str, start: &str, base: &str) -> Result<(), HtmlExportError> {
        let (script, styles) = (assets::bundle(), assets::styles());
        let theme = assets::theme();
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let policy = format!(
            "default-src 'none'; script-src {} {}; style-src {}; img-src data:",
            hash(&script),
            hash(theme),
            hash(styles)
        );
        let page = self.page(start).await?;
        let body = page.split_once("<body>").and_then(|(_, rest)| rest.rsplit_once("</body>"));
        let body = body.map_or("", |(body, _)| body);
        let title = maud::html! { (title) }.into_string();
        let (start, base) =
            (maud::html! { (start) }.into_string(), maud::html! { (base) }.into_string());
        write!(
            self.out,
            "<!DOCTYPE html><html lang=\"en\" data-root=\"\" data-static><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"content-security-policy\" content=\"{}\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><title>{title} · context</title>\
             <link rel=\"icon\" href=\"data:,\"><style>{styles}</style><script>{theme}</script></head>\
             <body data-start=\"{base}\" data-first=\"{start}\">{body}",
            PreEscaped(policy).0
        )?;
        self.out.flush()?;
        Ok(())
    }

    /// Adds the run of the chat: its views, its lines, and its first steps. Returns how many
    /// these are, and of how many.
    async fn add_run(
        &mut self,
        operations: &Operations,
        chat: &str,
    ) -> Result<(usize, usize), HtmlExportError> {
        let links = Links::default();
        let (page, api) = (links.chat(chat, "run"), links.api(chat, "run"));
        let run = operations.run(chat, None).await?;
        self.put(std::slice::from_ref(&page), self.page(&page).await?)?;
        for view in ["list", "waterfall", "graph", "provenance"] {
            self.add(&format!("{page}?view={view}")).await?;
        }
        let mut steps = Vec::new();
        for from in (0..run.lines()).step_by(LINES) {
            self.add(&format!("{api}/lines?from={from}&count={LINES}")).await?;
            if steps.len() < STEPS {
                let lines = run.lines_of(from, LINES).await?;
                steps.extend(lines.into_iter().map(|line| line.node.to_string()));
            }
        }
        steps.truncate(STEPS);
        for node in &steps {
            let node = encode(node);
            let body = self.page(&format!("{page}/step?node={node}")).await?;
            self.put(&[format!("{page}/step?node={node}")], body)?;
            self.add(&format!("{api}/step?node={node}")).await?;
            self.add(&format!("{page}?view=provenance&node={node}")).await?;
        }
        Ok((steps.len(), run.lines()))
    }

    /// Adds the newest requests of a branch and their differences. Returns how many, and of how
    /// many.
    async fn add_requests(
        &mut self,
        operations: &Operations,
        chat: &str,
        branch: &str,
        own: &str,
    ) -> Result<(usize, usize), HtmlExportError> {
        let links = Links::default();
        let branch = (!own.is_empty()).then(|| branch.to_owned());
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
            let page = self.page(&format!("{sent}?{}", asked.encoded())).await?;
            let mut addresses = vec![format!("{sent}?number={number}")];
            if let Some(answer) = &report.answer {
                addresses.push(format!("{sent}?message={}", encode(answer.as_str())));
            }
            if number == all {
                addresses.push(sent.clone());
            }
            self.put(&addresses, page)?;
            self.put(&[format!("{api}?number={number}")], report.body.as_str().to_owned())?;
            if number > 1 {
                let compare = links.chat(chat, "compare");
                let branch = query.encoded();
                let page = self.page(&format!("{compare}?after={number}&{branch}")).await?;
                let mut addresses = vec![format!("{compare}?after={number}")];
                if number == all {
                    addresses.push(compare);
                }
                self.put(&addresses, page)?;
            }
        }
        Ok((all + 1 - first, all))
    }

    fn end(&mut self) -> Result<(), HtmlExportError> {
        self.pack()?;
        let places = serde_json::to_string(&self.places).map_err(io::Error::from)?;
        // No address may end the element.
        let places = places.replace('<', "\\u003c");
        writeln!(self.out, "<script type=\"application/json\" id=\"places\">{places}</script>")?;
        writeln!(self.out, "<script type=\"module\">{}</script></body></html>", assets::bundle())?;
        self.out.flush()?;
        Ok(())
    }
}
