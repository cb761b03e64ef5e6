//! Cases about leases: one writer of a chat at a time, fenced by a number.

use std::time::Duration;

use context_core::store::{
    ChatPatch, Commit, CommitOutcome, Durability, Lease, LeaseClaim, LeaseOutcome, LeaseRefusal,
    LeaseStore,
};
use context_core::{Error, ErrorKind, Retry, Timestamp};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::cases::concurrency::race;
use crate::cases::durability::reopened;
use crate::chat_fixture::{ChatFixture, boundary, message, stored};
use crate::expect::{ensure, fail, refused, same};
use crate::verdict::{Check, Stop};

cases!("leases":
    taken_renewed_released_and_taken_over if Leases,
    a_commit_under_a_lost_lease_writes_nothing if Leases,
    a_writer_without_a_lease_is_refused_while_one_is_in_force if Leases,
    what_was_written_before_is_known_under_a_lost_lease if Leases,
    a_lease_is_deleted_with_its_chat if Leases,
    one_of_sixteen_owners_takes_it_and_writes if Leases,
    seen_through_two_handles if Leases,
    kept_by_a_reopened_store if Leases,
);

/// The time to live of every lease.
const TTL: Duration = Duration::from_micros(1_000_000);

fn leases(fixture: &ChatFixture) -> Check<&dyn LeaseStore> {
    fixture.store.leases().ok_or_else(|| Stop::Skip("no leases".to_owned()))
}

fn at(start: Timestamp, micros: i64) -> Timestamp {
    Timestamp::from_micros(start.as_micros() + micros)
}

async fn claim(fixture: &ChatFixture, owner: &str, now: Timestamp) -> Check<LeaseOutcome> {
    Ok(leases(fixture)?.take_lease(&fixture.chat, &LeaseClaim::new(owner, now, TTL)).await?)
}

async fn take(fixture: &ChatFixture, owner: &str, now: Timestamp) -> Check<Lease> {
    match claim(fixture, owner, now).await? {
        LeaseOutcome::Taken(lease) => Ok(lease),
        held => fail(format!("{owner} takes the lease: expected it to be taken, saw {held:?}")),
    }
}

/// Expects a commit to be refused because of this lease.
async fn shut_out(fixture: &ChatFixture, did: &str, commit: Commit, lease: &Lease) -> Check<Error> {
    let error = refused(did, fixture.history().commit(commit).await, ErrorKind::Conflict)?;
    let cause = LeaseRefusal::of(&error).map(|refusal| refusal.lease.clone());
    same(format!("the cause of the refusal of {did}"), &cause, &Some(Some(lease.clone())))?;
    ensure(error.retry() == Retry::Never, || format!("{did}: a retry is useless, saw {error:?}"))?;
    Ok(error)
}

async fn taken_renewed_released_and_taken_over(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let before = fixture.history().chat(&fixture.chat).await?;
    let (now, last) = (fixture.at(), async |fixture: &ChatFixture| -> Check<_> {
        Ok(leases(fixture)?.lease(&fixture.chat).await?)
    });
    same("a chat that never had a lease", &last(&fixture).await?, &None)?;
    let first = take(&fixture, "one", now).await?;
    same("the first lease", &first, &Lease::new("one", 1, at(now, 1_000_000)))?;
    same("the last lease of the chat", &last(&fixture).await?, &Some(first.clone()))?;
    let held = claim(&fixture, "two", at(now, 999_999)).await?;
    same("a claim of another owner", &held, &LeaseOutcome::Held(first.clone()))?;
    let renewed = take(&fixture, "one", at(now, 500_000)).await?;
    same("a renewed lease", &renewed, &Lease::new("one", 1, at(now, 1_500_000)))?;
    let second = take(&fixture, "two", at(now, 1_500_000)).await?;
    same("a lease that was taken over", &second, &Lease::new("two", 2, at(now, 2_500_000)))?;
    let release = async |number, micros| -> Check<_> {
        Ok(leases(&fixture)?.release_lease(&fixture.chat, number, at(now, micros)).await?)
    };
    same("a release by its former owner", &release(1, 1_600_000).await?, &false)?;
    same("a release by its owner", &release(2, 1_600_000).await?, &true)?;
    same("a repeated release", &release(2, 1_600_000).await?, &false)?;
    let third = take(&fixture, "one", at(now, 1_600_000)).await?;
    ensure(third.number > second.number, || {
        format!("the lease after {second:?}: expected a higher number, saw {third:?}")
    })?;
    let none = LeaseClaim::new("one", now, Duration::ZERO);
    let taken = leases(&fixture)?.take_lease(&fixture.chat, &none).await;
    refused("a claim of no time", taken, ErrorKind::Invalid)?;
    same("a chat after calls on its lease", &fixture.history().chat(&fixture.chat).await?, &before)
}

async fn a_commit_under_a_lost_lease_writes_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let now = fixture.at();
    let first = take(&fixture, "one", now).await?;
    let with = |lease: &Lease, commit: Commit| Commit { lease: Some(lease.number), ..commit };
    fixture.applied(with(&first, fixture.extend("", ["a"]))).await?;
    // Late, but not taken over.
    let late = Commit { at: at(now, 5_000_000), ..fixture.extend("a", ["b"]) };
    fixture.applied(with(&first, late)).await?;
    let second = take(&fixture, "two", at(now, 6_000_000)).await?;
    for (did, commit) in [
        ("an append", fixture.extend("b", ["x"])),
        ("an append after another head", fixture.extend("a", ["x"])),
        ("an append of two", fixture.extend("b", ["x", "y"])),
        ("a boundary", Commit { nodes: vec![boundary("x")], ..fixture.extend("b", []) }),
        ("a fork", fixture.fork("side", "a", ["x"])),
        ("an amendment", Commit { amendments: vec![message("a")], ..fixture.stay() }),
        ("a fragment", Commit { fragments: vec![stored("f", "x")], ..fixture.stay() }),
    ] {
        // The number is compared, not the time: the writer's clock may be wrong.
        let commit = Commit { at: at(now, 1), ..with(&first, commit) };
        shut_out(&fixture, did, commit, &second).await?;
    }
    fixture.expect_chain("main", &["a", "b"]).await?;
    same("the fragments", &fixture.fragments().fragments(&fixture.chat).await?.len(), &0)?;
    same("the number of branches", &fixture.heads().await?.len(), &1)?;
    fixture.applied(with(&second, fixture.extend("b", ["c"]))).await?;
    leases(&fixture)?.release_lease(&fixture.chat, second.number, at(now, 6_500_000)).await?;
    let commit = with(&second, fixture.extend("c", ["x"]));
    let outcome = fixture.history().commit(commit).await;
    refused("a commit under a released lease", outcome, ErrorKind::Conflict)?;
    fixture.expect_chain("main", &["a", "b", "c"]).await
}

async fn a_writer_without_a_lease_is_refused_while_one_is_in_force(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    // The handle knows the end of the branch, so that its next append may be a fast one.
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.extend("a", ["b"])).await?;
    let now = fixture.at();
    let lease = take(&fixture, "one", now).await?;
    for (did, commit) in [
        ("an append", fixture.extend("b", ["x"])),
        ("an append of two", fixture.extend("b", ["x", "y"])),
        ("an append of three", fixture.extend("b", ["x", "y", "z"])),
        ("a fork", fixture.fork("side", "a", ["x"])),
        ("an amendment", Commit { amendments: vec![message("a")], ..fixture.stay() }),
    ] {
        let error = shut_out(&fixture, did, commit, &lease).await?;
        let facts = (error.get("holder"), error.get("until"));
        let until = lease.until.as_micros().to_string();
        same(format!("the facts of {did}"), &facts, &(Some("one"), Some(until.as_str())))?;
    }
    fixture.expect_chain("main", &["a", "b"]).await?;
    // As `update_chat`, which has no number.
    let patch = Some(ChatPatch { title: Some("T".to_owned()).into(), ..ChatPatch::default() });
    fixture.applied(Commit { patch, ..fixture.stay() }).await?;
    let other = fixture.other("ada", "other");
    other.create().await?;
    other.applied(other.extend("", ["x"])).await?;
    fixture.applied(Commit { at: lease.until, ..fixture.extend("b", ["c"]) }).await?;
    fixture.applied(Commit { at: at(lease.until, 1), ..fixture.extend("c", ["d"]) }).await?;
    fixture.expect_chain("main", &["a", "b", "c", "d"]).await
}

async fn what_was_written_before_is_known_under_a_lost_lease(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let now = fixture.at();
    let first = take(&fixture, "one", now).await?;
    let by_ids = Commit { lease: Some(first.number), ..fixture.extend("", ["a"]) };
    let by_key = Commit {
        lease: Some(first.number),
        key: Some("k".into()),
        fragments: vec![stored("f", "x")],
        ..fixture.stay()
    };
    fixture.applied(by_ids.clone()).await?;
    fixture.applied(by_key.clone()).await?;
    take(&fixture, "two", at(now, 1_000_000)).await?;
    for (did, commit) in [("messages", by_ids), ("a key", by_key)] {
        let outcome = fixture.commit(commit).await?;
        ensure(matches!(outcome, CommitOutcome::Replayed(_)), || {
            format!("a commit known by {did}: expected it to be replayed, saw {outcome:?}")
        })?;
    }
    Ok(())
}

async fn a_lease_is_deleted_with_its_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    take(&fixture, "one", fixture.at()).await?;
    ensure(fixture.history().delete_chat(&fixture.chat, None).await?, || {
        "deleting a chat with a lease: expected it to be deleted".to_owned()
    })?;
    let claim = LeaseClaim::new("one", fixture.at(), TTL);
    let (chat, leases) = (&fixture.chat, leases(&fixture)?);
    refused("a claim of no chat", leases.take_lease(chat, &claim).await, ErrorKind::NotFound)?;
    let released = leases.release_lease(chat, 1, fixture.at()).await;
    refused("a release in no chat", released, ErrorKind::NotFound)?;
    refused("the lease of no chat", leases.lease(chat).await, ErrorKind::NotFound)?;
    fixture.create().await?;
    same("the lease of a chat created again", &leases.lease(chat).await?, &None)?;
    fixture.applied(fixture.extend("", ["a"])).await.map(drop)
}

async fn one_of_sixteen_owners_takes_it_and_writes(case: &CaseContext) -> Check {
    let one = case.fixture_in("two").await?;
    let two = one.through(case.second_handle("two").await?);
    let now = one.at();
    let written = race(16, |i| {
        let fixture = if i % 2 == 0 { one.clone() } else { two.clone() };
        async move {
            let (owner, id) = (format!("owner {i}"), format!("m{i}"));
            let lease = match claim(&fixture, &owner, now).await? {
                LeaseOutcome::Taken(lease) => Some(lease.number),
                LeaseOutcome::Held(_) => None,
            };
            let commit = Commit { lease, at: now, ..fixture.extend("", [id.as_str()]) };
            let outcome = fixture.history().commit(commit).await;
            match (lease, &outcome) {
                (Some(1), Ok(CommitOutcome::Applied(_))) => Ok(Some(id)),
                (None, Err(error)) if error.kind() != ErrorKind::Bug => Ok(None),
                _ => fail(format!("the commit of {owner} with {lease:?}: saw {outcome:?}")),
            }
        }
    })
    .await?;
    let written: Vec<_> = written.iter().flatten().map(String::as_str).collect();
    same("how many of 16 owners wrote", &written.len(), &1)?;
    one.expect_chain("main", &written).await
}

async fn seen_through_two_handles(case: &CaseContext) -> Check {
    let one = case.fixture_in("two").await?;
    let two = one.through(case.second_handle("two").await?);
    let with = |lease: &Lease, commit: Commit| Commit { lease: Some(lease.number), ..commit };
    // The second handle knows the end of the branch.
    two.applied(two.extend("", ["a"])).await?;
    two.applied(two.extend("a", ["b"])).await?;
    let now = one.at();
    let first = take(&one, "one", now).await?;
    shut_out(&two, "an append through another handle", two.extend("b", ["x"]), &first).await?;
    let second = take(&two, "two", at(now, 1_000_000)).await?;
    let late = with(&first, one.extend("b", ["x"]));
    shut_out(&one, "an append of the former owner", late, &second).await?;
    two.applied(with(&second, two.extend("b", ["c"]))).await?;
    one.expect_chain("main", &["a", "b", "c"]).await
}

async fn kept_by_a_reopened_store(case: &CaseContext) -> Check {
    if case.info().await?.durability == Durability::Process {
        return Err(Stop::Skip("not durable: it ends with the process".to_owned()));
    }
    let fixture = case.fixture_in("durable").await?;
    let lease = take(&fixture, "one", fixture.at()).await?;
    let fixture = reopened(case, fixture).await?;
    same("the lease", &leases(&fixture)?.lease(&fixture.chat).await?, &Some(lease.clone()))?;
    shut_out(&fixture, "an append", fixture.extend("", ["a"]), &lease).await.map(drop)
}
