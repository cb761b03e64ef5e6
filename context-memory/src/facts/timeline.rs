//! Deriving facts and their time spans from statements.

use std::collections::BTreeMap;

use context_core::Timestamp;
use context_core::base::MemoryId;

use super::kept::Said;
use super::{Fact, Holds, names};

/// The two kinds of events of a statement. At the same time, an end comes before a beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    Ends,
    Begins,
}

/// Returns the facts of one subject and relation, ordered by start. Independent of the order of the
/// statements.
pub(super) fn timeline(said: Vec<Said>, rule: Option<Holds>) -> Vec<Fact> {
    let is_many = said.iter().any(|said| said.statement.holds == Holds::Many);
    let holds = rule.unwrap_or(if is_many { Holds::Many } else { Holds::One });
    let objects: Vec<String> =
        said.iter().map(|said| names::folded(&said.statement.object)).collect();
    let mut turns: Vec<(Timestamp, Turn, usize)> = Vec::with_capacity(said.len());
    for (at, Said { statement, .. }) in said.iter().enumerate() {
        turns.extend(statement.start().map(|time| (time, Turn::Begins, at)));
        turns.extend(statement.until.map(|time| (time, Turn::Ends, at)));
    }
    // Later statements come later. Ties are broken by content, so that the order is deterministic.
    turns.sort_by_cached_key(|(time, turn, at)| {
        let Said { record: (scope, id), statement, .. } = &said[*at];
        (*time, *turn, statement.said_at, objects[*at].clone(), scope.key(), id.clone())
    });
    let mut line = Line { facts: Vec::new(), last: BTreeMap::new(), open: BTreeMap::new(), holds };
    for (time, turn, at) in turns {
        match turn {
            Turn::Begins => line.begins(time, &said[at], &objects[at]),
            Turn::Ends => line.ends(time, &said[at], &objects[at]),
        }
    }
    line.facts
}

struct Line<'a> {
    facts: Vec<Fact>,
    /// The latest fact of each object, and the facts that have not ended.
    last: BTreeMap<&'a str, usize>,
    open: BTreeMap<&'a str, usize>,
    holds: Holds,
}

impl<'a> Line<'a> {
    fn begins(&mut self, time: Timestamp, said: &Said, object: &'a str) {
        if let Some(fact) = self.open.get(object) {
            return add(&mut self.facts[*fact], said);
        }
        if self.holds == Holds::One {
            for (_, fact) in std::mem::take(&mut self.open) {
                let by: &MemoryId = &said.record.1;
                self.facts[fact].until = Some(time);
                self.facts[fact].superseded_by = Some(by.clone());
            }
        }
        let mut fact = self.fact(said);
        (fact.from, fact.is_from_said) = (Some(time), said.statement.from.is_some());
        self.push(object, fact);
        self.open.insert(object, self.facts.len() - 1);
    }

    fn ends(&mut self, time: Timestamp, said: &Said, object: &'a str) {
        if let Some(fact) = self.open.remove(object) {
            self.facts[fact].until = Some(time);
            return add(&mut self.facts[fact], said);
        }
        // The fact ended earlier, or another value replaced it: that end stays.
        if let Some(fact) = self.last.get(object) {
            return add(&mut self.facts[*fact], said);
        }
        let mut fact = self.fact(said);
        fact.until = Some(time);
        self.push(object, fact);
    }

    fn push(&mut self, object: &'a str, fact: Fact) {
        self.last.insert(object, self.facts.len());
        self.facts.push(fact);
    }

    fn fact(&self, said: &Said) -> Fact {
        let statement = said.statement.clone();
        let mut fact = Fact {
            subject: statement.subject,
            relation: statement.relation,
            object: statement.object,
            holds: self.holds,
            from: None,
            is_from_said: false,
            until: None,
            superseded_by: None,
            said_at: statement.said_at,
            recorded_at: said.recorded,
            sources: Vec::new(),
            statements: Vec::new(),
        };
        add(&mut fact, said);
        fact
    }
}

/// Adds a statement to a fact.
fn add(fact: &mut Fact, said: &Said) {
    if fact.statements.contains(&said.record) {
        return;
    }
    fact.statements.push(said.record.clone());
    fact.said_at = fact.said_at.max(said.statement.said_at);
    fact.recorded_at = fact.recorded_at.min(said.recorded);
    if let Some(source) =
        said.statement.source.as_ref().filter(|source| !fact.sources.contains(source))
    {
        fact.sources.push(source.clone());
    }
}
