//! Texts that PostgreSQL's built-in full-text search could not take.

use context_core::Store;
use context_core::store::SearchQuery;

use crate::fixture::{StoreFixture, chat, extend, nothing_is_wrong, says};

async fn found(store: &dyn Store, text: &str, prefix: bool) -> Vec<String> {
    let query = SearchQuery { prefix, ..SearchQuery::new("ada", text) };
    let page = store.search().unwrap().search(&query).await.unwrap();
    page.items.iter().map(|hit| hit.message.to_string()).collect()
}

/// More different words than a `tsvector` holds, and a phrase after the last position that it
/// counts.
pub(crate) async fn a_message_of_very_many_words_is_found_by_each() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let chat = chat(&store, "ada").await;
    let mut text: String = (0..120_000).map(|i| format!("word{i:06} ")).collect();
    text.push_str("zebra quagga");
    let nodes = vec![says("vast", &text), says("small", "zebra"), says("other", "quagga zebra")];
    let _applied = store.history().commit(extend(&chat, "", nodes)).await.unwrap();
    assert_eq!(found(&store, "word000000", false).await, ["vast"]);
    assert_eq!(found(&store, "word119999", false).await, ["vast"]);
    assert_eq!(found(&store, "zebra,quagga", false).await, ["vast"]);
    assert_eq!(found(&store, "word11999", true).await, ["vast"]);
    assert_eq!(found(&store, "quag", true).await, ["other", "vast"]);
    assert_eq!(found(&store, "word120000", false).await, [""; 0]);
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}

/// Query operators of the server have no meaning in the user's input.
pub(crate) async fn operators_of_the_server_are_text() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let chat = chat(&store, "ada").await;
    let texts = ["it's a | b & !c <-> d:*", "back\\slash 'quoted' %like_ (paren)"];
    let nodes = vec![says("a", texts[0]), says("b", texts[1])];
    let _applied = store.history().commit(extend(&chat, "", nodes)).await.unwrap();
    assert_eq!(found(&store, texts[0], false).await, ["a"]);
    assert_eq!(found(&store, texts[1], true).await, ["b"]);
    for nothing in ["'", "\\", "!", "<->", ":*", "%", "(", "a & x"] {
        assert_eq!(found(&store, nothing, false).await, [""; 0], "{nothing}");
    }
    fixture.drop().await;
}
