//! A small but complete agent: it stores its chats, calls tools, survives a window that is too
//! small, goes back and answers differently, remembers in a later chat, and writes a page that
//! shows its steps.
//!
//! Read [`tour`] from top to bottom: each block introduces one feature. [`agent`] is the agent
//! loop, [`tools`] are the tools of this agent, [`simulated`] takes the place of a provider.

pub mod agent;
pub mod simulated;
pub mod tools;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use context_runtime::compaction::{microcompact, snip, truncate_head};
use context_runtime::memory::episodic;
use context_runtime::trajectory::export::write_html;
use context_runtime::trajectory::{AgentRef, Trajectories};
use context_runtime::{
    CancelSignal, ContextEngine, DefaultContextRuntime, Error, ErrorKind, Result, Store, hint, role,
};

use crate::agent::Agent;

/// The model. The runtime knows its window, its prices and its tokenizer.
pub const MODEL: &str = "claude-sonnet-4-5";
/// The owner of the chats and memories.
pub const USER: &str = "ada-of-the-tour";

/// Runs the agent on a store, writes a page about it, and reports each step.
pub async fn tour(store: Arc<dyn Store>, page: &Path, mut say: impl FnMut(&str)) -> Result<()> {
    // Each run starts fresh: the data of an earlier run is erased, and the erasure is checked.
    if let Some(maintenance) = store.maintenance() {
        let erased = maintenance.erase_user(&USER.into(), &CancelSignal::never()).await?;
        if erased.remaining > 0 {
            return Err(Error::new(
                ErrorKind::Conflict,
                "tour",
                "another tour is running in this store",
            ));
        }
    }

    // A chat: its fragments become the prompt, its messages the history. Nothing is written yet.
    let mut chat = ContextEngine::builder(store.clone()).user(USER).chat("lisbon").open().await?;
    chat.set([
        role("You plan trips. Look things up before you answer."),
        hint("Prices are in EUR."),
    ]);
    say(&format!("the prompt:\n{}\n", chat.resolve().await?.system_prompt));

    // A runtime, which every call of the model goes through. One runtime serves all users and
    // chats.
    let runtime = DefaultContextRuntime::builder()
        .model(MODEL)
        // from gentle to harsh, applied as the window fills up
        .compaction([microcompact(), snip(), truncate_head()])
        .spill(store.clone()) // outputs that are too large are kept here
        .memory(episodic(&store)?) // what was said comes back in later chats
        .build()?;

    // Each question is a round, recorded step by step.
    let trajectories = Trajectories::new(store.clone())?;
    let this = AgentRef::main(USER, "lisbon");
    let agent = Agent::new(runtime)?;

    // The loop: tools, an output that is far too large, and a provider whose window is smaller than
    // anybody thought.
    say("— a question");
    let round = trajectories.begin(&this).await?;
    let answer =
        agent.answer(&mut chat, &round, "Which ferry do I take on Friday?", &mut say).await?;
    say(&format!("  the agent: {answer}\n"));

    // A fork: the first question of the user is asked in another way, on a new branch. The old
    // branch stays unchanged.
    say("— back to the question, and asked otherwise");
    let first = chat
        .first_user_message()
        .await?
        .ok_or_else(|| Error::not_found("tour", "message", "first"))?;
    let fork = chat.rewind(&first.id).await?;
    let round = trajectories.begin(&this).await?;
    let question = "I get seasick. Is there a train instead?";
    let answer = agent.answer(&mut chat, &round, question, &mut say).await?;
    say(&format!("  the agent: {answer}"));
    for branch in chat.graph().await?.branches {
        let is_new = if branch.name == fork.branch { " (the fork)" } else { "" };
        say(&format!("  branch {}{is_new}", branch.name));
    }

    // A memory: another chat, another day. Captures are kept behind the turn; `flush` waits for
    // them.
    say("\n— another chat");
    agent.runtime.flush().await?;
    let mut next = ContextEngine::builder(store.clone()).user(USER).chat("porto").open().await?;
    next.set([role("You plan trips.")]);
    let round = trajectories.begin(&AgentRef::main(USER, "porto")).await?;
    let question = "A boat on the Douro: would I get seasick?";
    let answer = agent.answer(&mut next, &round, question, &mut say).await?;
    say(&format!("  the agent: {answer}\n"));

    // A page: what the agent concluded, did and answered, in one file that needs no network.
    let graph = trajectories.graph(USER, "lisbon").await?;
    let written = File::create(page).and_then(|file| write_html(&graph, file));
    written.map_err(|error| {
        Error::new(ErrorKind::Unavailable, "tour", "cannot write the page").with_source(error)
    })?;
    say(&format!(
        "— {} nodes of the chat lisbon are drawn on a page",
        trajectories.trajectory(&this).await?.len()
    ));
    Ok(())
}
