//! Cases about renamed and deleted branches, and about messages that become unreachable.

use context_core::store::{BranchDeletion, Commit, CommitOutcome, Window};
use context_core::{Error, ErrorKind, MessageId};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, owned, says};
use crate::expect::{ensure, fail, refused, same};
use crate::verdict::Check;
use crate::visible_chat::{VisibleChat, all_messages};

cases!("removal":
    renaming_keeps_order_head_and_time,
    renaming_the_active_branch,
    renaming_into_a_name_that_is_taken,
    deleting_takes_what_only_it_reached,
    ids_are_free_again,
    the_active_branch_is_not_deleted,
    a_branch_that_moved_is_not_deleted,
    forks_of_forks,
    a_checkpoint_keeps_its_path,
    moving_a_checkpoint_lets_go,
    an_empty_branch,
    readers_find_out,
    many_messages_at_once,
    the_size_of_a_chat,
    only_an_idle_chat_is_deleted,
    deleted_stays_deleted if Durable,
);

pub(super) async fn delete(
    fixture: &ChatFixture,
    branch: &str,
    expected: &str,
) -> Check<BranchDeletion> {
    let expected = id(expected);
    Ok(fixture
        .history()
        .delete_branch(&fixture.chat, &branch.into(), expected.as_ref(), fixture.at())
        .await?)
}

/// Deletes a branch, and expects this many messages to be removed with it.
async fn deleted(fixture: &ChatFixture, branch: &str, head: &str, messages: u64) -> Check {
    match delete(fixture, branch, head).await? {
        BranchDeletion::Deleted { messages: seen } => {
            same(format!("how many messages went with {branch:?}"), &seen, &messages)
        }
        other => fail(format!("deleting {branch:?}: expected it to be deleted, saw {other:?}")),
    }
}

/// Expects exactly these messages to remain.
async fn left(fixture: &ChatFixture, did: &str, expected: &[&str]) -> Check {
    let mut seen: Vec<_> =
        all_messages(fixture, 7).await?.iter().map(|placed| placed.node.id.to_string()).collect();
    let mut expected = owned(expected);
    seen.sort();
    expected.sort();
    same(format!("the messages {did}"), &seen, &expected)?;
    let size = fixture.history().chat_size(&fixture.chat).await?;
    same(format!("how many there are {did}"), &size.messages, &(expected.len() as u64))
}

async fn rename(fixture: &ChatFixture, from: &str, to: &str) -> Check {
    Ok(fixture
        .history()
        .rename_branch(&fixture.chat, &from.into(), &to.into(), fixture.at())
        .await?)
}

async fn checkpoint(fixture: &ChatFixture, name: &str, message: &str) -> Check {
    fixture
        .history()
        .set_checkpoint(&fixture.chat, &name.into(), &message.into(), fixture.at())
        .await?;
    Ok(())
}

/// Creates a chat with `main`: a b c; `side`, forked after b: x y; `deep`, forked after x: z.
async fn grown(case: &CaseContext) -> Check<ChatFixture> {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    fixture.applied(fixture.fork("side", "b", ["x", "y"])).await?;
    fixture.applied(fixture.fork("deep", "x", ["z"])).await?;
    Ok(fixture)
}

async fn renaming_keeps_order_head_and_time(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    let mut expected = fixture.history().branches(&fixture.chat).await?;
    for (from, to) in
        [("side", "zz"), ("zz", "aa"), ("aa", "it's\n🦀"), ("deep", "side"), ("side", "side")]
    {
        rename(&fixture, from, to).await?;
        for branch in expected.iter_mut().filter(|branch| branch.name == *from) {
            branch.name = to.into();
        }
        same(
            format!("the branches after {from:?} became {to:?}"),
            &fixture.history().branches(&fixture.chat).await?,
            &expected,
        )?;
    }
    fixture.expect_chain("it's\n🦀", &["a", "b", "x", "y"]).await?;
    let old = fixture.read("zz", Window::Whole).await;
    ensure(old.is_err(), || "reading the old name: expected nothing, saw a chain".to_owned())?;
    // The new name can be extended, and the old one is free.
    fixture.applied(fixture.extend_on("side", "z", ["z2"])).await?;
    fixture.applied(fixture.fork("deep", "z", ["other"])).await?;
    fixture.expect_chain("deep", &["a", "b", "x", "z", "other"]).await
}

async fn renaming_the_active_branch(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    rename(&fixture, "main", "trunk").await?;
    let chat = fixture.history().chat(&fixture.chat).await?;
    same("the active branch", &chat.as_ref().map(|chat| chat.active.as_str()), &Some("trunk"))?;
    let active: Vec<_> = fixture
        .history()
        .branches(&fixture.chat)
        .await?
        .into_iter()
        .filter(|branch| branch.active)
        .map(|branch| branch.name.to_string())
        .collect();
    same("the branches that are active", &active, &owned(&["trunk"]))?;
    fixture.applied(fixture.extend_on("trunk", "c", ["d"])).await?;
    // After the rename, the old name is free, so its versions are counted from the beginning.
    let version = fixture.applied(fixture.next_version("main", "a")).await?;
    same("the next version of a name that is free", &version.branch, &Some("main-v2".into()))?;
    fixture.applied(fixture.fork("main", "a", [])).await.map(drop)
}

async fn renaming_into_a_name_that_is_taken(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    let before = VisibleChat::of(&fixture).await?;
    let long = "x".repeat(context_core::base::limits::MAX_ID_BYTES + 1);
    let tries = [
        ("side", "main", ErrorKind::Invalid),
        ("main", "deep", ErrorKind::Invalid),
        ("ghost", "new", ErrorKind::NotFound),
        ("side", "", ErrorKind::Invalid),
        ("side", long.as_str(), ErrorKind::Invalid),
    ];
    for (from, to, kind) in tries {
        let result = fixture
            .history()
            .rename_branch(&fixture.chat, &from.into(), &to.into(), fixture.at())
            .await;
        refused(format!("renaming {from:?} to {to:.20?}"), result, kind)?;
        same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    }
    let absent = fixture.other("ada", "absent");
    let result = fixture
        .history()
        .rename_branch(&absent.chat, &"main".into(), &"x".into(), fixture.at())
        .await;
    refused("renaming in an absent chat", result, ErrorKind::NotFound).map(drop)
}

async fn deleting_takes_what_only_it_reached(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    fixture
        .applied(Commit {
            amendments: ["y", "x", "a"].map(|id| says(id, "amended")).into(),
            ..fixture.stay()
        })
        .await?;
    let chains = [fixture.whole("main").await?, fixture.whole("deep").await?];
    let nodes = |chain: &context_core::Chain| chain.iter().cloned().collect::<Vec<_>>();
    deleted(&fixture, "side", "y", 1).await?;
    left(&fixture, "after side was deleted", &["a", "b", "c", "x", "z"]).await?;
    for (branch, chain) in ["main", "deep"].into_iter().zip(&chains) {
        same(format!("{branch} then"), &nodes(&fixture.whole(branch).await?), &nodes(chain))?;
    }
    let slots = fixture.history().messages(&fixture.chat, &["y".into(), "x".into()]).await?;
    same(
        "which are found by id",
        &slots.iter().map(Option::is_some).collect(),
        &vec![false, true],
    )?;
    let revisions = async |id: &str| {
        Check::Ok(fixture.history().revisions(&fixture.chat, &id.into()).await?.len())
    };
    same(
        "revisions of what is gone and what stays",
        &(revisions("y").await?, revisions("x").await?),
        &(0, 1),
    )?;
    let names: Vec<_> =
        fixture.heads().await?.into_iter().map(|(name, _)| name.to_string()).collect();
    same("the branches", &names, &owned(&["main", "deep"]))?;
    let again =
        fixture.history().delete_branch(&fixture.chat, &"side".into(), None, fixture.at()).await;
    names_branch("side", &refused("deleting it again", again, ErrorKind::NotFound)?)
}

/// Expects the error to name the branch, which an operator needs to know.
fn names_branch(branch: &str, error: &Error) -> Check {
    ensure(error.to_string().contains(branch), || {
        format!("the error does not name branch {branch}: {error}")
    })
}

async fn ids_are_free_again(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    fixture.applied(Commit { amendments: vec![says("y", "amended")], ..fixture.stay() }).await?;
    deleted(&fixture, "side", "y", 1).await?;
    let behind = fixture.history().commit(fixture.fork("new", "y", [])).await;
    refused("a fork behind a message that is gone", behind, ErrorKind::NotFound)?;
    let amends = Commit { amendments: vec![says("y", "x")], ..fixture.stay() };
    refused(
        "amending one that is gone",
        fixture.history().commit(amends).await,
        ErrorKind::NotFound,
    )?;
    let mark = fixture
        .history()
        .set_checkpoint(&fixture.chat, &"cp".into(), &"y".into(), fixture.at())
        .await;
    refused("a checkpoint at one that is gone", mark, ErrorKind::NotFound)?;
    fixture
        .applied(Commit { nodes: vec![says("y", "something else")], ..fixture.extend("c", []) })
        .await?;
    fixture.expect_chain("main", &["a", "b", "c", "y"]).await?;
    let slots = fixture.history().messages(&fixture.chat, &["y".into()]).await?;
    let seen =
        slots.into_iter().flatten().next().map(|placed| (placed.node.revision, placed.depth));
    same("its revision and depth", &seen, &Some((0, 3)))?;
    let revisions = fixture.history().revisions(&fixture.chat, &"y".into()).await?;
    same("its revisions", &revisions, &Vec::new())
}

async fn the_active_branch_is_not_deleted(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    let before = VisibleChat::of(&fixture).await?;
    let main = fixture
        .history()
        .delete_branch(&fixture.chat, &"main".into(), Some(&"c".into()), fixture.at())
        .await;
    names_branch("main", &refused("deleting the active branch", main, ErrorKind::Invalid)?)?;
    let elsewhere = BranchDeletion::Conflict { actual: id("c") };
    same(
        "deleting the active branch, expected elsewhere",
        &delete(&fixture, "main", "a").await?,
        &elsewhere,
    )?;
    same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    fixture.history().activate_branch(&fixture.chat, &"side".into(), fixture.at()).await?;
    deleted(&fixture, "main", "c", 1).await?;
    left(&fixture, "without main", &["a", "b", "x", "y", "z"]).await
}

async fn a_branch_that_moved_is_not_deleted(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    let before = VisibleChat::of(&fixture).await?;
    for expected in ["x", "", "ghost", "c"] {
        let outcome = delete(&fixture, "side", expected).await?;
        same(
            format!("side, expected at {expected:?}"),
            &outcome,
            &BranchDeletion::Conflict { actual: id("y") },
        )?;
        same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    }
    let absent = fixture.other("ada", "absent");
    let result =
        fixture.history().delete_branch(&absent.chat, &"side".into(), None, fixture.at()).await;
    refused("deleting in an absent chat", result, ErrorKind::NotFound).map(drop)
}

/// Deletes branches in the middle, then at the end, then at the beginning.
async fn forks_of_forks(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    fixture.applied(fixture.fork("deeper", "z", ["q", "r"])).await?;
    fixture.applied(fixture.fork("twin", "y", [])).await?;
    deleted(&fixture, "side", "y", 0).await?;
    deleted(&fixture, "deep", "z", 0).await?;
    left(&fixture, "with deeper and twin", &["a", "b", "c", "x", "y", "z", "q", "r"]).await?;
    deleted(&fixture, "twin", "y", 1).await?;
    fixture.expect_chain("deeper", &["a", "b", "x", "z", "q", "r"]).await?;
    // A fork may begin after a message whose branch is gone.
    fixture.applied(fixture.fork("again", "x", ["s"])).await?;
    deleted(&fixture, "deeper", "r", 3).await?;
    fixture.expect_chain("again", &["a", "b", "x", "s"]).await?;
    deleted(&fixture, "again", "s", 2).await?;
    left(&fixture, "with main alone", &["a", "b", "c"]).await?;
    fixture.applied(fixture.extend("c", ["x", "y"])).await?;
    fixture.expect_chain("main", &["a", "b", "c", "x", "y"]).await
}

async fn a_checkpoint_keeps_its_path(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    checkpoint(&fixture, "cp", "x").await?;
    deleted(&fixture, "deep", "z", 1).await?;
    deleted(&fixture, "side", "y", 1).await?;
    left(&fixture, "with a checkpoint at x", &["a", "b", "c", "x"]).await?;
    let to = fixture.read_to("x", Window::Whole).await?;
    same("the chain to the checkpoint", &crate::chat_fixture::ids(&to), &owned(&["a", "b", "x"]))?;
    fixture.applied(fixture.fork("back", "x", ["n"])).await?;
    deleted(&fixture, "back", "n", 1).await?;
    let generation = fixture.whole("main").await?.generation();
    same(
        "deleting the checkpoint",
        &fixture.history().delete_checkpoint(&fixture.chat, &"cp".into(), fixture.at()).await?,
        &true,
    )?;
    left(&fixture, "without it", &["a", "b", "c"]).await?;
    let now = fixture.whole("main").await?.generation();
    ensure(now > generation, || {
        format!("the generation after messages went: expected more than {generation}, saw {now}")
    })
}

async fn moving_a_checkpoint_lets_go(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    checkpoint(&fixture, "cp", "y").await?;
    checkpoint(&fixture, "second", "z").await?;
    deleted(&fixture, "side", "y", 0).await?;
    deleted(&fixture, "deep", "z", 0).await?;
    checkpoint(&fixture, "cp", "x").await?;
    left(&fixture, "after cp moved to x", &["a", "b", "c", "x", "z"]).await?;
    checkpoint(&fixture, "second", "a").await?;
    left(&fixture, "after second moved to a", &["a", "b", "c", "x"]).await?;
    checkpoint(&fixture, "cp", "c").await?;
    left(&fixture, "after cp moved to c", &["a", "b", "c"]).await
}

async fn an_empty_branch(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    fixture.applied(fixture.fork("empty", "", [])).await?;
    fixture.applied(fixture.fork("root", "", ["r"])).await?;
    let generation = fixture.whole("main").await?.generation();
    same(
        "empty, expected at a",
        &delete(&fixture, "empty", "a").await?,
        &BranchDeletion::Conflict { actual: None },
    )?;
    deleted(&fixture, "empty", "", 0).await?;
    same(
        "the generation when no message went",
        &fixture.whole("main").await?.generation(),
        &generation,
    )?;
    deleted(&fixture, "root", "r", 1).await?;
    fixture.expect_chain("main", &["a", "b", "c"]).await
}

/// Checks that a reader does not take old messages for current ones, even if the same ids come
/// back.
async fn readers_find_out(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    let generation = fixture.whole("side").await?.generation();
    let after = |message: &str| Window::After { message: message.into(), generation };
    deleted(&fixture, "side", "y", 1).await?;
    fixture
        .applied(Commit { nodes: vec![says("y", "other words")], ..fixture.fork("side", "x", []) })
        .await?;
    let seen = fixture.read("side", after("y")).await?;
    same("side, made anew behind the same place", &(seen.skipped(), seen.len()), &(0, 4))?;
    let seen = fixture.read("main", after("c")).await?;
    same("main, of an earlier generation", &(seen.skipped(), seen.len()), &(0, 3))
}

async fn many_messages_at_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(300, 50).await?;
    let ids = |prefix: &str| (0..400).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
    let (long, side) = (ids("l"), ids("s"));
    fixture.applied(fixture.fork("long", "m100", long.iter().map(String::as_str))).await?;
    fixture.applied(fixture.fork("side", "l200", side.iter().map(String::as_str))).await?;
    fixture
        .applied(Commit {
            amendments: vec![says("l100", "amended"), says("l300", "amended")],
            ..fixture.stay()
        })
        .await?;
    let before: Vec<_> = fixture.whole("side").await?.iter().cloned().collect();
    deleted(&fixture, "long", "l399", 199).await?;
    let after: Vec<_> = fixture.whole("side").await?.iter().cloned().collect();
    same("side after the branch it left was deleted", &after, &before)?;
    deleted(&fixture, "side", "s399", 601).await?;
    let chain = fixture.whole("main").await?;
    same("main", &(chain.len(), all_messages(&fixture, 100).await?.len()), &(300, 300))?;
    let slots: Vec<MessageId> = ["l0", "l200", "s0", "s399"].map(Into::into).into();
    let slots = fixture.history().messages(&fixture.chat, &slots).await?;
    same("what is gone", &slots, &vec![None, None, None, None])
}

async fn the_size_of_a_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let size = async || Check::Ok(fixture.history().chat_size(&fixture.chat).await?);
    let empty = size().await?;
    same("messages of an empty chat", &empty.messages, &0)?;
    let large = |id: &str, bytes| says(id, &"x".repeat(bytes));
    fixture
        .applied(Commit {
            nodes: vec![large("a", 100_000), large("b", 100_000)],
            ..fixture.extend("", [])
        })
        .await?;
    let grown = size().await?;
    same("messages", &grown.messages, &2)?;
    let between = |did: &str, bytes: u64, least: u64, most: u64| {
        ensure((least..=most).contains(&bytes), || {
            format!("bytes {did}: expected {least} to {most}, saw {bytes}")
        })
    };
    between("after two of 100,000", grown.bytes, 200_000, 220_000)?;
    fixture.applied(Commit { amendments: vec![large("b", 50_000)], ..fixture.stay() }).await?;
    between("with a revision", size().await?.bytes, 250_000, 275_000)?;
    fixture.applied(Commit { redactions: vec![large("b", 10)], ..fixture.stay() }).await?;
    between("after a redaction", size().await?.bytes, 100_000, 120_000)?;
    fixture
        .applied(Commit { nodes: vec![large("x", 70_000)], ..fixture.fork("side", "a", []) })
        .await?;
    between("with a branch", size().await?.bytes, 170_000, 190_000)?;
    deleted(&fixture, "side", "x", 1).await?;
    between("without it", size().await?.bytes, 100_000, 120_000)?;
    let absent = fixture.other("ada", "absent");
    refused(
        "the size of an absent chat",
        fixture.history().chat_size(&absent.chat).await,
        ErrorKind::NotFound,
    )?;
    let bobs = fixture.other("bob", "chat");
    refused(
        "the size of another user's",
        fixture.history().chat_size(&bobs.chat).await,
        ErrorKind::NotFound,
    )
    .map(drop)
}

async fn only_an_idle_chat_is_deleted(case: &CaseContext) -> Check {
    let fixture = grown(case).await?;
    let chat = fixture.history().chat(&fixture.chat).await?;
    let updated = chat.map(|chat| chat.updated_at).unwrap_or_default();
    let micros = |by: i64| context_core::Timestamp::from_micros(updated.as_micros() + by);
    let delete =
        async |since| Check::Ok(fixture.history().delete_chat(&fixture.chat, Some(since)).await?);
    let before = VisibleChat::of(&fixture).await?;
    same("written to after that", &delete(micros(-1)).await?, &false)?;
    same("the chat then", &VisibleChat::of(&fixture).await?, &before)?;
    fixture.applied(fixture.extend("c", ["d"])).await?;
    same("written to since it was looked at", &delete(micros(0)).await?, &false)?;
    let updated = fixture
        .history()
        .chat(&fixture.chat)
        .await?
        .map(|chat| chat.updated_at)
        .unwrap_or_default();
    same("idle since then", &delete(updated).await?, &true)?;
    same("the chat", &VisibleChat::of(&fixture).await?, &None)?;
    same("an absent one", &delete(updated).await?, &false)
}

async fn deleted_stays_deleted(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("removal").await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("side", "a", ["x", "y"])).await?;
    rename(&fixture, "main", "trunk").await?;
    deleted(&fixture, "side", "y", 2).await?;
    let before = VisibleChat::of(&fixture).await?;
    drop(fixture);
    let fixture = ChatFixture::new(case.reopen("removal").await?, "ada", "chat");
    same("a chat after the store was opened again", &VisibleChat::of(&fixture).await?, &before)?;
    let outcome = fixture.commit(fixture.extend_on("trunk", "b", ["x"])).await?;
    same("an id of the deleted branch", &matches!(outcome, CommitOutcome::Applied(_)), &true)
}
