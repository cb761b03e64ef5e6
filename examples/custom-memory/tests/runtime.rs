//! The provider in the runtime: messages of one session are recalled in another, as data.

use std::sync::Arc;

use context_runtime::{
    CaptureTurnInput, ContextRuntime, DefaultContextRuntime, Message, Messages, PrepareInput, Role,
    open,
};
use custom_memory::Verbatim;

#[tokio::test]
async fn a_runtime_remembers_with_it() -> Result<(), Box<dyn std::error::Error>> {
    let memory = Verbatim::new(open("mem:").await?)?;
    let runtime =
        DefaultContextRuntime::builder().window(100_000).reserve(1_000).memory(memory).build()?;

    let said = ["My cat is called Tom.", "A fine name."];
    let roles = [Role::User, Role::Assistant];
    let monday: Messages = roles
        .into_iter()
        .zip(said)
        .map(|(role, text)| Arc::new(Message::text(role, text)))
        .collect();
    let told =
        runtime.capture_turn(CaptureTurnInput::new(("ada", "monday"), "turn-1", monday)).await?;
    assert_eq!(told, [], "nothing to complain of");

    let asked = Message::from("What is the name of my cat?");
    let input = PrepareInput::new(("ada", "friday"), "turn-1", "openai", "any").messages([asked]);
    let context = runtime.prepare_for_model(input).await?;
    let shown: String =
        context.request.messages.iter().map(|message| message.plain_text().into_owned()).collect();
    assert!(shown.contains("My cat is called Tom."), "{shown}");
    Ok(())
}
