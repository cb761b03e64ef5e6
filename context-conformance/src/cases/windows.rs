//! Cases about windows: the end of a chain, and the number of messages before it.

use std::sync::Arc;

use context_core::Chain;
use context_core::store::{Commit, Window};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, boundary, id, ids, message, owned, says};
use crate::expect::same;
use crate::verdict::Check;

cases!("windows":
    cut_where_they_say,
    cut_on_forks,
    cut_on_chains_to_a_message,
    newest_boundary_counts,
    tokens_take_at_least_one,
    after_tells_what_is_new,
    after_reads_all_again_once_something_was_amended,
);

fn after(message: &str, generation: u64) -> Window {
    Window::After { message: message.into(), generation }
}

/// Returns windows of every kind, with edge cases.
fn windows() -> Vec<Window> {
    let mut windows = vec![Window::Whole, Window::Boundary];
    windows.extend([0, 1, 2, 15, 16, 17, 49, 50, 51, 99, 100, 101, usize::MAX].map(Window::Last));
    windows.extend([0, 1, 9, 10, 11, 39, 40, 155, 400, 5000, u64::MAX].map(Window::Tokens));
    windows.extend(
        ["m0", "m1", "m40", "m50", "m51", "m98", "m99", "x", "y", "cut", "ghost"]
            .iter()
            .flat_map(|id| [after(id, 0), after(id, 1)]),
    );
    windows
}

/// Creates a chat of 100 messages in commits of mixed sizes, every third with a token count, with
/// boundaries among them and a fork.
async fn filled(case: &CaseContext) -> Check<ChatFixture> {
    let fixture = case.fixture().await?;
    let mut head = String::new();
    let mut next = 0;
    for size in [1, 1, 1, 20, 1, 30, 1, 1, 14, 30] {
        let nodes = (next..next + size).map(|i| match i {
            10 | 50 => boundary(&format!("m{i}")),
            i if i % 3 == 0 => {
                Arc::new((*message(&format!("m{i}"))).clone().with_tokens(10 + i % 7))
            }
            i => message(&format!("m{i}")),
        });
        let commit = Commit { nodes: nodes.collect(), ..fixture.extend(&head, []) };
        fixture.applied(commit).await?;
        next += size;
        head = format!("m{}", next - 1);
    }
    fixture.applied(fixture.fork("side", "m40", ["x", "y"])).await?;
    Ok(fixture)
}

/// Expects the window to be the window of the whole chain.
fn check(label: &str, window: &Window, whole: &Chain, seen: &Chain) -> Check {
    let expected = window.of(whole);
    let did = format!("{label} through {window:?}");
    same(
        format!("{did}: how many are left out, and the rest"),
        &(seen.skipped(), ids(seen)),
        &(expected.skipped(), ids(&expected)),
    )?;
    same(did, seen, &expected)
}

async fn cut_where_they_say(case: &CaseContext) -> Check {
    let fixture = filled(case).await?;
    let whole = fixture.whole("main").await?;
    same("the length of main", &whole.len(), &100)?;
    for window in windows() {
        check("main", &window, &whole, &fixture.read("main", window.clone()).await?)?;
    }
    Ok(())
}

async fn cut_on_forks(case: &CaseContext) -> Check {
    let fixture = filled(case).await?;
    let whole = fixture.whole("side").await?;
    same("the length of side", &whole.len(), &43)?;
    for window in windows() {
        check("side", &window, &whole, &fixture.read("side", window.clone()).await?)?;
    }
    Ok(())
}

async fn cut_on_chains_to_a_message(case: &CaseContext) -> Check {
    let fixture = filled(case).await?;
    for end in ["m0", "m30", "m50", "m64", "x"] {
        let whole = fixture.read_to(end, Window::Whole).await?;
        for window in windows() {
            let seen = fixture.read_to(end, window.clone()).await?;
            check(&format!("the chain to {end:?}"), &window, &whole, &seen)?;
        }
    }
    Ok(())
}

async fn newest_boundary_counts(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let expect = async |did: &str, skipped: u64, rest: &[&str]| {
        let seen = fixture.read("main", Window::Boundary).await?;
        same(
            format!("from the newest boundary on, {did}"),
            &(seen.skipped(), ids(&seen)),
            &(skipped, owned(rest)),
        )
    };
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    expect("without one", 0, &["a", "b"]).await?;
    for (expected, name) in [("b", "cut1"), ("c", "cut2")] {
        let commit = Commit { nodes: vec![boundary(name)], ..fixture.extend(expected, []) };
        fixture.applied(commit).await?;
        expect("which is the head", if name == "cut1" { 2 } else { 4 }, &[name]).await?;
        if name == "cut1" {
            fixture.applied(fixture.extend("cut1", ["c"])).await?;
            expect("with a message behind it", 2, &["cut1", "c"]).await?;
        }
    }
    // A branch that was forked before a boundary does not see it.
    fixture.applied(fixture.fork("side", "c", ["d"])).await?;
    let seen = fixture.read("side", Window::Boundary).await?;
    same("on a branch that left between two", &ids(&seen), &owned(&["cut1", "c", "d"]))?;
    fixture.applied(fixture.fork("early", "a", ["e"])).await?;
    let seen = fixture.read("early", Window::Boundary).await?;
    same(
        "on a branch that left before the first",
        &(seen.skipped(), ids(&seen)),
        &(0, owned(&["a", "e"])),
    )
}

async fn tokens_take_at_least_one(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let counted = |name: &str, tokens| Arc::new((*message(name)).clone().with_tokens(tokens));
    let nodes =
        vec![counted("a", 5), counted("zero", 0), counted("big", u32::MAX), counted("z", 3)];
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    for (budget, rest) in
        [(0, &["z"][..]), (3, &["z"]), (u64::from(u32::MAX) + 3, &["zero", "big", "z"])]
    {
        let seen = fixture.read("main", Window::Tokens(budget)).await?;
        same(format!("at most {budget} tokens"), &ids(&seen), &owned(rest))?;
    }
    Ok(())
}

async fn after_tells_what_is_new(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(20, 3).await?;
    fixture.applied(fixture.fork("side", "m4", ["x"])).await?;
    let generation = fixture.whole("main").await?.generation();
    let read = async |message: &str| {
        let seen = fixture.read("main", after(message, generation)).await?;
        Check::Ok((seen.skipped(), seen.len(), seen.head().cloned()))
    };
    same("after the head", &read("m19").await?, &(20, 0, None))?;
    same("after the one before the head", &read("m18").await?, &(19, 1, id("m19")))?;
    same("after the root", &read("m0").await?, &(1, 19, id("m19")))?;
    same("after a message of another branch", &read("x").await?, &(0, 20, id("m19")))?;
    same("after a message that is nowhere", &read("ghost").await?, &(0, 20, id("m19")))?;
    let seen = fixture.read("side", after("m19", generation)).await?;
    same("on a fork, after a message behind its place", &(seen.skipped(), seen.len()), &(0, 6))
}

/// Checks that a reader with a cached chain finds out that one of its messages is outdated.
async fn after_reads_all_again_once_something_was_amended(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(5, 3).await?;
    fixture.applied(fixture.fork("side", "m1", ["x"])).await?;
    let seen = async |branch: &str, window: Window| {
        let seen = fixture.read(branch, window).await?;
        Check::Ok((seen.skipped(), seen.len(), seen.generation()))
    };
    let (skipped, length, before) = seen("main", Window::Whole).await?;
    same("nothing amended yet", &(skipped, length), &(0, 5))?;
    let amended = ["m0", "m3"].map(|id| says(id, "amended"));
    fixture.applied(Commit { amendments: amended.into(), ..fixture.stay() }).await?;
    let now = before + 1;
    same(
        "what was read before the amendment",
        &seen("main", after("m4", before)).await?,
        &(0, 5, now),
    )?;
    same("what was read behind it", &seen("main", after("m4", now)).await?, &(5, 0, now))?;
    same("another branch of the chat", &seen("side", after("x", before)).await?, &(0, 3, now))?;
    fixture.applied(fixture.extend("m4", ["m5"])).await?;
    same("an append is no amendment", &seen("main", after("m4", now)).await?, &(5, 1, now))?;
    for window in [Window::Last(2), Window::Boundary, Window::Tokens(1)] {
        same(format!("{window:?}"), &seen("main", window).await?.2, &now)?;
    }
    Ok(())
}
