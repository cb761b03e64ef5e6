//! Pages of sessions, which open at their run.

use std::io::Read;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use context_runtime::trajectory::{
    AgentRef, NewNode, NewQuery, NodeBody, OpenOptions, Trajectories,
};
use flate2::read::GzDecoder;
use serde_json::json;

use super::Scene;
use super::tracing::trip;

/// Returns the packed part of a page, as a browser unpacks it.
fn unpacked(page: &str) -> String {
    let mut text = String::new();
    for pack in page.split("id=\"pack-").skip(1) {
        let (_, pack) = pack.split_once("\">").expect("an element begins");
        let (pack, _) = pack.split_once("</script>").expect("an element ends");
        let pack = STANDARD.decode(pack).expect("packs are Base64");
        GzDecoder::new(pack.as_slice()).read_to_string(&mut text).expect("packs are compressed");
    }
    text
}

#[test]
fn a_page_of_a_session_opens_at_its_run() {
    let scene = trip();
    for line in ["trajectory export trip --format html", "trajectory graph trip --format html"] {
        let page = scene.show(&[line]);
        assert!(
            page.contains("data-start=\"/chats/trip\" data-first=\"/chats/trip/run\""),
            "{line}"
        );
        assert!(!page.contains("no stored chat"), "{line}");
        let text = unpacked(&page);
        assert!(text.contains("trains") && text.contains("Two tickets to Lisbon."), "{line}");
    }
}

#[test]
fn a_session_without_a_chat_has_a_page_too() {
    let scene = Scene::new();
    let recorder =
        Trajectories::builder(Arc::clone(&scene.store)).clock(Arc::new(scene.host.clone()));
    let recorder = recorder.build().expect("the store keeps trajectories");
    let recording = async {
        let round = AgentRef::main("local", "alone").round(0);
        let context = recorder.open(&round, OpenOptions::new()).await?;
        let query = context.ask(NewQuery::new("Two tickets.")).await?;
        context.add(NewNode::new(NodeBody::action("flights", json!({})), [query])).await
    };
    assert!(scene.runtime.block_on(recording).is_ok());
    let page = scene.show(&["trajectory export alone --format html"]);
    assert!(page.contains("/chats/alone/run\"") && unpacked(&page).contains("flights"));
    assert!(page.contains("the session has no stored chat: the page has its run alone"));
}

#[test]
fn a_page_of_a_part_is_refused() {
    for command in ["export", "graph"] {
        let shown = trip().show(&[&format!("trajectory {command} trip --format html --active")]);
        assert!(
            shown.contains("--format html has the whole session: leave out --active"),
            "{shown}"
        );
        assert!(!shown.contains("<html"), "{command}");
    }
}
