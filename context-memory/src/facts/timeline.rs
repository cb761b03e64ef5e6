//! Deriving facts and their time spans from statements.

use std::collections::BTreeMap;

use context_core::Timestamp;
use context_core::base::MemoryId;

use super::statement_record::StatementRecord;
use super::{Cardinality, Fact, names};

/// The two kinds of events of a statement. At the same time, an end comes before a beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    Ends,
    Begins,
}

/// Returns the facts of one subject and relation, ordered by start. Independent of the order of the
/// statements.
pub(super) fn timeline(record: Vec<StatementRecord>, rule: Option<Cardinality>) -> Vec<Fact> {
    // Statements of a lower class do not bring back what one of a higher class has ended.
    let trusted = record.iter().filter_map(|record| record.statement.trust).max();
    let decides = |record: &&StatementRecord| {
        record.statement.trust.is_none() || record.statement.trust == trusted
    };
    let is_many = |record: &StatementRecord| record.statement.cardinality == Cardinality::Many;
    let is_many = record.iter().filter(decides).any(is_many);
    let cardinality = rule.unwrap_or(if is_many { Cardinality::Many } else { Cardinality::One });
    let objects: Vec<String> =
        record.iter().map(|record| names::folded(&record.statement.object)).collect();
    let mut events: Vec<(Timestamp, EventKind, usize)> = Vec::with_capacity(record.len());
    for (at, StatementRecord { statement, .. }) in record.iter().enumerate() {
        events.extend(statement.start().map(|time| (time, EventKind::Begins, at)));
        events.extend(statement.until.map(|time| (time, EventKind::Ends, at)));
    }
    // Later statements come later. Ties are broken by content, so that the order is deterministic.
    events.sort_by_cached_key(|(time, turn, at)| {
        let StatementRecord { record: (scope, id), statement, .. } = &record[*at];
        (*time, *turn, statement.said_at, objects[*at].clone(), scope.key(), id.clone())
    });
    let mut builder = TimelineBuilder {
        facts: Vec::new(),
        last: BTreeMap::new(),
        open: BTreeMap::new(),
        cardinality,
    };
    for (time, turn, at) in events {
        match turn {
            EventKind::Begins => builder.begins(time, &record[at], &objects[at]),
            EventKind::Ends => builder.ends(time, &record[at], &objects[at]),
        }
    }
    builder.facts
}

struct TimelineBuilder<'a> {
    facts: Vec<Fact>,
    /// The latest fact of each object, and the facts that have not ended.
    last: BTreeMap<&'a str, usize>,
    open: BTreeMap<&'a str, usize>,
    cardinality: Cardinality,
}

impl<'a> TimelineBuilder<'a> {
    fn begins(&mut self, time: Timestamp, record: &StatementRecord, object: &'a str) {
        if self.cardinality == Cardinality::One {
            self.ends_others(time, record, object);
        }
        if let Some(fact) = self.open.get(object) {
            return add(&mut self.facts[*fact], record);
        }
        let mut fact = self.fact(record);
        (fact.from, fact.is_from_said) = (Some(time), record.statement.from.is_some());
        self.push(object, fact);
        self.open.insert(object, self.facts.len() - 1);
    }

    /// Ends the other values that are open, except those of a higher class, which are contested.
    fn ends_others(&mut self, time: Timestamp, record: &StatementRecord, object: &str) {
        let facts = &mut self.facts;
        self.open.retain(|other, fact| {
            if *other == object {
                return true;
            }
            let (fact, by) = (&mut facts[*fact], &record.record.1);
            if is_lower(record, fact) {
                fact.contested_by.get_or_insert_with(|| by.clone());
                return true;
            }
            (fact.until, fact.superseded_by) = (Some(time), Some(by.clone()));
            false
        });
    }

    fn ends(&mut self, time: Timestamp, record: &StatementRecord, object: &'a str) {
        if let Some(fact) = self.open.get(object)
            && is_lower(record, &self.facts[*fact])
        {
            let by: &MemoryId = &record.record.1;
            self.facts[*fact].contested_by.get_or_insert_with(|| by.clone());
            return;
        }
        if let Some(fact) = self.open.remove(object) {
            self.facts[fact].until = Some(time);
            return add(&mut self.facts[fact], record);
        }
        // The fact ended earlier, or another value replaced it: that end stays.
        if let Some(fact) = self.last.get(object) {
            return add(&mut self.facts[*fact], record);
        }
        let mut fact = self.fact(record);
        fact.until = Some(time);
        self.push(object, fact);
    }

    fn push(&mut self, object: &'a str, fact: Fact) {
        self.last.insert(object, self.facts.len());
        self.facts.push(fact);
    }

    fn fact(&self, record: &StatementRecord) -> Fact {
        let statement = record.statement.clone();
        let mut fact = Fact {
            subject: statement.subject,
            relation: statement.relation,
            object: statement.object,
            cardinality: self.cardinality,
            from: None,
            is_from_said: false,
            until: None,
            superseded_by: None,
            contested_by: None,
            trust: None,
            said_at: statement.said_at,
            recorded_at: record.recorded,
            sources: Vec::new(),
            statements: Vec::new(),
        };
        add(&mut fact, record);
        fact
    }
}

/// Whether a statement is of a lower class than a fact. An unknown class is not compared.
fn is_lower(record: &StatementRecord, fact: &Fact) -> bool {
    matches!((record.statement.trust, fact.trust), (Some(new), Some(known)) if new < known)
}

/// Adds a statement to a fact.
fn add(fact: &mut Fact, record: &StatementRecord) {
    if fact.statements.contains(&record.record) {
        return;
    }
    fact.statements.push(record.record.clone());
    fact.said_at = fact.said_at.max(record.statement.said_at);
    fact.trust = fact.trust.max(record.statement.trust);
    fact.recorded_at = fact.recorded_at.min(record.recorded);
    if let Some(source) =
        record.statement.source.as_ref().filter(|source| !fact.sources.contains(source))
    {
        fact.sources.push(source.clone());
    }
}
