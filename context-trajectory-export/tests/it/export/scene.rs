//! A small hand-made session, and random ones.

use std::sync::Arc;

use context_core::Timestamp;
use context_core::trajectory::{
    AgentRef, Changes, Measures, NewNode, NewQuery, NodeBody, NodeId, ParentNode, Round,
    RoundState, edge,
};
use context_trajectory::{BridgeFrom, SessionGraph, Trajectory};
use proptest::prelude::*;

/// Characters with a special meaning in some format.
pub(crate) const HOSTILE: &str =
    "say \"hi\"; #1 %%{init}%% `x` ]]> </script> \\N \\\" 1. $$a$$ &quot; {{}} |b| 😀\r\n\tend";

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000 + seconds * 1_000_000)
}

fn agent(number: u32) -> AgentRef {
    AgentRef::new("anna: \"ü\"", "s 1/#", number)
}

fn took(from: i64, to: i64) -> Measures {
    let mut measures = Measures::default();
    (measures.started_at, measures.ended_at) = (Some(at(from)), Some(at(to)));
    measures
}

fn thought(from: i64, to: i64, tokens: u64) -> Measures {
    let mut measures = took(from, to);
    measures.provider = Some("anthropic".into());
    measures.model = Some("some-model".into());
    (measures.input_tokens, measures.output_tokens) = (Some(tokens), Some(tokens / 10));
    measures.cache_read_tokens = Some(tokens / 2);
    measures.reasoning_tokens = Some(3);
    measures.cost_usd = Some(0.25);
    measures
}

fn round_0() -> Round {
    let mut round = Round::new(agent(0).round(0), at(0));
    let question = NewQuery::new("Which region sold most?")
        .raw("region??")
        .files(["sales.csv"])
        .author("anna");
    let (query, _) = round.ask(question, at(0)).unwrap();
    let sales =
        NewNode::new(NodeBody::table("sales.csv"), [query]).edge(edge::HAS_ADDITIONAL_TABLE);
    let (sales, _) = round.add(sales.label("sales"), at(0)).unwrap();
    let column =
        NewNode::new(NodeBody::column("sales"), [sales]).edge(edge::HAS_COLUMN).label("region");
    round.add(column, at(0)).unwrap();
    let state =
        NodeBody::state("Two ways: ask, or count.").with("reasoning_content", "hm").unwrap();
    let state = state.with("goal", "the best region").unwrap();
    let (state, _) =
        round.add(NewNode::new(state, [query]).measure(thought(1, 3, 1000)), at(3)).unwrap();
    let sql = NodeBody::action("run_sql", serde_json::json!({"limit": 5, "query": "select 1"}));
    let (sql, _) = round.add(NewNode::new(sql, [state]).measure(took(3, 7)), at(3)).unwrap();
    let research = NodeBody::action("research", serde_json::json!({"topic": HOSTILE}));
    let (research, _) =
        round.add(NewNode::new(research, [state]).label(HOSTILE).append(), at(4)).unwrap();
    let dead = NodeBody::action("guess", serde_json::json!([1, 2]));
    let (dead, _) = round.add(NewNode::new(dead, [state]).append(), at(4)).unwrap();
    let closed = NewNode::new(NodeBody::state("A guess is no answer."), [dead]).close();
    round.add(closed, at(5)).unwrap();
    round.refer(sql, &round.node(sales).unwrap().clone(), at(5)).unwrap();
    let done = Changes::new()
        .set("output", serde_json::json!({"rows": [["north", 12.50]]}))
        .set("success", true);
    round.change(sql, &done, Some("executor".into()), at(7)).unwrap();
    round.change(research, &Changes::new().set("output", HOSTILE), None, at(9)).unwrap();
    round.change(research, &Changes::new().set("success", true), None, at(9)).unwrap();
    let table = NewNode::new(NodeBody::table("out/top.csv"), [sql]).edge(edge::PRODUCES);
    let (table, _) = round.add(table, at(7)).unwrap();
    let column = NewNode::new(NodeBody::column("top"), [table]).edge(edge::HAS_COLUMN);
    round.add(column, at(7)).unwrap();
    round
        .change(table, &Changes::new().describe("the best one"), Some("portrait".into()), at(8))
        .unwrap();
    let end = NewNode::new(NodeBody::state("North it is."), [sql, research])
        .measure(thought(10, 12, 2000));
    let (end, _) = round.add(end, at(12)).unwrap();
    round.add(NewNode::new(NodeBody::response("North."), [end]), at(13)).unwrap();
    round.set_state(RoundState::Closed, at(13));
    round
}

fn round_2(before: &Round) -> Round {
    let mut round = Round::new(agent(0).round(2), at(100)).continuing(&before.head());
    let (query, _) = round.ask(NewQuery::new(HOSTILE), at(100)).unwrap();
    let plot = NodeBody::action("plot", serde_json::json!({}));
    let (plot, _) = round.add(NewNode::new(plot, [query]), at(101)).unwrap();
    let table = before
        .resolve("Table(table00001)")
        .or_else(|_| before.resolve("Table(table00000)"))
        .unwrap();
    round.refer(plot, &table.clone(), at(101)).unwrap();
    let file = NewNode::new(NodeBody::file("plot.png"), [plot]).edge(edge::PRODUCES);
    round.add(file, at(102)).unwrap();
    round
}

fn sub_agent(parent: NodeId) -> Round {
    let round = Round::new(agent(1).round(0), at(4));
    let mut round = round.below(ParentNode { agent: 0, node: parent });
    let (query, _) = round.ask(NewQuery::new("Find out about north."), at(4)).unwrap();
    let (state, _) = round
        .add(
            NewNode::new(NodeBody::state("It is cold."), [query]).measure(thought(5, 6, 100)),
            at(6),
        )
        .unwrap();
    round.add(NewNode::new(NodeBody::response("Cold."), [state]), at(6)).unwrap();
    round
}

/// Two rounds with a gap between them, several branches, an inactive branch, data, references,
/// versions, and a sub-agent.
pub(crate) fn session() -> SessionGraph {
    let first = round_0();
    let caller = first.nodes().find(|node| node.body.text("action") == "research").unwrap().id;
    let second = round_2(&first);
    of_rounds([vec![first, second], vec![sub_agent(caller)]])
}

pub(crate) fn of_rounds(agents: impl IntoIterator<Item = Vec<Round>>) -> SessionGraph {
    let agents = agents.into_iter().zip(0..).map(|(rounds, number)| {
        let rounds = rounds.into_iter().map(Arc::new);
        (number, Trajectory::new(rounds, BridgeFrom::Leaves))
    });
    SessionGraph::new("anna: \"ü\"", "s 1/#", agents)
}

pub(crate) fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Returns whether a text contains hidden or control characters.
pub(crate) fn hides(text: &str) -> bool {
    text.chars().any(|c| c != '\n' && context_core::base::display::is_hidden(c))
}

/// One random change of a round: its kind, its predecessors, and its text.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    what: u8,
    who: prop::sample::Index,
    text: String,
}

/// Texts with special characters.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(
            prop::sample::select(vec![
                "\"",
                "\\",
                "\n",
                "#",
                ";",
                "%%",
                "`",
                "]",
                "{",
                "|",
                "&amp;",
                "<b>",
                "-",
                "1. ",
                "end",
                "😀",
                "\u{0}",
                "\u{2028}",
                "\u{202e}",
                "\u{2066}",
                "\u{9b}",
                "\u{e0041}",
                "_:",
                "$",
            ]),
            0..8
        )
        .prop_map(|parts| parts.concat()),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..9_u8, any::<prop::sample::Index>(), text());
    proptest::collection::vec(step.prop_map(|(what, who, text)| Step { what, who, text }), 0..14)
}

fn built(mut round: Round, steps: &[Step], earlier: Option<&Round>, start: i64) -> Round {
    let Some(first) = steps.first() else { return round };
    round.ask(NewQuery::new(&*first.text).raw(&*first.text), at(start)).unwrap();
    for (step, second) in steps[1..].iter().zip(start..) {
        let nodes: Vec<NodeId> = round.nodes().map(|node| node.id).collect();
        let endpoints: Vec<NodeId> = round.endpoints().collect();
        let one = nodes[step.who.index(nodes.len())];
        let tails = if endpoints.is_empty() { vec![one] } else { endpoints };
        let text = &*step.text;
        let new = match step.what {
            0 => NewNode::new(NodeBody::state(text), tails).edge("triggers"),
            1 => NewNode::new(NodeBody::action(text, serde_json::json!({"a": text})), [one])
                .edge("triggers")
                .append(),
            2 => NewNode::new(NodeBody::action(text, serde_json::json!([text])), tails)
                .edge("triggers"),
            3 => NewNode::new(NodeBody::table(text), [one]).edge("produces"),
            4 => NewNode::new(NodeBody::response(text), [one]),
            5 => NewNode::new(NodeBody::state(text), tails).edge("has_conclusion").close(),
            6 => {
                let done = Changes::new().set("output", text).describe(text);
                let _ = round.change(one, &done, Some(text.into()), at(second));
                continue;
            }
            7 => {
                let target = earlier.and_then(|earlier| earlier.nodes().last().cloned());
                let target = target.unwrap_or_else(|| round.node(one).unwrap().clone());
                let _ = round.refer(tails[0], &target, at(second));
                continue;
            }
            _ => {
                let _ = round.remove(one, Default::default(), at(second));
                if round.query().is_none() {
                    return round;
                }
                continue;
            }
        };
        let new = if text.is_empty() { new } else { new.label(text).describe(text) };
        let _ = round.add(new.measure(thought(second, second + 1, 7)), at(second));
    }
    round
}

/// Sessions of two rounds and a sub-agent that any node of the first round called.
pub(crate) fn sessions() -> impl Strategy<Value = SessionGraph> {
    (steps(), steps(), steps(), any::<prop::sample::Index>()).prop_map(
        |(first, second, sub, caller)| {
            let first = built(Round::new(agent(0).round(0), at(0)), &first, None, 0);
            let second = built(Round::new(agent(0).round(3), at(50)), &second, Some(&first), 50);
            let below = Round::new(agent(1).round(1), at(20));
            let callers: Vec<NodeId> = first.nodes().map(|node| node.id).collect();
            let below = match callers.is_empty() {
                true => below,
                false => {
                    below.below(ParentNode { agent: 0, node: callers[caller.index(callers.len())] })
                }
            };
            let sub = built(below, &sub, None, 20);
            of_rounds([vec![first, second], vec![sub]])
        },
    )
}
