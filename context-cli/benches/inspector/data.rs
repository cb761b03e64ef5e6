//! The measured chat and session, the same in every run.

use std::sync::Arc;

use context_runtime::store::{RecordOutcome, RoundCommit};
use context_runtime::trajectory::{AgentRef, NewNode, NewQuery, NodeBody, Round};
use context_runtime::{
    ContextEngine, Fragment, Message, Part, Role, Store, Timestamp, assistant, user,
};
use serde_json::json;

pub(crate) const CHAT: &str = "long";
pub(crate) const SESSION: &str = "session";
/// A word that one message has.
pub(crate) const RARE: &str = "kingfisher";
/// A word that many messages have.
pub(crate) const COMMON: &str = "reservation";

/// The messages of a commit.
const COMMIT: usize = 2_000;
/// The bytes of a text.
const BYTES: usize = 400;

async fn open(url: &str) -> Arc<dyn Store> {
    context_runtime::open(url).await.unwrap()
}

fn text(n: usize) -> String {
    let mut text = format!("Step {n}: ");
    while text.len() < BYTES {
        text.push_str("the reservation of the office was looked at, **and then** changed once; ");
    }
    text.truncate(BYTES);
    text
}

/// Returns a message: in turn a request, a call, its result, and an answer.
fn message(n: usize, all: usize) -> Fragment {
    let of = |role, part| Fragment::from(Message::new(role, [part]));
    let id = format!("call-{}", n / 4);
    let fragment = match n % 4 {
        0 if n / 4 == all / 8 => user(format!("{} {RARE}", text(n))),
        0 => user(text(n)),
        1 => {
            of(Role::Assistant, Part::tool_call(id, "look_up", json!({"page": n, "why": text(n)})))
        }
        2 => {
            of(Role::Tool, Part::tool_result(id, json!({"page": n, "found": text(n)}).to_string()))
        }
        _ => assistant(text(n)),
    };
    fragment.with_id(format!("m{n}"))
}

pub(crate) async fn write_chat(url: &str, messages: usize) {
    let store = open(url).await;
    let builder = ContextEngine::builder(Arc::clone(&store)).user("ada").chat(CHAT);
    let mut engine = builder.open().await.unwrap();
    for from in (0..messages).step_by(COMMIT) {
        let part = (from..messages.min(from + COMMIT)).map(|n| message(n, messages));
        engine.set(part).save().await.unwrap();
    }
    store.close().await.unwrap();
}

/// Writes a chat and its rounds: a request, a call and an answer each.
pub(crate) async fn write_session(url: &str, rounds: usize) {
    let store = open(url).await;
    let builder = ContextEngine::builder(Arc::clone(&store)).user("ada").chat(SESSION);
    let mut engine = builder.open().await.unwrap();
    engine.set([user("A long session.")]).save().await.unwrap();
    let agent = AgentRef::main("ada", SESSION);
    let at = |n: usize| Timestamp::from_micros(1_790_000_000_000_000 + n as i64 * 1_000_000);
    for number in 0..rounds {
        let mut round = Round::new(agent.round(number as u32), at(number));
        let (query, mut changes) = round.ask(NewQuery::new(text(number)), at(number)).unwrap();
        let action = NodeBody::action("look_up", json!({"page": number}));
        let (action, added) = round.add(NewNode::new(action, [query]), at(number)).unwrap();
        changes.extend(added);
        let state = NewNode::new(NodeBody::state(text(number)), [action]);
        changes.extend(round.add(state, at(number)).unwrap().1);
        round.committed();
        let commit = RoundCommit::new(format!("round-{number}"), changes, round.head());
        let outcome = store.trajectories().unwrap().record_round(&commit).await.unwrap();
        assert_eq!(outcome, RecordOutcome::Applied);
    }
    store.close().await.unwrap();
}
