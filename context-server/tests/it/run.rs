//! The run of a chat: its steps in four views.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;

use context_runtime::model::{Answer, Usage};
use context_runtime::trajectory::{
    AgentRef, Changes, Measures, NewNode, NewQuery, NodeBody, OpenOptions, RecordedMessage, Step,
    StepCall, Trajectories,
};
use context_runtime::{Message, Part, Role, Timestamp, assistant, user};
use serde_json::{Value, json};

use crate::pages::{HOSTILE, is_harmless, message};
use crate::site::Site;

impl Site {
    fn trajectories(&self) -> Trajectories {
        Trajectories::builder(Arc::clone(&self.store)).build().unwrap()
    }

    async fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.page(path).await).unwrap()
    }

    async fn lines(&self, chat: &str, query: &str) -> Vec<Value> {
        let lines = self.json(&format!("/api/v1/chats/{chat}/run/lines?{query}")).await;
        lines["lines"].as_array().unwrap().clone()
    }
}

/// Returns what a reader sees of lines: indentation, kind, text, state.
fn read(lines: &[Value]) -> Vec<String> {
    let line = |line: &Value| {
        let indent = "  ".repeat(line["depth"].as_u64().unwrap() as usize);
        let kind = line["tool"].as_str().or(line["kind"].as_str()).unwrap();
        let (text, state) = (line["text"].as_str().unwrap(), line["state"].as_str().unwrap());
        format!("{indent}{kind} {text} [{state}]")
    };
    lines.iter().map(line).collect()
}

/// Records a run with a failure, data, a sub-agent and times.
async fn trip(site: &Site) {
    site.say("trip", [user("Where is it warm?").with_id("m1")]).await;
    let trajectories = site.trajectories();
    let main = AgentRef::main("ada", "trip");
    let round = trajectories.begin(&main).await.unwrap();
    let ask = Message::from("Where is it warm?");
    round.record(RecordedMessage::new(&ask).link("trip", "m1")).await.unwrap();
    let at = Timestamp::from_micros;
    let mut measures = Measures::of_usage(&Usage::new(1200, 40));
    (measures.started_at, measures.ended_at) = (Some(at(1_000_000)), Some(at(3_500_000)));
    (measures.cost_usd, measures.model) = (Some(0.25), Some("model-1".into()));
    let step = Step::new("I look it up.").measure(measures);
    let step = step.call(StepCall::new("c1", "weather", json!({"month": 3})));
    let step = step.call(StepCall::new("c2", "delegate", json!({"to": "maps"})));
    round.step(step).await.unwrap();
    round.tool_result("c1", json!("no such month"), false).await.unwrap();
    let call = round.action_of_call("c2").unwrap();
    let table = NodeBody::knowledge("climate", "Madeira: 18 degrees");
    let table = round.add(NewNode::new(table, [call]).append()).await.unwrap();
    let sub = trajectories.open_sub_agent(&round, call, OpenOptions::new()).await.unwrap();
    sub.ask(NewQuery::new("Draw a map of Madeira.")).await.unwrap();
    sub.step(Step::new("Here it is.")).await.unwrap();
    sub.finish().await.unwrap();
    round.tool_result("c2", json!({"map": "…"}), true).await.unwrap();
    let mut answer = Answer::new(Message::text(Role::Assistant, "On Madeira."));
    answer.usage = Some(Usage::new(1300, 8));
    round.record(RecordedMessage::of_answer(&answer)).await.unwrap();
    round.refer(round.action_of_call("c1").unwrap(), table).await.unwrap();
    let answered = round.round().nodes().last().unwrap().id;
    round.change(answered, &Changes::new().describe("Names the island.")).await.unwrap();
    round.finish().await.unwrap();
}

#[tokio::test]
async fn a_recorded_run_is_a_list_with_sub_agents_below_their_step() {
    let site = Site::new().await;
    trip(&site).await;
    let run = site.json("/api/v1/chats/trip/run").await;
    assert_eq!(
        (&run["origin"], &run["rounds"], &run["agents"]),
        (&json!("recorded"), &json!(2), &json!(2))
    );
    assert_eq!(run["blocks"], json!([8]));
    let lines = site.lines("trip", "").await;
    insta::assert_snapshot!(read(&lines).join("\n"));
    assert_eq!(lines[1]["input_tokens"], 1200);
    assert_eq!(lines[1]["duration"], 2_500_000);
    assert_eq!(lines[1]["bar"], json!([0.0, 1.0]));
    // Nobody recorded a cost or a time of the answer, and no zero stands for them.
    assert_eq!((&lines[7]["cost_usd"], &lines[7]["bar"]), (&Value::Null, &Value::Null));
    assert_eq!(site.json("/api/v1/chats/trip/run/failure?from=0").await, 2);
    assert_eq!(site.json("/api/v1/chats/trip/run/failure?from=3").await, Value::Null);
    assert_eq!(site.json("/api/v1/chats/trip/run/failure?from=7&back=true").await, 2);
    for view in ["list", "waterfall", "graph", "provenance"] {
        let page = site.page(&format!("/chats/trip/run?view={view}&node=0:0.2")).await;
        assert!(page.contains("aria-current=\"page\""), "{view}");
    }
}

#[tokio::test]
async fn a_step_is_shown_in_full_with_the_steps_around_it() {
    let site = Site::new().await;
    trip(&site).await;
    let page = site.page("/chats/trip/run?node=0:0.2").await;
    for text in
        ["weather", "no such month", "call failed", "data-line=\"2\"", "No times, tokens or cost"]
    {
        assert!(page.contains(text), "{text} in {page}");
    }
    let delegate = site.page("/chats/trip/run/step?node=0:0.3").await;
    assert!(
        delegate.contains("Draw a map of Madeira.") && delegate.contains("1:0.0"),
        "{delegate}"
    );
    let called = site.json("/api/v1/chats/trip/run/step?node=1:0.0").await;
    assert_eq!(called["caller"]["node"], "0:0.3");
    let data = site.json("/api/v1/chats/trip/run/step?node=0:0.4").await;
    assert_eq!(data["read_by"][0]["text"], "weather");
    let answer = site.page("/chats/trip/run/step?node=0:0.5").await;
    assert!(
        answer.contains("Names the island.") && answer.contains("1 earlier version"),
        "{answer}"
    );
    let of_message = site.page("/chats/trip/run?message=m1").await;
    assert!(of_message.contains("data-node=\"0:0.0\""), "{of_message}");
    for (path, status) in [
        ("?node=0:7.0", 404),
        ("?node=9:0.0", 404),
        ("?node=nonsense", 422),
        ("?node=-1:0.0", 422),
        ("?view=provenance&message=nowhere", 404),
        ("/step", 422),
        ("?view=other&message=", 200),
    ] {
        assert_eq!(site.get(&format!("/chats/trip/run{path}")).await.0, status, "{path}");
    }
    assert_eq!(site.get("/chats/nowhere/run").await.0, 404);
}

#[tokio::test]
async fn a_round_is_drawn_with_its_data_and_dead_branches() {
    let site = Site::new().await;
    trip(&site).await;
    let graph = site.json("/api/v1/chats/trip/run/graph").await;
    let boxes = graph["boxes"].as_array().unwrap();
    let of = |kind: &str| boxes.iter().filter(|one| one["kind"] == kind).count();
    assert_eq!((of("step"), of("data"), of("agent")), (5, 1, 1));
    assert_eq!(
        graph["edges"].as_array().unwrap().iter().filter(|it| it["reference"] == true).count(),
        1
    );
    // Two calls of one step stand side by side.
    let calls: Vec<_> =
        boxes.iter().filter(|it| it["name"] == "weather" || it["name"] == "delegate").collect();
    assert!(calls[0]["y"] == calls[1]["y"] && calls[0]["x"] != calls[1]["x"], "{calls:?}");

    site.say("dead", [user("Try.")]).await;
    let round = site.trajectories().begin(&AgentRef::main("ada", "dead")).await.unwrap();
    let query = round.ask(NewQuery::new("Try.")).await.unwrap();
    let given_up = NewNode::new(NodeBody::state("A dead end"), [query]);
    round.add(given_up).await.unwrap();
    round.add(NewNode::new(NodeBody::response("Done"), [query])).await.unwrap();
    round.finish().await.unwrap();
    let page = site.page("/chats/dead/run?view=graph").await;
    assert!(page.contains("class=\"box step done\"") && page.contains("<svg"), "{page}");
}

#[tokio::test]
async fn a_chat_that_nobody_recorded_has_a_run_of_its_messages() {
    let site = Site::new().await;
    let call = Part::tool_call("c1", "get_reservation", json!({"reservation_id": "EHGLP3"}));
    let engine = site
        .say(
            "lisbon",
            [
                user("Cancel EHGLP3.").with_id("m1"),
                message(Role::Assistant, [call]).with_id("m2"),
                message(Role::Tool, [Part::tool_result("c1", r#"{"cabin":"basic_economy"}"#)])
                    .with_id("m3"),
                assistant("It is in basic_economy.").with_id("m4"),
            ],
        )
        .await;
    drop(engine);
    let page = site.page("/chats/lisbon/run").await;
    assert!(page.contains("made from the messages"), "{page}");
    let lines = site.lines("lisbon", "").await;
    insta::assert_snapshot!(read(&lines).join("\n"));
    assert_eq!(lines[2]["message"], "m2");
    let page = site.page("/chats/lisbon/run?view=provenance&message=m4").await;
    assert!(page.contains("<mark>basic_economy</mark>") && page.contains("result of"), "{page}");
    let uses = site.json("/api/v1/chats/lisbon/run/provenance?message=m3").await;
    assert_eq!(uses["uses"][0]["answer"], "m4");
    // A chat that grew has a new run.
    site.say("lisbon", [user("Thanks.").with_id("m5")]).await;
    assert_eq!(site.lines("lisbon", "").await.len(), lines.len() + 1);
    site.say::<context_runtime::Fragment>("empty", []).await;
    site.say("empty", [user("One").with_id("e1")]).await;
    assert!(site.page("/chats/empty/run").await.contains("1 step"));
}

#[tokio::test]
async fn thousands_of_rounds_are_read_in_pages() {
    let site = Site::new().await;
    site.say("long", [user("Begin.")]).await;
    let trajectories = site.trajectories();
    let agent = AgentRef::main("ada", "long");
    for number in 0..2_000 {
        let round = trajectories.open(&agent.round(number), OpenOptions::new()).await.unwrap();
        round.ask(NewQuery::new(format!("Question {number}"))).await.unwrap();
        round.step(Step::new(format!("Answer {number}"))).await.unwrap();
        round.finish().await.unwrap();
    }
    let page = site.page("/chats/long/run").await;
    assert!(page.contains("data-lines=\"4000\"") && page.contains("2,000 rounds"));
    assert!(!page.contains("Answer 1"), "the steps come when they are looked at");
    let lines = site.lines("long", "from=3001&count=2").await;
    assert_eq!(read(&lines), ["  response Answer 1500 [done]", "query Question 1501 [done]"]);
    assert_eq!(lines[0]["line"], 3001);
    assert!(site.lines("long", "from=4000&count=10").await.is_empty());
    assert_eq!(site.lines("long", "from=3990&count=100000").await.len(), 10);
    let page = site.page("/chats/long/run?node=0:1999.1").await;
    assert!(page.contains("data-line=\"3999\"") && page.contains("Answer 1999"));
}

#[tokio::test]
async fn other_users_see_no_run() {
    let site = Site::new().await;
    trip(&site).await;
    let other =
        context_server::router(context_server::Operations::new(site.store.clone()).user("bob"));
    let site = Site { router: other, ..site };
    for path in ["", "/step?node=0:0.0", "?view=graph", "?view=provenance"] {
        assert_eq!(site.get(&format!("/chats/trip/run{path}")).await.0, 404, "{path}");
    }
    for path in ["", "/lines", "/failure", "/step?node=0:0.0", "/graph", "/provenance"] {
        assert_eq!(site.get(&format!("/api/v1/chats/trip/run{path}")).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn content_of_steps_is_text() {
    let site = Site::new().await;
    site.say(HOSTILE, [user(HOSTILE).with_id(HOSTILE), assistant(HOSTILE)]).await;
    let trajectories = site.trajectories();
    let main = AgentRef::main("ada", HOSTILE);
    let round = trajectories.begin(&main).await.unwrap();
    let query =
        NewQuery::new(HOSTILE).describe(HOSTILE).author(HOSTILE).raw(HOSTILE).files([HOSTILE]);
    round.ask(query).await.unwrap();
    let mut measures = Measures::default();
    (measures.error, measures.model) = (Some(HOSTILE.into()), Some(HOSTILE.into()));
    measures.provider = Some(HOSTILE.into());
    let call = StepCall::new(HOSTILE, HOSTILE, json!({HOSTILE: HOSTILE}));
    let step = Step::new(HOSTILE).reasoning(HOSTILE).author(HOSTILE).measure(measures).call(call);
    round.step(step).await.unwrap();
    let action = round.action_of_call(HOSTILE).unwrap();
    for body in [
        NodeBody::knowledge(HOSTILE, HOSTILE),
        NodeBody::tool(json!(HOSTILE), json!({HOSTILE: HOSTILE})),
        NodeBody::table(HOSTILE),
        NodeBody::column(HOSTILE),
        NodeBody::file(HOSTILE),
        NodeBody::script(HOSTILE, HOSTILE),
        NodeBody::skill(HOSTILE),
    ] {
        round.add(NewNode::new(body, [action]).describe(HOSTILE).append()).await.unwrap();
    }
    let sub = trajectories.open_sub_agent(&round, action, OpenOptions::new()).await.unwrap();
    sub.ask(NewQuery::new(HOSTILE)).await.unwrap();
    round.tool_result(HOSTILE, json!(HOSTILE), false).await.unwrap();
    round.change(action, &Changes::new().describe(HOSTILE)).await.unwrap();
    round.finish().await.unwrap();
    let chat = crate::site::encode(HOSTILE);
    for step in 0..10 {
        is_harmless(&site.page(&format!("/chats/{chat}/run?node=0:0.{step}")).await);
        is_harmless(&site.page(&format!("/chats/{chat}/run?view=graph&node=0:0.{step}")).await);
    }
    is_harmless(&site.page(&format!("/chats/{chat}/run?view=provenance")).await);
    is_harmless(&site.page(&format!("/chats/{chat}/run?branch={chat}&view={chat}")).await);
    is_harmless(&site.get(&format!("/chats/{chat}/run?node={chat}")).await.1);
}

#[tokio::test]
async fn a_chat_too_long_to_be_made_into_steps_says_how_to_record_it() {
    let site = Site::new().await;
    for part in 0..6 {
        let messages =
            (0..900).map(|n| user(format!("Question {n}")).with_id(format!("m{part}-{n}")));
        site.say("it's long", messages).await;
    }
    let page = site.page("/chats/it%27s%20long/run").await;
    assert!(page.contains("context trajectory record 'it'\\''s long'"), "{page}");
    assert_eq!(site.json("/api/v1/chats/it%27s%20long/run").await["origin"], "too_long");
    assert_eq!(site.get("/chats/it%27s%20long/run?view=graph").await.0, 200);
    assert_eq!(site.get("/chats/it%27s%20long/run?view=provenance&message=m0-1").await.0, 200);
}

#[tokio::test]
async fn sums_of_a_chat_say_when_they_are_not_all_and_follow_new_rounds() {
    let site = Site::new().await;
    trip(&site).await;
    let facts = async || site.json("/api/v1/chats/trip/facts").await;
    let first = facts().await;
    // One of the two calls has a price; the cached tokens are part of the input.
    assert_eq!((&first["input_tokens"], &first["output_tokens"]), (&json!(2500), &json!(48)));
    assert_eq!((&first["cost_usd"], &first["cost_at_least"]), (&json!(0.25), &json!(true)));
    assert_eq!(first["tokens_at_least"], false);
    assert_eq!(facts().await, first);
    let round = site.trajectories().begin(&AgentRef::main("ada", "trip")).await.unwrap();
    let ask = Message::from("And in winter?");
    round.record(RecordedMessage::new(&ask)).await.unwrap();
    let mut usage = Usage::new(100, 5);
    usage.cache_read = 900;
    let mut measures = Measures::of_usage(&usage);
    (measures.cost_usd, measures.model) = (Some(0.5), Some("model-2".into()));
    round.step(Step::new("Warm too.").measure(measures)).await.unwrap();
    let second = facts().await;
    assert_eq!((&second["input_tokens"], &second["cost_usd"]), (&json!(3500), &json!(0.75)));
    assert_eq!(second["model"], "model-2");
}
