//! Tests of the HTML page.

use std::collections::BTreeSet;

use context_core::trajectory::{AgentRef, NewNode, NewQuery, NodeBody, Round};
use context_trajectory::{Selection, SessionGraph};
use context_trajectory_export::write_html;
use proptest::prelude::*;
use serde_json::Value;

use super::scene::{at, hides, of_rounds, session, sessions, written};

pub(crate) fn page(graph: &SessionGraph) -> String {
    written(|out| write_html(graph, out))
}

/// Returns the content of the data element, up to the end that a browser finds.
fn data(page: &str) -> Result<Value, String> {
    let (_, after) = page.split_once("id=\"data\">").ok_or("no data")?;
    let (data, _) = after.split_once("</script").ok_or("no end")?;
    serde_json::from_str(data).map_err(|error| error.to_string())
}

fn corners(value: &Value) -> Option<[i64; 4]> {
    let numbers: Vec<i64> = value["box"].as_array()?.iter().filter_map(Value::as_i64).collect();
    numbers.try_into().ok()
}

fn apart([ax, ay, aw, ah]: [i64; 4], [bx, by, bw, bh]: [i64; 4]) -> bool {
    ax + aw <= bx || bx + bw <= ax || ay + ah <= by || by + bh <= ay
}

fn check(graph: &SessionGraph) -> Result<(), String> {
    let page = page(graph);
    let scripts = page.to_lowercase().matches("</script").count();
    if scripts != 2 || page.contains("<!--") || hides(&page) {
        return Err("a text breaks out of its element".into());
    }
    let data = data(&page)?;
    let of = |name: &str| data[name].as_array().cloned().unwrap_or_default();
    let (nodes, bands) = (of("nodes"), of("bands"));
    let shown: BTreeSet<String> = graph
        .agents()
        .flat_map(|agent| agent.nodes().map(move |node| format!("{}/{}", agent.number(), node.id)))
        .collect();
    let drawn: BTreeSet<String> =
        nodes.iter().filter_map(|node| node["id"].as_str().map(String::from)).collect();
    if shown != drawn || nodes.len() != drawn.len() {
        return Err(format!("shown {shown:?}, drawn {drawn:?}"));
    }
    if of("links").len() != graph.links().count() {
        return Err("links are missing".into());
    }
    let boxes: Vec<_> = nodes.iter().filter_map(corners).collect();
    let bands: Vec<_> = bands.iter().filter_map(corners).collect();
    for boxes in [&boxes, &bands] {
        for (number, one) in boxes.iter().enumerate() {
            if let Some(other) = boxes[..number].iter().find(|other| !apart(*one, **other)) {
                return Err(format!("{one:?} covers {other:?}"));
            }
        }
    }
    let inside = |[x, y, w, h]: &[i64; 4]| {
        bands.iter().any(|band| {
            band[0] <= *x
                && x + w <= band[0] + band[2]
                && band[1] <= *y
                && y + h <= band[1] + band[3]
        })
    };
    if boxes.len() == nodes.len() && boxes.iter().all(inside) {
        Ok(())
    } else {
        Err("a node stands outside its round".into())
    }
}

/// A large session: rounds of branches that fan out and join again, data at each action, an
/// occasional inactive branch.
pub(crate) fn large(nodes: usize) -> SessionGraph {
    let agent = AgentRef::new("anna", "a long session", 0);
    let (mut rounds, mut count, mut time) = (Vec::<Round>::new(), 0, 0);
    while count < nodes {
        let number = u32::try_from(rounds.len()).unwrap();
        let round = Round::new(agent.round(number), at(time));
        let mut round = match rounds.last() {
            Some(before) => round.continuing(&before.head()),
            None => round,
        };
        let (mut last, _) =
            round.ask(NewQuery::new(format!("Question {number}?")), at(time)).unwrap();
        for step in 0..12 {
            let plan = NodeBody::state(format!(
                "Step {step} of round {number}: look at all of them, side by side."
            ));
            let (state, _) = round.add(NewNode::new(plan, [last]), at(time)).unwrap();
            let mut ends = Vec::new();
            for call in 0..4 {
                let action = NodeBody::action(
                    "run_sql",
                    serde_json::json!({"query": format!("select {call}")}),
                );
                let (action, _) =
                    round.add(NewNode::new(action, [state]).append(), at(time)).unwrap();
                let table =
                    NewNode::new(NodeBody::table(format!("out/{step}-{call}.csv")), [action]);
                round.add(table.edge("produces"), at(time)).unwrap();
                ends.push(action);
            }
            ends.truncate(3);
            let end = NewNode::new(NodeBody::state("Three of them agree."), ends);
            (last, _) = round.add(end, at(time)).unwrap();
            time += 1;
        }
        round.add(NewNode::new(NodeBody::response("Done."), [last]), at(time)).unwrap();
        count += round.len();
        rounds.push(round);
    }
    of_rounds([rounds])
}

#[test]
fn everything_is_drawn_and_nothing_covers_another() {
    assert_eq!(check(&session()), Ok(()));
    for selection in [Selection::ActiveBranches, Selection::Round(2), Selection::Round(9)] {
        assert_eq!(check(&session().select(selection).unwrap()), Ok(()), "{selection:?}");
    }
    assert_eq!(check(&large(2000)), Ok(()));
}

/// Elements and styles name everything a browser would fetch; the policy refuses the rest.
#[test]
fn the_page_asks_for_nothing() {
    let page = page(&session());
    let (before, after) = page.split_once("<script type=\"application/json\"").unwrap();
    let (_, script) = after.split_once("</script>").unwrap();
    assert!(
        before
            .contains("default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'")
    );
    for forbidden in
        ["src=", "href=", "@import", "url(", "eval(", "new Function", "fetch(", "innerHTML"]
    {
        let found =
            [before, script].map(|text| text.replace("url(#arrow)", "").contains(forbidden));
        assert_eq!(found, [false, false], "{forbidden}");
    }
}

#[test]
fn the_same_session_is_the_same_page() {
    assert_eq!(page(&session()), page(&session()));
}

/// A number that a browser would round is in the page as it was written.
#[test]
fn what_nodes_hold_is_there_whole() {
    let data = data(&page(&session())).unwrap();
    let nodes = data["nodes"].as_array().unwrap();
    let sql = nodes.iter().find(|node| node["line"] == "run_sql").unwrap();
    let fields = sql["fields"].as_array().unwrap();
    let output = fields.iter().find(|field| field["name"] == "output").unwrap();
    assert_eq!(output["text"], r#"{"rows":[["north",12.5]]}"#);
    assert_eq!(sql["took"]["milliseconds"], 4000);
    assert_eq!(sql["versions"][0]["author"], "executor");
    let dead: Vec<_> =
        nodes.iter().filter(|node| node["active"] == false).map(|node| &node["line"]).collect();
    assert!(dead.iter().any(|line| *line == "guess"), "{dead:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
        ..ProptestConfig::with_cases(64) })]

    #[test]
    fn whatever_a_session_holds_the_page_is_whole(graph in sessions()) {
        prop_assert_eq!(check(&graph), Ok(()));
    }
}
