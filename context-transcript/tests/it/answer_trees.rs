//! Answer trees of ToolBench: their messages and branches, and exact export.

use context_core::message::PlacedNode;
use context_core::{Message, Node, Part, Role, Timestamp};
use context_transcript::Format;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{StoredChat, amended, changed, round_trip, values};

fn node(kind: &str, description: &str, children: Vec<Value>) -> Value {
    json!({"node_type": kind, "description": description, "Elo": 1000.0, "finished": false,
           "children": children})
}

/// An input node with its observation.
fn answered(description: &str, children: Vec<Value>) -> Value {
    let mut node = node("Action Input", description, children);
    node["observation"] = json!("seen");
    node["observation_code"] = json!(0);
    node
}

fn file_of(children: Vec<Value>, answer: &str) -> Value {
    json!({
        "win": true,
        "tree": {"size": 9, "max_length": 3, "tree": node("Action Input", "", children)},
        "forward_args": {"answer": 1},
        "answer_generation": {
            "query": "How warm is it?", "final_answer": answer,
            "train_messages": [[{"role": "system", "content": "Use tools."}, {"role": "user", "content": "?"}]],
        },
    })
}

#[track_caller]
fn chat(file: &Value) -> StoredChat {
    let passed = round_trip("a.json", &file.to_string(), None).unwrap();
    assert_eq!(values(&passed.text), std::slice::from_ref(file));
    passed.chats.into_iter().next().unwrap()
}

/// Returns the parts of a message as text.
fn parts(message: &Message) -> String {
    let part = |part: &Part| match part {
        Part::Text(text) => text.text.to_string(),
        Part::ToolCall(call) => format!("→ {} {}", call.name, call.input.as_written()),
        Part::ToolResult(result) => {
            let output = Message::new(Role::Tool, result.output.clone());
            format!("← {} {}", result.call_id, output.plain_text())
        }
        Part::Data(data) => format!("[data {}]", data.name),
        other => panic!("{other:?}"),
    };
    message.parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn shown(chat: &StoredChat, branch: &str) -> Vec<String> {
    let message =
        |id: &String| chat.nodes.iter().find(|placed| placed.node.id == id.as_str()).unwrap();
    let ids = chat.chain(branch);
    ids.iter().map(message).map(|placed| parts(placed.node.message().unwrap())).collect()
}

#[test]
fn thought_action_and_input_are_one_message_and_the_answer_another() {
    let action = node("Action", "weather", vec![answered("{\"at\": \"Lisbon\"}", vec![])]);
    let chat = chat(&file_of(vec![node("Thought", "I look.", vec![action])], ""));
    insta::assert_snapshot!(shown(&chat, "main").join("\n"), @r#"
    Use tools.
    How warm is it?
    I look. → weather {"at": "Lisbon"}
    ← call_3 seen
    "#);
    assert_eq!(chat.title.as_deref(), Some("How warm is it?"));
}

#[test]
fn forks_inside_a_triple_are_branches_too() {
    let inputs = vec![answered("{\"a\": 1}", vec![]), answered("{broken", vec![])];
    let thought = node(
        "Thought",
        "Both.",
        vec![node("Action", "f", inputs), node("Thought", "Or not.", vec![])],
    );
    let chat = chat(&file_of(vec![thought], "{broken"));
    let branches: Vec<_> = chat
        .heads
        .iter()
        .map(|(name, _)| format!("{name}: {:?}", &shown(&chat, name)[2..]))
        .collect();
    insta::assert_snapshot!(branches.join("\n"), @r#"
    main: ["Both.", "[data toolbench.Action]", "→ f {broken", "← call_4 seen"]
    main-v2: ["Both.", "[data toolbench.Action]", "→ f {\"a\": 1}", "← call_3 seen"]
    main-v3: ["Both.", "Or not."]
    "#);
}

#[test]
fn main_is_the_path_that_won() {
    let mut won = node("Thought", "the answer", vec![]);
    won["finished"] = json!(true);
    let children =
        || vec![node("Thought", "early", vec![]), won.clone(), node("Thought", "late", vec![])];
    assert_eq!(shown(&chat(&file_of(children(), "late")), "main")[2], "the answer");
    let mut none = children();
    none[1]["finished"] = json!(false);
    assert_eq!(shown(&chat(&file_of(none.clone(), "early")), "main")[2], "early");
    assert_eq!(shown(&chat(&file_of(none, "")), "main")[2], "late");
}

#[test]
fn several_trees_and_large_files_come_back() {
    let mut large = file_of(vec![node("Thought", "x", vec![])], "");
    large["compare_candidates"] = json!(["y".repeat(3 << 20)]);
    let stored = chat(&large);
    assert_eq!(stored.chain("source").len(), large.as_object().unwrap().len());
    let list = json!([large, file_of(vec![], "")]);
    let passed = round_trip("a.json", &list.to_string(), None).unwrap();
    assert_eq!((passed.chats.len(), values(&passed.text)), (2, vec![list]));
}

#[test]
fn a_tree_that_is_none_is_refused() {
    let refused = |file: Value| {
        round_trip("a", &file.to_string(), Some(Format::Toolbench)).err().unwrap().problem()
    };
    assert_eq!(refused(json!({"tree": {"tree": 7}})), "an object has no tree of nodes");
    assert_eq!(
        refused(json!({"tree": {"tree": {"children": [7]}}})),
        "a node of its tree is not an object"
    );
    let mut deep = "{\"children\": [".repeat(1200);
    deep += &"]}".repeat(1200);
    let text = format!("{{\"tree\": {{\"tree\": {deep}}}}}");
    let failure = round_trip("a", &text, Some(Format::Toolbench)).err().unwrap();
    assert_eq!(failure.problem(), "its tree is deeper than 1000 levels");
}

#[test]
fn what_was_added_and_amended_since_is_in_the_tree() {
    let call = || node("Action", "f", vec![answered("{}", vec![])]);
    let file = file_of(vec![node("Thought", "one", vec![]), call()], "");
    let (back, said) = changed(&file.to_string(), |nodes| {
        let last = |nodes: &[PlacedNode], id: &str| {
            nodes.iter().position(|placed| placed.node.id == id).unwrap()
        };
        let (one, seen) = (last(nodes, "t1"), last(nodes, "t2-result"));
        nodes[one] = amended(&nodes[one], "another");
        let more = Message::text(Role::Assistant, "more");
        let parent = nodes[seen].node.id.clone();
        nodes.push(PlacedNode::new(Node::new("n", more, Timestamp::default()), Some(parent), 9));
        let root = Message::text(Role::User, "elsewhere");
        nodes.push(PlacedNode::new(Node::new("r", root, Timestamp::default()), None, 0));
    });
    let back = values(&back).remove(0);
    let plain = |text: &str| json!({"node_type": "Thought", "description": text, "children": []});
    let root = &back["tree"]["tree"];
    assert_eq!(root["children"][1], plain("another"));
    assert_eq!(root["children"][0]["children"][0]["children"], json!([plain("more")]));
    assert_eq!(back["answer_generation"], file["answer_generation"]);
    assert_eq!(said, ["unrepresentable at r: left out: a tree has only one root"]);
}

fn any_node() -> impl Strategy<Value = Value> {
    let keys = (
        prop_oneof![3 => Just(json!("Thought")), 3 => Just(json!("Action")), 3 => Just(json!("Action Input")),
                    1 => Just(json!("Reflection")), 1 => Just(Value::Null)],
        proptest::option::weighted(
            0.9,
            prop_oneof![Just(json!("{\"a\": 1}")), Just(json!("")), Just(json!(7))],
        ),
        proptest::option::of(prop_oneof![Just(json!("seen")), Just(Value::Null)]),
        any::<bool>(),
    );
    let of = |(kind, description, observation, finished): (
        Value,
        Option<Value>,
        Option<Value>,
        bool,
    )| {
        let mut node = json!({"node_type": kind, "finished": finished, "Elo": 1.50});
        for (key, value) in [("description", description), ("observation", observation)] {
            if let Some(value) = value {
                node[key] = value;
            }
        }
        node
    };
    let keys = keys.prop_map(of).boxed();
    keys.clone().prop_recursive(6, 40, 3, move |inner| {
        (keys.clone(), proptest::collection::vec(inner, 0..4)).prop_map(|(mut node, children)| {
            node["children"] = Value::from(children);
            node
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_tree_comes_back(root in any_node(), rest in proptest::option::of("\\PC{0,4}")) {
        let file = json!({"a": rest, "tree": {"tree": root, "size": 1}, "answer_generation": rest});
        let passed = round_trip("a.json", &file.to_string(), Some(Format::Toolbench)).unwrap();
        prop_assert_eq!(values(&passed.text), [file]);
    }
}
