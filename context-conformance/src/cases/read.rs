//! Cases about reading chains and messages.

use std::collections::HashSet;

use context_core::message::PlacedNode;
use context_core::store::{ChainEnd, Window};
use context_core::{ErrorKind, MessageId};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, ids, message, owned};
use crate::expect::{ensure, refused, same};
use crate::verdict::Check;
use crate::visible_chat::all_messages;

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

async fn whole_chain_in_order(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(300, 9).await?;
    let chain = fixture.whole("main").await?;
    let expected: Vec<_> = all.iter().map(|id| message(id)).collect();
    let seen: Vec<_> = chain.iter().cloned().collect();
    same("all of 300 messages", &seen, &expected)?;
    same("what it leaves out", &chain.skipped(), &0)
}

async fn chain_to_any_message(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(80, 5).await?;
    fixture.applied(fixture.fork("side", "m33", ["x", "y"])).await?;
    for at in [0, 1, 16, 33, 34, 64, 79] {
        let chain = fixture.read_to(&all[at], Window::Whole).await?;
        same(format!("the chain to message {at}"), &ids(&chain), &all[..=at].to_vec())?;
    }
    let mut expected = all[..=33].to_vec();
    expected.push("x".to_owned());
    same("the chain into a fork", &ids(&fixture.read_to("x", Window::Whole).await?), &expected)
}

async fn empty_branch_has_an_empty_chain(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let windows = [
        Window::Whole,
        Window::Last(3),
        Window::Boundary,
        Window::Tokens(9),
        Window::After { message: "x".into(), generation: 0 },
    ];
    for window in windows {
        let chain = fixture.read("main", window.clone()).await?;
        let seen = (chain.len(), chain.skipped());
        same(
            format!("an empty branch through {window:?}: length and what is left out"),
            &seen,
            &(0, 0),
        )?;
    }
    Ok(())
}

async fn absent_end_is_not_found(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let other = fixture.other("ada", "other");
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
            let result = fixture.history().chain(&fixture.chat, &end, &window).await;
            refused(format!("the chain to {end:?}"), result, ErrorKind::NotFound)?;
        }
    }
    Ok(())
}

/// Returns the ids of the messages that were read, `-` for missing ones.
async fn slots(fixture: &ChatFixture, asked: &[&str]) -> Check<Vec<String>> {
    let asked: Vec<MessageId> = asked.iter().copied().map(Into::into).collect();
    let found = fixture.history().messages(&fixture.chat, &asked).await?;
    Ok(found
        .iter()
        .map(|slot| slot.as_ref().map_or("-".into(), |placed| placed.node.id.to_string()))
        .collect())
}

async fn messages_keep_order_holes_and_duplicates(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b", "c"])).await?;
    fixture.applied(fixture.fork("side", "a", ["x"])).await?;
    let check = async |asked: &[&str], expected: &[&str]| {
        same(format!("messages({asked:?})"), &slots(&fixture, asked).await?, &owned(expected))
    };
    check(&[], &[]).await?;
    check(&["ghost"], &["-"]).await?;
    check(&["c", "a", "b"], &["c", "a", "b"]).await?;
    check(&["ghost", "b", "", "b", "x", "ghost", "a"], &["-", "b", "-", "b", "x", "-", "a"]).await
}

async fn messages_know_their_place(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a", "b"])).await?;
    fixture.applied(fixture.fork("side", "a", ["x"])).await?;
    fixture.applied(fixture.fork("root", "", ["r"])).await?;
    let asked = ["a", "b", "x", "r"].map(Into::into);
    let expected = [("a", None, 0), ("b", Some("a"), 1), ("x", Some("a"), 1), ("r", None, 0)].map(
        |(id, parent, depth)| Some(PlacedNode::new(message(id), parent.map(Into::into), depth)),
    );
    let seen = fixture.history().messages(&fixture.chat, &asked).await?;
    same("messages with parent and depth", &seen, &expected.to_vec())
}

async fn many_ids_at_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(2500, 1000).await?;
    let mut asked = Vec::new();
    for id in all.iter().rev() {
        asked.extend([id.as_str(), "ghost"]);
    }
    let mut expected = owned(&asked);
    expected.iter_mut().filter(|id| *id == "ghost").for_each(|id| *id = "-".into());
    same("5,000 ids, every second one a hole", &slots(&fixture, &asked).await?, &expected)
}

async fn all_messages_parent_first_exactly_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut expected: HashSet<String> = fixture.fill(60, 4).await?.into_iter().collect();
    fixture.applied(fixture.fork("side", "m20", ["x", "y"])).await?;
    fixture.applied(fixture.fork("root", "", ["r"])).await?;
    fixture.applied(fixture.extend("m59", ["late"])).await?;
    fixture.applied(fixture.fork("deep", "x", ["z"])).await?;
    fixture.applied(fixture.extend_on("side", "y", ["w"])).await?;
    expected.extend(["x", "y", "r", "late", "z", "w"].map(str::to_owned));
    for limit in [1, 3, 66, 1000] {
        let all = all_messages(&fixture, limit).await?;
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
    let page = fixture.history().all_messages(&fixture.chat, 3, None).await?;
    same("the length of a page of 3", &page.items.len(), &3)
}

async fn all_messages_of_an_empty_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let page = fixture.history().all_messages(&fixture.chat, 10, None).await?;
    same("all messages of an empty chat", &(page.items, page.next), &(Vec::new(), None))
}

/// Checks a deep chain, which exposes a store that follows parents one by one or recurses.
async fn deep_chain(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let all = fixture.fill(10_000, 1000).await?;
    fixture.applied(fixture.fork("side", "m4999", ["x"])).await?;
    same("10,000 messages", &ids(&fixture.whole("main").await?), &all)?;
    let last = fixture.read("main", Window::Last(3)).await?;
    same("the last 3", &(last.skipped(), ids(&last)), &(9997, all[9997..].to_vec()))?;
    let mut expected = all[..5000].to_vec();
    expected.push("x".to_owned());
    same("a fork in the middle", &ids(&fixture.whole("side").await?), &expected)?;
    same("how many messages there are", &all_messages(&fixture, 1000).await?.len(), &10_001)
}

async fn never_amended_has_no_revisions(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let revisions = fixture.history().revisions(&fixture.chat, &"a".into()).await?;
    same("revisions of a message that was never amended", &revisions, &Vec::new())?;
    let revisions = fixture.history().revisions(&fixture.chat, &"ghost".into()).await?;
    same("revisions of a message that is not there", &revisions, &Vec::new())
}
