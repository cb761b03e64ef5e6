//! Forks into new chats.

use std::sync::Arc;

use context_runtime::{
    ChatRef, ContextEngine, DiagnosticCode, Edits, ErrorKind, ForkedFrom, Json, Metadata, Store,
    Timestamp, hint,
    instructions::{Predicate, reminder},
    lazy, role,
    store::{Chat, ChatPatch, ChatQuery, NewBlob, NewChat, StoredFragment, TitleChange},
    transfer::ChatWriter,
    user,
};
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

use crate::compactions::{KEEP_ENDS, compact};
use crate::kit::{builder, engine, say, shown, store, with_messages};

/// Returns the names of all chats of the user.
async fn chats(store: &Arc<dyn Store>) -> Vec<String> {
    let page = store.history().list_chats(&ChatQuery::new("ada")).await.unwrap();
    page.items.into_iter().map(|summary| summary.chat.chat.chat.to_string()).collect()
}

async fn checkpoints(engine: &ContextEngine) -> Vec<String> {
    let found = engine.store().history().checkpoints(engine.chat_ref()).await.unwrap();
    found
        .into_iter()
        .map(|checkpoint| format!("{}: {}", checkpoint.name, checkpoint.message))
        .collect()
}

async fn origin(engine: &ContextEngine) -> ForkedFrom {
    ForkedFrom::of(&engine.chat().await.unwrap()).unwrap()
}

#[tokio::test]
async fn a_fork_has_the_history_and_context_of_its_source_and_leaves_it_alone() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    chat.set([role("Guide"), hint("EUR").persisted(), hint("Not stored")]);
    chat.set([say("a1", "amended")]).save_with(Edits::Amend).await.unwrap();
    chat.checkpoint("end").await.unwrap();
    let metadata = Metadata::default().with("team", "travel");
    let title = TitleChange::Set("Lisbon".into());
    chat.update_chat(&ChatPatch { title, set: metadata, ..ChatPatch::default() }).await.unwrap();
    chat.track_usage(Json::from(7_i64)).await.unwrap();
    chat.set([say("p1", "pending")]);
    let prompt = chat.resolve().await.unwrap().system_prompt.to_string();
    let before = chat.graph().await.unwrap();

    let mut fork = chat.fork("c2").await.unwrap();
    let expected = ["u1: text u1", "a1: amended", "u2: text u2", "a2: text a2"];
    assert_eq!(shown(&mut fork).await, expected);
    assert_eq!(fork.resolve().await.unwrap().system_prompt, prompt, "the same prefix");
    assert_eq!((fork.chat_ref(), fork.branch().as_str()), (&ChatRef::new("ada", "c2"), "main"));
    assert_eq!(checkpoints(&fork).await, ["end: a2"]);
    let history = store.history();
    let revisions = history.revisions(fork.chat_ref(), &"a1".into()).await.unwrap();
    assert_eq!(revisions[0].node.message().unwrap().plain_text(), "text a1");
    let new = fork.chat().await.unwrap();
    assert_eq!(new.title.as_deref(), Some("Lisbon"));
    let keys: Vec<_> = new.metadata.iter().map(|(key, _)| key.to_owned()).collect();
    assert_eq!(keys, ["team", "forked_from"], "neither usage nor a mark of the writer");
    let from = origin(&fork).await;
    assert_eq!((from.chat.as_str(), from.branch.as_str()), ("c", "main"));
    assert_eq!(from.message, Some("a2".into()));

    // Each goes on by itself.
    fork.set([say("f1", "in the fork"), hint("Fork only").persisted()]);
    fork.save().await.unwrap();
    assert_eq!(chat.graph().await.unwrap(), before);
    assert_eq!(chat.resolve().await.unwrap().system_prompt, prompt);
    assert_eq!(chat.pending().collect::<Vec<_>>(), ["p1"]);
    let stored = store.fragments().fragments(fork.chat_ref()).await.unwrap();
    assert_eq!(stored.len(), 2, "what was stored is not stored again");
    chat.save().await.unwrap();
    assert_eq!(shown(&mut fork).await.len(), 5);
}

#[tokio::test]
async fn a_fork_at_a_message_ends_there() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    chat.checkpoint("late").await.unwrap();
    let mut fork = chat.fork_at("c2", &"a1".into()).await.unwrap();
    assert_eq!(shown(&mut fork).await, ["u1: text u1", "a1: text a1"]);
    assert!(checkpoints(&fork).await.is_empty());
    assert_eq!(origin(&fork).await.message, Some("a1".into()));

    // A message of another branch is not on this one.
    let mut aside = builder(&store).open().await.unwrap();
    aside.rewind(&"u1".into()).await.unwrap();
    let error = aside.fork_at("c3", &"a2".into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let fork = aside.fork("c3").await.unwrap();
    assert_eq!(origin(&fork).await.branch.as_str(), "main-v2");
    let mut names = chats(&store).await;
    names.sort();
    assert_eq!(names, ["c", "c2", "c3"]);
}

#[tokio::test]
async fn a_fork_into_a_chat_that_exists_is_refused_and_writes_nothing() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1"]).await;
    let mut other = builder(&store).chat("other").open().await.unwrap();
    other.set([say("x", "other")]).save().await.unwrap();
    let before = other.graph().await.unwrap();
    for name in ["other", "c"] {
        assert_eq!(chat.fork(name).await.unwrap_err().kind(), ErrorKind::Invalid);
        assert_eq!(chat.fork_empty(name).await.unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert_eq!(chat.fork("").await.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(other.graph().await.unwrap(), before);
    assert_eq!(shown(&mut chat).await, ["u1: text u1"]);
    assert_eq!(chats(&store).await.len(), 2);
}

/// A process may end in the middle of a fork.
#[tokio::test]
async fn a_fork_that_ended_early_is_made_again() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    let new = NewChat::new(ChatRef::new("ada", "c2"), Timestamp::from_micros(5));
    let mut left = Chat::new(new.clone());
    left.metadata = Metadata::default().with("left", "x");
    drop(ChatWriter::create(&*store, new.chat, &left).await.unwrap().unwrap());
    let mut fork = chat.fork("c2").await.unwrap();
    assert_eq!(shown(&mut fork).await, ["u1: text u1", "a1: text a1"]);
    assert!(fork.chat().await.unwrap().metadata.get("left").is_none());
}

#[tokio::test]
async fn a_fork_that_fails_is_deleted() {
    let inner = store().await;
    let _seed = with_messages(&inner, &["u1", "a1"]).await;
    let plan = FaultPlan::default().with(Operation::Commit, 0, Fault::BeforeApply);
    let faulty: Arc<dyn Store> = Arc::new(FaultStore::new(Arc::clone(&inner), plan));
    let mut chat = builder(&faulty).open().await.unwrap();
    assert_eq!(chat.fork("c2").await.unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(chats(&inner).await, ["c"]);
    assert_eq!(shown(&mut chat.fork("c2").await.unwrap()).await.len(), 2);
}

#[tokio::test]
async fn compactions_and_the_blobs_that_messages_name_go_along() {
    let store = store().await;
    let blobs = store.blobs().unwrap();
    let mut chat = with_messages(&store, &["u1", "a1", "u2", "a2"]).await;
    let mut named = Vec::new();
    for text in ["a long log", "another log"] {
        let new = NewBlob::new(text, Timestamp::from_micros(3)).media_type("text/plain");
        named.push(blobs.put_blob(chat.chat_ref(), new).await.unwrap().id);
    }
    chat.set([say("u3", &format!("kept as {}", named[0].to_reference()))]).save().await.unwrap();
    compact(&mut chat, &[KEEP_ENDS[0], KEEP_ENDS[1], (Some(4), None)]).await;
    chat.set([say("u4", &format!("kept as {}", named[1].to_reference()))]).save().await.unwrap();
    let expected = shown(&mut chat).await;

    let mut fork = chat.fork("c2").await.unwrap();
    assert_eq!(shown(&mut fork).await, expected);
    assert_eq!(fork.compactions().await.unwrap().len(), 1);
    let mut early = chat.fork_at("c3", &"u3".into()).await.unwrap();
    assert_eq!(shown(&mut early).await.len(), 5, "the compaction came later");
    for (fork, expected) in [(&fork, &named[..]), (&early, &named[..1])] {
        let page = blobs.blobs(fork.chat_ref(), 10, None).await.unwrap();
        let mut ids: Vec<_> = page.items.iter().map(|blob| &blob.id).collect();
        let mut expected: Vec<_> = expected.iter().collect();
        ids.sort();
        expected.sort();
        assert_eq!(ids, expected);
    }
    fork.undo_compaction().await.unwrap();
    assert_eq!(shown(&mut fork).await.len(), 6);
}

#[tokio::test]
async fn an_empty_fork_has_the_context_alone() {
    let store = store().await;
    let mut chat = with_messages(&store, &["u1", "a1"]).await;
    let update =
        ChatPatch { set: Metadata::default().with("team", "travel"), ..ChatPatch::default() };
    chat.update_chat(&update).await.unwrap();
    chat.set([role("Guide").persisted(), hint("EUR")]).save().await.unwrap();
    chat.remind([reminder("Be brief.").when(Predicate::every_n_turns(1)).build().unwrap()]);
    let mut fork = chat.fork_empty("c2").await.unwrap();
    let turn = fork.resolve().await.unwrap();
    assert_eq!(turn.system_prompt, "<role>Guide</role>\n<hint>EUR</hint>");
    assert!(turn.messages.is_empty());
    let from = origin(&fork).await;
    assert_eq!((from.chat.as_str(), from.message), ("c", None));
    assert!(fork.chat().await.unwrap().metadata.get("team").is_none());
    fork.set([user("x")]).save().await.unwrap();
    assert_eq!(shown(&mut fork).await, ["#2: x<system-reminder>Be brief.</system-reminder>"]);
    assert_eq!(shown(&mut chat).await.len(), 2);

    let mut nothing = builder(&store).chat("no messages").open().await.unwrap();
    assert!(shown(&mut nothing.fork("c3").await.unwrap()).await.is_empty());
}

#[tokio::test]
async fn lazy_and_unknown_fragments_stay_what_they_are() {
    let store = store().await;
    let body = context_runtime::fragments::Encoded::new("of-a-plugin", 3, "{}");
    let mut chat = engine(&store).await;
    let unknown = StoredFragment { id: None, metadata: Metadata::default(), body: body.clone() };
    let at = Timestamp::from_micros(9);
    store.fragments().put_fragments(chat.chat_ref(), &[unknown], at).await.unwrap();
    drop(chat);
    chat = engine(&store).await;
    let loaded = || lazy(|| async { Ok::<_, std::io::Error>("loaded") });
    chat.set([
        context_runtime::Fragment::new("nameless", loaded()).persisted(),
        context_runtime::Fragment::new("named", loaded()).with_id("n").persisted(),
    ]);
    chat.save().await.unwrap();
    let mut fork = chat.fork("c2").await.unwrap();
    fork.set([say("u1", "x")]).save().await.unwrap();
    let turn = fork.resolve().await.unwrap();
    assert_eq!(turn.system_prompt, "<nameless>loaded</nameless>\n<named>loaded</named>");
    let codes: Vec<_> = turn.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    assert_eq!(codes, [DiagnosticCode::UnknownFragmentKind]);
    let stored = store.fragments().fragments(fork.chat_ref()).await.unwrap();
    assert_eq!((stored.len(), &stored[0].body), (3, &body));
}

#[tokio::test]
async fn a_long_history_is_forked_whole() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set((0..2500).map(|number| say(&format!("m{number}"), "text"))).save().await.unwrap();
    let mut fork = chat.fork("c2").await.unwrap();
    assert_eq!(shown(&mut fork).await, shown(&mut chat).await);
    assert_eq!(fork.branches().await.unwrap().len(), 1);
}
