//! Cases about rounds of trajectories: commits are recorded once, whole, and per user.

use context_core::Timestamp;
use context_core::store::RecordOutcome;
use context_core::trajectory::{
    AgentRef, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, NodeRemoval, RoundState,
};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::same;
use crate::round_fixture::{RoundFixture, same_round};
use crate::verdict::Check;
use context_simulator::Random;

cases!("rounds":
    created_by_its_first_commit if Trajectories,
    later_commits_go_on_with_it if Trajectories,
    a_stale_commit_is_a_conflict if Trajectories,
    a_repeated_commit_is_replayed if Trajectories,
    a_commit_without_changes_is_one if Trajectories,
    versions_are_kept_in_order if Trajectories,
    removed_nodes_take_their_edges if Trajectories,
    edges_keep_their_order if Trajectories,
    references_to_earlier_rounds_stay if Trajectories,
    ranges_give_the_rounds_in_them if Trajectories,
    users_sessions_and_agents_are_apart if Trajectories,
    namespaces_are_apart if Trajectories,
    need_no_chat if Trajectories,
    random_rounds_come_back if Trajectories,
    there_after_opening_again if Durable,
    seen_through_another_handle if SecondHandle,
);

async fn created_by_its_first_commit(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    same(
        "a round before its first commit",
        &fixture.load(round_fixture.reference()).await?,
        &None,
    )?;
    let query = round_fixture.ask("why?")?;
    let call = NewNode::new(NodeBody::action("search", r#"{"q":"why"}"#), [query]).label("call_1");
    let call = round_fixture.add(call.author("ada").describe("looks it up"))?;
    round_fixture.file(call, "found.csv")?;
    round_fixture.record().await?;
    round_fixture.matches_model("its first commit").await?;
    // A first commit may also just begin the round.
    let mut empty = fixture.round("s", 1).below(0, query);
    empty.record().await?;
    empty.matches_model("a commit without nodes").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn later_commits_go_on_with_it(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.asked("s", 0).await?;
    let mut last = round_fixture.query();
    for i in 0..12 {
        let call = NewNode::new(NodeBody::action(format!("tool {i}"), "{}"), [last]);
        last = round_fixture.add(if i == 0 { call } else { call.edge("triggers") })?;
        round_fixture.change(
            last,
            &Changes::new().set("output", serde_json::json!({"n": i})).set("success", true),
        )?;
        round_fixture.record().await?;
        round_fixture.matches_model("one commit more").await?;
    }
    round_fixture.set_state(RoundState::Closed);
    round_fixture.record().await?;
    round_fixture.matches_model("its end").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn a_stale_commit_is_a_conflict(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let conflict = |actual| RecordOutcome::Conflict { actual };
    let mut absent = fixture.round("s", 7);
    absent.ask("too late")?;
    absent.round.committed();
    let commit = absent.commit();
    same("a commit behind one that was never made", &fixture.record(&commit).await?, &conflict(0))?;
    same("the round then", &fixture.load(absent.reference()).await?, &None)?;

    let mut round_fixture = fixture.asked("s", 0).await?;
    let query = round_fixture.query();
    let mut other = round_fixture.clone();
    round_fixture.conclude(query, "one")?;
    round_fixture.record().await?;
    other.conclude(query, "two")?;
    let mut late = other.commit();
    late.key = "another".into();
    same("a commit behind another one", &fixture.record(&late).await?, &conflict(2))?;
    round_fixture.matches_model("a conflict").await?;
    let mut anew = fixture.round("s", 0);
    anew.ask("from the start")?;
    let mut anew = anew.commit();
    anew.key = "anew".into();
    same("a round created again", &fixture.record(&anew).await?, &conflict(2))?;
    round_fixture.matches_model("it was created again").await?;
    let mut early = round_fixture.clone();
    early.conclude(query, "three")?;
    early.round.committed();
    let early = early.commit();
    same("a commit two ahead", &fixture.record(&early).await?, &conflict(2))?;
    round_fixture.matches_model("a commit two ahead").await?;
    round_fixture.conclude(query, "three")?;
    round_fixture.record().await?;
    round_fixture.matches_model("conflicts").await
}

async fn a_repeated_commit_is_replayed(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    let first = round_fixture.record().await?;
    for _ in 0..2 {
        same("the first commit again", &fixture.record(&first).await?, &RecordOutcome::Replayed)?;
        round_fixture.matches_model("its first commit came twice").await?;
    }
    let leaf = round_fixture.conclude(query, "because")?;
    round_fixture.change(leaf, &Changes::new().set("content", "therefore"))?;
    let second = round_fixture.record().await?;
    same("the second commit again", &fixture.record(&second).await?, &RecordOutcome::Replayed)?;
    round_fixture.matches_model("its second commit came twice").await?;
    let stale = RecordOutcome::Conflict { actual: 2 };
    same("the first commit after the second", &fixture.record(&first).await?, &stale)?;
    let mut renamed = second.clone();
    renamed.key = "somebody else's".into();
    same("the same under another key", &fixture.record(&renamed).await?, &stale)?;
    round_fixture.matches_model("old commits came again").await?;
    round_fixture.remove(leaf, NodeRemoval::Leaf)?;
    let third = round_fixture.record().await?;
    same("a removal again", &fixture.record(&third).await?, &RecordOutcome::Replayed)?;
    round_fixture.matches_model("a removal came twice").await
}

async fn a_commit_without_changes_is_one(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.asked("s", 0).await?;
    for state in [RoundState::Interrupted, RoundState::Open, RoundState::Closed] {
        round_fixture.set_state(state);
        round_fixture.record().await?;
        round_fixture.matches_model("a change of its state").await?;
    }
    let at = round_fixture.at();
    let item = context_core::trajectory::QueueItem::new("plan");
    same(
        "putting a step into a queue",
        &round_fixture.round.queues_mut(at).todo.push(item),
        &true,
    )?;
    round_fixture.record().await?;
    round_fixture.matches_model("a step was put into a queue").await?;
    let at = round_fixture.at();
    let _step = round_fixture.round.queues_mut(at).todo.pop();
    round_fixture.record().await?;
    round_fixture.matches_model("it was taken out").await
}

async fn versions_are_kept_in_order(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    let call = round_fixture.add(NewNode::new(NodeBody::action("search", "{}"), [query]))?;
    round_fixture.record().await?;
    let mut measures = Measures::default();
    for i in 0..8u64 {
        measures.input_tokens = Some(i);
        let output = serde_json::json!([i, "é"]);
        let changes =
            Changes::new().set("output", output).describe(format!("{i}")).measure(&measures);
        round_fixture.change(call, &changes)?;
        if i % 3 == 0 {
            round_fixture.change(query, &Changes::new().set("raw_user_query", format!("{i}")))?;
        }
        // Includes several versions of one node in one commit.
        if i % 2 == 0 {
            round_fixture.record().await?;
            round_fixture.matches_model("changes of fields").await?;
        }
    }
    round_fixture.record().await?;
    round_fixture.matches_model("all changes of fields").await
}

async fn removed_nodes_take_their_edges(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    let states: Vec<_> =
        (0..4).map(|i| round_fixture.conclude(query, &format!("{i}"))).collect::<Check<_>>()?;
    let below = round_fixture.conclude(states[1], "below")?;
    round_fixture.connect(states[0], below, "also")?;
    let file = round_fixture.file(states[2], "made.csv")?;
    round_fixture.record().await?;
    for (label, node, removal) in [
        ("splicing", states[1], NodeRemoval::Splice),
        ("removing a leaf", states[3], NodeRemoval::Leaf),
        ("removing a branch", states[2], NodeRemoval::Cascade),
    ] {
        round_fixture.remove(node, removal)?;
        round_fixture.record().await?;
        round_fixture.matches_model(label).await?;
    }
    same("whether the branch went whole", &round_fixture.round.node(file).is_none(), &true)?;
    // A node added and removed within one commit, with an edge.
    let gone = round_fixture.conclude(below, "gone at once")?;
    round_fixture.remove(gone, NodeRemoval::Leaf)?;
    round_fixture.record().await?;
    round_fixture.matches_model("a node came and went").await?;
    round_fixture.remove(query, NodeRemoval::Cascade)?;
    round_fixture.record().await?;
    round_fixture.matches_model("removing all").await?;
    round_fixture.ask("anew")?;
    round_fixture.record().await?;
    round_fixture.matches_model("asking anew").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn edges_keep_their_order(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = fixture.round("s", 0);
    let query = round_fixture.ask("why?")?;
    let nodes: Vec<_> =
        (0..12).map(|i| round_fixture.conclude(query, &format!("{i}"))).collect::<Check<_>>()?;
    round_fixture.record().await?;
    // Ordered neither by their ends nor by their names.
    for (from, to, name) in
        [(5, 9, "b"), (2, 11, "a"), (5, 9, "a"), (2, 3, "c"), (0, 10, "b"), (0, 2, "é")]
    {
        round_fixture.connect(nodes[from], nodes[to], name)?;
        if from == 2 {
            round_fixture.record().await?;
        }
    }
    round_fixture.record().await?;
    round_fixture.matches_model("connecting").await?;
    round_fixture.remove(nodes[11], NodeRemoval::Leaf)?;
    round_fixture.connect(nodes[1], nodes[10], "z")?;
    round_fixture.record().await?;
    round_fixture.matches_model("removing a node between").await
}

async fn references_to_earlier_rounds_stay(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut first = fixture.round("s", 0);
    let query = first.ask("first")?;
    let file = first.file(query, "data.csv")?;
    first.record().await?;
    let data = first.round.node(file).cloned().expect("it was added");
    let mut second = fixture.asked("s", 1).await?;
    let query = second.query();
    let call = second.add(NewNode::new(NodeBody::action("read", "{}"), [query]))?;
    second.refer(call, &data)?;
    second.record().await?;
    let own = second.file(query, "own.csv")?;
    let own = second.round.node(own).cloned().expect("it was added");
    second.refer(call, &own)?;
    second.refer(query, &data)?;
    second.record().await?;
    second.matches_model("references to an earlier round").await?;
    // The target of a reference may be removed. The reference still tells that it existed.
    first.remove(file, NodeRemoval::Leaf)?;
    first.record().await?;
    second.matches_model("what it refers to was removed").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn ranges_give_the_rounds_in_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for round in [10, 2, 0, 9, 1, 100] {
        fixture.asked("s", round).await?;
    }
    let agent = fixture.agent("s");
    for (range, expected) in [
        (0..=u32::MAX, vec![0, 1, 2, 9, 10, 100]),
        (1..=9, vec![1, 2, 9]),
        (2..=2, vec![2]),
        (3..=8, vec![]),
        (11..=u32::MAX, vec![100]),
        (u32::MAX..=u32::MAX, vec![]),
        #[allow(
            clippy::reversed_empty_ranges,
            reason = "whoever computes a range may come to one"
        )]
        (9..=1, vec![]),
    ] {
        let seen = fixture.trajectories()?.load_rounds(&agent, range.clone()).await?;
        let seen: Vec<_> = seen.iter().map(|record| record.head.round.round).collect();
        same(format!("the rounds of {range:?}"), &seen, &expected)?;
    }
    let nobody = fixture.trajectories()?.load_rounds(&fixture.agent("other"), 0..=u32::MAX).await?;
    same("the rounds of a session without any", &nobody.len(), &0)
}

async fn users_sessions_and_agents_are_apart(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut diaries = Vec::new();
    for (user, session, agent) in [
        ("ada", "s", 0),
        ("ada", "s", 1),
        ("ada", "s", 10),
        ("ada", "S", 0),
        ("ada", "s ", 0),
        ("ada", "s:0", 0),
        ("ada", "s/1", 0),
        ("ada", "é\u{0}", 0),
        ("ada:s", "0", 0),
        ("ADA", "s", 0),
        ("ada ", "s", 1),
        ("bob", "s", 0),
    ] {
        for round in [0, 1] {
            let mut round_fixture =
                RoundFixture::new(&fixture, AgentRef::new(user, session, agent).round(round));
            let query = round_fixture.ask(&format!("{user}, {session}, {agent}, {round}"))?;
            round_fixture.conclude(query, "the same everywhere")?;
            round_fixture.record().await?;
            diaries.push(round_fixture);
        }
    }
    for (i, round_fixture) in diaries.iter_mut().enumerate() {
        let query = round_fixture.query();
        round_fixture.change(query, &Changes::new().set("query", format!("changed {i}")))?;
        round_fixture.conclude(query, "more")?;
        round_fixture.record().await?;
    }
    for round_fixture in &diaries {
        round_fixture.matches_model("others were written").await?;
        let agent = &round_fixture.reference().agent;
        let all = fixture.trajectories()?.load_rounds(agent, 0..=u32::MAX).await?;
        same(format!("how many rounds {agent:?} has"), &all.len(), &2)?;
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn namespaces_are_apart(case: &CaseContext) -> Check {
    let (one, two) = (case.fixture_in("one").await?, case.fixture_in("two").await?);
    let mut round_fixture = one.asked("s", 0).await?;
    same("the other namespace", &two.load(round_fixture.reference()).await?, &None)?;
    two.asked("s", 0).await?;
    round_fixture.set_state(RoundState::Closed);
    round_fixture.record().await?;
    round_fixture.matches_model("the same in another namespace").await
}

async fn need_no_chat(case: &CaseContext) -> Check {
    let fixture = ChatFixture::new(case.open("bare").await?, "nobody yet", "none");
    let mut round_fixture = fixture.round("s", 0);
    round_fixture
        .asks(NewQuery::new("why?").message(MessageLink::new("a chat that is not there", "m")))?;
    round_fixture.record().await?;
    round_fixture.matches_model("a commit of a user without chats").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn random_rounds_come_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for n in 0..u64::from(case.settings.sequences.div_ceil(4)) {
        let seed = case.settings.seed.wrapping_add(n);
        let mut random = Random::new(seed);
        let mut round_fixture = fixture.round(&format!("s{n}"), 2);
        for i in 0..10 {
            round_fixture.live(&mut random);
            let did = format!("commit {i} of seed {seed:#x}");
            let commit = round_fixture.record().await?;
            if random.one_in(4) {
                same(
                    format!("{did} again"),
                    &fixture.record(&commit).await?,
                    &RecordOutcome::Replayed,
                )?;
            }
            round_fixture.matches_model(&did).await?;
        }
    }
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn there_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    fixture.trajectories()?;
    let mut random = Random::new(case.settings.seed);
    let mut round_fixture = fixture.round("s", 1);
    let mut last = round_fixture.commit();
    fixture.record(&last).await.map(drop)?;
    for _ in 0..6 {
        round_fixture.live(&mut random);
        last = round_fixture.record().await?;
    }
    let round = round_fixture.round.clone();
    drop((fixture, round_fixture));
    let mut round_fixture =
        RoundFixture::of(&ChatFixture::new(case.reopen("durable").await?, "ada", "chat"), round);
    round_fixture.matches_model("opening again").await?;
    same(
        "the last commit again",
        &round_fixture.fixture.record(&last).await?,
        &RecordOutcome::Replayed,
    )?;
    round_fixture.set_state(RoundState::Closed);
    round_fixture.record().await?;
    round_fixture.matches_model("going on after that").await
}

async fn seen_through_another_handle(case: &CaseContext) -> Check {
    let one = case.fixture_in("two").await?;
    one.trajectories()?;
    let two = one.through(case.second_handle("two").await?);
    let mut round_fixture = one.asked("s", 0).await?;
    let mut random = Random::new(case.settings.seed);
    for i in 0..12 {
        let (writer, reader) = if i % 2 == 0 { (&one, &two) } else { (&two, &one) };
        round_fixture.fixture = writer.clone();
        round_fixture.live(&mut random);
        round_fixture.round.set_state(RoundState::Open, Timestamp::from_micros(i));
        round_fixture.record().await?;
        let seen = reader.load(round_fixture.reference()).await?;
        let seen = seen
            .ok_or_else(|| crate::verdict::Stop::Fail("the other handle sees no round".into()))?;
        same_round("a commit through another handle", &seen, &round_fixture.round.to_record())?;
    }
    Ok(())
}
