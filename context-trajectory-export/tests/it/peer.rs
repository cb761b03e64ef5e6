//! Files of DataGallery's dataagent.

use context_core::Timestamp;
use context_core::store::TrajectoryStore;
use context_core::trajectory::{
    AgentRef, Changes, Edge, NewNode, NewQuery, NodeBody, Round, RoundRecord, RoundRef, RoundState,
    TrajectoryNodeKind,
};
use context_trajectory::{BridgeFrom, FileChannel, Trajectory};
use context_trajectory_export::peer::{
    Generation, Omission, Problem, export_folder, export_round, import_folder, import_round,
};
use proptest::prelude::*;

const AT: Timestamp = Timestamp::from_micros(7);

fn reference(round: u32) -> RoundRef {
    AgentRef::main("ada", "s").round(round)
}

/// Imports a graph and its pointers. Returns the round and the findings as lines.
fn import(graph: &str, pointers: Option<&str>) -> (RoundRecord, Vec<String>) {
    let import = import_round(&reference(0), graph, pointers, AT);
    let record = import.round.expect("a graph");
    Round::from_record(record.clone()).expect("a sound round");
    (record, import.findings.iter().map(ToString::to_string).collect())
}

fn edges(record: &RoundRecord) -> Vec<String> {
    let title = |id: &_| record.nodes.iter().find(|node| node.id == *id).unwrap().title();
    let line = |Edge { from, to, name }: &Edge| format!("{} {name} {}", title(from), title(to));
    record.edges.iter().map(line).collect()
}

fn titles(record: &RoundRecord) -> Vec<String> {
    record.nodes.iter().map(|node| node.title().to_string()).collect()
}

/// A file of the first version, with `links` and states that have only text.
const FIRST: &str = r#"{
    "directed": true, "multigraph": false, "graph": {},
    "nodes": [
        {"node_type": "Query", "description": "User query No.00000", "query": "alpha", "additional_files": [], "run_id": 0, "id": "Query(query00000)"},
        {"node_type": "State", "description": "", "run_id": 0, "state": "think", "id": "State(state00000)"},
        {"node_type": "Action", "description": "", "run_id": 0, "action": "look", "params": {"b": 1.50, "a": NaN}, "output": "r", "success": true, "id": "Action(call_1)"},
        {"node_type": "File", "description": null, "run_id": 0, "path": "/a.md", "source": "look", "id": "File(file00007)"}
    ],
    "links": [
        {"edge_type": "has_conclusion", "source": "Query(query00000)", "target": "State(state00000)"},
        {"edge_type": "triggers", "source": "State(state00000)", "target": "Action(call_1)"},
        {"edge_type": "produces", "source": "Action(call_1)", "target": "File(file00007)"}
    ]
}"#;

#[test]
fn both_generations_come_to_the_same_graph() {
    let second = FIRST
        .replace("\"links\"", "\"edges\"")
        .replace("\"state\": \"think\"", r#""content": "think", "reasoning_content": "", "goal": "", "belief": "", "action_history": "", "current_status": "", "available_actions": "", "feedback": "", "uncentainty": """#)
        .replace("\"additional_files\": []", "\"additional_files\": [], \"raw_user_query\": \"\"");
    let pointers =
        r#"{"initial_pt": "Query(query00000)", "current_pt": ["Action(call_1)"], "messages": {}}"#;
    let (older, found) = import(FIRST, Some(pointers));
    let (newer, _) = import(&second, Some(pointers));
    assert_eq!(older, newer);
    assert_eq!(found, ["1 numbers without a JSON form, such as NaN, became texts"]);
    assert_eq!(
        titles(&older),
        ["Query(query00000)", "State(state00000)", "Action(call_1)", "File(file00007)"]
    );
    assert_eq!(edges(&older).len(), 3);
    let head = &older.head;
    assert_eq!(
        (head.query, &*head.endpoints, &*head.title, head.state),
        (Some(0), &[2][..], "alpha", RoundState::Closed)
    );
    assert_eq!(
        head.numbers[TrajectoryNodeKind::File as usize],
        8,
        "numbers go on behind the labels that are there"
    );
    let params = older.nodes[2].body.get("params").unwrap().to_json();
    assert_eq!(params.as_str(), r#"{"b":1.50,"a":"NaN"}"#);
}

#[test]
fn labels_with_parentheses_are_restored() {
    let labels = ["revenue(USD)", ")(", "()", "a \"b\"\n", "é("];
    let mut round = Round::new(reference(0), AT);
    let (query, _) = round.ask(NewQuery::new("alpha"), AT).unwrap();
    for label in labels {
        let node =
            NewNode::new(NodeBody::knowledge("rule", "x"), [query]).edge("generates").label(label);
        round.add(node, AT).unwrap();
    }
    let export = export_round(&round.to_record(), Generation::Second);
    let (record, found) = import(&export.graph, Some(&export.pointers));
    let read: Vec<&str> = record.nodes[1..].iter().map(|node| &*node.label).collect();
    assert_eq!((read, found), (labels.to_vec(), Vec::new()));
}

/// Typical results of manual edges: a cycle, and an end that was never added.
#[test]
fn cycles_and_lost_ends_go_and_are_told() {
    let node = |name: &str, fields: &str| {
        let kind = name.split('(').next().unwrap();
        format!(
            r#"{{"node_type": "{kind}", "description": "", "run_id": 0, {fields}, "id": "{name}"}}"#
        )
    };
    let edge = |from: &str, to: &str, name: &str| {
        format!(r#"{{"edge_type": "{name}", "source": "{from}", "target": "{to}"}}"#)
    };
    let nodes = [
        node("Query(q)", r#""query": "alpha", "additional_files": []"#),
        node("Action(a)", r#""action": "look", "params": {}, "output": 1, "success": "yes""#),
        node("Action(a)", r#""action": "again", "params": {}"#),
        node("Ghost(1)", r#""x": 1"#),
        node("Query(r)", r#""query": "beta""#),
        node("Skill(s)", r#""way": "/s""#),
        "7".to_owned(),
    ];
    let links = [
        edge("Action(a)", "Query(q)", "loop"),
        edge("Ghost(1)", "Query(q)", "x"),
        edge("Query(q)", "Action(a)", "triggers"),
        edge("Query(q)", "Action(a)", "triggers"),
        edge("Action(a)", "Action(a)", "self"),
        edge("Query(q)", "Query(r)", "continues_to"),
        edge("Action(a)", "Skill(s)", "generates").replace('}', r#", "weight": 2}"#),
        r#"{"source": "Query(q)"}"#.to_owned(),
    ];
    let graph = format!(
        r#"{{"nodes": [{}], "edges": [{}], "graph": {{"name": "x"}}}}"#,
        nodes.join(","),
        links.join(",")
    );
    let pointers = r#"{"initial_pt": "Gone(x)", "current_pt": ["Action(a)", "State(x)"], "messages": {"pending_branch": {}}}"#;
    let (record, found) = import(&graph, Some(pointers));
    assert_eq!(edges(&record), ["Query(q) triggers Action(a)", "Action(a) generates Skill(s)"]);
    insta::assert_snapshot!(found.join("\n"), @r#"
    unknown entry "graph"
    unknown entry "messages"
    success of Action(a) has another form
    Action(a) occurs twice
    Ghost(1) is of no known type
    Skill(s) has the unknown attribute "way"
    Skill(s) has no path, which a Skill has
    vertex 6 has no name
    2 questions in one round
    a pointer to Gone(x), which does not exist
    the edge "x" from Ghost(1) to Query(q) has an end that does not exist
    the edge "triggers" from Query(q) to Action(a) occurs twice
    the bridge from Query(q) to Query(r) is derived
    the edge from Action(a) to Skill(s) has the unknown attribute "weight"
    edge 7 is not an edge
    the edge "loop" from Action(a) to Query(q) closes a cycle
    the edge "self" from Action(a) to Action(a) closes a cycle
    a pointer to State(x), which does not exist
    "#);
}

#[test]
fn what_is_left_out_is_in_the_findings_and_not_in_their_debug() {
    let graph = FIRST.replace("\"success\": true", "\"success\": true, \"secret\": [\"hush\"]");
    let import = import_round(&reference(0), &graph, None, AT);
    let kept = import.findings.iter().find_map(|finding| match &finding.problem {
        Problem::UnknownAttribute { name, value, .. } => Some((name.as_str(), value.as_str())),
        _ => None,
    });
    assert_eq!(kept, Some(("secret", r#"["hush"]"#)));
    assert!(!format!("{:?}", import.findings).contains("hush"));
}

#[test]
fn half_a_file_is_nothing_and_is_told() {
    // As a kill during a write leaves it.
    for cut in 0..FIRST.len() {
        let import = import_round(&reference(0), &FIRST[..cut], None, AT);
        assert!(import.round.is_none() && import.commits().is_empty());
        assert!(matches!(&import.findings[..],
                [finding] if matches!(finding.problem, Problem::Unreadable { .. })));
    }
}

fn session() -> Vec<RoundRecord> {
    let mut round = Round::new(reference(0), AT);
    let (query, _) = round.ask(NewQuery::new("why \"é\"?").files(["/a.csv"]), AT).unwrap();
    let (state, _) = round.add(NewNode::new(NodeBody::state("think"), [query]), AT).unwrap();
    let action = NodeBody::action("look", serde_json::json!({"n": [1, {}]}));
    let (action, _) = round.add(NewNode::new(action, [state]).label("call_1"), AT).unwrap();
    round
        .change(action, &Changes::new().set("output", "seen").set("success", true), None, AT)
        .unwrap();
    let (table, _) =
        round.add(NewNode::new(NodeBody::table("/t.csv"), [action]).edge("produces"), AT).unwrap();
    round
        .add(
            NewNode::new(NodeBody::column("/t.csv"), [table]).edge("has_column").label("price"),
            AT,
        )
        .unwrap();
    round.add(NewNode::new(NodeBody::response("because"), [action]), AT).unwrap();
    let earlier = round.node(table).unwrap().clone();
    let mut next = Round::new(reference(1), AT).continuing(&round.head());
    let (query, _) = next.ask(NewQuery::new("and?"), AT).unwrap();
    let (again, _) = next.add(NewNode::new(NodeBody::action("look", "{}"), [query]), AT).unwrap();
    next.refer(again, &earlier, AT).unwrap();
    vec![round.to_record(), next.to_record()]
}

#[test]
fn an_export_is_what_that_program_writes() {
    let records = session();
    let export = export_round(&records[0], Generation::Second);
    insta::assert_snapshot!(export.graph, @r#"
    {
        "directed": true,
        "multigraph": false,
        "graph": {},
        "nodes": [
            {
                "node_type": "Query",
                "description": "User query No.00000",
                "query": "why \"é\"?",
                "additional_files": [
                    "/a.csv"
                ],
                "raw_user_query": "",
                "run_id": 0,
                "id": "Query(query00000)"
            },
            {
                "node_type": "State",
                "description": "",
                "run_id": 0,
                "content": "think",
                "reasoning_content": "",
                "goal": "",
                "belief": "",
                "action_history": "",
                "current_status": "",
                "available_actions": "",
                "feedback": "",
                "uncentainty": "",
                "id": "State(state00000)"
            },
            {
                "node_type": "Action",
                "description": "",
                "run_id": 0,
                "action": "look",
                "params": {
                    "n": [
                        1,
                        {}
                    ]
                },
                "output": "seen",
                "success": true,
                "id": "Action(call_1)"
            },
            {
                "node_type": "Table",
                "description": "",
                "run_id": 0,
                "path": "/t.csv",
                "id": "Table(table00000)"
            },
            {
                "node_type": "Column",
                "description": "",
                "run_id": 0,
                "from_table": "/t.csv",
                "values": null,
                "supplementary_schemas": {},
                "id": "Column(price)"
            },
            {
                "node_type": "Response",
                "description": "",
                "run_id": 0,
                "response": "because",
                "reasoning_content": "",
                "id": "Response(response00000)"
            }
        ],
        "edges": [
            {
                "edge_type": "has_conclusion",
                "source": "Query(query00000)",
                "target": "State(state00000)"
            },
            {
                "edge_type": "triggers",
                "source": "State(state00000)",
                "target": "Action(call_1)"
            },
            {
                "edge_type": "produces",
                "source": "Action(call_1)",
                "target": "Table(table00000)"
            },
            {
                "edge_type": "has_response",
                "source": "Action(call_1)",
                "target": "Response(response00000)"
            },
            {
                "edge_type": "has_column",
                "source": "Table(table00000)",
                "target": "Column(price)"
            }
        ]
    }
    "#);
    insta::assert_snapshot!(export.pointers, @r#"
    {
        "initial_pt": "Query(query00000)",
        "current_pt": [
            "Action(call_1)"
        ],
        "messages": {}
    }
    "#);
    assert_eq!(export.left_out, []);
    let first = export_round(&records[0], Generation::First);
    assert_eq!(first.left_out, [Omission::Kind { node: "Response(response00000)".into() }]);
    assert!(first.graph.contains("\"links\": [") && first.graph.contains("\"state\": \"think\""));
}

#[tokio::test]
async fn a_session_goes_there_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let records = session();
    let export = export_folder(folder.path(), &records, Generation::Second).unwrap();
    let lost: Vec<String> =
        export.left_out.iter().map(|(round, what)| format!("{}: {what}", round.round)).collect();
    assert_eq!(
        (export.rounds, &*lost),
        (2, &["1: Action(action00001) refers to 0.3, which is of another round".to_owned()][..])
    );
    std::fs::write(folder.path().join("messages.json"), "{").unwrap();
    std::fs::write(folder.path().join("Run5_Sub2.meta.json"), "{}").unwrap();
    std::fs::write(folder.path().join("Run6_Sub0.json"), "{\"nodes\"").unwrap();
    let import = import_folder(folder.path(), "ada", "s", AT).unwrap();
    let files: Vec<&str> = import.findings.iter().map(|finding| finding.file.as_str()).collect();
    assert_eq!(files, ["Run6_Sub0.json", "Run5_Sub2.meta.json"]);

    // Storing twice has the effect of storing once.
    let root = tempfile::tempdir().unwrap();
    let store = FileChannel::new(root.path());
    assert_eq!(import.store(&store).await.unwrap(), []);
    assert_eq!(import.store(&store).await.unwrap(), []);
    let stored = store.load_rounds(&AgentRef::main("ada", "s"), 0..=9).await.unwrap();
    assert_eq!(stored, import.rounds);
    for (stored, record) in stored.iter().zip(&records) {
        assert_eq!(titles(stored), titles(record));
        assert_eq!(stored.head.endpoints, record.head.endpoints);
        assert!(
            stored
                .nodes
                .iter()
                .zip(&record.nodes)
                .all(|(new, old)| new.body == old.body && new.description == old.description)
        );
    }
    // In an export, edges are ordered by source.
    let sorted = |record| {
        let mut edges = edges(record);
        edges.sort();
        edges
    };
    assert_eq!(sorted(&stored[0]), sorted(&records[0]));
    let rounds = stored.into_iter().map(|record| Round::from_record(record).unwrap().into());
    let trajectory = Trajectory::new(rounds, BridgeFrom::Endpoints);
    assert_eq!(trajectory.bridges().len(), 1, "rounds are bridged as ever");
    // A different round with the same number stays.
    let mut other = Round::new(reference(0), AT);
    other.ask(NewQuery::new("other"), AT).unwrap();
    let folder = tempfile::tempdir().unwrap();
    export_folder(folder.path(), &[other.to_record()], Generation::First).unwrap();
    let import = import_folder(folder.path(), "ada", "s", AT).unwrap();
    assert_eq!(import.store(&store).await.unwrap(), [reference(0)]);
}

#[test]
fn a_round_too_large_for_one_commit_is_several() {
    let nodes = (0..10_100).map(|number| format!(r#"{{"id": "Skill(s{number})", "path": "/"}}"#));
    let edges = (1..10_100).map(|number| {
        format!(
            r#"{{"source": "Skill(s0)", "target": "Skill(s{number})", "edge_type": "generates"}}"#
        )
    });
    let graph = format!(
        r#"{{"nodes": [{}], "edges": [{}]}}"#,
        nodes.collect::<Vec<_>>().join(","),
        edges.collect::<Vec<_>>().join(",")
    );
    let import = import_round(&reference(0), &graph, None, AT);
    let commits = import.commits();
    assert_eq!(commits.len(), 3);
    let mut record = RoundRecord::new(commits[0].head.clone(), Vec::new(), Vec::new());
    for commit in &commits {
        commit.check().unwrap();
        record.apply(&commit.changes, &commit.head).unwrap();
        Round::from_record(record.clone()).unwrap();
    }
    record.head.revision = 1;
    assert_eq!(Some(record), import.round);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Any vertices and edges, however malformed, give a sound round that a store accepts.
    #[test]
    fn whatever_is_in_a_file_comes_to_a_sound_round(
        nodes in prop::collection::vec(("(Query|State|Action|File|Ghost|x)?[(]?[a-c]?[)]{0,2}",
            0..6_usize), 0..12),
        edges in prop::collection::vec((0..14_usize, 0..14_usize, "(triggers|refers_to|continues_to|)"), 0..30),
        list in prop_oneof![Just("edges"), Just("links")],
    ) {
        let kinds = ["Query", "State", "Action", "File", "Ghost", ""];
        let name = |at: usize| nodes.get(at).map_or("Nobody(x)", |(name, _)| name.as_str());
        let graph = serde_json::json!({
            "nodes": nodes.iter().map(|(name,
                kind)| serde_json::json!({"id": name, "node_type": kinds[*kind],
                "path": 1})).collect::<Vec<_>>(),
            list: edges.iter().map(|(from, to, kind)| {
                serde_json::json!({"source": name(*from), "target": name(*to), "edge_type": kind})
            }).collect::<Vec<_>>(),
        });
        let pointers = serde_json::json!({"initial_pt": name(0),
            "current_pt": [name(1), name(2), name(1)]});
        let import = import_round(&reference(0), &graph.to_string(), Some(&pointers.to_string()),
            AT);
        for commit in import.commits() {
            prop_assert!(commit.check().is_ok());
        }
        let record = import.round.unwrap();
        prop_assert!(Round::from_record(record.clone()).is_ok());
        // The result can be exported and imported without change.
        let again = export_round(&record, Generation::Second);
        let again = import_round(&reference(0), &again.graph, Some(&again.pointers), AT);
        prop_assert_eq!(again.round.unwrap().nodes, record.nodes);
    }
}

/// File names do not contain the session, so a second session would replace the first.
#[test]
fn an_export_never_overwrites_the_files_of_another_session() {
    let folder = tempfile::tempdir().unwrap();
    let round = |session: &str, number: u32, text: &str| {
        let mut round = Round::new(AgentRef::main("ada", session).round(number), AT);
        round.ask(NewQuery::new(text), AT).unwrap();
        round.to_record()
    };
    export_folder(folder.path(), &[round("first", 1, "alpha")], Generation::Second).unwrap();
    let file = folder.path().join("Run1_Sub0.json");
    let before = std::fs::read(&file).unwrap();
    let second = [round("second", 0, "beta"), round("second", 1, "gamma")];
    let error = export_folder(folder.path(), &second, Generation::Second).unwrap_err();
    assert_eq!(error.kind(), context_core::ErrorKind::Invalid);
    assert_eq!(error.get("file"), Some(file.display().to_string().as_str()));
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert!(
        !folder.path().join("Run0_Sub0.json").exists(),
        "nothing is written before it is refused"
    );

    let folder = tempfile::tempdir().unwrap();
    let twice = [round("first", 0, "alpha"), round("second", 0, "beta")];
    let error = export_folder(folder.path(), &twice, Generation::Second).unwrap_err();
    assert_eq!(error.kind(), context_core::ErrorKind::Invalid);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
