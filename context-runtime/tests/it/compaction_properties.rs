//! After any sequence of messages, compactions, undos, amendments and forks, the history shown is
//! that of a simple model, in every process and in both stores.

use std::collections::BTreeMap;
use std::sync::Arc;

use context_runtime::{
    CancelSignal, ContextEngine, Edits, MessageId, Store, Uuid7Ids, assistant, store::NodeKind,
    user,
};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::compactions::compacted;
use crate::kit::{builder, shown};

#[derive(Clone, Debug)]
enum Step {
    Say,
    /// Another writer appends a message that the engine has not seen.
    SayElsewhere,
    Compact {
        cut: Cut,
        /// The number of messages that are pending before the compaction, and of those added after
        /// it in the same save.
        pending: (u8, u8),
    },
    Undo,
    Redo,
    Amend(Index),
    /// Goes back to a message or to a boundary.
    Rewind(Index),
    Reopen,
}

/// The effect of a compaction on the history shown.
#[derive(Clone, Debug)]
enum Cut {
    Remove(Index, Index),
    Shorten(Index),
    Checkpoint(Index),
}

fn step() -> impl Strategy<Value = Step> {
    let index = any::<Index>;
    let cut = prop_oneof![
        (index(), index()).prop_map(|(from, to)| Cut::Remove(from, to)),
        index().prop_map(Cut::Shorten),
        index().prop_map(Cut::Checkpoint),
    ];
    prop_oneof![
        4 => Just(Step::Say),
        1 => Just(Step::SayElsewhere),
        4 => (cut, (0u8..2, 0u8..2)).prop_map(|(cut, pending)| Step::Compact { cut, pending }),
        2 => Just(Step::Undo),
        2 => Just(Step::Redo),
        1 => index().prop_map(Step::Amend),
        1 => index().prop_map(Step::Rewind),
        1 => Just(Step::Reopen),
    ]
}

/// A message as it is shown.
#[derive(Clone, Debug, PartialEq)]
enum Item {
    Stored(String),
    /// In a shorter form, as long as its text is this.
    Short {
        id: String,
        of: String,
        text: String,
    },
    Made(String),
}

/// The history shown at one point, and what undo and redo would show.
#[derive(Clone, Debug, Default)]
struct Window {
    now: Vec<Item>,
    undo: Vec<Vec<Item>>,
    redo: Vec<Vec<Item>>,
}

impl Window {
    fn say(&mut self, id: &str) {
        let all = self.undo.iter_mut().chain(&mut self.redo).chain([&mut self.now]);
        all.for_each(|items| items.push(Item::Stored(id.to_owned())));
    }
}

#[derive(Default)]
struct Model {
    texts: BTreeMap<String, String>,
    window: Window,
    /// The history shown after each node that was ever written.
    at: BTreeMap<String, Window>,
    count: usize,
}

impl Model {
    fn next(&mut self) -> (String, String) {
        self.count += 1;
        (format!("m{}", self.count), format!("text {}", self.count))
    }

    fn say(&mut self, id: &str, text: &str) {
        self.texts.insert(id.to_owned(), text.to_owned());
        self.window.say(id);
        self.at.insert(id.to_owned(), self.window.clone());
    }

    /// The history shown, without the ids of messages that compactions made.
    fn lines(&self) -> Vec<String> {
        let line = |item: &Item| match item {
            Item::Short { id, of, text } if self.texts[id] == *of => format!("{id}: {text}"),
            Item::Short { id, .. } | Item::Stored(id) => format!("{id}: {}", self.texts[id]),
            Item::Made(text) => text.clone(),
        };
        self.window.now.iter().map(line).collect()
    }

    /// Applies a cut to the history shown. Also returns it as the recipe of a [`compacted`].
    fn cut(&mut self, cut: &Cut) -> (Vec<Item>, Recipe) {
        let items = self.window.now.clone();
        let all = items.iter().cloned().enumerate();
        let keep = |(place, item): (usize, Item)| (item, (Some(place), None));
        let (_, text) = self.next();
        match cut {
            Cut::Remove(from, to) => {
                let (from, to) = (from.index(items.len()), to.index(items.len()));
                all.filter(|(place, _)| *place < from || *place >= to).map(keep).unzip()
            }
            Cut::Shorten(which) => {
                let which = which.index(items.len());
                let short = |place: usize, item: Item| match item {
                    _ if place != which => keep((place, item)),
                    Item::Made(_) => (Item::Made(text.clone()), (Some(place), Some(text.clone()))),
                    Item::Stored(id) | Item::Short { id, .. } => {
                        let of = self.texts[&id].clone();
                        (
                            Item::Short { id, of, text: text.clone() },
                            (Some(place), Some(text.clone())),
                        )
                    }
                };
                all.map(|(place, item)| short(place, item)).unzip()
            }
            Cut::Checkpoint(upto) => {
                let upto = upto.index(items.len() + 1);
                let first = (Item::Made(text.clone()), (None, Some(text)));
                std::iter::once(first).chain(all.skip(upto).map(keep)).unzip()
            }
        }
    }
}

/// The new content of each position, as [`compacted`] takes it.
type Recipe = Vec<(Option<usize>, Option<String>)>;

struct World {
    store: Arc<dyn Store>,
    engine: ContextEngine,
    model: Model,
}

impl World {
    async fn new(store: Arc<dyn Store>) -> Self {
        let engine = builder(&store).ids(Uuid7Ids).open().await.unwrap();
        Self { store, engine, model: Model::default() }
    }

    async fn save(&mut self) {
        let _saved = self.engine.save().await.unwrap();
        let newest = self.engine.compactions().await.unwrap().pop();
        let head = self.head().await;
        if let (Some(newest), Some(head)) = (newest, head)
            && newest.id.as_str() == head
        {
            self.model.at.insert(head, self.model.window.clone());
        }
    }

    async fn head(&self) -> Option<String> {
        let branches = self.engine.branches().await.unwrap();
        let branch = branches.into_iter().find(|branch| branch.name == *self.engine.branch())?;
        branch.head.map(|head| head.to_string())
    }

    fn say(&mut self) {
        let (id, text) = self.model.next();
        let fragment = if self.model.count.is_multiple_of(2) {
            user(text.clone())
        } else {
            assistant(text.clone())
        };
        self.engine.set([fragment.with_id(id.as_str())]);
        self.model.say(&id, &text);
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Say => {
                self.say();
                self.save().await;
            }
            Step::SayElsewhere => {
                let _seen = self.engine.resolve().await.unwrap();
                let branch = self.engine.branch().clone();
                let mut other =
                    builder(&self.store).branch(branch).ids(Uuid7Ids).open().await.unwrap();
                let (id, text) = self.model.next();
                other.set([user(text.clone()).with_id(id.as_str())]);
                let _saved = other.save().await.unwrap();
                self.model.say(&id, &text);
                // The engine's next message follows it.
                self.say();
                self.save().await;
            }
            Step::Compact { cut, pending: (before, behind) } => {
                (0..*before).for_each(|_| self.say());
                if self.model.window.now.is_empty() {
                    return self.save().await;
                }
                let turn = self.engine.resolve().await.unwrap();
                let history = &turn.messages;
                let (items, recipe) = self.model.cut(cut);
                let recipe: Vec<_> =
                    recipe.iter().map(|(at, text)| (*at, text.as_deref())).collect();
                let compacted = compacted(history, &recipe);
                if self.engine.compact(&turn, &compacted, &[]).await.unwrap().is_some() {
                    self.model.window.redo.clear();
                    let before = std::mem::replace(&mut self.model.window.now, items);
                    self.model.window.undo.push(before);
                }
                assert_eq!(self.lines().await, self.model.lines(), "before it is saved");
                for _ in 0..*behind {
                    // The boundary comes after it, so the history at it was never shown.
                    self.say();
                    self.model.at.remove(&format!("m{}", self.model.count));
                }
                self.save().await;
            }
            Step::Undo => {
                let undone = self.engine.undo_compaction().await.unwrap();
                let window = &mut self.model.window;
                assert_eq!(undone.is_some(), !window.undo.is_empty());
                if let Some(before) = window.undo.pop() {
                    let now = std::mem::replace(&mut window.now, before);
                    window.redo.push(now);
                }
                self.save().await;
            }
            Step::Redo => {
                let redone = self.engine.redo_compaction().await.unwrap();
                let window = &mut self.model.window;
                assert_eq!(redone.is_some(), !window.redo.is_empty());
                if let Some(after) = window.redo.pop() {
                    let now = std::mem::replace(&mut window.now, after);
                    window.undo.push(now);
                }
                self.save().await;
            }
            Step::Amend(which) => {
                let ids: Vec<_> = self.model.texts.keys().cloned().collect();
                if ids.is_empty() {
                    return;
                }
                let (_, text) = self.model.next();
                let id = which.get(&ids);
                self.engine.set([user(text.clone()).with_id(id.as_str())]);
                let _saved = self.engine.save_with(Edits::Amend).await.unwrap();
                self.model.texts.insert(id.clone(), text);
            }
            Step::Rewind(to) => {
                let nodes: Vec<_> = self.model.at.keys().cloned().collect();
                if nodes.is_empty() {
                    return;
                }
                let to = to.get(&nodes);
                let _moved = self.engine.rewind(&MessageId::from(to.as_str())).await.unwrap();
                self.model.window = self.model.at[to].clone();
            }
            Step::Reopen => {
                let branch = self.engine.branch().clone();
                self.engine =
                    builder(&self.store).branch(branch).ids(Uuid7Ids).open().await.unwrap();
            }
        }
    }

    async fn lines(&mut self) -> Vec<String> {
        let strip =
            |line: String| match line.split_once("/").and_then(|(_, made)| made.split_once(": ")) {
                Some((_, text)) => text.to_owned(),
                None => line,
            };
        shown(&mut self.engine).await.into_iter().map(strip).collect()
    }

    async fn check(&mut self, step: &Step) {
        let expected = self.model.lines();
        assert_eq!(self.lines().await, expected, "after {step:?}");
        let branch = self.engine.branch().clone();
        let mut fresh = builder(&self.store).branch(branch).open().await.unwrap();
        let (own, read) = (self.engine.resolve().await.unwrap(), fresh.resolve().await.unwrap());
        assert_eq!(own.messages, read.messages, "what is stored, after {step:?}");
        let standing = self.engine.compactions().await.unwrap();
        assert_eq!(standing, fresh.compactions().await.unwrap());
        let standing = standing.iter().filter(|compaction| compaction.stands).count();
        assert_eq!(standing, self.model.window.undo.len());
        // All messages ever written are there, and none that compactions made.
        let graph = self.engine.graph().await.unwrap();
        let messages = graph.nodes.iter().filter(|placed| placed.node.kind != NodeKind::Boundary);
        let texts: BTreeMap<_, _> = messages
            .map(|placed| {
                (
                    placed.node.id.to_string(),
                    placed.node.message().unwrap().plain_text().into_owned(),
                )
            })
            .collect();
        assert_eq!(texts, self.model.texts);
    }
}

fn run(url: &str, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut world = World::new(context_runtime::open(url).await.unwrap()).await;
        for step in steps {
            world.take(step).await;
            world.check(step).await;
        }
        let report =
            world.store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_eq!(report.findings, []);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn what_is_shown_is_what_a_plain_model_says(steps in proptest::collection::vec(step(), 1..25)) {
        run("mem:", &steps);
    }
}

#[cfg(feature = "sqlite")]
proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn and_it_is_what_a_file_says(steps in proptest::collection::vec(step(), 1..25)) {
        let folder = tempfile::tempdir().unwrap();
        run(&format!("sqlite:{}", folder.path().join("chat.db").display()), &steps);
    }
}
