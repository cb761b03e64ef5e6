//! Random steps of a round, reproducible by seed.

use context_core::base::JsonMap;
use context_core::trajectory::{
    Changes, FieldForm, FieldValue, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeId,
    NodeRemoval, ParentNode, QueueItem, QueueName, RoundState, TrajectoryNode, TrajectoryNodeKind,
};
use context_core::{Json, Timestamp};

use super::RoundFixture;
use context_simulator::Random;

/// Texts that have caused bugs in stores.
pub(crate) const TEXTS: &[&str] = &[
    "",
    "plain",
    "\u{0}",
    "before\u{0}after",
    "Ünï 👩‍👩‍👧 \n\r\t\"'\\",
    "\u{feff}bom",
    "'; drop table nodes; --",
    "%s {0} $1 ?",
    "null",
    "\"quoted\"",
    "sealed",
    " spaces around ",
    "\u{2028}\u{ffff}\u{10ffff}",
];

/// JSON that must be preserved exactly, including digits and the order of keys.
pub(crate) const JSONS: &[&str] = &[
    "null",
    "true",
    "\"Pending\"",
    "[]",
    "{}",
    r#"{"b":1,"a":2,"c":{"z":[],"y":null}}"#,
    "[1.10,1e3,-0,0.1e-7,123456789012345678901234567890,1.0]",
    r#"{"":"","\u0000":"\u0000","é":"\ud83e\udd80"}"#,
    r#"["\/","/","\u00e9","é"]"#,
];

const MICROS: &[i64] = &[0, -1, 1, i64::MAX, i64::MIN, 1_700_000_000_123_456];

fn pick<T: Copy>(random: &mut Random, of: &[T]) -> T {
    of[random.below(of.len())]
}

fn json(random: &mut Random) -> Json {
    Json::from_text(pick(random, JSONS)).expect("the table is JSON")
}

fn value(random: &mut Random, form: FieldForm) -> FieldValue {
    match form {
        FieldForm::Flag => FieldValue::from(random.one_in(2)),
        FieldForm::Json => FieldValue::from(json(random)),
        _ => FieldValue::from(pick(random, TEXTS)),
    }
}

fn body(random: &mut Random, kind: TrajectoryNodeKind) -> NodeBody {
    let values = kind.fields().iter().map(|field| {
        let given = field.default.is_none() || random.one_in(2);
        given.then(|| value(random, field.form))
    });
    NodeBody::from_values(kind, values.collect::<Vec<_>>()).expect("all that must be given is")
}

fn measures(random: &mut Random) -> Measures {
    let mut measures = Measures::default();
    measures.started_at = random.one_in(2).then(|| Timestamp::from_micros(pick(random, MICROS)));
    measures.ended_at = random.one_in(2).then(|| Timestamp::from_micros(pick(random, MICROS)));
    measures.model = random.one_in(2).then(|| pick(random, TEXTS).into());
    measures.input_tokens = random.one_in(2).then(|| random.bits() >> 12);
    measures.cost_usd = random.one_in(2).then_some(0.012_345_678_9);
    measures.error = random.one_in(4).then(|| pick(random, TEXTS).into());
    measures
}

/// The result of a step.
type StepResult = Result<(), context_core::trajectory::TrajectoryError>;

impl RoundFixture {
    /// Makes one to four random changes for one commit. Changes that the round refuses are dropped.
    pub(crate) fn live(&mut self, random: &mut Random) {
        for _ in 0..=random.below(4) {
            let _refused = self.step(random);
        }
    }

    fn step(&mut self, random: &mut Random) -> StepResult {
        let at = self.fixture.at();
        let nodes: Vec<NodeId> = self.round.nodes().map(|node| node.id).collect();
        let Some(some) = nodes.get(random.below(nodes.len())).copied() else {
            let query =
                NewQuery::new(pick(random, TEXTS)).raw(pick(random, TEXTS)).files(["a.csv", "é"]);
            let link = MessageLink::new("chat", format!("m{}", random.below(5)));
            let changes = self.round.ask(query.author("ada").message(link), at)?.1;
            self.pending.extend(changes);
            return Ok(());
        };
        let changes = match random.below(20) {
            0..=8 => {
                let new = self.new_node(random, &nodes, some);
                self.round.add(new, at)?.1
            }
            9..=12 => {
                let changes = self.changes(random, some);
                let author = random.one_in(2).then(|| pick(random, TEXTS).into());
                self.round.change(some, &changes, author, at)?
            }
            13 => {
                let other = nodes[random.below(nodes.len())];
                let name =
                    pick(random, &["produces", "triggers", "refers_to", "a name of one's own", ""]);
                self.round.connect(some, other, Some(name), at)?
            }
            14 => {
                let body = NodeBody::file("old.csv");
                let round = some.round.saturating_sub(1 + random.below(2) as u32);
                let id = NodeId::new(round, random.below(9) as u32);
                self.round.refer(some, &TrajectoryNode::new(id, "old", body, at), at)?
            }
            15 | 16 => {
                let removal =
                    pick(random, &[NodeRemoval::Leaf, NodeRemoval::Cascade, NodeRemoval::Splice]);
                self.round.remove(some, removal, at)?
            }
            17 | 18 => {
                let queue = self.round.queues_mut(at).get_mut(pick(random, &QueueName::ALL));
                if random.one_in(3) {
                    let _empty = queue.pop();
                } else {
                    let params =
                        JsonMap::from_iter([(pick(random, TEXTS).to_owned(), json(random))]);
                    let _full =
                        queue.push(QueueItem { name: pick(random, TEXTS).to_owned(), params });
                }
                Vec::new()
            }
            _ => {
                let states = [RoundState::Open, RoundState::Closed, RoundState::Interrupted];
                self.round.set_state(pick(random, &states), at);
                Vec::new()
            }
        };
        self.pending.extend(changes);
        Ok(())
    }

    fn new_node(&self, random: &mut Random, nodes: &[NodeId], some: NodeId) -> NewNode {
        let kind = TrajectoryNodeKind::ALL[1 + random.below(TrajectoryNodeKind::ALL.len() - 1)];
        let endpoints: Vec<NodeId> = self.round.endpoints().collect();
        let mut after = vec![endpoints.get(random.below(endpoints.len())).copied().unwrap_or(some)];
        let other = nodes[random.below(nodes.len())];
        if random.one_in(3) && !after.contains(&other) {
            after.push(other);
        }
        let name = pick(random, &["triggers", "has_conclusion", "produces", "é\u{0}", ""]);
        let mut new =
            NewNode::new(body(random, kind), after).edge(name).describe(pick(random, TEXTS));
        if random.one_in(3) {
            new = new.append();
        }
        if random.one_in(4) {
            new = new.label(format!("{}{}", pick(random, TEXTS), random.below(1000)));
        }
        if random.one_in(2) {
            new = new.author(pick(random, TEXTS));
        }
        for _ in 0..random.below(3) {
            new = new.message(MessageLink::new("chat", format!("m{}", random.below(5))));
        }
        if random.one_in(3) { new.measure(measures(random)) } else { new }
    }

    fn changes(&self, random: &mut Random, id: NodeId) -> Changes {
        let Some(node) = self.round.node(id) else { return Changes::new() };
        let fields = node.kind().fields();
        let mut changes = Changes::new();
        for _ in 0..=random.below(2) {
            changes = match random.below(5) {
                0 => changes.describe(pick(random, TEXTS)),
                1 => changes.measure(&measures(random)),
                _ => {
                    let field = &fields[random.below(fields.len())];
                    changes.set(field.name, value(random, field.form))
                }
            };
        }
        changes
    }

    /// Sets the parent node, in the main agent, of a round without records.
    pub(crate) fn below(mut self, agent: u32, node: NodeId) -> Self {
        self.round = self.round.below(ParentNode { agent, node });
        self
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use context_core::trajectory::{Change, Round, RoundRecord};
    use context_store_inmem::InMemoryStore;

    use super::*;
    use crate::chat_fixture::ChatFixture;

    /// Checks that the generator produces all kinds of changes. If most were refused, the suite
    /// would test little.
    #[test]
    fn rounds_do_everything_and_stay_sound() {
        let fixture = ChatFixture::new(Arc::new(InMemoryStore::default()), "ada", "chat");
        let mut seen = BTreeMap::new();
        for seed in 0..80 {
            let mut random = Random::new(seed);
            let mut round_fixture = fixture.round("s", 2);
            let mut record = RoundRecord::new(round_fixture.round.head(), Vec::new(), Vec::new());
            for _ in 0..15 {
                round_fixture.live(&mut random);
                let commit = round_fixture.commit();
                commit.check().unwrap();
                for change in &commit.changes {
                    let name = match change {
                        Change::NodeAdded { .. } => "added",
                        Change::EdgeAdded { edge } if edge.to.round < 2 => "referred to before",
                        Change::EdgeAdded { .. } => "connected",
                        Change::NodeChanged { .. } => "changed",
                        Change::NodeRemoved { .. } => "removed",
                        _ => "other",
                    };
                    *seen.entry(name).or_insert(0) += 1;
                }
                record.apply(&commit.changes, &commit.head).unwrap();
                assert_eq!(record, round_fixture.round.to_record(), "seed {seed}");
            }
            Round::from_record(record).unwrap();
        }
        for name in ["added", "referred to before", "connected", "changed", "removed"] {
            assert!(seen.get(name).is_some_and(|count| *count > 40), "{seen:?}");
        }
    }
}
