//! Cases about grafts: commits that are appended after whatever the head is by then.

use context_core::ErrorKind;
use context_core::store::{
    ChatPatch, Commit, CommitOutcome, Committed, LeaseClaim, TitleChange, Window,
};

use std::time::Duration;

use super::blob_references::problems;
use super::concurrency::{commit, race};
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, boundary, id, ids, message, says, stored};
use crate::expect::{applied, ensure, refused, same};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("grafts":
    after_the_head_that_was_seen,
    after_the_messages_of_others,
    seen_nothing,
    head_that_is_not_on_the_chain_is_a_conflict,
    fork_has_the_chain_of_its_parent,
    branch_that_was_made_anew_is_a_conflict,
    absent_branch_is_not_found,
    without_messages_only_checks,
    repeated_graft_is_replayed,
    same_key_is_replayed,
    stored_otherwise_exists,
    all_parts_are_written,
    long_commits_are_whole,
    readers_get_what_is_new,
    lease_shuts_grafts_out if Leases,
    sixteen_at_once_all_get_in,
    beside_writers_that_expect_a_head,
    sixteen_through_two_handles_all_get_in if SecondHandle,
);

const WRITERS: usize = 16;

/// Returns the result of a graft on `main`.
fn grafted(head: &str, onto: &str) -> Committed {
    Committed::new(Some("main".into()), id(head)).with_onto(id(onto))
}

async fn after_the_head_that_was_seen(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for (seen, new, head) in [("", vec!["a"], "a"), ("a", vec!["b", "c"], "c")] {
        let outcome = fixture.commit(fixture.graft(seen, new)).await?;
        let expected = CommitOutcome::Applied(grafted(head, seen));
        same(format!("a graft at its head {seen:?}"), &outcome, &expected)?;
    }
    fixture.expect_chain("main", &["a", "b", "c"]).await?;
    let branch = fixture.branch("main").await?;
    same("head and length of main", &branch.map(|b| (b.head, b.length)), &Some((id("c"), 3)))
}

async fn after_the_messages_of_others(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.extend("b", ["c"])).await?;
    for (seen, new, onto) in [("b", "x", "c"), ("a", "y", "x"), ("y", "z", "y")] {
        let outcome = fixture.commit(fixture.graft(seen, [new])).await?;
        let expected = CommitOutcome::Applied(grafted(new, onto));
        same(format!("a graft of one who saw {seen:?}"), &outcome, &expected)?;
    }
    fixture.applied(fixture.extend("z", ["end"])).await?;
    fixture.expect_chain("main", &["a", "b", "c", "x", "y", "z", "end"]).await?;
    same("the findings of a check", &problems(&fixture).await?, &Vec::new())
}

async fn seen_nothing(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let outcome = fixture.commit(fixture.graft("", ["a"])).await?;
    same("on a branch without messages", &outcome, &CommitOutcome::Applied(grafted("a", "")))?;
    let outcome = fixture.commit(fixture.graft("", ["b"])).await?;
    same("on one that has some by now", &outcome, &CommitOutcome::Applied(grafted("b", "a")))?;
    fixture.expect_chain("main", &["a", "b"]).await
}

async fn head_that_is_not_on_the_chain_is_a_conflict(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let outcome = fixture.commit(fixture.graft("ghost", ["x"])).await?;
    let conflict = |actual| CommitOutcome::Conflict { actual: id(actual) };
    same("a message that is nowhere, on an empty branch", &outcome, &conflict(""))?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("side", "a", ["s"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    for seen in ["ghost", "s"] {
        let mut graft = fixture.graft(seen, ["x"]);
        let outcome = fixture.commit(graft.clone()).await?;
        same(format!("a graft of one who saw {seen:?}"), &outcome, &conflict("b"))?;
        graft.fragments = vec![stored("f", "x")];
        let outcome = fixture.commit(graft).await?;
        same(format!("one with a fragment who saw {seen:?}"), &outcome, &conflict("b"))?;
        same("the chat afterwards", &VisibleChat::of(&fixture).await?, &before)?;
    }
    Ok(())
}

async fn fork_has_the_chain_of_its_parent(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    fixture.applied(fixture.fork("side", "b", ["s"])).await?;
    fixture.applied(fixture.fork("twig", "s", [])).await?;
    let conflict = CommitOutcome::Conflict { actual: id("s") };
    for (i, seen) in ["", "a", "b", "s"].into_iter().enumerate() {
        let new = format!("t{i}");
        fixture.applied(fixture.graft_on("twig", seen, [new.as_str()])).await?;
    }
    let outcome = fixture.commit(fixture.graft_on("side", "c", ["x"])).await?;
    same("a message of the parent after the fork", &outcome, &conflict)?;
    let outcome = fixture.commit(fixture.graft_on("side", "t0", ["x"])).await?;
    same("a message of a fork of it", &outcome, &conflict)?;
    fixture.expect_chain("twig", &["a", "b", "s", "t0", "t1", "t2", "t3"]).await?;
    fixture.expect_chain("side", &["a", "b", "s"]).await
}

async fn branch_that_was_made_anew_is_a_conflict(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("work", "a", ["w"])).await?;
    let (chat, work) = (&fixture.chat, "work".into());
    let deleted =
        fixture.history().delete_branch(chat, &work, id("w").as_ref(), fixture.at()).await?;
    drop(deleted);
    fixture.applied(fixture.fork("work", "a", ["v"])).await?;
    let outcome = fixture.commit(fixture.graft_on("work", "w", ["x"])).await?;
    let conflict = CommitOutcome::Conflict { actual: id("v") };
    same("a head that was deleted with its branch", &outcome, &conflict)?;
    fixture.applied(fixture.graft_on("work", "a", ["x"])).await?;
    fixture.expect_chain("work", &["a", "v", "x"]).await
}

async fn absent_branch_is_not_found(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for seen in ["", "a"] {
        let result = fixture.history().commit(fixture.graft_on("ghost", seen, ["x"])).await;
        refused("a graft on an absent branch", result, ErrorKind::NotFound)?;
    }
    let absent = fixture.other("ada", "absent");
    let result = fixture.history().commit(absent.graft("", ["x"])).await;
    refused("a graft in an absent chat", result, ErrorKind::NotFound).map(drop)
}

async fn without_messages_only_checks(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    let mut check = fixture.graft("a", []);
    check.fragments = vec![stored("f", "x")];
    let outcome = fixture.commit(check).await?;
    same("no messages, on the chain", &outcome, &CommitOutcome::Applied(grafted("b", "b")))?;
    let mut check = fixture.graft("ghost", []);
    check.fragments = vec![stored("g", "x")];
    let conflict = CommitOutcome::Conflict { actual: id("b") };
    same("no messages, not on the chain", &fixture.commit(check).await?, &conflict)?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    same("the fragments of the two", &fragments, &vec![stored("f", "x")])
}

async fn repeated_graft_is_replayed(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let graft = fixture.graft("a", ["b", "c"]);
    fixture.applied(fixture.extend("a", ["of another"])).await?;
    let committed = fixture.applied(graft.clone()).await?;
    same("what was applied", &committed, &grafted("c", "of another"))?;
    let before = VisibleChat::of(&fixture).await?;
    let replayed = CommitOutcome::Replayed(committed);
    same("the same graft again", &fixture.commit(graft.clone()).await?, &replayed)?;
    same("the chat afterwards", &VisibleChat::of(&fixture).await?, &before)?;
    fixture.applied(fixture.graft("a", ["d"])).await?;
    let outcome = fixture.commit(Commit { at: fixture.at(), ..graft }).await?;
    same("once more, after others wrote", &outcome, &replayed)?;
    let first = fixture.commit(fixture.graft("", ["a"])).await?;
    same("the first message again", &first, &CommitOutcome::Replayed(grafted("a", "")))?;
    fixture.expect_chain("main", &["a", "of another", "b", "c", "d"]).await
}

async fn same_key_is_replayed(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.extend("a", ["of another"])).await?;
    let keyed = Commit { key: Some("k".into()), ..fixture.graft("a", ["b"]) };
    let keyed = Commit { fragments: vec![stored("f", "x")], ..keyed };
    let committed = fixture.applied(keyed.clone()).await?;
    same("what was applied", &committed, &grafted("b", "of another"))?;
    fixture.applied(fixture.extend("b", ["c"])).await?;
    let again = fixture.commit(Commit { at: fixture.at(), ..keyed.clone() }).await?;
    same("the same key again", &again, &CommitOutcome::Replayed(committed))?;
    let others = [
        Commit { target: fixture.graft("of another", []).target, ..keyed.clone() },
        Commit { target: fixture.extend("a", []).target, ..keyed.clone() },
        Commit { nodes: vec![message("x")], ..keyed },
    ];
    for other in others {
        let did = format!("the same key with {:?}, {:?}", other.target, other.nodes);
        refused(did, fixture.history().commit(other).await, ErrorKind::Invalid)?;
    }
    let empty = Commit { key: Some("none".into()), ..fixture.graft("a", []) };
    fixture.applied(empty.clone()).await?;
    fixture.applied(fixture.extend("c", ["d"])).await?;
    let again = fixture.commit(empty).await?;
    same("a key without messages", &again, &CommitOutcome::Replayed(grafted("c", "c")))?;
    fixture.expect_chain("main", &["a", "of another", "b", "c", "d"]).await
}

async fn stored_otherwise_exists(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    fixture.applied(fixture.fork("side", "a", ["s"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    let exists =
        |ids: &[&str]| CommitOutcome::Exists { ids: ids.iter().copied().map(Into::into).collect() };
    let other = Commit { nodes: vec![says("c", "else")], ..fixture.graft("a", []) };
    let tries = [
        ("a stored and a new one", fixture.graft("a", ["b", "x"]), exists(&["b"])),
        ("a new and a stored one", fixture.graft("c", ["x", "b"]), exists(&["b"])),
        ("other content", other, exists(&["c"])),
        ("another order", fixture.graft("a", ["c", "b"]), exists(&["c", "b"])),
        ("a gap", fixture.graft("", ["a", "c"]), exists(&["a", "c"])),
        ("before what was seen", fixture.graft("c", ["b"]), exists(&["b"])),
        ("what was seen itself", fixture.graft("b", ["b", "c"]), exists(&["b", "c"])),
        ("of another branch", fixture.graft("a", ["s"]), exists(&["s"])),
    ];
    for (label, graft, expected) in tries {
        let did = format!("messages that are stored otherwise: {label}");
        same(did, &fixture.commit(graft).await?, &expected)?;
        same(format!("the chat after {label}"), &VisibleChat::of(&fixture).await?, &before)?;
    }
    Ok(())
}

async fn all_parts_are_written(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.extend("a", ["of another"])).await?;
    let patch = ChatPatch { title: TitleChange::Set("new".into()), ..ChatPatch::default() };
    let graft = Commit {
        amendments: vec![says("a", "amended")],
        fragments: vec![stored("f", "new")],
        patch: Some(patch),
        ..fixture.graft("a", ["b"])
    };
    same("what was applied", &fixture.applied(graft).await?, &grafted("b", "of another"))?;
    let cut = Commit { nodes: vec![boundary("cut"), message("c")], ..fixture.graft("a", []) };
    same("one with a boundary", &fixture.applied(cut).await?, &grafted("c", "b"))?;
    let chain = fixture.whole("main").await?;
    same(
        "the chain",
        &ids(&chain),
        &["a", "of another", "b", "cut", "c"].map(str::to_owned).into(),
    )?;
    let first = chain.get(0).map(|node| node.body().clone());
    same("the amended message", &first.as_ref(), &Some(says("a", "amended").body()))?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    same("its fragments", &fragments, &vec![stored("f", "new")])?;
    let from_cut = fixture.read("main", Window::Boundary).await?;
    same("from the boundary on", &ids(&from_cut), &["cut", "c"].map(str::to_owned).into())?;
    let title = fixture.history().chat(&fixture.chat).await?.and_then(|chat| chat.title);
    same("the title", &title.as_deref(), &Some("new"))
}

async fn long_commits_are_whole(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut expected = fixture.fill(100, 7).await?;
    for (size, seen) in [(1, "m3"), (63, "m99"), (200, "m0"), (2, "m50")] {
        let new: Vec<_> = (0..size).map(|i| format!("g{size}-{i}")).collect();
        fixture.applied(fixture.graft(seen, new.iter().map(String::as_str))).await?;
        expected.extend(new);
    }
    same("grafts of many messages", &ids(&fixture.whole("main").await?), &expected)?;
    same("the findings of a check", &problems(&fixture).await?, &Vec::new())
}

/// Checks that one who appended behind the messages of others finds these by what is new.
async fn readers_get_what_is_new(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let generation = fixture.whole("main").await?.generation();
    fixture.applied(fixture.extend("a", ["of another"])).await?;
    fixture.applied(fixture.graft("a", ["b"])).await?;
    let after = Window::After { message: "a".into(), generation };
    let news = fixture.read("main", after).await?;
    same("what is new after \"a\"", &ids(&news), &["of another", "b"].map(str::to_owned).into())?;
    ensure(!news.is_whole(), || "expected only what is new, saw a whole chain".to_owned())
}

async fn lease_shuts_grafts_out(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let Some(leases) = fixture.store.leases() else { return Ok(()) };
    let claim = LeaseClaim::new("owner", fixture.at(), Duration::from_secs(60));
    let _taken = leases.take_lease(&fixture.chat, &claim).await?;
    for seen in ["a", ""] {
        let graft = fixture.graft(seen, ["x"]);
        let result = fixture.history().commit(graft).await;
        refused("a graft beside a lease", result, ErrorKind::Conflict)?;
    }
    let held = Commit { lease: Some(1), ..fixture.graft("", ["b"]) };
    same("one under the lease", &fixture.applied(held).await?, &grafted("b", "a"))?;
    fixture.expect_chain("main", &["a", "b"]).await
}

/// Lets writers who look only at their own messages graft at the same time. Expects that nobody is
/// refused, that each is told what it follows, and that nothing is lost.
async fn graft_at_once(fixtures: &[ChatFixture], each: usize) -> Check {
    let told = race(WRITERS, |w| {
        let fixture = fixtures[w % fixtures.len()].clone();
        async move {
            let (mut seen, mut told) = (String::new(), Vec::new());
            for i in 0..each {
                let new = [format!("w{w}-{i}-a"), format!("w{w}-{i}-b")];
                let graft = fixture.graft(&seen, new.iter().map(String::as_str));
                // Some grafts take the way of commits with other content.
                let graft = match i % 5 {
                    4 => Commit { fragments: vec![stored(&format!("f{w}"), &new[0])], ..graft },
                    _ => graft,
                };
                let committed = applied("a graft", commit(&fixture, graft).await?)?;
                told.push((new[0].clone(), committed.onto.map(|id| id.to_string())));
                same("the head it was told", &committed.head, &id(&new[1]))?;
                seen.clone_from(&new[1]);
            }
            Ok(told)
        }
    })
    .await?;
    let chain = ids(&fixtures[0].whole("main").await?);
    same("how many messages main has", &chain.len(), &(WRITERS * each * 2))?;
    for (first, onto) in told.iter().flatten() {
        let place = chain.iter().position(|id| id == first);
        let before = place.and_then(|place| place.checked_sub(1)).and_then(|at| chain.get(at));
        same(format!("what {first} follows"), &before, &onto.as_ref())?;
    }
    for own in &told {
        let own: Vec<_> = own.iter().map(|(first, _)| first).collect();
        let order: Vec<_> = chain.iter().filter(|id| own.contains(id)).collect();
        same("the order of one writer's messages", &order, &own)?;
    }
    Ok(())
}

async fn sixteen_at_once_all_get_in(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    graft_at_once(std::slice::from_ref(&fixture), 10).await?;
    same("the findings of a check", &problems(&fixture).await?, &Vec::new())
}

async fn sixteen_through_two_handles_all_get_in(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    let second = fixture.through(case.second_handle("two").await?);
    graft_at_once(&[fixture, second], 6).await
}

/// Checks that a writer who expects a head either is the first behind it or is told of a conflict.
async fn beside_writers_that_expect_a_head(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["root"])).await?;
    let outcomes = race(WRITERS, |w| {
        let (fixture, new) = (fixture.clone(), format!("w{w}"));
        async move {
            let attempt = match w % 2 {
                0 => fixture.graft("root", [new.as_str()]),
                _ => fixture.extend("root", [new.as_str()]),
            };
            Ok((new, w % 2 == 0, commit(&fixture, attempt).await?))
        }
    })
    .await?;
    let chain = ids(&fixture.whole("main").await?);
    for (new, grafts, outcome) in outcomes {
        let place = chain.iter().position(|id| *id == new);
        match outcome {
            CommitOutcome::Applied(_) if grafts => {
                ensure(place.is_some(), || format!("the graft {new} was lost: {chain:?}"))?;
            }
            CommitOutcome::Applied(_) => {
                same(format!("the place of {new}, which expected root"), &place, &Some(1))?;
            }
            outcome => {
                let conflict = !grafts && matches!(outcome, CommitOutcome::Conflict { .. });
                ensure(conflict && place.is_none(), || format!("{new}: saw {outcome:?}"))?;
            }
        }
    }
    Ok(())
}
