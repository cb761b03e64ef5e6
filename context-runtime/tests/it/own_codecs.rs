//! Codecs that are attached to fragments and messages.

use std::sync::Arc;

use context_runtime::{
    ChatRef, ContextEngine, DiagnosticCode, Edits, ErrorKind, Fragment, FragmentContent, Message,
    Part, Role, SaveOutcome, Store, Uuid7Ids,
    fragments::{
        CodecError, CodecRegistry, Encoded, FragmentCodec, MisfitError, StoredMessageCodec,
    },
    instructions::{Predicate, reminder},
    provider,
    store::{ChainEnd, Window},
    user,
};

use crate::compactions::{compact, compacted};
use crate::kit::{builder, say, shown, store};

/// Stores the name of a table and renders its columns.
struct Table;

impl FragmentCodec for Table {
    fn kind(&self) -> &str {
        "table"
    }

    fn version(&self) -> u16 {
        1
    }

    fn encode(&self, fragment: &Fragment) -> Result<Encoded, CodecError> {
        Ok(Encoded::new("table", 1, fragment.name().to_owned()))
    }

    fn decode(&self, stored: &Encoded) -> Result<Fragment, CodecError> {
        let name = String::from_utf8_lossy(stored.bytes()).into_owned();
        Ok(table(&name))
    }
}

fn table(name: &str) -> Fragment {
    Fragment::new(name.to_owned(), "id, city, day").with_own_codec(Arc::new(Table)).persisted()
}

const PRICES: &str = "Lisbon 90, Porto 70";

/// Stores the name of a price list and shows its prices. Refuses other lists.
struct Prices;

fn replaced(message: &Message, from: &str, to: &str) -> Message {
    let mut changed = message.clone();
    for part in &mut changed.parts {
        if let Part::Text(text) = part {
            text.text = text.text.replace(from, to).into();
        }
    }
    changed
}

impl StoredMessageCodec for Prices {
    fn name(&self) -> &str {
        "prices"
    }

    fn encode(&self, shown: &Message) -> Result<Message, MisfitError> {
        if shown.plain_text().contains("Madrid") {
            return Err(MisfitError::Other("there are no prices of Madrid".into()));
        }
        Ok(replaced(shown, PRICES, "{prices}"))
    }

    fn decode(&self, stored: &Message) -> Result<Message, MisfitError> {
        Ok(replaced(stored, "{prices}", PRICES))
    }
}

fn asked(id: &str) -> Fragment {
    let message = user(format!("Which is cheaper? {PRICES}"));
    message.with_id(id).with_message_codec(Arc::new(Prices))
}

const SHOWN: &str = "q: Which is cheaper? Lisbon 90, Porto 70";
const STORED: &str = "q: Which is cheaper? {prices}";

fn with_prices() -> CodecRegistry {
    let mut codecs = CodecRegistry::default();
    codecs.register_message(Prices);
    codecs
}

async fn reader(store: &Arc<dyn Store>, codecs: CodecRegistry) -> ContextEngine {
    builder(store).ids(Uuid7Ids).codecs(codecs).open().await.unwrap()
}

/// Returns the stored texts of the main branch.
async fn bodies(store: &Arc<dyn Store>) -> Vec<String> {
    let end = ChainEnd::Branch("main".into());
    let chat = ChatRef::new("ada", "c");
    let chain = store.history().chain(&chat, &end, &Window::Whole).await.unwrap();
    let messages = chain.iter().filter(|node| node.role().is_some());
    messages.map(|node| format!("{}: {}", node.id, node.message().unwrap().plain_text())).collect()
}

#[tokio::test]
async fn a_fragment_is_stored_by_its_own_codec_and_read_by_a_registered_one() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.set([table("trips")]).save().await.unwrap();
    let prompt = "<trips>id, city, day</trips>";
    assert_eq!(chat.resolve().await.unwrap().system_prompt, prompt);
    let stored = store.fragments().fragments(chat.chat_ref()).await.unwrap();
    assert_eq!(stored[0].body, Encoded::new("table", 1, "trips"));
    assert_eq!(chat.set([table("trips")]).save().await.unwrap().outcome, SaveOutcome::Unchanged);

    // Without the codec, the fragment is kept and named.
    let mut without = reader(&store, CodecRegistry::default()).await;
    let turn = without.resolve().await.unwrap();
    assert_eq!(turn.system_prompt, "");
    assert_eq!(turn.diagnostics[0].code, DiagnosticCode::UnknownFragmentKind);
    let kept = without.fragments().next().unwrap();
    assert!(matches!(kept.content(), FragmentContent::Unknown(body) if *body == stored[0].body));

    let mut codecs = CodecRegistry::default();
    codecs.register(Table);
    let mut with = reader(&store, codecs).await;
    assert_eq!(with.resolve().await.unwrap().system_prompt, prompt);
    // A fork knows the codec that was attached.
    assert_eq!(chat.fork("c2").await.unwrap().resolve().await.unwrap().system_prompt, prompt);
}

#[tokio::test]
async fn an_untrusted_fragment_keeps_its_mark_whatever_its_own_codec_stores() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.set([table("trips").untrusted()]).save().await.unwrap();
    let chat = reader(&store, CodecRegistry::default()).await;
    assert!(chat.fragments().next().unwrap().is_untrusted());
}

#[tokio::test]
async fn a_message_is_stored_as_its_codec_encodes_it_and_shown_as_it_decodes() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.set([asked("q"), say("u2", "Today, please.")]);
    let expected = [SHOWN, "u2: Today, please."];
    let pending = chat.resolve().await.unwrap();
    assert_eq!(crate::kit::texts(&pending.messages), expected);
    chat.save().await.unwrap();
    assert_eq!(bodies(&store).await, [STORED, "u2: Today, please."]);
    let turn = chat.resolve().await.unwrap();
    assert_eq!(turn.messages.iter().next(), pending.messages.iter().next(), "before and after");
    assert!(turn.diagnostics.is_empty());
    let first = chat.first_user_message().await.unwrap().unwrap();
    assert_eq!(first.message().unwrap().plain_text(), &SHOWN[3..]);
    assert!(turn.lower(&*provider("anthropic").unwrap()).unwrap().body.as_str().contains(PRICES));
    // The same message again is no edit. Another text is one.
    assert_eq!(chat.set([asked("q")]).save().await.unwrap().outcome, SaveOutcome::Unchanged);
    assert!(matches!(
        chat.set([say("q", "Something else")]).save().await.unwrap().outcome,
        SaveOutcome::Edited { .. }
    ));
    assert_eq!(shown(&mut chat).await, ["#2: Something else"]);
    // Another process, with the codec.
    let mut again = builder(&store).branch("main").codecs(with_prices()).open().await.unwrap();
    assert_eq!(shown(&mut again).await, expected);
}

#[tokio::test]
async fn without_the_codec_a_message_is_shown_as_it_is_stored_and_reported() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.set([asked("q")]).save().await.unwrap();
    let mut without = reader(&store, CodecRegistry::default()).await;
    let turn = without.resolve().await.unwrap();
    assert_eq!(crate::kit::texts(&turn.messages), [STORED]);
    assert_eq!(turn.diagnostics.len(), 1);
    assert_eq!(turn.diagnostics[0].code, DiagnosticCode::MessageNotDecoded);
    // The codec arrives with a message.
    without.set([asked("q2")]);
    let turn = without.resolve().await.unwrap();
    assert_eq!(crate::kit::texts(&turn.messages), [SHOWN, &SHOWN.replace("q: ", "q2: ")]);
    assert!(turn.diagnostics.is_empty());
}

#[tokio::test]
async fn a_message_that_its_codec_refuses_is_not_saved() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    let refused = user("Madrid?").with_id("m").with_message_codec(Arc::new(Prices));
    chat.set([say("u1", "x"), refused]);
    let error = chat.save().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("no prices of Madrid"), "{error}");
    assert!(bodies(&store).await.is_empty());
    assert!(chat.unset(&"m".into()).await.unwrap());
    chat.save().await.unwrap();
    assert_eq!(bodies(&store).await, ["u1: x"]);
}

/// Changes the role, which no store could hold.
struct Turncoat;

impl StoredMessageCodec for Turncoat {
    fn name(&self) -> &str {
        "turncoat"
    }

    fn encode(&self, shown: &Message) -> Result<Message, MisfitError> {
        Ok(Message { role: Role::Assistant, ..shown.clone() })
    }

    fn decode(&self, stored: &Message) -> Result<Message, MisfitError> {
        Ok(stored.clone())
    }
}

#[tokio::test]
async fn a_codec_that_changes_the_role_is_refused() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.set([user("x").with_message_codec(Arc::new(Turncoat))]);
    assert_eq!(chat.save().await.unwrap_err().kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn a_compaction_keeps_and_shortens_messages_with_codecs() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.set([asked("q"), say("a1", "Porto."), asked("q2"), say("a2", "Still Porto.")]);
    chat.save().await.unwrap();
    let turn = chat.resolve().await.unwrap();
    let same: Vec<_> = (0..4).map(|at| (Some(at), None)).collect();
    let nothing = chat.compact(&turn, &compacted(&turn.messages, &same), &[]).await.unwrap();
    assert_eq!(nothing, None, "a decoded message is not a changed one");
    let expected = [SHOWN, "q2: Which …", "a2: Still Porto."];
    let cut = [(Some(0), None), (Some(2), Some("Which …")), (Some(3), None)];
    let turn = chat.resolve().await.unwrap();
    chat.compact(&turn, &compacted(&turn.messages, &cut), &[]).await.unwrap().unwrap();
    assert_eq!(shown(&mut chat).await, expected, "pending");
    chat.save().await.unwrap();
    assert_eq!(shown(&mut chat).await, expected);
    let mut with = reader(&store, with_prices()).await;
    assert_eq!(shown(&mut with).await, expected);
    let mut without = reader(&store, CodecRegistry::default()).await;
    assert_eq!(shown(&mut without).await, [STORED, expected[1], expected[2]]);
    compact(&mut with, &[(None, Some("so far")), (Some(0), None)]).await;
    assert_eq!(shown(&mut with).await[1..], [SHOWN]);
    with.undo_compaction().await.unwrap();
    with.undo_compaction().await.unwrap();
    assert_eq!(shown(&mut with).await.len(), 4);
}

#[tokio::test]
async fn a_reminder_in_a_message_with_a_codec_is_shown() {
    let store = store().await;
    let mut chat = builder(&store).open().await.unwrap();
    chat.remind([reminder("Be brief.").when(Predicate::every_n_turns(1)).build().unwrap()]);
    chat.set([asked("q")]).save().await.unwrap();
    let reminded = format!("{SHOWN}<system-reminder>Be brief.</system-reminder>");
    assert_eq!(shown(&mut chat).await, [reminded]);
    assert_eq!(chat.set([asked("q")]).save().await.unwrap().outcome, SaveOutcome::Unchanged);
    chat.set([asked("q").with_id("q3")]).save_with(Edits::Amend).await.unwrap();
    assert_eq!(shown(&mut chat).await.len(), 2);
}
