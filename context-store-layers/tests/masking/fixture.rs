//! A user's data with a text in every place that is written.

use std::sync::Arc;

use context_core::base::JsonMap;
use context_core::history::StoredBoundary;
use context_core::memory::{MemoryRecord, MemoryScope};
use context_core::message::{Data, Media, MediaSource, NodeKind, Reasoning};
use context_core::store::{
    ChatPatch, Commit, CommitOutcome, MemoryWrite, NewBlob, NewChat, RoundCommit, StoredFragment,
    StreamAppend, StreamClaim, StreamEnd, Target, TitleChange,
};
use context_core::trajectory::{AgentRef, Changes, NewNode, NewQuery, NodeBody, QueueItem, Round};
use context_core::{ChatRef, Encoded, Message, Metadata, Node, Part, Role, Store, Timestamp};
use serde_json::json;

pub(crate) fn at(n: i64) -> Timestamp {
    Timestamp::from_micros(n)
}

pub(crate) fn chat(name: &str) -> ChatRef {
    ChatRef::new("ada", name)
}

pub(crate) fn extend(chat: &ChatRef, expected: Option<&str>, nodes: Vec<Node>) -> Commit {
    let target = Target::Extend { branch: "main".into(), expected: expected.map(Into::into) };
    let nodes = nodes.into_iter().map(Arc::new).collect();
    Commit { nodes, ..Commit::new(chat.clone(), target, at(2)) }
}

pub(crate) async fn applied(store: &dyn Store, commit: Commit) {
    let outcome = store.history().commit(commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
}

/// Returns a message with the text in parts of every kind that is masked.
fn message(role: Role, text: &str) -> Message {
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text);
    let media = |source| Media {
        source,
        media_type: Some("text/plain".to_owned()),
        name: None,
        metadata: Metadata::default(),
    };
    let parts = match role {
        Role::Assistant => vec![
            Part::Reasoning(Reasoning { text: text.into(), ..Reasoning::default() }),
            Part::tool_call("c1", "run", json!({ "line": text, "more": [{ "x": text }] })),
        ],
        Role::Tool => vec![Part::tool_result("c1", text)],
        _ => vec![
            Part::text(text),
            Part::Document(media(MediaSource::Base64(encoded.into()))),
            Part::Data(Data { name: "d".to_owned(), value: json!([text]).into() }),
        ],
    };
    Message::new(role, parts).with_metadata(Metadata::default().with("note", text))
}

fn fragment(id: Option<&str>, text: &str) -> StoredFragment {
    let body = json!({ "name": "note", "data": text }).to_string();
    StoredFragment {
        id: id.map(Into::into),
        metadata: Metadata::default().with("note", text),
        body: Encoded::new("x-note", 1, body.into_bytes()),
    }
}

/// Writes a text to every place of a chat, of a memory and of a trajectory.
pub(crate) async fn write_everywhere(store: &dyn Store, name: &str, text: &str) {
    let chat = chat(name);
    let title = text.get(..4000).unwrap_or(text).to_owned();
    let new = NewChat {
        title: Some(title.clone()),
        metadata: Metadata::default().with("about", text),
        ..NewChat::new(chat.clone(), at(1))
    };
    let _new = store.history().create_chat(new).await.unwrap();
    let node = |id: &str, role| Node::new(id, message(role, text), at(1));
    let mut boundary: StoredBoundary =
        serde_json::from_value(json!({ "kind": "compact", "what": text })).unwrap();
    let made = json!({ "id": "s1", "message": message(Role::User, text) });
    boundary.front.push(serde_json::from_value(made).unwrap());
    let nodes = vec![
        node("m1", Role::User),
        node("m2", Role::Assistant),
        node("m3", Role::Tool),
        Node::from_encoded("b1".into(), NodeKind::Boundary, at(1), boundary.encode()),
    ];
    let mut commit = extend(&chat, None, nodes);
    commit.fragments = vec![fragment(Some("f"), text), fragment(None, text)];
    commit.patch = Some(ChatPatch {
        title: TitleChange::Set(title),
        set: Metadata::default().with("more", json!({ "a": [text] })),
        add: Metadata::default().with("usage", json!({ "model": text, "in": 3 })),
        ..ChatPatch::default()
    });
    applied(store, commit).await;
    let mut commit = Commit::new(chat.clone(), Target::Stay, at(3));
    let amended = Message::text(Role::User, format!("{text}\namended"));
    commit.amendments = vec![Arc::new(Node::new("m1", amended, at(1)))];
    applied(store, commit).await;
    store.fragments().put_fragments(&chat, &[fragment(Some("g"), text)], at(3)).await.unwrap();
    let patch = ChatPatch { set: Metadata::default().with("third", text), ..ChatPatch::default() };
    store.history().update_chat(&chat, &patch, at(4)).await.unwrap();

    let blobs = store.blobs().unwrap();
    blobs.put_blob(&chat, NewBlob::new(text.repeat(3), at(5))).await.unwrap();
    write_stream(store, &chat, text).await;
    write_memory(store, name, text).await;
    write_round(store, name, text).await;
}

/// Writes the text in chunks of seven bytes, five in each append.
async fn write_stream(store: &dyn Store, chat: &ChatRef, text: &str) {
    let (streams, id) = (store.streams().unwrap(), "s".into());
    let _created = streams.create_stream(chat, &id, at(6)).await.unwrap();
    let _claimed = streams.claim_stream(chat, &id, &StreamClaim::new("w", at(6))).await.unwrap();
    let chunks: Vec<_> = text.as_bytes().chunks(7).map(<[u8]>::to_vec).collect();
    let mut offset = 0;
    for chunks in chunks.chunks(5) {
        let append = StreamAppend::new("w", offset, chunks.to_vec(), at(6));
        assert!(streams.append_stream(chat, &id, append).await.unwrap().is_done());
        offset += chunks.len() as u64;
    }
    let end = StreamEnd::Failed(text.get(..4000).unwrap_or(text).to_owned());
    let append = StreamAppend::new("w", offset, Vec::<Vec<u8>>::new(), at(6)).end(end);
    assert!(streams.append_stream(chat, &id, append).await.unwrap().is_done());
}

async fn write_memory(store: &dyn Store, name: &str, text: &str) {
    let scope = MemoryScope::new("ada");
    let mut record = MemoryRecord::new(scope, name, "note", at(7), text);
    record.data = Metadata::default().with("d", text);
    let words: Vec<_> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let write = MemoryWrite::new(record, words.join(" "));
    let _written = store.memories().unwrap().write_memories(&[write]).await.unwrap();
}

async fn write_round(store: &dyn Store, name: &str, text: &str) {
    let mut round = Round::new(AgentRef::main("ada", name).round(0), at(1));
    let query = NewQuery::new(text).raw(text).describe(text);
    let (query, changes) = round.ask(query, at(2)).unwrap();
    let mut params = JsonMap::new();
    params.insert("with".to_owned(), text.into());
    assert!(round.queues_mut(at(2)).todo.push(QueueItem { name: "plan".to_owned(), params }));
    round.committed();
    let mut commits = vec![RoundCommit::new("one", changes, round.head())];
    let call = NodeBody::action("run", json!({ "b": text }));
    let (call, mut changes) = round.add(NewNode::new(call, [query]).describe(text), at(3)).unwrap();
    for output in [text, "done"] {
        let change = Changes::new().set("output", json!([output])).describe(output);
        changes.extend(round.change(call, &change, None, at(4)).unwrap());
    }
    round.committed();
    commits.push(RoundCommit::new("two", changes, round.head()));
    for commit in &commits {
        let _done = store.trajectories().unwrap().record_round(commit).await.unwrap();
    }
}
