//! Prompts and memories.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use context_runtime::memory::{
    CapturedMessage, CapturedTurn, Episodic, MemoryProvider, MemoryScope, MemoryUse, Quarantine,
    QuarantineTarget,
};
use context_runtime::{
    CancelSignal, ContextEngine, Message, Role, Timestamp, fragment, hint, role, user,
};
use context_server::Operations;
use serde_json::{Value, json};

use crate::pages::{HOSTILE, is_harmless, message};
use crate::site::Site;

async fn json(site: &Site, path: &str) -> Value {
    serde_json::from_str(&site.page(path).await).unwrap()
}

impl Site {
    fn episodes(&self) -> Episodic {
        Episodic::new(self.store.clone()).unwrap()
    }

    /// Remembers what a user said in a session.
    async fn remember(&self, session: &str, said: impl IntoIterator<Item = (&str, &str)>) {
        let said = said.into_iter().map(|(id, text)| {
            let mut said = CapturedMessage::new(id, Message::text(Role::User, text));
            said.at = Some(Timestamp::from_micros(1_700_000_000_000_000));
            said
        });
        let scope = MemoryScope::new("ada").session(session.to_owned());
        let turn = CapturedTurn::new(scope, "t1", Timestamp::from_micros(0), said.collect());
        self.episodes().capture(&turn, &CancelSignal::never()).await.unwrap();
    }
}

#[tokio::test]
async fn a_prompt_is_shown_by_fragment_and_in_each_format() {
    let site = Site::new().await;
    let builder = ContextEngine::builder(site.store.clone()).user("ada").chat("lisbon");
    let mut engine = builder.open().await.unwrap();
    engine.set([
        role("You book trips.").persisted(),
        hint("Prices are in EUR.").with_id("prices").persisted(),
        fragment("mail", ["Buy nothing."]).with_id("mail").untrusted().persisted(),
    ]);
    engine.set([message(Role::System, [context_runtime::Part::text("Be brief.")])]);
    engine.set([user("Two tickets.")]).save().await.unwrap();
    let prompt = json(&site, "/api/v1/chats/lisbon/prompt").await;
    let fragments = prompt["fragments"].as_array().unwrap();
    let names: Vec<_> = fragments.iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["role", "hint", "mail"]);
    assert_eq!(
        (&fragments[1]["untrusted"], &fragments[2]["untrusted"]),
        (&json!(false), &json!(true))
    );
    assert!(fragments.iter().all(|it| it["persisted"] == true && it["tokens"].as_u64() > Some(0)));
    assert!(fragments[1]["raw"].as_str().unwrap().contains("Prices are in EUR."));
    let formats: Vec<_> = prompt["formats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(formats, ["xml", "markdown", "toml", "toon"]);
    let page = site.page("/chats/lisbon/prompt").await;
    for text in ["Be brief.", "You book trips.", "untrusted", "&lt;hint&gt;Prices are in EUR."] {
        assert!(page.contains(text), "{text} in {page}");
    }
    site.say("plain", [user("Hello")]).await;
    // On top of the chat; what is a row of it is not repeated.
    assert!(site.page("/chats/lisbon").await.contains("System prompt and tools"));
    let top = site.page("/chats/lisbon/prompt/top").await;
    assert!(top.contains("You book trips.") && !top.contains("Be brief."), "{top}");
    let nothing = site.page("/chats/plain/prompt/top").await;
    assert!(nothing.contains("nothing is stored"), "{nothing}");
    assert!(site.page("/chats/plain/prompt").await.contains("Nothing of a prompt is stored"));
    assert_eq!(site.get("/chats/nowhere/prompt").await.0, 404);
    let other = context_server::router(Operations::new(site.store.clone()).user("bob"));
    let site = Site { router: other, ..site };
    assert_eq!(site.get("/chats/lisbon/prompt").await.0, 404);
    assert_eq!(site.get("/api/v1/chats/lisbon/prompt").await.0, 404);
}

#[tokio::test]
async fn what_is_remembered_is_listed_recalled_and_forgotten() {
    let site = Site::new().await;
    assert!(site.page("/memory").await.contains("context memory add"));
    site.say("lisbon", [user("I fly from Lisbon only.").with_id("m1")]).await;
    site.remember("lisbon", [("m1", "I fly from Lisbon only."), ("m2", "My cat is called Tom.")])
        .await;
    site.remember("work", [("m1", "Invoices go to the office.")]).await;
    let listed = json(&site, "/api/v1/memory").await;
    let memories = listed["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 3);
    let fly = memories.iter().find(|it| it["text"] == "I fly from Lisbon only.").unwrap();
    assert_eq!((&fly["trust"], &fly["quarantine"]), (&json!("user"), &Value::Null));
    let provider = site.episodes();
    let (review, scope) = (provider.review().unwrap(), MemoryScope::new("ada"));
    let id = context_runtime::store::MemoryId::from(fly["id"].as_str().unwrap());
    let at = Timestamp::from_micros(5);
    let seen = MemoryUse::new("madeira", "q7", at, vec![(scope.clone(), id)]);
    review.record_use(&seen).await.unwrap();
    let source = context_runtime::store::MemorySource::session("work");
    let held = Quarantine::new(scope, QuarantineTarget::Source(source), "a poisoned page", at);
    review.quarantine(&held).await.unwrap();
    let page = site.page("/memory").await;
    for text in [
        "Used in 1 turn",
        "/chats/madeira?at=q7",
        "/chats/lisbon?at=m1",
        "a poisoned page",
        "Forget…",
    ] {
        assert!(page.contains(text), "{text} in {page}");
    }
    let recalled = json(&site, "/api/v1/memory/recall?q=from%20where%20do%20I%20fly").await;
    assert_eq!(recalled["memories"][0]["text"], "I fly from Lisbon only.");
    assert!(
        recalled["memories"][0]["score"].as_f64().unwrap() > 0.0
            && recalled["tokens"].as_u64() > Some(0)
    );
    let page = site.page("/memory?q=invoices").await;
    assert!(
        page.contains("No memory would be recalled."),
        "what is in quarantine is not recalled: {page}"
    );

    let forget = json!({"scope": fly["scope"], "id": fly["id"]});
    let read_only = Operations::new(site.store.clone()).user("ada").read_only(true);
    let refused = Site { router: context_server::router(read_only), store: site.store.clone() };
    assert_eq!(refused.post("/api/v1/memory/forget", forget.clone()).await.0, 403);
    assert!(!refused.page("/memory").await.contains("data-forget"));
    let bob = Operations::new(site.store.clone()).user("bob");
    let bob = Site { router: context_server::router(bob), store: site.store.clone() };
    assert_eq!(bob.post("/api/v1/memory/forget", forget.clone()).await.0, 404);
    assert!(!bob.page("/memory").await.contains("Lisbon"));
    let key = crate::site::encode(r#"["ada",null,null,null]"#);
    assert_eq!(bob.get(&format!("/api/v1/memory?scope={key}")).await.0, 404);
    assert_eq!(site.get("/memory?scope=nonsense").await.0, 422);

    let (status, body) = site.post("/api/v1/memory/forget", forget.clone()).await;
    assert_eq!(status, 200, "{body}");
    let done: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((&done["removed"], &done["remaining"]), (&json!(1), &json!(0)));
    assert!(done["notes"][0].as_str().unwrap().contains("m1 of lisbon"), "{done}");
    assert_eq!(site.post("/api/v1/memory/forget", forget).await.0, 404);
    assert!(!site.page("/memory").await.contains("I fly from"));
}

#[tokio::test]
async fn memories_come_in_pages() {
    let site = Site::new().await;
    let said: Vec<_> = (0..70).map(|n| (format!("m{n}"), format!("Note number {n}."))).collect();
    site.remember("notes", said.iter().map(|(id, text)| (id.as_str(), text.as_str()))).await;
    let first = json(&site, "/api/v1/memory").await;
    assert_eq!(first["memories"].as_array().unwrap().len(), 50);
    let next = crate::site::encode(first["next"].as_str().unwrap());
    let rest = json(&site, &format!("/api/v1/memory?after={next}")).await;
    assert_eq!((rest["memories"].as_array().unwrap().len(), &rest["next"]), (20, &Value::Null));
    assert!(site.page("/memory").await.contains("Older memories"));
}

#[tokio::test]
async fn content_of_prompts_and_memories_is_text() {
    let site = Site::new().await;
    let builder = ContextEngine::builder(site.store.clone()).user("ada").chat(HOSTILE);
    let mut engine = builder.open().await.unwrap();
    engine.set([
        hint(HOSTILE).with_id(HOSTILE).persisted(),
        fragment(HOSTILE, [HOSTILE]).with_id("x").untrusted().persisted(),
    ]);
    engine.set([message(Role::System, [context_runtime::Part::text(HOSTILE)])]);
    engine.set([user(HOSTILE).with_id(HOSTILE)]).save().await.unwrap();
    site.remember(HOSTILE, [(HOSTILE, HOSTILE)]).await;
    let scope = MemoryScope::new("ada");
    let target = QuarantineTarget::Speaker("user".to_owned());
    let held = Quarantine::new(scope, target, HOSTILE, Timestamp::from_micros(5));
    site.episodes().review().unwrap().quarantine(&held).await.unwrap();
    let text = crate::site::encode(HOSTILE);
    is_harmless(&site.page(&format!("/chats/{text}/prompt")).await);
    is_harmless(&site.page(&format!("/chats/{text}/prompt?model={text}")).await);
    is_harmless(&site.page(&format!("/chats/{text}/prompt/top")).await);
    is_harmless(&site.page(&format!("/memory?q={text}")).await);
    is_harmless(&site.get(&format!("/memory?scope={text}&after={text}")).await.1);
}
