//! The turn with the program's own HTTP client and loop. The turn stores and records each step,
//! keeps each request inside the window, and decides what to do about a refusal.

use context_runtime::{Agents, FunctionTool, Result};
use context_simulator::ProviderFault;
use serde_json::json;
use small::{MODEL, call, script, simulator, text};

#[tokio::main]
async fn main() -> Result<()> {
    let answers =
        script([call("weather", json!({"city": "Lisbon"})), text("No coat: it is 24 °C.")]);
    // Stands for the HTTP client of the program. Its first reply is that the provider is busy.
    let client = simulator(answers)?.script([ProviderFault::Overloaded]);

    let agents = Agents::open("mem:").await?.model(MODEL).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    let weather = FunctionTool::new(
        "weather",
        json!({"type": "object", "properties": {"city": {"type": "string"}}}),
    );

    let mut turn = chat.turn("What do I wear?").tools([weather]).begin().await?; // stored
    while let Some(request) = turn.next().await? {
        let reply = client.send(request.body().as_str());
        println!("{} bytes sent, status {}", request.body().as_str().len(), reply.status);
        turn.received(reply.status, &reply.to_text());
        for call in turn.tool_calls() {
            println!("  the model calls {} {}", call.name, call.input.as_written());
            turn.result(call.result("24 °C, sun"));
        }
    }
    let answer = turn.finish().await?; // stored, recorded, closed
    println!("{answer}\n{}, {} retry", answer.report, answer.report.retries);
    agents.shutdown().await
}
