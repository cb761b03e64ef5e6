//! Going back to an answer and on from there in another way. Each way is a branch, and nothing is
//! lost.

use context_runtime::{AgentChat, Agents, Result};
use small::{model, script, text};

#[tokio::main]
async fn main() -> Result<()> {
    let model = model(script([
        text("By ferry or by train?"),
        text("The ferry leaves at 10:05."),
        text("The train leaves at 10:20."),
        text("The ferry is 3 EUR."),
    ]))?;
    let agents = Agents::open("mem:").await?.client(model).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    let asked = chat.ask("How do I get to Cacilhas?").await?;
    chat.ask("By ferry.").await?;

    // Back to the first answer, and on from there in another way, on a new branch.
    let fork = chat.engine_mut().rewind(&asked.id).await?;
    chat.ask("By train.").await?;
    show(&mut chat).await?;

    // The first branch is as it was, and goes on by itself.
    chat.engine_mut().switch_branch("main").await?;
    chat.ask("What does it cost?").await?;
    show(&mut chat).await?;

    let diff = chat.engine().diff(&"main".into(), &fork.branch).await?;
    let (common, ferry, train) = (diff.common, diff.left.len(), diff.right.len());
    println!("{common} messages in common, {ferry} only on main, {train} only on the fork");
    agents.shutdown().await
}

/// Prints the messages of the current branch.
async fn show(chat: &mut AgentChat) -> Result<()> {
    println!("{}:", chat.engine().branch());
    for node in chat.engine_mut().resolve().await?.messages.iter() {
        let message = node.message()?;
        println!("  {}: {}", message.role, message.plain_text());
    }
    Ok(())
}
