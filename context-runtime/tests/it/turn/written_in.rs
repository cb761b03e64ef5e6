//! Stored messages name the turn and the run that wrote them.

use context_runtime::{Message, ToolFunction, WrittenIn};

use super::*;
use crate::kit::{engine, say, shown, store};

async fn written(chat: &context_runtime::ContextEngine) -> Vec<(String, Option<WrittenIn>)> {
    let graph = chat.graph().await.unwrap();
    let message = |node: &Node| Some(node.message().ok()?.written_in());
    graph.nodes.iter().filter_map(|it| Some((it.node.id.to_string(), message(&it.node)?))).collect()
}

#[tokio::test]
async fn a_turn_of_an_agent_marks_what_it_stores_and_no_provider_is_sent_it() {
    let store = store().await;
    let model = simulator(asks_twice);
    let agents = agents(&store, model.clone());
    let mut chat = chat(&agents).await;
    let tool = ToolFunction::with_schema(weather(), |call| async move { call.result("sun") });
    let answer = chat.ask("Weather?").tools([tool]).await.unwrap();
    let stored = written(chat.engine()).await;
    let turn = stored[0].0.clone();
    assert_eq!(answer.turn.as_str(), turn);
    // The round of the question begins after it is stored, and names it.
    assert_eq!(stored[0].1, Some(WrittenIn::turn(&turn)));
    assert_eq!(stored.len(), 4);
    for (id, written_in) in &stored[1..] {
        assert_eq!(*written_in, Some(WrittenIn::turn(&turn).run("lisbon/0/0")), "{id}");
    }
    // What a program says between two turns is of neither.
    chat.set([say("u9", "By the way.")]);
    chat.engine_mut().save().await.unwrap();
    assert_eq!(written(chat.engine()).await.last(), Some(&("u9".to_owned(), None)));

    let request = chat.engine_mut().resolve().await.unwrap().request().model(MODEL);
    for name in ["anthropic", "openai", "openai-responses", "gemini"] {
        let body = provider(name).unwrap().lower(&request).unwrap().body;
        let body = body.as_str();
        assert!(!body.contains("written_in") && !body.contains("lisbon/0/0"), "{name}: {body}");
    }
}

#[tokio::test]
async fn a_program_names_its_own_runs_and_what_is_sent_again_is_no_edit() {
    let store = store().await;
    let mut chat = engine(&store).await;
    chat.set([say("u1", "Before there were runs.")]).save().await.unwrap();
    chat.write_in(Some(WrittenIn::turn("u2").run("nightly-1")));
    chat.set([say("u2", "Now.")]).save().await.unwrap();
    let copied = Message::from("Copied.").with_written_in(&WrittenIn::turn("elsewhere"));
    chat.set([context_runtime::Fragment::from(copied).with_id("u3")]).save().await.unwrap();

    // A client that sends its whole history each time.
    chat.write_in(Some(WrittenIn::turn("u4").run("nightly-2")));
    chat.set([say("u1", "Before there were runs."), say("u2", "Now."), say("u4", "Later.")]);
    let before = shown(&mut chat).await;
    let saved = chat.save().await.unwrap();
    assert_eq!(saved.outcome, context_runtime::SaveOutcome::Saved);
    assert_eq!(shown(&mut chat).await, before);
    chat.write_in(None);
    chat.set([say("u5", "Last.")]).save().await.unwrap();
    let expected = [
        ("u1", None),
        ("u2", Some(WrittenIn::turn("u2").run("nightly-1"))),
        ("u3", Some(WrittenIn::turn("elsewhere"))),
        ("u4", Some(WrittenIn::turn("u4").run("nightly-2"))),
        ("u5", None),
    ];
    assert_eq!(written(&chat).await, expected.map(|(id, it)| (id.to_owned(), it)));
}
