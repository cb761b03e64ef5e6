//! Cases about the contents of rounds: they read back unchanged, and excess is refused before
//! anything is written.

use std::sync::Arc;

use context_core::base::{JsonMap, limits};
use context_core::store::RoundCommit;
use context_core::trajectory::{
    AgentRef, Change, Changes, Edge, FieldValue, Measures, MessageLink, NewNode, NodeBody, NodeId,
    Queue, QueueItem, QueueName, RoundHead, TrajectoryNode, TrajectoryNodeKind,
};
use context_core::{ErrorKind, Json, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::expect::{refused, same};
use crate::round_fixture::{JSONS, RoundFixture, TEXTS};
use crate::verdict::Check;

cases!("round_values":
    any_text_comes_back if Trajectories,
    any_name_of_whose_it_is if Trajectories,
    digits_and_keys_of_json_come_back if Trajectories,
    times_measures_and_messages_come_back if Trajectories,
    every_field_of_every_kind_comes_back if Trajectories,
    full_queues_come_back if Trajectories,
    large_values_come_back if Trajectories,
    the_largest_commit_is_accepted if Trajectories,
    bad_commits_are_refused if Trajectories,
    bad_agents_are_refused if Trajectories,
);

async fn any_text_comes_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for (round, text) in (0..).zip(TEXTS) {
        let mut round_fixture = fixture.round("s", round);
        let query = round_fixture.ask(text)?;
        let body = NodeBody::state(*text).with("feedback", *text)?;
        let state = NewNode::new(body, [query]).edge(*text).describe(*text).author(*text);
        let state = round_fixture.add(state.label(format!("{text}.")))?;
        round_fixture
            .add(NewNode::new(NodeBody::action(*text, "{}"), [state]).label(format!("({text})")))?;
        round_fixture.connect(query, state, &format!("{text}?"))?;
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("a commit with {text:?}")).await?;
        round_fixture
            .change(state, &Changes::new().set("goal", *text).describe(format!("{text}!")))?;
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("a change to {text:?}")).await?;
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn any_name_of_whose_it_is(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let long = "é".repeat(limits::MAX_ID_BYTES / 2);
    let mut diaries = Vec::new();
    for name in ["a\u{0}b", "a", "a:b", "a/b", "a{b}", " ", "%", "*", "a'b", "a\"b", "🦀", &long]
    {
        let mut round_fixture =
            RoundFixture::new(&fixture, AgentRef::new(name, name, 2).round(i32::MAX as u32));
        round_fixture.ask(name)?;
        round_fixture.record().await?;
        diaries.push(round_fixture);
    }
    for round_fixture in &diaries {
        round_fixture.matches_model("others were written").await?;
        let heads = fixture
            .heads_of(&context_core::store::RoundQuery::of_agent(&round_fixture.reference().agent))
            .await?;
        same("what is listed", &heads, &vec![round_fixture.round.head()])?;
    }
    Ok(())
}

async fn digits_and_keys_of_json_come_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    for text in JSONS {
        let json = Json::from_text(*text).expect("the table is JSON");
        let body = NodeBody::tool(json.clone(), json.clone());
        let tool = round_fixture.add(NewNode::new(body, [query]).edge("find_relevant_tool"))?;
        let call = round_fixture.add(
            NewNode::new(NodeBody::action("a", json.clone()), [query]).edge("triggers").append(),
        )?;
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("a commit with {text}")).await?;
        round_fixture.change(call, &Changes::new().set("output", json.clone()))?;
        round_fixture
            .change(tool, &Changes::new().set("tool_params", serde_json::json!("other")))?;
        round_fixture.change(tool, &Changes::new().set("tool_params", json.clone()))?;
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("changes to {text}")).await?;
    }
    Ok(())
}

async fn times_measures_and_messages_come_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for (round, micros) in (0..).zip([0, -1, 1, i64::MAX, i64::MIN, 1_700_000_000_123_456]) {
        let at = Timestamp::from_micros(micros);
        let names = context_core::trajectory::EdgeNames::Any;
        let mut round_fixture = fixture.round("s", round);
        round_fixture.round =
            context_core::trajectory::Round::new(round_fixture.reference().clone(), at)
                .edge_names(names);
        let (query, changes) =
            round_fixture.round.ask(context_core::trajectory::NewQuery::new("why?"), at)?;
        round_fixture.pending.extend(changes);
        let mut measures = Measures::default();
        (measures.started_at, measures.ended_at) = (Some(at), Some(at));
        (measures.provider, measures.model) =
            (Some("anthropic".into()), Some("a \u{0} model".into()));
        (measures.input_tokens, measures.output_tokens) = (Some(0), Some(1 << 60));
        (measures.cost_usd, measures.error) = (Some(1.5e-7), Some("timeout".into()));
        let links =
            (0..20u32).map(|i| MessageLink::new(format!("chat {}", i % 3), format!("m{}", 20 - i)));
        let new = NewNode::new(NodeBody::action("a", "{}"), [query]).measure(measures.clone());
        let new = links.fold(new, NewNode::message);
        let (call, changes) = round_fixture.round.add(new, at)?;
        round_fixture.pending.extend(changes);
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("a commit at {micros}")).await?;
        measures.cache_read_tokens = Some(7);
        let changes = Changes::new().measure(&measures).set("success", true);
        round_fixture.pending.extend(round_fixture.round.change(call, &changes, None, at)?);
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("a change at {micros}")).await?;
    }
    Ok(())
}

async fn every_field_of_every_kind_comes_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    round_fixture
        .change(query, &Changes::new().set("additional_files", serde_json::json!(["a", "b"])))?;
    for kind in
        TrajectoryNodeKind::ALL.into_iter().filter(|kind| *kind != TrajectoryNodeKind::Query)
    {
        let value = |i: usize, name: &str| match kind.fields()[i].default {
            Some("false") => FieldValue::from(true),
            _ if kind.fields()[i].form == context_core::trajectory::FieldForm::Json => {
                FieldValue::from(serde_json::json!({"of": name}))
            }
            _ => FieldValue::from(format!("{name} of a {kind}")),
        };
        let values = kind.fields().iter().enumerate().map(|(i, field)| Some(value(i, field.name)));
        let body = NodeBody::from_values(kind, values)?;
        let node = round_fixture.add(NewNode::new(body, [query]).edge("leads to").append())?;
        for field in kind.fields() {
            let other = match field.form {
                context_core::trajectory::FieldForm::Flag => FieldValue::from(false),
                context_core::trajectory::FieldForm::Json => {
                    FieldValue::from(serde_json::json!([field.name]))
                }
                _ => FieldValue::from("changed"),
            };
            round_fixture.change(node, &Changes::new().set(field.name, other))?;
        }
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("a {kind}")).await?;
    }
    Ok(())
}

async fn full_queues_come_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.asked("s", 0).await?;
    for name in QueueName::ALL {
        for i in 0..Queue::CAPACITY {
            let json = Json::from_text(JSONS[i % JSONS.len()]).expect("it is JSON");
            let params = JsonMap::from_iter([(TEXTS[i % TEXTS.len()].to_owned(), json)]);
            let at = round_fixture.at();
            let item = QueueItem { name: format!("{}{i}", TEXTS[i % TEXTS.len()]), params };
            same(
                "whether it fits",
                &round_fixture.round.queues_mut(at).get_mut(name).push(item),
                &true,
            )?;
        }
        round_fixture.record().await?;
        round_fixture.matches_model(&format!("{} was filled", name.as_str())).await?;
    }
    Ok(())
}

async fn large_values_come_back(case: &CaseContext) -> Check {
    const MEGABYTE: usize = 1 << 20;
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let text = "é\u{0}x".repeat(MEGABYTE / 4);
    let query = round_fixture.ask(&text)?;
    let json = Json::from(text.as_str());
    let call = NewNode::new(NodeBody::action("a", json.clone()), [query]).describe(text.as_str());
    let call = round_fixture.add(call)?;
    round_fixture.record().await?;
    round_fixture.matches_model("a megabyte").await?;
    round_fixture.change(
        call,
        &Changes::new().set("output", json).set("params", serde_json::json!({})).describe("short"),
    )?;
    round_fixture.record().await?;
    round_fixture.matches_model("a version of a megabyte").await?;
    let heads = fixture.heads_of(&context_core::store::RoundQuery::of_user("ada")).await?;
    same("the head", &heads, &vec![round_fixture.round.head()])
}

/// Checks a commit with the maximum number of changes, which exceeds the parameters of one SQL
/// statement.
async fn the_largest_commit_is_accepted(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    for i in 1..limits::MAX_COMMIT_ITEMS / 2 {
        round_fixture.conclude(query, &format!("{i}"))?;
    }
    let last = round_fixture.round.nodes().next_back().map_or(query, |node| node.id);
    round_fixture.change(last, &Changes::new().set("goal", "the last change"))?;
    same("how many changes there are", &round_fixture.pending.len(), &limits::MAX_COMMIT_ITEMS)?;
    round_fixture.record().await?;
    round_fixture.matches_model("the largest commit").await
}

/// Builds a commit of one change without validation.
fn unchecked(head: &RoundHead, change: Change) -> RoundCommit {
    let mut head = head.clone();
    (head.revision, head.next) = (head.revision + 1, head.next + 1);
    RoundCommit::new("unchecked", vec![change], head)
}

async fn bad_commits_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let round_fixture = fixture.asked("s", 3).await?;
    let head = round_fixture.round.head();
    let long = "x".repeat(limits::MAX_ID_BYTES + 1);
    let large = "x".repeat(limits::MAX_BODY_BYTES + 1);
    let at = fixture.at();
    let query = NodeId::new(3, 0);
    let node = |id: NodeId, label: &str, body: NodeBody| TrajectoryNode::new(id, label, body, at);
    let added = |node: TrajectoryNode| unchecked(&head, Change::NodeAdded { node: Arc::new(node) });
    let fine = || node(NodeId::new(3, 1), "label", NodeBody::state("x"));
    let connected = |edge: Edge| unchecked(&head, Change::EdgeAdded { edge });
    let whose = |user: &str, session: &str, agent: u32, round: u32| {
        let mut commit = added(fine());
        commit.head.round = AgentRef::new(user, session, agent).round(round);
        commit
    };
    let mut described = fine();
    described.description = large.as_str().into();
    let mut linked = fine();
    linked.messages = vec![MessageLink::new("c", "m"); limits::MAX_PREDECESSORS + 1];
    let mut keyless = added(fine());
    keyless.key = "".into();
    let mut keyed = added(fine());
    keyed.key = long.as_str().into();
    let mut ahead = added(fine());
    ahead.head.revision += 1;
    let mut titled = added(fine());
    titled.head.title = "t".repeat(limits::MAX_TITLE_BYTES + 1).into();
    let mut many = added(fine());
    many.changes = vec![Change::NodeRemoved { id: query }; limits::MAX_COMMIT_ITEMS + 1];
    let (invalid, unknown) = (ErrorKind::Invalid, ErrorKind::NotFound);
    for (label, commit, kind) in [
        ("an empty user", whose("", "s", 0, 3), invalid),
        ("a long user", whose(&long, "s", 0, 3), invalid),
        ("an empty session", whose("ada", "", 0, 3), invalid),
        ("a long session", whose("ada", &long, 0, 3), invalid),
        ("too high an agent", whose("ada", "s", u32::MAX, 3), invalid),
        ("too high a round", whose("ada", "s", 0, u32::MAX), invalid),
        ("an empty key", keyless, invalid),
        ("a long key", keyed, invalid),
        ("a head two revisions on", ahead, invalid),
        ("a long title", titled, invalid),
        ("too many changes", many, invalid),
        ("an empty label", added(node(NodeId::new(3, 1), "", NodeBody::state("x"))), invalid),
        ("a long label", added(node(NodeId::new(3, 1), &long, NodeBody::state("x"))), invalid),
        (
            "a large field",
            added(node(NodeId::new(3, 1), "l", NodeBody::state(large.as_str()))),
            invalid,
        ),
        ("a large description", added(described), invalid),
        ("too many messages", added(linked), invalid),
        (
            "a node of another round",
            added(node(NodeId::new(2, 1), "l", NodeBody::state("x"))),
            unknown,
        ),
        (
            "a node that the head does not count",
            added(node(NodeId::new(3, 9), "l", NodeBody::state("x"))),
            unknown,
        ),
        (
            "an edge from another round",
            connected(Edge::new(NodeId::new(2, 0), query, "e")),
            unknown,
        ),
        ("an edge of a long name", connected(Edge::new(query, query, long.as_str())), invalid),
        (
            "a removal in another round",
            unchecked(&head, Change::NodeRemoved { id: NodeId::new(2, 0) }),
            unknown,
        ),
    ] {
        let saw = fixture.trajectories()?.record_round(&commit).await;
        refused(format!("a commit with {label}"), saw, kind)?;
        round_fixture.matches_model(&format!("a commit with {label}")).await?;
    }
    let others = fixture.heads_of(&context_core::store::RoundQuery::of_user("ada")).await?;
    same("the rounds there are", &others.len(), &1)
}

async fn bad_agents_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let long = "x".repeat(limits::MAX_ID_BYTES + 1);
    for (user, session) in [("", "s"), ("ada", ""), (long.as_str(), "s"), ("ada", long.as_str())] {
        let saw = fixture.trajectories()?.load_rounds(&AgentRef::main(user, session), 0..=1).await;
        refused("loading rounds of a bad name", saw, ErrorKind::Invalid)?;
    }
    Ok(())
}
