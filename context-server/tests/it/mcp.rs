//! The tools of the Model Context Protocol, asked over HTTP as a client of it does.

mod reading;
mod wording;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::service::Api;

/// A client of a user.
struct Client<'a> {
    api: &'a Api,
    user: &'a str,
}

impl Client<'_> {
    /// Sends a request, and returns its result or its error.
    async fn ask(&self, method: &str, params: Value) -> Result<Value, Value> {
        let headers = [
            ("accept", "application/json, text/event-stream"),
            ("mcp-protocol-version", "2025-06-18"),
        ];
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answered = self.api.send(self.user, "POST", "/mcp", &headers, Some(body)).await;
        let mut answer = answered.ok();
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].take()),
        }
    }

    /// Calls a tool, and returns its text and whether it failed.
    async fn call(&self, tool: &str, arguments: Value) -> (String, bool) {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.ask("tools/call", params).await.unwrap();
        let text = result["content"][0]["text"].as_str().unwrap().to_owned();
        (text, result["isError"] == true)
    }

    async fn ok(&self, tool: &str, arguments: Value) -> String {
        let (text, failed) = self.call(tool, arguments).await;
        assert!(!failed, "{tool}: {text}");
        text
    }
}

async fn conversations(api: &Api) {
    for (chat, texts) in [
        ("trip", ["Two tickets to Lisbon on Friday.", "Window or aisle?"]),
        ("pottery", ["How hot is the kiln?", "1,240 degrees."]),
    ] {
        let messages = json!({"messages": [
            {"id": format!("{chat}-1"), "role": "user", "text": texts[0]},
            {"id": format!("{chat}-2"), "role": "assistant", "text": texts[1]},
        ]});
        api.post(&format!("/v1/chats/{chat}/messages"), messages).await.ok();
    }
}

#[tokio::test]
async fn a_client_learns_what_there_is() {
    let api = Api::new().await;
    let client = Client { api: &api, user: "ada" };
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let about = client.ask("initialize", params).await.unwrap();
    assert_eq!(about["serverInfo"]["name"], "context");
    assert!(about["instructions"].as_str().unwrap().contains("search_history"));
    let tools = client.ask("tools/list", json!({})).await.unwrap();
    let tools = tools["tools"].as_array().unwrap();
    let mut shown = String::new();
    for tool in tools {
        shown += &format!(
            "{}: {}\n",
            tool["name"].as_str().unwrap(),
            tool["description"].as_str().unwrap()
        );
        // Sorted: whether `serde_json` keeps the order of fields depends on what else is built.
        let properties: BTreeMap<_, _> =
            tool["inputSchema"]["properties"].as_object().unwrap().iter().collect();
        for (name, property) in properties {
            shown += &format!("  {name}: {}\n", property["description"].as_str().unwrap());
        }
    }
    insta::assert_snapshot!(shown);
}

#[tokio::test]
async fn an_agent_finds_an_old_conversation_and_reads_it() {
    let api = Api::new().await;
    conversations(&api).await;
    let client = Client { api: &api, user: "ada" };
    let listed = client.ok("list_chats", json!({})).await;
    assert!(listed.starts_with("pottery · 2 messages · "), "{listed}");
    let found = client.ok("search_history", json!({"query": "lisbon"})).await;
    assert!(found.starts_with("chat \"trip\" · message \"trip-1\" · #1 · user · "), "{found}");
    let read = client.ok("read_messages", json!({"chat": "trip", "first": 1, "last": 2})).await;
    assert!(read.contains("Two tickets to Lisbon on Friday.") && read.contains("Window or aisle?"));
    assert_eq!(client.ok("read_messages", json!({"chat": "trip"})).await, read, "the newest ones");
    let one = client.ok("read_messages", json!({"chat": "trip", "message": "trip-2"})).await;
    assert!(one.contains("#2 · message \"trip-2\" · assistant · "), "{one}");
    assert!(one.ends_with("Window or aisle?"), "{one}");
    let rest =
        client.ok("read_messages", json!({"chat": "trip", "message": "trip-2", "offset": 10}));
    assert!(rest.await.ends_with("aisle?"));
    let (none, failed) = client.call("read_messages", json!({"chat": "trip", "first": 9})).await;
    assert!(failed && none.contains("numbered from 1 to 2"), "{none}");
    let (none, failed) = client.call("read_messages", json!({"chat": "nothing"})).await;
    assert!(failed && none.contains("nothing"), "{none}");
    let nobody = client.ok("search_history", json!({"query": "zeppelin"})).await;
    assert!(nobody.contains("try the beginning of a word"), "{nobody}");
}

#[tokio::test]
async fn an_agent_remembers_recalls_and_forgets() {
    let api = Api::new().await;
    let client = Client { api: &api, user: "ada" };
    client.ok("remember", json!({"text": "Ada flies from Lisbon only."})).await;
    let recalled = client.ok("recall", json!({"query": "From which airport, Lisbon?"})).await;
    assert!(recalled.contains("  Ada flies from Lisbon only."), "{recalled}");
    let (_, id) = recalled.split_once("id ").unwrap();
    let id: String = serde_json::Deserializer::from_str(id).into_iter().next().unwrap().unwrap();
    let forget = json!({"id": id});
    let other = Client { api: &api, user: "bob" };
    assert!(other.call("forget", forget.clone()).await.1, "it is not his");
    let forgotten = client.ok("forget", forget).await;
    assert!(forgotten.starts_with("The memory is removed."), "{forgotten}");
    assert!(!forgotten.contains("still has"), "no chat has the text: {forgotten}");
    let none = client.ok("recall", json!({"query": "Lisbon"})).await;
    assert!(none.contains("Nothing is remembered"), "{none}");
}

#[tokio::test]
async fn an_agent_forks_looks_at_the_window_and_compacts() {
    let api = Api::new().await;
    let long: Vec<_> = (0..400)
        .map(|at| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "text": format!("{at} {}", "word ".repeat(200))}))
        .collect();
    api.post("/v1/chats/long/messages", json!({"messages": long})).await.ok();
    let client = Client { api: &api, user: "ada" };
    client.ok("fork", json!({"chat": "long", "to": "copy"})).await;
    let status = json!({"chat": "copy", "model": "claude-sonnet-4-5"});
    let before = client.ok("context_status", status.clone()).await;
    assert!(before.contains("messages: 94,"), "{before}");
    let compacted = client
        .ok("compact", json!({"chat": "copy", "model": "claude-sonnet-4-5", "window": 40_000}));
    let compacted = compacted.await;
    assert!(compacted.ends_with("`context compact --undo -- copy` takes it back."), "{compacted}");
    assert_ne!(client.ok("context_status", status).await, before);
    let (refused, failed) = client.call("fork", json!({"chat": "long", "to": "copy"})).await;
    assert!(failed, "{refused}");
}

#[tokio::test]
async fn chats_and_runs_are_resources() {
    let api = Api::new().await;
    conversations(&api).await;
    let client = Client { api: &api, user: "ada" };
    let listed = client.ask("resources/list", json!({})).await.unwrap();
    assert_eq!(listed["resources"][1]["uri"], "context://chats/trip");
    let templates = client.ask("resources/templates/list", json!({})).await.unwrap();
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "context://chats/{chat}");
    let begun = json!({"ref": {"type": "ref/resource", "uri": "context://chats/{chat}"},
        "argument": {"name": "chat", "value": "tr"}});
    let completed = client.ask("completion/complete", begun).await.unwrap();
    assert_eq!(completed["completion"]["values"], json!(["trip"]));
    let read = client.ask("resources/read", json!({"uri": "context://chats/trip"})).await.unwrap();
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"trip-1\" · user") && text.contains("Window or aisle?"), "{text}");
    for uri in [
        "context://chats/none",
        "context://chats/",
        "context://chats/trip/x",
        "file:///etc/passwd",
        "context://chats/none/rounds",
        "context://chats/%zz",
    ] {
        let error = client.ask("resources/read", json!({"uri": uri})).await.unwrap_err();
        assert!(error["message"].as_str().unwrap().contains("no such resource"), "{uri}: {error}");
    }
    let unrecorded = json!({"uri": "context://chats/trip/rounds"});
    let error = client.ask("resources/read", unrecorded).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("import --trajectory"), "{error}");
    let other = Client { api: &api, user: "bob" };
    assert_eq!(other.ask("resources/list", json!({})).await.unwrap()["resources"], json!([]));
    other.ask("resources/read", json!({"uri": "context://chats/trip"})).await.unwrap_err();
}

#[tokio::test]
async fn every_answer_is_bounded() {
    let api = Api::new().await;
    let text = "x".repeat(200_000);
    let messages = json!({"messages": [{"id": "m1", "role": "user", "text": text}]});
    api.post("/v1/chats/big/messages", messages).await.ok();
    let client = Client { api: &api, user: "ada" };
    let whole = client.ok("read_messages", json!({"chat": "big", "message": "m1"})).await;
    assert!(whole.len() < 50_000 && whole.contains("go on with offset 40000"), "{}", whole.len());
    let rest = json!({"chat": "big", "message": "m1", "offset": 199_990});
    assert!(client.ok("read_messages", rest).await.ends_with(&"x".repeat(10)));
    for (tool, arguments) in [
        ("read_messages", json!({"chat": "big", "first": 1})),
        ("search_history", json!({"query": "x"})),
    ] {
        assert!(client.call(tool, arguments).await.0.len() < 50_000, "{tool}");
    }
    let long = client.ask("resources/read", json!({"uri": "context://chats/big"})).await.unwrap();
    assert!(long["contents"][0]["text"].as_str().unwrap().len() < 50_000);
}

#[tokio::test]
async fn wrong_arguments_are_named() {
    let api = Api::new().await;
    let client = Client { api: &api, user: "ada" };
    for (arguments, said) in [
        (json!({}), "missing field `query`"),
        (json!({"query": "x", "user": "bob"}), "unknown field `user`"),
    ] {
        let params = json!({"name": "search_history", "arguments": arguments});
        let said_so = match client.ask("tools/call", params).await {
            Ok(result) => result.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(said_so.contains(said), "{said_so}");
    }
    let unknown = client.ask("tools/call", json!({"name": "explode", "arguments": {}})).await;
    assert!(unknown.is_err() || unknown.unwrap()["isError"] == true);
}
