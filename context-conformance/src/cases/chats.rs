//! Cases about chats: creating, reading, changing and deleting them, and their owners.

use std::time::Duration;

use context_core::store::{
    Chat, ChatPatch, CommitOutcome, Created, LeaseClaim, NewChat, TitleChange, Window,
};
use context_core::{BranchName, Error, ErrorKind, Metadata, Result};
use serde_json::json;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, message, owned, stored};
use crate::expect::{ensure, fail, refused, same, shown};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("chats":
    created_with_one_empty_active_branch,
    created_again_is_unchanged,
    absent_is_none,
    two_users_may_use_the_same_id,
    patches_merge_and_count,
    patching_an_absent_chat_is_refused,
    deleting_takes_everything,
    of_another_user_is_like_absent,
    another_user_changes_nothing,
);

async fn created_with_one_empty_active_branch(case: &CaseContext) -> Check {
    let fixture = ChatFixture::new(case.open("new").await?, "ada", "chat");
    let new = NewChat {
        title: Some("Travel".into()),
        metadata: Metadata::default().with("z", 1).with("a", json!({"k": [1, null]})),
        ..NewChat::new(fixture.chat.clone(), fixture.at())
    };
    let expected = Chat::new(new.clone());
    let created = fixture.history().create_chat(new).await?;
    same("creating a chat", &created, &Created::New(expected.clone()))?;
    same("reading it", &fixture.history().chat(&fixture.chat).await?, &Some(expected))?;
    let seen = VisibleChat::of(&fixture).await?;
    let Some(seen) = seen else { return fail("a chat that was just created is not listed") };
    let branches: Vec<_> = seen
        .branches
        .iter()
        .map(|b| (b.name.as_str(), b.head.clone(), b.length, b.active))
        .collect();
    same("its branches", &branches, &vec![("main", None, 0, true)])?;
    let rest = (seen.messages.len(), seen.checkpoints.len(), seen.fragments.len());
    same("its messages, checkpoints and fragments", &rest, &(0, 0, 0))
}

async fn created_again_is_unchanged(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let before = fixture.history().chat(&fixture.chat).await?;
    let again =
        NewChat { title: Some("other".into()), ..NewChat::new(fixture.chat.clone(), fixture.at()) };
    let outcome = fixture.history().create_chat(again).await?;
    same("creating a chat that exists", &Some(outcome), &before.clone().map(Created::Existing))?;
    same("reading it afterwards", &fixture.history().chat(&fixture.chat).await?, &before)?;
    fixture.expect_chain("main", &["a"]).await
}

async fn absent_is_none(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?.other("ada", "absent");
    same("reading an absent chat", &fixture.history().chat(&fixture.chat).await?, &None)?;
    same(
        "deleting an absent chat",
        &fixture.history().delete_chat(&fixture.chat, None).await?,
        &false,
    )
}

async fn two_users_may_use_the_same_id(case: &CaseContext) -> Check {
    let ada = case.fixture().await?;
    let bob = ada.other("bob", "chat");
    bob.create().await?;
    ada.applied(ada.extend("", ["a", "b"])).await?;
    bob.applied(bob.extend("", ["b"])).await?;
    ada.expect_chain("main", &["a", "b"]).await?;
    bob.expect_chain("main", &["b"]).await?;
    same("deleting bob's", &bob.history().delete_chat(&bob.chat, None).await?, &true)?;
    ada.expect_chain("main", &["a", "b"]).await
}

async fn patches_merge_and_count(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut expected = fixture.create().await?;
    let patches = [
        ChatPatch {
            title: TitleChange::Set("T".into()),
            set: Metadata::default().with("a", 1).with("b.c", "dot"),
            add: Metadata::default().with("usage", json!({"in": 10, "deep": {"n": 1}})),
            ..ChatPatch::default()
        },
        ChatPatch {
            add: Metadata::default().with("usage", json!({"in": 5, "deep": {"n": 2, "m": 3}})),
            remove: vec!["a".into(), "absent".into()],
            ..ChatPatch::default()
        },
        ChatPatch { title: TitleChange::Remove, ..ChatPatch::default() },
    ];
    for patch in patches {
        let at = fixture.at();
        patch.apply(&mut expected)?;
        expected.updated_at = at;
        let changed = fixture.history().update_chat(&fixture.chat, &patch, at).await?;
        same(format!("update_chat({patch:?})"), &changed, &expected)?;
        let read = fixture.history().chat(&fixture.chat).await?;
        same("reading the chat after it", &read.as_ref(), &Some(&expected))?;
    }
    Ok(())
}

async fn patching_an_absent_chat_is_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?.other("ada", "absent");
    let result =
        fixture.history().update_chat(&fixture.chat, &ChatPatch::default(), fixture.at()).await;
    refused("update_chat of an absent chat", result, ErrorKind::NotFound)?;
    same("and it was not created", &fixture.history().chat(&fixture.chat).await?, &None)
}

async fn deleting_takes_everything(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut first = fixture.extend("", ["a", "b"]);
    first.key = Some("key".into());
    first.fragments = vec![stored("f", "x")];
    fixture.applied(first).await?;
    fixture.applied(fixture.fork("side", "a", ["c"])).await?;
    let mut amend = fixture.stay();
    amend.amendments = vec![message("a")];
    fixture.applied(amend).await?;
    fixture
        .history()
        .set_checkpoint(&fixture.chat, &"here".into(), &"b".into(), fixture.at())
        .await?;

    same("deleting a chat", &fixture.history().delete_chat(&fixture.chat, None).await?, &true)?;
    same("everything of it", &VisibleChat::of(&fixture).await?, &None)?;
    same("deleting it again", &fixture.history().delete_chat(&fixture.chat, None).await?, &false)?;
    fixture.create().await?;
    let Some(seen) = VisibleChat::of(&fixture).await? else {
        return fail("created again, but not there");
    };
    let left =
        (seen.branches.len(), seen.messages.len(), seen.checkpoints.len(), seen.fragments.len());
    same(
        "branches, messages, checkpoints, fragments of a chat created anew",
        &left,
        &(1, 0, 0, 0),
    )?;
    let slots = fixture.history().messages(&fixture.chat, &["a".into()]).await?;
    same("a message of the deleted chat", &slots, &vec![None])?;
    let mut again = fixture.extend("", ["b", "a"]);
    again.key = Some("key".into());
    fixture.applied(again).await?;
    let revisions = fixture.history().revisions(&fixture.chat, &"a".into()).await?;
    same("revisions of a message whose id the deleted chat had", &revisions, &Vec::new())?;
    fixture.expect_chain("main", &["b", "a"]).await
}

/// Makes every call that names a chat. Returns the names and results.
async fn every_call(fixture: &ChatFixture) -> Vec<(&'static str, Result<String>)> {
    let (history, fragments, chat) = (fixture.history(), fixture.fragments(), &fixture.chat);
    let main = BranchName::main();
    let mut calls = Vec::new();
    macro_rules! call {
        ($name:literal, $future:expr) => {
            calls.push(($name, $future.await.map(|value| shown(&value))))
        };
    }
    call!("chat", history.chat(chat));
    call!("update_chat", history.update_chat(chat, &ChatPatch::default(), fixture.at()));
    call!("commit: extend", history.commit(fixture.extend("", ["x"])));
    call!("commit: extend behind a stored message", history.commit(fixture.extend("a", ["x"])));
    call!("commit: stored message", history.commit(fixture.extend("", ["a"])));
    call!("commit: fork", history.commit(fixture.fork("side", "a", ["x"])));
    let mut amend = fixture.stay();
    amend.amendments = vec![message("a")];
    call!("commit: amend", history.commit(amend));
    call!("branches", history.branches(chat));
    call!("activate_branch", history.activate_branch(chat, &main, fixture.at()));
    call!("chat_size", history.chat_size(chat));
    call!("rename_branch", history.rename_branch(chat, &main, &"other".into(), fixture.at()));
    call!("delete_branch", history.delete_branch(chat, &main, None, fixture.at()));
    call!("set_checkpoint", history.set_checkpoint(chat, &"cp".into(), &"a".into(), fixture.at()));
    call!("checkpoints", history.checkpoints(chat));
    call!("delete_checkpoint", history.delete_checkpoint(chat, &"cp".into(), fixture.at()));
    call!(
        "chain of a branch",
        history.chain(chat, &context_core::store::ChainEnd::Branch(main), &Window::Whole)
    );
    let to_a = context_core::store::ChainEnd::Message("a".into());
    call!("chain to a message", history.chain(chat, &to_a, &Window::Last(1)));
    call!("messages", history.messages(chat, &["a".into()]));
    call!("messages without ids", history.messages(chat, &[]));
    call!("all_messages", history.all_messages(chat, 10, None));
    call!("revisions", history.revisions(chat, &"a".into()));
    call!("fragments", fragments.fragments(chat));
    call!("put_fragments", fragments.put_fragments(chat, &[stored("f", "x")], fixture.at()));
    call!("put_fragments without any", fragments.put_fragments(chat, &[], fixture.at()));
    call!("remove_fragment", fragments.remove_fragment(chat, &"f".into(), fixture.at()));
    if let Some(log) = fixture.store.ref_log() {
        call!("ref_log", log.ref_log(chat));
        call!("clear_ref_log", log.clear_ref_log(chat));
    }
    if let Some(log) = fixture.store.fragment_log() {
        call!("fragment_log", log.fragment_log(chat));
        call!("clear_fragment_log", log.clear_fragment_log(chat));
    }
    if let Some(leases) = fixture.store.leases() {
        let claim = LeaseClaim::new("w", fixture.at(), Duration::from_micros(1));
        call!("take_lease", leases.take_lease(chat, &claim));
        call!("release_lease", leases.release_lease(chat, 1, fixture.at()));
        call!("lease", leases.lease(chat));
    }
    call!("delete_chat", history.delete_chat(chat, None));
    calls
}

async fn of_another_user_is_like_absent(case: &CaseContext) -> Check {
    let ada = case.fixture().await?;
    let mut first = ada.extend("", ["a"]);
    first.fragments = vec![stored("f", "x")];
    ada.applied(first).await?;
    ada.history().set_checkpoint(&ada.chat, &"cp".into(), &"a".into(), ada.at()).await?;
    let foreign = every_call(&ada.other("mallory", "chat")).await;
    let absent = every_call(&ChatFixture::new(case.open("empty").await?, "mallory", "chat")).await;
    for ((name, foreign), (_, absent)) in foreign.into_iter().zip(absent) {
        let said = |result: &Result<String>| result.as_ref().map_err(Error::to_string).cloned();
        same(
            format!("{name} of a chat of another user, against an absent one"),
            &said(&foreign),
            &said(&absent),
        )?;
        match (name, foreign) {
            ("chat", Ok(none)) => same("chat()", &none, &"None".to_owned())?,
            ("delete_chat", Ok(none)) => same("delete_chat()", &none, &"false".to_owned())?,
            (name, result) => refused(name, result, ErrorKind::NotFound).map(drop)?,
        }
    }
    Ok(())
}

async fn another_user_changes_nothing(case: &CaseContext) -> Check {
    let ada = case.fixture().await?;
    let mut first = ada.extend("", ["a"]);
    first.fragments = vec![stored("f", "x")];
    ada.applied(first).await?;
    let before = VisibleChat::of(&ada).await?;
    every_call(&ada.other("mallory", "chat")).await;
    same("a chat after all calls of another user", &VisibleChat::of(&ada).await?, &before)?;

    // With their own chat of the same id, another user still reaches only that one.
    let mallory = ada.other("mallory", "chat");
    mallory.create().await?;
    let slots = mallory.history().messages(&mallory.chat, &["a".into()]).await?;
    same("a message of another user's chat of the same id", &slots, &vec![None])?;
    let mut amend = mallory.stay();
    amend.amendments = vec![message("a")];
    refused("amending it", mallory.history().commit(amend).await, ErrorKind::NotFound)?;
    let outcome = mallory.commit(mallory.extend("", ["a"])).await?;
    ensure(matches!(outcome, CommitOutcome::Applied(_)), || {
        format!("an id that another user's chat has: expected it to be free, saw {outcome:?}")
    })?;
    same("fragments", &mallory.fragments().fragments(&mallory.chat).await?, &Vec::new())?;
    every_call(&mallory).await;
    same("the chat after all calls on the other one", &VisibleChat::of(&ada).await?, &before)?;
    same("its messages", &crate::chat_fixture::ids(&ada.whole("main").await?), &owned(&["a"]))
}
