//! A compaction policy of the program's own: answers keep their first sentence. A policy is a pure
//! function from a history to a plan. The plan is checked, stored as a boundary, and can be undone.

use context_runtime::compaction::{
    BoundaryKind, CompactionPolicy, Edit, Goal, HistoryView, Plan, Proposal, Stage, truncate_head,
};
use context_runtime::{Agents, Message, Result, Role, assistant, user};
use small::{model, script, text};

#[derive(Debug)]
struct FirstSentence;

impl CompactionPolicy for FirstSentence {
    fn name(&self) -> &'static str {
        "first_sentence"
    }

    fn plan(&self, view: &HistoryView<'_>, _goal: &Goal) -> Proposal {
        let edits: Vec<_> = (0..view.messages().len())
            .filter_map(|at| Some(Edit::replace(at, first_sentence(&view.messages()[at])?)))
            .collect();
        if edits.is_empty() {
            return Proposal::nothing("no answer has a second sentence");
        }
        let cut = format!("{} answers keep their first sentence", edits.len());
        Plan::new(self.name(), BoundaryKind::Microcompact, view, edits, cut).into()
    }
}

/// Returns the short form of an answer of several sentences.
fn first_sentence(message: &Message) -> Option<Message> {
    let is_answer = message.role == Role::Assistant && message.tool_calls().next().is_none();
    let text = message.plain_text();
    let (first, _rest) = text.split_once(". ").filter(|_| is_answer)?;
    Some(Message::text(Role::Assistant, format!("{first}.")))
}

#[tokio::main]
async fn main() -> Result<()> {
    let agents = Agents::open("mem:")
        .await?
        .client(model(script([text("By the river.")]))?)
        .runtime(|runtime| runtime.window(4_000).reserve(1_000))
        .compaction([Stage::new(FirstSentence).trigger(0.8), truncate_head()])
        .build()?;
    let mut chat = agents.chat("ada", "diary").await?;
    for day in 1..=20 {
        chat.set([user(format!("Day {day}?"))]);
        let walk = " You walked on along the river, and it was long and windy.".repeat(12);
        chat.set([assistant(format!("On day {day} you took a walk.{walk}"))]);
    }
    for plan in chat.ask("Where did I walk?").await?.report.plans {
        println!("{}: {}", plan.policy, plan.description);
    }
    let shown = chat.engine_mut().resolve().await?;
    println!("the model was shown {:?}", shown.messages[1].message()?.plain_text());
    agents.shutdown().await
}
