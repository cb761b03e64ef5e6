//! Fixture for one round: written to a store and kept in memory, so that a case is a few readable
//! lines.

mod random;

use std::sync::Arc;

use context_core::store::{Finding, Page, RecordOutcome, RoundCommit, RoundQuery, TrajectoryStore};
use context_core::trajectory::{
    AgentRef, Change, Changes, NewNode, NewQuery, NodeBody, NodeId, NodeRemoval, Round, RoundHead,
    RoundRecord, RoundRef, RoundState, TrajectoryError, TrajectoryNode,
};
use context_core::{ErrorKind, Retry, Timestamp};
use serde::Serialize;

use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, same};
use crate::verdict::{Check, Stop};
use context_simulator::Random;
pub(crate) use random::{JSONS, TEXTS};

/// The number of pages after which a listing is considered endless.
const MOST_PAGES: usize = 10_000;

impl From<TrajectoryError> for Stop {
    fn from(error: TrajectoryError) -> Self {
        Self::Fail(format!("a change that a round must take was refused: {error}"))
    }
}

impl ChatFixture {
    pub(crate) fn trajectories(&self) -> Check<&dyn TrajectoryStore> {
        self.store.trajectories().ok_or_else(|| Stop::Skip("no trajectories".to_owned()))
    }

    /// Returns the main agent of a session of the user.
    pub(crate) fn agent(&self, session: &str) -> AgentRef {
        AgentRef::main(self.chat.user.clone(), session)
    }

    /// Returns a round of the main agent that has no records yet.
    pub(crate) fn round(&self, session: &str, round: u32) -> RoundFixture {
        RoundFixture::new(self, self.agent(session).round(round))
    }

    /// Records a round of the main agent with a question.
    pub(crate) async fn asked(&self, session: &str, round: u32) -> Check<RoundFixture> {
        let mut round_fixture = self.round(session, round);
        round_fixture.ask("what was asked")?;
        round_fixture.record().await?;
        Ok(round_fixture)
    }

    /// Sends a commit, with retries while the store is unavailable.
    pub(crate) async fn record(&self, commit: &RoundCommit) -> Check<RecordOutcome> {
        for _ in 0..200 {
            match self.trajectories()?.record_round(commit).await {
                Err(error)
                    if error.kind() == ErrorKind::Unavailable && error.retry() == Retry::Safe =>
                {
                    tokio::task::yield_now().await;
                }
                result => return Ok(result?),
            }
        }
        fail("a commit to a round: still unavailable after 200 tries")
    }

    pub(crate) async fn load(&self, round: &RoundRef) -> Check<Option<RoundRecord>> {
        let mut found =
            self.trajectories()?.load_rounds(&round.agent, round.round..=round.round).await?;
        same(
            format!("how many rounds there are of number {}", round.round),
            &(found.len() < 2),
            &true,
        )?;
        Ok(found.pop())
    }

    /// Expects the store to have exactly this round.
    pub(crate) async fn expect_round(&self, did: &str, expected: &RoundRecord) -> Check {
        match self.load(&expected.head.round).await? {
            Some(saw) => same_round(did, &saw, expected),
            None => fail(format!("{} after {did}: it is not there", expected.head.round)),
        }
    }

    /// Returns all heads of a listing, page by page.
    pub(crate) async fn heads_of(&self, query: &RoundQuery) -> Check<Vec<RoundHead>> {
        let (mut heads, mut query) = (Vec::new(), query.clone());
        for _ in 0..MOST_PAGES {
            let Page { items, next } = self.trajectories()?.rounds(&query).await?;
            same("whether a page is as large as asked for", &(items.len() <= query.limit), &true)?;
            heads.extend(items);
            match next {
                Some(next) => query = query.after(Some(next)),
                None => return Ok(heads),
            }
        }
        fail("a listing of rounds does not end")
    }

    /// Returns the findings of a maintenance check, or none for a store without maintenance.
    pub(crate) async fn findings(&self) -> Check<Vec<Finding>> {
        match self.store.maintenance() {
            Some(maintenance) => {
                Ok(maintenance.check(&context_core::CancelSignal::never()).await?.findings)
            }
            None => Ok(Vec::new()),
        }
    }
}

/// Expects both rounds to be equal. A failure names the part that differs.
pub(crate) fn same_round(did: &str, saw: &RoundRecord, expected: &RoundRecord) -> Check {
    if saw == expected {
        return Ok(());
    }
    let round = &expected.head.round;
    let about = |label: &str| format!("{label} of {round} after {did}");
    same(about("the head"), &json(&saw.head), &json(&expected.head))?;
    same(about("the nodes"), &ids(&saw.nodes), &ids(&expected.nodes))?;
    for (saw, expected) in
        saw.nodes.iter().zip(&expected.nodes).filter(|(saw, expected)| saw != expected)
    {
        same(about(&format!("node {}", expected.id)), &json(saw), &json(expected))?;
    }
    same(about("the edges"), &saw.edges, &expected.edges)?;
    fail(format!("{} differs, though it is printed alike", about("something")))
}

fn ids(nodes: &[Arc<TrajectoryNode>]) -> Vec<NodeId> {
    nodes.iter().map(|node| node.id).collect()
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|error| error.to_string())
}

/// A round in memory, its changes since the last commit, and the chat fixture that writes it.
#[derive(Clone)]
pub(crate) struct RoundFixture {
    pub(crate) fixture: ChatFixture,
    pub(crate) round: Round,
    pub(crate) pending: Vec<Change>,
}

impl RoundFixture {
    pub(crate) fn new(fixture: &ChatFixture, round: RoundRef) -> Self {
        let names = context_core::trajectory::EdgeNames::Any;
        Self::of(fixture, Round::new(round, fixture.at()).edge_names(names))
    }

    /// Wraps an existing round.
    pub(crate) fn of(fixture: &ChatFixture, round: Round) -> Self {
        Self { fixture: fixture.clone(), round, pending: Vec::new() }
    }

    pub(crate) fn at(&self) -> Timestamp {
        self.fixture.at()
    }

    pub(crate) fn ask(&mut self, text: &str) -> Check<NodeId> {
        self.asks(NewQuery::new(text))
    }

    pub(crate) fn asks(&mut self, query: NewQuery) -> Check<NodeId> {
        let (id, changes) = self.round.ask(query, self.fixture.at())?;
        self.pending.extend(changes);
        Ok(id)
    }

    /// Returns the question: the first node.
    pub(crate) fn query(&self) -> NodeId {
        NodeId::new(self.reference().round, 0)
    }

    /// Adds a conclusion after a node, which adds an endpoint.
    pub(crate) fn conclude(&mut self, after: NodeId, text: &str) -> Check<NodeId> {
        self.add(NewNode::new(NodeBody::state(text), [after]).edge("has_conclusion").append())
    }

    /// Adds a file that a node produced.
    pub(crate) fn file(&mut self, after: NodeId, path: &str) -> Check<NodeId> {
        self.add(NewNode::new(NodeBody::file(path), [after]).edge("produces"))
    }

    pub(crate) fn add(&mut self, new: NewNode) -> Check<NodeId> {
        let (id, changes) = self.round.add(new, self.fixture.at())?;
        self.pending.extend(changes);
        Ok(id)
    }

    pub(crate) fn change(&mut self, id: NodeId, changes: &Changes) -> Check {
        let at = self.fixture.at();
        self.pending.extend(self.round.change(id, changes, Some("somebody".into()), at)?);
        Ok(())
    }

    pub(crate) fn connect(&mut self, from: NodeId, to: NodeId, name: &str) -> Check {
        let at = self.fixture.at();
        self.pending.extend(self.round.connect(from, to, Some(name), at)?);
        Ok(())
    }

    pub(crate) fn refer(&mut self, from: NodeId, to: &TrajectoryNode) -> Check {
        let at = self.fixture.at();
        self.pending.extend(self.round.refer(from, to, at)?);
        Ok(())
    }

    pub(crate) fn remove(&mut self, id: NodeId, removal: NodeRemoval) -> Check {
        let at = self.fixture.at();
        self.pending.extend(self.round.remove(id, removal, at)?);
        Ok(())
    }

    pub(crate) fn set_state(&mut self, state: RoundState) {
        self.round.set_state(state, self.fixture.at());
    }

    /// Returns the changes since the last commit as a commit.
    pub(crate) fn commit(&mut self) -> RoundCommit {
        self.round.committed();
        let head = self.round.head();
        let RoundRef { agent, round } = &head.round;
        let key = format!("{}/{}/{round}/{}", agent.session, agent.agent, head.revision);
        // A session id alone may be as long as a key, so long keys leave it out.
        let key = if key.len() > 200 { format!("{round}/{}", head.revision) } else { key };
        RoundCommit::new(key, std::mem::take(&mut self.pending), head)
    }

    /// Commits the changes since the last commit, and expects the commit to be applied.
    pub(crate) async fn record(&mut self) -> Check<RoundCommit> {
        let commit = self.commit();
        let outcome = self.fixture.record(&commit).await?;
        let did = format!("commit {} to {}", commit.head.revision, commit.head.round);
        same(did, &outcome, &RecordOutcome::Applied)?;
        Ok(commit)
    }

    /// Expects the store to have the round as it is in memory.
    pub(crate) async fn matches_model(&self, did: &str) -> Check {
        self.fixture.expect_round(did, &self.round.to_record()).await
    }

    pub(crate) fn reference(&self) -> &RoundRef {
        self.round.round()
    }
}

/// The commits of random rounds, the same for the same seed. After [`Self::COMMITS`] commits, the
/// next round begins.
pub(crate) struct RoundLife {
    random: Random,
    round_fixture: RoundFixture,
}

impl RoundLife {
    /// The number of commits per round.
    const COMMITS: u64 = 25;

    pub(crate) fn new(fixture: &ChatFixture, seed: u64) -> Self {
        let fixture = fixture.anew();
        Self {
            random: Random::new(seed),
            round_fixture: RoundFixture::new(&fixture, fixture.agent("s").round(0)),
        }
    }

    pub(crate) fn next(&mut self) -> RoundCommit {
        if self.round_fixture.round.revision() == Self::COMMITS {
            let RoundRef { agent, round } = self.round_fixture.reference();
            self.round_fixture =
                RoundFixture::new(&self.round_fixture.fixture, agent.round(round + 1));
        }
        self.round_fixture.live(&mut self.random);
        self.round_fixture.commit()
    }

    /// Returns the round after the last commit.
    pub(crate) fn record(&self) -> RoundRecord {
        self.round_fixture.round.to_record()
    }
}
