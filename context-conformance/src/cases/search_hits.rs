//! Cases about search hits: their contents, their order, and that they follow writes.

use std::collections::BTreeSet;

use context_core::store::{Commit, CommitOutcome, SearchHit, SearchQuery};
use context_core::{Message, Node, Role, Timestamp};

use super::search::said;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, says};
use crate::expect::{ensure, same};
use crate::verdict::Check;

cases!("search_hits":
    more_of_a_rare_word_comes_first if Search,
    equally_good_ones_come_newest_first if Search,
    snippets_show_where_the_words_are if Search,
    pages_give_each_hit_once if Search,
    amended_text_is_found_by_its_new_words if Search,
    redacted_text_is_not_found if Search,
    deleted_messages_are_not_found if Search,
    a_refused_commit_is_not_found if Search,
    what_is_written_is_found_at_once if Search,
    many_messages_of_one_commit if Search,
    found_after_opening_again if Durable,
);

fn ids(hits: &[SearchHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.message.as_str()).collect()
}

async fn more_of_a_rare_word_comes_first(case: &CaseContext) -> Check {
    let mut texts: Vec<_> =
        (0..40).map(|i| (format!("pad{i}"), "common words of no interest".to_owned())).collect();
    texts.push(("one".into(), "zebra common words of interest".into()));
    texts.push(("three".into(), "zebra zebra zebra of interest".into()));
    texts.push(("long".into(), format!("zebra {}", "common words ".repeat(200))));
    texts.push(("rare".into(), "common zebra quagga of interest".into()));
    let texts: Vec<_> = texts.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let fixture = said(case, &texts).await?;
    let hits = fixture.hits(&fixture.asks("zebra")).await?;
    let seen = ids(&hits);
    let place = |id: &str| seen.iter().position(|seen| *seen == id);
    same("how many say zebra", &seen.len(), &4)?;
    same("the one that says it most", &place("three"), &Some(0))?;
    same("the one that says it among many words", &place("long"), &Some(3))?;
    for pair in hits.windows(2) {
        ensure(pair[0].score >= pair[1].score, || {
            format!("scores of hits in order: saw {:?}", pair)
        })?;
    }
    ensure(hits.iter().all(|hit| hit.score.is_finite()), || format!("scores: saw {hits:?}"))?;
    same("what says both", &ids(&fixture.hits(&fixture.asks("zebra quagga")).await?), &vec!["rare"])
}

async fn equally_good_ones_come_newest_first(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut head = String::new();
    for i in 0..12 {
        // All have the same timestamp. The newer one is the one that was written later.
        let id = format!("m{i}");
        fixture
            .applied(Commit { nodes: vec![says(&id, "apple pie")], ..fixture.extend(&head, []) })
            .await?;
        head = id;
    }
    let expected: Vec<_> = (0..12).rev().map(|i| format!("m{i}")).collect();
    for limit in [1000, 5, 1] {
        let hits = fixture.hits(&SearchQuery { limit, ..fixture.asks("apple") }).await?;
        same(
            format!("equal hits by pages of {limit}"),
            &ids(&hits),
            &expected.iter().map(String::as_str).collect(),
        )?;
    }
    Ok(())
}

async fn snippets_show_where_the_words_are(case: &CaseContext) -> Check {
    let around = "lorem ipsum ".repeat(60);
    let texts = [
        ("short", "Two TICKETS to Lisbon".to_owned()),
        ("long", format!("{around}two Tickéts to Lisbon {around}")),
        ("chinese", format!("{}两张tickets去里斯本{}", "你好".repeat(200), "再见".repeat(200))),
        ("emoji", format!("{} tickets {}", "👩‍👩‍👧".repeat(50), "🦀".repeat(50))),
    ];
    let texts: Vec<_> = texts.iter().map(|(id, text)| (*id, text.as_str())).collect();
    let fixture = said(case, &texts).await?;
    let hits = fixture.hits(&fixture.asks("tickets")).await?;
    same("how many there are", &hits.len(), &4)?;
    for hit in hits {
        let (id, snippet) = (&hit.message, &hit.snippet);
        let whole =
            texts.iter().find(|(text, _)| *text == id.as_str()).map_or("", |(_, text)| text);
        ensure(whole.contains(&snippet.text), || {
            format!("the snippet of {id}: not in its text: {snippet:?}")
        })?;
        let marked: Vec<_> =
            snippet.marks.iter().map(|mark| snippet.text.get(mark.clone())).collect();
        let word = match id.as_str() {
            "short" => "TICKETS",
            "long" => "Tickéts",
            _ => "tickets",
        };
        same(format!("what is marked in {id}"), &marked, &vec![Some(word)])?;
        let cut = (snippet.cut_before, snippet.cut_after);
        let expected = (!whole.starts_with(&snippet.text), !whole.ends_with(&snippet.text));
        same(format!("whether {id} is cut before and after"), &cut, &expected)?;
        let long = whole.len() > 1000;
        ensure(!long || snippet.text.len() < 400, || {
            format!("the snippet of {id} has {} bytes", snippet.text.len())
        })?;
    }
    let hits = fixture.hits(&fixture.asks("lisbon two")).await?;
    for hit in hits.iter().filter(|hit| hit.message.as_str() == "short") {
        let marked: Vec<_> =
            hit.snippet.marks.iter().map(|mark| &hit.snippet.text[mark.clone()]).collect();
        same("two words, in the order of the text", &marked, &vec!["Two", "Lisbon"])?;
    }
    Ok(())
}

async fn pages_give_each_hit_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut expected = BTreeSet::new();
    for chat in ["chat", "b", "c"] {
        let there = fixture.other("ada", chat);
        there.create().await?;
        let id = |i: usize| format!("{chat}-{i}");
        // Some have equal scores.
        let nodes =
            (0..31).map(|i| says(&id(i), &format!("{} x{i}", "apple ".repeat(i % 4)))).collect();
        there.applied(Commit { nodes, ..there.extend("", []) }).await?;
        expected.extend((0..31).filter(|i| i % 4 > 0).map(id));
    }
    let whole = fixture.hits(&fixture.asks("apple")).await?;
    same("all on one page", &whole.iter().map(|hit| hit.message.to_string()).collect(), &expected)?;
    for limit in [1, 2, 7, expected.len() - 1, expected.len(), expected.len() + 1] {
        let query = SearchQuery { limit, ..fixture.asks("apple") };
        same(format!("by pages of {limit}"), &ids(&fixture.hits(&query).await?), &ids(&whole))?;
        let page = fixture.page(&query).await?;
        same(format!("the first of {limit}"), &page.items.len(), &limit.min(expected.len()))?;
        let more = limit < expected.len();
        same(format!("whether more follow {limit}"), &page.next.is_some(), &more)?;
    }
    Ok(())
}

async fn amended_text_is_found_by_its_new_words(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple pie"), ("b", "apple")]).await?;
    fixture.applied(Commit { amendments: vec![says("a", "cherry pie")], ..fixture.stay() }).await?;
    fixture.finds("apple", &["b"]).await?;
    fixture.finds("cherry", &["a"]).await?;
    fixture.finds("pie", &["a"]).await?;
    let spoken = Node::new("a", Message::text(Role::Assistant, "plum"), Timestamp::from_micros(9));
    fixture.applied(Commit { amendments: vec![spoken.into()], ..fixture.stay() }).await?;
    fixture.finds("cherry", &[]).await?;
    let by = |role| SearchQuery { roles: vec![role], ..fixture.asks("plum") };
    fixture.expect_found(&by(Role::Assistant), &["a"]).await?;
    fixture.expect_found(&by(Role::User), &[]).await?;
    fixture
        .applied(Commit {
            amendments: vec![crate::chat_fixture::raw("a", "plum")],
            ..fixture.stay()
        })
        .await?;
    fixture.finds("plum", &[]).await?;
    fixture.applied(Commit { amendments: vec![says("a", "plum again")], ..fixture.stay() }).await?;
    fixture.finds("plum", &["a"]).await
}

async fn redacted_text_is_not_found(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple pie"), ("b", "apple")]).await?;
    fixture.applied(Commit { amendments: vec![says("a", "cherry pie")], ..fixture.stay() }).await?;
    fixture.applied(Commit { redactions: vec![says("a", "gone")], ..fixture.stay() }).await?;
    for word in ["cherry", "pie"] {
        fixture.finds(word, &[]).await?;
    }
    fixture.finds("apple", &["b"]).await?;
    fixture.finds("gone", &["a"]).await
}

async fn deleted_messages_are_not_found(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple"), ("b", "apple")]).await?;
    fixture
        .applied(Commit { nodes: vec![says("x", "apple")], ..fixture.fork("side", "a", []) })
        .await?;
    let (history, chat) = (fixture.history(), &fixture.chat);
    history.rename_branch(chat, &"side".into(), &"other".into(), fixture.at()).await?;
    fixture.expect_found(&fixture.asks_branch("other", "apple"), &["a", "x"]).await?;
    let _deleted =
        history.delete_branch(chat, &"other".into(), Some(&"x".into()), fixture.at()).await?;
    fixture.finds("apple", &["a", "b"]).await?;
    // The id is free again, for other text.
    fixture.applied(Commit { nodes: vec![says("x", "cherry")], ..fixture.extend("b", []) }).await?;
    fixture.finds("apple", &["a", "b"]).await?;
    fixture.finds("cherry", &["x"]).await?;
    same("deleting the chat", &history.delete_chat(chat, None).await?, &true)?;
    fixture.finds("apple", &[]).await?;
    fixture.create().await?;
    fixture.expect_found(&fixture.asks_chat("cherry"), &[]).await
}

async fn a_refused_commit_is_not_found(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple")]).await?;
    let late = Commit {
        nodes: vec![says("x", "cherry")],
        amendments: vec![says("a", "plum")],
        ..fixture.extend("ghost", [])
    };
    let outcome = fixture.commit(late).await?;
    let refused = matches!(outcome, CommitOutcome::Conflict { .. });
    ensure(refused, || format!("a commit behind a ghost: saw {outcome:?}"))?;
    for (word, expected) in [("apple", &["a"][..]), ("cherry", &[]), ("plum", &[])] {
        fixture.finds(word, expected).await?;
    }
    Ok(())
}

async fn what_is_written_is_found_at_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut head = String::new();
    for i in 0..40 {
        let id = format!("m{i}");
        let nodes = vec![says(&id, &format!("apple w{i}"))];
        fixture.applied(Commit { nodes, ..fixture.extend(&head, []) }).await?;
        fixture.finds(&format!("w{i}"), &[&id]).await?;
        head = id;
    }
    let repeated = Commit { nodes: vec![says("m39", "apple w39")], ..fixture.extend("m38", []) };
    let _replayed = fixture.commit(repeated).await?;
    same("how many say apple", &fixture.hits(&fixture.asks("apple")).await?.len(), &40)
}

async fn many_messages_of_one_commit(case: &CaseContext) -> Check {
    let fixture: ChatFixture = case.fixture().await?;
    let nodes =
        (0..2000).map(|i| says(&format!("m{i}"), &format!("apple w{i} {}", i % 10))).collect();
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    fixture.finds("w1999", &["m1999"]).await?;
    same("how many say 7", &fixture.hits(&fixture.asks("7 apple")).await?.len(), &200)?;
    same(
        "how many say apple",
        &fixture.hits(&fixture.asks_branch("main", "apple")).await?.len(),
        &2000,
    )
}

async fn found_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("search").await?;
    fixture.search()?;
    let nodes = vec![says("a", "apple pie"), says("b", "apple"), says("c", "plum")];
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    fixture.applied(Commit { amendments: vec![says("a", "cherry pie")], ..fixture.stay() }).await?;
    fixture.applied(Commit { redactions: vec![says("c", "gone")], ..fixture.stay() }).await?;
    let before = fixture.hits(&fixture.asks("apple")).await?;
    drop(fixture);
    let fixture = ChatFixture::new(case.reopen("search").await?, "ada", "chat");
    same("the hits after opening again", &fixture.hits(&fixture.asks("apple")).await?, &before)?;
    for (word, expected) in
        [("cherry", &["a"][..]), ("apple", &["b"]), ("plum", &[]), ("gone", &["c"])]
    {
        fixture.finds(word, expected).await?;
    }
    fixture
        .applied(Commit { nodes: vec![says("d", "apple tree")], ..fixture.extend("c", []) })
        .await?;
    fixture.finds("apple", &["b", "d"]).await
}
