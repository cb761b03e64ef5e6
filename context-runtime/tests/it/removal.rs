//! Removed content is gone from all places where ordinary use puts it, on every store, and
//! remaining copies are reported.

use std::collections::BTreeSet;
use std::sync::Arc;

use context_runtime::fragments::Encoded;
use context_runtime::memory::{
    CapturedMessage, CapturedTurn, Episodic, MemoryProvider, MemoryScope,
};
use context_runtime::removal::{
    Redaction, RemainingKind, RemovalOptions, RemovalReport, delete_chat, erase_user,
    redact_messages,
};
use context_runtime::store::{
    ChatPatch, ChatQuery, Commit, MemoryList, MemoryRecord, MemorySource, MemoryWrite, NewBlob,
    Node, RoundQuery, SearchQuery, StoredFragment, StreamAppend, StreamClaim, StreamEnd, Target,
    TitleChange,
};
use context_runtime::trajectory::{
    MessageLink, NewQuery, OpenOptions, RoundState, Step, Trajectories,
};
use context_runtime::{
    CancelSignal, ChatRef, ContextEngine, Edits, Message, MessageId, Metadata, Part, Role, Spill,
    Store, Timestamp, UserId, assistant, user,
};

use crate::compactions::compacted;
use crate::erasure;

/// The word that is searched for, and its sentence.
const WORD: &str = "quinquereme";
const SENTENCE: &str = "My pass phrase for the old harbour account is quinquereme, do not lose it";

pub(crate) fn now() -> Timestamp {
    Timestamp::from_micros(1_800_000_000_000_000)
}

pub(crate) fn options() -> RemovalOptions {
    RemovalOptions::at(now())
}

/// A chat with the sentence, and everything derived from it.
pub(crate) struct PlantedChat<'a> {
    store: &'a Arc<dyn Store>,
    pub(crate) chat: ChatRef,
}

impl<'a> PlantedChat<'a> {
    pub(crate) async fn new(
        store: &'a Arc<dyn Store>,
        user: &UserId,
        chat: &str,
    ) -> PlantedChat<'a> {
        let planted = Self { store, chat: ChatRef::new(user.clone(), chat) };
        planted.say().await;
        planted.compact().await;
        planted.stream().await;
        planted.record().await;
        planted.remember().await;
        planted
    }

    async fn say(&self) {
        let builder = ContextEngine::builder(Arc::clone(self.store)).user(self.chat.user.clone());
        let mut engine = builder.chat(self.chat.chat.clone()).open().await.unwrap();
        engine.set([user(SENTENCE).with_id("said"), assistant("I shall not.").with_id("answer")]);
        let _saved = engine.save().await.unwrap();
        // An earlier revision has the sentence too.
        engine.set([user(format!("{SENTENCE}, please")).with_id("said")]);
        let _saved = engine.save_with(Edits::Amend).await.unwrap();
        let patch =
            ChatPatch { title: TitleChange::Set(SENTENCE.to_owned()), ..ChatPatch::default() };
        engine.update_chat(&patch).await.unwrap();
        if self.store.blobs().is_none() {
            return;
        }
        let long = format!("{SENTENCE}\n").repeat(50);
        let spill = Spill::new(Arc::clone(self.store)).unwrap();
        let blob = spill.put(&self.chat, long, "text/plain").await.unwrap();
        let result = Part::tool_result("c1", format!("{SENTENCE} … [{}]", blob.id.to_reference()));
        let call =
            Message::new(Role::Assistant, [Part::tool_call("c1", "read", serde_json::json!({}))]);
        let nodes = vec![
            Arc::new(Node::new("call", call, now())),
            Arc::new(Node::new("result", Message::new(Role::Tool, [result]), now())),
        ];
        let target = Target::Extend { branch: "main".into(), expected: Some("answer".into()) };
        let commit = Commit { nodes, ..Commit::new(self.chat.clone(), target, now()) };
        assert!(self.store.history().commit(commit).await.unwrap().committed().is_some());
    }

    /// The summary of a compaction has the sentence too.
    async fn compact(&self) {
        let builder = ContextEngine::builder(Arc::clone(self.store)).user(self.chat.user.clone());
        let mut engine = builder.chat(self.chat.chat.clone()).open().await.unwrap();
        let turn = engine.resolve().await.unwrap();
        let so_far = format!("So far they said: {SENTENCE}");
        let last = turn.messages.len() - 1;
        let compacted = compacted(&turn.messages, &[(None, Some(&so_far)), (Some(last), None)]);
        engine.compact(&turn, &compacted, &[]).await.unwrap().unwrap();
        let _saved = engine.save().await.unwrap();
    }

    /// The words arrive in pieces, each within an event.
    async fn stream(&self) {
        let Some(streams) = self.store.streams() else { return };
        let id = "stream-1".into();
        let _created = streams.create_stream(&self.chat, &id, now()).await.unwrap();
        let _claimed =
            streams.claim_stream(&self.chat, &id, &StreamClaim::new("w", now())).await.unwrap();
        let (one, two) = SENTENCE.split_at(SENTENCE.len() / 2);
        let events = [one, two].map(|text| format!("data: {{\"delta\":\"{text}\"}}\n\n"));
        let append = StreamAppend::new("w", 0, events, now()).end(StreamEnd::Completed);
        assert!(streams.append_stream(&self.chat, &id, append).await.unwrap().is_done());
    }

    async fn record(&self) {
        if self.store.trajectories().is_none() {
            return;
        }
        let agent = context_runtime::trajectory::AgentRef::main(
            self.chat.user.clone(),
            format!("session of {}", self.chat.chat),
        );
        let trajectories = Trajectories::builder(Arc::clone(self.store)).build().unwrap();
        let round = trajectories.next_round(&agent).await.unwrap();
        let open = trajectories.open(&round, OpenOptions::new()).await.unwrap();
        let link = |id: &str| MessageLink::new(self.chat.chat.clone(), id);
        open.ask(NewQuery::new(SENTENCE).message(link("said"))).await.unwrap();
        open.step(Step::new(format!("They said: {SENTENCE}")).message(link("said"))).await.unwrap();
        open.close(RoundState::Closed).await.unwrap();
    }

    /// Stores a message as a memory, and a fact derived from it.
    async fn remember(&self) {
        let Some(memories) = self.store.memories() else { return };
        let id = format!("fact-{}", self.chat.chat);
        let scope = MemoryScope::new(self.chat.user.clone());
        let mut fact = MemoryRecord::new(scope, id, "fact", now(), format!("Says: {SENTENCE}"));
        let mut source = MemorySource::session(self.chat.chat.as_str());
        source.message = Some("said".into());
        fact.source = Some(source);
        let _written = memories.write_memories(&[MemoryWrite::new(fact, WORD)]).await.unwrap();
        let memory = Episodic::new(Arc::clone(self.store)).unwrap();
        let scope = MemoryScope::new(self.chat.user.clone()).session(self.chat.chat.as_str());
        let said = CapturedMessage::new("said", Arc::new(Message::text(Role::User, SENTENCE)));
        let turn = CapturedTurn::new(scope, "turn-1", now(), vec![said]);
        memory.capture(&turn, &CancelSignal::never()).await.unwrap();
        memory.flush(&CancelSignal::never()).await.unwrap();
    }

    pub(crate) fn messages(&self) -> Vec<MessageId> {
        let all: &[&str] =
            if self.store.blobs().is_some() { &["said", "result"] } else { &["said"] };
        all.iter().map(|id| MessageId::from(*id)).collect()
    }

    async fn redact(&self) -> RemovalReport {
        let (store, messages) = (&**self.store, self.messages());
        redact_messages(store, &self.chat, &messages, Redaction::Words, &options()).await.unwrap()
    }
}

/// Returns where the word is in the results of every read call for a user.
async fn places(store: &dyn Store, user: &UserId) -> BTreeSet<String> {
    let mut places = BTreeSet::new();
    let mut look = |place: String, bytes: &[u8]| {
        if String::from_utf8_lossy(bytes).contains(WORD) {
            places.insert(place);
        }
    };
    let history = store.history();
    for summary in history.list_chats(&ChatQuery::new(user.clone())).await.unwrap().items {
        let chat = summary.chat.chat.clone();
        look(format!("the summary of {}", chat.chat), format!("{summary:?}").as_bytes());
        for placed in history.all_messages(&chat, 1000, None).await.unwrap().items {
            let node = &placed.node;
            look(format!("{} of {}", node.id, chat.chat), node.body().bytes());
            for revision in history.revisions(&chat, &node.id).await.unwrap() {
                look(
                    format!("a revision of {} of {}", node.id, chat.chat),
                    revision.node.body().bytes(),
                );
            }
        }
        for fragment in store.fragments().fragments(&chat).await.unwrap() {
            look(format!("a fragment of {}", chat.chat), fragment.body.bytes());
        }
        if let Some(blobs) = store.blobs() {
            for blob in blobs.blobs(&chat, 1000, None).await.unwrap().items {
                let bytes =
                    blobs.read_blob(&chat, &blob.id, 0..blob.bytes, None).await.unwrap().unwrap();
                look(format!("a blob of {}", chat.chat), &bytes);
            }
        }
        if let Some(streams) = store.streams() {
            for stream in streams.streams(&chat, 1000, None).await.unwrap().items {
                let part = streams.read_stream(&chat, &stream.id, 0, 1000).await.unwrap().unwrap();
                look(format!("stream {} of {}", stream.id, chat.chat), &part.chunks.concat());
            }
        }
    }
    if let Some(search) = store.search() {
        let hits = search.search(&SearchQuery::new(user.clone(), WORD)).await.unwrap().items;
        hits.iter().for_each(|hit| look(format!("the search: {hit:?}"), WORD.as_bytes()));
    }
    if let Some(trajectories) = store.trajectories() {
        for head in trajectories.rounds(&RoundQuery::of_user(user.clone())).await.unwrap().items {
            let numbers = head.round.round..=head.round.round;
            for record in trajectories.load_rounds(&head.round.agent, numbers).await.unwrap() {
                look(head.round.to_string(), &serde_json::to_vec(&record).unwrap());
            }
            look(format!("the head of {}", head.round), &serde_json::to_vec(&head).unwrap());
        }
    }
    if let Some(memories) = store.memories() {
        for stats in memories.memory_stats(user, 1000, None).await.unwrap().items {
            let list = MemoryList::new(vec![stats.scope], 1000);
            for stored in memories.list_memories(&list).await.unwrap().items {
                look(
                    format!("memory {}", stored.record.id),
                    &serde_json::to_vec(&stored.record).unwrap(),
                );
            }
        }
    }
    places
}

/// A redaction removes everything derived from the messages. A second one finds nothing to do, and
/// other data stays.
async fn what_is_redacted_is_gone(name: &str, store: &Arc<dyn Store>, user: &UserId) {
    let planted = PlantedChat::new(store, user, "redacted").await;
    assert!(places(&**store, user).await.len() >= 2, "{name}: nothing was planted");
    let report = planted.redact().await;
    assert_eq!(places(&**store, user).await, BTreeSet::new(), "{name}: {report:?}");
    assert!(report.is_complete(), "{name}: {report:?}");
    assert_eq!(report.messages, planted.messages().len() as u64, "{name}");
    assert_eq!(report.titles, 1, "{name}");
    let expected = |is_there: bool, n: u64| if is_there { n } else { 0 };
    assert_eq!(report.blobs, expected(store.blobs().is_some(), 1), "{name}");
    assert_eq!(report.streams, expected(store.streams().is_some(), 1), "{name}");
    assert_eq!(report.nodes, expected(store.trajectories().is_some(), 2), "{name}");
    assert_eq!(report.memories, expected(store.memories().is_some(), 2), "{name}");
    if let Some(trajectories) = store.trajectories() {
        let nodes =
            trajectories.nodes_of_message(user, &"redacted".into(), &"said".into()).await.unwrap();
        assert_eq!(nodes.len(), 2, "{name}: the nodes stand where they stood");
        let record = trajectories.load_rounds(&nodes[0].agent, 0..=0).await.unwrap().remove(0);
        assert_eq!((record.nodes.len(), record.head.nodes), (2, 2), "{name}");
        assert_eq!(record.edges.len(), 1, "{name}: and lead where they led");
        assert_eq!(record.head.query, Some(0), "{name}");
    }
    if let Some(maintenance) = store.maintenance() {
        let checked = maintenance.check(&CancelSignal::never()).await.unwrap();
        assert_eq!(checked.findings, [], "{name}");
    }
    let again = planted.redact().await;
    assert_eq!(
        (again.nodes, again.memories, again.blobs, again.streams, again.titles),
        (0, 0, 0, 0, 0)
    );
    assert!(
        delete_chat(&**store, &planted.chat, None, &options()).await.unwrap().is_complete(),
        "{name}"
    );
}

/// Unlinked copies are not changed but reported.
async fn copies_are_named(name: &str, store: &Arc<dyn Store>, user: &UserId) {
    let planted = PlantedChat::new(store, user, "original").await;
    let builder = || ContextEngine::builder(Arc::clone(store)).user(user.clone()).chat("copy");
    let mut copy = builder().open().await.unwrap();
    copy.set([assistant(format!("You once said: \"{SENTENCE}\"")).with_id("quote")]);
    let _saved = copy.save().await.unwrap();
    let other = ChatRef::new(user.clone(), "copy");
    if let Some(blobs) = store.blobs() {
        blobs.put_blob(&other, NewBlob::new(SENTENCE, now())).await.unwrap();
    }
    if let Some(memories) = store.memories() {
        let record =
            MemoryRecord::new(MemoryScope::new(user.clone()), "note", "note", now(), SENTENCE);
        let _written = memories.write_memories(&[MemoryWrite::new(record, WORD)]).await.unwrap();
    }
    let body = |text: &'static str| StoredFragment {
        id: Some("rule".into()),
        metadata: Metadata::default(),
        body: Encoded::new("test/note", 1, text),
    };
    for text in [SENTENCE, "Be brief."] {
        store.fragments().put_fragments(&other, &[body(text)], now()).await.unwrap();
    }
    let report = planted.redact().await;
    let named: BTreeSet<_> = report.remaining.iter().map(|left| left.kind).collect();
    let mut expected = BTreeSet::from([RemainingKind::Message]);
    expected.extend(store.blobs().map(|_| RemainingKind::Blob));
    expected.extend(store.memories().map(|_| RemainingKind::Memory));
    expected.extend(store.fragment_log().map(|_| RemainingKind::Fragment));
    if let Some(log) = store.fragment_log() {
        assert_eq!(log.clear_fragment_log(&other).await.unwrap(), 1, "{name}");
        let cleared = log.fragment_log(&other).await.unwrap();
        let bodies = cleared.versions().iter().filter_map(|version| version.fragment.as_ref());
        assert!(
            bodies.map(|it| &it.body.bytes()[..]).eq([&b"Be brief."[..]]),
            "{name}: {cleared:?}"
        );
    }
    assert_eq!(named, expected, "{name}: {:?}", report.remaining);
    assert!(
        report
            .remaining
            .iter()
            .any(|left| left.to_string() == "message quote of chat copy: says the same")
    );
    let mut shown = builder().open().await.unwrap();
    assert!(
        shown.resolve().await.unwrap().messages[0].message().unwrap().plain_text().contains(WORD)
    );
}

/// Deleting a chat removes what was derived from it, and keeps what was derived from another.
async fn what_came_from_a_deleted_chat_is_gone(name: &str, store: &Arc<dyn Store>, user: &UserId) {
    let planted = PlantedChat::new(store, user, "deleted").await;
    let kept = delete_chat(&**store, &planted.chat, Some(Timestamp::from_micros(0)), &options())
        .await
        .unwrap();
    assert_eq!(kept, RemovalReport::default(), "{name}: it was written to since then");
    let report = delete_chat(&**store, &planted.chat, None, &options()).await.unwrap();
    assert_eq!(places(&**store, user).await, BTreeSet::new(), "{name}: {report:?}");
    assert_eq!(report.chats, 1, "{name}");
    assert_eq!(report.rounds, u64::from(store.trajectories().is_some()), "{name}");
    assert_eq!(report.memories, 2 * u64::from(store.memories().is_some()), "{name}");
    let again = delete_chat(&**store, &planted.chat, None, &options()).await.unwrap();
    assert_eq!(again.removed().count(), 0, "{name}: {again:?}");
}

/// The process ended after the chat was deleted and before its rounds and memories were.
async fn an_interrupted_deletion_is_finished(name: &str, store: &Arc<dyn Store>, user: &UserId) {
    let planted = PlantedChat::new(store, user, "interrupted").await;
    assert!(store.history().delete_chat(&planted.chat, None).await.unwrap());
    let report = delete_chat(&**store, &planted.chat, None, &options()).await.unwrap();
    assert_eq!(places(&**store, user).await, BTreeSet::new(), "{name}: {report:?}");
    assert_eq!(report.chats, 0, "{name}");
}

async fn nothing_of_an_erased_user_is_left(name: &str, store: &Arc<dyn Store>, user: &UserId) {
    let _planted = PlantedChat::new(store, user, "erased").await;
    let report = erase_user(&**store, user, &options()).await.unwrap();
    assert!(report.is_complete() && report.chats > 0, "{name}: {report:?}");
    assert_eq!(places(&**store, user).await, BTreeSet::new(), "{name}");
}

async fn all_is_taken_back(name: &str, store: &Arc<dyn Store>) {
    let user = UserId::from(format!("taken-back-{}", std::process::id()));
    what_is_redacted_is_gone(name, store, &user).await;
    what_came_from_a_deleted_chat_is_gone(name, store, &user).await;
    an_interrupted_deletion_is_finished(name, store, &user).await;
    copies_are_named(name, store, &user).await;
    nothing_of_an_erased_user_is_left(name, store, &user).await;
}

#[tokio::test]
async fn what_is_taken_back_is_gone_wherever_it_got_to() {
    let folder = tempfile::tempdir().unwrap();
    for (name, store) in erasure::named_stores(folder.path()).await {
        all_is_taken_back(name, &store).await;
    }
}

#[cfg(all(feature = "postgres", feature = "redis"))]
#[tokio::test]
#[ignore = "needs PostgreSQL and Redis; `cargo xtask test` runs it"]
async fn what_is_taken_back_is_gone_from_every_server() {
    let servers = crate::servers::Servers::open("removal").await;
    for (name, store) in &servers.stores {
        all_is_taken_back(name, store).await;
    }
    servers.clear().await;
}

/// Searches every byte of the SQLite file and of its side files.
#[cfg(feature = "sqlite")]
#[tokio::test]
async fn nothing_of_a_redacted_message_is_in_the_files_after_a_vacuum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("context.db");
    let store = context_runtime::open(&format!("sqlite:{}", path.display())).await.unwrap();
    let user = UserId::from("ada");
    let planted = PlantedChat::new(&store, &user, "redacted").await;
    let report = planted.redact().await;
    assert!(report.is_complete(), "{report:?}");
    store.maintenance().unwrap().vacuum().await.unwrap();
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!bytes.windows(WORD.len()).any(|at| at == WORD.as_bytes()), "{}", path.display());
    }
}

/// The story of a long result whose blob was stored while the reply was lost: the result stayed in
/// its message, and a redaction of the message left the blob, which nothing referred to.
#[tokio::test]
async fn a_blob_without_a_reference_goes_with_the_result_that_it_has() {
    let store = context_runtime::open("mem:").await.unwrap();
    let chat = ChatRef::new("ada", "trip");
    let long = format!("{SENTENCE}\n").repeat(50);
    let builder = ContextEngine::builder(Arc::clone(&store)).user("ada").chat("trip");
    let mut engine = builder.open().await.unwrap();
    engine.set([user("What does it say?").with_id("asked")]);
    let _saved = engine.save().await.unwrap();
    let call = Part::tool_call("c1", "read", serde_json::json!({}));
    let result = Part::tool_result("c1", long.as_str());
    let nodes = vec![
        Arc::new(Node::new("call", Message::new(Role::Assistant, [call]), now())),
        Arc::new(Node::new("result", Message::new(Role::Tool, [result]), now())),
    ];
    let target = Target::Extend { branch: "main".into(), expected: Some("asked".into()) };
    let commit = Commit { nodes, ..Commit::new(chat.clone(), target, now()) };
    assert!(store.history().commit(commit).await.unwrap().committed().is_some());
    let spill = Spill::new(Arc::clone(&store)).unwrap();
    let blob = spill.put(&chat, long, "text/plain").await.unwrap();
    let other = spill.put(&chat, format!("{SENTENCE}, says Ines"), "text/plain").await.unwrap();
    let messages = [MessageId::from("result")];
    let report =
        redact_messages(&*store, &chat, &messages, Redaction::Words, &options()).await.unwrap();
    assert_eq!(report.blobs, 1);
    let blobs = store.blobs().unwrap();
    assert!(blobs.blob(&chat, &blob.id).await.unwrap().is_none());
    assert!(blobs.blob(&chat, &other.id).await.unwrap().is_some(), "another text is named only");
}
