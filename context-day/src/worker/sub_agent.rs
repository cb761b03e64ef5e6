//! A call that a sub-agent runs.

use context_runtime::{AgentChat, Turn};
use context_simulator::AnswerPiece;

use super::{HelperWork, OpenTurn, Outcome, Worker};
use crate::expected::Entry;
use crate::marker::DayMarker;
use crate::texts::text;

impl Worker {
    /// Gives the first open call to a sub-agent, whose answer is its result.
    pub(super) async fn sub_agent(
        &mut self,
        turn: &mut Turn<'_>,
        open: &mut OpenTurn,
        fork: bool,
        [question, answer, result]: [DayMarker; 3],
        outcome: &mut Outcome,
    ) {
        let Some(call) = turn.tool_calls().into_iter().next() else {
            outcome.done = false;
            return;
        };
        let opened = match fork {
            true => turn.fork(&call, "helper").await,
            false => turn.agent(&call, "helper").await,
        };
        let mut helper = match opened {
            Ok(helper) => {
                outcome.acknowledged.append(&mut open.pending);
                helper
            }
            Err(error) => {
                outcome.doubtful.append(&mut open.pending);
                outcome.doubtful.append(&mut open.results);
                // The turn goes on, unless it ended with the error: the next step shows it.
                outcome.is_open = false;
                outcome.error = Some((error.to_string(), false));
                return;
            }
        };
        self.providers.set_answer(vec![AnswerPiece::text(text(answer, 10))]);
        let engine = helper.engine();
        let mut work = HelperWork {
            chat: engine.chat_ref().chat.to_string(),
            branch: engine.branch().to_string(),
            entries: Vec::new(),
        };
        match ask(&mut helper, question).await {
            Ok(()) => {
                work.entries = vec![Entry::new(question, true), Entry::new(answer, false)];
                turn.result(call.result(text(result, 10)));
                open.results.push(Entry::new(result, false));
            }
            Err(error) => outcome.error = Some((error, false)),
        }
        outcome.helper = Some(work);
    }
}

async fn ask(helper: &mut AgentChat, question: DayMarker) -> Result<(), String> {
    let asked = helper.ask(text(question, 8)).await;
    asked.map(drop).map_err(|error| error.to_string())
}
