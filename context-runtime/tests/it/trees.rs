//! A tree is written completely, once, and continued after an interruption.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::transfer::{Tree, TreeError, TreePlan, TreeWritten};
use context_runtime::{
    CancelSignal, CancelSource, ChatRef, ErrorKind, Message, Metadata, Store, Timestamp, limits,
    store::{NewChat, Node, PlacedNode},
};
use proptest::prelude::*;

use crate::kit::store;

fn node(index: usize) -> Node {
    Node::new(
        format!("m{index}"),
        Message::from(format!("text {index}")),
        Timestamp::from_micros(index as i64),
    )
}

fn new_chat() -> NewChat {
    NewChat {
        metadata: Metadata::default().with("from", "here"),
        ..NewChat::new(ChatRef::new("ada", "c"), Timestamp::default())
    }
}

/// Returns a tree of these parents. Every leaf and some other nodes are heads; the last node is the
/// head of `main`.
fn tree_of(parents: &[Option<usize>], more: &[usize]) -> Tree {
    let mut tree = Tree::default();
    for (index, parent) in parents.iter().enumerate() {
        tree.add(node(index), *parent).unwrap();
    }
    let leaves = (0..parents.len()).filter(|index| !parents.contains(&Some(*index)));
    let heads = parents.len().checked_sub(1).into_iter().chain(leaves).chain(more.iter().copied());
    for (number, head) in heads.enumerate() {
        tree.branch(if number == 0 { "main".to_owned() } else { format!("b{number}") }, head)
            .unwrap();
    }
    tree
}

async fn write(store: &Arc<dyn Store>, tree: &Tree) -> TreeWritten {
    let plan = TreePlan::new(new_chat(), tree).unwrap();
    plan.write(store.history(), &CancelSignal::never(), |_| {}).await.unwrap()
}

async fn placed(store: &Arc<dyn Store>) -> Vec<PlacedNode> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let chat = new_chat().chat;
        let page =
            store.history().all_messages(&chat, limits::MAX_PAGE, after.as_ref()).await.unwrap();
        all.extend(page.items);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

#[track_caller]
fn sound(report: &context_runtime::store::CheckReport) {
    assert_eq!(report.findings, []);
}

/// The parent of each message, and the head of each branch.
type Shape = (BTreeMap<String, Option<String>>, Vec<(String, Option<String>, bool)>);

async fn shape(store: &Arc<dyn Store>) -> Shape {
    sound(&store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap());
    let text = |id: &context_runtime::MessageId| id.to_string();
    let nodes = placed(store).await;
    let parents = nodes.iter().map(|p| (text(&p.node.id), p.parent.as_ref().map(text))).collect();
    let branches = store.history().branches(&new_chat().chat).await.unwrap();
    let ends = branches
        .iter()
        .map(|b| (b.name.to_string(), b.head.as_ref().map(text), b.active))
        .collect();
    (parents, ends)
}

/// Parents that precede their children, and some heads that are not leaves.
fn trees() -> impl Strategy<Value = (Vec<Option<usize>>, Vec<usize>)> {
    let parents = proptest::collection::vec(any::<Option<prop::sample::Index>>(), 1..24).prop_map(
        |parents| {
            let parent = |(i, parent): (usize, &Option<prop::sample::Index>)| {
                parent.filter(|_| i > 0).map(|parent| parent.index(i))
            };
            parents.iter().enumerate().map(parent).collect::<Vec<_>>()
        },
    );
    parents.prop_flat_map(|parents| {
        let heads = proptest::collection::vec(0..parents.len(), 0..3);
        (Just(parents), heads)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_tree_is_stored_as_it_is((parents, more) in trees(), stop in 0usize..12) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (tree, store) = (tree_of(&parents, &more), store().await);
            // Interrupted somewhere, or not.
            let (source, mut commits) = (CancelSource::new(), 0);
            let plan = TreePlan::new(new_chat(), &tree).unwrap();
            let first = plan
                .write(store.history(), &source.signal(), |_| {
                    commits += 1;
                    if commits == stop {
                        source.cancel();
                    }
                })
                .await;
            if let Err(error) = &first {
                assert_eq!(error.kind(), ErrorKind::Cancelled);
                shape(&store).await;
            }
            let again = write(&store, &tree).await;
            let complete = first.is_ok_and(|written| written == TreeWritten::New);
            assert_eq!(again, if complete { TreeWritten::Unchanged } else { TreeWritten::New });
            let (stored, branches) = shape(&store).await;
            let expected = parents.iter().enumerate().map(|(i, parent)| (format!("m{i}"),
                parent.map(|p| format!("m{p}"))));
            assert_eq!(stored, expected.collect());
            let ends = tree.branches().enumerate();
            let ends: Vec<_> = ends.map(|(i, (name, head))| (name.to_string(),
                Some(head.id.to_string()), i == 0)).collect();
            assert_eq!(branches, ends);
            assert_eq!(write(&store, &tree).await, TreeWritten::Unchanged);
            assert_eq!(shape(&store).await, (stored, branches));
        });
    }
}

#[tokio::test]
async fn branches_longer_than_a_commit_takes() {
    let count = limits::MAX_COMMIT_ITEMS + 3;
    let mut tree = Tree::of_chain((0..3).map(node)).unwrap();
    let mut last = Some(0);
    for index in 3..count {
        last = Some(tree.add(node(index), last).unwrap());
    }
    tree.branch("long", last.unwrap()).unwrap();
    let (store, mut steps) = (store().await, Vec::new());
    let plan = TreePlan::new(new_chat(), &tree).unwrap();
    let written = plan.write(store.history(), &CancelSignal::never(), |n| steps.push(n)).await;
    assert_eq!((written.unwrap(), steps), (TreeWritten::New, vec![3, limits::MAX_COMMIT_ITEMS]));
    assert_eq!(placed(&store).await.len(), count);
    shape(&store).await;
}

#[tokio::test]
async fn another_chat_of_this_name_is_not_touched() {
    let store = store().await;
    assert_eq!(write(&store, &tree_of(&[None, Some(0)], &[])).await, TreeWritten::New);
    let before = shape(&store).await;
    assert_eq!(write(&store, &tree_of(&[None, None], &[])).await, TreeWritten::Taken);
    let plan = TreePlan::new(
        NewChat { metadata: Metadata::default().with("from", 1), ..new_chat() },
        &Tree::default(),
    );
    let other = plan.unwrap().write(store.history(), &CancelSignal::never(), |_| {}).await.unwrap();
    assert_eq!(other, TreeWritten::Taken);
    assert_eq!(shape(&store).await, before);
}

#[test]
fn what_is_no_tree_is_refused() {
    let mut tree = Tree::default();
    assert_eq!(tree.add(node(0), Some(0)), Err(TreeError::NoSuchNode { index: 0 }));
    assert_eq!(tree.add(node(0), None), Ok(0));
    assert_eq!(tree.add(node(0), None), Err(TreeError::SameId { message: "m0".into() }));
    assert_eq!(tree.branch("main", 1), Err(TreeError::NoSuchNode { index: 1 }));
    let error = TreePlan::new(new_chat(), &tree).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, "message m0 is on no branch"));
    tree.branch("a", 0).unwrap();
    assert_eq!(tree.branch("a", 0), Err(TreeError::SameBranch { branch: "a".into() }));
    assert_eq!(tree.branch("main", 0), Err(TreeError::MainIsLate));
    let long = NewChat { title: Some("x".repeat(limits::MAX_TITLE_BYTES + 1)), ..new_chat() };
    assert_eq!(TreePlan::new(long, &tree).unwrap_err().get("what"), Some("title"));
}
