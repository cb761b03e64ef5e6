//! What was said in one chat, recalled in a later one of the same user, and of nobody else.

use context_runtime::memory::episodic;
use context_runtime::model::ModelRequest;
use context_runtime::{Agents, Result};
use small::{AnswerPiece, model};

#[tokio::main]
async fn main() -> Result<()> {
    let store = context_runtime::open("mem:").await?;
    let agents =
        Agents::builder(store.clone()).memory(episodic(&store)?).client(model(answer)?).build()?;

    let mut chat = agents.chat("ada", "lisbon").await?;
    chat.ask("I get seasick on every boat.").await?;
    // Memories are stored behind the turn. `flush` waits for them, `shutdown` does it too.
    agents.runtime().flush().await?;

    for user in ["ada", "ben"] {
        let mut later = agents.chat(user, "porto").await?;
        let answer = later.ask("Shall we take the boat to Porto?").await?;
        println!("to {user}: {answer}");
    }
    agents.shutdown().await
}

/// The simulated model, which knows what it is shown.
fn answer(request: &ModelRequest) -> Vec<AnswerPiece> {
    let shown: String = request.messages.iter().map(|message| message.plain_text()).collect();
    vec![AnswerPiece::text(match (shown.contains("Porto"), shown.contains("seasick")) {
        (true, true) => "You told me that you get seasick: rather not.",
        (true, false) => "Why not?",
        (false, _) => "I am sorry to hear that.",
    })]
}
