//! Random operations through two handles, compared with the reference store after every step.

use std::sync::Arc;

use context_core::base::CheckpointName;
use context_core::message::{NodeKind, PlacedNode};
use context_core::store::{
    ChainEnd, Chat, ChatPatch, ChatQuery, Commit, ForkName, HistoryStore, NewChat, Target,
    TitleChange, Window,
};
use context_core::{BranchName, Encoded, Error, MessageId, Node, Store, Timestamp};
use context_store_kit::ChatState;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::store_fixture::{StoreFixture, says};

/// One step. Names and messages are picked from a small set, so that steps collide.
#[derive(Clone, Debug)]
enum Step {
    Append { branch: Index, nodes: usize },
    Fork { at: Option<Index>, name: Index, nodes: usize, activate: bool },
    Amend { amended: Vec<Index>, redacted: Vec<Index> },
    Repeat(Index),
    Activate(Index),
    Rename { branch: Index, to: Index },
    DeleteBranch(Index),
    Stale { branch: Index, expected: Index },
    SetCheckpoint { name: Index, message: Index },
    DeleteCheckpoint(Index),
    Update,
}

fn steps() -> impl Strategy<Value = Vec<(Step, bool, i64)>> {
    let any_index = any::<Index>;
    let nodes = prop_oneof![5 => 1usize..3, 2 => 3usize..20, 1 => 60usize..140];
    let few = prop_oneof![2 => Just(0usize), 3 => 1usize..30];
    let some = || prop::collection::vec(any::<Index>(), 0..3);
    let step = prop_oneof![
        8 => (any_index(), nodes).prop_map(|(branch, nodes)| Step::Append { branch, nodes }),
        6 => (prop::option::weighted(0.9, any_index()), any_index(), few, prop::bool::weighted(0.2))
            .prop_map(|(at, name, nodes, activate)| Step::Fork { at, name, nodes, activate }),
        2 => (some(), some()).prop_map(|(amended, redacted)| Step::Amend { amended, redacted }),
        1 => any_index().prop_map(Step::Repeat),
        1 => any_index().prop_map(Step::Activate),
        2 => (any_index(), any_index()).prop_map(|(branch, to)| Step::Rename { branch, to }),
        5 => any_index().prop_map(Step::DeleteBranch),
        1 => (any_index(), any_index()).prop_map(|(branch, expected)| Step::Stale { branch,
            expected }),
        3 => (any_index(), any_index()).prop_map(|(name, message)| Step::SetCheckpoint { name,
            message }),
        2 => any_index().prop_map(Step::DeleteCheckpoint),
        1 => Just(Step::Update),
    ];
    // Clocks run unevenly, sometimes backwards, and mostly within a minute.
    let clock = prop_oneof![4 => 0i64..20_000_000, 1 => -90_000_000i64..90_000_000];
    prop::collection::vec((step, any::<bool>(), clock), 1..50)
}

const BRANCHES: [&str; 6] = ["main", "a", "b", "c", "main-v2", "d"];
const CHECKPOINTS: [&str; 3] = ["x", "y", "z"];

/// The reference state, and the ids and names created so far.
struct Model {
    state: ChatState,
    ids: Vec<MessageId>,
    now: i64,
}

impl Model {
    fn name(&self, index: &Index) -> BranchName {
        BRANCHES[index.index(BRANCHES.len())].into()
    }

    /// Returns a branch, which exists in most cases.
    fn branch(&self, index: &Index) -> (BranchName, Option<MessageId>) {
        let branches = self.state.branches();
        match branches.get(index.index(branches.len() + 1)) {
            Some(branch) => (branch.name.clone(), branch.head.clone()),
            None => (self.name(index), None),
        }
    }

    /// Returns a message that is stored or once was.
    fn message(&self, index: &Index) -> MessageId {
        if self.ids.is_empty() {
            "none".into()
        } else {
            self.ids[index.index(self.ids.len())].clone()
        }
    }

    fn fresh(&mut self, n: usize) -> Vec<Arc<Node>> {
        let first = self.ids.len();
        let nodes: Vec<_> = (first..first + n).map(node).collect();
        self.ids.extend(nodes.iter().map(|node| node.id.clone()));
        nodes
    }
}

fn node(i: usize) -> Arc<Node> {
    let at = Timestamp::from_micros(i as i64);
    if i % 23 == 22 {
        let body = Encoded::new("cut", 1, "[]");
        return Arc::new(Node::from_encoded(format!("m{i}").into(), NodeKind::Boundary, at, body));
    }
    // A NUL ends a text in SQLite's JSON, so such ids take another code path.
    let id = if i % 41 == 40 { format!("m\0{i}") } else { format!("m{i}") };
    says(id, &format!("text {i}"))
}

fn comparable<T>(result: Result<T, Error>) -> Result<T, (context_core::ErrorKind, String)> {
    result.map_err(|error| (error.kind(), error.message().to_owned()))
}

/// Applies a step to both stores and compares the answers.
async fn take(step: Step, history: &dyn HistoryStore, model: &mut Model) {
    let chat = model.state.chat().chat.clone();
    let at = Timestamp::from_micros(model.now);
    let commit = match step {
        Step::Append { branch, nodes } => {
            let (branch, expected) = model.branch(&branch);
            let nodes = model.fresh(nodes);
            Commit { nodes, ..Commit::new(chat, Target::Extend { branch, expected }, at) }
        }
        Step::Fork { at: place, name, nodes, activate } => {
            let place = place.map(|place| model.message(&place));
            let name = ForkName::Exact(model.name(&name));
            let nodes = model.fresh(nodes);
            Commit { nodes, ..Commit::new(chat, Target::Fork { name, at: place, activate }, at) }
        }
        Step::Amend { amended, redacted } => {
            let change = |words: &str, index: &Index| says(model.message(index), words);
            Commit {
                amendments: amended.iter().map(|index| change("amended", index)).collect(),
                redactions: redacted.iter().map(|index| change("redacted", index)).collect(),
                ..Commit::new(chat, Target::Stay, at)
            }
        }
        Step::Repeat(branch) => {
            let (branch, expected) = model.branch(&branch);
            let Some(last) = &expected else { return };
            let Some(Some(placed)) = model.state.messages(std::slice::from_ref(last)).pop() else {
                return;
            };
            let target = Target::Extend { branch, expected: placed.parent };
            Commit { nodes: vec![placed.node], ..Commit::new(chat, target, at) }
        }
        Step::Stale { branch, expected } => {
            let (branch, _) = model.branch(&branch);
            let expected = Some(model.message(&expected));
            let nodes = model.fresh(1);
            Commit { nodes, ..Commit::new(chat, Target::Extend { branch, expected }, at) }
        }
        Step::Activate(branch) => {
            let (branch, _) = model.branch(&branch);
            let done = history.activate_branch(&chat, &branch, at).await;
            assert_eq!(comparable(done), comparable(model.state.activate_branch(&branch, at)));
            return;
        }
        Step::Rename { branch, to } => {
            let ((branch, _), to) = (model.branch(&branch), model.name(&to));
            let done = history.rename_branch(&chat, &branch, &to, at).await;
            assert_eq!(comparable(done), comparable(model.state.rename_branch(&branch, &to, at)));
            return;
        }
        Step::DeleteBranch(branch) => {
            let (branch, head) = model.branch(&branch);
            let done = history.delete_branch(&chat, &branch, head.as_ref(), at).await;
            assert_eq!(
                comparable(done),
                comparable(model.state.delete_branch(&branch, head.as_ref(), at))
            );
            return;
        }
        Step::SetCheckpoint { name, message } => {
            let name = CheckpointName::from(CHECKPOINTS[name.index(CHECKPOINTS.len())]);
            let message = model.message(&message);
            let done = history.set_checkpoint(&chat, &name, &message, at).await;
            assert_eq!(
                comparable(done),
                comparable(model.state.set_checkpoint(&name, &message, at))
            );
            return;
        }
        Step::DeleteCheckpoint(name) => {
            let name = CheckpointName::from(CHECKPOINTS[name.index(CHECKPOINTS.len())]);
            let done = history.delete_checkpoint(&chat, &name, at).await.unwrap();
            assert_eq!(done, model.state.delete_checkpoint(&name, at));
            return;
        }
        Step::Update => {
            let patch =
                ChatPatch { title: TitleChange::Set(format!("{at:?}")), ..ChatPatch::default() };
            let done = history.update_chat(&chat, &patch, at).await;
            assert_eq!(comparable(done), comparable(model.state.update(&patch, at)));
            return;
        }
    };
    let done = history.commit(commit.clone()).await;
    assert_eq!(comparable(done), comparable(model.state.commit(commit)));
}

/// Compares everything that the store shows.
async fn compare(history: &dyn HistoryStore, model: &Model) {
    let state = &model.state;
    let chat = &state.chat().chat;
    assert_eq!(history.chat(chat).await.unwrap().as_ref(), Some(state.chat()));
    let branches = history.branches(chat).await.unwrap();
    assert_eq!(branches, state.branches());
    assert_eq!(history.checkpoints(chat).await.unwrap(), state.checkpoints());
    let listed = history.list_chats(&ChatQuery::new(chat.user.clone())).await.unwrap().items;
    assert_eq!(listed, [state.summary()]);
    assert_eq!(history.chat_size(chat).await.unwrap().messages, state.size().messages);
    let mut stored = history.all_messages(chat, 1000, None).await.unwrap().items;
    let mut expected = state.all_messages(1000, None).unwrap().items;
    let by_id = |a: &PlacedNode, b: &PlacedNode| a.node.id.cmp(&b.node.id);
    stored.sort_by(by_id);
    expected.sort_by(by_id);
    assert_eq!(stored, expected);
    let ends = branches.iter().map(|branch| ChainEnd::Branch(branch.name.clone()));
    let some = expected.iter().step_by(17).map(|placed| ChainEnd::Message(placed.node.id.clone()));
    for end in ends.chain(some) {
        for window in [Window::Whole, Window::Boundary, Window::Last(5)] {
            let chain = history.chain(chat, &end, &window).await.unwrap();
            assert_eq!(chain, state.chain(&end, &window).unwrap(), "{end:?} {window:?}");
        }
    }
    assert_eq!(history.messages(chat, &model.ids).await.unwrap(), state.messages(&model.ids));
    for id in &model.ids {
        if !state.revisions(id).is_empty() {
            assert_eq!(history.revisions(chat, id).await.unwrap(), state.revisions(id));
        }
    }
}

async fn live(steps: Vec<(Step, bool, i64)>) {
    let fixture = StoreFixture::new().await;
    let other = fixture.again().await;
    let chat = fixture.create("ada", "chat").await;
    let new = NewChat::new(chat, crate::store_fixture::T);
    let mut model =
        Model { state: ChatState::new(Chat::new(new), 1), ids: Vec::new(), now: 1_000_000 };
    for (step, on_other, clock) in steps {
        model.now += clock;
        let store = if on_other { &other } else { &fixture.store };
        let told = format!("{step:?}");
        take(step, store.history(), &mut model).await;
        compare(if on_other { fixture.history() } else { other.history() }, &model).await;
        assert_eq!(fixture.problems().await, [""; 0], "after {told}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_life_shows_what_the_reference_shows(steps in steps()) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(live(steps));
    }
}
