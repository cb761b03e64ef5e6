//! Whole chats from store to store and through files: nothing is lost, and damage is reported.

mod damaged;
mod told;

use std::io::Cursor;
use std::sync::Arc;

use context_runtime::transfer::{
    ChatOutcome, ImportJsonl, ImportedJsonl, check_jsonl, copy_chat, export_jsonl, import_jsonl,
    is_jsonl,
};
use context_runtime::{
    CancelSource, ChatRef, ErrorKind, Message, MessageId, Metadata, Part, Result, Role, Store,
    Timestamp,
    fragments::Encoded,
    store::{
        Commit, CommitOutcome, ForkName, HistoryStore, NewBlob, NewChat, Node, NodeKind,
        StoredFragment, Target,
    },
};
use proptest::prelude::*;
use tokio::runtime::Runtime;

use crate::kit::store;

pub(super) fn chat(name: &str) -> ChatRef {
    ChatRef::new("ada", name)
}

async fn export(store: &dyn Store, chats: &[&str]) -> String {
    let chats: Vec<_> = chats.iter().map(|name| chat(name)).collect();
    let (mut out, cancel) = (Vec::new(), CancelSource::new().signal());
    let done = export_jsonl(store, &chats, &mut out, &cancel, &mut |_| {}).await.unwrap();
    assert_eq!(done.chats, chats.len() as u64);
    String::from_utf8(out).unwrap()
}

async fn import(store: &dyn Store, text: &str, options: &ImportJsonl) -> Result<ImportedJsonl> {
    let cancel = CancelSource::new().signal();
    import_jsonl(store, &mut Cursor::new(text), options, &cancel, &mut |_| {}).await
}

fn lenient() -> ImportJsonl {
    ImportJsonl::new("ada")
}

pub(super) async fn sound(store: &dyn Store) {
    let report = store.maintenance().unwrap().check(&CancelSource::new().signal()).await.unwrap();
    assert_eq!(report.findings, []);
}

/// A step in the creation of a random chat.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Extend(u16, u8),
    Fork(u16, u8),
    Amend(u16),
    Redact(u16),
    Checkpoint(u16),
    Activate(u16),
    Rename(u16),
    Delete(u16),
    Fragment(u8),
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<u16>;
    let step = prop_oneof![
        6 => (index(), 1u8..5).prop_map(|(i, n)| Step::Extend(i, n)),
        3 => (index(), 0u8..4).prop_map(|(i, n)| Step::Fork(i, n)),
        1 => index().prop_map(Step::Amend),
        1 => index().prop_map(Step::Redact),
        1 => index().prop_map(Step::Checkpoint),
        1 => index().prop_map(Step::Activate),
        1 => index().prop_map(Step::Rename),
        1 => index().prop_map(Step::Delete),
        1 => any::<u8>().prop_map(Step::Fragment),
    ];
    prop::collection::vec(step, 0..30)
}

struct ChatMaker<'a> {
    history: &'a dyn HistoryStore,
    chat: ChatRef,
    made: u32,
    messages: Vec<MessageId>,
}

impl ChatMaker<'_> {
    fn now(&mut self) -> Timestamp {
        self.made += 1;
        Timestamp::from_micros(i64::from(self.made))
    }

    /// Returns messages with bodies of all kinds.
    fn nodes(&mut self, n: u8) -> Vec<Arc<Node>> {
        let mut nodes = Vec::new();
        for _ in 0..n {
            let at = self.now();
            let id = MessageId::from(format!("m{}", self.made));
            let kind = NodeKind::Message(Role::User);
            let node = match self.made % 5 {
                0 => {
                    let body = Encoded::new("x", 2, vec![0, 255, 10, 13]);
                    Node::from_encoded(id.clone(), NodeKind::Boundary, at, body)
                }
                1 => {
                    let body = Encoded::new("message", 1, "{ \"parts\":\n[], \"role\": \"user\" }");
                    Node::from_encoded(id.clone(), kind, at, body)
                }
                2 => Node::from_encoded(
                    id.clone(),
                    NodeKind::Boundary,
                    at,
                    Encoded::new("cut", 1, "[1.0]"),
                ),
                _ => Node::new(
                    id.clone(),
                    Message::new(Role::Assistant, [Part::text("é\u{0}\n")]),
                    at,
                )
                .with_tokens(7),
            };
            self.messages.push(id);
            nodes.push(Arc::new(node));
        }
        nodes
    }

    async fn commit(&self, commit: Commit) {
        let outcome = self.history.commit(commit).await.unwrap();
        assert!(matches!(outcome, CommitOutcome::Applied(_)), "{outcome:?}");
    }

    async fn step(&mut self, store: &dyn Store, step: Step) {
        let branches = self.history.branches(&self.chat).await.unwrap();
        let at = self.now();
        let branch = |index: u16| &branches[usize::from(index) % branches.len()];
        let any = |messages: &[MessageId], index: u16| {
            (!messages.is_empty()).then(|| messages[usize::from(index) % messages.len()].clone())
        };
        let stay = Commit::new(self.chat.clone(), Target::Stay, at);
        match step {
            Step::Extend(index, n) => {
                let branch = branch(index);
                let target =
                    Target::Extend { branch: branch.name.clone(), expected: branch.head.clone() };
                let nodes = self.nodes(n);
                self.commit(Commit { nodes, ..Commit::new(self.chat.clone(), target, at) }).await;
            }
            Step::Fork(index, n) => {
                let name = ForkName::Exact(format!("b{}", self.made).into());
                let target =
                    Target::Fork { name, at: any(&self.messages, index), activate: n == 0 };
                let nodes = self.nodes(n);
                self.commit(Commit { nodes, ..Commit::new(self.chat.clone(), target, at) }).await;
            }
            Step::Amend(index) | Step::Redact(index) => {
                let Some(id) = any(&self.messages, index) else { return };
                let node = Arc::new(Node::new(id, Message::from("amended"), at));
                let nodes = vec![node];
                let commit = match step {
                    Step::Amend(_) => Commit { amendments: nodes, ..stay },
                    _ => Commit { redactions: nodes, ..stay },
                };
                self.commit(commit).await;
            }
            Step::Checkpoint(index) => {
                let Some(id) = any(&self.messages, index) else { return };
                let name = format!("p{}", self.made % 3).into();
                self.history.set_checkpoint(&self.chat, &name, &id, at).await.unwrap();
            }
            Step::Activate(index) => {
                self.history.activate_branch(&self.chat, &branch(index).name, at).await.unwrap();
            }
            Step::Rename(index) => {
                let to = format!("r{}", self.made).into();
                self.history.rename_branch(&self.chat, &branch(index).name, &to, at).await.unwrap();
            }
            Step::Delete(index) => {
                let branch = branch(index);
                if !branch.active {
                    let head = branch.head.as_ref();
                    let _deleted = self
                        .history
                        .delete_branch(&self.chat, &branch.name, head, at)
                        .await
                        .unwrap();
                }
            }
            Step::Fragment(n) => {
                let id = (n % 2 == 0).then(|| format!("f{}", n % 5).into());
                let body = Encoded::new("note", 1, vec![n]);
                let fragment = StoredFragment {
                    id,
                    metadata: Metadata::default().with("n", i64::from(n)),
                    body,
                };
                store.fragments().put_fragments(&self.chat, &[fragment], at).await.unwrap();
            }
        }
        let stored = self.history.messages(&self.chat, &self.messages).await.unwrap();
        let mut stored = stored.into_iter();
        self.messages.retain(|_| stored.next().flatten().is_some());
    }
}

pub(super) async fn make(store: &dyn Store, name: &str, steps: Vec<Step>) {
    let mut new = NewChat::new(chat(name), Timestamp::from_micros(0));
    new.title = Some("A title\n".into());
    new.metadata = Metadata::default().with("k", serde_json::json!({"a": [1.5]}));
    let _created = store.history().create_chat(new).await.unwrap();
    let mut maker =
        ChatMaker { history: store.history(), chat: chat(name), made: 0, messages: Vec::new() };
    for step in steps {
        maker.step(store, step).await;
    }
}

/// Returns the chat without its name.
async fn content(store: &dyn Store, name: &str) -> String {
    export(store, &[name]).await.replacen(&format!("{name:?}"), "_", 1)
}

/// Returns the lines, messages sorted: their order, parents first, depends on the store.
#[cfg(feature = "sqlite")]
fn in_order(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut messages, others): (Vec<_>, Vec<_>) =
        text.lines().partition(|line| line.starts_with("{\"type\":\"message\""));
    messages.sort_unstable();
    (others, messages)
}

#[cfg(feature = "sqlite")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Each store exports the same chat, whichever it was made in.
    #[test]
    fn stores_of_different_kinds_hold_the_same_chat(steps in steps()) {
        Runtime::new().unwrap().block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
            let sqlite = context_runtime::open(&url("made.db")).await.unwrap();
            make(&*sqlite, "c", steps).await;
            let text = export(&*sqlite, &["c"]).await;
            let (memory, other) = (store().await,
                context_runtime::open(&url("other.db")).await.unwrap());
            for target in [&memory, &other] {
                let imported = import(&**target, &text,
                    &ImportJsonl { strict: true, ..lenient() }).await.unwrap();
                assert_eq!(imported.broken, []);
                assert_eq!(in_order(&export(&**target, &["c"]).await), in_order(&text));
                sound(&**target).await;
            }
        });
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn any_chat_arrives_as_it_was(steps in steps()) {
        Runtime::new().unwrap().block_on(async {
            let (store, other) = (store().await, store().await);
            make(&*store, "c", steps).await;
            let text = export(&*store, &["c"]).await;
            let imported = import(&*other, &text,
                &ImportJsonl { strict: true, ..lenient() }).await.unwrap();
            assert_eq!(imported.broken, []);
            let cancel = CancelSource::new().signal();
            check_jsonl(&mut Cursor::new(&text), &cancel).unwrap();
            assert!(is_jsonl(text.lines().next().unwrap().as_bytes()));
            assert_eq!(export(&*other, &["c"]).await, text);
            sound(&*other).await;
            let cancel = CancelSource::new().signal();
            let copied = copy_chat(&*store, &chat("c"), &*store, &chat("copy"),
                &cancel).await.unwrap();
            assert_eq!(copied.diagnostics, []);
            assert_eq!(content(&*store, "copy").await, content(&*store, "c").await);
            sound(&*store).await;
        });
    }

    #[test]
    fn a_chat_with_a_broken_line_is_refused_and_the_others_come(
        steps in steps(), broken in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
            cut: prop::sample::Index,
    ) {
        Runtime::new().unwrap().block_on(async {
            let (store, other) = (store().await, store().await);
            make(&*store, "c", steps).await;
            let text = export(&*store, &["c"]).await;
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            // The line of the chat itself stays: without it there is nothing to import.
            for index in &broken {
                let line = 1 + index.index(lines.len() - 1);
                let at = cut.index(lines[line].len() + 1);
                let at = (0..=at).rev().find(|at| lines[line].is_char_boundary(*at)).unwrap_or(0);
                lines[line] = format!("{}?", &lines[line][..at]);
            }
            let text = lines.join("\n");
            let cancel = CancelSource::new().signal();
            assert_eq!(check_jsonl(&mut Cursor::new(&text), &cancel).unwrap_err().kind(),
                ErrorKind::Invalid);
            let strict = import(&*other, &text, &ImportJsonl { strict: true, ..lenient() }).await;
            assert_eq!(strict.unwrap_err().kind(), ErrorKind::Invalid);
            assert_eq!(other.history().chat(&chat("c")).await.unwrap(), None, "nothing is kept");
            make(&*store, "d", vec![Step::Extend(0, 3)]).await;
            let whole = export(&*store, &["d"]).await;
            let imported = import(&*other, &format!("{text}\n{whole}"), &lenient()).await.unwrap();
            assert!(!imported.broken.is_empty());
            let outcomes: Vec<_> =
                imported.chats.iter().map(|chat| chat.written().is_some()).collect();
            assert_eq!(outcomes, [false, true]);
            assert_eq!(imported.chats[0].outcome, ChatOutcome::Refused);
            assert_eq!(other.history().chat(&chat("c")).await.unwrap(), None, "nothing of it is written");
            sound(&*other).await;
        });
    }
}

#[tokio::test]
async fn a_chat_that_is_there_is_left_as_it_is() {
    let store = store().await;
    make(&*store, "c", Vec::new()).await;
    let text = export(&*store, &["c"]).await;
    let imported = import(&*store, &text, &lenient()).await.unwrap();
    assert_eq!(imported.chats[0].outcome, ChatOutcome::Exists);
    let named = ImportJsonl { chat: Some("other".into()), ..lenient() };
    let imported = import(&*store, &text, &named).await.unwrap();
    assert_eq!(imported.chats[0].chat, chat("other"));
    assert!(imported.chats[0].written().is_some());
    let named = ImportJsonl { chat: Some("third".into()), ..lenient() };
    let error = import(&*store, &format!("{text}{text}"), &named).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(store.history().chat(&chat("third")).await.unwrap(), None);
    let cancel = CancelSource::new().signal();
    let error = copy_chat(&*store, &chat("c"), &*store, &chat("other"), &cancel).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

/// A process may end in the middle of an import. The incomplete chat is not used, and the next
/// import replaces it.
#[tokio::test]
async fn an_import_that_ended_early_is_begun_again() {
    let (store, other) = (store().await, store().await);
    let fill = (0..40).map(|i| Step::Fork(i, 3)).collect();
    make(&*store, "c", fill).await;
    let text = export(&*store, &["c"]).await;
    let half: String = text.lines().take(60).map(|line| format!("{line}\n")).collect();
    let mut writer = None;
    {
        use context_runtime::transfer::{ChatReader, ChatRecord, ChatWriter};
        let mut reader = ChatReader::open(&*store, &chat("c")).await.unwrap();
        for _ in half.lines() {
            match (reader.next().await.unwrap().unwrap(), &mut writer) {
                (ChatRecord::Chat(source), _) => {
                    writer = ChatWriter::create(&*other, chat("c"), &source).await.unwrap();
                }
                (record, Some(writer)) => writer.push(record).await.unwrap(),
                _ => unreachable!("the chat comes first"),
            }
        }
    }
    drop(writer);
    let imported = import(&*other, &text, &lenient()).await.unwrap();
    assert!(imported.chats[0].written().is_some());
    assert_eq!(export(&*other, &["c"]).await, text);
}

/// Returns a store with two chats of one user that share a blob; each also has one of its own.
async fn with_blobs() -> Arc<dyn Store> {
    let store = store().await;
    let blobs = store.blobs().unwrap();
    let at = Timestamp::from_micros;
    for (name, own) in [("c", "own of c"), ("d", "own of d")] {
        make(&*store, name, vec![Step::Extend(0, 3)]).await;
        blobs.put_blob(&chat(name), NewBlob::new(own, at(10))).await.unwrap();
        let shared = NewBlob::new(vec![0, 159, 146, 150], at(20)).media_type("image/x");
        let shared = blobs.put_blob(&chat(name), shared).await.unwrap().id;
        blobs.read_blob(&chat(name), &shared, 0..1, Some(at(30))).await.unwrap();
    }
    store
}

#[tokio::test]
async fn blobs_travel_with_their_chat() {
    let (from, to) = (with_blobs().await, store().await);
    let text = export(&*from, &["c"]).await;
    let _imported = import(&*to, &text, &lenient()).await.unwrap();
    assert_eq!(export(&*to, &["c"]).await, text);
    let cancel = CancelSource::new().signal();
    let _copied = copy_chat(&*from, &chat("d"), &*to, &chat("d"), &cancel).await.unwrap();
    for (store, name) in [(&to, "c"), (&to, "d"), (&from, "c")] {
        let listed = store.blobs().unwrap().blobs(&chat(name), 10, None).await.unwrap().items;
        let mut seen: Vec<_> = listed
            .iter()
            .map(|blob| {
                let times = (blob.created_at.as_micros(), blob.used_at.as_micros());
                (blob.bytes, blob.media_type.as_deref(), blob.references, times)
            })
            .collect();
        seen.sort();
        assert_eq!(seen, [(4, Some("image/x"), 2, (20, 30)), (8, None, 1, (10, 10))], "{name}");
    }
    sound(&*to).await;
}

#[tokio::test]
async fn a_broken_blob_is_named_and_costs_its_chat() {
    let store = store().await;
    let text = export(&*with_blobs().await, &["c"]).await;
    // Bytes that do not match the name, and letters that are not Base64.
    for broken in [text.replace("AJ+Slg==", "AJ+Slw=="), text.replace("AJ+Slg==", "no bytes")] {
        let imported = import(&*store, &broken, &lenient()).await.unwrap();
        assert_eq!(imported.broken.len(), 1, "{:?}", imported.broken);
        assert_eq!(imported.chats[0].outcome, ChatOutcome::Refused);
        assert_eq!(store.history().chat(&chat("c")).await.unwrap(), None);
    }
}

/// Files of chats contain no rounds, memories or streams. They are counted, so that a part is not
/// taken for the whole.
#[cfg(feature = "trajectory")]
#[tokio::test]
async fn what_does_not_travel_is_counted() {
    use context_runtime::memory::MemoryScope;
    use context_runtime::store::{MemoryRecord, MemorySource, MemoryWrite};
    use context_runtime::trajectory::{AgentRef, NewQuery, OpenOptions, Trajectories};
    use context_runtime::transfer::LeftBehind;

    let store = store().await;
    make(&*store, "c", vec![Step::Extend(0, 3)]).await;
    assert_eq!(LeftBehind::of_chat(&*store, &chat("c")).await.unwrap(), LeftBehind::default());
    let at = Timestamp::from_micros(1);
    for session in ["c", "elsewhere"] {
        let trajectories = Trajectories::new(Arc::clone(&store)).unwrap();
        let round = AgentRef::main("ada", session).round(0);
        let open = trajectories.open(&round, OpenOptions::new()).await.unwrap();
        open.ask(NewQuery::new("why?")).await.unwrap();
        let mut memory = MemoryRecord::new(MemoryScope::new("ada"), session, "fact", at, "warm");
        memory.source = Some(MemorySource::session(session));
        let _written = store
            .memories()
            .unwrap()
            .write_memories(&[MemoryWrite::new(memory, "warm")])
            .await
            .unwrap();
    }
    let stream = store.streams().unwrap().create_stream(&chat("c"), &"s".into(), at).await.unwrap();
    assert!(stream.is_done());
    let fragment = |text: &'static str| StoredFragment {
        id: Some("f".into()),
        metadata: Metadata::default(),
        body: Encoded::new("hint", 1, text),
    };
    for text in ["earlier", "present"] {
        let fragments = [fragment(text)];
        store.fragments().put_fragments(&chat("c"), &fragments, at).await.unwrap();
    }
    let counts =
        |left: LeftBehind| (left.rounds, left.memories, left.streams, left.fragment_versions);
    assert_eq!(counts(LeftBehind::of_chat(&*store, &chat("c")).await.unwrap()), (1, 1, 1, 1));
    assert_eq!(counts(LeftBehind::of_user(&*store, &"ada".into()).await.unwrap()), (2, 2, 1, 1));
    assert_eq!(counts(LeftBehind::of_user(&*store, &"eve".into()).await.unwrap()), (0, 0, 0, 0));
}

#[tokio::test]
async fn a_name_is_for_the_only_chat_of_a_file() {
    let (from, to) = (store().await, store().await);
    for name in ["a", "b"] {
        make(&*from, name, Vec::new()).await;
    }
    let options = ImportJsonl { chat: Some("x".into()), ..lenient() };
    let error = import(&*to, &export(&*from, &["a", "b"]).await, &options).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(to.history().chat(&chat("x")).await.unwrap(), None, "nothing is written");
    let imported = import(&*to, &export(&*from, &["a"]).await, &options).await.unwrap();
    assert_eq!(imported.chats.len(), 1);
    assert!(to.history().chat(&chat("x")).await.unwrap().is_some());
}
