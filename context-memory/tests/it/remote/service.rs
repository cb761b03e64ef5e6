//! Requests that the service refuses.

use std::sync::Arc;

use async_trait::async_trait;
use context_core::memory::{
    CapturedTurn, MemoriesForgotten, MemoryForget, MemoryScope, RecallQuery, Recalled,
    RecalledMemory,
};
use context_core::{CancelSignal, MemoryProvider, Result};
use context_memory::Episodic;
use context_memory::remote::{KeyFor, MemoryService, ServiceRequest};
use context_store_inmem::InMemoryStore;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::never;

fn service() -> MemoryService {
    let provider = Episodic::new(Arc::new(InMemoryStore::default())).unwrap();
    MemoryService::new(Arc::new(provider), "test")
        .key("key-of-one", KeyFor::User("ada".into()))
        .key("all", KeyFor::AllUsers)
        .key(" ", KeyFor::AllUsers)
}

async fn ask(
    service: &MemoryService,
    method: &str,
    path: &str,
    key: Option<&str>,
    body: &[u8],
) -> (u16, Value) {
    let reply = service.answer(ServiceRequest::new(method, path, key, body), &never()).await;
    (reply.status, serde_json::from_slice(&reply.body).unwrap())
}

#[tokio::test]
async fn a_request_that_might_mean_less_is_refused() {
    let service = service();
    for (path, body, status) in [
        ("/v1/recall", json!({"scope": {"user": "ada"}, "text": "x"}), 200),
        ("/v1/recall", json!({"scope": {"user": "ada", "team": "t"}, "text": "x"}), 400),
        ("/v1/recall", json!({"scope": {"user": "ada"}, "text": "x", "kinds": ["note"]}), 400),
        ("/v1/recall", json!({"scope": {"user": ""}, "text": "x"}), 400),
        ("/v1/recall", json!({"text": "x"}), 400),
        ("/v1/recall", json!({"scope": {"user": "bob"}, "text": "x"}), 403),
        ("/v1/flush", json!({}), 200),
        ("/v1/flush", json!({"scope": {"user": "ada"}}), 400),
        ("/v1/forget", json!({"scope": {"user": "ada"}}), 400),
        ("/v1/forget", json!({"scope": {"user": "ada"}, "all": false}), 400),
        ("/v1/forget", json!({"scope": {"user": "ada"}, "all": true, "ids": ["x"]}), 400),
        (
            "/v1/forget",
            json!({"scope": {"user": "ada"}, "source": {"session": "s", "before": 3}}),
            400,
        ),
        ("/v1/forget", json!({"scope": {"user": "bob"}, "all": true}), 403),
        ("/v1/forget", json!({"scope": {"user": "ada"}, "ids": ["x"]}), 200),
        ("/v1/forget", json!({"scope": {"user": "ada"}, "ids": [""]}), 400),
        ("/v2/recall", json!({}), 404),
        ("/v1/info", json!({}), 405),
    ] {
        let (answered, said) =
            ask(&service, "POST", path, Some("bearer key-of-one"), body.to_string().as_bytes())
                .await;
        assert_eq!(answered, status, "{path} {body} {said}");
        assert_eq!(said.get("error").is_some(), status != 200);
    }
    for key in [
        None,
        Some(""),
        Some("Bearer"),
        Some("Bearer "),
        Some("Basic key-of-one"),
        Some("Bearer two"),
    ] {
        assert_eq!(ask(&service, "GET", "/v1/info", key, b"").await.0, 401);
    }
    assert_eq!(
        ask(&service, "GET", "/v1/info", Some("Bearer all"), b"").await,
        (200, json!({"name": "test", "protocol": 1}))
    );
    let long = vec![b' '; MemoryService::MAX_BODY_BYTES + 1];
    assert_eq!(ask(&service, "POST", "/v1/flush", Some("Bearer all"), &long).await.0, 413);
    assert!(!format!("{service:?}").contains("key-of-one"));
}

/// A provider that gives every user the memories of Bob.
#[derive(Debug)]
struct WrongUserProvider;

#[async_trait]
impl MemoryProvider for WrongUserProvider {
    async fn recall(&self, _query: &RecallQuery, _cancel: &CancelSignal) -> Result<Recalled> {
        let mut memory = RecalledMemory::new("note", "hush");
        memory.scope = Some(MemoryScope::new("bob"));
        Ok(Recalled::new(vec![memory]))
    }

    async fn capture(&self, _turn: &CapturedTurn, _cancel: &CancelSignal) -> Result<()> {
        Ok(())
    }

    async fn forget(&self, _forget: &MemoryForget) -> Result<MemoriesForgotten> {
        Ok(MemoriesForgotten::default())
    }
}

#[tokio::test]
async fn a_provider_that_mixes_up_scopes_is_not_passed_on() {
    let service =
        MemoryService::new(Arc::new(WrongUserProvider), "mixed").key("all", KeyFor::AllUsers);
    let body = json!({"scope": {"user": "ada"}, "text": "x"}).to_string();
    let (status, said) =
        ask(&service, "POST", "/v1/recall", Some("Bearer all"), body.as_bytes()).await;
    assert_eq!(status, 500);
    assert!(!said.to_string().contains("hush"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None,
        ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered(
        path in "/v1/(recall|capture|flush|forget|info|x)", method in "(GET|POST|PUT)",
        text in "\\PC{0,20}", bytes in proptest::collection::vec(any::<u8>(), 0..40),
            cut in 0..200_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let message = json!({"id": &text, "message": {"parts": [{"text": &text, "type": "text"}], "role": "user"}});
        let good = json!({"at": 3, "messages": [message], "scope": {"session": "s", "user": &text}, "turn": &text}).to_string();
        let cut: String = good.chars().take(cut).collect();
        for body in [&bytes[..], good.as_bytes(), cut.as_bytes()] {
            let (status, said) = runtime.block_on(ask(&service(), &method, &path,
                Some("Bearer all"), body));
            prop_assert!(matches!(status, 200 | 400 | 404 | 405), "{status} {said}");
        }
    }
}
