//! Rounds of the chats, as an agent would have recorded them: with a model, tokens, cost and times.

use std::sync::Arc;

use context_runtime::model::Usage;
use context_runtime::store::{ChainEnd, Window};
use context_runtime::trajectory::{AgentRef, OpenRound, RecordedMessage, Trajectories};
use context_runtime::{ChatRef, Role};

use super::Demo;

const MODEL: &str = "claude-sonnet-4-5";
/// The tokens of the prompt and the tools, which are no part of a chat.
const FIXED: u64 = 1_850;

/// Records the active branch of a chat, a round for each request of the user.
pub(super) async fn record(demo: &Demo, chat: &str) {
    let of = ChatRef::new("ada", chat);
    let found = demo.store.history().chat(&of).await.unwrap().unwrap();
    let end = ChainEnd::Branch(found.active);
    let chain = demo.store.history().chain(&of, &end, &Window::Whole).await.unwrap();
    let trajectories = Trajectories::builder(Arc::clone(&demo.store));
    let trajectories = trajectories.clock(Arc::clone(&demo.clock)).ids(Arc::clone(&demo.ids));
    let trajectories = trajectories.build().unwrap();
    let agent = AgentRef::main("ada", chat);
    let mut round: Option<OpenRound> = None;
    let mut input = FIXED;
    for node in chain.iter() {
        let message = node.message().unwrap();
        if message.role == Role::User {
            if let Some(done) = round.take() {
                done.finish().await.unwrap();
            }
            round = Some(trajectories.begin(&agent).await.unwrap());
        }
        // Four bytes are a token, about.
        let tokens = node.body().bytes().len() as u64 / 4;
        let mut recorded = RecordedMessage::new(message).link(chat, node.id.clone());
        let (start, end) = (demo.clock.now(), demo.clock.now());
        if message.role == Role::Assistant {
            let cost = (3 * input + 15 * tokens) as f64 / 1e6;
            recorded = recorded.model(MODEL).provider("anthropic").cost(cost);
            recorded = recorded.usage(&Usage::new(input, tokens)).started_at(start).ended_at(end);
        }
        if message.role == Role::Tool {
            recorded = recorded.started_at(start).ended_at(end);
        }
        input += tokens;
        if let Some(round) = &round {
            round.record(recorded).await.unwrap();
        }
    }
    if let Some(done) = round {
        done.finish().await.unwrap();
    }
}
