//! `context prompt --as-of`: what a model would have got when a message was saved.

use context_runtime::{ContextEngine, hint, user};
use serde_json::json;

use crate::harness::Bench;

/// Creates a chat whose context changes with its second message.
fn bench() -> Bench {
    let bench = Bench::new();
    let url = format!("sqlite:{}", bench.path().join("shop.db").display());
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let store = context_runtime::open(&url).await.expect("a store");
        let builder = ContextEngine::builder(store.clone()).user("local").chat("trip");
        let mut chat = builder.open().await.expect("a chat");
        let price = |text: &str| hint(text).persisted().with_id("price");
        for (rule, id) in [("Prices are in EUR.", "first"), ("Prices are in USD.", "second")] {
            chat.set([price(rule), user(format!("The {id} question.")).with_id(id)]);
            chat.save().await.expect("saved");
        }
        store.close().await.expect("closed");
    });
    bench
}

#[test]
fn a_prompt_is_shown_as_it_was_at_a_message() {
    let bench = bench();
    let line = "--store sqlite:shop.db --user local prompt trip";
    let now = bench.ok(line);
    assert!(now.contains("USD") && !now.contains("EUR"), "{now}");
    let then = bench.ok(&format!("{line} --as-of first"));
    assert!(then.contains("EUR") && !then.contains("USD"), "{then}");
    assert!(then.contains("The first question.") && !then.contains("second"), "{then}");
    // An id may be shortened, and the message may be the newest one.
    let record = bench.records(&format!("{line} --as-of seco")).remove(0);
    assert_eq!(record["system_prompt"], "<hint>Prices are in USD.</hint>");
    let ids: Vec<_> = record["messages"].as_array().expect("a list").iter().collect();
    assert_eq!((&record["as_of"], ids.len()), (&json!("second"), 2));

    let absent = bench.run(&format!("{line} --as-of ghost"));
    assert!(absent.status != 0 && absent.err.contains("ghost"), "{absent:?}");
}
