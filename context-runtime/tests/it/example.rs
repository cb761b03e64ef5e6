//! The example runs, and shows what it is there to show.

#[allow(dead_code, unreachable_pub, reason = "its `main` is not called here")]
#[path = "../../examples/agent_loop.rs"]
mod agent_loop;

#[tokio::test]
async fn the_agent_meets_an_overflow_and_answers_all_the_same() {
    let said = agent_loop::agent_loop().await.unwrap();
    for expected in ["answered", "context_overflow", "tokens became", "bytes kept as blob:", "the model: "] {
        assert!(said.contains(expected), "{expected} is missing in\n{said}");
    }
    assert_eq!(said, agent_loop::agent_loop().await.unwrap());
}
