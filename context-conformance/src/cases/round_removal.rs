//! Cases about removal of rounds: by pruning and with their user, and what must stay.

use std::path::Path;

use context_core::base::limits;
use context_core::store::{RecordOutcome, RoundPrune, RoundQuery};
use context_core::trajectory::{AgentRef, RoundState};
use context_core::{CancelSignal, ErrorKind, Timestamp};

use super::concurrency::race;
use crate::case::cases;
use crate::checked::{Checked, Stop};
use crate::desk::Desk;
use crate::diary::Diary;
use crate::expect::{refused, same};
use crate::lab::Lab;

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
async fn old(desk: &Desk, agent: AgentRef, round: u32, micros: i64) -> Checked<Diary> {
    let at = Timestamp::from_micros(micros);
    let mut diary = Diary::new(desk, agent.round(round));
    let names = context_core::trajectory::EdgeNames::Any;
    diary.round =
        context_core::trajectory::Round::new(diary.reference().clone(), at).edge_names(names);
    let (query, changes) = diary.round.ask(context_core::trajectory::NewQuery::new("why?"), at)?;
    diary.pending.extend(changes);
    for text in ["a", "b"] {
        let body = context_core::trajectory::NodeBody::state(text);
        let new = context_core::trajectory::NewNode::new(body, [query]).append();
        diary.pending.extend(diary.round.add(new, at)?.1);
    }
    diary.record().await?;
    Ok(diary)
}

/// Prunes rounds. Returns the numbers of removed rounds and nodes.
async fn pruned(desk: &Desk, prune: &RoundPrune) -> Checked<(u64, u64)> {
    let pruned = desk.trajectories()?.prune_rounds(prune).await?;
    Ok((pruned.rounds, pruned.nodes))
}

/// Expects exactly the rounds to remain that `stays` selects.
async fn left(
    desk: &Desk,
    did: &str,
    diaries: &[Diary],
    stays: impl Fn(&AgentRef, u32) -> bool,
) -> Checked {
    for diary in diaries {
        let round = diary.reference();
        if stays(&round.agent, round.round) {
            diary.is_kept(did).await?;
        } else {
            same(
                format!("{round} of {} after {did}", round.agent.user),
                &desk.load(round).await?,
                &None,
            )?;
        }
        let listed = desk.heads_of(&RoundQuery::of_agent(&round.agent)).await?;
        let listed = listed.iter().any(|head| head.round == *round);
        same(
            format!("whether {round} is listed after {did}"),
            &listed,
            &stays(&round.agent, round.round),
        )?;
    }
    same(format!("what check() found after {did}"), &desk.findings().await?, &Vec::new())
}

async fn filled(lab: &Lab) -> Checked<(Desk, Vec<Diary>)> {
    let desk = lab.desk().await?;
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
            diaries.push(old(&desk, AgentRef::new(user, session, agent), round, micros).await?);
        }
    }
    Ok((desk, diaries))
}

async fn pruned_of_a_user(lab: &Lab) -> Checked {
    let (desk, diaries) = filled(lab).await?;
    let all = RoundPrune::of_user("ada");
    same("rounds and nodes pruned", &pruned(&desk, &all).await?, &(12, 36))?;
    left(&desk, "pruning a user", &diaries, |agent, _| agent.user != *"ada").await?;
    same("pruning again", &pruned(&desk, &all).await?, &(0, 0))?;
    same("pruning nobody", &pruned(&desk, &RoundPrune::of_user("nobody")).await?, &(0, 0))
}

async fn pruned_of_a_session_or_agent(lab: &Lab) -> Checked {
    let (desk, diaries) = filled(lab).await?;
    let one = RoundPrune::of_user("ada").session("s").agent(1);
    same("rounds and nodes of an agent", &pruned(&desk, &one).await?, &(3, 9))?;
    let gone = |agent: &AgentRef| agent.user == *"ada" && agent.session == *"s" && agent.agent == 1;
    left(&desk, "pruning an agent", &diaries, |agent, _| !gone(agent)).await?;
    same("of a session", &pruned(&desk, &RoundPrune::of_user("ada").session("s")).await?, &(3, 9))?;
    let gone = |agent: &AgentRef| agent.user == *"ada" && agent.session == *"s";
    left(&desk, "pruning a session", &diaries, |agent, _| !gone(agent)).await?;
    same(
        "of all main agents",
        &pruned(&desk, &RoundPrune::of_user("ada").agent(0)).await?,
        &(6, 18),
    )?;
    left(&desk, "pruning all main agents", &diaries, |agent, _| agent.user != *"ada").await
}

async fn pruned_by_when_they_were_written(lab: &Lab) -> Checked {
    let (desk, mut diaries) = filled(lab).await?;
    let at = Timestamp::from_micros(900);
    diaries[0].round.set_state(RoundState::Closed, at);
    diaries[0].record().await?;
    let early = RoundPrune::of_user("ada").updated_until(Timestamp::from_micros(99));
    same("before all", &pruned(&desk, &early).await?, &(0, 0))?;
    let until = RoundPrune::of_user("ada").updated_until(Timestamp::from_micros(101));
    same("until then", &pruned(&desk, &until).await?, &(7, 21))?;
    let stays = |agent: &AgentRef, round| {
        agent.user != *"ada"
            || round == 2
            || (agent.session == *"s" && agent.agent == 0 && round == 0)
    };
    left(&desk, "pruning by time", &diaries, stays).await?;
    let mut of_one = until.session("s").agent(0);
    of_one.updated_until = Some(at);
    same("of one agent until then", &pruned(&desk, &of_one).await?, &(2, 6))
}

async fn recorded_anew_after_that(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut diary = old(&desk, desk.agent("s"), 0, 100).await?;
    same("pruning it", &pruned(&desk, &RoundPrune::of_user("ada")).await?, &(1, 3))?;
    diary.set_state(RoundState::Closed);
    let late = diary.commit();
    let absent = RecordOutcome::Conflict { actual: 0 };
    same("a commit to a round that is gone", &desk.record(&late).await?, &absent)?;
    same("the round then", &desk.load(diary.reference()).await?, &None)?;
    let anew = desk.asked("s", 0).await?;
    anew.is_kept("it was recorded anew").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn bad_prunes_are_refused(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let diary = desk.asked("s", 0).await?;
    let long = "x".repeat(limits::MAX_ID_BYTES + 1);
    for prune in [
        RoundPrune::of_user(""),
        RoundPrune::of_user(long.as_str()),
        RoundPrune::of_user("ada").session(""),
        RoundPrune::of_user("ada").session(long.as_str()),
    ] {
        refused(
            "pruning with a bad name",
            desk.trajectories()?.prune_rounds(&prune).await,
            ErrorKind::Invalid,
        )?;
    }
    diary.is_kept("bad prunes").await
}

async fn a_deleted_chat_leaves_them(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let diary = desk.asked(desk.chat.chat.clone().as_str(), 0).await?;
    same("deleting the chat", &desk.history().delete_chat(&desk.chat, None).await?, &true)?;
    diary.is_kept("a chat of the name of its session was deleted").await?;
    same("what check() found", &desk.findings().await?, &Vec::new())
}

async fn an_erased_user_leaves_none(lab: &Lab) -> Checked {
    let (desk, diaries) = filled(lab).await?;
    let Some(maintenance) = desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    let seen = (erased.chats, erased.rounds, erased.remaining);
    same("chats and rounds erased, records remaining", &seen, &(1, 12, 0))?;
    left(&desk, "erasing a user", &diaries, |agent, _| agent.user != *"ada").await?;
    // A user who has rounds only.
    let erased = maintenance.erase_user(&"bob".into(), &CancelSignal::never()).await?;
    let seen = (erased.chats, erased.rounds, erased.remaining);
    same("of a user without chats", &seen, &(0, 3, 0))?;
    left(&desk, "erasing another", &diaries, |agent, _| agent.user == *"ada2").await?;
    let again = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    same("erasing again", &(again.chats, again.rounds, again.remaining), &(0, 0, 0))
}

async fn users_with_rounds_are_listed(lab: &Lab) -> Checked {
    let (desk, _) = filled(lab).await?;
    let Some(maintenance) = desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    desk.other("bob", "chat").create().await?;
    desk.other("zoe", "chat").create().await?;
    let seen = super::maintenance::all_users(maintenance).await?;
    let expected = ["ada", "ada2", "bob", "zoe"].map(ToOwned::to_owned).to_vec();
    same("who has a chat or a round, page by page", &seen, &expected)?;
    same("pruning", &pruned(&desk, &RoundPrune::of_user("ada2")).await?, &(3, 9))?;
    let left = maintenance.users(10, None).await?.items;
    same(
        "who is left",
        &left.iter().map(|user| user.as_str()).collect::<Vec<_>>(),
        &vec!["ada", "bob", "zoe"],
    )
}

async fn the_check_looks_at_them(lab: &Lab) -> Checked {
    let (desk, diaries) = filled(lab).await?;
    let Some(maintenance) = desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("rounds it looked at", &report.rounds, &(diaries.len() as u64))?;
    same("what it found", &report.findings, &Vec::new())
}

async fn a_backup_has_them(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let Some(maintenance) = desk.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let mut diary = old(&desk, desk.agent("s"), 0, 100).await?;
    // An in-process store has no location, and no backups.
    let location = lab.location("backup")?;
    match maintenance.backup(Path::new(&location)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Stop::Skip(error.to_string()));
        }
        result => result?,
    }
    let before = diary.round.to_record();
    diary.set_state(RoundState::Closed);
    diary.record().await?;
    let copy = desk.through(crate::child::open(lab.subject(), &location).await?);
    copy.expect_round("a backup", &before).await?;
    same("what check() found in it", &copy.findings().await?, &Vec::new())
}

/// Checks that writing to a removed round is refused, and that a reader sees a whole round or none.
async fn pruned_while_they_are_written(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.trajectories()?;
    race(4, |task| {
        let desk = desk.clone();
        async move {
            let prune = RoundPrune::of_user("ada").session("s");
            for i in 0..25 {
                match task {
                    0 => drop(pruned(&desk, &prune).await?),
                    1 => {
                        let seen = desk.load(&desk.agent("s").round(0)).await?;
                        let whole = seen.is_none_or(|record| {
                            let nodes = record.nodes.len();
                            nodes == record.head.nodes as usize && nodes == 1 + record.edges.len()
                        });
                        same("whether a round is whole", &whole, &true)?;
                    }
                    _ => {
                        let mut diary = desk.diary("s", 0);
                        let query = diary.ask("why?")?;
                        for _ in 0..2 {
                            diary.conclude(query, "because")?;
                            let mut commit = diary.commit();
                            commit.key = format!("{task}-{i}-{}", commit.expected).into();
                            match desk.record(&commit).await? {
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
    same("what check() found", &desk.findings().await?, &Vec::new())
}
