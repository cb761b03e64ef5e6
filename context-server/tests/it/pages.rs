//! The pages as a browser gets them.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use context_runtime::store::RefChange;
use context_runtime::{Message, Part, Role, assistant, user};
use context_server::Operations;
use serde_json::json;
use tower::ServiceExt;

use crate::site::Site;

/// A text that would do something as markup, in an attribute, as an address or as a program.
pub(crate) const HOSTILE: &str =
    "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg onload=alert(1)>";

pub(crate) fn message(
    role: Role,
    parts: impl IntoIterator<Item = Part>,
) -> context_runtime::Fragment {
    context_runtime::Fragment::from(Message::new(role, parts))
}

/// Checks that no content became markup.
pub(crate) fn is_harmless(page: &str) {
    let lower = page.to_lowercase();
    // The page's own scripts have an address; nothing else may be one, or handle an event.
    assert_eq!(
        lower.matches("<script").count(),
        lower.matches("<script src=").count()
            + lower.matches("<script type=\"module\" src=").count()
    );
    for bad in ["<img src=x", "<svg onload", "<div onclick", "href=\"javascript:", "src=\"http"] {
        assert!(!lower.contains(bad), "{bad} in {page}");
    }
}

#[tokio::test]
async fn a_call_is_joined_to_its_result() {
    let site = Site::new().await;
    let call = Part::tool_call("c1", "get_reservation", json!({"reservation_id": "EHGLP3"}));
    site.say(
        "lisbon",
        [
            user("Cancel it."),
            message(Role::Assistant, [call]),
            message(Role::Tool, [Part::tool_result("c1", r#"{"cabin":"basic_economy"}"#)]),
            assistant("Done."),
        ],
    )
    .await;
    let page = site.page("/chats/lisbon").await;
    assert_eq!(page.matches("<article").count(), 3, "the result is part of the row of its call");
    for text in ["get_reservation", "EHGLP3", "basic_economy", "Done."] {
        assert!(page.contains(text), "{text}");
    }
    let facts = site.page("/api/v1/chats/lisbon/facts").await;
    assert!(facts.contains(r#""calls":1,"failures":0"#), "{facts}");
}

#[tokio::test]
async fn content_is_text_wherever_it_stands() {
    let site = Site::new().await;
    let chat = HOSTILE;
    let call = Part::tool_call(HOSTILE, HOSTILE, json!({HOSTILE: HOSTILE, "command": HOSTILE}));
    let markdown = "[a](javascript:alert(1)) ![b](http://tracker.example/x.png) <javascript:alert(1)>\n\n\
                    ```<script>\n</code></pre><script>alert(1)</script>\n```\n\n<div onclick=alert(1)>";
    let engine = site
        .say(
            chat,
            [
                user(HOSTILE),
                user(markdown),
                message(Role::Assistant, [Part::text(HOSTILE), call]),
                message(Role::Tool, [Part::tool_result(HOSTILE, HOSTILE)]),
                message(Role::Tool, [Part::tool_result("of nothing", markdown)]),
            ],
        )
        .await;
    drop(engine);
    let encoded = crate::site::encode(chat);
    let mut pages = Vec::new();
    for path in [
        "/",
        &format!("/chats/{encoded}"),
        &format!("/chats/{encoded}/branches"),
        &format!("/chats/{encoded}/branches/compare"),
        "/search?q=%3Cscript%3E",
    ] {
        pages.push(site.page(path).await);
    }
    pages.push(
        site.get(&format!("/chats/{}", crate::site::encode("<script>alert(1)</script>"))).await.1,
    );
    pages.iter().for_each(|page| is_harmless(page));
    assert!(pages[1].contains("[image: http://tracker.example/x.png]"));
}

#[tokio::test]
async fn a_call_is_found_by_its_name_and_its_arguments() {
    let site = Site::new().await;
    let call = Part::tool_call("c1", "Cancel_Reservation", json!({"id": "EHGLP3", "why": "İ ill"}));
    let other = Part::tool_call("c2", "hold_seats", json!({"note": "İİİ EHGLP3"}));
    let said =
        [message(Role::User, [Part::text("I am ill")]), message(Role::Assistant, [other, call])];
    site.say("lisbon", said).await;
    site.say("oslo", [message(Role::User, [Part::text("Nothing to cancel")])]).await;
    for (words, of) in
        [("cancel_reservation", ""), ("EHGLP3+cancel", ""), ("reservation", "&chat=lisbon")]
    {
        let found = site.page(&format!("/api/v1/search?q={words}{of}")).await;
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let hits = found["hits"].as_array().unwrap();
        assert_eq!(hits.len(), 1, "{words}: {found}");
        assert_eq!(hits[0]["chat"], "lisbon");
        let marked = hits[0]["snippet"].as_array().unwrap().iter().find(|it| it[1] == true);
        assert!(marked.unwrap()[0].as_str().unwrap().len() > 5, "{found}");
    }
    assert!(site.page("/search?q=cancel_seats").await.contains("No message has all"));

    // More than are listed: the page says so.
    let many = (0..60).map(|n| {
        let call = Part::tool_call(format!("p{n}"), "pay", json!({"amount": n}));
        message(Role::Assistant, [call])
    });
    site.say("porto", many).await;
    for of in ["", "&chat=porto"] {
        let found = site.page(&format!("/search?q=pay{of}")).await;
        assert_eq!(found.matches("class=\"snippet\"").count(), 50);
        assert!(found.contains("Calls of older messages were not searched."), "{found}");
    }
}

#[tokio::test]
async fn rows_come_in_chunks_and_a_message_has_an_address() {
    let site = Site::new().await;
    let messages = (0..200).map(|n| user(format!("Question {n}")).with_id(format!("m{n}")));
    site.say("long", messages).await;
    let page = site.page("/chats/long?at=m150").await;
    assert!(page.contains("data-at=\"150\"") && page.contains("Question 150"));
    assert!(!page.contains(">Question 0<"));
    let rows = site.page("/chats/long/rows?from=190&count=30").await;
    assert_eq!(rows.matches("<article").count(), 10);
    let outline = site.page("/api/v1/chats/long/outline?from=199&count=10").await;
    assert!(outline.contains(r#""turn":200,"row":199,"message":"m199","preview":"Question 199""#));
    let (status, body) = site.get("/chats/long?at=nowhere").await;
    assert_eq!(status, 404);
    assert!(body.contains("nowhere"), "{body}");
}

#[tokio::test]
async fn what_is_added_is_seen_and_actions_change_the_chat() {
    let site = Site::new().await;
    let m = |text: &str, id: &str| user(text).with_id(id.to_owned());
    site.say("lisbon", [m("One", "m1"), m("Two", "m2"), m("Three", "m3")]).await;
    assert!(site.page("/api/v1/chats/lisbon").await.contains("\"rows\":3"));
    site.say("lisbon", [m("Four", "m4")]).await;
    assert!(site.page("/api/v1/chats/lisbon").await.contains("\"rows\":4"));

    let act = async |action: serde_json::Value| {
        let (status, body) = site.post("/api/v1/chats/lisbon/actions", action).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    let edited = act(json!({"action": "edit", "message": "m2", "text": "Two, later"})).await;
    assert_eq!(edited["branch"], "main-v2");
    let page = site.page("/chats/lisbon").await;
    assert!(page.contains("Two, later") && !page.contains("Three"));
    let tree = site.page("/chats/lisbon/branches").await;
    assert!(tree.contains("main-v2") && tree.contains("after message 1"), "{tree}");
    let siblings = site.page("/api/v1/chats/lisbon/tree").await;
    assert!(siblings.contains(&format!("\"m2\":[\"m2\",{}]", edited["message"])), "{siblings}");

    act(json!({"action": "switch", "branch": "main"})).await;
    act(json!({"action": "redact", "message": "m2"})).await;
    assert!(!site.page("/chats/lisbon?branch=main").await.contains("Two<"));
    act(json!({"action": "checkpoint", "message": "m3", "name": "here"})).await;
    assert!(site.page("/chats/lisbon/branches").await.contains("here"));
    let forked = act(json!({"action": "fork", "message": "m1", "to": "other"})).await;
    assert_eq!(forked["chat"], "other");
    assert!(site.page("/chats/other").await.contains("One"));
}

#[tokio::test]
async fn it_can_be_mounted_below_a_path() {
    let site = Site::new().await;
    site.say("lisbon", [user("Two tickets.")]).await;
    let inspector = context_server::router(Operations::new(site.store.clone()).user("ada"));
    let application = Router::new().nest("/inspector", inspector);
    for path in ["/inspector", "/inspector/chats/lisbon"] {
        let request = Request::get(path).header("host", "localhost").body(Body::empty()).unwrap();
        let answer = application.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 200, "{path}");
        let body = axum::body::to_bytes(answer.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8_lossy(&body);
        assert!(body.contains("href=\"/inspector/assets/page.css\""), "{body}");
        assert!(!body.contains("href=\"/chats"), "{body}");
    }
}

#[tokio::test]
async fn an_edit_is_one_commit_on_a_branch_beside_the_one_it_was_on() {
    let site = Site::new().await;
    let mut chat =
        site.say("lisbon", [user("One").with_id("m1"), assistant("Two").with_id("m2")]).await;
    chat.rewind(&"m1".into()).await.unwrap();
    chat.set([assistant("Zwei").with_id("m3")]).save().await.unwrap();
    let edit = async |message: &str| {
        let action = json!({"action": "edit", "message": message, "text": "Other words"});
        let (status, body) = site.post("/api/v1/chats/lisbon/actions", action).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<serde_json::Value>(&body).unwrap()
    };
    // The time of the last branch, and of the last write.
    let times = async || {
        let chat = context_runtime::ChatRef::from(("ada", "lisbon"));
        let log = site.store.ref_log().unwrap().ref_log(&chat).await.unwrap();
        let mut entries = log.entries().iter().rev();
        let made = entries.find(|it| matches!(it.change, RefChange::BranchCreated { .. }));
        let written = site.store.history().chat(&chat).await.unwrap().unwrap().updated_at;
        (made.unwrap().at, written)
    };
    // m2 is on main, which is not the active branch.
    assert_eq!(edit("m2").await["branch"], "main-v3");
    let (made, written) = times().await;
    assert_eq!(made, written, "a crash between two commits would leave an empty branch");
    let page = site.page("/chats/lisbon").await;
    assert!(page.contains("One") && page.contains("Other words"), "{page}");
    assert!(!page.contains("Zwei"), "{page}");
    // The first message has no parent.
    let branch = edit("m1").await["branch"].as_str().unwrap().to_owned();
    let page = site.page(&format!("/chats/lisbon?branch={branch}")).await;
    assert!(page.contains("Other words") && !page.contains("Two"), "{page}");
}

#[tokio::test]
async fn two_branches_are_compared_from_where_they_part() {
    let site = Site::new().await;
    let said = [
        user("Two seats").with_id("m1"),
        assistant("Which day?").with_id("m2"),
        user("On <b>Friday</b>").with_id("m3"),
        assistant("Booked").with_id("m4"),
    ];
    site.say("lisbon", said).await;
    let edit = json!({"action": "edit", "message": "m3", "text": "On Sunday"});
    let (status, body) = site.post("/api/v1/chats/lisbon/actions", edit).await;
    assert_eq!(status, 200, "{body}");
    let branch = serde_json::from_str::<serde_json::Value>(&body).unwrap()["branch"].clone();
    let branch = branch.as_str().unwrap();
    let address = format!("/api/v1/chats/lisbon/branches/difference?left=main&right={branch}");
    let found: serde_json::Value = serde_json::from_str(&site.page(&address).await).unwrap();
    assert_eq!((&found["common"], &found["at"]), (&json!(2), &json!("m2")));
    assert_eq!(found["left"], json!(["m3", "m4"]));
    assert_eq!(found["right"].as_array().unwrap().len(), 1);

    let page = site.page("/chats/lisbon/branches/compare?left=main").await;
    for text in ["2 messages are the same", "written anew", "Booked", "On Sunday", "of its own"] {
        assert!(page.contains(text), "{text} in {page}");
    }
    assert!(page.contains("class=\"del\"") && !page.contains("<b>Friday"), "{page}");
    let same = site.page("/chats/lisbon/branches/compare?left=main&right=main").await;
    assert!(same.contains("they are the same"), "{same}");
    let (status, _) = site.get("/chats/lisbon/branches/compare?left=main&right=nobody").await;
    assert_eq!(status, 404);
    let alone = site.say("alone", [user("Hello")]).await;
    drop(alone);
    assert!(site.page("/chats/alone/branches/compare").await.contains("they are the same"));
}
