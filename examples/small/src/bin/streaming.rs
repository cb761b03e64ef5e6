//! Text as it arrives. What arrived is kept in a stream, which another process can follow from any
//! offset, also after its connection was lost.

use std::io::{Write, stdout};

use context_runtime::Agents;
use context_runtime::model::AnswerDelta;
use small::{model, script, text};

#[tokio::main]
async fn main() -> context_runtime::Result<()> {
    let answers = script([text("The tram 28 climbs from Baixa to Graça, past the cathedral.")]);
    let agents = Agents::open("mem:").await?.client(model(answers)?).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;

    let answer = chat
        .ask("Which tram should I take?")
        .on_text(|piece| {
            print!("{piece}|");
            let _unbuffered = stdout().flush();
        })
        .await?;
    println!("\n{}", answer.report);

    // The stream of a turn has the id of its question. Each chunk is a delta as JSON.
    let mut reader = chat.engine().streams().follow(answer.turn.as_str(), 1);
    while let Some(chunk) = reader.next().await? {
        if let Ok(AnswerDelta::Text(text)) = serde_json::from_slice(&chunk.bytes) {
            println!("chunk {}: {text:?}", chunk.offset);
        }
    }
    agents.shutdown().await
}
