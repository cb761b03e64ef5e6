//! Killing, and looking at what is left.

use std::collections::BTreeSet;
use std::fmt;

use context_conformance::{Missing, find_server};
use context_runtime::trajectory::{AgentRef, RoundState};
use context_runtime::{AgentChat, Agents};
use context_simulator::Random;

use crate::agent::{self, USER};
use crate::child::Task;

/// The first seed.
const SEED: u64 = 0x7412;
/// The number of kills in one chat, so that chats stay short.
const KILLS: usize = 20;
/// The maximum number of lines that a child says before it is killed.
const LINES: usize = 8;
/// The maximum number of iterations between a line and the kill.
const SPINS: usize = 400_000;

/// The store whose turns are killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Database {
    Sqlite,
    Postgres,
}

/// What was seen.
#[derive(Default)]
pub(crate) struct Counts {
    kills: usize,
    acknowledged: usize,
    interrupted: usize,
    continued: usize,
    closed: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} kills, {} messages acknowledged, {} turns interrupted, {} of them continued, {} rounds closed as interrupted: nothing lost",
            self.kills, self.acknowledged, self.interrupted, self.continued, self.closed
        )
    }
}

/// Kills this many processes.
pub(crate) async fn a_killed_turn_loses_nothing(
    database: Database,
    kills: usize,
) -> Result<Counts, Missing> {
    let folder = tempfile::tempdir().unwrap();
    let url = match database {
        Database::Sqlite => format!("sqlite:{}", folder.path().join("turns.db").display()),
        Database::Postgres => {
            let server = find_server("CONTEXT_TEST_POSTGRES_URL")?;
            format!("{server}?schema=turns_{}", std::process::id())
        }
    };
    let mut counts = Counts::default();
    for chat in 0..kills.div_ceil(KILLS) {
        let seed = SEED + chat as u64;
        one_chat(&url, seed, KILLS.min(kills - counts.kills), &mut counts).await;
    }
    assert!(counts.interrupted > 0, "hardly anybody was killed in a turn");
    Ok(counts)
}

async fn one_chat(url: &str, seed: u64, kills: usize, counts: &mut Counts) {
    let mut random = Random::new(seed);
    let chat = format!("chat-{seed:#x}");
    let mut acknowledged = BTreeSet::new();
    for kill in 0..kills {
        let life = format!("{chat}, kill {kill}");
        let task = Task {
            url: url.to_owned(),
            chat: chat.clone(),
            resume: random.below(2) == 0,
            ask: random.below(3) == 0,
        };
        let told = task.killed_after(random.below(LINES), random.below(SPINS));
        counts.kills += 1;
        counts.acknowledged += told.messages.len();
        acknowledged.extend(told.messages);

        let model = agent::model();
        let agents = agent::agents(url, &model).await;
        let mut chat = agents.chat(USER, chat.as_str()).await.unwrap();
        holds(&agents, &mut chat, &acknowledged, told.stored, &life).await;
        if let Some(turn) = chat.interrupted().await.unwrap() {
            counts.interrupted += 1;
            assert!(turn.question.is_request(), "{life}");
            // Half of them are continued here, the others by the next child, or closed by it.
            if random.below(2) == 0 {
                let before = model.log().len();
                let mut turn = chat.resume().tools([&agent::tool()]).begin().await.unwrap();
                while let Some(request) = turn.next().await.unwrap() {
                    let reply = model.send(request.body().as_str());
                    assert_eq!(reply.status, 200, "{life}: {}", reply.to_text());
                    turn.received(reply.status, &reply.to_text());
                    for call in turn.tool_calls() {
                        turn.result(call.result("sun"));
                    }
                }
                acknowledged.insert(turn.finish().await.unwrap().id.as_str().to_owned());
                assert!(model.log().len() > before);
                assert!(chat.interrupted().await.unwrap().is_none(), "{life}");
                counts.continued += 1;
            }
        }
        agents.store().close().await.unwrap();
    }
    // Whoever comes next finds a chat to go on with, and leaves no round open.
    let model = agent::model();
    let agents = agent::agents(url, &model).await;
    let mut open = agents.chat(USER, chat.as_str()).await.unwrap();
    let answer = open.ask("And tomorrow?").tools([agent::tool()]).await.unwrap();
    assert_eq!(answer.text(), "It is warm in both.");
    let agent = AgentRef::main(USER, chat.as_str());
    let rounds = agents.trajectories().unwrap().trajectory(&agent).await.unwrap();
    let states: Vec<_> = rounds.rounds().map(|round| round.state()).collect();
    assert!(states.iter().all(|state| *state != RoundState::Open), "{chat}: {states:?}");
    counts.closed += states.iter().filter(|state| **state == RoundState::Interrupted).count();
    agents.store().close().await.unwrap();
}

/// Checks that everything acknowledged is stored and recorded, and that the provider takes the
/// history.
async fn holds(
    agents: &Agents,
    chat: &mut AgentChat,
    acknowledged: &BTreeSet<String>,
    stored: usize,
    life: &str,
) {
    let graph = chat.engine().graph().await.unwrap();
    assert!(graph.nodes.len() >= stored, "{life}: {} of {stored} messages", graph.nodes.len());
    let trajectories = agents.store().trajectories().unwrap();
    let (user, id) = (USER.into(), chat.engine().chat_ref().chat.clone());
    for message in acknowledged {
        let message = message.as_str().into();
        assert!(
            graph.nodes.iter().any(|node| node.node.id == message),
            "{life}: {message} is lost"
        );
        let nodes = trajectories.nodes_of_message(&user, &id, &message).await.unwrap();
        assert!(!nodes.is_empty(), "{life}: {message} is not recorded");
    }
    let resolved = chat.engine_mut().resolve().await.unwrap();
    if !resolved.messages.is_empty() {
        let request = resolved.request().model(agent::MODEL).max_output_tokens(1_000);
        let request = request.tools([&agent::tool()]);
        let body = agents.codec().lower(&request).unwrap().body;
        let reply = agent::model().send(body.as_str());
        assert_eq!(reply.status, 200, "{life}: {}", reply.to_text());
    }
}
