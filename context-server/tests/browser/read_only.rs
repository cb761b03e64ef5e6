//! An inspector that changes nothing.

use std::sync::Arc;

use context_runtime::memory::{
    CapturedMessage, CapturedTurn, Episodic, MemoryProvider, MemoryScope,
};
use context_runtime::{CancelSignal, Message, Role, Timestamp};
use serde_json::{Value, json};

use crate::demo::{self, BOOKING};
use crate::driver::{Browser, View};
use crate::site::{Site, chat};

/// The actions of a row that change nothing.
const READING: [&str; 4] =
    ["What was sent", "Where its data came from", "Copy link", "Copy as JSON"];

pub(crate) async fn nothing_can_be_changed(browser: &Browser) {
    let store = demo::store().await;
    let said = CapturedMessage::new("m0", Message::text(Role::User, "My cat is called Tom."));
    let zero = Timestamp::from_micros(0);
    let turn = CapturedTurn::new(MemoryScope::new("ada").session("lisbon"), "t1", zero, vec![said]);
    let episodes = Episodic::new(Arc::clone(&store)).unwrap();
    episodes.capture(&turn, &CancelSignal::never()).await.unwrap();
    let site = Site::seen_by(store, "ada", true).await;
    let page = site.page(browser, View::WIDE, &format!("{}?at=b-search", chat(BOOKING))).await;
    page.wait("document.querySelector('.row.current')").await;
    page.press(&["."]).await;
    page.wait("document.querySelector('[role=menu]')").await;
    let names = "[...document.querySelectorAll('[role=menuitem]')].map((it) => it.textContent)";
    assert_eq!(page.eval(names).await, json!(READING));
    page.press(&["Escape"]).await;
    let changing = "[...document.querySelectorAll('[data-act], [data-forget], [data-do=compact], [data-do=undo]')].map((it) => it.textContent)";
    for view in ["/branches", "/sent", "/compare", "/run", "/prompt"] {
        page.go(&format!("{}{view}", chat(BOOKING))).await;
        assert_eq!(page.eval(changing).await, json!([]), "{view}");
    }
    page.go("/memory").await;
    page.sees(".memories", "My cat is called Tom.").await;
    assert_eq!(page.eval(changing).await, json!([]), "memory");
    page.is_sound().await;
    // Whoever asks without the page is refused as well.
    let api = format!("/api/v1{}/actions", chat(BOOKING));
    let actions = [
        json!({"action": "rewind", "message": "b-ask"}),
        json!({"action": "fork", "message": "b-ask", "to": "other"}),
        json!({"action": "switch", "branch": "evening-flight"}),
        json!({"action": "checkpoint", "message": "b-ask", "name": "here"}),
        json!({"action": "edit", "message": "b-ask-2", "text": "No"}),
        json!({"action": "cherry_pick", "messages": ["b-ask"], "branch": "main"}),
        json!({"action": "compact", "policies": ["snip"], "model": "gpt-4o"}),
        json!({"action": "undo"}),
        json!({"action": "redact", "message": "b-ask"}),
        json!({"action": "delete_branch", "branch": "evening-flight"}),
        json!({"action": "pin", "message": "b-ask", "pinned": true}),
    ];
    let mut posts: Vec<_> = actions.into_iter().map(|body| (api.clone(), body)).collect();
    let scope = serde_json::to_value(MemoryScope::new("ada")).unwrap();
    posts.push(("/api/v1/memory/forget".to_owned(), json!({"scope": scope, "id": "m0"})));
    let posts: Vec<Value> = posts.into_iter().map(|(to, body)| json!([to, body])).collect();
    let refused = page
        .eval(&format!(
            "Promise.all({}.map(([to, body]) => fetch(to, {{ method: 'POST',
                headers: {{ 'content-type': 'application/json' }}, body: JSON.stringify(body) }})
                .then((answer) => answer.status)))",
            Value::from(posts.clone())
        ))
        .await;
    assert_eq!(refused, json!(vec![403; posts.len()]));
    page.go(&format!("{}/branches", chat(BOOKING))).await;
    page.sees(".tree", "evening-flight").await;
}
