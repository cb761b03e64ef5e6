//! Cases about branches: forking, naming, activating, and independence of each other.

use context_core::ErrorKind;
use context_core::store::{Commit, CommitOutcome, Committed, ForkName, Target};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, ids, owned};
use crate::expect::{refused, same};
use crate::verdict::Check;

cases!("branches":
    fork_of_a_chosen_name,
    taken_name_is_a_conflict,
    next_version_takes_the_lowest_free_number,
    fork_from_any_message,
    forks_of_forks,
    fork_without_messages_points_at_its_place,
    new_root,
    fork_place_must_exist,
    activating,
    fork_can_activate,
    branches_are_independent,
    listed_in_order_of_creation,
);

async fn fork_of_a_chosen_name(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    let outcome = fixture.commit(fixture.fork("side", "a", ["x", "y"])).await?;
    let expected = CommitOutcome::Applied(Committed::new(Some("side".into()), id("y")));
    same("forking behind \"a\"", &outcome, &expected)?;
    fixture.expect_chain("side", &["a", "x", "y"]).await?;
    fixture.expect_chain("main", &["a", "b"]).await?;
    let active = fixture.history().chat(&fixture.chat).await?.map(|chat| chat.active);
    same("the active branch", &active, &Some("main".into()))
}

async fn taken_name_is_a_conflict(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("side", "a", [])).await?;
    for (name, head) in [("side", "a"), ("main", "b")] {
        let outcome = fixture.commit(fixture.fork(name, "a", ["x"])).await?;
        let expected = CommitOutcome::Conflict { actual: id(head) };
        same(format!("a fork called {name:?}, which is taken"), &outcome, &expected)?;
    }
    same(
        "branches",
        &fixture.heads().await?,
        &vec![("main".into(), id("b")), ("side".into(), id("a"))],
    )
}

async fn next_version_takes_the_lowest_free_number(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for trap in [
        "main-vacation",
        "main-v3",
        "main-v",
        "main-v02",
        "main-v1",
        "MAIN-v2",
        "xmain-v2",
        "main_v2",
    ] {
        fixture.applied(fixture.fork(trap, "a", [])).await?;
    }
    let steps = [
        ("main", "main-v2"),
        ("main", "main-v4"),
        ("main-v2", "main-v5"),
        ("main", "main-v6"),
        ("main-v3", "main-v7"),
        ("main-v02", "main-v02-v2"),
        ("100%_", "100%_-v2"),
        ("main", "main-v8"),
    ];
    for (base, expected) in steps {
        let committed = fixture.applied(fixture.next_version(base, "a")).await?;
        same(format!("the next version of {base:?}"), &committed.branch, &Some(expected.into()))?;
    }
    Ok(())
}

async fn fork_from_any_message(case: &CaseContext) -> Check {
    for per_commit in [1, 7, 100] {
        let fixture = case.fixture().await?;
        let all = fixture.fill(100, per_commit).await?;
        for at in [0, 1, 14, 15, 16, 17, 31, 63, 64, 65, 98, 99] {
            let (name, new) = (format!("from-{at}"), format!("x{at}"));
            fixture.applied(fixture.fork(&name, &all[at], [new.as_str()])).await?;
            let next = format!("y{at}");
            fixture.applied(fixture.extend_on(&name, &new, [next.as_str()])).await?;
            let mut expected = all[..=at].to_vec();
            expected.extend([new, next]);
            let chain = fixture.whole(&name).await?;
            let did = format!("a fork behind message {at} of 100, written {per_commit} at a time");
            same(&did, &ids(&chain), &expected)?;
            let length = fixture.branch(&name).await?.map(|branch| branch.length);
            same(format!("the length of {did}"), &length, &Some(expected.len() as u64))?;
        }
        fixture.applied(fixture.extend("m99", ["end"])).await?;
        let mut expected = all.clone();
        expected.push("end".to_owned());
        same("the branch that was forked from", &ids(&fixture.whole("main").await?), &expected)?;
    }
    Ok(())
}

async fn forks_of_forks(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["m"])).await?;
    let mut expected = owned(&["m"]);
    for depth in 0..40 {
        let (name, a, b, c) =
            (format!("f{depth}"), format!("a{depth}"), format!("b{depth}"), format!("c{depth}"));
        let at = expected.last().cloned().unwrap_or_default();
        fixture.applied(fixture.fork(&name, &at, [a.as_str(), b.as_str(), c.as_str()])).await?;
        expected.extend([a, b]);
        // The next fork begins after `b`, so `c` is on this branch alone.
        let mut whole = expected.clone();
        whole.push(c);
        same(format!("fork {depth} of a fork"), &ids(&fixture.whole(&name).await?), &whole)?;
    }
    Ok(())
}

async fn fork_without_messages_points_at_its_place(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    let committed = fixture.applied(fixture.fork("back", "b", [])).await?;
    same("a fork without messages", &committed, &Committed::new(Some("back".into()), id("b")))?;
    fixture.expect_chain("back", &["a", "b"]).await?;
    fixture.applied(fixture.extend_on("back", "b", ["d"])).await?;
    fixture.expect_chain("back", &["a", "b", "d"]).await?;
    fixture.applied(fixture.extend("c", ["e"])).await?;
    fixture.expect_chain("main", &["a", "b", "c", "e"]).await
}

async fn new_root(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("anew", "", ["r", "s"])).await?;
    fixture.applied(fixture.fork("empty", "", [])).await?;
    fixture.expect_chain("anew", &["r", "s"]).await?;
    fixture.expect_chain("empty", &[]).await?;
    fixture.applied(fixture.extend_on("empty", "", ["t"])).await?;
    fixture.expect_chain("empty", &["t"]).await?;
    fixture.expect_chain("main", &["a", "b"]).await
}

async fn fork_place_must_exist(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = fixture.other("ada", "other");
    other.create().await?;
    other.applied(other.extend("", ["theirs"])).await?;
    for at in ["ghost", "theirs"] {
        let result = fixture.history().commit(fixture.fork("side", at, ["x"])).await;
        refused(
            format!("a fork behind {at:?}, which is not in this chat"),
            result,
            ErrorKind::NotFound,
        )?;
    }
    same("branches", &fixture.heads().await?, &vec![("main".into(), None)])
}

async fn active(fixture: &ChatFixture) -> Check<(Option<String>, Vec<String>)> {
    let chat = fixture.history().chat(&fixture.chat).await?;
    let branches = fixture.history().branches(&fixture.chat).await?;
    let active =
        branches.into_iter().filter(|branch| branch.active).map(|branch| branch.name.to_string());
    Ok((chat.map(|chat| chat.active.to_string()), active.collect()))
}

async fn activating(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.fork("side", "a", [])).await?;
    let now = |name: &str| (Some(name.to_owned()), owned(&[name]));
    for name in ["side", "side", "main"] {
        fixture.history().activate_branch(&fixture.chat, &name.into(), fixture.at()).await?;
        same(
            format!("the active branch after activating {name:?}"),
            &active(&fixture).await?,
            &now(name),
        )?;
    }
    let result =
        fixture.history().activate_branch(&fixture.chat, &"ghost".into(), fixture.at()).await;
    refused("activating an absent branch", result, ErrorKind::NotFound)?;
    same("the active branch after that", &active(&fixture).await?, &now("main"))
}

async fn fork_can_activate(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    let fork = |name: &str| Commit {
        target: Target::Fork { name: ForkName::Exact(name.into()), at: id("a"), activate: true },
        ..fixture.stay()
    };
    fixture.applied(fork("side")).await?;
    same("the active branch", &active(&fixture).await?, &(Some("side".into()), owned(&["side"])))?;
    let outcome = fixture.commit(fork("main")).await?;
    same("a fork of a taken name", &outcome, &CommitOutcome::Conflict { actual: id("b") })?;
    same(
        "the active branch then",
        &active(&fixture).await?,
        &(Some("side".into()), owned(&["side"])),
    )
}

async fn branches_are_independent(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    fixture.applied(fixture.fork("side", "a", [])).await?;
    let mut expected = [owned(&["a"]), owned(&["a"])];
    for i in 0..70 {
        for (branch, expected) in ["main", "side"].into_iter().zip(&mut expected) {
            let new = format!("{branch}-{i}");
            let head = expected.last().cloned().unwrap_or_default();
            fixture.applied(fixture.extend_on(branch, &head, [new.as_str()])).await?;
            expected.push(new);
        }
    }
    for (branch, expected) in ["main", "side"].into_iter().zip(&expected) {
        let seen = ids(&fixture.whole(branch).await?);
        same(format!("{branch} after both branches grew in turn"), &seen, expected)?;
    }
    Ok(())
}

async fn listed_in_order_of_creation(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let at = fixture.at();
    let names = ["zeta", "alpha", "10", "9", "Main"];
    for name in names {
        // All forks have the same timestamp. They must be ordered by commit, not by time.
        fixture.applied(Commit { at, ..fixture.fork(name, "a", []) }).await?;
    }
    let seen: Vec<_> =
        fixture.heads().await?.into_iter().map(|(name, _)| name.to_string()).collect();
    same("the branches", &seen, &owned(&["main", "zeta", "alpha", "10", "9", "Main"]))?;
    let created = fixture.branch("zeta").await?.map(|branch| branch.created_at);
    same("when \"zeta\" was created", &created, &Some(at))
}
