//! Cases about listing rounds: selection, order, paging, and the contents of heads.

use context_core::ErrorKind;
use context_core::base::limits;
use context_core::store::{Cursor, RoundQuery};
use context_core::trajectory::{AgentRef, MessageLink, NewQuery, RoundState};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{refused, same};
use crate::round_fixture::RoundFixture;
use crate::verdict::Check;

cases!("round_listing":
    by_session_and_agent_and_highest_first if Trajectories,
    pages_give_each_once if Trajectories,
    of_one_session_or_agent if Trajectories,
    before_a_number if Trajectories,
    heads_say_what_rounds_are if Trajectories,
    pages_go_on_while_rounds_are_written if Trajectories,
    bad_queries_are_refused if Trajectories,
);

/// Sessions in the order of a listing, which is bytewise.
const SESSIONS: &[&str] = &["B", "a", "b", "s", "s-10", "s-2", "é", "\u{ffff}", "🦀"];

type RoundKey = (String, u32, u32);

/// Creates rounds of two users. Returns the expected listing of `ada`.
async fn filled(case: &CaseContext) -> Check<(ChatFixture, Vec<RoundKey>)> {
    let fixture = case.fixture().await?;
    let mut expected = Vec::new();
    for session in SESSIONS {
        let several = *session == "s";
        for agent in if several { &[0, 1, 2, 10][..] } else { &[0] } {
            for round in if several { &[10, 9, 2, 0][..] } else { &[1] } {
                expected.push(((*session).to_owned(), *agent, *round));
            }
        }
    }
    // Write them in another order.
    let mut written: Vec<_> = expected.clone();
    written.sort_by_key(|(session, agent, round)| {
        (*round, u32::MAX - agent, session.len(), session.clone())
    });
    for (session, agent, round) in written {
        for user in ["ada", "bob"] {
            let mut round_fixture = RoundFixture::new(
                &fixture,
                AgentRef::new(user, session.as_str(), agent).round(round),
            );
            round_fixture.ask(&format!("{user} asks"))?;
            round_fixture.record().await?;
        }
    }
    Ok((fixture, expected))
}

async fn listed(fixture: &ChatFixture, query: &RoundQuery) -> Check<Vec<RoundKey>> {
    let heads = fixture.heads_of(query).await?;
    let place = |head: context_core::trajectory::RoundHead| {
        (head.round.agent.session.to_string(), head.round.agent.agent, head.round.round)
    };
    Ok(heads.into_iter().map(place).collect())
}

async fn by_session_and_agent_and_highest_first(case: &CaseContext) -> Check {
    let (fixture, expected) = filled(case).await?;
    let all = RoundQuery::of_user("ada").limit(limits::MAX_PAGE);
    same("all rounds of a user", &listed(&fixture, &all).await?, &expected)?;
    let page = fixture.trajectories()?.rounds(&all).await?;
    same("whether there is another page", &page.next, &None)?;
    same(
        "the rounds of nobody",
        &listed(&fixture, &RoundQuery::of_user("nobody")).await?,
        &Vec::new(),
    )
}

async fn pages_give_each_once(case: &CaseContext) -> Check {
    let (fixture, expected) = filled(case).await?;
    for limit in [1, 2, 3, 5, expected.len() - 1, expected.len(), expected.len() + 1] {
        let seen = listed(&fixture, &RoundQuery::of_user("ada").limit(limit)).await?;
        same(format!("all rounds in pages of {limit}"), &seen, &expected)?;
    }
    let whole =
        fixture.trajectories()?.rounds(&RoundQuery::of_user("ada").limit(expected.len())).await?;
    same("whether another page follows a full last one", &whole.next, &None)?;
    let one = RoundQuery::of_agent(&fixture.agent("s")).limit(3);
    let rounds: Vec<_> = listed(&fixture, &one).await?.iter().map(|place| place.2).collect();
    same("the rounds of an agent in pages of 3", &rounds, &vec![10, 9, 2, 0])
}

async fn of_one_session_or_agent(case: &CaseContext) -> Check {
    let (fixture, expected) = filled(case).await?;
    let keep = |wanted: &dyn Fn(&RoundKey) -> bool| {
        expected.iter().filter(|place| wanted(place)).cloned().collect::<Vec<_>>()
    };
    let session = RoundQuery::of_user("ada").session("s").limit(5);
    same(
        "of one session",
        &listed(&fixture, &session).await?,
        &keep(&|(session, ..)| session == "s"),
    )?;
    let absent = RoundQuery::of_user("ada").session("S");
    same("of a session that is not there", &listed(&fixture, &absent).await?, &Vec::new())?;
    let agent = RoundQuery::of_agent(&AgentRef::new("ada", "s", 1));
    let of_one = keep(&|(session, agent, _)| session == "s" && *agent == 1);
    same("of one agent", &listed(&fixture, &agent).await?, &of_one)?;
    let mut everywhere = RoundQuery::of_user("ada").limit(2);
    everywhere.agent = Some(0);
    same(
        "of the main agents",
        &listed(&fixture, &everywhere).await?,
        &keep(&|(_, agent, _)| *agent == 0),
    )
}

async fn before_a_number(case: &CaseContext) -> Check {
    let (fixture, expected) = filled(case).await?;
    let agent = RoundQuery::of_agent(&fixture.agent("s"));
    for (before, rounds) in [
        (0, vec![]),
        (1, vec![0]),
        (9, vec![2, 0]),
        (10, vec![9, 2, 0]),
        (u32::MAX, vec![10, 9, 2, 0]),
    ] {
        let seen = listed(&fixture, &agent.clone().before(before)).await?;
        let seen: Vec<_> = seen.iter().map(|place| place.2).collect();
        same(format!("the rounds before {before}"), &seen, &rounds)?;
    }
    // The round before another one, which a continuing agent asks for.
    let last = fixture.trajectories()?.rounds(&agent.clone().before(9).limit(1)).await?;
    let last: Vec<_> = last.items.iter().map(|head| head.round.round).collect();
    same("the last round before 9", &last, &vec![2])?;
    let all = RoundQuery::of_user("ada").before(9).limit(4);
    let below: Vec<_> = expected.iter().filter(|place| place.2 < 9).cloned().collect();
    same("all rounds before 9, page by page", &listed(&fixture, &all).await?, &below)
}

async fn heads_say_what_rounds_are(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut random = context_simulator::Random::new(case.settings.seed);
    let mut first = fixture.round("s", 0).below(3, context_core::trajectory::NodeId::new(5, 7));
    let title = "é".repeat(4000);
    first.asks(NewQuery::new(title).raw("raw").message(MessageLink::new("chat", "m")))?;
    first.record().await?;
    let mut second = fixture.round("s", 1);
    for _ in 0..8 {
        second.live(&mut random);
        second.record().await?;
        let heads = fixture.heads_of(&RoundQuery::of_agent(&fixture.agent("s"))).await?;
        same("the heads", &heads, &vec![second.round.head(), first.round.head()])?;
    }
    first.set_state(RoundState::Interrupted);
    first.record().await?;
    let heads = fixture.heads_of(&RoundQuery::of_user("ada").limit(1)).await?;
    same(
        "the heads after a round was stopped",
        &heads,
        &vec![second.round.head(), first.round.head()],
    )
}

/// Checks that each round that exists from the first page to the last is listed once.
async fn pages_go_on_while_rounds_are_written(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for round in 0..9 {
        fixture.asked("s", 2 * round).await?;
    }
    let (mut seen, mut query) = (Vec::new(), RoundQuery::of_agent(&fixture.agent("s")).limit(2));
    for i in 0..20 {
        let page = fixture.trajectories()?.rounds(&query).await?;
        seen.extend(page.items.iter().map(|head| head.round.round));
        let Some(next) = page.next else { break };
        query = query.after(Some(next));
        // New rounds above and below the end of the page.
        fixture.asked("s", 31 + i).await?;
        fixture.asked("s", 1 + 2 * i).await?;
    }
    let even: Vec<_> = seen.iter().copied().filter(|round| round % 2 == 0).collect();
    same("the rounds that were there all the time", &even, &vec![16, 14, 12, 10, 8, 6, 4, 2, 0])?;
    let mut once = seen.clone();
    once.dedup();
    same("whether any came twice", &once, &seen)
}

async fn bad_queries_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.asked("s", 0).await?;
    let long = "x".repeat(limits::MAX_ID_BYTES + 1);
    let all = || RoundQuery::of_user("ada");
    for (label, query) in [
        ("a page of nothing", all().limit(0)),
        ("a page that is too large", all().limit(limits::MAX_PAGE + 1)),
        ("nobody", RoundQuery::of_user("")),
        ("a long user", RoundQuery::of_user(long.as_str())),
        ("an empty session", all().session("")),
        ("a long session", all().session(long.as_str())),
        ("a cursor of another listing", all().after(Some(Cursor::new("elsewhere")))),
    ] {
        let saw = fixture.trajectories()?.rounds(&query).await;
        refused(format!("a listing with {label}"), saw, ErrorKind::Invalid)?;
    }
    Ok(())
}
