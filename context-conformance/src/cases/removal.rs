//! Cases about renamed and deleted branches, and about messages that become unreachable.

use context_core::store::{BranchDeletion, Commit, CommitOutcome, Window};
use context_core::{Error, ErrorKind, MessageId};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, id, owned, says};
use crate::expect::{ensure, fail, refused, same};
use crate::lab::Lab;
use crate::visible::{Visible, all_messages};

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

pub(super) async fn delete(desk: &Desk, branch: &str, expected: &str) -> Checked<BranchDeletion> {
    let expected = id(expected);
    Ok(desk
        .history()
        .delete_branch(&desk.chat, &branch.into(), expected.as_ref(), desk.at())
        .await?)
}

/// Deletes a branch, and expects this many messages to be removed with it.
async fn deleted(desk: &Desk, branch: &str, head: &str, messages: u64) -> Checked {
    match delete(desk, branch, head).await? {
        BranchDeletion::Deleted { messages: seen } => {
            same(format!("how many messages went with {branch:?}"), &seen, &messages)
        }
        other => fail(format!("deleting {branch:?}: expected it to be deleted, saw {other:?}")),
    }
}

/// Expects exactly these messages to remain.
async fn left(desk: &Desk, did: &str, expected: &[&str]) -> Checked {
    let mut seen: Vec<_> =
        all_messages(desk, 7).await?.iter().map(|placed| placed.node.id.to_string()).collect();
    let mut expected = owned(expected);
    seen.sort();
    expected.sort();
    same(format!("the messages {did}"), &seen, &expected)?;
    let size = desk.history().chat_size(&desk.chat).await?;
    same(format!("how many there are {did}"), &size.messages, &(expected.len() as u64))
}

async fn rename(desk: &Desk, from: &str, to: &str) -> Checked {
    Ok(desk.history().rename_branch(&desk.chat, &from.into(), &to.into(), desk.at()).await?)
}

async fn checkpoint(desk: &Desk, name: &str, message: &str) -> Checked {
    desk.history().set_checkpoint(&desk.chat, &name.into(), &message.into(), desk.at()).await?;
    Ok(())
}

/// Creates a chat with `main`: a b c; `side`, forked after b: x y; `deep`, forked after x: z.
async fn grown(lab: &Lab) -> Checked<Desk> {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b", "c"])).await?;
    desk.applied(desk.fork("side", "b", ["x", "y"])).await?;
    desk.applied(desk.fork("deep", "x", ["z"])).await?;
    Ok(desk)
}

async fn renaming_keeps_order_head_and_time(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    let mut expected = desk.history().branches(&desk.chat).await?;
    for (from, to) in
        [("side", "zz"), ("zz", "aa"), ("aa", "it's\n🦀"), ("deep", "side"), ("side", "side")]
    {
        rename(&desk, from, to).await?;
        for branch in expected.iter_mut().filter(|branch| branch.name == *from) {
            branch.name = to.into();
        }
        same(
            format!("the branches after {from:?} became {to:?}"),
            &desk.history().branches(&desk.chat).await?,
            &expected,
        )?;
    }
    desk.expect_chain("it's\n🦀", &["a", "b", "x", "y"]).await?;
    let old = desk.read("zz", Window::Whole).await;
    ensure(old.is_err(), || "reading the old name: expected nothing, saw a chain".to_owned())?;
    // The new name can be extended, and the old one is free.
    desk.applied(desk.extend_on("side", "z", ["z2"])).await?;
    desk.applied(desk.fork("deep", "z", ["other"])).await?;
    desk.expect_chain("deep", &["a", "b", "x", "z", "other"]).await
}

async fn renaming_the_active_branch(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    rename(&desk, "main", "trunk").await?;
    let chat = desk.history().chat(&desk.chat).await?;
    same("the active branch", &chat.as_ref().map(|chat| chat.active.as_str()), &Some("trunk"))?;
    let active: Vec<_> = desk
        .history()
        .branches(&desk.chat)
        .await?
        .into_iter()
        .filter(|branch| branch.active)
        .map(|branch| branch.name.to_string())
        .collect();
    same("the branches that are active", &active, &owned(&["trunk"]))?;
    desk.applied(desk.extend_on("trunk", "c", ["d"])).await?;
    // After the rename, the old name is free, so its versions are counted from the beginning.
    let version = desk.applied(desk.next_version("main", "a")).await?;
    same("the next version of a name that is free", &version.branch, &Some("main-v2".into()))?;
    desk.applied(desk.fork("main", "a", [])).await.map(drop)
}

async fn renaming_into_a_name_that_is_taken(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    let before = Visible::of(&desk).await?;
    let long = "x".repeat(context_core::base::limits::MAX_ID_BYTES + 1);
    let tries = [
        ("side", "main", ErrorKind::Invalid),
        ("main", "deep", ErrorKind::Invalid),
        ("ghost", "new", ErrorKind::NotFound),
        ("side", "", ErrorKind::Invalid),
        ("side", long.as_str(), ErrorKind::Invalid),
    ];
    for (from, to, kind) in tries {
        let result =
            desk.history().rename_branch(&desk.chat, &from.into(), &to.into(), desk.at()).await;
        refused(format!("renaming {from:?} to {to:.20?}"), result, kind)?;
        same("the chat then", &Visible::of(&desk).await?, &before)?;
    }
    let absent = desk.other("ada", "absent");
    let result =
        desk.history().rename_branch(&absent.chat, &"main".into(), &"x".into(), desk.at()).await;
    refused("renaming in an absent chat", result, ErrorKind::NotFound).map(drop)
}

async fn deleting_takes_what_only_it_reached(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    desk.applied(Commit {
        amendments: ["y", "x", "a"].map(|id| says(id, "amended")).into(),
        ..desk.stay()
    })
    .await?;
    let chains = [desk.whole("main").await?, desk.whole("deep").await?];
    let nodes = |chain: &context_core::Chain| chain.iter().cloned().collect::<Vec<_>>();
    deleted(&desk, "side", "y", 1).await?;
    left(&desk, "after side was deleted", &["a", "b", "c", "x", "z"]).await?;
    for (branch, chain) in ["main", "deep"].into_iter().zip(&chains) {
        same(format!("{branch} then"), &nodes(&desk.whole(branch).await?), &nodes(chain))?;
    }
    let slots = desk.history().messages(&desk.chat, &["y".into(), "x".into()]).await?;
    same(
        "which are found by id",
        &slots.iter().map(Option::is_some).collect(),
        &vec![false, true],
    )?;
    let revisions =
        async |id: &str| Checked::Ok(desk.history().revisions(&desk.chat, &id.into()).await?.len());
    same(
        "revisions of what is gone and what stays",
        &(revisions("y").await?, revisions("x").await?),
        &(0, 1),
    )?;
    let names: Vec<_> = desk.heads().await?.into_iter().map(|(name, _)| name.to_string()).collect();
    same("the branches", &names, &owned(&["main", "deep"]))?;
    let again = desk.history().delete_branch(&desk.chat, &"side".into(), None, desk.at()).await;
    names_branch("side", &refused("deleting it again", again, ErrorKind::NotFound)?)
}

/// Expects the error to name the branch, which an operator needs to know.
fn names_branch(branch: &str, error: &Error) -> Checked {
    ensure(error.to_string().contains(branch), || {
        format!("the error does not name branch {branch}: {error}")
    })
}

async fn ids_are_free_again(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    desk.applied(Commit { amendments: vec![says("y", "amended")], ..desk.stay() }).await?;
    deleted(&desk, "side", "y", 1).await?;
    let behind = desk.history().commit(desk.fork("new", "y", [])).await;
    refused("a fork behind a message that is gone", behind, ErrorKind::NotFound)?;
    let amends = Commit { amendments: vec![says("y", "x")], ..desk.stay() };
    refused("amending one that is gone", desk.history().commit(amends).await, ErrorKind::NotFound)?;
    let mark =
        desk.history().set_checkpoint(&desk.chat, &"cp".into(), &"y".into(), desk.at()).await;
    refused("a checkpoint at one that is gone", mark, ErrorKind::NotFound)?;
    desk.applied(Commit { nodes: vec![says("y", "something else")], ..desk.extend("c", []) })
        .await?;
    desk.expect_chain("main", &["a", "b", "c", "y"]).await?;
    let slots = desk.history().messages(&desk.chat, &["y".into()]).await?;
    let seen =
        slots.into_iter().flatten().next().map(|placed| (placed.node.revision, placed.depth));
    same("its revision and depth", &seen, &Some((0, 3)))?;
    let revisions = desk.history().revisions(&desk.chat, &"y".into()).await?;
    same("its revisions", &revisions, &Vec::new())
}

async fn the_active_branch_is_not_deleted(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    let before = Visible::of(&desk).await?;
    let main = desk
        .history()
        .delete_branch(&desk.chat, &"main".into(), Some(&"c".into()), desk.at())
        .await;
    names_branch("main", &refused("deleting the active branch", main, ErrorKind::Invalid)?)?;
    let elsewhere = BranchDeletion::Conflict { actual: id("c") };
    same(
        "deleting the active branch, expected elsewhere",
        &delete(&desk, "main", "a").await?,
        &elsewhere,
    )?;
    same("the chat then", &Visible::of(&desk).await?, &before)?;
    desk.history().activate_branch(&desk.chat, &"side".into(), desk.at()).await?;
    deleted(&desk, "main", "c", 1).await?;
    left(&desk, "without main", &["a", "b", "x", "y", "z"]).await
}

async fn a_branch_that_moved_is_not_deleted(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    let before = Visible::of(&desk).await?;
    for expected in ["x", "", "ghost", "c"] {
        let outcome = delete(&desk, "side", expected).await?;
        same(
            format!("side, expected at {expected:?}"),
            &outcome,
            &BranchDeletion::Conflict { actual: id("y") },
        )?;
        same("the chat then", &Visible::of(&desk).await?, &before)?;
    }
    let absent = desk.other("ada", "absent");
    let result = desk.history().delete_branch(&absent.chat, &"side".into(), None, desk.at()).await;
    refused("deleting in an absent chat", result, ErrorKind::NotFound).map(drop)
}

/// Deletes branches in the middle, then at the end, then at the beginning.
async fn forks_of_forks(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    desk.applied(desk.fork("deeper", "z", ["q", "r"])).await?;
    desk.applied(desk.fork("twin", "y", [])).await?;
    deleted(&desk, "side", "y", 0).await?;
    deleted(&desk, "deep", "z", 0).await?;
    left(&desk, "with deeper and twin", &["a", "b", "c", "x", "y", "z", "q", "r"]).await?;
    deleted(&desk, "twin", "y", 1).await?;
    desk.expect_chain("deeper", &["a", "b", "x", "z", "q", "r"]).await?;
    // A fork may begin after a message whose branch is gone.
    desk.applied(desk.fork("again", "x", ["s"])).await?;
    deleted(&desk, "deeper", "r", 3).await?;
    desk.expect_chain("again", &["a", "b", "x", "s"]).await?;
    deleted(&desk, "again", "s", 2).await?;
    left(&desk, "with main alone", &["a", "b", "c"]).await?;
    desk.applied(desk.extend("c", ["x", "y"])).await?;
    desk.expect_chain("main", &["a", "b", "c", "x", "y"]).await
}

async fn a_checkpoint_keeps_its_path(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    checkpoint(&desk, "cp", "x").await?;
    deleted(&desk, "deep", "z", 1).await?;
    deleted(&desk, "side", "y", 1).await?;
    left(&desk, "with a checkpoint at x", &["a", "b", "c", "x"]).await?;
    let to = desk.read_to("x", Window::Whole).await?;
    same("the chain to the checkpoint", &crate::desk::ids(&to), &owned(&["a", "b", "x"]))?;
    desk.applied(desk.fork("back", "x", ["n"])).await?;
    deleted(&desk, "back", "n", 1).await?;
    let generation = desk.whole("main").await?.generation();
    same(
        "deleting the checkpoint",
        &desk.history().delete_checkpoint(&desk.chat, &"cp".into()).await?,
        &true,
    )?;
    left(&desk, "without it", &["a", "b", "c"]).await?;
    let now = desk.whole("main").await?.generation();
    ensure(now > generation, || {
        format!("the generation after messages went: expected more than {generation}, saw {now}")
    })
}

async fn moving_a_checkpoint_lets_go(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    checkpoint(&desk, "cp", "y").await?;
    checkpoint(&desk, "second", "z").await?;
    deleted(&desk, "side", "y", 0).await?;
    deleted(&desk, "deep", "z", 0).await?;
    checkpoint(&desk, "cp", "x").await?;
    left(&desk, "after cp moved to x", &["a", "b", "c", "x", "z"]).await?;
    checkpoint(&desk, "second", "a").await?;
    left(&desk, "after second moved to a", &["a", "b", "c", "x"]).await?;
    checkpoint(&desk, "cp", "c").await?;
    left(&desk, "after cp moved to c", &["a", "b", "c"]).await
}

async fn an_empty_branch(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    desk.applied(desk.fork("empty", "", [])).await?;
    desk.applied(desk.fork("root", "", ["r"])).await?;
    let generation = desk.whole("main").await?.generation();
    same(
        "empty, expected at a",
        &delete(&desk, "empty", "a").await?,
        &BranchDeletion::Conflict { actual: None },
    )?;
    deleted(&desk, "empty", "", 0).await?;
    same(
        "the generation when no message went",
        &desk.whole("main").await?.generation(),
        &generation,
    )?;
    deleted(&desk, "root", "r", 1).await?;
    desk.expect_chain("main", &["a", "b", "c"]).await
}

/// Checks that a reader does not take old messages for current ones, even if the same ids come
/// back.
async fn readers_find_out(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    let generation = desk.whole("side").await?.generation();
    let after = |message: &str| Window::After { message: message.into(), generation };
    deleted(&desk, "side", "y", 1).await?;
    desk.applied(Commit { nodes: vec![says("y", "other words")], ..desk.fork("side", "x", []) })
        .await?;
    let seen = desk.read("side", after("y")).await?;
    same("side, made anew behind the same place", &(seen.skipped(), seen.len()), &(0, 4))?;
    let seen = desk.read("main", after("c")).await?;
    same("main, of an earlier generation", &(seen.skipped(), seen.len()), &(0, 3))
}

async fn many_messages_at_once(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.fill(300, 50).await?;
    let ids = |prefix: &str| (0..400).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>();
    let (long, side) = (ids("l"), ids("s"));
    desk.applied(desk.fork("long", "m100", long.iter().map(String::as_str))).await?;
    desk.applied(desk.fork("side", "l200", side.iter().map(String::as_str))).await?;
    desk.applied(Commit {
        amendments: vec![says("l100", "amended"), says("l300", "amended")],
        ..desk.stay()
    })
    .await?;
    let before: Vec<_> = desk.whole("side").await?.iter().cloned().collect();
    deleted(&desk, "long", "l399", 199).await?;
    let after: Vec<_> = desk.whole("side").await?.iter().cloned().collect();
    same("side after the branch it left was deleted", &after, &before)?;
    deleted(&desk, "side", "s399", 601).await?;
    let chain = desk.whole("main").await?;
    same("main", &(chain.len(), all_messages(&desk, 100).await?.len()), &(300, 300))?;
    let slots: Vec<MessageId> = ["l0", "l200", "s0", "s399"].map(Into::into).into();
    let slots = desk.history().messages(&desk.chat, &slots).await?;
    same("what is gone", &slots, &vec![None, None, None, None])
}

async fn the_size_of_a_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let size = async || Checked::Ok(desk.history().chat_size(&desk.chat).await?);
    let empty = size().await?;
    same("messages of an empty chat", &empty.messages, &0)?;
    let large = |id: &str, bytes| says(id, &"x".repeat(bytes));
    desk.applied(Commit {
        nodes: vec![large("a", 100_000), large("b", 100_000)],
        ..desk.extend("", [])
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
    desk.applied(Commit { amendments: vec![large("b", 50_000)], ..desk.stay() }).await?;
    between("with a revision", size().await?.bytes, 250_000, 275_000)?;
    desk.applied(Commit { redactions: vec![large("b", 10)], ..desk.stay() }).await?;
    between("after a redaction", size().await?.bytes, 100_000, 120_000)?;
    desk.applied(Commit { nodes: vec![large("x", 70_000)], ..desk.fork("side", "a", []) }).await?;
    between("with a branch", size().await?.bytes, 170_000, 190_000)?;
    deleted(&desk, "side", "x", 1).await?;
    between("without it", size().await?.bytes, 100_000, 120_000)?;
    let absent = desk.other("ada", "absent");
    refused(
        "the size of an absent chat",
        desk.history().chat_size(&absent.chat).await,
        ErrorKind::NotFound,
    )?;
    let bobs = desk.other("bob", "chat");
    refused(
        "the size of another user's",
        desk.history().chat_size(&bobs.chat).await,
        ErrorKind::NotFound,
    )
    .map(drop)
}

async fn only_an_idle_chat_is_deleted(lab: &Lab) -> Checked {
    let desk = grown(lab).await?;
    let chat = desk.history().chat(&desk.chat).await?;
    let updated = chat.map(|chat| chat.updated_at).unwrap_or_default();
    let micros = |by: i64| context_core::Timestamp::from_micros(updated.as_micros() + by);
    let delete =
        async |since| Checked::Ok(desk.history().delete_chat(&desk.chat, Some(since)).await?);
    let before = Visible::of(&desk).await?;
    same("written to after that", &delete(micros(-1)).await?, &false)?;
    same("the chat then", &Visible::of(&desk).await?, &before)?;
    desk.applied(desk.extend("c", ["d"])).await?;
    same("written to since it was looked at", &delete(micros(0)).await?, &false)?;
    let updated =
        desk.history().chat(&desk.chat).await?.map(|chat| chat.updated_at).unwrap_or_default();
    same("idle since then", &delete(updated).await?, &true)?;
    same("the chat", &Visible::of(&desk).await?, &None)?;
    same("an absent one", &delete(updated).await?, &false)
}

async fn deleted_stays_deleted(lab: &Lab) -> Checked {
    let desk = lab.desk_in("removal").await?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    desk.applied(desk.fork("side", "a", ["x", "y"])).await?;
    rename(&desk, "main", "trunk").await?;
    deleted(&desk, "side", "y", 2).await?;
    let before = Visible::of(&desk).await?;
    drop(desk);
    let desk = Desk::new(lab.reopen("removal").await?, "ada", "chat");
    same("a chat after the store was opened again", &Visible::of(&desk).await?, &before)?;
    let outcome = desk.commit(desk.extend_on("trunk", "b", ["x"])).await?;
    same("an id of the deleted branch", &matches!(outcome, CommitOutcome::Applied(_)), &true)
}
