//! Another process: this program started again, to answer questions and to be killed.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Command, ExitCode, Stdio};

use context_runtime::{AgentChat, TurnBuilder};
use context_simulator::Simulator;
use serde::{Deserialize, Serialize};

use crate::agent::{self, USER};

/// The environment variable that makes the program a child and holds its task.
const VARIABLE: &str = "CONTEXT_TURNS_CHILD";

/// Answers questions in a chat, without end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) url: String,
    pub(crate) chat: String,
    /// Whether an interrupted turn is continued. Otherwise another question is asked.
    pub(crate) resume: bool,
    /// Whether the library has the loop, and the answers are streamed.
    pub(crate) ask: bool,
}

/// What a child acknowledged before it was killed.
#[derive(Debug, Default)]
pub(crate) struct Acknowledged {
    /// The ids of messages that are stored and recorded.
    pub(crate) messages: Vec<String>,
    /// The number of messages that are stored.
    pub(crate) stored: usize,
}

/// Returns the task of this process, if it is a child.
pub(crate) fn task() -> Option<String> {
    std::env::var(VARIABLE).ok()
}

/// Runs the task of a child. Prints a line for each thing that is acknowledged, immediately.
pub(crate) async fn main(task: &str) -> ExitCode {
    let task: Task = serde_json::from_str(task).unwrap();
    let model = agent::model();
    let agents = agent::agents(&task.url, &model).await;
    let mut chat = agents.chat(USER, task.chat.as_str()).await.unwrap();
    say("open", "");
    if task.resume && chat.interrupted().await.unwrap().is_some() {
        answer(chat.resume(), &model).await;
    }
    for number in 0.. {
        let question = format!("How is the weather? ({number})");
        match task.ask {
            true => ask(&mut chat, &question).await,
            false => answer(chat.turn(question), &model).await,
        }
    }
    ExitCode::SUCCESS
}

async fn ask(chat: &mut AgentChat, question: &str) {
    let asked = chat.ask(question).tools([agent::tool()]).on_text(|_| ());
    say("message", asked.await.unwrap().id.as_str());
}

async fn answer(turn: TurnBuilder<'_>, model: &Simulator) {
    let mut turn = turn.tools([&agent::tool()]).begin().await.unwrap();
    say("message", turn.id().as_str());
    while let Some(request) = turn.next().await.unwrap() {
        let stored = turn.engine().graph().await.unwrap().nodes.len();
        say("stored", &stored.to_string());
        let reply = model.send(request.body().as_str());
        turn.received(reply.status, &reply.to_text());
        for call in turn.tool_calls() {
            turn.result(call.result("sun"));
        }
    }
    say("message", turn.finish().await.unwrap().id.as_str());
}

fn say(kind: &str, value: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "{kind} {value}").and_then(|()| out.flush()).unwrap();
}

impl Task {
    /// Runs the task in a child that is killed after this many lines and then turns of an idle
    /// loop.
    pub(crate) fn killed_after(&self, lines: usize, spins: usize) -> Acknowledged {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(VARIABLE, serde_json::to_string(self).unwrap())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut text = String::new();
        for _ in 0..lines {
            if out.read_line(&mut text).unwrap() == 0 {
                break;
            }
        }
        (0..spins).for_each(|_| std::hint::spin_loop());
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(status.code().is_none(), "a child ended by itself: {status}");
        out.read_to_string(&mut text).unwrap();
        let mut acknowledged = Acknowledged::default();
        for line in text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            match line.split_once(' ').unwrap() {
                ("message", id) => acknowledged.messages.push(id.to_owned()),
                ("stored", count) => acknowledged.stored = count.parse().unwrap(),
                _ => {}
            }
        }
        acknowledged
    }
}
