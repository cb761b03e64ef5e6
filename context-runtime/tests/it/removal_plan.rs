//! A dry run of a removal lists exactly what the removal then takes, on every store.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use context_runtime::memory::MemoryScope;
use context_runtime::removal::{
    Redaction, RemainingReason, RemovalOptions, RemovalReport, delete_branch, delete_chat,
    delete_checkpoint, erase_user, plan_deletion, redact_messages,
};
use context_runtime::store::{
    ChatQuery, MemoryList, MemoryRecord, MemorySource, MemoryWrite, NewBlob, NodeKind, RoundQuery,
    StreamAppend, StreamClaim, StreamEnd,
};
use context_runtime::trajectory::{AgentRef, MessageLink, NewQuery, OpenOptions, Step};
use context_runtime::trajectory::{RoundState, Trajectories};
use context_runtime::{
    ChatRef, ContextEngine, Edits, Error, MessageId, Retention, Store, Timestamp, UserId, user,
};
use proptest::prelude::*;

use crate::erasure;
use crate::removal::{PlantedChat, now, options};

/// An item: its kind, the chat it belongs to, its name.
type Item = (&'static str, String, String);

/// Returns all items of a user with their content.
async fn inventory(store: &dyn Store, user: &UserId) -> BTreeMap<Item, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut put = |kind, chat: &str, id: String, content: Vec<u8>| {
        all.insert((kind, chat.to_owned(), id), content);
    };
    let history = store.history();
    for summary in history.list_chats(&ChatQuery::new(user.clone())).await.unwrap().items {
        let (chat, name) = (&summary.chat.chat, summary.chat.chat.chat.as_str());
        put("chat", "", name.to_owned(), Vec::new());
        if let Some(title) = &summary.chat.title {
            put("title", name, String::new(), title.clone().into_bytes());
        }
        for placed in history.all_messages(chat, 1000, None).await.unwrap().items {
            let node = &placed.node;
            let kind = if node.kind == NodeKind::Boundary { "boundary" } else { "message" };
            let mut content = node.body().bytes().to_vec();
            for (n, earlier) in
                history.revisions(chat, &node.id).await.unwrap().into_iter().enumerate()
            {
                let body = earlier.node.body().bytes().to_vec();
                content.extend(&body);
                put("revision", name, format!("{} {n}", node.id), body);
            }
            put(kind, name, node.id.to_string(), content);
        }
        for branch in history.branches(chat).await.unwrap() {
            put("branch", name, branch.name.to_string(), Vec::new());
        }
        for checkpoint in history.checkpoints(chat).await.unwrap() {
            put("checkpoint", name, checkpoint.name.to_string(), Vec::new());
        }
        for fragment in store.fragments().fragments(chat).await.unwrap() {
            put("fragment", name, format!("{:?}", fragment.id), Vec::new());
        }
        if let Some(blobs) = store.blobs() {
            for blob in blobs.blobs(chat, 1000, None).await.unwrap().items {
                put("blob", name, blob.id.to_string(), Vec::new());
            }
        }
        if let Some(streams) = store.streams() {
            for stream in streams.streams(chat, 1000, None).await.unwrap().items {
                put("stream", name, stream.id.to_string(), Vec::new());
            }
        }
    }
    if let Some(trajectories) = store.trajectories() {
        for head in trajectories.rounds(&RoundQuery::of_user(user.clone())).await.unwrap().items {
            put("round", "", head.round.to_string(), Vec::new());
            let numbers = head.round.round..=head.round.round;
            for record in trajectories.load_rounds(&head.round.agent, numbers).await.unwrap() {
                for node in &record.nodes {
                    let json = serde_json::to_vec(&**node).unwrap();
                    put("node", "", format!("{} in {}", node.id, head.round), json);
                }
            }
        }
    }
    if let Some(memories) = store.memories() {
        for stats in memories.memory_stats(user, 1000, None).await.unwrap().items {
            let list = MemoryList::new(vec![stats.scope], 1000);
            for stored in memories.list_memories(&list).await.unwrap().items {
                let record = stored.record;
                put("memory", "", format!("{} of {}", record.id, record.scope), Vec::new());
            }
        }
    }
    all
}

/// Returns the titles of all rounds of a user.
async fn titles(store: &dyn Store, user: &UserId) -> BTreeMap<String, String> {
    let query = RoundQuery::of_user(user.clone());
    let page = store.trajectories().unwrap().rounds(&query).await.unwrap();
    page.items.into_iter().map(|head| (head.round.to_string(), head.title.to_string())).collect()
}

/// Plans a removal and carries it out. The plan changes nothing, names what then goes, and has the
/// same counts and the same remaining items.
async fn plan_then_remove(
    about: &str,
    store: &dyn Store,
    user: &UserId,
    remove: impl AsyncFn(RemovalOptions) -> Result<RemovalReport, Error>,
) -> RemovalReport {
    let before = inventory(store, user).await;
    let mut plan = remove(options().dry_run(true)).await.unwrap();
    assert_eq!(inventory(store, user).await, before, "{about}: a plan changes nothing");
    let report = remove(options()).await.unwrap();
    let after = inventory(store, user).await;

    let gone: BTreeSet<&Item> = before
        .iter()
        .filter(|(item, was)| after.get(*item) != Some(*was))
        .map(|(it, _)| it)
        .collect();
    let count = |kind: &str| gone.iter().filter(|item| item.0 == kind).count() as u64;
    // Parts of a chat that goes as a whole are counted. The report counts boundaries among the
    // messages then.
    let is_whole = |chat: &str| !after.contains_key(&("chat", String::new(), chat.to_owned()));
    let in_whole = |item: &Item| !item.1.is_empty() && is_whole(&item.1);
    let counted = ["message", "boundary", "revision", "title", "branch", "checkpoint", "fragment"];
    let of_round = |item: &Item| {
        let round = item.2.split_once(" in ").map(|(_, round)| round.to_owned());
        item.0 == "node"
            && round.is_some_and(|it| !after.contains_key(&("round", String::new(), it)))
    };
    let expected: BTreeSet<Item> = gone
        .iter()
        .filter(|item| item.0 != "revision" && !of_round(item))
        .filter(|item| !(counted.contains(&item.0) && in_whole(item)))
        .map(|item| (**item).clone())
        .collect();
    let named = |item: &context_runtime::removal::RemovalItem| {
        let chat = item.chat.as_ref().map(ToString::to_string).unwrap_or_default();
        (item.kind, chat, item.id.clone())
    };
    let planned: BTreeSet<Item> = plan.items.iter().map(named).collect();
    // An empty message that is emptied again stays as it was.
    let same = |item: &&Item| item.0 != "message" || expected.contains(*item);
    let planned: BTreeSet<Item> = planned.iter().filter(same).cloned().collect();
    assert_eq!(planned, expected, "{about}");
    assert_eq!(report.branches, count("branch"), "{about}");
    assert_eq!(report.checkpoints, count("checkpoint"), "{about}");
    assert_eq!(report.revisions, count("revision"), "{about}");
    assert_eq!(report.fragments, count("fragment"), "{about}");
    assert_eq!(report.found, 0, "{about}");
    assert!(report.items.is_empty(), "{about}");
    plan.items.clear();
    assert_eq!(plan, report, "{about}");
    report
}

#[tokio::test]
async fn a_dry_run_lists_what_the_removal_takes_on_every_store() {
    let folder = tempfile::tempdir().unwrap();
    for (name, store) in erasure::named_stores(folder.path()).await {
        let user = UserId::from(format!("planned-{}", std::process::id()));
        let planted = PlantedChat::new(&store, &user, "original").await;
        let _copy = PlantedChat::new(&store, &user, "copy").await;
        let (ids, chat) = (planted.messages(), &planted.chat);
        let store = &*store;
        let report = plan_then_remove(name, store, &user, async |options| {
            redact_messages(store, chat, &ids, Redaction::Words, &options).await
        })
        .await;
        assert!(report.boundaries > 0 && !report.remaining.is_empty(), "{name}: {report:?}");
        let report = plan_then_remove(name, store, &user, async |options| {
            delete_chat(store, &ChatRef::new(user.clone(), "copy"), None, &options).await
        })
        .await;
        assert_eq!((report.chats, report.titles), (1, 0), "{name}");
        if store.maintenance().is_some() {
            let plan = erase_user(store, &user, &options().dry_run(true)).await.unwrap();
            let report = erase_user(store, &user, &options()).await.unwrap();
            let is_named = |kind: &&str| !["message", "branch", "revision"].contains(kind);
            for (count, kind) in report.removed().filter(|(_, kind)| is_named(kind)) {
                let named = plan.items.iter().filter(|item| item.kind == kind);
                assert_eq!(named.count() as u64, count, "{name}: {kind}");
            }
            let counts = |report: &RemovalReport| report.removed().collect::<Vec<_>>();
            assert_eq!(counts(&plan), counts(&report), "{name}");
        }
    }
}

const TEXTS: [&str; 4] = [
    "the pass phrase of the harbour account is quinquereme",
    "two tickets to Lisbon on the night train of Friday",
    "two tickets to Lisbon on the night train of Friday, and the pass phrase",
    "yes",
];

/// A change of the user's data. The numbers are reduced to those of things that are there.
#[derive(Clone, Debug)]
enum Change {
    Say(u8, u8),
    Amend(u8, u8, u8),
    Rewind(u8, u8),
    Checkpoint(u8, u8),
    Stream(u8, u8, u8),
    Blob(u8, u8),
    Remember(u8, u8, u8),
    Record(u8, u8, u8, u8),
}

fn change() -> impl Strategy<Value = Change> {
    let n = || any::<u8>();
    prop_oneof![
        4 => (n(), n()).prop_map(|(a, b)| Change::Say(a, b)),
        1 => (n(), n(), n()).prop_map(|(a, b, c)| Change::Amend(a, b, c)),
        1 => (n(), n()).prop_map(|(a, b)| Change::Rewind(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Change::Checkpoint(a, b)),
        1 => (n(), n(), n()).prop_map(|(a, b, c)| Change::Stream(a, b, c)),
        1 => (n(), n()).prop_map(|(a, b)| Change::Blob(a, b)),
        1 => (n(), n(), n()).prop_map(|(a, b, c)| Change::Remember(a, b, c)),
        1 => (n(), n(), n(), n()).prop_map(|(a, b, c, d)| Change::Record(a, b, c, d)),
    ]
}

/// The removal at the end of a case.
#[derive(Clone, Debug)]
enum Target {
    Messages(u8, Vec<u8>, bool),
    Chat(u8),
    Chats,
    Branch(u8, u8),
    Checkpoint(u8, u8),
    Old,
}

fn target() -> impl Strategy<Value = Target> {
    let n = || any::<u8>();
    prop_oneof![
        3 => (n(), proptest::collection::vec(n(), 1..4), any::<bool>())
            .prop_map(|(chat, ids, all)| Target::Messages(chat, ids, all)),
        2 => n().prop_map(Target::Chat),
        1 => (n(), n()).prop_map(|(chat, n)| Target::Branch(chat, n)),
        1 => (n(), n()).prop_map(|(chat, n)| Target::Checkpoint(chat, n)),
        1 => Just(Target::Old),
        1 => Just(Target::Chats),
    ]
}

struct World {
    store: Arc<dyn Store>,
    user: UserId,
    next: u32,
}

impl World {
    fn chat(&self, n: u8) -> ChatRef {
        ChatRef::new(self.user.clone(), ["one", "two"][usize::from(n) % 2])
    }

    async fn engine(&self, chat: u8) -> ContextEngine {
        let builder = ContextEngine::builder(Arc::clone(&self.store)).user(self.user.clone());
        builder.chat(self.chat(chat).chat).open().await.unwrap()
    }

    /// Returns a message of a chat, if it has any.
    async fn message(&self, chat: u8, n: u8) -> Option<MessageId> {
        let page = self.store.history().all_messages(&self.chat(chat), 1000, None).await;
        let all = page.map(|page| page.items).unwrap_or_default();
        let at = usize::from(n) % all.len().max(1);
        all.get(at).map(|placed| placed.node.id.clone())
    }

    async fn apply(&mut self, change: &Change) {
        self.next += 1;
        let fresh = format!("n{}", self.next);
        let text = |n: u8| TEXTS[usize::from(n) % TEXTS.len()];
        match *change {
            Change::Say(chat, n) => {
                let mut engine = self.engine(chat).await;
                let blob = self.next.is_multiple_of(3);
                let mut said = text(n).to_owned();
                if blob {
                    let blob = NewBlob::new(text(n), now());
                    let put = self.store.blobs().unwrap().put_blob(&self.chat(chat), blob).await;
                    // The first message creates the chat.
                    said.push_str(&put.map(|it| it.id.to_reference()).unwrap_or_default());
                }
                engine.set([user(said).with_id(fresh)]).save().await.unwrap();
            }
            Change::Amend(chat, at, n) => {
                let Some(id) = self.message(chat, at).await else { return };
                let mut engine = self.engine(chat).await;
                engine.set([user(text(n)).with_id(id.as_str())]);
                // A message of another branch cannot be amended here.
                let _saved = engine.save_with(Edits::Amend).await;
            }
            Change::Rewind(chat, at) => {
                let Some(id) = self.message(chat, at).await else { return };
                let _moved = self.engine(chat).await.rewind(&id).await;
            }
            Change::Checkpoint(chat, at) => {
                let Some(id) = self.message(chat, at).await else { return };
                let (name, chat) = (fresh.as_str().into(), self.chat(chat));
                self.store.history().set_checkpoint(&chat, &name, &id, now()).await.unwrap();
            }
            Change::Stream(chat, at, n) => {
                let Some(message) = self.message(chat, at).await else { return };
                let (chat, streams) = (self.chat(chat), self.store.streams().unwrap());
                let id = if n % 2 == 0 { message.as_str().into() } else { fresh.as_str().into() };
                let _created = streams.create_stream(&chat, &id, now()).await.unwrap();
                let claim = StreamClaim::new("w", now());
                if streams.claim_stream(&chat, &id, &claim).await.is_ok() {
                    let append = StreamAppend::new("w", 0, [text(n)], now());
                    let append = append.end(StreamEnd::Completed);
                    let _appended = streams.append_stream(&chat, &id, append).await;
                }
            }
            Change::Blob(chat, n) => {
                let blobs = self.store.blobs().unwrap();
                let _put = blobs.put_blob(&self.chat(chat), NewBlob::new(text(n), now())).await;
            }
            Change::Remember(chat, at, n) => {
                let mut scope = MemoryScope::new(self.user.clone());
                if n % 3 == 0 {
                    scope = scope.session(self.chat(chat).chat.as_str());
                }
                let mut record = MemoryRecord::new(scope, fresh, "note", now(), text(n));
                if let Some(message) = self.message(chat, at).await {
                    let mut source = MemorySource::session(self.chat(chat).chat.as_str());
                    source.message = Some(message.as_str().into());
                    record.source = Some(source);
                }
                let write = [MemoryWrite::new(record, "words")];
                let _written = self.store.memories().unwrap().write_memories(&write).await.unwrap();
            }
            Change::Record(session, chat, at, n) => {
                let name = ["one", "shared"][usize::from(session) % 2];
                let trajectories = Trajectories::builder(Arc::clone(&self.store)).build().unwrap();
                let agent = AgentRef::main(self.user.clone(), name);
                let round = trajectories.next_round(&agent).await.unwrap();
                let open = trajectories.open(&round, OpenOptions::new()).await.unwrap();
                let link = self.message(chat, at).await;
                let link = link.map(|id| MessageLink::new(self.chat(chat).chat, id));
                let mut query = NewQuery::new(text(n));
                let mut step = Step::new(text(n / 4));
                if let Some(link) = link {
                    query = query.message(link.clone());
                    step = if session % 3 == 0 { step.message(link) } else { step };
                }
                open.ask(query).await.unwrap();
                open.step(step).await.unwrap();
                if n % 5 != 0 {
                    open.close(RoundState::Closed).await.unwrap();
                }
            }
        }
    }

    async fn remove(&self, target: &Target) {
        let about = format!("{target:?}");
        let (store, user) = (&*self.store, &self.user);
        match target {
            Target::Messages(chat, numbers, all) => {
                let mut ids = Vec::new();
                for n in numbers {
                    ids.extend(self.message(*chat, *n).await);
                }
                let redaction = if *all { Redaction::Message } else { Redaction::Words };
                let chat = self.chat(*chat);
                plan_then_remove(&about, store, user, async |options| {
                    redact_messages(store, &chat, &ids, redaction, &options).await
                })
                .await;
            }
            Target::Chat(chat) => {
                let chat = self.chat(*chat);
                plan_then_remove(&about, store, user, async |options| {
                    delete_chat(store, &chat, None, &options).await
                })
                .await;
            }
            Target::Chats => {
                let chats = [self.chat(0), self.chat(1)];
                let before = (inventory(store, user).await, titles(store, user).await);
                let plans = plan_deletion(store, &chats, &options()).await.unwrap();
                let mut left = BTreeSet::new();
                for (chat, plan) in chats.iter().zip(&plans) {
                    let mut report = delete_chat(store, chat, None, &options()).await.unwrap();
                    left.extend(std::mem::take(&mut report.remaining));
                    report.searched = true;
                    let mut plan = plan.clone();
                    (plan.items, plan.remaining) = (Vec::new(), Vec::new());
                    assert_eq!(report, plan, "{about}");
                }
                // The first removal also finds copies that the second one takes.
                let after = (inventory(store, user).await, titles(store, user).await);
                left.retain(|left| {
                    let chat = left.chat.as_ref().map(ToString::to_string).unwrap_or_default();
                    let item = (left.kind.as_str(), chat, left.id.clone());
                    let is_open = left.reason == RemainingReason::Open;
                    let is_there = after.0.contains_key(&item);
                    let is_same = after.0.get(&item) == before.0.get(&item)
                        && after.1.get(&left.id) == before.1.get(&left.id);
                    is_open || is_there && is_same
                });
                let planned = plans.into_iter().flat_map(|plan| plan.remaining);
                assert_eq!(planned.collect::<BTreeSet<_>>(), left, "{about}");
            }
            Target::Branch(chat, n) => {
                let chat = self.chat(*chat);
                let all = store.history().branches(&chat).await.unwrap_or_default();
                let inactive: Vec<_> = all.into_iter().filter(|it| !it.active).collect();
                let Some(branch) = inactive.get(usize::from(*n) % inactive.len().max(1)) else {
                    return;
                };
                plan_then_remove(&about, store, user, async |options| {
                    delete_branch(store, &chat, &branch.name, &options).await
                })
                .await;
            }
            Target::Checkpoint(chat, n) => {
                let chat = self.chat(*chat);
                let all = store.history().checkpoints(&chat).await.unwrap_or_default();
                let Some(found) = all.get(usize::from(*n) % all.len().max(1)) else { return };
                plan_then_remove(&about, store, user, async |options| {
                    delete_checkpoint(store, &chat, &found.name, &options).await
                })
                .await;
            }
            Target::Old => {
                let mut policy = Retention::default();
                policy.max_chats = Some(1);
                let later = Timestamp::from_micros(now().as_micros() * 2);
                let never = context_runtime::CancelSignal::never();
                let removals = policy.plan(store, user, later, &never).await.unwrap();
                for removal in &removals {
                    plan_then_remove(&about, store, user, async |options| {
                        removal.run_with(store, &options.find_copies(false)).await
                    })
                    .await;
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn a_dry_run_lists_what_the_removal_takes(
        changes in proptest::collection::vec(change(), 1..25),
        targets in proptest::collection::vec(target(), 1..4),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let store = context_runtime::open("mem:").await.unwrap();
            let mut world = World { store, user: UserId::from("ada"), next: 0 };
            for change in &changes {
                world.apply(change).await;
            }
            for target in &targets {
                // Redactions of a chat that is gone fail, and so does their plan.
                let is_there = !matches!(target, Target::Messages(chat, ..)
                    if world.message(*chat, 0).await.is_none());
                if is_there {
                    world.remove(target).await;
                }
            }
        });
    }
}
