//! No secret reaches the backend, wherever it is written.

use std::path::Path;
use std::sync::Arc;

use context_core::memory::MemoryScope;
use context_core::store::{
    ChainEnd, ChatQuery, MemoryFind, MemoryList, RoundQuery, SearchQuery, Window,
};
use context_core::trajectory::AgentRef;
use context_core::{MessageId, Role, Store};
use context_store_inmem::InMemoryStore;
use context_store_layers::{EncryptedStore, EncryptionKey, KeyRing, MaskingStore};
use context_store_sqlite::{SqliteConfig, SqliteStore};

use crate::corpus::{Sample, corpus};
use crate::fixture::{chat, write_everywhere};

/// Returns the pieces of the secrets to look for: lines of keys, and whole tokens.
fn pieces(corpus: &[Sample]) -> Vec<(&'static str, String)> {
    let lines = |sample: &Sample| {
        let secret = sample.secret.replace("\\n", "\n");
        let longest = secret.lines().filter(|line| !line.contains("-----"));
        longest.map(|line| (sample.kind, line.to_owned())).collect::<Vec<_>>()
    };
    corpus.iter().flat_map(lines).collect()
}

/// Returns the kinds whose secrets bytes hold, in any case.
fn held(bytes: &[u8], pieces: &[(&'static str, String)]) -> Vec<&'static str> {
    let lower = bytes.to_ascii_lowercase();
    let patterns = pieces.iter().map(|(_, piece)| piece.to_ascii_lowercase());
    let automaton = aho_corasick::AhoCorasick::new(patterns).unwrap();
    let found = automaton.find_overlapping_iter(&lower);
    let mut found: Vec<_> = found.map(|found| pieces[found.pattern().as_usize()].0).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Returns everything that a store returns of a user, as text.
async fn read_everything(store: &dyn Store, names: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    let history = store.history();
    let chats = history.list_chats(&ChatQuery::new("ada")).await.unwrap();
    out.extend(serde_json::to_vec(&chats.items).unwrap());
    for name in names {
        let chat = chat(name);
        let end = ChainEnd::Branch("main".into());
        let chain = history.chain(&chat, &end, &Window::Whole).await.unwrap();
        for node in chain.iter() {
            out.extend_from_slice(node.body().bytes());
            if let Ok(message) = node.message() {
                // A document in Base64 is text, too.
                for part in &message.parts {
                    if let context_core::Part::Document(media) = part
                        && let context_core::message::MediaSource::Base64(data) = &media.source
                    {
                        let engine = &base64::engine::general_purpose::STANDARD;
                        out.extend(base64::Engine::decode(engine, data).unwrap());
                    }
                }
            }
        }
        for revision in history.revisions(&chat, &MessageId::from("m1")).await.unwrap() {
            out.extend_from_slice(revision.node.body().bytes());
        }
        for fragment in store.fragments().fragments(&chat).await.unwrap() {
            out.extend_from_slice(fragment.body.bytes());
            out.extend(serde_json::to_vec(&fragment.metadata).unwrap());
        }
        let blobs = store.blobs().unwrap();
        for blob in blobs.blobs(&chat, 10, None).await.unwrap().items {
            out.extend(blobs.read_blob(&chat, &blob.id, 0..u64::MAX, None).await.unwrap().unwrap());
        }
        let streams = store.streams().unwrap();
        let part = streams.read_stream(&chat, &"s".into(), 0, 1000).await.unwrap().unwrap();
        out.push(b'\n');
        part.chunks.iter().for_each(|chunk| out.extend_from_slice(chunk));
        out.extend(part.stream.error.unwrap_or_default().into_bytes());
        let rounds = store.trajectories().unwrap();
        for round in rounds.load_rounds(&AgentRef::main("ada", name.as_str()), 0..=0).await.unwrap()
        {
            out.extend(serde_json::to_vec(&round).unwrap());
        }
    }
    let heads = store.trajectories().unwrap().rounds(&RoundQuery::of_user("ada")).await.unwrap();
    out.extend(serde_json::to_vec(&heads.items).unwrap());
    let list = MemoryList::new(vec![MemoryScope::new("ada")], 200);
    for stored in store.memories().unwrap().list_memories(&list).await.unwrap().items {
        out.extend(serde_json::to_vec(&stored.record).unwrap());
    }
    out
}

/// Returns how many secrets a search for their words finds, in messages and in memories.
async fn found_by_search(store: &dyn Store, pieces: &[(&'static str, String)]) -> (usize, usize) {
    let (mut messages, mut memories) = (0, 0);
    for (_, piece) in pieces {
        let mut query = SearchQuery::new("ada", piece.as_str());
        query.roles = vec![Role::User, Role::Tool];
        messages += store.search().unwrap().search(&query).await.unwrap().items.len().min(1);
        let longest = piece.split(|c: char| !c.is_alphanumeric()).max_by_key(|word| word.len());
        let words = vec![longest.unwrap().to_lowercase()];
        let find = MemoryFind::new(vec![MemoryScope::new("ada")], words, 5);
        let found = store.memories().unwrap().find_memories(&find).await.unwrap();
        memories += found.hits.len().min(1);
    }
    (messages, memories)
}

fn files(folder: &Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).unwrap();
    files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect()
}

fn names(corpus: &[Sample]) -> Vec<String> {
    (0..corpus.len()).map(|i| format!("c{i}")).collect()
}

async fn write_corpus(store: &dyn Store, corpus: &[Sample]) {
    for (name, sample) in names(corpus).iter().zip(corpus) {
        write_everywhere(store, name, &sample.text).await;
    }
}

#[tokio::test]
async fn no_secret_is_in_memory_or_in_an_answer() {
    let corpus = corpus();
    let pieces = pieces(&corpus);
    for masking in [true, false] {
        let inner: Arc<dyn Store> = Arc::new(InMemoryStore::default());
        let layer = MaskingStore::new(Arc::clone(&inner));
        let store: &dyn Store = if masking { &layer } else { &*inner };
        write_corpus(store, &corpus).await;
        let held = held(&read_everything(&*inner, &names(&corpus)).await, &pieces);
        let found = found_by_search(store, &pieces).await;
        if masking {
            assert_eq!((held, found), (vec![], (0, 0)));
            let report = layer.report();
            assert_eq!(report.left_total(), 0);
            for sample in &corpus {
                assert!(report.masked.of(sample.kind) >= 30, "{}", sample.kind);
            }
        } else {
            // The search is able to find them.
            assert!(held.len() >= 40 && found.0 >= 40 && found.1 >= 40, "{held:?} {found:?}");
        }
    }
}

#[tokio::test]
async fn no_secret_is_in_the_files_of_a_database_or_in_its_backup() {
    let corpus = corpus();
    let pieces = pieces(&corpus);
    for masking in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let inner = SqliteStore::open(SqliteConfig::new(folder.path().join("a.db"))).await.unwrap();
        let inner: Arc<dyn Store> = Arc::new(inner);
        let layer: Arc<dyn Store> = Arc::new(MaskingStore::new(Arc::clone(&inner)));
        let store = if masking { &layer } else { &inner };
        write_corpus(&**store, &corpus).await;
        store.maintenance().unwrap().backup(&folder.path().join("copy.db")).await.unwrap();
        let bytes = files(folder.path());
        let held = held(&bytes, &pieces);
        let found = found_by_search(&**store, &pieces).await;
        if masking {
            assert_eq!((held, found), (vec![], (0, 0)));
            assert!(bytes.windows(8).any(|window| window == b"[secret:"));
        } else {
            assert!(held.len() >= 40 && found.0 >= 40, "{held:?} {found:?}");
        }
        drop(layer);
        inner.close().await.unwrap();
        if masking {
            assert_eq!(self::held(&files(folder.path()), &pieces), Vec::<&str>::new());
        }
    }
}

#[tokio::test]
async fn below_an_encrypted_layer_nothing_changes_and_above_it_all_is_masked() {
    let sample = &corpus()[3];
    let key = EncryptionKey::from_bytes("k", &[7; 32]).unwrap();
    let inner: Arc<dyn Store> = Arc::new(InMemoryStore::default());
    let encrypted = EncryptedStore::new(Arc::clone(&inner), KeyRing::new(key.clone()));
    let store = MaskingStore::new(Arc::new(encrypted));
    let (chat, node) = (chat("c"), |text: &str| {
        context_core::Node::new("m1", context_core::Message::from(text), crate::fixture::at(1))
    });
    let new = context_core::store::NewChat::new(chat.clone(), crate::fixture::at(1));
    let _new = store.history().create_chat(new.clone()).await.unwrap();
    let commit = crate::fixture::extend(&chat, None, vec![node(&sample.text)]);
    crate::fixture::applied(&store, commit.clone()).await;
    let read = store.history().messages(&chat, &["m1".into()]).await.unwrap();
    let read = read[0].clone().unwrap().node.message().unwrap().plain_text().into_owned();
    assert_eq!(read, sample.text.replace(&sample.secret, "[secret:github-token]"));
    // A repeated commit is recognized.
    let again = store.history().commit(commit).await.unwrap();
    assert!(matches!(again, context_core::store::CommitOutcome::Replayed(_)), "{again:?}");

    let below = MaskingStore::new(Arc::new(InMemoryStore::default()));
    let store = EncryptedStore::new(Arc::new(below.clone()), KeyRing::new(key));
    let _new = store.history().create_chat(new).await.unwrap();
    let commit = crate::fixture::extend(&chat, None, vec![node(&sample.text)]);
    crate::fixture::applied(&store, commit).await;
    let read = store.history().messages(&chat, &["m1".into()]).await.unwrap();
    let read = read[0].clone().unwrap();
    assert_eq!(read.node.message().unwrap().plain_text(), sample.text);
    assert!(below.report().is_empty());
}
