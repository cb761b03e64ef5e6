//! Files that a question mentions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_core::trajectory::{NewNode, NewQuery, NodeBody, NodeId, edge};
use context_core::{Error, ErrorKind};

use crate::backups::Backups;
use crate::{OpenRound, RecordError};

/// The largest number of files of one question that are looked up.
const MOST: usize = 100;

/// Returns the absolute paths that a text mentions, in order and without duplicates. These include
/// paths below the home folder (`~/…`) and paths on a drive (`C:\…`). A line suffix (`:12`,
/// `:12-40`, `:12:5`) and sentence punctuation at the end are not part of the path. A path with
/// spaces is found only in quotes. Does not check whether the files exist. Linear.
pub fn mentioned_files(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut before = ' ';
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if !(begins(before) && is_path(&text[at..])) {
            before = first;
            at += first.len_utf8();
            continue;
        }
        let rest = &text[at..];
        let quoted = matches!(before, '"' | '\'' | '`');
        // The closing quote must be on the same line, so an unclosed quote costs no more than its
        // line.
        let closing = quoted.then(|| rest.find([before, '\n', '\r'])).flatten();
        let closed = closing.filter(|end| rest[*end..].starts_with(before));
        let end = closed.unwrap_or_else(|| rest.find(ends).unwrap_or(rest.len()));
        let path = without_line(
            rest[..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '…', '。', '，']),
        );
        if path.len() > 1 && seen.insert(path) {
            found.push(path.to_owned());
        }
        at += end.max(first.len_utf8());
        before = text[..at].chars().next_back().unwrap_or(' ');
    }
    found
}

/// Returns whether a path may follow this character. False within another path, a URL or a
/// fraction.
fn begins(before: char) -> bool {
    !before.is_ascii_alphanumeric()
        && !matches!(before, '/' | '\\' | '.' | ':' | '~' | '-' | '_' | '<')
}

fn is_path(text: &str) -> bool {
    let drive = text.as_bytes();
    let on_drive = matches!(drive, [letter, b':', b'\\' | b'/', next, ..]
        if letter.is_ascii_alphabetic() && *next != b'/');
    let rooted = text.starts_with('/') && !text.starts_with("//");
    rooted || text.starts_with("~/") || on_drive
}

fn ends(next: char) -> bool {
    next.is_whitespace()
        || matches!(
            next,
            '"' | '\'' | '`' | '<' | '>' | '|' | '(' | ')' | '[' | ']' | '{' | '}' | ',' | ';'
        )
}

/// Returns a path without its line suffix.
fn without_line(path: &str) -> &str {
    let mut path = path;
    for _ in 0..2 {
        let Some((before, lines)) = path.rsplit_once(':') else { break };
        let digits =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let fine = match lines.split_once('-') {
            Some((from, to)) => digits(from) && digits(to),
            None => digits(lines),
        };
        if !fine {
            break;
        }
        path = before;
    }
    path
}

/// Checks which files exist. Calls may block.
pub trait FileLookup: Send + Sync + 'static {
    /// Returns the path under which a file is recorded, or `None` if there is no such file.
    fn find(&self, path: &str) -> Option<String>;
}

/// The files of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostFiles;

impl FileLookup for HostFiles {
    fn find(&self, path: &str) -> Option<String> {
        let full: PathBuf = match path.strip_prefix("~/") {
            Some(below) => std::env::home_dir()?.join(below),
            None => path.into(),
        };
        full.is_file().then(|| full.to_str().map(str::to_owned)).flatten()
    }
}

/// Configures how files that a question mentions are recorded.
#[derive(Clone)]
#[must_use]
pub struct MentionedFiles {
    lookup: Arc<dyn FileLookup>,
    backups: Option<Backups>,
}

impl MentionedFiles {
    /// Records the files that `lookup` finds.
    pub fn new(lookup: Arc<dyn FileLookup>) -> Self {
        Self { lookup, backups: None }
    }

    /// Also copies the files. A file that cannot be copied is recorded without a copy.
    pub fn backups(mut self, backups: Backups) -> Self {
        self.backups = Some(backups);
        self
    }

    async fn found(&self, mut paths: Vec<String>) -> Result<Vec<String>, RecordError> {
        paths.truncate(MOST);
        let lookup = self.lookup.clone();
        let find = move || paths.iter().filter_map(|path| lookup.find(path)).collect();
        let found: Vec<String> = tokio::task::spawn_blocking(find).await.map_err(|error| {
            Error::new(ErrorKind::Bug, "find_files", "looking for files failed").with_source(error)
        })?;
        let mut seen = std::collections::HashSet::new();
        Ok(found.into_iter().filter(|path| seen.insert(path.clone())).collect())
    }
}

/// Returns whether a file holds a table, by its extension.
fn is_table(path: &str) -> bool {
    const TABLES: &[&str] =
        &["csv", "tsv", "xls", "xlsx", "xlsm", "ods", "parquet", "feather", "arrow"];
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    extension
        .is_some_and(|extension| TABLES.iter().any(|table| extension.eq_ignore_ascii_case(table)))
}

impl OpenRound {
    /// Records the question, and adds the existing files that it mentions below it, as file and
    /// table nodes. The list of files that the caller set on the query is not changed. Returns the
    /// question, then the files.
    pub async fn ask_with_files(
        &self,
        query: NewQuery,
        files: &MentionedFiles,
    ) -> Result<(NodeId, Vec<NodeId>), RecordError> {
        let id = self.ask_later(query)?;
        let text = self
            .round()
            .node(id)
            .map(|node| node.body.text("query").to_owned())
            .unwrap_or_default();
        let mut nodes = Vec::new();
        let found = files.found(mentioned_files(&text)).await?;
        for path in found {
            let (body, name) = match is_table(&path) {
                true => (NodeBody::table(path), edge::HAS_ADDITIONAL_TABLE),
                false => (NodeBody::file(path), edge::HAS_ADDITIONAL_FILE),
            };
            let body = match &files.backups {
                // A missing copy is visible in the node.
                Some(backups) => backups.back_up(body.clone()).await.unwrap_or(body),
                None => body,
            };
            nodes.push(self.add_later(NewNode::new(body, [id]).edge(name))?);
        }
        self.flush().await?;
        Ok((id, nodes))
    }
}
