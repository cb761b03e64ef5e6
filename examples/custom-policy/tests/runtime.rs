//! The policy in the runtime: a stage that is used when the window fills up.

use std::sync::Arc;

use context_conformance::policy::QuarterCounter;
use context_runtime::{
    ContextRuntime, DefaultContextRuntime, Message, Part, PrepareInput, Role, compaction::Stage,
};
use custom_policy::Superseded;
use serde_json::json;

#[tokio::test]
async fn a_runtime_asks_it_when_the_window_fills_up() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = DefaultContextRuntime::builder()
        .window(4_000)
        .reserve(500)
        .counter(Arc::new(QuarterCounter))
        .compaction([Stage::new(Superseded::by(["read_file"])).trigger(0.5).target(0.4)])
        .build()?;
    let mut history = vec![Message::from("Rename it.")];
    for id in ["a", "b"] {
        let call = Part::tool_call(id, "read_file", json!({ "path": "a.rs" }));
        history.push(Message::new(Role::Assistant, [call]));
        history
            .push(Message::new(Role::Tool, [Part::tool_result(id, "fn main() {}\n".repeat(400))]));
    }
    history.push(Message::text(Role::Assistant, "It is renamed."));

    let input = PrepareInput::new(("ada", "session"), "turn", "openai", "any").messages(history);
    let context = runtime.prepare_for_model(input).await?;
    let [report] = &context.plans[..] else { return Err("the stage was not asked".into()) };
    assert!(report.applied && report.description == "1 results superseded", "{report:?}");
    assert_eq!(context.fits(), Some(true));
    Ok(())
}
