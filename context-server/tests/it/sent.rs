//! Past requests and their differences as pages and as JSON.

use context_runtime::{Fragment, Message, Part, Role, assistant, hint, user};
use serde_json::{Value, json};

use crate::site::Site;

/// A chat whose old tool results are large: 12 turns with a call each.
async fn long_chat(site: &Site) {
    let mut messages: Vec<Fragment> = Vec::new();
    for turn in 0..12 {
        let (call, result) = (format!("c{turn}"), "word ".repeat(400));
        let part = Part::tool_call(&call, "read_file", json!({"path": format!("{turn}.txt")}));
        messages.push(user(format!("Question {turn}")).with_id(format!("u{turn}")));
        let calling = Fragment::from(Message::new(Role::Assistant, [part]));
        messages.push(calling.with_id(format!("c{turn}")));
        let answered = Message::new(Role::Tool, [Part::tool_result(&call, result)]);
        messages.push(Fragment::from(answered).with_id(format!("r{turn}")));
        messages.push(assistant(format!("Answer {turn}")).with_id(format!("a{turn}")));
    }
    site.say("long", messages).await;
}

#[tokio::test]
async fn a_past_request_says_what_was_cut_why_and_what_that_saved() {
    let site = Site::new().await;
    long_chat(&site).await;
    let address = "sent?message=a11&provider=openai&window=6000";
    let report = site.page(&format!("/api/v1/chats/long/{address}")).await;
    let report: Value = serde_json::from_str(&report).unwrap();
    let report = &report["report"];
    let pieces = report["pieces"].as_array().unwrap();
    let cut = pieces.iter().filter(|piece| !piece["policy"].is_null()).count();
    assert!(cut > 0 && report["saved"]["tokens"].as_u64().unwrap() > 1_000, "{report}");
    assert_eq!(report["fits"], true);
    let page = site.page(&format!("/chats/long/{address}")).await;
    for text in
        ["Request 24 of 24", "Cuts left out or shortened", "policy", "Difference to request 23"]
    {
        assert!(page.contains(text), "{text} in {page}");
    }
    // Each piece can be opened.
    for (at, piece) in pieces.iter().enumerate() {
        let text = site
            .page(&format!(
                "/chats/long/sent/piece?piece={at}&number=24&provider=openai&window=6000"
            ))
            .await;
        assert!(!text.is_empty(), "{piece}");
    }
    let body =
        site.page("/api/v1/chats/long/sent/body?number=24&provider=openai&window=6000").await;
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), report["body"]);
}

#[tokio::test]
async fn a_request_is_found_by_any_message() {
    let site = Site::new().await;
    long_chat(&site).await;
    for (message, number) in [("u6", 13), ("c6", 13), ("r6", 14), ("a6", 14), ("u7", 15)] {
        let sent = site.page(&format!("/api/v1/chats/long/sent?message={message}")).await;
        let sent: Value = serde_json::from_str(&sent).unwrap();
        assert_eq!(sent["report"]["number"], number, "{message}");
    }
}

#[tokio::test]
async fn a_what_if_plans_anew_and_changes_nothing() {
    let site = Site::new().await;
    long_chat(&site).await;
    let tokens = async |settings: &str| {
        let answer = site.page(&format!("/api/v1/chats/long/sent?{settings}")).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        answer["report"]["tokens"]["tokens"].as_u64().unwrap()
    };
    let whole = tokens("provider=openai").await;
    let small = tokens("provider=openai&window=6000").await;
    let none = tokens("provider=openai&window=6000&policies=none").await;
    assert!(small < whole && none == whole, "{whole} {small} {none}");
    assert_eq!(tokens("provider=openai").await, whole);
    for (settings, problem) in [
        ("provider=nobody", "provider: known providers"),
        ("provider=openai&policies=nothing", "policies: there is no policy nothing"),
        ("provider=openai&window=10&reserve=20", "window:"),
        ("number=99", "no request 99"),
        ("message=nobody", "no request of this branch followed it"),
    ] {
        let (status, body) = site.get(&format!("/api/v1/chats/long/sent?{settings}")).await;
        assert!(status == 422 && body.contains(problem), "{settings}: {status} {body}");
        // The page shows the problem beside the fields.
        let page = site.page(&format!("/chats/long/sent?{settings}")).await;
        assert!(page.contains("class=\"controls\""), "{page}");
    }
}

#[tokio::test]
async fn the_difference_names_the_place_where_the_cache_was_lost() {
    let site = Site::new().await;
    long_chat(&site).await;
    let mut lost = 0;
    for after in 2..=24 {
        let settings = format!("after={after}&provider=openai&window=6000");
        let answer = site.page(&format!("/api/v1/chats/long/sent/difference?{settings}")).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let page = site.page(&format!("/chats/long/compare?{settings}")).await;
        if answer["difference"]["cause"].is_null() {
            assert!(page.contains("and the cache holds"), "{page}");
        } else {
            lost += 1;
            assert!(page.contains("because") && page.contains("cut the history"), "{page}");
        }
    }
    assert!(lost > 0, "a window this small needs a cut");
    let bodies = site.page("/chats/long/compare/bodies?after=3&provider=openai").await;
    assert!(bodies.contains("class=\"ins\""), "{bodies}");
}

#[tokio::test]
async fn a_compaction_is_stored_by_a_button_and_taken_back_by_another() {
    let site = Site::new().await;
    long_chat(&site).await;
    let act = async |action: Value| site.post("/api/v1/chats/long/actions", action).await;
    let compact = json!({"action": "compact", "policies": ["snip", "truncate-head"], "model": "gpt-4o", "window": 6000});
    let (status, body) = act(compact).await;
    assert!(status == 200 && body.contains("Undo takes it back"), "{body}");
    let origin = async || {
        let answer = site.page("/api/v1/chats/long/sent?provider=openai&window=200000").await;
        serde_json::from_str::<Value>(&answer).unwrap()["report"]["origin"].clone()
    };
    assert_eq!(origin().await, "recorded");
    assert!(site.page("/chats/long/rows?from=30").await.contains("Compaction"));
    let marked = async || {
        let rows = site.page("/chats/long/rows?from=0&count=100").await;
        rows.matches("not sent any more").count()
    };
    assert!((1..36).contains(&marked().await), "some rows before the compaction are cut");
    let (_, body) = act(json!({"action": "undo"})).await;
    assert!(body.contains("Took the newest compaction back"), "{body}");
    assert_eq!(marked().await, 0);
}

/// The report of a request of the chat `lisbon`.
async fn report(site: &Site, number: usize) -> Value {
    let answer = site.page(&format!("/api/v1/chats/lisbon/sent?number={number}")).await;
    serde_json::from_str::<Value>(&answer).unwrap()["report"].clone()
}

#[tokio::test]
async fn a_past_request_has_the_system_prompt_of_its_time() {
    let site = Site::new().await;
    let price = |text: &str| hint(text).persisted().with_id("price");
    let mut chat = site.say("lisbon", [price("Prices are in EUR."), user("Two tickets.")]).await;
    chat.set([assistant("Window or aisle?")]).save().await.unwrap();
    chat.set([price("Prices are in USD."), user("Aisle.")]).save().await.unwrap();
    chat.set([assistant("Booked.")]).save().await.unwrap();
    let (first, second) = (report(&site, 1).await, report(&site, 2).await);
    for (report, its, other) in [(&first, "EUR", "USD"), (&second, "USD", "EUR")] {
        let body = report["body"].to_string();
        assert!(body.contains(its) && !body.contains(other), "{body}");
        assert_eq!(report["prompt_is_recorded"], true);
    }
    assert_eq!(second["prefix"]["cause"]["cause"], "system_prompt");
    let page = site.page("/chats/lisbon/sent?number=1").await;
    assert!(!page.contains("no version of the system prompt"), "{page}");
    assert!(page.contains("Memories that were recalled"), "{page}");
}

#[tokio::test]
async fn a_kept_replay_is_made_anew_when_fragments_change() {
    let site = Site::new().await;
    let price = |text: &str| hint(text).persisted().with_id("price");
    let mut chat = site.say("lisbon", [price("Prices are in EUR."), user("Two tickets.")]).await;
    assert!(report(&site, 1).await["body"].to_string().contains("EUR"));
    chat.set([price("Prices are in USD.")]).save().await.unwrap();
    // The next request has the prompt of now.
    assert!(report(&site, 1).await["body"].to_string().contains("USD"));
}
