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
    ● u1  user  text u1 · 2 messages
    ├─○ u2  user  text u2 · 2 messages
    │ ○ u3  [main]  user  text u3
    ● u4  [main-v2*]  [checkpoint: half]  user  "]; click <b>\u001b[2J
    "##);
    assert_snapshot!(graph.draw(GraphFormat::Mermaid), @r##"
    flowchart TD
      n0["u1  user · 2 messages<br/>text u1"]:::onPath
      n1["u2  user · 2 messages<br/>text u2"]
      n2["u3  user<br/>text u3<br/>#91;main#93;"]
      n3["u4  user<br/>#34;#93;#59; click #60;b#62;#92;u001b#91;2J<br/>#91;main#45;v2#42;#93; #91;checkpoint#58; half#93;"]:::onPath
      n0 --> n1
      n1 --> n2
      n0 ==> n3
      classDef onPath stroke-width:3px
    "##);
    assert_snapshot!(graph.draw(GraphFormat::Dot), @r##"
    digraph chat {
      node [shape=box, style=rounded];
      n0 [class=path, style="rounded,bold", label="u1  user · 2 messages\ltext u1\l"];
      n1 [label="u2  user · 2 messages\ltext u2\l"];
      n2 [label="u3  user\ltext u3\l[main]\l"];
      n3 [class=path, style="rounded,bold", label="u4  user\l\"]; click <b>\\u001b[2J\l[main-v2*] [checkpoint: half]\l"];
      n0 -> n1;
      n1 -> n2;
      n0 -> n3 [class=path, style=bold];
    }
    "##);
}

#[tokio::test]
async fn a_branch_without_messages_is_named_and_a_missing_chat_is_an_error() {
    let store = store().await;
    let graph = engine(&store).await.graph().await.unwrap();
    assert_eq!(graph.draw(GraphFormat::Text), "● [main*] without messages\n");
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
