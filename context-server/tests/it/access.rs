//! Requests that are let in and requests that are not.

use axum::body::Body;
use axum::http::{Request, StatusCode};
use context_server::{Access, Operations, router_with};
use tower::ServiceExt;

use crate::site::Site;

async fn status(site: &Site, request: Request<Body>) -> StatusCode {
    site.ask(request).await.0
}

fn get(host: &str) -> axum::http::request::Builder {
    Request::get("/").header("host", host)
}

#[tokio::test]
async fn names_of_other_hosts_are_refused() {
    let site = Site::new().await;
    for host in ["localhost", "localhost:80", "LOCALHOST:1", "127.0.0.1:9", "[::1]:9", "[::1]"] {
        assert_eq!(status(&site, get(host).body(Body::empty()).unwrap()).await, 200, "{host}");
    }
    for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "", "::1"] {
        assert_eq!(status(&site, get(host).body(Body::empty()).unwrap()).await, 403, "{host}");
    }
    let without = Request::get("/").body(Body::empty()).unwrap();
    assert_eq!(status(&site, without).await, 403);
}

#[tokio::test]
async fn changes_from_pages_of_other_sites_are_refused() {
    let site = Site::new().await;
    site.say("lisbon", [context_runtime::user("Two tickets.").with_id("m1")]).await;
    let act = |headers: &[(&str, &str)]| {
        let mut request =
            Request::post("/api/v1/chats/lisbon/actions").header("host", "localhost:1");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = r#"{"action": "checkpoint", "message": "m1", "name": "here"}"#;
        request.header("content-type", "application/json").body(Body::from(body)).unwrap()
    };
    for origin in ["http://evil.example", "null", "http://localhost:2", "http://localhost"] {
        assert_eq!(status(&site, act(&[("origin", origin)])).await, 403, "{origin}");
    }
    assert_eq!(status(&site, act(&[("sec-fetch-site", "cross-site")])).await, 403);
    assert_eq!(status(&site, act(&[("origin", "http://localhost:1")])).await, 200);
    // A form of another site cannot send JSON.
    let mut form = act(&[]);
    form.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(status(&site, form).await, 415);
}

#[tokio::test]
async fn a_token_becomes_a_cookie_and_leaves_the_address() {
    let store = context_runtime::open("mem:").await.unwrap();
    let router = router_with(Operations::new(store), Access::loopback().token("s3cret"));
    let ask = async |path: &str, cookie: Option<&str>| {
        let mut request = Request::get(path).header("host", "127.0.0.1:7");
        if let Some(cookie) = cookie {
            request = request.header("cookie", cookie);
        }
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    };
    assert_eq!(ask("/", None).await.status(), 401);
    assert_eq!(ask("/?token=wrong", None).await.status(), 401);
    assert_eq!(ask("/assets/page.css", None).await.status(), 401);
    assert_eq!(ask("/", Some("context-7=wrong")).await.status(), 401);
    assert_eq!(ask("/", Some("context-8=s3cret")).await.status(), 401);
    let first = ask("/search?q=a%20b&token=s3cret", None).await;
    assert_eq!(first.status(), 303);
    assert_eq!(first.headers()["location"], "/search?q=a%20b");
    let cookie = first.headers()["set-cookie"].to_str().unwrap();
    assert_eq!(cookie, "context-7=s3cret; Path=/; HttpOnly; SameSite=Strict");
    let then = ask("/", Some("other=1; context-7=s3cret")).await;
    assert_eq!(then.status(), 200);
    let policy = then.headers()["content-security-policy"].to_str().unwrap();
    assert!(
        policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"),
        "{policy}"
    );
    assert_eq!(then.headers()["cache-control"], "no-store");
}

#[tokio::test]
async fn a_read_only_inspector_changes_nothing() {
    let site = Site::new().await;
    site.say("lisbon", [context_runtime::user("Two tickets.").with_id("m1")]).await;
    let operations = Operations::new(site.store.clone()).user("ada").read_only(true);
    let site = Site { router: context_server::router(operations), ..site };
    let action = serde_json::json!({"action": "redact", "message": "m1"});
    let (status, body) = site.post("/api/v1/chats/lisbon/actions", action).await;
    assert_eq!(status, 403);
    assert!(body.contains("read-only"), "{body}");
    assert!(site.page("/chats/lisbon").await.contains("Two tickets."));
    let mut engine = site.say("lisbon", [context_runtime::user("By train.")]).await;
    engine.rewind(&"m1".into()).await.unwrap();
    let page = site.page("/chats/lisbon/branches").await;
    assert!(page.contains("main-v2") && !page.contains("data-act"), "{page}");
}

#[tokio::test]
async fn chats_of_other_users_do_not_exist() {
    let site = Site::new().await;
    site.say("lisbon", [context_runtime::user("Two tickets.").with_id("m1")]).await;
    let other = context_server::router(Operations::new(site.store.clone()).user("bob"));
    let site = Site { router: other, ..site };
    let mut answers = Vec::new();
    for path in ["", "/rows", "/branches"] {
        answers.push(site.get(&format!("/chats/lisbon{path}")).await.0);
    }
    for path in
        ["", "/facts", "/messages", "/messages/m1", "/outline", "/failures", "/tree", "/events"]
    {
        answers.push(site.get(&format!("/api/v1/chats/lisbon{path}")).await.0);
    }
    assert!(answers.iter().all(|status| *status == 404), "{answers:?}");
}

#[tokio::test]
async fn the_address_after_the_token_keeps_its_path_and_its_host() {
    let store = context_runtime::open("mem:").await.unwrap();
    let inspector = router_with(Operations::new(store), Access::loopback().token("s3cret"));
    let mounted = axum::Router::new().nest("/inspector", inspector.clone());
    let location = async |router: &axum::Router, path: &str| {
        let request = Request::get(path).header("host", "127.0.0.1:7").body(Body::empty()).unwrap();
        let answer = router.clone().oneshot(request).await.unwrap();
        assert_eq!(answer.status(), 303, "{path}");
        answer.headers()["location"].to_str().unwrap().to_owned()
    };
    let to = location(&mounted, "/inspector/chats/lisbon?token=s3cret&branch=main").await;
    assert_eq!(to, "/inspector/chats/lisbon?branch=main");
    for path in ["//evil.example/?token=s3cret", "///evil.example?token=s3cret"] {
        let to = location(&inspector, path).await;
        assert!(to.starts_with("/evil.example"), "{path} leads to {to}");
    }
}
