//! Cases about reading what a turn begins with: a chat, its fragments and a branch, together.

use context_core::store::{ChainEnd, ChatPatch, Commit, OpenedChat, Window};
use context_core::{BranchName, ErrorKind};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, boundary, id, message, stored};
use crate::expect::{refused, same};
use crate::verdict::Check;

cases!("opening":
    absent_chats_are_none,
    new_chat,
    the_parts_are_those_of_their_own_calls,
    follows_the_active_branch,
    absent_branch_is_not_found,
    writes_of_another_handle_are_seen if SecondHandle,
);

async fn open(
    fixture: &ChatFixture,
    branch: Option<&str>,
    window: &Window,
) -> Check<Option<OpenedChat>> {
    let branch = branch.map(BranchName::from);
    Ok(fixture.store.open_chat(&fixture.chat, branch.as_ref(), window).await?)
}

/// Expects a chat to be opened as the calls of its parts return it.
async fn expect_parts(fixture: &ChatFixture, branch: Option<&str>, window: &Window) -> Check {
    let chat = fixture.history().chat(&fixture.chat).await?;
    let fragments = fixture.fragments().fragments(&fixture.chat).await?;
    let active = chat.as_ref().map(|chat| chat.active.clone());
    let read = branch.map(BranchName::from).or(active).unwrap_or_else(|| "main".into());
    let chain = fixture.history().chain(&fixture.chat, &ChainEnd::Branch(read), window).await?;
    let expected = chat.map(|chat| OpenedChat::new(chat, fragments, chain));
    let opened = open(fixture, branch, window).await?;
    let parts = |opened: &OpenedChat| (opened.chain.skipped(), opened.chain.generation());
    let did = format!("opening {branch:?} with {window:?}");
    same(
        format!("skipped and generation, {did}"),
        &opened.as_ref().map(parts),
        &expected.as_ref().map(parts),
    )?;
    same(did, &opened, &expected)
}

async fn absent_chats_are_none(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for other in [fixture.other("u1", "nowhere"), fixture.other("another user", "c1")] {
        for branch in [None, Some("main")] {
            let opened = open(&other, branch, &Window::Boundary).await?;
            same(format!("opening {:?}", other.chat), &opened, &None)?;
        }
    }
    Ok(())
}

async fn new_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for window in [Window::Boundary, Window::Whole, Window::Last(3), Window::Tokens(9)] {
        expect_parts(&fixture, None, &window).await?;
    }
    Ok(())
}

/// Writes a chat with all that can be opened: a title, metadata, fragments, an amended message,
/// boundaries, and a fork from the middle, `side`.
async fn written(case: &CaseContext) -> Check<ChatFixture> {
    let fixture = case.fixture().await?;
    let patch = ChatPatch {
        set: [("plan".to_owned(), "two seats".into())].into_iter().collect(),
        ..ChatPatch::default()
    };
    fixture.history().update_chat(&fixture.chat, &patch, fixture.at()).await?;
    let nodes = [message("a"), boundary("x"), message("b"), message("c")];
    let fragments = vec![stored("f", "first"), stored("", "nameless"), stored("g", "last")];
    let first = Commit { nodes: nodes.into(), fragments, ..fixture.extend("", []) };
    fixture.applied(first).await?;
    let amendments = vec![message("b")];
    fixture.applied(Commit { amendments, ..fixture.stay() }).await?;
    fixture.applied(fixture.fork("side", "b", ["s", "t"])).await?;
    let nodes = vec![boundary("y"), message("d")];
    fixture.applied(Commit { nodes, ..fixture.extend("c", []) }).await?;
    let replaced = [stored("f", "first, again")];
    fixture.fragments().put_fragments(&fixture.chat, &replaced, fixture.at()).await?;
    Ok(fixture)
}

async fn the_parts_are_those_of_their_own_calls(case: &CaseContext) -> Check {
    let fixture = written(case).await?;
    let generation = fixture.whole("main").await?.generation();
    let after = |message: &str, generation| Window::After { message: message.into(), generation };
    for branch in [None, Some("main"), Some("side")] {
        for window in [
            Window::Boundary,
            Window::Whole,
            Window::Last(1),
            Window::Tokens(1),
            after("a", generation),
            after("b", generation),
            after("d", generation),
            after("t", generation),
            after("ghost", generation),
            after("b", generation + 1),
        ] {
            expect_parts(&fixture, branch, &window).await?;
        }
    }
    Ok(())
}

async fn follows_the_active_branch(case: &CaseContext) -> Check {
    let fixture = written(case).await?;
    fixture.history().activate_branch(&fixture.chat, &"side".into(), fixture.at()).await?;
    let opened = open(&fixture, None, &Window::Boundary).await?;
    let head = opened.as_ref().and_then(|opened| opened.chain.head().cloned());
    same("the head of the active branch", &head, &id("t"))?;
    expect_parts(&fixture, None, &Window::Boundary).await?;
    let _deleted = fixture
        .history()
        .delete_branch(&fixture.chat, &"main".into(), id("d").as_ref(), fixture.at())
        .await?;
    expect_parts(&fixture, None, &Window::Boundary).await?;
    expect_parts(&fixture, None, &Window::Whole).await
}

async fn absent_branch_is_not_found(case: &CaseContext) -> Check {
    let fixture = written(case).await?;
    for window in [Window::Boundary, Window::Whole] {
        let opened = fixture.store.open_chat(&fixture.chat, Some(&"ghost".into()), &window).await;
        refused("opening an absent branch", opened, ErrorKind::NotFound)?;
    }
    Ok(())
}

async fn writes_of_another_handle_are_seen(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("two").await?;
    let second = fixture.through(case.second_handle("two").await?);
    let mut head = String::new();
    for new in ["a", "b", "c"] {
        fixture.applied(fixture.extend(&head, [new])).await?;
        let fragments = [stored(new, new)];
        fixture.fragments().put_fragments(&fixture.chat, &fragments, fixture.at()).await?;
        let opened = open(&second, None, &Window::Boundary).await?;
        let seen = opened.map(|opened| (opened.chain.head().cloned(), opened.fragments.len()));
        same(
            "head and fragments",
            &seen,
            &Some((id(new), fixture.fragments().fragments(&fixture.chat).await?.len())),
        )?;
        expect_parts(&second, None, &Window::Boundary).await?;
        head = new.to_owned();
    }
    Ok(())
}
