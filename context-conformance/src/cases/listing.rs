//! Cases about listing chats: order, pages, filters, counts.

use std::collections::HashSet;

use context_core::store::{ChatQuery, ChatSummary, Commit, Cursor, NewChat};
use context_core::{ErrorKind, Json, Metadata, Timestamp};
use serde_json::json;

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, message};
use crate::expect::{ensure, refused, same};
use crate::lab::Lab;

cases!("listing":
    newest_activity_comes_first,
    every_write_is_activity,
    pages_show_each_chat_once,
    chats_of_one_moment_are_all_listed,
    shows_only_ones_own,
    filters_compare_exact_keys_and_values,
    filtered_pages_are_full,
    counts_messages_and_branches,
    a_chat_that_moves_up_does_not_hide_others,
    refuses_a_cursor_that_is_none,
);

/// Creates chats `c0`, `c1`, … of ada, one after the other.
async fn chats(desk: &Desk, count: usize, metadata: impl Fn(usize) -> Metadata) -> Checked {
    for i in 0..count {
        let chat = desk.other("ada", &format!("c{i}")).chat;
        let new = NewChat { metadata: metadata(i), ..NewChat::new(chat, desk.at()) };
        let _ = desk.history().create_chat(new).await?;
    }
    Ok(())
}

async fn pages(desk: &Desk, mut query: ChatQuery) -> Checked<Vec<Vec<ChatSummary>>> {
    let mut pages = Vec::new();
    loop {
        let page = desk.history().list_chats(&query).await?;
        pages.push(page.items);
        query.after = page.next;
        if query.after.is_none() {
            return Ok(pages);
        }
        ensure(pages.len() < 1000, || "1,000 pages, and still no end of the listing".to_owned())?;
    }
}

async fn listed(desk: &Desk, query: ChatQuery) -> Checked<Vec<String>> {
    let pages = pages(desk, query).await?;
    Ok(pages.into_iter().flatten().map(|item| item.chat.chat.chat.to_string()).collect())
}

fn limited(limit: usize) -> ChatQuery {
    ChatQuery { limit, ..ChatQuery::new("ada") }
}

async fn fresh(lab: &Lab) -> Checked<Desk> {
    Ok(Desk::new(lab.open("listing").await?, "ada", "none"))
}

async fn newest_activity_comes_first(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 4, |_| Metadata::default()).await?;
    same("listing", &listed(&desk, limited(100)).await?, &names(&[3, 2, 1, 0]))?;
    let old = desk.other("ada", "c1");
    old.applied(old.extend("", ["a"])).await?;
    same(
        "listing after a message in c1",
        &listed(&desk, limited(100)).await?,
        &names(&[1, 3, 2, 0]),
    )
}

async fn every_write_is_activity(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 2, |_| Metadata::default()).await?;
    let desk = desk.other("ada", "c0");
    desk.applied(desk.extend("", ["a"])).await?;
    let history = desk.history();
    let after = async |did: &str, at| {
        let chat = desk.history().chat(&desk.chat).await?;
        same(format!("updated_at after {did}"), &chat.map(|chat| chat.updated_at), &Some(at))
    };
    let at = desk.at();
    history.update_chat(&desk.chat, &Default::default(), at).await?;
    after("update_chat", at).await?;
    let at = desk.at();
    history.activate_branch(&desk.chat, &"main".into(), at).await?;
    after("activate_branch", at).await?;
    let at = desk.at();
    desk.fragments().put_fragments(&desk.chat, &[crate::desk::stored("f", "x")], at).await?;
    after("put_fragments", at).await?;
    let at = desk.at();
    history.set_checkpoint(&desk.chat, &"cp".into(), &"a".into(), at).await?;
    after("set_checkpoint", at).await?;
    let fork = desk.fork("side", "a", []);
    let at = fork.at;
    desk.applied(fork).await?;
    after("a fork", at).await?;
    let at = desk.at();
    history.rename_branch(&desk.chat, &"side".into(), &"aside".into(), at).await?;
    after("rename_branch", at).await?;
    let at = desk.at();
    let _deleted =
        history.delete_branch(&desk.chat, &"aside".into(), Some(&"a".into()), at).await?;
    after("delete_branch", at).await?;
    let amend = Commit { amendments: vec![message("a")], ..desk.stay() };
    let at = amend.at;
    desk.applied(amend).await?;
    after("an amendment", at).await?;
    let redact = Commit { redactions: vec![message("a")], ..desk.stay() };
    let at = redact.at;
    desk.applied(redact).await?;
    after("a redaction", at).await?;
    let keyed = Commit { key: Some("k".into()), ..desk.extend("a", ["b"]) };
    let at = keyed.at;
    desk.applied(keyed.clone()).await?;
    after("a message", at).await?;
    // The following calls write nothing, or have no timestamp.
    let _replayed = history.commit(Commit { at: desk.at(), ..keyed }).await?;
    after("a commit that had been written", at).await?;
    let _conflict = history.commit(desk.extend("a", ["c"])).await?;
    after("a conflict", at).await?;
    let refused = history.activate_branch(&desk.chat, &"ghost".into(), desk.at()).await;
    ensure(refused.is_err(), || "a branch that is not there was activated".to_owned())?;
    after("a call that was refused", at).await?;
    history.delete_checkpoint(&desk.chat, &"cp".into()).await?;
    after("delete_checkpoint", at).await?;
    desk.fragments().remove_fragment(&desk.chat, &"f".into()).await?;
    after("remove_fragment", at).await?;
    let late = Commit { at: Timestamp::from_micros(at.as_micros() - 1), ..desk.extend("b", ["d"]) };
    desk.applied(late).await?;
    after("a message of a clock that runs behind", at).await
}

async fn pages_show_each_chat_once(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 23, |_| Metadata::default()).await?;
    let all = names(&(0..23).rev().collect::<Vec<_>>());
    for limit in [1, 4, 22, 23, 24, 1000] {
        same(format!("listing in pages of {limit}"), &listed(&desk, limited(limit)).await?, &all)?;
    }
    let sizes: Vec<_> = pages(&desk, limited(5)).await?.iter().map(Vec::len).collect();
    same("the sizes of pages of 5", &sizes, &vec![5, 5, 5, 5, 3])
}

async fn chats_of_one_moment_are_all_listed(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    let at = desk.at();
    for i in 0..17 {
        let new = NewChat::new(desk.other("ada", &format!("c{i}")).chat, at);
        let _ = desk.history().create_chat(new).await?;
    }
    let seen = listed(&desk, limited(3)).await?;
    let different: HashSet<_> = seen.iter().collect();
    same("how many, and how many different ones", &(seen.len(), different.len()), &(17, 17))
}

async fn shows_only_ones_own(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 3, |_| Metadata::default()).await?;
    for user in ["bob", "ad", "adaa", "ADA"] {
        desk.other(user, "theirs").create().await?;
    }
    same("listing ada's chats", &listed(&desk, limited(2)).await?, &names(&[2, 1, 0]))?;
    same(
        "listing bob's",
        &listed(&desk, ChatQuery::new("bob")).await?,
        &vec!["theirs".to_owned()],
    )?;
    same("listing a stranger's", &listed(&desk, ChatQuery::new("eve")).await?, &Vec::new())
}

async fn filters_compare_exact_keys_and_values(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 5, |i| match i {
        0 => Metadata::default().with("a.b", 1),
        1 => Metadata::default().with("a", json!({"b": 1})),
        2 => Metadata::default().with("a.b", "1").with("it's \"odd\" $[*]", true_json()),
        3 => Metadata::default().with("a", json!({"y": [1, 2], "b": 1})).with("c", 2),
        _ => Metadata::default(),
    })
    .await?;
    let check = async |filters: &[(&str, &str)], expected: &[usize]| {
        let mut query = limited(10);
        for (key, text) in filters {
            let value = Json::from_text(*text)
                .map_err(|error| crate::checked::Stop::Fail(error.to_string()))?;
            query.metadata.push(((*key).to_owned(), value));
        }
        same(format!("listing with {filters:?}"), &listed(&desk, query).await?, &names(expected))
    };
    check(&[("a.b", "1")], &[0]).await?;
    check(&[("a.b", "\"1\"")], &[2]).await?;
    check(&[("a", "{\"b\":1}")], &[1]).await?;
    check(&[("a", "{ \"b\": 1, \"y\": [ 1, 2 ] }")], &[3]).await?;
    check(&[("it's \"odd\" $[*]", "true")], &[2]).await?;
    check(&[("c", "2"), ("a", "{\"b\":1,\"y\":[1,2]}")], &[3]).await?;
    check(&[("c", "2"), ("a.b", "1")], &[]).await?;
    check(&[("absent", "null")], &[]).await
}

fn true_json() -> Json {
    Json::from(json!(true))
}

async fn filtered_pages_are_full(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 30, |i| Metadata::default().with("third", json!(i % 3 == 0))).await?;
    let query = ChatQuery { metadata: vec![("third".into(), true_json())], ..limited(4) };
    let pages = pages(&desk, query).await?;
    let sizes: Vec<_> = pages.iter().map(Vec::len).collect();
    same("the sizes of pages of 4, of 10 chats that match", &sizes, &vec![4, 4, 2])?;
    let seen: Vec<_> =
        pages.into_iter().flatten().map(|item| item.chat.chat.chat.to_string()).collect();
    same("the chats", &seen, &names(&[27, 24, 21, 18, 15, 12, 9, 6, 3, 0]))
}

async fn counts_messages_and_branches(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    desk.fill(5, 2).await?;
    desk.applied(desk.fork("side", "m1", ["x", "y"])).await?;
    desk.applied(desk.fork("empty", "", [])).await?;
    let page = desk.history().list_chats(&limited(10)).await?;
    let counts: Vec<_> = page.items.iter().map(|item| (item.messages, item.branches)).collect();
    same("messages and branches of the only chat", &counts, &vec![(7, 3)])?;
    let chat = desk.history().chat(&desk.chat).await?;
    same("the listed chat", &page.items.into_iter().next().map(|item| item.chat), &chat)
}

async fn a_chat_that_moves_up_does_not_hide_others(lab: &Lab) -> Checked {
    let desk = fresh(lab).await?;
    chats(&desk, 9, |_| Metadata::default()).await?;
    let mut query = limited(3);
    let first = desk.history().list_chats(&query).await?;
    let moved = desk.other("ada", "c2");
    moved.applied(moved.extend("", ["a"])).await?;
    query.after = first.next;
    let rest = listed(&desk, query).await?;
    let others: Vec<_> = rest.into_iter().filter(|chat| chat != "c2").collect();
    same(
        "the pages behind the first, but for the chat that was written to",
        &others,
        &names(&[5, 4, 3, 1, 0]),
    )
}

async fn refuses_a_cursor_that_is_none(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    for text in ["", "nonsense", "9:9:9:9", "'; --", "\u{0}"] {
        let cursor = Cursor::new(text);
        let query = ChatQuery { after: Some(cursor.clone()), ..limited(3) };
        let result = desk.history().list_chats(&query).await;
        refused(format!("list_chats after {cursor:?}"), result, ErrorKind::Invalid)?;
        let result = desk.history().all_messages(&desk.chat, 3, Some(&cursor)).await;
        refused(format!("all_messages after {cursor:?}"), result, ErrorKind::Invalid)?;
    }
    Ok(())
}

fn names(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|i| format!("c{i}")).collect()
}
