//! Cases about removal of rounds: by pruning and with their user, and what must stay.

use std::path::Path;

use context_core::base::limits;
use context_core::store::{RecordOutcome, RoundPrune, RoundQuery};
use context_core::trajectory::{AgentRef, RoundState};
use context_core::{CancelSignal, ErrorKind, Timestamp};

use super::concurrency::race;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{refused, same};
use crate::round_fixture::RoundFixture;
use crate::verdict::{Check, Stop};

cases!("round_removal":
    pruned_of_a_user if Trajectories,
    pruned_of_a_session_or_agent if Trajectories,
    pruned_by_when_they_were_written if Trajectories,
    recorded_anew_after_that if Trajectories,
    bad_prunes_are_refused if Trajectories,
    a_deleted_chat_leaves_them if Trajectories,
    an_erased_user_leaves_none if Trajectories,
    users_with_rounds_are_listed if Trajectories,
    the_check_looks_at_them if Trajectories,
    a_backup_has_them if Trajectories,
    pruned_while_they_are_written if Trajectories,
);

/// Creates a round of three nodes that was last written at `micros`.
async fn old(
    fixture: &ChatFixture,
    agent: AgentRef,
    round: u32,
    micros: i64,
) -> Check<RoundFixture> {
    let at = Timestamp::from_micros(micros);
    let mut round_fixture = RoundFixture::new(fixture, agent.round(round));
    let names = context_core::trajectory::EdgeNames::Any;
    round_fixture.round =
        context_core::trajectory::Round::new(round_fixture.reference().clone(), at)
            .edge_names(names);
    let (query, changes) =
        round_fixture.round.ask(context_core::trajectory::NewQuery::new("why?"), at)?;
    round_fixture.pending.extend(changes);
    for text in ["a", "b"] {
        let body = context_core::trajectory::NodeBody::state(text);
        let new = context_core::trajectory::NewNode::new(body, [query]).append();
        round_fixture.pending.extend(round_fixture.round.add(new, at)?.1);
    }
    round_fixture.record().await?;
    Ok(round_fixture)
}

/// Prunes rounds. Returns the numbers of removed rounds and nodes.
async fn pruned(fixture: &ChatFixture, prune: &RoundPrune) -> Check<(u64, u64)> {
    let pruned = fixture.trajectories()?.prune_rounds(prune).await?;
    Ok((pruned.rounds, pruned.nodes))
}

/// Expects exactly the rounds to remain that `stays` selects.
async fn left(
    fixture: &ChatFixture,
    did: &str,
    diaries: &[RoundFixture],
    stays: impl Fn(&AgentRef, u32) -> bool,
) -> Check {
    for round_fixture in diaries {
        let round = round_fixture.reference();
        if stays(&round.agent, round.round) {
            round_fixture.matches_model(did).await?;
        } else {
            same(
                format!("{round} of {} after {did}", round.agent.user),
                &fixture.load(round).await?,
                &None,
            )?;
        }
        let listed = fixture.heads_of(&RoundQuery::of_agent(&round.agent)).await?;
        let listed = listed.iter().any(|head| head.round == *round);
        same(
            format!("whether {round} is listed after {did}"),
            &listed,
            &stays(&round.agent, round.round),
        )?;
    }
    same(format!("what check() found after {did}"), &fixture.findings().await?, &Vec::new())
}

async fn filled(case: &CaseContext) -> Check<(ChatFixture, Vec<RoundFixture>)> {
    let fixture = case.fixture().await?;
    let mut diaries = Vec::new();
    for (user, session, agent) in [
        ("ada", "s", 0),
        ("ada", "s", 1),
        ("ada", "t", 0),
        ("ada", "ss", 0),
        ("bob", "s", 0),
        ("ada2", "s", 1),
    ] {
        for round in 0..3 {
            let micros = 100 + i64::from(round);
            diaries.push(old(&fixture, AgentRef::new(user, session, agent), round, micros).await?);
        }
    }
    Ok((fixture, diaries))
}

async fn pruned_of_a_user(case: &CaseContext) -> Check {
    let (fixture, diaries) = filled(case).await?;
    let all = RoundPrune::of_user("ada");
    same("rounds and nodes pruned", &pruned(&fixture, &all).await?, &(12, 36))?;
    left(&fixture, "pruning a user", &diaries, |agent, _| agent.user != *"ada").await?;
    same("pruning again", &pruned(&fixture, &all).await?, &(0, 0))?;
    same("pruning nobody", &pruned(&fixture, &RoundPrune::of_user("nobody")).await?, &(0, 0))
}

async fn pruned_of_a_session_or_agent(case: &CaseContext) -> Check {
    let (fixture, diaries) = filled(case).await?;
    let one = RoundPrune::of_user("ada").session("s").agent(1);
    same("rounds and nodes of an agent", &pruned(&fixture, &one).await?, &(3, 9))?;
    let gone = |agent: &AgentRef| agent.user == *"ada" && agent.session == *"s" && agent.agent == 1;
    left(&fixture, "pruning an agent", &diaries, |agent, _| !gone(agent)).await?;
    same(
        "of a session",
        &pruned(&fixture, &RoundPrune::of_user("ada").session("s")).await?,
        &(3, 9),
    )?;
    let gone = |agent: &AgentRef| agent.user == *"ada" && agent.session == *"s";
    left(&fixture, "pruning a session", &diaries, |agent, _| !gone(agent)).await?;
    same(
        "of all main agents",
        &pruned(&fixture, &RoundPrune::of_user("ada").agent(0)).await?,
        &(6, 18),
    )?;
    left(&fixture, "pruning all main agents", &diaries, |agent, _| agent.user != *"ada").await
}

async fn pruned_by_when_they_were_written(case: &CaseContext) -> Check {
    let (fixture, mut diaries) = filled(case).await?;
    let at = Timestamp::from_micros(900);
    diaries[0].round.set_state(RoundState::Closed, at);
    diaries[0].record().await?;
    let early = RoundPrune::of_user("ada").updated_until(Timestamp::from_micros(99));
    same("before all", &pruned(&fixture, &early).await?, &(0, 0))?;
    let until = RoundPrune::of_user("ada").updated_until(Timestamp::from_micros(101));
    same("until then", &pruned(&fixture, &until).await?, &(7, 21))?;
    let stays = |agent: &AgentRef, round| {
        agent.user != *"ada"
            || round == 2
            || (agent.session == *"s" && agent.agent == 0 && round == 0)
    };
    left(&fixture, "pruning by time", &diaries, stays).await?;
    let mut of_one = until.session("s").agent(0);
    of_one.updated_until = Some(at);
    same("of one agent until then", &pruned(&fixture, &of_one).await?, &(2, 6))
}

async fn recorded_anew_after_that(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut round_fixture = old(&fixture, fixture.agent("s"), 0, 100).await?;
    same("pruning it", &pruned(&fixture, &RoundPrune::of_user("ada")).await?, &(1, 3))?;
    round_fixture.set_state(RoundState::Closed);
    let late = round_fixture.commit();
    let absent = RecordOutcome::Conflict { actual: 0 };
    same("a commit to a round that is gone", &fixture.record(&late).await?, &absent)?;
    same("the round then", &fixture.load(round_fixture.reference()).await?, &None)?;
    let anew = fixture.asked("s", 0).await?;
    anew.matches_model("it was recorded anew").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn bad_prunes_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let round_fixture = fixture.asked("s", 0).await?;
    let long = "x".repeat(limits::MAX_ID_BYTES + 1);
    for prune in [
        RoundPrune::of_user(""),
        RoundPrune::of_user(long.as_str()),
        RoundPrune::of_user("ada").session(""),
        RoundPrune::of_user("ada").session(long.as_str()),
    ] {
        refused(
            "pruning with a bad name",
            fixture.trajectories()?.prune_rounds(&prune).await,
            ErrorKind::Invalid,
        )?;
    }
    round_fixture.matches_model("bad prunes").await
}

async fn a_deleted_chat_leaves_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let round_fixture = fixture.asked(fixture.chat.chat.clone().as_str(), 0).await?;
    same("deleting the chat", &fixture.history().delete_chat(&fixture.chat, None).await?, &true)?;
    round_fixture.matches_model("a chat of the name of its session was deleted").await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}

async fn an_erased_user_leaves_none(case: &CaseContext) -> Check {
    let (fixture, diaries) = filled(case).await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    let seen = (erased.chats, erased.rounds, erased.remaining);
    same("chats and rounds erased, records remaining", &seen, &(1, 12, 0))?;
    left(&fixture, "erasing a user", &diaries, |agent, _| agent.user != *"ada").await?;
    // A user who has rounds only.
    let erased = maintenance.erase_user(&"bob".into(), &CancelSignal::never()).await?;
    let seen = (erased.chats, erased.rounds, erased.remaining);
    same("of a user without chats", &seen, &(0, 3, 0))?;
    left(&fixture, "erasing another", &diaries, |agent, _| agent.user == *"ada2").await?;
    let again = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("erasing again", &(again.chats, again.rounds, again.remaining), &(0, 0, 0))
}

async fn users_with_rounds_are_listed(case: &CaseContext) -> Check {
    let (fixture, _) = filled(case).await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    fixture.other("bob", "chat").create().await?;
    fixture.other("zoe", "chat").create().await?;
    let seen = super::maintenance::all_users(maintenance).await?;
    let expected = ["ada", "ada2", "bob", "zoe"].map(ToOwned::to_owned).to_vec();
    same("who has a chat or a round, page by page", &seen, &expected)?;
    same("pruning", &pruned(&fixture, &RoundPrune::of_user("ada2")).await?, &(3, 9))?;
    let left = maintenance.users(10, None).await?.items;
    same(
        "who is left",
        &left.iter().map(|user| user.as_str()).collect::<Vec<_>>(),
        &vec!["ada", "bob", "zoe"],
    )
}

async fn the_check_looks_at_them(case: &CaseContext) -> Check {
    let (fixture, diaries) = filled(case).await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("rounds it looked at", &report.rounds, &(diaries.len() as u64))?;
    same("what it found", &report.findings, &Vec::new())
}

async fn a_backup_has_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let mut round_fixture = old(&fixture, fixture.agent("s"), 0, 100).await?;
    // An in-process store has no location, and no backups.
    let location = case.location("backup")?;
    match maintenance.backup(Path::new(&location)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Stop::Skip(error.to_string()));
        }
        result => result?,
    }
    let before = round_fixture.round.to_record();
    round_fixture.set_state(RoundState::Closed);
    round_fixture.record().await?;
    let copy = fixture.through(crate::child::open(case.subject(), &location).await?);
    copy.expect_round("a backup", &before).await?;
    same("what check() found in it", &copy.findings().await?, &Vec::new())
}

/// Checks that writing to a removed round is refused, and that a reader sees a whole round or none.
async fn pruned_while_they_are_written(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.trajectories()?;
    race(4, |task| {
        let fixture = fixture.clone();
        async move {
            let prune = RoundPrune::of_user("ada").session("s");
            for i in 0..25 {
                match task {
                    0 => drop(pruned(&fixture, &prune).await?),
                    1 => {
                        let seen = fixture.load(&fixture.agent("s").round(0)).await?;
                        let whole = seen.is_none_or(|record| {
                            let nodes = record.nodes.len();
                            nodes == record.head.nodes as usize && nodes == 1 + record.edges.len()
                        });
                        same("whether a round is whole", &whole, &true)?;
                    }
                    _ => {
                        let mut round_fixture = fixture.round("s", 0);
                        let query = round_fixture.ask("why?")?;
                        for _ in 0..2 {
                            round_fixture.conclude(query, "because")?;
                            let mut commit = round_fixture.commit();
                            commit.key = format!("{task}-{i}-{}", commit.expected).into();
                            match fixture.record(&commit).await? {
                                RecordOutcome::Applied => {}
                                _ => break,
                            }
                        }
                    }
                }
            }
            Ok(())
        }
    })
    .await?;
    same("what check() found", &fixture.findings().await?, &Vec::new())
}
