//! The run of a chat: one selected step in four views.

use std::sync::Arc;

use context_runtime::model::{Answer, Usage};
use context_runtime::trajectory::{
    AgentRef, Measures, NewNode, NewQuery, NodeBody, OpenOptions, RecordedMessage, Step, StepCall,
    Trajectories,
};
use context_runtime::{Message, Part, Role, Timestamp, assistant, user};
use serde_json::{Value, json};

use crate::demo::{self, message};
use crate::driver::{Browser, Page, View};
use crate::site::{Site, chat};

const VIEWS: [&str; 4] = ["list", "waterfall", "graph", "provenance"];

fn trajectories(site: &Site) -> Trajectories {
    Trajectories::builder(Arc::clone(&site.store)).build().unwrap()
}

/// Records a run with a failure, data, and a sub-agent that fails too.
async fn trip(site: &Site) {
    site.say("trip", [user("Where is it warm?").with_id("m1")]).await;
    let trajectories = trajectories(site);
    let round = trajectories.begin(&AgentRef::main("ada", "trip")).await.unwrap();
    let ask = Message::from("Where is it warm?");
    round.record(RecordedMessage::new(&ask).link("trip", "m1")).await.unwrap();
    let at = Timestamp::from_micros;
    let mut measures = Measures::of_usage(&Usage::new(1200, 40));
    (measures.started_at, measures.ended_at) = (Some(at(1_000_000)), Some(at(3_500_000)));
    (measures.cost_usd, measures.model) = (Some(0.25), Some("model-1".into()));
    let step = Step::new("").measure(measures);
    let step = step.call(StepCall::new("c1", "weather", json!({"month": 13})));
    let step = step.call(StepCall::new("c2", "delegate", json!({"to": "maps"})));
    round.step(step).await.unwrap();
    round.tool_result("c1", json!("no such month"), false).await.unwrap();
    let call = round.action_of_call("c2").unwrap();
    let table = NodeBody::knowledge("climate", "Madeira: 18 degrees");
    round.add(NewNode::new(table, [call]).append()).await.unwrap();
    let sub = trajectories.open_sub_agent(&round, call, OpenOptions::new()).await.unwrap();
    sub.ask(NewQuery::new("Draw a map of Madeira.")).await.unwrap();
    let draw = StepCall::new("d1", "draw", json!({"island": "Madeira"}));
    sub.step(Step::new("I draw it.").call(draw)).await.unwrap();
    sub.tool_result("d1", json!("no pencil"), false).await.unwrap();
    sub.step(Step::new("There is no map.")).await.unwrap();
    sub.finish().await.unwrap();
    round.tool_result("c2", json!({"map": null}), true).await.unwrap();
    let answer = Answer::new(Message::text(Role::Assistant, "On Madeira."));
    round.record(RecordedMessage::of_answer(&answer)).await.unwrap();
    round.finish().await.unwrap();
}

/// Waits until a step is selected: in the address and in the panel.
async fn selected(page: &Page, node: &str) {
    let node = Value::from(node);
    page.wait(&format!(
        "new URL(location).searchParams.get('node') === {node}
        && document.querySelector('#detail .id')?.textContent === {node}"
    ))
    .await;
}

pub(crate) async fn a_recorded_run_is_one_selection_in_four_views(browser: &Browser) {
    let site = Site::new().await;
    trip(&site).await;
    let page = site.page(browser, View::WIDE, &format!("{}/run", chat("trip"))).await;
    page.sees(".step.action.failed", "weather month: 13").await;
    page.sees(".step.state", "calls weather, delegate").await;
    page.sees(".step.state .cost", "$0.25").await;
    let colour = |of: &str| format!("getComputedStyle(document.querySelector('{of}')).color");
    let (failed, done) = (".step.action.failed .kind", ".step.action.done .kind");
    page.wait(&format!("{} !== {}", colour(failed), colour(done))).await;
    // Nobody recorded a cost of the answer, and no zero stands for it.
    page.sees(".step.response .cost.unknown", "–").await;
    let indent = |node: &str| {
        format!(
            "parseFloat(document.querySelector('[data-step=\"{node}\"] .what').style.paddingLeft)"
        )
    };
    page.wait(&format!("{} > {}", indent("1:0.0"), indent("0:0.3"))).await;
    page.sees("[data-step=\"1:0.0\"] .agent", "agent 1").await;
    page.press(&["e"]).await;
    selected(&page, "0:0.2").await;
    page.sees("#detail .result.failed", "no such month").await;
    page.press(&["e"]).await;
    selected(&page, "1:0.2").await;
    page.sees("#detail", "no pencil").await;
    page.press(&["e"]).await;
    page.sees("#toast", "No failure after this step").await;
    page.press(&["E"]).await;
    selected(&page, "0:0.2").await;
    let mark = |view: &str| match view {
        "list" | "waterfall" => "document.querySelector('.step.current')?.dataset.step",
        "graph" => "document.querySelector('.box.current')?.dataset.step",
        _ => "document.querySelector('#main').dataset.node",
    };
    for view in VIEWS.iter().cycle().skip(1).take(4) {
        let tab = format!(".views [data-shows={view}]");
        page.leaving(async { page.click(&tab).await }).await;
        page.wait(&format!("{} === '0:0.2'", mark(view))).await;
        // A link to the step is a link to it for everybody.
        let reload = async { drop(page.ask("Page.reload", json!({})).await) };
        page.leaving(reload).await;
        page.wait(&format!("{} === '0:0.2'", mark(view))).await;
    }
    page.is_sound().await;
}

pub(crate) async fn a_chat_that_nobody_recorded_has_a_run(browser: &Browser) {
    let site = Site::new().await;
    let call = Part::tool_call("c1", "get_reservation", json!({"reservation_id": "EHGLP3"}));
    let found = Part::tool_result("c1", r#"{"cabin":"basic_economy"}"#);
    let messages = [
        user("Cancel EHGLP3.").with_id("m1"),
        message(Role::Assistant, [call]).with_id("m2"),
        message(Role::Tool, [found]).with_id("m3"),
        assistant("It is in basic_economy.").with_id("m4"),
    ];
    site.say("lisbon", messages).await;
    let run = format!("{}/run", chat("lisbon"));
    let page = site.page(browser, View::WIDE, &run).await;
    page.sees(".runbar", "made from the messages").await;
    page.sees(".step.state", "calls get_reservation").await;
    page.sees(".step.action", "EHGLP3").await;
    page.wait("document.querySelector('.step.state .cost.unknown').textContent === '–'").await;
    page.go(&format!("{run}?view=provenance&message=m4")).await;
    page.sees(".provenance mark", "basic_economy").await;
    for view in ["waterfall", "graph"] {
        page.go(&format!("{run}?view={view}")).await;
        page.sees(".step.action, .drawing", "get_reservation").await;
    }
    page.is_sound().await;
}

pub(crate) async fn recorded_chats_have_their_cost_in_the_table(browser: &Browser) {
    let site = Site::of(demo::store().await).await;
    let page = site.page(browser, View::WIDE, "/").await;
    for name in [demo::BOOKING, demo::CODING, demo::BRANCHES] {
        let row = format!("[data-facts*=\"/{name}/\"]");
        page.sees(&row, "claude-sonnet-4-5").await;
        page.sees(&format!("{row} .cost"), "$0.").await;
        page.wait(&format!("document.querySelector('{row} .tokens').textContent !== ''")).await;
    }
    page.is_sound().await;
}

pub(crate) async fn a_long_round_is_drawn_to_be_read(browser: &Browser) {
    let site = Site::new().await;
    site.say("long", [user("Begin.")]).await;
    let round = trajectories(&site).begin(&AgentRef::main("ada", "long")).await.unwrap();
    round.ask(NewQuery::new("Begin.")).await.unwrap();
    for n in 0..60 {
        round.step(Step::new(format!("Thought {n}"))).await.unwrap();
    }
    round.finish().await.unwrap();
    let address = format!("{}/run?view=graph", chat("long"));
    let page = site.page(browser, View::WIDE, &address).await;
    let narrowest = "Math.min(...[...document.querySelectorAll('.box rect')].map((it) => it.getBoundingClientRect().width))";
    for view in [View::WIDE, View::NARROW] {
        page.view(view).await;
        page.go(&address).await;
        page.wait("document.querySelectorAll('.box').length > 50").await;
        assert!(page.eval(narrowest).await.as_f64() >= Some(120.0), "as it is opened");
        page.click("[data-zoom=fit]").await;
        assert!(page.eval(narrowest).await.as_f64() >= Some(120.0), "as it fits");
    }
    page.is_sound().await;
}
