//! Cases about isolation: namespaces never see each other, and neither do users.

use context_core::store::Commit;

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{says, stored};
use crate::expect::same;
use crate::lab::Lab;
use crate::visible::Visible;

cases!("isolation":
    namespaces_share_nothing,
    odd_namespace_names,
    users_share_nothing_under_one_name,
    searches_stay_in_their_namespace if Search,
);

async fn namespaces_share_nothing(lab: &Lab) -> Checked {
    let (one, two) = (lab.desk_in("one").await?, lab.desk_in("two").await?);
    one.applied(one.extend("", ["a", "b"])).await?;
    let before = Visible::of(&one).await?;
    two.expect_chain("main", &[]).await?;
    let mut commit = two.extend("", ["b", "a"]);
    commit.fragments = vec![stored("f", "x")];
    two.applied(commit).await?;
    same("the other namespace after a commit here", &Visible::of(&one).await?, &before)?;
    two.history().delete_chat(&two.chat, None).await?;
    same("and after the chat is deleted here", &Visible::of(&one).await?, &before)
}

async fn odd_namespace_names(lab: &Lab) -> Checked {
    let long = "n".repeat(300);
    let names = [
        "a", "A", "a b", "a/b", "../a", "a\\b", "a'b", "a\"b", "a%b", "a_b", "ä", "🦀", ".",
        "a.db", "a?b=c", "a#b", &long,
    ];
    let mut desks = Vec::new();
    for name in names {
        let desk = lab.desk_in(name).await?;
        desk.applied(desk.extend("", [name])).await?;
        desks.push((name, desk));
    }
    for (name, desk) in &desks {
        desk.expect_chain("main", &[name]).await?;
    }
    Ok(())
}

/// Checks several users with a chat of the same name and the same messages: no user sees the
/// changes of another.
async fn users_share_nothing_under_one_name(lab: &Lab) -> Checked {
    let ada = lab.desk().await?;
    let mut lives = Vec::new();
    for user in ["ada", "bob", "ada ", "ADA"] {
        let desk = ada.other(user, "chat");
        desk.create().await?;
        desk.applied(desk.extend("", ["a", "b"])).await?;
        desk.applied(desk.fork("side", "a", ["x"])).await?;
        desk.history().set_checkpoint(&desk.chat, &"cp".into(), &"x".into(), desk.at()).await?;
        desk.fragments().put_fragments(&desk.chat, &[stored("f", user)], desk.at()).await?;
        lives.push(desk);
    }
    for (i, desk) in lives.iter().enumerate() {
        let mut before = Vec::new();
        for other in &lives {
            before.push(Visible::of(other).await?);
        }
        let (history, chat) = (desk.history(), &desk.chat);
        let commit = Commit {
            key: Some("k".into()),
            amendments: vec![says("a", "amended")],
            redactions: vec![says("x", "[redacted]")],
            ..desk.extend("b", ["c"])
        };
        desk.applied(commit).await?;
        history.rename_branch(chat, &"side".into(), &"other".into(), desk.at()).await?;
        let _deleted =
            history.delete_branch(chat, &"other".into(), Some(&"x".into()), desk.at()).await?;
        history.delete_checkpoint(chat, &"cp".into()).await?;
        desk.fragments().remove_fragment(chat, &"f".into()).await?;
        history.delete_chat(chat, None).await?;
        for (j, other) in lives.iter().enumerate().filter(|(j, _)| *j != i) {
            let user = &other.chat.user;
            same(
                format!("the chat of {user:?} after {:?}'s", chat.user),
                &Visible::of(other).await?,
                &before[j],
            )?;
        }
    }
    Ok(())
}

async fn searches_stay_in_their_namespace(lab: &Lab) -> Checked {
    let (one, two) = (lab.desk_in("one").await?, lab.desk_in("two").await?);
    one.applied(Commit { nodes: vec![says("a", "apple")], ..one.extend("", []) }).await?;
    two.finds("apple", &[]).await?;
    two.applied(Commit { nodes: vec![says("b", "apple")], ..two.extend("", []) }).await?;
    one.finds("apple", &["a"]).await?;
    two.finds("apple", &["b"]).await
}
