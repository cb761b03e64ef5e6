//! Import and export of files through a store, as the commands do it.

mod answer_trees;
mod forms;
mod rollouts;
mod sessions;

use context_runtime::transfer::{TreePlan, TreeWritten};
use context_runtime::{
    CancelSignal, ChatRef, Metadata, Store, limits,
    store::{ChainEnd, HistoryStore, NewChat, Placed, Window},
};
use proptest::prelude::*;
use serde_json::Value as Parsed;

use super::*;

fn input(name: &str, text: impl Into<String>) -> Input {
    Input::new(name.to_owned(), name.to_owned(), text.into(), Vec::new())
}

/// An imported chat.
struct Stored {
    title: Option<String>,
    /// Branches and their heads.
    heads: Vec<(String, String)>,
    nodes: Vec<Placed>,
    diagnostics: Vec<String>,
}

impl Stored {
    /// Returns the message ids of a branch, from the root.
    fn chain(&self, branch: &str) -> Vec<String> {
        let find = |id: &str| self.nodes.iter().find(|placed| placed.node.id == id);
        let mut at =
            self.heads.iter().find(|(name, _)| name == branch).and_then(|(_, head)| find(head));
        let mut chain = Vec::new();
        while let Some(placed) = at {
            chain.push(placed.node.id.to_string());
            at = placed.parent.as_ref().and_then(|parent| find(parent.as_str()));
        }
        chain.reverse();
        chain
    }
}

/// The result of an import and an export.
struct Passed {
    chats: Vec<Stored>,
    broken: Vec<(usize, String)>,
    /// The exported file.
    text: String,
}

async fn nodes(history: &dyn HistoryStore, chat: &ChatRef) -> Vec<Placed> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = history.all_messages(chat, limits::MAX_PAGE, after.as_ref()).await.unwrap();
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

/// Imports a file into a store and exports it again.
fn pass(input: &Input, from: Wire) -> Result<Passed, Failure> {
    let reading = read(input, from, Timestamp::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    Ok(runtime.block_on(async {
        let store = context_runtime::open("mem:").await.unwrap();
        let (mut chats, mut exported) = (Vec::new(), Vec::new());
        for (number, draft) in reading.drafts.into_iter().enumerate() {
            let (stored, back) = pass_one(store.as_ref(), number, draft).await;
            chats.push(stored);
            exported.push(back);
        }
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, []);
        let lines = reading.broken.listed().iter();
        let broken = lines.map(|broken| (broken.line, broken.failure.problem())).collect();
        Passed { chats, broken, text: file(&exported) }
    }))
}

async fn pass_one(store: &dyn Store, number: usize, draft: Draft) -> (Stored, Exported) {
    let chat = ChatRef::new("u", format!("c{number}"));
    let mut new = NewChat::new(chat.clone(), Timestamp::default());
    new.title = draft.title;
    new.metadata = Metadata::default().with(Source::KEY, draft.source.to_json());
    let plan = TreePlan::new(new, &draft.tree).unwrap();
    for expected in [TreeWritten::New, TreeWritten::Unchanged] {
        let written = plan.write(store.history(), &CancelSignal::never(), |_| {}).await.unwrap();
        assert_eq!(written, expected);
    }
    let history = store.history();
    let kept = history.chat(&chat).await.unwrap().unwrap();
    let source = Source::of("c", &kept.metadata).unwrap().unwrap();
    let (nodes, branches) = (nodes(history, &chat).await, history.branches(&chat).await.unwrap());
    let (content, said) = match source.codec {
        codec if codec.is_log() => Content::of_tree(&source, &nodes).unwrap(),
        codec => {
            let end = ChainEnd::Branch("main".into());
            let chain = history.chain(&chat, &end, &Window::Whole).await.unwrap();
            let messages =
                chain.iter().map(|node| std::sync::Arc::clone(node.message().unwrap())).collect();
            let (messages, said) = codec.lower_source(messages);
            (Content::Messages(messages), said)
        }
    };
    assert_eq!(said, []);
    let head = |head: &Option<context_runtime::MessageId>| head.as_ref().map(ToString::to_string);
    let heads =
        branches.iter().filter_map(|branch| Some((branch.name.to_string(), head(&branch.head)?)));
    let stored = Stored {
        title: kept.title,
        heads: heads.collect(),
        nodes,
        diagnostics: draft
            .diagnostics
            .iter()
            .map(|diagnostic| format!("{}: {}", diagnostic.path, diagnostic.message))
            .collect(),
    };
    (
        stored,
        Exported {
            chat: chat.chat.to_string(),
            source: Some(source),
            content,
            diagnostics: Vec::new(),
        },
    )
}

/// Returns the export of a chat that was imported from this text and then changed.
fn changed(text: &str, change: impl FnOnce(&mut Vec<Placed>)) -> (String, Vec<String>) {
    let input = input("a.jsonl", text);
    let mut stored = pass(&input, Wire::Auto).unwrap().chats.remove(0);
    change(&mut stored.nodes);
    let source = read(&input, Wire::Auto, Timestamp::default()).unwrap().drafts.remove(0).source;
    let (content, said) = Content::of_tree(&source, &stored.nodes).unwrap();
    let exported =
        Exported { chat: "c".to_owned(), source: Some(source), content, diagnostics: Vec::new() };
    (single(&exported), said.iter().map(ToString::to_string).collect())
}

/// Returns a message after an amendment that dropped its source metadata.
fn amended(placed: &Placed, text: &str) -> Placed {
    let message = context_runtime::Message::text(placed.node.role().unwrap(), text);
    let by = Node::new(placed.node.id.clone(), message, Timestamp::default());
    Placed::new(placed.node.amended(&by), placed.parent.clone(), placed.depth)
}

fn values(text: &str) -> Vec<Parsed> {
    serde_json::Deserializer::from_str(text).into_iter().collect::<Result<_, _>>().unwrap()
}

/// Checks that the exported file has equal values.
#[track_caller]
fn same(name: &str, text: &str, conversations: usize) -> Vec<Codec> {
    let input = input(name, text);
    let passed = pass(&input, Wire::Auto).unwrap();
    assert_eq!(passed.chats.len(), conversations, "{text}");
    assert_eq!(passed.broken, []);
    assert_eq!(values(&passed.text), values(text));
    let reading = read(&input, Wire::Auto, Timestamp::default()).unwrap();
    reading.drafts.iter().map(|draft| draft.source.codec).collect()
}

#[test]
fn every_form_comes_back() {
    let m = r#"{"role": "user", "content": "x"}"#;
    same("a.json", &format!("[{m}, {m}]"), 1);
    same("a.json", "[]", 1);
    same("a.json", &format!(r#"{{"id": 1.50, "messages": [{m}], "z": {{"messages": []}}}}"#), 1);
    same("a.json", &format!(r#"{{"trajectory": [], "history": [{m}], "traj": 7}}"#), 1);
    same("a.json", &format!("[\n{{\"traj\": [{m}], \"n\": 1}},\n{{\"n\": 2, \"traj\": []}}]"), 2);
    same("a.json", &format!("[[{m}], [], [{m}, {m}]]"), 3);
    same("a.json", &format!("{m}\n\n{m}\n"), 1);
    same("a.json", m, 1);
    same("a.jsonl", &format!(r#"{{"messages": [{m}]}}"#), 1);
    same("a", &format!("{{\"messages\": [{m}]}}\n{{\"history\": []}}"), 2);
}

#[test]
fn whose_messages_they_are_is_told_by_what_only_one_has() {
    let call = r#"{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]}"#;
    let image = r#"{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]}"#;
    let user = r#"{"role": "user", "content": "about tool_use and the \"source\" of thinking"}"#;
    let tool = r#"{"role": "tool", "tool_call_id": "c", "content": "x"}"#;
    assert_eq!(same("a.json", &format!("[{user}, {call}]"), 1), [Codec::Anthropic]);
    assert_eq!(
        same("a.json", &format!("{{\"system\": \"s\", \"messages\": [{image}]}}"), 1),
        [Codec::Anthropic]
    );
    assert_eq!(
        same("a.json", &format!("[[{user}], [{call}]]"), 2),
        [Codec::OpenaiChat, Codec::Anthropic]
    );
    assert_eq!(same("a.json", &format!("[{call}, {tool}]"), 1), [Codec::OpenaiChat]);
    let forced =
        read(&input("a", format!("[{user}]")), Wire::Anthropic, Timestamp::default()).unwrap();
    assert_eq!(forced.drafts[0].source.codec, Codec::Anthropic);
}

#[track_caller]
fn refused(name: &str, text: &str, expected: &str) {
    let failure = read(&input(name, text), Wire::Auto, Timestamp::default()).unwrap_err();
    let facts: Vec<_> =
        failure.context().into_iter().map(|(key, value)| format!("{key} {value}")).collect();
    assert_eq!(format!("{failure} ({})", facts.join(", ")), expected);
}

#[test]
fn what_is_none_is_refused_with_its_place() {
    refused("a", " \n", "a is not a transcript we know: it is empty (file a, line 1)");
    refused(
        "a",
        "7",
        "a is not a transcript we know: it is neither a list nor an object (file a, line 1)",
    );
    refused("a", "[\n{]", "a is not JSON: key must be a string (file a, line 2, column 2)");
    refused(
        "a",
        "[{\"messages\": []},\n\n {\"m\": []}]",
        "a is not a transcript we know: an object has no list of messages (file a, line 3)",
    );
    refused(
        "a.jsonl",
        "\n{\"mess\n7",
        "a.jsonl is not JSON: EOF while parsing a string (file a.jsonl, line 2, column 6)",
    );
    let deep = "[".repeat(200_000);
    refused("a", &deep, "a is not JSON: EOF while parsing a list (file a, line 1, column 200000)");
}

#[test]
fn a_line_that_cannot_be_read_does_not_keep_the_others_out() {
    let (good, robot) = (r#"{"role":"user","content":"x"}"#, r#"{"role": "robot"}"#);
    let text = format!("{good}\n7\n\n{robot}\n{good}\n{{\"role\": \"us");
    let passed = pass(&input("a.jsonl", text), Wire::Auto).unwrap();
    assert_eq!(passed.text, format!("{good}\n{good}\n"));
    let expected = [
        (2, "a message must be an object, found a number"),
        (4, "role \"robot\" is none of system, developer, user, assistant, tool, function"),
        (6, "EOF while parsing a string"),
    ];
    assert_eq!(passed.broken, expected.map(|(line, problem)| (line, problem.to_owned())));

    let chat = format!("{{\"messages\":[{good}]}}");
    let text = format!("{chat}\n{{\"m\": 1}}\n{{\"messages\": [{robot}]}}\n{chat}\n");
    let passed = pass(&input("a.jsonl", text), Wire::Auto).unwrap();
    assert_eq!(passed.text, format!("{chat}\n{chat}\n"));
    assert_eq!(passed.broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2, 3]);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[\\[\\]{}\":,a \n0-9é]{0,40}", lines: bool) {
        let _ = read(&input(if lines { "a.jsonl" } else { "a" }, text), Wire::Auto,
            Timestamp::default());
    }
}
