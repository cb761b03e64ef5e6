//! Two namespaces never see each other.

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::stored;
use crate::expect::same;
use crate::lab::Lab;
use crate::visible::Visible;

cases!("isolation": namespaces_share_nothing, odd_namespace_names);

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
        "a", "A", "a b", "a/b", "../a", "a\\b", "a'b", "a\"b", "a%b", "a_b", "ä", "🦀", ".", "a.db", "a?b=c",
        "a#b", &long,
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
