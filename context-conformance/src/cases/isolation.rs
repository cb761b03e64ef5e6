//! Cases about isolation: namespaces never see each other, and neither do users.

use context_core::store::Commit;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{says, stored};
use crate::expect::same;
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("isolation":
    namespaces_share_nothing,
    odd_namespace_names,
    users_share_nothing_under_one_name,
    searches_stay_in_their_namespace if Search,
);

async fn namespaces_share_nothing(case: &CaseContext) -> Check {
    let (one, two) = (case.fixture_in("one").await?, case.fixture_in("two").await?);
    one.applied(one.extend("", ["a", "b"])).await?;
    let before = VisibleChat::of(&one).await?;
    two.expect_chain("main", &[]).await?;
    let mut commit = two.extend("", ["b", "a"]);
    commit.fragments = vec![stored("f", "x")];
    two.applied(commit).await?;
    same("the other namespace after a commit here", &VisibleChat::of(&one).await?, &before)?;
    two.history().delete_chat(&two.chat, None).await?;
    same("and after the chat is deleted here", &VisibleChat::of(&one).await?, &before)
}

async fn odd_namespace_names(case: &CaseContext) -> Check {
    let long = "n".repeat(300);
    let names = [
        "a", "A", "a b", "a/b", "../a", "a\\b", "a'b", "a\"b", "a%b", "a_b", "ä", "🦀", ".",
        "a.db", "a?b=c", "a#b", &long,
    ];
    let mut fixtures = Vec::new();
    for name in names {
        let fixture = case.fixture_in(name).await?;
        fixture.applied(fixture.extend("", [name])).await?;
        fixtures.push((name, fixture));
    }
    for (name, fixture) in &fixtures {
        fixture.expect_chain("main", &[name]).await?;
    }
    Ok(())
}

/// Checks several users with a chat of the same name and the same messages: no user sees the
/// changes of another.
async fn users_share_nothing_under_one_name(case: &CaseContext) -> Check {
    let ada = case.fixture().await?;
    let mut lives = Vec::new();
    for user in ["ada", "bob", "ada ", "ADA"] {
        let fixture = ada.other(user, "chat");
        fixture.create().await?;
        fixture.applied(fixture.extend("", ["a", "b"])).await?;
        fixture.applied(fixture.fork("side", "a", ["x"])).await?;
        fixture
            .history()
            .set_checkpoint(&fixture.chat, &"cp".into(), &"x".into(), fixture.at())
            .await?;
        fixture
            .fragments()
            .put_fragments(&fixture.chat, &[stored("f", user)], fixture.at())
            .await?;
        lives.push(fixture);
    }
    for (i, fixture) in lives.iter().enumerate() {
        let mut before = Vec::new();
        for other in &lives {
            before.push(VisibleChat::of(other).await?);
        }
        let (history, chat) = (fixture.history(), &fixture.chat);
        let commit = Commit {
            key: Some("k".into()),
            amendments: vec![says("a", "amended")],
            redactions: vec![says("x", "[redacted]")],
            ..fixture.extend("b", ["c"])
        };
        fixture.applied(commit).await?;
        history.rename_branch(chat, &"side".into(), &"other".into(), fixture.at()).await?;
        let _deleted =
            history.delete_branch(chat, &"other".into(), Some(&"x".into()), fixture.at()).await?;
        history.delete_checkpoint(chat, &"cp".into(), fixture.at()).await?;
        fixture.fragments().remove_fragment(chat, &"f".into(), fixture.at()).await?;
        history.delete_chat(chat, None).await?;
        for (j, other) in lives.iter().enumerate().filter(|(j, _)| *j != i) {
            let user = &other.chat.user;
            same(
                format!("the chat of {user:?} after {:?}'s", chat.user),
                &VisibleChat::of(other).await?,
                &before[j],
            )?;
        }
    }
    Ok(())
}

async fn searches_stay_in_their_namespace(case: &CaseContext) -> Check {
    let (one, two) = (case.fixture_in("one").await?, case.fixture_in("two").await?);
    one.applied(Commit { nodes: vec![says("a", "apple")], ..one.extend("", []) }).await?;
    two.finds("apple", &[]).await?;
    two.applied(Commit { nodes: vec![says("b", "apple")], ..two.extend("", []) }).await?;
    one.finds("apple", &["a"]).await?;
    two.finds("apple", &["b"]).await
}
