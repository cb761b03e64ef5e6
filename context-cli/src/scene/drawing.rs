//! A chat drawn in every form.

use insta::assert_snapshot;
use serde_json::json;

use super::Scene;

#[test]
fn every_form_of_drawing() {
    let message = |i: usize| json!({"role": if i.is_multiple_of(2) { "user" } else { "assistant" }, "content": format!("\"{i}\"]; <b>")});
    let scene = Scene::with_chat("long", &json!((0..12).map(message).collect::<Vec<_>>()));
    let _moved = scene.records("fork long --at m6 --name \"]-->x");
    let _set = scene.records("checkpoint long {half} --at m3");
    assert_snapshot!(
        "graph",
        scene.show(&[
            "graph long",
            "graph long --format mermaid",
            "graph long --format dot",
            "graph nothing"
        ])
    );
    let text = scene.show(&["graph long --format json"]);
    let lines: Vec<_> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert_eq!(lines.len(), 12);
    let records = scene.records("graph long");
    assert_eq!(serde_json::from_str::<serde_json::Value>(lines[11]).expect("JSON"), records[11]);
    let drawn = &scene.records("graph long --format mermaid")[0];
    assert_eq!((&drawn["v"], &drawn["format"]), (&json!(1), &json!("mermaid")));
    assert!(drawn["text"].as_str().is_some_and(|text| text.starts_with("flowchart TD\n")));
}
