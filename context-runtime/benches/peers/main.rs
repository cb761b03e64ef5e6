//! Our side of `cargo xtask bench peers`: the same work as the drivers of the peers do, one job a
//! line.
//!
//! It is started by that command, with a folder for its store and the durability it is to have. It
//! measures nothing by itself.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures, not a library"
)]

mod protocol;

use std::collections::HashMap;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_runtime::kinds::{guardrail, term, workflow};
use context_runtime::{
    ChatRef, ContextEngine, Fragment, Message, MessageId, Role, Store, Timestamp, assistant, hint,
    role,
    store::{Chain, ChainEnd, Commit, CommitOutcome, Durability, NewChat, Node, Target, Window},
    user,
};
use protocol::{About, Job, Meter, jobs, skip, text};

const PEER: &str = "context";
const USER: &str = "user";

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (Some(folder), Some(durability)) = (arguments.next(), arguments.next()) else {
        println!("This is a driver of `cargo xtask bench peers`, which starts it.");
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(drive(&PathBuf::from(folder).join(format!("{durability}.db")), &durability));
}

async fn drive(path: &Path, durability: &str) {
    let url = format!("sqlite:{}?durability={durability}", path.display());
    let mut ours =
        Ours { store: context_runtime::open(&url).await.unwrap(), url, engines: HashMap::new() };
    let journal = rusqlite::Connection::open(path).unwrap();
    let about = About {
        peer: PEER,
        version: env!("CARGO_PKG_VERSION"),
        sqlite: rusqlite::version().to_owned(),
        journal_mode: journal.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap(),
        // What the store says that it set on its own connections: the setting is not the file's.
        synchronous: if ours.store.info().durability == Durability::PowerLoss { 2 } else { 1 },
    };
    for job in jobs() {
        match job.case.as_str() {
            "append" => ours.append(&job, &about).await,
            "load" => ours.load(&job, &about).await,
            "fork" => ours.fork(&job, &about).await,
            "resolve" => ours.resolve(&job, &about).await,
            "turn" => ours.turn(&job, &about).await,
            other => skip(&job, PEER, &format!("there is no case {other}")),
        }
    }
}

struct Ours {
    store: Arc<dyn Store>,
    url: String,
    /// The engines of the cases that go on with one, by chat.
    engines: HashMap<String, ContextEngine>,
}

impl Ours {
    /// The chat of a job, filled when it is asked for first, and an identifier in its middle.
    async fn chat(&self, job: &Job) -> ChatRef {
        let chat = ChatRef::new(USER, format!("{}-{}", job.case, job.n));
        let history = self.store.history();
        if history.chat(&chat).await.unwrap().is_none() {
            let _created = history
                .create_chat(NewChat::new(chat.clone(), Timestamp::from_micros(0)))
                .await
                .unwrap();
            let node = |i: usize| {
                let role = if i.is_multiple_of(2) { Role::User } else { Role::Assistant };
                Arc::new(Node::new(
                    id(i),
                    Message::text(role, text(i)),
                    Timestamp::from_micros(i as i64),
                ))
            };
            let target = Target::Extend { branch: "main".into(), expected: None };
            let commit = Commit::new(chat.clone(), target, Timestamp::from_micros(1));
            let commit = Commit { nodes: (0..job.n).map(node).collect(), ..commit };
            assert!(matches!(history.commit(commit).await.unwrap(), CommitOutcome::Applied(_)));
        }
        chat
    }

    async fn engine_of(&self, chat: &ChatRef) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(&self.store));
        builder.user(chat.user.clone()).chat(chat.chat.clone()).open().await.unwrap()
    }

    /// The engine that goes on from job to job.
    async fn engine(&mut self, job: &Job) -> &mut ContextEngine {
        let chat = self.chat(job).await;
        let key = chat.chat.to_string();
        if !self.engines.contains_key(&key) {
            let engine = self.engine_of(&chat).await;
            self.engines.insert(key.clone(), engine);
        }
        self.engines.get_mut(&key).unwrap()
    }

    /// One message a save.
    async fn append(&mut self, job: &Job, about: &About) {
        let engine = self.engine(job).await;
        let meter = Meter::start();
        for i in 0..job.times {
            engine.set([if i.is_multiple_of(2) { user(text(i)) } else { assistant(text(i)) }]);
            let _saved = engine.save().await.unwrap();
        }
        meter.stop(job, about);
    }

    /// A whole chain out of a store that was just opened, each message read.
    async fn load(&mut self, job: &Job, about: &About) {
        let chat = self.chat(job).await;
        let store = context_runtime::open(&self.url).await.unwrap();
        let meter = Meter::start();
        for _ in 0..job.times {
            let end = ChainEnd::Branch("main".into());
            let chain = store.history().chain(&chat, &end, &Window::Whole).await.unwrap();
            assert_eq!(read(&chain), job.n);
        }
        meter.stop(job, about);
    }

    /// Back to the middle by a new branch, and what a model would be sent from there.
    async fn fork(&mut self, job: &Job, about: &About) {
        let chat = self.chat(job).await;
        let mut engines = Vec::new();
        for _ in 0..job.times {
            engines.push(self.engine_of(&chat).await);
        }
        let meter = Meter::start();
        for engine in &mut engines {
            let _moved = engine.rewind(&MessageId::from(id(job.n / 2 - 1))).await.unwrap();
            assert_eq!(read(&engine.resolve().await.unwrap().messages), job.n / 2);
        }
        meter.stop(job, about);
    }

    /// A new engine, twenty fragments, prompt and messages.
    async fn resolve(&mut self, job: &Job, about: &About) {
        let chat = self.chat(job).await;
        let meter = Meter::start();
        for _ in 0..job.times {
            let mut engine = self.engine_of(&chat).await;
            engine.set(fragments());
            let resolved = engine.resolve().await.unwrap();
            assert!(black_box(&resolved.system_prompt).len() > 1_000);
            assert_eq!(read(&resolved.messages), job.n);
        }
        meter.stop(job, about);
    }

    /// A question, what a model is sent, its answer, on an engine that lives on.
    async fn turn(&mut self, job: &Job, about: &About) {
        let engine = self.engine(job).await;
        let meter = Meter::start();
        for i in 0..job.times {
            engine.set([user(text(2 * i))]);
            let _saved = engine.save().await.unwrap();
            assert!(read(&engine.resolve().await.unwrap().messages) > job.n);
            engine.set([assistant(text(2 * i + 1))]);
            let _saved = engine.save().await.unwrap();
        }
        meter.stop(job, about);
    }
}

/// How many messages there are, each of them made.
fn read(chain: &Chain) -> usize {
    chain.iter().filter(|node| black_box(node.message().unwrap()).parts.len() == 1).count()
}

fn id(i: usize) -> String {
    format!("01920000-0000-7000-9000-{i:012x}")
}

/// Twenty fragments, as the other drivers have them.
fn fragments() -> Vec<Fragment> {
    let rule = |i: usize| {
        format!(
            "Rule {i:04}: answer in short sentences, cite what you used, and never guess a price."
        )
    };
    let mut fragments = vec![role("You book trips. Ask before you pay.")];
    fragments.extend((0..10).map(|i| hint(rule(i))));
    fragments.extend((0..4).map(|i| term(format!("term {i}"), rule(i))));
    fragments.extend(
        (0..3).map(|i| guardrail(rule(i)).reason(rule(i)).action("Ask the user first.").into()),
    );
    let step = |i: usize, step| format!("Step {step} of task {i}: look, think, then act.");
    fragments.extend(
        (0..2).map(|i| workflow(format!("Task {i}"), (0..4).map(move |s| step(i, s))).into()),
    );
    fragments
}
