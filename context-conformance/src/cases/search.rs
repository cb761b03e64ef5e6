//! Cases about full-text search: what is found, and what is not.

use std::sync::Arc;

use context_core::base::limits::{MAX_PAGE, MAX_SEARCH_BYTES};
use context_core::store::{Commit, SearchQuery, SearchScope};
use context_core::{Error, ErrorKind, Message, Metadata, Node, Part, Role, Timestamp};
use serde_json::json;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, boundary, raw, says};
use crate::expect::{ensure, refused, same};
use crate::verdict::Check;

cases!("search":
    words_and_not_what_is_around_them if Search,
    anything_can_be_typed if Search,
    all_words_are_needed if Search,
    case_accents_and_forms_do_not_count if Search,
    scripts_without_spaces if Search,
    what_is_cut_must_be_together if Search,
    the_last_word_may_be_a_beginning if Search,
    a_branch_sees_its_chain if Search,
    chats_and_users_are_apart if Search,
    only_the_roles_asked_for if Search,
    nothing_is_found_by_nothing if Search,
    what_cannot_be_read_is_not_found if Search,
    absent_places_are_not_found if Search,
    what_is_too_much_is_refused if Search,
);

fn speaks(id: &str, role: Role, text: &str) -> Arc<Node> {
    Arc::new(Node::new(id, Message::text(role, text), Timestamp::from_micros(7)))
}

/// Creates a chat of messages with these texts.
pub(super) async fn said(case: &CaseContext, texts: &[(&str, &str)]) -> Check<ChatFixture> {
    let fixture = case.fixture().await?;
    let nodes = texts.iter().map(|(id, text)| says(id, text)).collect();
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    Ok(fixture)
}

async fn words_and_not_what_is_around_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let metadata = Metadata::default().with("tenant", "acmecorp");
    let asked = Message::text(Role::User, "Two tickets, please").with_metadata(metadata);
    let call = Part::tool_call("callid77", "bookseat", json!({"seatkey": "windowvalue"}));
    let answer = Message::new(Role::Assistant, [Part::text("Booked."), call]);
    let mut result = Part::tool_result("callid77", "done deal");
    if let Part::ToolResult(result) = &mut result {
        let value = json!({"lineskey": [{"itemkey": "umbrella"}], "count": 9182}).into();
        result
            .output
            .push(Part::Data(context_core::message::Data { name: "receiptname".into(), value }));
    }
    let nodes =
        [("asked1", asked), ("answer1", answer), ("result1", Message::new(Role::Tool, [result]))];
    let nodes =
        nodes.map(|(id, message)| Arc::new(Node::new(id, message, Timestamp::from_micros(7))));
    fixture
        .applied(Commit {
            nodes: nodes.into(),
            key: Some("keyname".into()),
            ..fixture.extend("", [])
        })
        .await?;
    for (text, expected) in [
        ("tickets", "asked1"),
        ("booked", "answer1"),
        ("done deal", "result1"),
        ("umbrella", "result1"),
    ] {
        fixture.finds(text, &[expected]).await?;
    }
    let around = [
        "text",
        "type",
        "parts",
        "role",
        "user",
        "assistant",
        "tool",
        "metadata",
        "message",
        "tenant",
        "acmecorp",
        "asked1",
        "answer1",
        "callid77",
        "bookseat",
        "seatkey",
        "windowvalue",
        "lineskey",
        "itemkey",
        "receiptname",
        "9182",
        "main",
        "chat",
        "ada",
        "keyname",
        "json",
        "null",
    ];
    for text in around {
        fixture.finds(text, &[]).await?;
    }
    Ok(())
}

/// Checks that queries have no syntax: punctuation separates words and does nothing else.
async fn anything_can_be_typed(case: &CaseContext) -> Check {
    let fixture =
        said(case, &[("a", "so what's up"), ("b", "a foo bar b"), ("c", "or and not near 1 1")])
            .await?;
    let typed: [(&str, &[&str]); 22] = [
        ("what's up?", &["a"]),
        ("\"what's\" 'up'", &["a"]),
        ("\"what's", &["a"]),
        ("up)", &["a"]),
        ("((((up", &["a"]),
        ("foo:bar", &["b"]),
        ("foo-bar", &["b"]),
        ("foo*", &["b"]),
        ("^foo", &["b"]),
        ("fo*", &[]),
        ("{foo bar}: b", &["b"]),
        ("+foo -up", &[]),
        ("foo OR up", &[]),
        ("foo AND bar", &[]),
        ("NEAR(foo bar, 2)", &[]),
        ("or and not", &["c"]),
        ("\" OR 1=1 --", &["c"]),
        ("'; DROP TABLE message; --", &[]),
        ("foo\u{0}bar", &["b"]),
        ("\u{0}", &[]),
        ("\u{202e}foo", &["b"]),
        ("%_\\$1:?", &["c"]),
    ];
    for (text, expected) in typed {
        fixture.finds(text, expected).await?;
        let ids: Vec<_> = fixture.hits(&SearchQuery { prefix: true, ..fixture.asks(text) }).await?;
        ensure(expected.is_empty() || !ids.is_empty(), || {
            format!("{text:?} as a prefix: saw nothing")
        })?;
    }
    // Every punctuation character, alone and at both ends of a word.
    for sign in (0u8..128).map(char::from).filter(|c| !c.is_ascii_alphanumeric()) {
        fixture.finds(&sign.to_string(), &[]).await?;
        fixture.finds(&format!("{sign}foo{sign}"), &["b"]).await?;
    }
    for text in [
        "🦀",
        "שלום",
        "\u{feff}",
        "👩‍👩‍👧",
        "\u{301}",
        "\u{fffd}",
        "\u{10ffff}",
        "e\u{301}\u{302}\u{303}",
    ] {
        fixture.finds(text, &[]).await?;
    }
    Ok(())
}

async fn all_words_are_needed(case: &CaseContext) -> Check {
    let texts = [
        ("a", "Two tickets to Lisbon on Friday."),
        ("b", "Friday it rains in Lisbon"),
        ("c", "Friday, Friday"),
        ("d", "lisbonfriday"),
    ];
    let fixture = said(case, &texts).await?;
    fixture.finds("friday", &["a", "b", "c"]).await?;
    fixture.finds("lisbon friday", &["a", "b"]).await?;
    fixture.finds("friday friday", &["a", "b", "c"]).await?;
    fixture.finds("friday tickets lisbon", &["a"]).await?;
    fixture.finds("friday tickets porto", &[]).await?;
    fixture.finds("lisb", &[]).await?;
    // Words are not stemmed.
    fixture.finds("ticket", &[]).await
}

async fn case_accents_and_forms_do_not_count(case: &CaseContext) -> Check {
    let texts = [
        ("plain", "cafe strasse"),
        ("accent", "Café Straße"),
        ("apart", "cafe\u{301}"),
        ("wide", "ＣＡＦＥ"),
        ("greek", "ὈΔΥΣΣΕΎΣ"),
        ("ligature", "the ﬁnal"),
        ("russian", "ЁЛКА"),
    ];
    let fixture = said(case, &texts).await?;
    for text in ["cafe", "CAFÉ", "cAfE\u{301}", "ｃａｆｅ"] {
        fixture.finds(text, &["plain", "accent", "apart", "wide"]).await?;
    }
    fixture.finds("STRASSE", &["plain", "accent"]).await?;
    fixture.finds("οδυσσευς", &["greek"]).await?;
    fixture.finds("final", &["ligature"]).await?;
    fixture.finds("елка", &["russian"]).await
}

async fn scripts_without_spaces(case: &CaseContext) -> Check {
    let texts = [
        ("zh", "我住在北京东边"),
        ("ja", "東京タワーに行きます"),
        ("th", "ผมอยากไปเที่ยวทะเล"),
        ("ko", "서울에서 여행을 시작했다"),
        ("mixed", "GPT模型 v2 在北京"),
        ("hindi", "नमस्ते दुनिया"),
        ("emoji", "I 🦀 Rust🦀"),
    ];
    let fixture = said(case, &texts).await?;
    for (text, expected) in [
        ("北京", &["zh", "mixed"][..]),
        ("京东", &["zh"]),
        ("北东", &[]),
        ("東京", &["ja"]),
        ("タワー", &["ja"]),
        ("きます", &["ja"]),
        ("ทะเล", &["th"]),
        ("เที่ยว", &["th"]),
        ("서울에서", &["ko"]),
        ("模型", &["mixed"]),
        ("gpt", &["mixed"]),
        ("नमस्ते", &["hindi"]),
        ("🦀", &["emoji"]),
        ("rust", &["emoji"]),
    ] {
        fixture.finds(text, expected).await?;
    }
    let beginning = SearchQuery { prefix: true, ..fixture.asks("서울") };
    fixture.expect_found(&beginning, &["ko"]).await
}

async fn what_is_cut_must_be_together(case: &CaseContext) -> Check {
    let texts =
        [("a", "a foo bar b"), ("b", "bar foo"), ("c", "foo b bar"), ("d", "北 京"), ("e", "京北")];
    let fixture = said(case, &texts).await?;
    fixture.finds("foo:bar", &["a"]).await?;
    fixture.finds("foo bar", &["a", "b", "c"]).await?;
    fixture.finds("foo/bar-b", &["a"]).await?;
    fixture.finds("北京", &["d"]).await?;
    fixture.finds("京北", &["e"]).await
}

async fn the_last_word_may_be_a_beginning(case: &CaseContext) -> Check {
    let texts = [("a", "tickets for two"), ("b", "tickets for twofold"), ("c", "Éclair for two")];
    let fixture = said(case, &texts).await?;
    for (text, expected) in [
        ("two", &["a", "b", "c"][..]),
        ("two tick", &["a"]),
        ("tick two", &[]),
        ("ecl", &["c"]),
        ("for tw", &["a", "b", "c"]),
        ("x", &[]),
        ("", &[]),
        ("tick ", &["a", "b"]),
    ] {
        fixture.expect_found(&SearchQuery { prefix: true, ..fixture.asks(text) }, expected).await?;
    }
    fixture.finds("tick", &[]).await
}

async fn a_branch_sees_its_chain(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let nodes =
        |ids: &[&str]| ids.iter().map(|id| says(id, &format!("apple {id}"))).collect::<Vec<_>>();
    fixture.applied(Commit { nodes: nodes(&["a", "b", "c"]), ..fixture.extend("", []) }).await?;
    fixture.applied(Commit { nodes: nodes(&["x"]), ..fixture.fork("side", "a", []) }).await?;
    fixture.applied(Commit { nodes: nodes(&["y"]), ..fixture.fork("deep", "x", []) }).await?;
    fixture.applied(Commit { nodes: nodes(&["r"]), ..fixture.fork("root", "", []) }).await?;
    fixture.applied(fixture.fork("empty", "", [])).await?;
    fixture.finds("apple", &["a", "b", "c", "x", "y", "r"]).await?;
    fixture.expect_found(&fixture.asks_chat("apple"), &["a", "b", "c", "x", "y", "r"]).await?;
    for (branch, expected) in [
        ("main", &["a", "b", "c"][..]),
        ("side", &["a", "x"]),
        ("deep", &["a", "x", "y"]),
        ("root", &["r"]),
        ("empty", &[]),
    ] {
        fixture.expect_found(&fixture.asks_branch(branch, "apple"), expected).await?;
    }
    fixture.expect_found(&fixture.asks_branch("main", "x"), &[]).await
}

async fn chats_and_users_are_apart(case: &CaseContext) -> Check {
    let fixture = said(case, &[("m", "apple here")]).await?;
    let places = [("ada", "other", "n"), ("bob", "chat", "m"), ("bob", "theirs", "t")];
    for (user, chat, id) in places {
        let there = fixture.other(user, chat);
        there.create().await?;
        let nodes = vec![says(id, "apple there")];
        there.applied(Commit { nodes, ..there.extend("", []) }).await?;
    }
    fixture.finds("apple", &["m", "n"]).await?;
    fixture.finds("there", &["n"]).await?;
    fixture.expect_found(&fixture.asks_chat("apple"), &["m"]).await?;
    let bob = fixture.other("bob", "chat");
    bob.finds("apple", &["m", "t"]).await?;
    bob.finds("here", &[]).await?;
    bob.expect_found(&bob.asks_branch("main", "apple"), &["m"]).await?;
    for hit in bob.hits(&bob.asks("apple")).await? {
        same("whose hit it is", &hit.chat.user.as_str(), &"bob")?;
    }
    fixture.other("nobody", "chat").finds("apple", &[]).await
}

async fn only_the_roles_asked_for(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let roles = [("s", Role::System), ("u", Role::User), ("a", Role::Assistant), ("t", Role::Tool)];
    let nodes = roles.map(|(id, role)| speaks(id, role, "apple")).into();
    fixture.applied(Commit { nodes, ..fixture.extend("", []) }).await?;
    let of = |roles: &[Role]| SearchQuery { roles: roles.to_vec(), ..fixture.asks("apple") };
    fixture.expect_found(&of(&[]), &["s", "u", "a", "t"]).await?;
    for (id, role) in roles {
        fixture.expect_found(&of(&[role]), &[id]).await?;
        let seen = fixture.hits(&of(&[role])).await?.first().map(|hit| (hit.role, hit.created_at));
        same("role and time of the hit", &seen, &Some((role, Timestamp::from_micros(7))))?;
    }
    fixture.expect_found(&of(&[Role::User, Role::Tool, Role::User]), &["u", "t"]).await
}

async fn nothing_is_found_by_nothing(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple"), ("b", ""), ("c", " \n…!")]).await?;
    for text in ["", " ", "\n\t", "…", "\"\"", "*", "()", "-", "\u{3000}"] {
        for prefix in [false, true] {
            fixture.expect_found(&SearchQuery { prefix, ..fixture.asks(text) }, &[]).await?;
        }
    }
    Ok(())
}

async fn what_cannot_be_read_is_not_found(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple")]).await?;
    let broken = br#"{"role":"user","parts":[{"type":"text","text":"apple"#;
    let node = |id: &str, kind: &str, version| {
        let body = context_core::Encoded::new(kind, version, &broken[..]);
        Arc::new(Node::from_encoded(id.into(), raw(id, "").kind, Timestamp::from_micros(7), body))
    };
    let nodes = vec![
        raw("bytes", "apple"),
        node("broken", Message::KIND, 1),
        node("newer", Message::KIND, u16::MAX),
        boundary("apple"),
        says("b", "apple too"),
    ];
    fixture.applied(Commit { nodes, ..fixture.extend("a", []) }).await?;
    fixture.finds("apple", &["a", "b"]).await?;
    fixture.expect_found(&fixture.asks_branch("main", "apple"), &["a", "b"]).await
}

async fn absent_places_are_not_found(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple")]).await?;
    let bobs = fixture.other("bob", "bobs");
    bobs.create().await?;
    let places = [
        ("an absent chat", SearchScope::Chat("absent".into())),
        ("another user's chat", SearchScope::Chat("bobs".into())),
        ("a branch of an absent chat", SearchScope::Branch("absent".into(), "main".into())),
        ("a branch of another user's chat", SearchScope::Branch("bobs".into(), "main".into())),
        ("an absent branch", SearchScope::Branch("chat".into(), "absent".into())),
    ];
    for (label, scope) in places {
        for text in ["apple", ""] {
            let query = SearchQuery { scope: scope.clone(), ..fixture.asks(text) };
            let result = fixture.search()?.search(&query).await;
            refused(format!("searching {label} for {text:?}"), result, ErrorKind::NotFound)?;
        }
    }
    Ok(())
}

async fn what_is_too_much_is_refused(case: &CaseContext) -> Check {
    let fixture = said(case, &[("a", "apple")]).await?;
    let asks = |text: String| SearchQuery { text, ..fixture.asks("") };
    let page = |limit| SearchQuery { limit, ..fixture.asks("apple") };
    let nobody = SearchQuery { user: "".into(), ..fixture.asks("apple") };
    let nowhere = SearchQuery { scope: SearchScope::Chat("".into()), ..fixture.asks("apple") };
    let tries: [(&str, SearchQuery, Option<usize>); 6] = [
        ("a long text", asks("a ".repeat(MAX_SEARCH_BYTES)), Some(MAX_SEARCH_BYTES)),
        ("no page", page(0), Some(MAX_PAGE)),
        ("a large page", page(MAX_PAGE + 1), Some(MAX_PAGE)),
        ("the largest page", page(usize::MAX), Some(MAX_PAGE)),
        ("nobody", nobody, None),
        ("no chat", nowhere, None),
    ];
    for (label, query, limit) in tries {
        let result = fixture.search()?.search(&query).await;
        let error: Error = refused(format!("searching with {label}"), result, ErrorKind::Invalid)?;
        let named = error.get("limit").map(ToOwned::to_owned);
        same(
            format!("{label}: the limit in {error}"),
            &named,
            &limit.map(|limit| limit.to_string()),
        )?;
    }
    // The longest query is accepted: a word and punctuation, many words, one long word.
    let long = format!("apple{}", "?".repeat(MAX_SEARCH_BYTES - 5));
    fixture.expect_found(&asks(long), &["a"]).await?;
    fixture.expect_found(&asks("apple ".repeat(MAX_SEARCH_BYTES / 6)), &["a"]).await?;
    let words: String = (0..)
        .map(|i| format!("w{i} "))
        .scan(0, |length, word| {
            *length += word.len();
            (*length <= MAX_SEARCH_BYTES).then_some(word)
        })
        .collect();
    fixture.expect_found(&asks(words), &[]).await?;
    fixture.expect_found(&asks("北".repeat(MAX_SEARCH_BYTES / 3)), &[]).await?;
    fixture.expect_found(&asks("x".repeat(MAX_SEARCH_BYTES)), &[]).await
}
