//! A small but complete agent: it stores its chats, calls tools, survives a window that is too
//! small, goes back and answers differently, remembers in a later chat, and writes a page that
//! shows its steps.
//!
//! Read [`tour`] from top to bottom: each block introduces one feature. [`tools`] are the tools of
//! this agent, [`simulated`] takes the place of a provider.

pub mod simulated;
pub mod tools;

use std::env;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use context_runtime::compaction::{microcompact, snip, truncate_head};
use context_runtime::memory::episodic;
use context_runtime::model::AnswerDelta;
use context_runtime::{
    AgentChat, Agents, CancelSignal, Error, ErrorKind, Result, Store, hint, role,
};
use context_server::{FirstView, HtmlExportError, Operations, write_html};

/// The owner of the chats and memories.
pub const USER: &str = "ada-of-the-tour";

/// Runs the agent on a store, writes a page about it, and reports each step.
pub async fn tour(
    store: Arc<dyn Store>,
    page: &Path,
    mut say: impl FnMut(&str) + Send,
) -> Result<()> {
    start_fresh(&store).await?;

    // What all chats share. The model is asked through the simulator, or, if the environment names
    // a model, through the client of its vendor, whose key the environment holds too.
    let mut agents = Agents::builder(store.clone())
        .compaction([microcompact(), snip(), truncate_head()]) // as the window fills up
        .memory(episodic(&store)?); // what was said comes back in later chats
    agents = match env::var("CONTEXT_EXAMPLE_MODEL") {
        Ok(model) => agents.model(model),
        Err(_) => agents.client(simulated::model()?),
    };
    let agents = agents.build()?;

    // A chat: its fragments become the prompt, its messages the history. Nothing is written yet.
    let mut chat = agents.chat(USER, "lisbon").await?;
    chat.set([
        role("You plan trips. Look things up before you answer."),
        hint("Prices are in EUR."),
    ]);
    say(&format!("the prompt:\n{}\n", chat.engine_mut().resolve().await?.system_prompt));

    // A turn: tools, an output that is far too large, and a provider whose window is smaller than
    // anybody thought.
    say("— a question");
    ask(&mut chat, "Which ferry do I take on Friday?", &mut say).await?;

    // A fork: the first question of the user is asked in another way, on a new branch. The old
    // branch stays unchanged.
    say("\n— back to the question, and asked otherwise");
    let first = chat.engine_mut().first_user_message().await?;
    let first = first.ok_or_else(|| Error::not_found("tour", "message", "first"))?;
    let fork = chat.engine_mut().rewind(&first.id).await?;
    ask(&mut chat, "I get seasick. Is there a train instead?", &mut say).await?;
    for branch in chat.engine().graph().await?.branches {
        let is_new = if branch.name == fork.branch { " (the fork)" } else { "" };
        say(&format!("  branch {}{is_new}", branch.name));
    }

    // A memory: another chat, another day. Captures are kept behind the turn; `flush` waits for
    // them.
    say("\n— another chat");
    agents.runtime().flush().await?;
    let mut next = agents.chat(USER, "porto").await?;
    next.set([role("You plan trips.")]);
    ask(&mut next, "A boat on the Douro: would I get seasick?", &mut say).await?;

    // A page: what the agent concluded, did and answered, in one file that needs no network.
    let written = write_page(&Operations::from(&agents).user(USER), page).await;
    let steps = written.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "tour", "cannot write the page").with_source(error)
    })?;
    say(&format!("\n— {steps} steps of the chat lisbon are on a page"));
    Ok(())
}

/// Writes the chat as a page that opens at its run, and returns the number of steps.
async fn write_page(
    operations: &Operations,
    page: &Path,
) -> std::result::Result<usize, HtmlExportError> {
    let mut file = File::create(page)?;
    let first = FirstView::Run;
    Ok(write_html(operations, "lisbon", None, first, &mut file).await?.all_steps)
}

/// Asks a question, and tells what happened on the way to the answer.
async fn ask(
    chat: &mut AgentChat,
    question: &str,
    say: &mut (impl FnMut(&str) + Send),
) -> Result<()> {
    let answer = chat
        .ask(question)
        .tools(tools::all())
        .turn(|turn| turn.max_output_tokens(1_000))
        .on_delta(|delta| {
            if let AnswerDelta::ToolCall { name, .. } = delta {
                say(&format!("  the model calls {name}"));
            }
        })
        .await?;
    let report = &answer.report;
    for attempt in &report.attempts {
        let (before, after) = (attempt.before, attempt.after);
        let kind = attempt.decision.kind();
        say(&format!("  refused; {kind}: a history of {before} tokens became {after}"));
    }
    if report.spilled_bytes > 0 {
        let bytes = report.spilled_bytes;
        say(&format!("  {bytes} bytes were kept in the store, and a preview was shown"));
    }
    // Displayed whole, a report also has tokens and cost, which differ with the date in a recall.
    let plural = if report.calls == 1 { "" } else { "s" };
    say(&format!("  the agent, after {} call{plural}: {answer}", report.calls));
    Ok(())
}

/// Erases the data of an earlier run, and checks the erasure.
async fn start_fresh(store: &Arc<dyn Store>) -> Result<()> {
    let Some(maintenance) = store.maintenance() else { return Ok(()) };
    match maintenance.erase_user(&USER.into(), &CancelSignal::never()).await?.remaining {
        0 => Ok(()),
        _ => {
            let text = "another tour is running in this store";
            Err(Error::new(ErrorKind::Conflict, "tour", text))
        }
    }
}
