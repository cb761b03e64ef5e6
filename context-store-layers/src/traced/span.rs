//! Spans: their names and their fields.

use context_core::trajectory::Change;
use context_core::{Result, Retry};
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

use super::answer::Answer;
use super::words::Words;
use crate::call::{Call, Operation, Sent, operations};

/// The data that spans may show.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// The name of the store, which does not change.
    pub(super) store: &'static str,
    /// Whether users and chats are named.
    pub(super) scope: bool,
    /// Whether content is included.
    pub(super) content: bool,
}

macro_rules! make_open {
    ($($variant:ident $name:ident),+ $(,)?) => {
        /// Opens the span of an operation. Each operation has a call site of its own, because the
        /// call site holds the name.
        pub(super) fn open(operation: Operation) -> Span {
            match operation {
                $(Operation::$variant => info_span!(
                    target: "context.store",
                    concat!("context.store.", stringify!($name)),
                    operation = stringify!($name),
                    store = Empty,
                    user = Empty,
                    chat = Empty,
                    sent.items = Empty,
                    sent.bytes = Empty,
                    found.items = Empty,
                    found.bytes = Empty,
                    outcome = Empty,
                    error.kind = Empty,
                    error.retry = Empty,
                    content = Empty,
                ),)+
            }
        }
    };
}
operations!(make_open);

/// Records the request of a call.
pub(super) fn ask(span: &Span, call: &Call<'_>, shown: &Shown) {
    span.record("store", shown.store);
    if shown.scope {
        if let Some(user) = call.user {
            span.record("user", user.as_str());
        }
        if let Some(chat) = call.chat {
            span.record("chat", chat.as_str());
        }
    }
    let (items, bytes) = size(&call.sent);
    if let Some(items) = items {
        span.record("sent.items", items);
    }
    if let Some(bytes) = bytes {
        span.record("sent.bytes", bytes);
    }
}

/// Records the result of a call.
pub(super) fn tell<T: Answer>(span: &Span, call: &Call<'_>, result: &Result<T>, shown: &Shown) {
    let mut content = shown.content.then(|| text(&call.sent)).flatten();
    match result {
        Ok(answer) => {
            let facts = answer.facts();
            span.record("outcome", facts.outcome);
            if let Some(items) = facts.items {
                span.record("found.items", items);
            }
            if let Some(bytes) = facts.bytes {
                span.record("found.bytes", bytes);
            }
            if shown.content && content.is_none() {
                content = answer.content();
            }
        }
        Err(error) => {
            span.record("outcome", "error");
            span.record("error.kind", error.kind().as_str());
            span.record("error.retry", retry(error.retry()));
        }
    }
    if let Some(content) = content {
        span.record("content", display(content));
    }
}

fn retry(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "never",
        Retry::Safe => "safe",
        Retry::AfterRefresh => "after_refresh",
        _ => "other",
    }
}

/// Returns the number of items sent and their bytes.
fn size(sent: &Sent<'_>) -> (Option<u64>, Option<u64>) {
    let both = |items: usize, bytes: usize| (Some(items as u64), Some(bytes as u64));
    match sent {
        Sent::Nothing | Sent::Chat(_) | Sent::Patch(_) | Sent::Text(_) | Sent::Words(_) => {
            (None, None)
        }
        Sent::Ids(ids) => (Some(*ids as u64), None),
        Sent::Commit(commit) => {
            let nodes = || commit.nodes.iter().chain(&commit.amendments).chain(&commit.redactions);
            let bodies =
                nodes().map(|node| node.body()).chain(commit.fragments.iter().map(|one| &one.body));
            both(
                nodes().count() + commit.fragments.len(),
                bodies.map(|body| body.bytes().len()).sum(),
            )
        }
        Sent::Fragments(fragments) => both(
            fragments.len(),
            fragments.iter().map(|fragment| fragment.body.bytes().len()).sum(),
        ),
        Sent::Blob(blob) => both(1, blob.bytes.len()),
        Sent::Round(commit) => {
            let added = commit.changes.iter().map(|change| match change {
                Change::NodeAdded { node } => node.body.bytes(),
                Change::NodeChanged { now, .. } => now.iter().map(|(_, value)| value.bytes()).sum(),
                _ => 0,
            });
            both(commit.changes.len(), added.sum())
        }
        Sent::Memories(writes) => {
            both(writes.len(), writes.iter().map(|write| write.record.text.len()).sum())
        }
        Sent::Chunks(append) => (Some(append.chunks.len() as u64), Some(append.bytes())),
    }
}

/// Returns the text that is sent.
fn text(sent: &Sent<'_>) -> Option<String> {
    match sent {
        Sent::Nothing | Sent::Ids(_) | Sent::Blob(_) | Sent::Chunks(_) | Sent::Round(_) => None,
        Sent::Chat(new) => Words::of(new.title.as_deref().map(str::as_bytes)),
        Sent::Patch(patch) => Words::of(patch.title.title().into_iter().map(str::as_bytes)),
        Sent::Text(text) => Words::of([text.as_bytes()]),
        Sent::Commit(commit) => {
            let nodes = commit.nodes.iter().chain(&commit.amendments).chain(&commit.redactions);
            let bodies =
                nodes.map(|node| node.body()).chain(commit.fragments.iter().map(|one| &one.body));
            Words::of(bodies.map(|body| &body.bytes()[..]))
        }
        Sent::Memories(writes) => {
            Words::of(writes.iter().map(|write| write.record.text.as_bytes()))
        }
        Sent::Words(words) => Words::of(words.iter().map(String::as_bytes)),
        Sent::Fragments(fragments) => Words::of(fragments.iter().map(|one| &one.body.bytes()[..])),
    }
}
