//! Cases about listing chats: order, pages, filters, counts.

use std::collections::HashSet;

use context_core::store::{ChatQuery, ChatSummary, Commit, Cursor, NewChat};
use context_core::{ErrorKind, Json, Metadata, Timestamp};
use serde_json::json;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, message};
use crate::expect::{ensure, refused, same};
use crate::verdict::Check;

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
async fn chats(fixture: &ChatFixture, count: usize, metadata: impl Fn(usize) -> Metadata) -> Check {
    for i in 0..count {
        let chat = fixture.other("ada", &format!("c{i}")).chat;
        let new = NewChat { metadata: metadata(i), ..NewChat::new(chat, fixture.at()) };
        let _ = fixture.history().create_chat(new).await?;
    }
    Ok(())
}

async fn pages(fixture: &ChatFixture, mut query: ChatQuery) -> Check<Vec<Vec<ChatSummary>>> {
    let mut pages = Vec::new();
    loop {
        let page = fixture.history().list_chats(&query).await?;
        pages.push(page.items);
        query.after = page.next;
        if query.after.is_none() {
            return Ok(pages);
        }
        ensure(pages.len() < 1000, || "1,000 pages, and still no end of the listing".to_owned())?;
    }
}

async fn listed(fixture: &ChatFixture, query: ChatQuery) -> Check<Vec<String>> {
    let pages = pages(fixture, query).await?;
    Ok(pages.into_iter().flatten().map(|item| item.chat.chat.chat.to_string()).collect())
}

fn limited(limit: usize) -> ChatQuery {
    ChatQuery { limit, ..ChatQuery::new("ada") }
}

async fn fresh(case: &CaseContext) -> Check<ChatFixture> {
    Ok(ChatFixture::new(case.open("listing").await?, "ada", "none"))
}

async fn newest_activity_comes_first(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 4, |_| Metadata::default()).await?;
    same("listing", &listed(&fixture, limited(100)).await?, &names(&[3, 2, 1, 0]))?;
    let old = fixture.other("ada", "c1");
    old.applied(old.extend("", ["a"])).await?;
    same(
        "listing after a message in c1",
        &listed(&fixture, limited(100)).await?,
        &names(&[1, 3, 2, 0]),
    )
}

async fn every_write_is_activity(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 2, |_| Metadata::default()).await?;
    let fixture = fixture.other("ada", "c0");
    fixture.applied(fixture.extend("", ["a"])).await?;
    let history = fixture.history();
    let after = async |did: &str, at| {
        let chat = fixture.history().chat(&fixture.chat).await?;
        same(format!("updated_at after {did}"), &chat.map(|chat| chat.updated_at), &Some(at))
    };
    let at = fixture.at();
    history.update_chat(&fixture.chat, &Default::default(), at).await?;
    after("update_chat", at).await?;
    let at = fixture.at();
    history.activate_branch(&fixture.chat, &"main".into(), at).await?;
    after("activate_branch", at).await?;
    let at = fixture.at();
    fixture
        .fragments()
        .put_fragments(&fixture.chat, &[crate::chat_fixture::stored("f", "x")], at)
        .await?;
    after("put_fragments", at).await?;
    let at = fixture.at();
    history.set_checkpoint(&fixture.chat, &"cp".into(), &"a".into(), at).await?;
    after("set_checkpoint", at).await?;
    let fork = fixture.fork("side", "a", []);
    let at = fork.at;
    fixture.applied(fork).await?;
    after("a fork", at).await?;
    let at = fixture.at();
    history.rename_branch(&fixture.chat, &"side".into(), &"aside".into(), at).await?;
    after("rename_branch", at).await?;
    let at = fixture.at();
    let _deleted =
        history.delete_branch(&fixture.chat, &"aside".into(), Some(&"a".into()), at).await?;
    after("delete_branch", at).await?;
    let amend = Commit { amendments: vec![message("a")], ..fixture.stay() };
    let at = amend.at;
    fixture.applied(amend).await?;
    after("an amendment", at).await?;
    let redact = Commit { redactions: vec![message("a")], ..fixture.stay() };
    let at = redact.at;
    fixture.applied(redact).await?;
    after("a redaction", at).await?;
    let keyed = Commit { key: Some("k".into()), ..fixture.extend("a", ["b"]) };
    let at = keyed.at;
    fixture.applied(keyed.clone()).await?;
    after("a message", at).await?;
    // The following calls write nothing.
    let _replayed = history.commit(Commit { at: fixture.at(), ..keyed }).await?;
    after("a commit that had been written", at).await?;
    let _conflict = history.commit(fixture.extend("a", ["c"])).await?;
    after("a conflict", at).await?;
    let refused = history.activate_branch(&fixture.chat, &"ghost".into(), fixture.at()).await;
    ensure(refused.is_err(), || "a branch that is not there was activated".to_owned())?;
    after("a call that was refused", at).await?;
    let at = fixture.at();
    history.delete_checkpoint(&fixture.chat, &"cp".into(), at).await?;
    after("delete_checkpoint", at).await?;
    let at = fixture.at();
    fixture.fragments().remove_fragment(&fixture.chat, &"f".into(), at).await?;
    after("remove_fragment", at).await?;
    let late =
        Commit { at: Timestamp::from_micros(at.as_micros() - 1), ..fixture.extend("b", ["d"]) };
    fixture.applied(late).await?;
    after("a message of a clock that runs behind", at).await
}

async fn pages_show_each_chat_once(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 23, |_| Metadata::default()).await?;
    let all = names(&(0..23).rev().collect::<Vec<_>>());
    for limit in [1, 4, 22, 23, 24, 1000] {
        same(
            format!("listing in pages of {limit}"),
            &listed(&fixture, limited(limit)).await?,
            &all,
        )?;
    }
    let sizes: Vec<_> = pages(&fixture, limited(5)).await?.iter().map(Vec::len).collect();
    same("the sizes of pages of 5", &sizes, &vec![5, 5, 5, 5, 3])
}

async fn chats_of_one_moment_are_all_listed(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    let at = fixture.at();
    for i in 0..17 {
        let new = NewChat::new(fixture.other("ada", &format!("c{i}")).chat, at);
        let _ = fixture.history().create_chat(new).await?;
    }
    let seen = listed(&fixture, limited(3)).await?;
    let different: HashSet<_> = seen.iter().collect();
    same("how many, and how many different ones", &(seen.len(), different.len()), &(17, 17))
}

async fn shows_only_ones_own(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 3, |_| Metadata::default()).await?;
    for user in ["bob", "ad", "adaa", "ADA"] {
        fixture.other(user, "theirs").create().await?;
    }
    same("listing ada's chats", &listed(&fixture, limited(2)).await?, &names(&[2, 1, 0]))?;
    same(
        "listing bob's",
        &listed(&fixture, ChatQuery::new("bob")).await?,
        &vec!["theirs".to_owned()],
    )?;
    same("listing a stranger's", &listed(&fixture, ChatQuery::new("eve")).await?, &Vec::new())
}

async fn filters_compare_exact_keys_and_values(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 5, |i| match i {
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
                .map_err(|error| crate::verdict::Stop::Fail(error.to_string()))?;
            query.metadata.push(((*key).to_owned(), value));
        }
        same(format!("listing with {filters:?}"), &listed(&fixture, query).await?, &names(expected))
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

async fn filtered_pages_are_full(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 30, |i| Metadata::default().with("third", json!(i % 3 == 0))).await?;
    let query = ChatQuery { metadata: vec![("third".into(), true_json())], ..limited(4) };
    let pages = pages(&fixture, query).await?;
    let sizes: Vec<_> = pages.iter().map(Vec::len).collect();
    same("the sizes of pages of 4, of 10 chats that match", &sizes, &vec![4, 4, 2])?;
    let seen: Vec<_> =
        pages.into_iter().flatten().map(|item| item.chat.chat.chat.to_string()).collect();
    same("the chats", &seen, &names(&[27, 24, 21, 18, 15, 12, 9, 6, 3, 0]))
}

async fn counts_messages_and_branches(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.fill(5, 2).await?;
    fixture.applied(fixture.fork("side", "m1", ["x", "y"])).await?;
    fixture.applied(fixture.fork("empty", "", [])).await?;
    let page = fixture.history().list_chats(&limited(10)).await?;
    let counts: Vec<_> = page.items.iter().map(|item| (item.messages, item.branches)).collect();
    same("messages and branches of the only chat", &counts, &vec![(7, 3)])?;
    let chat = fixture.history().chat(&fixture.chat).await?;
    same("the listed chat", &page.items.into_iter().next().map(|item| item.chat), &chat)
}

async fn a_chat_that_moves_up_does_not_hide_others(case: &CaseContext) -> Check {
    let fixture = fresh(case).await?;
    chats(&fixture, 9, |_| Metadata::default()).await?;
    let mut query = limited(3);
    let first = fixture.history().list_chats(&query).await?;
    let moved = fixture.other("ada", "c2");
    moved.applied(moved.extend("", ["a"])).await?;
    query.after = first.next;
    let rest = listed(&fixture, query).await?;
    let others: Vec<_> = rest.into_iter().filter(|chat| chat != "c2").collect();
    same(
        "the pages behind the first, but for the chat that was written to",
        &others,
        &names(&[5, 4, 3, 1, 0]),
    )
}

async fn refuses_a_cursor_that_is_none(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for text in ["", "nonsense", "9:9:9:9", "'; --", "\u{0}"] {
        let cursor = Cursor::new(text);
        let query = ChatQuery { after: Some(cursor.clone()), ..limited(3) };
        let result = fixture.history().list_chats(&query).await;
        refused(format!("list_chats after {cursor:?}"), result, ErrorKind::Invalid)?;
        let result = fixture.history().all_messages(&fixture.chat, 3, Some(&cursor)).await;
        refused(format!("all_messages after {cursor:?}"), result, ErrorKind::Invalid)?;
    }
    Ok(())
}

fn names(numbers: &[usize]) -> Vec<String> {
    numbers.iter().map(|i| format!("c{i}")).collect()
}
