//! The recorded steps of an answer: what the model was asked, concluded, did and answered, with the
//! tokens and the cost of each call. Recording is on by default.

use std::io::stdout;

use context_runtime::trajectory::export::{DiagramOptions, write_mermaid};
use context_runtime::{Agents, Error, ErrorKind, Result, tools};
use schemars::JsonSchema;
use serde::Deserialize;
use small::{AnswerPiece, model, script, text};

/// Returns the weather in a city.
#[derive(Deserialize, JsonSchema)]
struct Weather {
    city: String,
}

async fn weather(Weather { city }: Weather) -> String {
    format!("{city}: 24 °C, sun")
}

#[tokio::main]
async fn main() -> Result<()> {
    let city = serde_json::json!({"city": "Lisbon"});
    let look = vec![AnswerPiece::text("I look it up."), AnswerPiece::call("weather", city)];
    let model = model(script([look, text("No, it is 24 °C.")]))?;
    let agents = Agents::open("mem:").await?.client(model).build()?;
    let mut chat = agents.chat("ada", "lisbon").await?;
    chat.ask("Do I need a coat?").tools(tools![weather]).await?;

    let graph = chat.recorded().await?;
    for node in graph.agents().flat_map(|agent| agent.nodes()) {
        let measures = node.measures.clone().unwrap_or_default();
        let tokens = match (measures.input_tokens, measures.output_tokens) {
            (Some(input), Some(output)) => format!(" ({input} tokens in, {output} out)"),
            _ => String::new(),
        };
        println!("{}: {}{tokens}", node.title(), node.body.headline());
    }

    // Drawings and exports: Mermaid, DOT, PROV, OpenTelemetry, Chrome traces.
    write_mermaid(&graph, &DiagramOptions::default(), stdout()).map_err(|error| {
        Error::new(ErrorKind::Unavailable, "main", "cannot draw the graph").with_source(error)
    })?;
    agents.shutdown().await
}
