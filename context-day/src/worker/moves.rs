//! Commands between turns: moves, copies, redactions.

use context_runtime::AgentChat;

use super::{Command, Outcome, Worker};

const CHECKPOINT: &str = "mark";

impl Worker {
    pub(super) async fn between_turns(
        &mut self,
        chat: &mut AgentChat,
        command: Command,
    ) -> Outcome {
        let before = chat.engine().branch().to_string();
        let mut outcome = Outcome { done: true, ..Outcome::default() };
        let changes = matches!(command, Command::Redact(_));
        let engine = chat.engine_mut();
        let moved = match command {
            Command::Rewind(message) => engine.rewind(&message).await.map(Some),
            Command::Branch => engine.fork_here().await.map(Some),
            Command::Switch(branch) => engine.switch_branch(branch).await.map(Some),
            Command::Restore => engine.restore(CHECKPOINT).await.map(Some),
            Command::Checkpoint => engine.checkpoint(CHECKPOINT).await.map(|_| None),
            Command::Fork(new) => engine.fork(new).await.map(|_| None),
            Command::Redact(message) => engine.redact(&message).await.map(|_| None),
            _ => {
                outcome.done = false;
                Ok(None)
            }
        };
        match moved {
            Ok(moved) => outcome.made = moved.map(|moved| moved.branch.to_string()),
            Err(error) => outcome.error = Some((error.to_string(), false)),
        }
        outcome.branch = chat.engine().branch().to_string();
        if changes || outcome.branch != before || outcome.error.is_some() {
            self.previous = None;
        }
        outcome
    }
}
