//! Two users with two chats each, all under the same names, and all operations on them.

use std::sync::Arc;

use context_runtime::compaction::{microcompact, snip, truncate_head};
use context_runtime::layers::TracedStore;
use context_runtime::memory::{MemoryScope, episodic};
use context_runtime::store::{MemoryList, StreamEnd};
use context_runtime::streams::WriteOptions;
use context_runtime::trajectory::{AgentRef, Trajectories, export::write_prov_json};
use context_runtime::{
    ChatRef, ContextEngine, ContextRuntime, DefaultContextRuntime, Message, ModelCall, Part,
    Resolved, Spilled, Store, ToolResultLimits, limits, provider, user,
};

pub(super) const USERS: [&str; 2] = ["ada", "bob"];
const CHATS: [&str; 2] = ["trip", "taxes"];
/// A word that only this user says.
pub(super) const WORDS: [&str; 2] = ["zanzibar", "quetzal"];

/// An operation on a chat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    Ask,
    Answer,
    Refused,
    Tools,
    Save,
    Capture,
    Flush,
    ReadBack,
    Stream,
    Round,
    Mixed,
}

pub(super) const STEPS: [Step; 11] = [
    Step::Ask,
    Step::Answer,
    Step::Refused,
    Step::Tools,
    Step::Save,
    Step::Capture,
    Step::Flush,
    Step::ReadBack,
    Step::Stream,
    Step::Round,
    Step::Mixed,
];

pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) runtime: DefaultContextRuntime,
    trajectories: Trajectories,
    /// The chats of the first user, then those of the second.
    chats: Vec<ContextEngine>,
    /// The number of messages and streams of each chat. All chats use the same ids.
    counts: [u32; 4],
    /// Spilled outputs.
    spilled: Vec<(ChatRef, String)>,
}

impl World {
    pub(super) async fn new(store: Arc<dyn Store>) -> Self {
        let store: Arc<dyn Store> = Arc::new(TracedStore::new(store));
        let runtime = DefaultContextRuntime::builder()
            .model("claude-sonnet-4-5")
            .window(3_000)
            .reserve(200)
            .compaction([microcompact(), snip(), truncate_head()])
            .spill(Arc::clone(&store))
            .tool_results(ToolResultLimits::new().bytes(5_000).preview_bytes(1_000))
            .memory(episodic(&store).unwrap())
            .build()
            .unwrap();
        let trajectories = Trajectories::new(Arc::clone(&store)).unwrap();
        let mut chats = Vec::new();
        for user in USERS {
            for chat in CHATS {
                let builder = ContextEngine::builder(Arc::clone(&store));
                chats.push(builder.user(user).chat(chat).open().await.unwrap());
            }
        }
        Self { store, runtime, trajectories, chats, counts: [0; 4], spilled: Vec::new() }
    }

    /// Runs the step in a chat of a user, and returns all its results as text.
    pub(super) async fn take(&mut self, of: usize, chat: usize, step: Step) -> String {
        let at = of * 2 + chat;
        let word = WORDS[of];
        self.counts[at] += 1;
        let count = self.counts[at];
        match step {
            Step::Ask => {
                let text = format!(
                    "What is the name of my cat and the way to {word}? {}",
                    "Say. ".repeat(40)
                );
                self.chats[at].set([user(text).with_id(format!("m{count}"))]);
                String::new()
            }
            Step::Answer => {
                let body = text_body(&format!("The cat and the way are {word}."));
                self.call(at, &[(200, &body)]).await
            }
            Step::Refused => {
                let words = r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 4000 tokens > 1500 maximum"}}"#;
                let body = text_body(&format!("In short: {word}."));
                self.call(at, &[(400, words), (400, words), (200, &body)]).await
            }
            Step::Tools => self.tools(at, word).await,
            Step::Save => said(self.chats[at].save().await.map(drop)),
            Step::Capture => {
                let turn = self.chats[at].resolve().await.unwrap();
                format!("{:?}", self.runtime.capture_turn(turn.capture()).await)
            }
            Step::Flush => said(self.runtime.flush().await),
            Step::ReadBack => self.read_back(at).await,
            Step::Stream => {
                let streams = self.chats[at].streams();
                let mut answer =
                    streams.write(format!("s{count}"), WriteOptions::default()).await.unwrap();
                let _demand = answer.push(format!("on the way to {word}")).await.unwrap();
                answer.end(StreamEnd::Completed).await.unwrap();
                let mut read = String::new();
                // The newest stream of the other user's chat may have the same name.
                for id in 0..=count {
                    let mut reader = streams.follow(format!("s{id}"), 0);
                    while let Ok(Some(chunk)) = reader.next().await {
                        read.push_str(&String::from_utf8_lossy(&chunk.bytes));
                    }
                }
                read
            }
            Step::Round => {
                let agent = AgentRef::from(self.chats[at].chat_ref());
                let round = self.trajectories.begin(&agent).await.unwrap();
                round.ask(format!("the way to {word}")).await.unwrap();
                round.record(&Message::text(context_runtime::Role::Assistant, word)).await.unwrap();
                round.finish().await.unwrap();
                String::new()
            }
            Step::Mixed => self.mixed(at, (1 - of) * 2 + chat).await,
        }
    }

    /// Makes a call that is answered with these bodies, one after the other.
    async fn call(&mut self, at: usize, replies: &[(u16, &str)]) -> String {
        let turn = self.chats[at].resolve().await.unwrap();
        if !turn
            .messages
            .iter()
            .any(|node| node.message().is_ok_and(|message| message.is_request()))
        {
            return String::new();
        }
        let mut seen = String::new();
        let mut call =
            ModelCall::new(&self.runtime, provider("anthropic").unwrap(), turn.prepare());
        let mut replies = replies.iter();
        loop {
            match call.next().await {
                Ok(Some(request)) => {
                    seen.push_str(request.body().as_str());
                    seen.push_str(&format!("{:?}", request.diagnostics));
                    let Some((status, body)) = replies.next() else { return seen };
                    call.received(*status, body);
                }
                Ok(None) => break,
                Err(error) => return seen + &format!("{error:?}{error}"),
            }
        }
        seen.push_str(&format!("{:?}{:?}", call.diagnostics(), call.plans()));
        seen + &said(self.chats[at].accept(&turn, &call).await.map(drop))
    }

    async fn tools(&mut self, at: usize, word: &str) -> String {
        let calls = r#"{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"look","input":{}}],"stop_reason":"tool_use"}"#;
        let mut seen = self.call(at, &[(200, calls)]).await;
        let long = format!("the cat on the way to {word}\n").repeat(400);
        let Part::ToolResult(result) = Part::tool_result("call_1", long) else { unreachable!() };
        match self.chats[at].set_tool_results(&self.runtime, [result]).await {
            Ok(applied) => {
                for message in &applied.appended {
                    seen.push_str(&message.readable_text());
                    let kept =
                        message.tool_results().filter_map(|result| Spilled::of(&result.metadata));
                    let chat = self.chats[at].chat_ref();
                    self.spilled.extend(kept.map(|kept| (chat.clone(), kept.blob.to_reference())));
                }
            }
            Err(error) => seen.push_str(&format!("{error:?}")),
        }
        seen
    }

    /// Reads all spilled outputs in a chat. Those of other chats are not found.
    async fn read_back(&mut self, at: usize) -> String {
        let spill = self.runtime.spill().unwrap();
        let chat = self.chats[at].chat_ref();
        let mut seen = String::new();
        for (of, reference) in &self.spilled {
            match spill.read(chat, reference, 0..u64::MAX).await {
                Ok(read) => seen.push_str(&String::from_utf8_lossy(&read.bytes)),
                Err(error) => {
                    assert_ne!(of, chat, "{error}");
                    seen.push_str(&format!("{error:?}{error}"));
                }
            }
        }
        seen
    }

    /// Takes over what was made of another chat. All of it is refused.
    async fn mixed(&mut self, own: usize, other: usize) -> String {
        let (turn, theirs): (Resolved, Resolved) =
            (self.chats[own].resolve().await.unwrap(), self.chats[other].resolve().await.unwrap());
        let call = ModelCall::new(&self.runtime, provider("anthropic").unwrap(), turn.prepare());
        let narrow = DefaultContextRuntime::builder()
            .model("claude-sonnet-4-5")
            .user(turn.chat.user.clone())
            .spill(Arc::clone(&self.store))
            .memory(episodic(&self.store).unwrap())
            .build()
            .unwrap();
        let errors = [
            self.chats[own].accept(&theirs, &call).await.err(),
            self.chats[other].accept(&theirs, &call).await.err(),
            narrow.prepare_for_model(theirs.prepare()).await.err(),
            narrow.capture_turn(theirs.capture()).await.err(),
        ];
        let errors = errors.map(Option::unwrap);
        assert!(
            errors.iter().all(|error| error.kind() == context_runtime::ErrorKind::Invalid),
            "{errors:?}"
        );
        errors.map(|error| format!("{error:?}{error}")).concat()
    }

    /// Returns everything that is stored of a user, and what their chats would send.
    pub(super) async fn everything(&mut self, of: usize) -> String {
        let mut all = String::new();
        for chat in CHATS {
            let chat = ChatRef::new(USERS[of], chat);
            let builder = ContextEngine::builder(Arc::clone(&self.store));
            let mut engine =
                builder.user(chat.user.clone()).chat(chat.chat.clone()).open().await.unwrap();
            if let Ok(graph) = engine.graph().await {
                all.push_str(&format!("{:?}", graph.chat));
                for placed in graph.nodes {
                    all.push_str(
                        &placed
                            .node
                            .message()
                            .map(|message| message.readable_text())
                            .unwrap_or_default(),
                    );
                }
            }
            if let Ok(context) =
                self.runtime.prepare_for_model(engine.resolve().await.unwrap().prepare()).await
            {
                all.push_str(
                    &context
                        .request
                        .messages
                        .iter()
                        .map(|message| message.readable_text())
                        .collect::<String>(),
                );
            }
            if let Ok(page) = self.store.blobs().unwrap().blobs(&chat, limits::MAX_PAGE, None).await
            {
                for blob in page.items {
                    let read =
                        self.store.blobs().unwrap().read_blob(&chat, &blob.id, 0..blob.bytes, None);
                    all.push_str(&String::from_utf8_lossy(&read.await.unwrap().unwrap()));
                }
            }
            if let Ok(page) =
                self.store.streams().unwrap().streams(&chat, limits::MAX_PAGE, None).await
            {
                for stream in page.items {
                    let part =
                        self.store.streams().unwrap().read_stream(&chat, &stream.id, 0, 100).await;
                    let chunks = part.unwrap().unwrap().chunks;
                    all.extend(
                        chunks.iter().map(|chunk| String::from_utf8_lossy(chunk).into_owned()),
                    );
                }
            }
            if let Ok(graph) = self.trajectories.graph(&chat.user, chat.chat.as_str()).await {
                let mut document = Vec::new();
                write_prov_json(&graph, &mut document).unwrap();
                all.push_str(&String::from_utf8(document).unwrap());
            }
        }
        let list = MemoryList::new(vec![MemoryScope::new(USERS[of])], limits::MAX_PAGE);
        let memories = self.store.memories().unwrap().list_memories(&list).await.unwrap();
        all.extend(memories.items.into_iter().map(|stored| stored.record.text.to_string()));
        all
    }
}

fn text_body(text: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}}],"stop_reason":"end_turn"}}"#
    )
}

fn said(result: context_runtime::Result<()>) -> String {
    result.err().map(|error| format!("{error:?}{error}")).unwrap_or_default()
}
