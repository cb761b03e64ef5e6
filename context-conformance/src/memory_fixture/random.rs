//! Random memory steps, reproducible by seed.

use context_core::memory::{MemoryForget, MemoryRecord, MemoryScope, MemorySource, MemoryVector};
use context_core::store::{MemoryExpected, MemoryWrite};
use context_core::{Metadata, Timestamp};

use super::model::MemoryModel;
use context_simulator::Random;

/// A random step.
#[derive(Clone, Debug)]
pub(crate) enum MemoryStep {
    Write(Vec<MemoryWrite>),
    Forget(MemoryForget),
}

const WORDS: &[&str] = &["lisbon", "flight", "é", "🦀", "a", "b", "OR", "naïve"];
const KINDS: &[&str] = &["episode", "fact", "block"];

fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}

/// Returns one of a few scopes of a user, some of them nested.
pub(crate) fn scope(random: &mut Random, user: &str) -> MemoryScope {
    let mut scope = MemoryScope::new(user);
    if random.one_in(2) {
        scope = scope.project(pick(random, &["p", "q"]));
    }
    if random.one_in(3) {
        scope = scope.agent("p");
    }
    if random.one_in(3) {
        scope = scope.session(pick(random, &["s", "p"]));
    }
    scope
}

pub(crate) fn words(random: &mut Random, most: usize) -> Vec<String> {
    (0..random.below(most + 1)).map(|_| pick(random, WORDS).to_owned()).collect()
}

/// Returns distinct words to search for.
pub(crate) fn search_words(random: &mut Random) -> Vec<String> {
    let mut words = words(random, 3);
    words.sort();
    words.dedup();
    words
}

pub(crate) fn vector(random: &mut Random) -> MemoryVector {
    let model = if random.one_in(4) { "other" } else { "small" };
    let mut number = || random.below(3) as f32 - 1.0;
    MemoryVector::new(model, [number(), number(), 1.0].as_slice())
}

fn source(random: &mut Random) -> MemorySource {
    let session = pick(random, &["s1", "s2"]);
    if random.one_in(4) {
        return MemorySource::session(session);
    }
    MemorySource::message(session, format!("m{}", random.below(4)))
}

fn write(random: &mut Random, user: &str, model: &MemoryModel) -> MemoryWrite {
    let words = words(random, 6).join(" ");
    let at = Timestamp::from_micros(random.below(1000) as i64 - 500);
    let kind = pick(random, KINDS);
    let id = format!("m{}", random.below(6));
    let mut record = MemoryRecord::new(scope(random, user), id, kind, at, format!("said: {words}"));
    record.key = random.one_in(3).then(|| pick(random, &["k", "l"]).to_owned());
    record.source = (!random.one_in(4)).then(|| source(random));
    record.speaker = random.one_in(3).then(|| "ada".to_owned());
    if random.one_in(4) {
        record.data = Metadata::default().with("n", random.below(100) as i64);
    }
    let version = model.get(&record.scope, &record.id).map_or(0, |entry| entry.version);
    let expected = match random.below(10) {
        0..=4 => MemoryExpected::Absent,
        5 | 6 => MemoryExpected::Anything,
        7 | 8 => MemoryExpected::Version(version),
        _ => MemoryExpected::Version(random.below(3) as u64),
    };
    let write = MemoryWrite::new(record, words).expected(expected);
    if random.one_in(2) { write.vector(vector(random)) } else { write }
}

impl MemoryStep {
    /// Returns a random step that makes sense in the state of the model.
    pub(crate) fn random(random: &mut Random, user: &str, model: &MemoryModel) -> Self {
        match random.below(10) {
            0 => Self::Forget(MemoryForget::Scope(scope(random, user))),
            1 => Self::Forget(MemoryForget::source(scope(random, user), source(random))),
            2 => {
                let ids: Vec<_> =
                    (0..random.below(4)).map(|_| format!("m{}", random.below(6))).collect();
                Self::Forget(MemoryForget::ids(scope(random, user), ids))
            }
            _ => {
                let mut writes: Vec<MemoryWrite> = Vec::new();
                for _ in 0..=random.below(4) {
                    let new = write(random, user, model);
                    let same = |old: &MemoryWrite| {
                        old.record.scope == new.record.scope && old.record.id == new.record.id
                    };
                    if !writes.iter().any(same) {
                        writes.push(new);
                    }
                }
                Self::Write(writes)
            }
        }
    }
}

/// Random steps of user `ada`, each of which makes sense after the previous ones.
pub(crate) struct MemoryLife {
    random: Random,
    pub(crate) model: MemoryModel,
}

impl MemoryLife {
    pub(crate) fn new(seed: u64) -> Self {
        Self { random: Random::new(seed), model: MemoryModel::default() }
    }

    /// Returns the next step and applies it to the model.
    pub(crate) fn next(&mut self) -> MemoryStep {
        let step = MemoryStep::random(&mut self.random, "ada", &self.model);
        match &step {
            MemoryStep::Write(writes) => drop(self.model.write(writes)),
            MemoryStep::Forget(forget) => drop(self.model.forget(forget)),
        }
        step
    }
}
