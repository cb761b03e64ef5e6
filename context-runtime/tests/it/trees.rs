//! A tree is written completely, once, and continued after an interruption.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::transfer::{
    Tree, TreeDifference, TreeError, TreeExtension, TreePlan, TreeWritten,
};
use context_runtime::{
    CancelSignal, CancelSource, ChatRef, ErrorKind, Message, Metadata, Store, Timestamp, limits,
    store::{Commit, ForkName, NewChat, Node, PlacedNode, Target},
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
            match complete {
                true => assert_eq!(again, TreeWritten::Unchanged),
                false => assert!(matches!(again, TreeWritten::Extended(_) | TreeWritten::New)),
            }
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
    let other = write(&store, &tree_of(&[None, None], &[])).await;
    assert_eq!(other, TreeWritten::Taken(TreeDifference::Message { message: "m1".into() }));
    let plan = TreePlan::new(
        NewChat { metadata: Metadata::default().with("from", 1), ..new_chat() },
        &Tree::default(),
    );
    let other = plan.unwrap().write(store.history(), &CancelSignal::never(), |_| {}).await.unwrap();
    assert_eq!(other, TreeWritten::Taken(TreeDifference::Metadata));
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

/// Returns a tree of these ids and parents, with these branches.
fn letters(nodes: &[(&str, Option<usize>)], heads: &[(&str, usize)]) -> Tree {
    let mut tree = Tree::default();
    for (id, parent) in nodes {
        let node = Node::new(*id, Message::from(format!("text {id}")), Timestamp::default());
        tree.add(node, *parent).unwrap();
    }
    heads.iter().for_each(|(name, head)| tree.branch(*name, *head).unwrap());
    tree
}

fn chain(ids: &[&'static str]) -> Tree {
    let nodes: Vec<_> = ids.iter().enumerate().map(|(i, id)| (*id, i.checked_sub(1))).collect();
    letters(&nodes, &[("main", ids.len() - 1)])
}

fn extended(messages: usize, amended: usize, branches: usize) -> TreeWritten {
    let mut extension = TreeExtension::default();
    (extension.messages, extension.amended, extension.branches) = (messages, amended, branches);
    TreeWritten::Extended(extension)
}

async fn append(store: &Arc<dyn Store>, branch: &str, after: &str, id: &str) {
    let target = Target::Extend { branch: branch.into(), expected: Some(after.into()) };
    let mut commit = Commit::new(new_chat().chat, target, Timestamp::default());
    commit.nodes = vec![Node::new(id, Message::from("mine"), Timestamp::default()).into()];
    assert!(store.history().commit(commit).await.unwrap().committed().is_some());
}

async fn fork(store: &Arc<dyn Store>, name: &str, at: &str) {
    let name = ForkName::Exact(name.into());
    let target = Target::Fork { name, at: Some(at.into()), activate: true };
    let commit = Commit::new(new_chat().chat, target, Timestamp::default());
    assert!(store.history().commit(commit).await.unwrap().committed().is_some());
}

async fn ends(store: &Arc<dyn Store>) -> Vec<(String, Option<String>, bool)> {
    shape(store).await.1
}

fn end(name: &str, head: &str, active: bool) -> (String, Option<String>, bool) {
    (name.to_owned(), Some(head.to_owned()), active)
}

#[tokio::test]
async fn a_tree_that_has_grown_extends_the_chat() {
    let store = store().await;
    assert_eq!(write(&store, &chain(&["a", "b"])).await, TreeWritten::New);
    assert_eq!(write(&store, &chain(&["a", "b", "c", "d"])).await, extended(2, 0, 0));
    // An earlier state of the file changes nothing.
    assert_eq!(write(&store, &chain(&["a", "b", "c"])).await, TreeWritten::Unchanged);
    assert_eq!(ends(&store).await, [end("main", "d", true)]);
    // A step back becomes a new branch, since no head moves backwards.
    let nodes = [("a", None), ("b", Some(0)), ("c", Some(1)), ("d", Some(2)), ("e", Some(1))];
    let back = letters(&nodes, &[("main", 4), ("main-v2", 3)]);
    assert_eq!(write(&store, &back).await, extended(1, 0, 1));
    assert_eq!(ends(&store).await, [end("main", "d", false), end("main-v2", "e", true)]);
    assert_eq!(write(&store, &back).await, TreeWritten::Unchanged);
    // And on with the first one.
    let nodes = [&nodes[..], &[("f", Some(3))]].concat();
    let on = letters(&nodes, &[("main", 5), ("main-v2", 4)]);
    assert_eq!(write(&store, &on).await, extended(1, 0, 0));
    assert_eq!(ends(&store).await, [end("main", "f", true), end("main-v2", "e", false)]);
}

#[tokio::test]
async fn only_the_missing_messages_are_written() {
    let store = store().await;
    let long = |count: usize| Tree::of_chain((0..count).map(node)).unwrap();
    assert_eq!(write(&store, &long(200)).await, TreeWritten::New);
    let (plan, mut steps) = (TreePlan::new(new_chat(), &long(203)).unwrap(), Vec::new());
    let written = plan.write(store.history(), &CancelSignal::never(), |n| steps.push(n)).await;
    assert_eq!((written.unwrap(), steps), (extended(3, 0, 0), vec![200, 3]));
    assert_eq!(write(&store, &long(203)).await, TreeWritten::Unchanged);
}

#[tokio::test]
async fn a_chat_that_someone_else_continued_is_left_as_it_is() {
    let store = store().await;
    assert_eq!(write(&store, &chain(&["a", "b"])).await, TreeWritten::New);
    append(&store, "main", "b", "mine").await;
    let before = shape(&store).await;
    assert_eq!(write(&store, &chain(&["a", "b"])).await, TreeWritten::Unchanged);
    let (branch, message) = ("main".into(), Some("b".into()));
    let continued = TreeWritten::Taken(TreeDifference::Continued { branch, message });
    assert_eq!(write(&store, &chain(&["a", "b", "c"])).await, continued);
    assert_eq!(shape(&store).await, before);
}

#[tokio::test]
async fn branches_of_others_stay_and_stay_active() {
    let store = store().await;
    assert_eq!(write(&store, &chain(&["a", "b"])).await, TreeWritten::New);
    fork(&store, "mine", "a").await;
    append(&store, "mine", "a", "x").await;
    assert_eq!(write(&store, &chain(&["a", "b", "c"])).await, extended(1, 0, 0));
    assert_eq!(ends(&store).await, [end("main", "c", false), end("mine", "x", true)]);
    // A branch of the same end is theirs too.
    fork(&store, "copy", "c").await;
    assert_eq!(write(&store, &chain(&["a", "b", "c", "d"])).await, extended(1, 0, 0));
    let expected = [end("main", "d", false), end("mine", "x", false), end("copy", "c", true)];
    assert_eq!(ends(&store).await, expected);
    // A renamed branch is found by its end.
    let (chat, at) = (new_chat().chat, Timestamp::default());
    let history = store.history();
    history.rename_branch(&chat, &"main".into(), &"trunk".into(), at).await.unwrap();
    assert_eq!(write(&store, &chain(&["a", "b", "c", "d", "e"])).await, extended(1, 0, 0));
    assert_eq!(ends(&store).await[0], end("trunk", "e", false));
}

#[tokio::test]
async fn messages_that_were_changed_in_the_chat_stay_so() {
    let store = store().await;
    let of = |texts: &[&str]| {
        let node = |(i, text): (usize, &&str)| {
            Node::new(format!("m{i}"), Message::from(*text), Timestamp::default())
        };
        Tree::of_chain(texts.iter().enumerate().map(node)).unwrap()
    };
    assert_eq!(write(&store, &of(&["one", "two", "thr"])).await, TreeWritten::New);
    // A message that was incomplete is completed, and the earlier revision is kept.
    assert_eq!(write(&store, &of(&["one", "two", "three"])).await, extended(0, 1, 0));
    let (chat, history) = (new_chat().chat, store.history());
    assert_eq!(history.revisions(&chat, &"m2".into()).await.unwrap().len(), 1);
    let mut commit = Commit::new(chat.clone(), Target::Stay, Timestamp::default());
    let secret = Message::from("two");
    commit.redactions = vec![Node::new("m1", secret.redacted(), Timestamp::default()).into()];
    assert!(history.commit(commit).await.unwrap().committed().is_some());
    assert_eq!(write(&store, &of(&["one", "two", "three", "four"])).await, extended(1, 0, 0));
    let stored = history.messages(&chat, &["m1".into(), "m2".into()]).await.unwrap();
    let text = |at: usize| stored[at].as_ref().unwrap().node.message().unwrap().plain_text();
    assert_eq!((&*text(0), &*text(1)), ("[redacted]", "three"));
    // A file that was replaced is no continuation.
    let before = shape(&store).await;
    let other = write(&store, &of(&["uno", "due", "tre", "quattro", "cinque"])).await;
    assert_eq!(other, TreeWritten::Taken(TreeDifference::Message { message: "m0".into() }));
    assert_eq!(shape(&store).await, before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The first nodes of a tree, then more of them, then all, each interrupted somewhere.
    #[test]
    fn any_growth_ends_with_the_whole_tree(
        (parents, _) in trees(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
        stop in 1usize..6,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let store = store().await;
            let mut counts: Vec<_> = cuts.iter().map(|cut| 1 + cut.index(parents.len())).collect();
            counts.sort_unstable();
            counts.push(parents.len());
            for count in counts {
                let parents = &parents[..count];
                let mut tree = Tree::default();
                for (index, parent) in parents.iter().enumerate() {
                    tree.add(node(index), *parent).unwrap();
                }
                tree.branch("main", count - 1).unwrap();
                let leaves = (0..count - 1).filter(|index| !parents.contains(&Some(*index)));
                for (number, leaf) in leaves.enumerate() {
                    tree.branch(format!("main-v{}", number + 2), leaf).unwrap();
                }
                let (source, mut commits) = (CancelSource::new(), 0);
                let plan = TreePlan::new(new_chat(), &tree).unwrap();
                let _ = plan
                    .write(store.history(), &source.signal(), |_| {
                        commits += 1;
                        if commits == stop {
                            source.cancel();
                        }
                    })
                    .await;
                let again = write(&store, &tree).await;
                assert!(!matches!(again, TreeWritten::Taken(_)), "{again:?}");
                let (stored, branches) = shape(&store).await;
                let expected = parents.iter().enumerate().map(|(i, parent)| (format!("m{i}"),
                    parent.map(|p| format!("m{p}"))));
                assert_eq!(stored, expected.collect());
                let mut heads: Vec<_> = branches.iter().map(|(_, head, _)| head.clone()).collect();
                let mut ends: Vec<_> =
                    tree.branches().map(|(_, head)| Some(head.id.to_string())).collect();
                heads.sort();
                ends.sort();
                assert_eq!(heads, ends);
                let active = branches.iter().find(|(.., active)| *active).unwrap();
                assert_eq!(active.1, Some(format!("m{}", count - 1)));
                assert_eq!(write(&store, &tree).await, TreeWritten::Unchanged);
            }
        });
    }
}
