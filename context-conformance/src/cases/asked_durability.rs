//! Cases about commits that ask for a durability of their own.

use context_core::store::{
    ChatPatch, Commit, CommitOutcome, Durability, DurabilityRefusal, TitleChange,
};
use context_core::{ErrorKind, Retry};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::cases::concurrency::race;
use crate::cases::durability::reopened;
use crate::chat_fixture::{ChatFixture, boundary, ids, message, owned, says, stored};
use crate::expect::{ensure, refused, same};
use crate::verdict::{Check, Stop};
use crate::visible_chat::VisibleChat;

cases!("asked_durability":
    everything_up_to_the_strongest_is_granted,
    more_than_the_strongest_is_refused_and_writes_nothing,
    a_repeated_commit_is_a_replay_whatever_it_asks_for,
    sixteen_writers_ask_for_different_ones,
    the_strongest_is_there_after_opening_again if Durable,
);

/// All durabilities, from the weakest to the strongest.
const ALL: [Durability; 4] =
    [Durability::Process, Durability::Server, Durability::ProcessCrash, Durability::PowerLoss];

/// Returns the durabilities that a store gives, and those that it cannot give.
async fn given(case: &CaseContext) -> Check<(Vec<Durability>, Vec<Durability>)> {
    let info = case.info().await?;
    ensure(info.strongest >= info.durability, || {
        format!(
            "a store of durability {:?}: can give at most {:?}",
            info.durability, info.strongest
        )
    })?;
    Ok(ALL.into_iter().partition(|asked| *asked <= info.strongest))
}

fn asking(durability: Durability, commit: Commit) -> Commit {
    Commit { durability: Some(durability), ..commit }
}

/// Commits of every kind, to a chat with the message `a`, whose `main` ends with `head`. The names
/// of what is new begin with `name`.
fn of_every_kind(fixture: &ChatFixture, head: &str, name: &str) -> Vec<(&'static str, Commit)> {
    let title = TitleChange::Set(name.to_owned());
    let patch = ChatPatch { title, ..ChatPatch::default() };
    let keyed = fixture.fork(&format!("{name}-side"), "a", [format!("{name}-x").as_str()]);
    vec![
        ("an append", fixture.extend(head, [name])),
        (
            "a boundary",
            Commit { nodes: vec![boundary(&format!("{name}-b"))], ..fixture.extend(name, []) },
        ),
        ("a keyed fork", Commit { key: Some(format!("{name}-k").into()), ..keyed }),
        ("an amendment", Commit { amendments: vec![says("a", name)], ..fixture.stay() }),
        ("a redaction", Commit { redactions: vec![says("a", "gone")], ..fixture.stay() }),
        ("a fragment", Commit { fragments: vec![stored(name, "x")], ..fixture.stay() }),
        ("a patch", Commit { patch: Some(patch), ..fixture.stay() }),
    ]
}

async fn everything_up_to_the_strongest_is_granted(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let (given, _) = given(case).await?;
    let mut expected = owned(&["a"]);
    // From the weakest to the strongest and back, so that each follows a weaker and a stronger one.
    for (i, durability) in given.iter().chain(given.iter().rev()).enumerate() {
        let (head, name) = (expected.last().cloned().unwrap_or_default(), format!("m{i}"));
        for (_, commit) in of_every_kind(&fixture, &head, &name) {
            fixture.applied(asking(*durability, commit)).await?;
        }
        expected.extend([name.clone(), format!("{name}-b")]);
        same(
            format!("main after commits of {durability:?}"),
            &ids(&fixture.whole("main").await?),
            &expected,
        )?;
        // A commit that asks for nothing follows.
        let plain = format!("{name}-c");
        fixture.applied(fixture.extend(&format!("{name}-b"), [plain.as_str()])).await?;
        expected.push(plain);
    }
    Ok(())
}

async fn more_than_the_strongest_is_refused_and_writes_nothing(case: &CaseContext) -> Check {
    let (_, not_given) = given(case).await?;
    if not_given.is_empty() {
        return Err(Stop::Skip("gives every durability".to_owned()));
    }
    let strongest = case.info().await?.strongest;
    let fixture = case.fixture().await?;
    let keyed = Commit { key: Some("k".into()), ..fixture.extend("", ["a"]) };
    fixture.applied(keyed.clone()).await?;
    let before = VisibleChat::of(&fixture).await?;
    for durability in not_given {
        let mut commits = of_every_kind(&fixture, "a", "m");
        commits.push(("a repeated commit", keyed.clone()));
        for (did, commit) in commits {
            let outcome = fixture.history().commit(asking(durability, commit)).await;
            let error = refused(did, outcome, ErrorKind::Unsupported)?;
            let refusal = DurabilityRefusal::of(&error).map(|it| (it.asked, it.strongest));
            same(
                format!("the cause of the refusal of {did}"),
                &refusal,
                &Some((durability, strongest)),
            )?;
            ensure(error.retry() == Retry::Never, || {
                format!("{did}: a retry is useless, saw {error:?}")
            })?;
        }
        same("a chat after refused commits", &VisibleChat::of(&fixture).await?, &before)?;
    }
    Ok(())
}

async fn a_repeated_commit_is_a_replay_whatever_it_asks_for(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let (given, _) = given(case).await?;
    let mut head = String::new();
    for (i, first) in given.iter().enumerate() {
        for (j, again) in given.iter().enumerate() {
            let name = format!("m{i}{j}");
            let by_ids = fixture.extend(&head, [name.as_str()]);
            let key = Some(format!("k{i}{j}").into());
            let by_key = Commit { key, ..fixture.next_version("main", &head) };
            for (did, commit) in [("by its ids", by_ids), ("by its key", by_key)] {
                let committed = fixture.applied(asking(*first, commit.clone())).await?;
                let did = format!("a commit of {first:?} repeated with {again:?}, known {did}");
                let outcome = fixture.commit(asking(*again, commit.clone())).await?;
                same(&did, &outcome, &CommitOutcome::Replayed(committed.clone()))?;
                same(&did, &fixture.commit(commit).await?, &CommitOutcome::Replayed(committed))?;
            }
            head = name;
        }
    }
    let other = Commit {
        key: Some("k00".into()),
        nodes: vec![message("x")],
        ..fixture.fork("other", &head, [])
    };
    let strongest = given.last().copied().unwrap_or(Durability::Process);
    let outcome = fixture.history().commit(asking(strongest, other)).await;
    refused("another commit with a known key", outcome, ErrorKind::Invalid)?;
    Ok(())
}

async fn sixteen_writers_ask_for_different_ones(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let (given, _) = given(case).await?;
    for i in 0..WRITERS {
        fixture.applied(fixture.fork(&format!("w{i}"), "", [])).await?;
    }
    race(WRITERS, |i| {
        let (fixture, given) = (fixture.clone(), given.clone());
        async move {
            let mut head = String::new();
            for k in 0..EACH {
                let id = format!("w{i}-{k}");
                let commit = fixture.extend_on(&format!("w{i}"), &head, [id.as_str()]);
                // Some ask for nothing.
                let durability = given.get((i + k) % (given.len() + 1)).copied();
                fixture.applied(Commit { durability, ..commit }).await?;
                head = id;
            }
            Ok(())
        }
    })
    .await?;
    for i in 0..WRITERS {
        let expected: Vec<_> = (0..EACH).map(|k| format!("w{i}-{k}")).collect();
        let branch = format!("w{i}");
        same(format!("the branch {branch}"), &ids(&fixture.whole(&branch).await?), &expected)?;
    }
    Ok(())
}

/// The number of concurrent writers, each on a branch of its own, and the commits of each.
const WRITERS: usize = 16;
const EACH: usize = 6;

async fn the_strongest_is_there_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    let strongest = case.info().await?.strongest;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for (_, commit) in of_every_kind(&fixture, "a", "m") {
        fixture.applied(asking(strongest, commit)).await?;
    }
    let before = VisibleChat::of(&fixture).await?;
    let fixture = reopened(case, fixture).await?;
    same("a chat after opening again", &VisibleChat::of(&fixture).await?, &before)
}
