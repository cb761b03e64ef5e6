//! A tool that asks an agent of its own. The sub-agent has a chat of its own, of the same user, and
//! its steps are recorded below the call that asked it.

use context_runtime::{Agents, FunctionTool, Result, ToolCall, ToolContext, ToolFunction, role};
use serde::Deserialize;
use serde_json::json;
use small::{call, model, script, text};

#[derive(Deserialize)]
struct Research {
    question: String,
}

/// Returns the tool. Its function also gets the turn that runs it.
fn research() -> ToolFunction {
    let schema = json!({
        "type": "object",
        "properties": {"question": {"type": "string"}},
        "required": ["question"],
    });
    let tool = FunctionTool::new("research", schema).description("Asks a researcher.");
    ToolFunction::with_context(tool, |call: ToolCall, turn: ToolContext| async move {
        match ask_researcher(&call, &turn).await {
            Ok(answer) => call.result(answer),
            Err(error) => call.error(error.to_string()),
        }
    })
}

async fn ask_researcher(
    call: &ToolCall,
    turn: &ToolContext,
) -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    let Research { question } = call.input.parse()?;
    let mut researcher = turn.agent("researcher").await?;
    researcher.set([role("You look things up and answer in one line.")]);
    let answer = researcher.ask(question).cancel(turn.cancel().clone()).await?;
    println!("  {} answers: {answer}", researcher.engine().chat_ref().chat);
    Ok(answer.to_string())
}

#[tokio::main]
async fn main() -> Result<()> {
    let model = model(script([
        call("research", json!({"question": "When does the first ferry leave?"})),
        text("At 05:35."), // the researcher
        text("The first ferry leaves at 05:35, so be up early."),
    ]))?;
    let agents = Agents::open("mem:").await?.client(model).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    let answer = chat.ask("Can I take a ferry before six?").tools([research()]).await?;
    println!("{answer}");

    for agent in chat.recorded().await?.agents() {
        println!("agent {}: {} recorded steps", agent.number(), agent.nodes().count());
    }
    agents.shutdown().await
}
