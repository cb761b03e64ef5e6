//! A call that a sub-agent runs.

use context_runtime::model::Usage;
use context_runtime::{AgentChat, Turn, TurnReport};
use context_simulator::AnswerPiece;

use super::{HelperWork, OpenTurn, Outcome, Worker, difference};
use crate::expected::Entry;
use crate::failure::{DayFailure, Invariant};
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
        let before = [self.spent_aside(false), self.summaries()];
        match ask(&mut helper, question).await {
            Ok(report) => {
                outcome.failure = self.check_helper(&report, before);
                work.entries = vec![Entry::new(question, true), Entry::new(answer, false)];
                turn.result(call.result(text(result, 10)));
                open.results.push(Entry::new(result, false));
            }
            Err(error) => outcome.error = Some((error, false)),
        }
        outcome.helper = Some(work);
    }

    /// Compares the report of a sub-agent with what it was charged. Its costs, with those of the
    /// summaries that it waits for, are in its own report and not in that of its parent's turn.
    fn check_helper(&self, report: &TurnReport, before: [Usage; 2]) -> Option<DayFailure> {
        let [answers, summaries] = before;
        let mut charged = difference(self.spent_aside(false), answers);
        let is_exact = !self.vendor().ahead;
        if is_exact {
            charged += difference(self.summaries(), summaries);
        }
        let parts =
            |usage: &Usage| [usage.input, usage.output, usage.cache_read, usage.cache_write];
        let (told, paid) = (parts(&report.usage), parts(&charged));
        let fits = match is_exact {
            true => told == paid,
            false => told.iter().zip(paid).all(|(told, paid)| *told >= paid),
        };
        let (slot, usage) = (self.slot, report.usage);
        let text =
            || format!("a sub-agent of {slot} reports {usage:?} and was charged {charged:?}");
        (!fits).then(|| DayFailure::new(Invariant::Costs, text()))
    }
}

async fn ask(helper: &mut AgentChat, question: DayMarker) -> Result<TurnReport, String> {
    let asked = helper.ask(text(question, 8)).await;
    asked.map(|answer| answer.report).map_err(|error| error.to_string())
}
