//! Spans: their names and their fields.

use context_core::trajectory::Change;
use context_core::{Result, Retry};
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

use super::answer::Answer;
use super::content::ContentText;
use crate::call::{Call, Operation, Payload, operations};

/// The data that spans may show.
#[derive(Clone, Copy)]
pub(super) struct SpanOptions {
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
pub(super) fn record_request(span: &Span, call: &Call<'_>, options: &SpanOptions) {
    span.record("store", options.store);
    if options.scope {
        if let Some(user) = call.user {
            span.record("user", user.as_str());
        }
        if let Some(chat) = call.chat {
            span.record("chat", chat.as_str());
        }
    }
    let (items, bytes) = size(&call.payload);
    if let Some(items) = items {
        span.record("sent.items", items);
    }
    if let Some(bytes) = bytes {
        span.record("sent.bytes", bytes);
    }
}

/// Records the result of a call.
pub(super) fn record_result<T: Answer>(
    span: &Span,
    call: &Call<'_>,
    result: &Result<T>,
    options: &SpanOptions,
) {
    let mut content = options.content.then(|| text(&call.payload)).flatten();
    match result {
        Ok(answer) => {
            let summary = answer.summary();
            span.record("outcome", summary.outcome);
            if let Some(items) = summary.items {
                span.record("found.items", items);
            }
            if let Some(bytes) = summary.bytes {
                span.record("found.bytes", bytes);
            }
            if options.content && content.is_none() {
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
fn size(payload: &Payload<'_>) -> (Option<u64>, Option<u64>) {
    let both = |items: usize, bytes: usize| (Some(items as u64), Some(bytes as u64));
    match payload {
        Payload::Nothing
        | Payload::Chat(_)
        | Payload::Patch(_)
        | Payload::Text(_)
        | Payload::Words(_) => (None, None),
        Payload::Ids(ids) => (Some(*ids as u64), None),
        Payload::Commit(commit) => {
            let nodes = || commit.nodes.iter().chain(&commit.amendments).chain(&commit.redactions);
            let bodies =
                nodes().map(|node| node.body()).chain(commit.fragments.iter().map(|one| &one.body));
            both(
                nodes().count() + commit.fragments.len(),
                bodies.map(|body| body.bytes().len()).sum(),
            )
        }
        Payload::Fragments(fragments) => both(
            fragments.len(),
            fragments.iter().map(|fragment| fragment.body.bytes().len()).sum(),
        ),
        Payload::Blob(blob) => both(1, blob.bytes.len()),
        Payload::Round(commit) => {
            let added = commit.changes.iter().map(|change| match change {
                Change::NodeAdded { node } => node.body.bytes(),
                Change::NodeChanged { now, .. } => now.iter().map(|(_, value)| value.bytes()).sum(),
                _ => 0,
            });
            both(commit.changes.len(), added.sum())
        }
        Payload::Memories(writes) => {
            both(writes.len(), writes.iter().map(|write| write.record.text.len()).sum())
        }
        Payload::Chunks(append) => (Some(append.chunks.len() as u64), Some(append.bytes())),
    }
}

/// Returns the text that is sent.
fn text(payload: &Payload<'_>) -> Option<String> {
    match payload {
        Payload::Nothing
        | Payload::Ids(_)
        | Payload::Blob(_)
        | Payload::Chunks(_)
        | Payload::Round(_) => None,
        Payload::Chat(new) => ContentText::of(new.title.as_deref().map(str::as_bytes)),
        Payload::Patch(patch) => {
            ContentText::of(patch.title.title().into_iter().map(str::as_bytes))
        }
        Payload::Text(text) => ContentText::of([text.as_bytes()]),
        Payload::Commit(commit) => {
            let nodes = commit.nodes.iter().chain(&commit.amendments).chain(&commit.redactions);
            let bodies =
                nodes.map(|node| node.body()).chain(commit.fragments.iter().map(|one| &one.body));
            ContentText::of(bodies.map(|body| &body.bytes()[..]))
        }
        Payload::Memories(writes) => {
            ContentText::of(writes.iter().map(|write| write.record.text.as_bytes()))
        }
        Payload::Words(words) => ContentText::of(words.iter().map(String::as_bytes)),
        Payload::Fragments(fragments) => {
            ContentText::of(fragments.iter().map(|one| &one.body.bytes()[..]))
        }
    }
}
