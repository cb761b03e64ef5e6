//! Our side of `cargo xtask bench peers`: the same work as the drivers of the peers, one job per
//! line.
//!
//! That command starts this program with a folder for its store and the required durability. The
//! program is not a benchmark by itself.

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
    let mut ours = LibraryDriver {
        store: context_runtime::open(&url).await.unwrap(),
        url,
        engines: HashMap::new(),
    };
    let journal = rusqlite::Connection::open(path).unwrap();
    let about = About {
        peer: PEER,
        version: env!("CARGO_PKG_VERSION"),
        sqlite: rusqlite::version().to_owned(),
        journal_mode: journal.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap(),
        // The setting as the store reports it for its own connections, because it is not stored in
        // the file.
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

struct LibraryDriver {
    store: Arc<dyn Store>,
    url: String,
    /// The engines that continue from job to job, by chat.
    engines: HashMap<String, ContextEngine>,
}

impl LibraryDriver {
    /// Returns the chat of a job, filled on first use.
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

    /// Returns the engine that continues from job to job.
    async fn engine(&mut self, job: &Job) -> &mut ContextEngine {
        let chat = self.chat(job).await;
        let key = chat.chat.to_string();
        if !self.engines.contains_key(&key) {
            let engine = self.engine_of(&chat).await;
            self.engines.insert(key.clone(), engine);
        }
        self.engines.get_mut(&key).unwrap()
    }

    /// Saves one message per commit.
    async fn append(&mut self, job: &Job, about: &About) {
        let engine = self.engine(job).await;
        let meter = Meter::start();
        for i in 0..job.times {
            engine.set([if i.is_multiple_of(2) { user(text(i)) } else { assistant(text(i)) }]);
            let _saved = engine.save().await.unwrap();
        }
        meter.stop(job, about);
    }

    /// Loads a whole chain from a store that was just opened, and reads each message.
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

    /// Goes back to the middle by a new branch, and resolves from there.
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

    /// Resolves a new engine with twenty fragments: prompt and messages.
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

    /// Saves a question, resolves, and saves the answer, on an engine that lives on.
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

/// Returns the number of messages, decoding each of them.
fn read(chain: &Chain) -> usize {
    chain.iter().filter(|node| black_box(node.message().unwrap()).parts.len() == 1).count()
}

fn id(i: usize) -> String {
    format!("01920000-0000-7000-9000-{i:012x}")
}

/// Returns twenty fragments, as the other drivers have them.
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
