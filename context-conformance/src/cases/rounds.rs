//! Cases about rounds of trajectories: commits are recorded once, whole, and per user.

use context_core::Timestamp;
use context_core::store::RecordOutcome;
use context_core::trajectory::{
    AgentRef, Changes, Measures, MessageLink, NewNode, NewQuery, NodeBody, Removal, RoundState,
};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::Desk;
use crate::diary::{Diary, same_round};
use crate::expect::same;
use crate::lab::Lab;
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

async fn created_by_its_first_commit(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.diary("s", 0);
    same("a round before its first commit", &desk.load(diary.reference()).await?, &None)?;
    let query = diary.ask("why?")?;
    let call = NewNode::new(NodeBody::action("search", r#"{"q":"why"}"#), [query]).label("call_1");
    let call = diary.add(call.author("ada").describe("looks it up"))?;
    diary.file(call, "found.csv")?;
    diary.record().await?;
    diary.is_kept("its first commit").await?;
    // A first commit may also just begin the round.
    let mut empty = desk.diary("s", 1).below(0, query);
    empty.record().await?;
    empty.is_kept("a commit without nodes").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn later_commits_go_on_with_it(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.asked("s", 0).await?;
    let mut last = diary.query();
    for i in 0..12 {
        let call = NewNode::new(NodeBody::action(format!("tool {i}"), "{}"), [last]);
        last = diary.add(if i == 0 { call } else { call.edge("triggers") })?;
        diary.change(
            last,
            &Changes::new().set("output", serde_json::json!({"n": i})).set("success", true),
        )?;
        diary.record().await?;
        diary.is_kept("one commit more").await?;
    }
    diary.set_state(RoundState::Closed);
    diary.record().await?;
    diary.is_kept("its end").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn a_stale_commit_is_a_conflict(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let conflict = |actual| RecordOutcome::Conflict { actual };
    let mut absent = desk.diary("s", 7);
    absent.ask("too late")?;
    absent.round.committed();
    let commit = absent.commit();
    same("a commit behind one that was never made", &desk.record(&commit).await?, &conflict(0))?;
    same("the round then", &desk.load(absent.reference()).await?, &None)?;

    let mut diary = desk.asked("s", 0).await?;
    let query = diary.query();
    let mut other = diary.clone();
    diary.conclude(query, "one")?;
    diary.record().await?;
    other.conclude(query, "two")?;
    let mut late = other.commit();
    late.key = "another".into();
    same("a commit behind another one", &desk.record(&late).await?, &conflict(2))?;
    diary.is_kept("a conflict").await?;
    let mut anew = desk.diary("s", 0);
    anew.ask("from the start")?;
    let mut anew = anew.commit();
    anew.key = "anew".into();
    same("a round created again", &desk.record(&anew).await?, &conflict(2))?;
    diary.is_kept("it was created again").await?;
    let mut early = diary.clone();
    early.conclude(query, "three")?;
    early.round.committed();
    let early = early.commit();
    same("a commit two ahead", &desk.record(&early).await?, &conflict(2))?;
    diary.is_kept("a commit two ahead").await?;
    diary.conclude(query, "three")?;
    diary.record().await?;
    diary.is_kept("conflicts").await
}

async fn a_repeated_commit_is_replayed(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.diary("s", 0);
    let query = diary.ask("why?")?;
    let first = diary.record().await?;
    for _ in 0..2 {
        same("the first commit again", &desk.record(&first).await?, &RecordOutcome::Replayed)?;
        diary.is_kept("its first commit came twice").await?;
    }
    let leaf = diary.conclude(query, "because")?;
    diary.change(leaf, &Changes::new().set("content", "therefore"))?;
    let second = diary.record().await?;
    same("the second commit again", &desk.record(&second).await?, &RecordOutcome::Replayed)?;
    diary.is_kept("its second commit came twice").await?;
    let stale = RecordOutcome::Conflict { actual: 2 };
    same("the first commit after the second", &desk.record(&first).await?, &stale)?;
    let mut renamed = second.clone();
    renamed.key = "somebody else's".into();
    same("the same under another key", &desk.record(&renamed).await?, &stale)?;
    diary.is_kept("old commits came again").await?;
    diary.remove(leaf, Removal::Leaf)?;
    let third = diary.record().await?;
    same("a removal again", &desk.record(&third).await?, &RecordOutcome::Replayed)?;
    diary.is_kept("a removal came twice").await
}

async fn a_commit_without_changes_is_one(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.asked("s", 0).await?;
    for state in [RoundState::Interrupted, RoundState::Open, RoundState::Closed] {
        diary.set_state(state);
        diary.record().await?;
        diary.is_kept("a change of its state").await?;
    }
    let at = diary.at();
    let item = context_core::trajectory::QueueItem::new("plan");
    same("putting a step into a queue", &diary.round.queues_mut(at).todo.push(item), &true)?;
    diary.record().await?;
    diary.is_kept("a step was put into a queue").await?;
    let at = diary.at();
    let _step = diary.round.queues_mut(at).todo.pop();
    diary.record().await?;
    diary.is_kept("it was taken out").await
}

async fn versions_are_kept_in_order(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.diary("s", 0);
    let query = diary.ask("why?")?;
    let call = diary.add(NewNode::new(NodeBody::action("search", "{}"), [query]))?;
    diary.record().await?;
    let mut measures = Measures::default();
    for i in 0..8u64 {
        measures.input_tokens = Some(i);
        let output = serde_json::json!([i, "é"]);
        let changes =
            Changes::new().set("output", output).describe(format!("{i}")).measure(&measures);
        diary.change(call, &changes)?;
        if i % 3 == 0 {
            diary.change(query, &Changes::new().set("raw_user_query", format!("{i}")))?;
        }
        // Includes several versions of one node in one commit.
        if i % 2 == 0 {
            diary.record().await?;
            diary.is_kept("changes of fields").await?;
        }
    }
    diary.record().await?;
    diary.is_kept("all changes of fields").await
}

async fn removed_nodes_take_their_edges(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.diary("s", 0);
    let query = diary.ask("why?")?;
    let states: Vec<_> =
        (0..4).map(|i| diary.conclude(query, &format!("{i}"))).collect::<Checked<_>>()?;
    let below = diary.conclude(states[1], "below")?;
    diary.connect(states[0], below, "also")?;
    let file = diary.file(states[2], "made.csv")?;
    diary.record().await?;
    for (what, node, removal) in [
        ("splicing", states[1], Removal::Splice),
        ("removing a leaf", states[3], Removal::Leaf),
        ("removing a branch", states[2], Removal::Cascade),
    ] {
        diary.remove(node, removal)?;
        diary.record().await?;
        diary.is_kept(what).await?;
    }
    same("whether the branch went whole", &diary.round.node(file).is_none(), &true)?;
    // A node added and removed within one commit, with an edge.
    let gone = diary.conclude(below, "gone at once")?;
    diary.remove(gone, Removal::Leaf)?;
    diary.record().await?;
    diary.is_kept("a node came and went").await?;
    diary.remove(query, Removal::Cascade)?;
    diary.record().await?;
    diary.is_kept("removing all").await?;
    diary.ask("anew")?;
    diary.record().await?;
    diary.is_kept("asking anew").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn edges_keep_their_order(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = desk.diary("s", 0);
    let query = diary.ask("why?")?;
    let nodes: Vec<_> =
        (0..12).map(|i| diary.conclude(query, &format!("{i}"))).collect::<Checked<_>>()?;
    diary.record().await?;
    // Ordered neither by their ends nor by their names.
    for (from, to, name) in
        [(5, 9, "b"), (2, 11, "a"), (5, 9, "a"), (2, 3, "c"), (0, 10, "b"), (0, 2, "é")]
    {
        diary.connect(nodes[from], nodes[to], name)?;
        if from == 2 {
            diary.record().await?;
        }
    }
    diary.record().await?;
    diary.is_kept("connecting").await?;
    diary.remove(nodes[11], Removal::Leaf)?;
    diary.connect(nodes[1], nodes[10], "z")?;
    diary.record().await?;
    diary.is_kept("removing a node between").await
}

async fn references_to_earlier_rounds_stay(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut first = desk.diary("s", 0);
    let query = first.ask("first")?;
    let file = first.file(query, "data.csv")?;
    first.record().await?;
    let data = first.round.node(file).cloned().expect("it was added");
    let mut second = desk.asked("s", 1).await?;
    let query = second.query();
    let call = second.add(NewNode::new(NodeBody::action("read", "{}"), [query]))?;
    second.refer(call, &data)?;
    second.record().await?;
    let own = second.file(query, "own.csv")?;
    let own = second.round.node(own).cloned().expect("it was added");
    second.refer(call, &own)?;
    second.refer(query, &data)?;
    second.record().await?;
    second.is_kept("references to an earlier round").await?;
    // The target of a reference may be removed. The reference still tells that it existed.
    first.remove(file, Removal::Leaf)?;
    first.record().await?;
    second.is_kept("what it refers to was removed").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn ranges_give_the_rounds_in_them(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    for round in [10, 2, 0, 9, 1, 100] {
        desk.asked("s", round).await?;
    }
    let agent = desk.agent("s");
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
        let seen = desk.trajectories()?.load_rounds(&agent, range.clone()).await?;
        let seen: Vec<_> = seen.iter().map(|record| record.head.round.round).collect();
        same(format!("the rounds of {range:?}"), &seen, &expected)?;
    }
    let nobody = desk.trajectories()?.load_rounds(&desk.agent("other"), 0..=u32::MAX).await?;
    same("the rounds of a session without any", &nobody.len(), &0)
}

async fn users_sessions_and_agents_are_apart(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
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
            let mut diary = Diary::new(&desk, AgentRef::new(user, session, agent).round(round));
            let query = diary.ask(&format!("{user}, {session}, {agent}, {round}"))?;
            diary.conclude(query, "the same everywhere")?;
            diary.record().await?;
            diaries.push(diary);
        }
    }
    for (i, diary) in diaries.iter_mut().enumerate() {
        let query = diary.query();
        diary.change(query, &Changes::new().set("query", format!("changed {i}")))?;
        diary.conclude(query, "more")?;
        diary.record().await?;
    }
    for diary in &diaries {
        diary.is_kept("others were written").await?;
        let agent = &diary.reference().agent;
        let all = desk.trajectories()?.load_rounds(agent, 0..=u32::MAX).await?;
        same(format!("how many rounds {agent:?} has"), &all.len(), &2)?;
    }
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn namespaces_are_apart(lab: &Lab) -> Checked {
    let (one, two) = (lab.desk_in("one").await?, lab.desk_in("two").await?);
    let mut diary = one.asked("s", 0).await?;
    same("the other namespace", &two.load(diary.reference()).await?, &None)?;
    two.asked("s", 0).await?;
    diary.set_state(RoundState::Closed);
    diary.record().await?;
    diary.is_kept("the same in another namespace").await
}

async fn need_no_chat(lab: &Lab) -> Checked {
    let desk = Desk::new(lab.open("bare").await?, "nobody yet", "none");
    let mut diary = desk.diary("s", 0);
    diary.asks(NewQuery::new("why?").message(MessageLink::new("a chat that is not there", "m")))?;
    diary.record().await?;
    diary.is_kept("a commit of a user without chats").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn random_rounds_come_back(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    for n in 0..u64::from(lab.settings.sequences.div_ceil(4)) {
        let seed = lab.settings.seed.wrapping_add(n);
        let mut random = Random::new(seed);
        let mut diary = desk.diary(&format!("s{n}"), 2);
        for i in 0..10 {
            diary.live(&mut random);
            let did = format!("commit {i} of seed {seed:#x}");
            let commit = diary.record().await?;
            if random.one_in(4) {
                same(
                    format!("{did} again"),
                    &desk.record(&commit).await?,
                    &RecordOutcome::Replayed,
                )?;
            }
            diary.is_kept(&did).await?;
        }
    }
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn there_after_opening_again(lab: &Lab) -> Checked {
    let desk = lab.desk_in("durable").await?;
    desk.trajectories()?;
    let mut random = Random::new(lab.settings.seed);
    let mut diary = desk.diary("s", 1);
    let mut last = diary.commit();
    desk.record(&last).await.map(drop)?;
    for _ in 0..6 {
        diary.live(&mut random);
        last = diary.record().await?;
    }
    let round = diary.round.clone();
    drop((desk, diary));
    let mut diary = Diary::of(&Desk::new(lab.reopen("durable").await?, "ada", "chat"), round);
    diary.is_kept("opening again").await?;
    same("the last commit again", &diary.desk.record(&last).await?, &RecordOutcome::Replayed)?;
    diary.set_state(RoundState::Closed);
    diary.record().await?;
    diary.is_kept("going on after that").await
}

async fn seen_through_another_handle(lab: &Lab) -> Checked {
    let one = lab.desk_in("two").await?;
    one.trajectories()?;
    let two = one.through(lab.second_handle("two").await?);
    let mut diary = one.asked("s", 0).await?;
    let mut random = Random::new(lab.settings.seed);
    for i in 0..12 {
        let (writer, reader) = if i % 2 == 0 { (&one, &two) } else { (&two, &one) };
        diary.desk = writer.clone();
        diary.live(&mut random);
        diary.round.set_state(RoundState::Open, Timestamp::from_micros(i));
        diary.record().await?;
        let seen = reader.load(diary.reference()).await?;
        let seen = seen
            .ok_or_else(|| crate::checked::Stop::Fail("the other handle sees no round".into()))?;
        same_round("a commit through another handle", &seen, &diary.round.to_record())?;
    }
    Ok(())
}
