//! Metadata: counters under concurrent writers, and listings that are filtered above the backend.

use std::sync::Arc;

use context_core::base::limits;
use context_core::store::{ChatPatch, ChatQuery, NewChat};
use context_core::{Json, Metadata, Store};
use proptest::prelude::*;
use serde_json::json;

use crate::fixture::{at, chat, create, memory, over};

fn add(name: &str, amount: serde_json::Value) -> ChatPatch {
    ChatPatch { add: Metadata::default().with(name, amount), ..ChatPatch::default() }
}

async fn value(store: &dyn Store, name: &str) -> serde_json::Value {
    let chat = store.history().chat(&chat("c")).await.unwrap().unwrap();
    chat.metadata.get(name).map_or(serde_json::Value::Null, |value| value.parse().unwrap())
}

/// Usage is counted without a read, so counting must not become a read followed by a write: with
/// two concurrent writers, one count would be lost.
#[tokio::test(flavor = "multi_thread")]
async fn who_counts_at_once_loses_nothing() {
    let inner = memory();
    create(&over(&inner, &["k1"]), &chat("c")).await;
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let inner = Arc::clone(&inner);
            tokio::spawn(async move {
                let store = over(&inner, &["k1"]);
                for n in 0..25 {
                    let patch =
                        add("usage", json!({"in": n, "calls": {"n": 1}, "model": "secret"}));
                    store.history().update_chat(&chat("c"), &patch, at(n)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let store = over(&inner, &["k1"]);
    let expected = json!({"in": 2400, "calls": {"n": 200}, "model": "secret"});
    assert_eq!(value(&store, "usage").await, expected);
    let beneath = inner.history().chat(&chat("c")).await.unwrap().unwrap();
    let shown = beneath.metadata.get("sealed+usage").unwrap().as_str();
    assert!(shown.contains("2400") && !shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn keys_that_look_like_ours_are_keys() {
    let inner = memory();
    let store = over(&inner, &["k1"]);
    create(&store, &chat("c")).await;
    for name in ["sealed+usage", "sealed=x", "sealed", "usage"] {
        let set = ChatPatch { set: Metadata::default().with(name, name), ..ChatPatch::default() };
        store.history().update_chat(&chat("c"), &set, at(1)).await.unwrap();
    }
    store.history().update_chat(&chat("c"), &add("usage", json!(2)), at(1)).await.unwrap();
    for (name, expected) in [
        ("sealed+usage", json!("sealed+usage")),
        ("sealed=x", json!("sealed=x")),
        ("usage", json!(2)),
    ] {
        assert_eq!(value(&store, name).await, expected);
    }
}

/// A text replaces a number, then a number replaces the text: the first number is gone, however
/// small it was compared with the second. (Regression: a comparison of sums with a tolerance took
/// half of a large number for a rounding error.)
#[tokio::test]
async fn a_number_over_a_text_does_not_bring_an_older_one_back() {
    let store = over(&memory(), &["k1"]);
    create(&store, &chat("c")).await;
    let half = ChatPatch { set: Metadata::default().with("a", json!(0.5)), ..ChatPatch::default() };
    for patch in [half, add("a", json!("text")), add("a", json!(-500_000_000))] {
        store.history().update_chat(&chat("c"), &patch, at(1)).await.unwrap();
    }
    assert_eq!(value(&store, "a").await, json!(-500_000_000));
}

/// One patch of a random sequence.
fn step() -> impl Strategy<Value = ChatPatch> {
    let name = prop_oneof![Just("a"), Just("b")];
    let number = prop_oneof![any::<i32>().prop_map(|n| json!(n)), Just(json!(0.5))];
    let amount = prop_oneof![
        number.clone(),
        Just(json!("text")),
        (number.clone(), number).prop_map(|(x, y)| json!({"x": x, "y": {"z": y, "t": [1]}})),
    ];
    (name, amount, 0..3).prop_map(|(name, value, what)| match what {
        0 => ChatPatch { set: Metadata::default().with(name, value), ..ChatPatch::default() },
        1 => ChatPatch { remove: vec![name.to_owned()], ..ChatPatch::default() },
        _ => add(name, value),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    /// The same patches give the same metadata as without the layer. (Fractions may be added in
    /// another order, which makes no difference for these values.)
    #[test]
    fn patches_do_what_they_do_without_it(steps in proptest::collection::vec(step(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (plain, sealed) = runtime.block_on(async {
            let (plain, layered) = (memory(), over(&memory(), &["k1"]));
            create(&*plain, &chat("c")).await;
            create(&layered, &chat("c")).await;
            for patch in &steps {
                plain.history().update_chat(&chat("c"), patch, at(1)).await.unwrap();
                layered.history().update_chat(&chat("c"), patch, at(1)).await.unwrap();
            }
            let values = async |store: &dyn Store| (value(store, "a").await,
                value(store, "b").await);
            (values(&*plain).await, values(&layered).await)
        });
        prop_assert_eq!(plain, sealed);
    }
}

#[tokio::test]
async fn filtered_listings_are_whole_and_in_order() {
    let store = over(&memory(), &["k1"]);
    for n in 0..40 {
        let metadata =
            Metadata::default().with("kind", if n % 3 == 0 { "note" } else { "talk" }).with("n", n);
        let new = NewChat { metadata, ..NewChat::new(chat(&format!("c{n}")), at(n)) };
        let _new = store.history().create_chat(new).await.unwrap();
    }
    let expected: Vec<String> =
        (0..40).rev().filter(|n| n % 3 == 0).map(|n| format!("c{n}")).collect();
    for limit in [1, 2, 7, 13, 14, 15, limits::MAX_PAGE] {
        let kind = ("kind".to_owned(), Json::from("note"));
        let mut query = ChatQuery { metadata: vec![kind], limit, ..ChatQuery::new("ada") };
        let (mut seen, mut pages) = (Vec::new(), 0);
        loop {
            let page = store.history().list_chats(&query).await.unwrap();
            assert!(page.items.len() <= limit && !page.items.is_empty());
            seen.extend(page.items.into_iter().map(|summary| summary.chat.chat.chat.to_string()));
            pages += 1;
            query.after = page.next;
            if query.after.is_none() {
                break;
            }
        }
        assert_eq!((&seen, pages), (&expected, expected.len().div_ceil(limit)));
    }
}
