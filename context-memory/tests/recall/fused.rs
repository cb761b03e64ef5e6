//! Tests of recall on whole dialogues: by words, by vectors, and by both.
//!
//! The dialogues in `dialogues` were written for this project, in the format of LoCoMo: turns in
//! sessions, and questions with the turns that hold the answer. `cargo xtask bench memory` measures
//! them, too.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use context_core::memory::{CapturedMessage, CapturedTurn, MemoryScope, RecallQuery};
use context_core::model::{EmbedAs, Embedder};
use context_core::{CancelSignal, MemoryProvider, Message, ModelError, Result, Role};
use context_memory::Episodic;
use context_store_inmem::InMemoryStore;
use serde_json::Value;

use crate::kit::{minute, never};

/// A dialogue and its questions.
struct Dialogue {
    /// The sessions: turns of id, speaker and text.
    sessions: Vec<Vec<[String; 3]>>,
    /// The questions with the ids of their evidence.
    questions: Vec<(String, Vec<String>)>,
}

impl Dialogue {
    fn turns(&self) -> impl Iterator<Item = &[String; 3]> {
        self.sessions.iter().flatten()
    }

    fn texts(&self, ids: &[String]) -> Vec<String> {
        self.turns().filter(|[id, ..]| ids.contains(id)).map(|[_, _, text]| text.clone()).collect()
    }
}

fn dialogues() -> Vec<Dialogue> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recall/dialogues");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| dialogue(&std::fs::read(file).unwrap())).collect()
}

fn dialogue(json: &[u8]) -> Dialogue {
    let whole: Value = serde_json::from_slice(json).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let turn = |turn: &Value| {
        let said = match turn["blip_caption"].as_str() {
            Some(shown) => format!("{} [shows {shown}]", text(&turn["text"])),
            None => text(&turn["text"]),
        };
        [text(&turn["dia_id"]), text(&turn["speaker"]), said]
    };
    let session =
        |number| whole["conversation"].get(format!("session_{number}")).and_then(Value::as_array);
    let sessions = (1..).map_while(session);
    let question = |asked: &Value| {
        let evidence = asked["evidence"].as_array().unwrap().iter().map(text).collect();
        (text(&asked["question"]), evidence)
    };
    Dialogue {
        sessions: sessions.map(|turns| turns.iter().map(turn).collect()).collect(),
        questions: whole["qa"].as_array().unwrap().iter().map(question).collect(),
    }
}

/// The number of dimensions of a vector.
const DIMENSIONS: usize = 64;

/// A deterministic embedder. The vector of a text is one of its own; that of a question is nearer
/// to its evidence than to other texts, by how good the embedder is.
#[derive(Debug)]
struct SimulatedEmbedder {
    /// The texts of the evidence of each question.
    evidence: HashMap<String, Vec<String>>,
    good: f32,
}

impl SimulatedEmbedder {
    fn of(dialogue: &Dialogue, good: f32) -> Self {
        let evidence = dialogue.questions.iter();
        let evidence = evidence.map(|(text, ids)| (text.clone(), dialogue.texts(ids))).collect();
        Self { evidence, good }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = own(text);
        let evidence = self.evidence.get(text).map(Vec::as_slice).unwrap_or_default();
        let share = self.good / (evidence.len() as f32).sqrt();
        for text in evidence {
            vector.iter_mut().zip(own(text)).for_each(|(value, near)| *value += share * near);
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }
}

/// Returns a vector of length 1 that depends on the text alone.
fn own(text: &str) -> Vec<f32> {
    let mut random = blake3::Hasher::new().update(text.as_bytes()).finalize_xof();
    let mut bytes = [0; DIMENSIONS * 4];
    random.fill(&mut bytes);
    // The sum of four bytes is nearly normal.
    let values = bytes.chunks(4).map(|four| four.iter().map(|b| f32::from(*b) - 127.5).sum());
    let values: Vec<f32> = values.collect();
    let length = values.iter().map(|value: &f32| value * value).sum::<f32>().sqrt();
    values.iter().map(|value| value / length).collect()
}

#[async_trait]
impl Embedder for SimulatedEmbedder {
    fn name(&self) -> &str {
        "simulated"
    }

    async fn embed(
        &self,
        texts: &[String],
        _embed_as: EmbedAs,
        _cancel: &CancelSignal,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// Returns a memory that was told a dialogue.
async fn told(dialogue: &Dialogue, embedder: Option<Arc<dyn Embedder>>) -> Episodic {
    let store = Arc::new(InMemoryStore::default());
    let mut memory = Episodic::new(store as _).unwrap().hot(Duration::ZERO).limit(5);
    if let Some(embedder) = embedder {
        memory = memory.embedder(embedder);
    }
    for (at, turns) in dialogue.sessions.iter().enumerate() {
        let began = minute(at as i64 * 24 * 60);
        let said = turns.iter().map(|[id, speaker, text]| {
            let message = Message::text(Role::User, text.as_str());
            CapturedMessage::new(id.as_str(), message).speaker(speaker.as_str()).at(began)
        });
        let scope = MemoryScope::new("ada").session(format!("s{at}"));
        let turn = CapturedTurn::new(scope, format!("t{at}"), began, said.collect());
        memory.capture(&turn, &never()).await.unwrap();
    }
    memory
}

/// Returns for how many questions one of the first five memories is evidence.
async fn found(memory: &Episodic, dialogue: &Dialogue) -> usize {
    let mut found = 0;
    for (question, evidence) in &dialogue.questions {
        let query = RecallQuery::new(MemoryScope::new("ada"), question.as_str());
        let recalled = memory.recall(&query, &never()).await.unwrap();
        let mut of = recalled.memories.iter().filter_map(|memory| memory.source.as_ref());
        let is_evidence = |message: &str| evidence.iter().any(|id| id == message);
        found += usize::from(of.any(|from| {
            from.message.as_ref().is_some_and(|message| is_evidence(message.as_str()))
        }));
    }
    found
}

/// Returns for how many questions one of the five nearest vectors is of evidence.
fn nearest(embedder: &SimulatedEmbedder, dialogue: &Dialogue) -> usize {
    let near = |question: &str, text: &str| -> f32 {
        let pairs = embedder.vector(question).into_iter().zip(embedder.vector(text));
        pairs.map(|(a, b)| a * b).sum()
    };
    let is_found = |(question, evidence): &&(String, Vec<String>)| {
        let mut turns: Vec<_> =
            dialogue.turns().map(|[id, _, text]| (near(question, text), id)).collect();
        turns.sort_by(|a, b| b.0.total_cmp(&a.0));
        turns.iter().take(5).any(|(_, id)| evidence.contains(id))
    };
    dialogue.questions.iter().filter(is_found).count()
}

/// The fused order was once that of the sum of reciprocal ranks: a weak embedder put what it found
/// before what the words had found.
#[tokio::test]
async fn words_and_vectors_together_find_no_less_than_either() {
    let dialogues = dialogues();
    let (mut asked, mut by_words) = (0, 0);
    for dialogue in &dialogues {
        asked += dialogue.questions.len();
        by_words += found(&told(dialogue, None).await, dialogue).await;
    }
    assert!(by_words * 4 >= asked * 3, "by words {by_words} of {asked}");
    for good in [0.2, 0.35] {
        let (mut by_vectors, mut by_both) = (0, 0);
        for dialogue in &dialogues {
            let embedder = SimulatedEmbedder::of(dialogue, good);
            by_vectors += nearest(&embedder, dialogue);
            by_both += found(&told(dialogue, Some(Arc::new(embedder))).await, dialogue).await;
        }
        assert!(
            by_both >= by_words.max(by_vectors),
            "{good}: words {by_words}, vectors {by_vectors}, both {by_both} of {asked}"
        );
    }
}
