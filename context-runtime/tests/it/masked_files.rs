//! No secret is in any file that a program writes through the masking layers: the database, its
//! backup, local files of trajectories, logs of messages, exports.

#[path = "../../../context-secrets/tests/it/corpus.rs"]
mod corpus;

use std::path::Path;
use std::sync::Arc;

use context_runtime::layers::{MaskingStore, MaskingTrajectories};
use context_runtime::secrets::{MaskReport, SecretFinder};
use context_runtime::store::{SearchQuery, TrajectoryStore};
use context_runtime::trajectory::export::otlp::{OtlpOptions, write_otlp_json};
use context_runtime::trajectory::export::{
    DiagramOptions, write_chrome_trace, write_dot, write_mermaid, write_prov_json,
};
use context_runtime::trajectory::messages::{MessageLog, to_records};
use context_runtime::trajectory::{AgentRef, FileChannel, NewNode, NodeBody, Trajectories};
use context_runtime::transfer::export_jsonl;
use context_runtime::{CancelSignal, ChatRef, ContextEngine, Json, Message, Role, Store, open};
use serde_json::json;

use corpus::{Sample, corpus};

/// Returns the kinds whose secrets a text holds, in any case.
fn held(bytes: &[u8], corpus: &[Sample]) -> Vec<&'static str> {
    let text = String::from_utf8_lossy(bytes).to_lowercase();
    let is_held = |sample: &&Sample| {
        let secret = sample.secret.replace("\\n", "\n").to_lowercase();
        secret.lines().filter(|line| !line.contains("-----")).any(|line| text.contains(line))
    };
    corpus.iter().filter(is_held).map(|sample| sample.kind).collect()
}

/// Returns the bytes of all files below a folder.
fn files(folder: &Path, bytes: &mut Vec<u8>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, bytes);
        } else {
            bytes.extend(std::fs::read(path).unwrap());
        }
    }
}

/// Has each text in a message, in a node of a round, and in a log of messages.
async fn write_everywhere(store: &Arc<dyn Store>, folder: &Path, corpus: &[Sample], masking: bool) {
    let files: Arc<dyn TrajectoryStore> = Arc::new(FileChannel::new(folder.join("rounds")));
    let files = match masking {
        true => Arc::new(MaskingTrajectories::new(files)) as Arc<dyn TrajectoryStore>,
        false => files,
    };
    let trajectories = Trajectories::builder(Arc::clone(store)).channel(files).build().unwrap();
    let (mut log, _) = MessageLog::open(folder.join("messages.jsonl")).await.unwrap();
    if masking {
        let finder = SecretFinder::default();
        log = log.masked(move |json: &Json| finder.mask_json(json, &mut MaskReport::default()));
    }
    let engine = ContextEngine::builder(Arc::clone(store)).user("ada").chat("s");
    let mut engine = engine.open().await.unwrap();
    for sample in corpus {
        let text = sample.text.as_str();
        let messages = [Message::from(text), Message::text(Role::Assistant, text)];
        log.append(&to_records(&messages)).await.unwrap();
        engine.set(messages);
        let round = trajectories.begin(&AgentRef::main("ada", "s")).await.unwrap();
        let question = round.ask(text).await.unwrap();
        let call = NodeBody::action("run", json!({ "command": text }));
        let call = round.add(NewNode::new(call, [question]).describe(text)).await.unwrap();
        round.add(NewNode::new(NodeBody::response(text), [call])).await.unwrap();
        round.finish().await.unwrap();
    }
    engine.save().await.unwrap();
    let graph = trajectories.graph("ada", "s").await.unwrap();
    let mut out = Vec::new();
    write_otlp_json(&graph, &OtlpOptions::default().with_content(), &mut out).unwrap();
    write_prov_json(&graph, &mut out).unwrap();
    write_chrome_trace(&graph, &mut out).unwrap();
    write_dot(&graph, &DiagramOptions::default(), &mut out).unwrap();
    write_mermaid(&graph, &DiagramOptions::default(), &mut out).unwrap();
    std::fs::write(folder.join("exports"), &out).unwrap();
    let (chats, never, mut out) = (["s".into()], CancelSignal::never(), Vec::new());
    let chats = chats.map(|chat: context_runtime::ChatId| ChatRef::new("ada", chat));
    let _done = export_jsonl(&**store, &chats, &mut out, &never, &mut |_| {}).await.unwrap();
    std::fs::write(folder.join("chat.jsonl"), &out).unwrap();
    let backup = folder.join("backup.db");
    store.maintenance().unwrap().backup(&backup).await.unwrap();
}

#[tokio::test]
async fn no_secret_is_in_any_file() {
    let corpus = corpus();
    for masking in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let inner =
            open(&format!("sqlite:{}", folder.path().join("a.db").display())).await.unwrap();
        let store = match masking {
            true => Arc::new(MaskingStore::new(Arc::clone(&inner))) as Arc<dyn Store>,
            false => Arc::clone(&inner),
        };
        write_everywhere(&store, folder.path(), &corpus, masking).await;
        for sample in &corpus {
            let query = SearchQuery::new("ada", sample.secret.as_str());
            let found = store.search().unwrap().search(&query).await;
            let hits = found.map_or(0, |page| page.items.len());
            assert!(!masking || hits == 0, "a search finds {}", sample.kind);
        }
        for name in ["rounds", "messages.jsonl", "exports", "chat.jsonl", "."] {
            let (path, mut bytes) = (folder.path().join(name), Vec::new());
            match path.is_dir() {
                true => files(&path, &mut bytes),
                false => bytes.extend(std::fs::read(&path).unwrap()),
            }
            let held = held(&bytes, &corpus);
            if masking {
                assert_eq!(held, Vec::<&str>::new(), "in {name}");
                assert!(bytes.windows(8).any(|window| window == b"[secret:"), "{name}");
            } else {
                // The search is able to find them.
                assert!(held.len() >= 40, "{name}: {held:?}");
            }
        }
        inner.close().await.unwrap();
    }
}
