//! A loop with the types of async-openai: the context layer prepares each request, async-openai's
//! client would send it, and the answer is stored. The answers are scripted, so it needs no
//! network.
#![allow(clippy::print_stdout, reason = "it shows what happens")]

use std::error::Error;

use async_openai::types::chat::{CreateChatCompletionRequest, CreateChatCompletionResponse};
use context_async_openai::chat;
use context_runtime::{Agents, FunctionTool, role};
use serde_json::json;

/// Stands for `client.chat().create(request)`.
fn create(
    request: &CreateChatCompletionRequest,
) -> serde_json::Result<CreateChatCompletionResponse> {
    let message = match request.messages.len() {
        2 => json!({"role": "assistant", "content": null, "tool_calls": [{
            "id": "call_1",
            "type": "function",
            "function": {"name": "trains", "arguments": "{\"to\":\"Lisbon\"}"},
        }]}),
        _ => json!({"role": "assistant", "content": "The train leaves at 10:05."}),
    };
    let reason = if message["content"].is_null() { "tool_calls" } else { "stop" };
    serde_json::from_value(json!({
        "id": "chatcmpl_1",
        "object": "chat.completion",
        "created": 1,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28},
    }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let agents = Agents::open("mem:").await?.model("gpt-4o").build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    chat.set([role("You book trips.")]);
    let trains = FunctionTool::new("trains", json!({"type": "object"}));
    let mut turn = chat.turn("When is the next train?").tools([trains]).begin().await?;
    while let Some(request) = turn.next().await? {
        let request = chat::to_request(request.body())?;
        println!("sent: {} messages to {}", request.messages.len(), request.model);
        let response = create(&request)?;
        turn.received(200, &serde_json::to_string(&response)?);
        for call in turn.tool_calls() {
            turn.result(call.result("10:05"));
        }
    }
    println!("{}", turn.finish().await?);

    let messages = chat.engine_mut().resolve().await?.request().messages;
    let theirs = chat::to_messages(messages.iter().map(|message| &**message))?;
    println!("stored: {} messages", theirs.items.len());
    Ok(agents.shutdown().await?)
}
