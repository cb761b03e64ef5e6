//! A chat drawn in each format.

use context_runtime::{ChatRef, GraphFormat, MessageGraph};
use insta::assert_snapshot;

use crate::kit::{engine, say, store, with_messages};

#[tokio::test]
async fn a_chat_is_drawn_with_its_branches_and_checkpoints() {
    let store = store().await;
    let mut engine = with_messages(&store, &["u1", "a1", "u2", "a2", "u3"]).await;
    engine.rewind(&"a1".into()).await.unwrap();
    engine.set([say("u4", "\"]; click <b>\u{1b}[2J")]).save().await.unwrap();
    engine.checkpoint("half").await.unwrap();
    let graph = engine.graph().await.unwrap();
    assert_snapshot!(graph.draw(GraphFormat::Text), @r##"
    ● u1  user  text u1
    ● a1  assistant  text a1
    ├─● u4  user  "]; click <b>\u001b[2J  [main-v2*] [checkpoint: half]
    ● u2  user  text u2
    ● a2  assistant  text a2
    ● u3  user  text u3  [main]
    "##);
    assert_snapshot!(graph.draw(GraphFormat::Mermaid), @r##"
    flowchart TD
      n0["u1  user<br/>text u1"]
      n1["a1  assistant<br/>text a1"]
      n2["u4  user<br/>#34;#93;#59; click #60;b#62;#92;u001b#91;2J<br/>#91;main#45;v2#42;#93; #91;checkpoint#58; half#93;"]
      n3["u2  user<br/>text u2"]
      n4["a2  assistant<br/>text a2"]
      n5["u3  user<br/>text u3<br/>#91;main#93;"]
      n0 --> n1
      n1 --> n2
      n1 --> n3
      n3 --> n4
      n4 --> n5
    "##);
    assert_snapshot!(graph.draw(GraphFormat::Dot), @r##"
    digraph chat {
      node [shape=box, style=rounded];
      n0 [label="u1  user\ltext u1\l"];
      n1 [label="a1  assistant\ltext a1\l"];
      n2 [label="u4  user\l\"]; click <b>\\u001b[2J\l[main-v2*] [checkpoint: half]\l"];
      n3 [label="u2  user\ltext u2\l"];
      n4 [label="a2  assistant\ltext a2\l"];
      n5 [label="u3  user\ltext u3\l[main]\l"];
      n0 -> n1;
      n1 -> n2;
      n1 -> n3;
      n3 -> n4;
      n4 -> n5;
    }
    "##);
}

#[tokio::test]
async fn a_branch_without_messages_is_named_and_a_missing_chat_is_an_error() {
    let store = store().await;
    let graph = engine(&store).await.graph().await.unwrap();
    assert_eq!(graph.draw(GraphFormat::Text), "○ [main*] without messages\n");
    let missing = MessageGraph::read(store.history(), &ChatRef::new("ada", "nothing")).await;
    assert!(missing.unwrap_err().is_not_found());
}

#[test]
fn a_format_is_found_by_its_name() {
    for format in [GraphFormat::Text, GraphFormat::Mermaid, GraphFormat::Dot] {
        assert_eq!(format.to_string().parse::<GraphFormat>().unwrap(), format);
    }
    let refused = "svg\n".parse::<GraphFormat>().unwrap_err();
    assert_eq!(refused.to_string(), r"no format svg\n: text, mermaid or dot");
}
