//! Cases about reading chains and messages.

use std::collections::HashSet;

use context_core::message::Placed;
use context_core::store::{ChainEnd, Window};
use context_core::{ErrorKind, MessageId};

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, ids, message, owned};
use crate::expect::{ensure, refused, same};
use crate::lab::Lab;
use crate::visible::all_messages;

cases!("read":
    whole_chain_in_order,
    chain_to_any_message,
    empty_branch_has_an_empty_chain,
    absent_end_is_not_found,
    messages_keep_order_holes_and_duplicates,
    messages_know_their_place,
    many_ids_at_once,
    all_messages_parent_first_exactly_once,
    all_messages_of_an_empty_chat,
    deep_chain,
    never_amended_has_no_revisions,
);

async fn whole_chain_in_order(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let all = desk.fill(300, 9).await?;
    let chain = desk.whole("main").await?;
    let expected: Vec<_> = all.iter().map(|id| message(id)).collect();
    let seen: Vec<_> = chain.iter().cloned().collect();
    same("all of 300 messages", &seen, &expected)?;
    same("what it leaves out", &chain.skipped(), &0)
}

async fn chain_to_any_message(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let all = desk.fill(80, 5).await?;
    desk.applied(desk.fork("side", "m33", ["x", "y"])).await?;
    for at in [0, 1, 16, 33, 34, 64, 79] {
        let chain = desk.read_to(&all[at], Window::Whole).await?;
        same(format!("the chain to message {at}"), &ids(&chain), &all[..=at].to_vec())?;
    }
    let mut expected = all[..=33].to_vec();
    expected.push("x".to_owned());
    same("the chain into a fork", &ids(&desk.read_to("x", Window::Whole).await?), &expected)
}

async fn empty_branch_has_an_empty_chain(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let windows = [
        Window::Whole,
        Window::Last(3),
        Window::Boundary,
        Window::Tokens(9),
        Window::After { message: "x".into(), generation: 0 },
    ];
    for window in windows {
        let chain = desk.read("main", window.clone()).await?;
        let seen = (chain.len(), chain.skipped());
        same(
            format!("an empty branch through {window:?}: length and what is left out"),
            &seen,
            &(0, 0),
        )?;
    }
    Ok(())
}

async fn absent_end_is_not_found(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    let other = desk.other("ada", "other");
    other.create().await?;
    other.applied(other.extend("", ["theirs"])).await?;
    let ends = [
        ChainEnd::Branch("ghost".into()),
        ChainEnd::Branch("a".into()),
        ChainEnd::Message("ghost".into()),
        ChainEnd::Message("main".into()),
        ChainEnd::Message("theirs".into()),
    ];
    for end in ends {
        for window in [Window::Whole, Window::Last(1)] {
            let result = desk.history().chain(&desk.chat, &end, &window).await;
            refused(format!("the chain to {end:?}"), result, ErrorKind::NotFound)?;
        }
    }
    Ok(())
}

/// Returns the ids of the messages that were read, `-` for missing ones.
async fn slots(desk: &Desk, asked: &[&str]) -> Checked<Vec<String>> {
    let asked: Vec<MessageId> = asked.iter().copied().map(Into::into).collect();
    let found = desk.history().messages(&desk.chat, &asked).await?;
    Ok(found
        .iter()
        .map(|slot| slot.as_ref().map_or("-".into(), |placed| placed.node.id.to_string()))
        .collect())
}

async fn messages_keep_order_holes_and_duplicates(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b", "c"])).await?;
    desk.applied(desk.fork("side", "a", ["x"])).await?;
    let check = async |asked: &[&str], expected: &[&str]| {
        same(format!("messages({asked:?})"), &slots(&desk, asked).await?, &owned(expected))
    };
    check(&[], &[]).await?;
    check(&["ghost"], &["-"]).await?;
    check(&["c", "a", "b"], &["c", "a", "b"]).await?;
    check(&["ghost", "b", "", "b", "x", "ghost", "a"], &["-", "b", "-", "b", "x", "-", "a"]).await
}

async fn messages_know_their_place(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a", "b"])).await?;
    desk.applied(desk.fork("side", "a", ["x"])).await?;
    desk.applied(desk.fork("root", "", ["r"])).await?;
    let asked = ["a", "b", "x", "r"].map(Into::into);
    let expected = [("a", None, 0), ("b", Some("a"), 1), ("x", Some("a"), 1), ("r", None, 0)]
        .map(|(id, parent, depth)| Some(Placed::new(message(id), parent.map(Into::into), depth)));
    let seen = desk.history().messages(&desk.chat, &asked).await?;
    same("messages with parent and depth", &seen, &expected.to_vec())
}

async fn many_ids_at_once(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let all = desk.fill(2500, 1000).await?;
    let mut asked = Vec::new();
    for id in all.iter().rev() {
        asked.extend([id.as_str(), "ghost"]);
    }
    let mut expected = owned(&asked);
    expected.iter_mut().filter(|id| *id == "ghost").for_each(|id| *id = "-".into());
    same("5,000 ids, every second one a hole", &slots(&desk, &asked).await?, &expected)
}

async fn all_messages_parent_first_exactly_once(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let mut expected: HashSet<String> = desk.fill(60, 4).await?.into_iter().collect();
    desk.applied(desk.fork("side", "m20", ["x", "y"])).await?;
    desk.applied(desk.fork("root", "", ["r"])).await?;
    desk.applied(desk.extend("m59", ["late"])).await?;
    desk.applied(desk.fork("deep", "x", ["z"])).await?;
    desk.applied(desk.extend_on("side", "y", ["w"])).await?;
    expected.extend(["x", "y", "r", "late", "z", "w"].map(str::to_owned));
    for limit in [1, 3, 66, 1000] {
        let all = all_messages(&desk, limit).await?;
        let mut seen = HashSet::new();
        for placed in &all {
            let id = placed.node.id.to_string();
            if let Some(parent) = &placed.parent {
                ensure(seen.contains(parent.as_str()), || {
                    format!("pages of {limit}: {id:?} comes before its parent {parent:?}")
                })?;
            }
            ensure(seen.insert(id.clone()), || format!("pages of {limit}: {id:?} comes twice"))?;
        }
        same(format!("all messages in pages of {limit}"), &seen, &expected)?;
    }
    let page = desk.history().all_messages(&desk.chat, 3, None).await?;
    same("the length of a page of 3", &page.items.len(), &3)
}

async fn all_messages_of_an_empty_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let page = desk.history().all_messages(&desk.chat, 10, None).await?;
    same("all messages of an empty chat", &(page.items, page.next), &(Vec::new(), None))
}

/// Checks a deep chain, which exposes a store that follows parents one by one or recurses.
async fn deep_chain(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let all = desk.fill(10_000, 1000).await?;
    desk.applied(desk.fork("side", "m4999", ["x"])).await?;
    same("10,000 messages", &ids(&desk.whole("main").await?), &all)?;
    let last = desk.read("main", Window::Last(3)).await?;
    same("the last 3", &(last.skipped(), ids(&last)), &(9997, all[9997..].to_vec()))?;
    let mut expected = all[..5000].to_vec();
    expected.push("x".to_owned());
    same("a fork in the middle", &ids(&desk.whole("side").await?), &expected)?;
    same("how many messages there are", &all_messages(&desk, 1000).await?.len(), &10_001)
}

async fn never_amended_has_no_revisions(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.applied(desk.extend("", ["a"])).await?;
    let revisions = desk.history().revisions(&desk.chat, &"a".into()).await?;
    same("revisions of a message that was never amended", &revisions, &Vec::new())?;
    let revisions = desk.history().revisions(&desk.chat, &"ghost".into()).await?;
    same("revisions of a message that is not there", &revisions, &Vec::new())
}
