//! A window that fills up. Compaction makes room before the request leaves; the store keeps every
//! message, and the cut can be undone.

use context_runtime::compaction::{snip, truncate_head};
use context_runtime::{AgentChat, Agents, Result, assistant, user};
use small::{model, script, text};

#[tokio::main]
async fn main() -> Result<()> {
    let agents = Agents::open("mem:")
        .await?
        .client(model(script([text("Day 40 was a Sunday.")]))?)
        .runtime(|runtime| runtime.window(6_000).reserve(1_000))
        .compaction([snip(), truncate_head()]) // from gentle to harsh; the user's short notes stay
        .build()?;
    let mut chat = agents.chat("ada", "diary").await?;
    for day in 1..=40 {
        chat.set([user(format!("Note for day {day}."))]);
        chat.set([assistant(
            format!("Noted for day {day}: a long walk by the river. ").repeat(15),
        )]);
    }
    show(&mut chat, "before").await?;

    let answer = chat.ask("Which weekday was day 40?").await?;
    println!("{answer}");
    for plan in &answer.report.plans {
        println!(
            "  {}: {} ({} to {} tokens)",
            plan.policy, plan.description, plan.before, plan.after
        );
    }
    show(&mut chat, "after the cut").await?;

    chat.engine_mut().undo_compaction().await?;
    show(&mut chat, "after its undo").await?;
    chat.engine_mut().redo_compaction().await?;
    show(&mut chat, "after its redo").await?;
    chat.engine_mut().save().await?;
    agents.shutdown().await
}

/// Prints how many messages the model is shown.
async fn show(chat: &mut AgentChat, when: &str) -> Result<()> {
    let shown = chat.engine_mut().resolve().await?.messages.len();
    let cuts = chat.engine_mut().compactions().await?;
    let standing = cuts.iter().filter(|cut| cut.stands).count();
    println!("{when}: {shown} messages shown, cuts in force: {standing}");
    Ok(())
}
