//! Cases about limits: input that is too large or badly named is refused before anything is
//! written, and the error names the limit.

use context_core::base::limits::{
    MAX_BODY_BYTES, MAX_COMMIT_ITEMS, MAX_ID_BYTES, MAX_METADATA_BYTES, MAX_PAGE, MAX_TITLE_BYTES,
};
use context_core::store::{ChatPatch, ChatQuery, Commit, NewChat, StoredFragment, TitleChange};
use context_core::{Encoded, Error, ErrorKind, Json, Metadata, Retry};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, id, message, raw, stored};
use crate::expect::{refused, same};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("limits":
    bad_chats_are_not_created,
    commits_are_refused,
    patches_are_refused,
    fragments_are_refused,
    checkpoints_are_refused,
    pages_are_refused,
    the_largest_is_accepted,
);

/// Expects the error to name the limit and not to suggest a retry.
fn limit(did: &str, error: &Error, limit: Option<usize>) -> Check {
    let named = error.get("limit").map(ToOwned::to_owned);
    same(format!("{did}: the limit in {error}"), &named, &limit.map(|limit| limit.to_string()))?;
    same(format!("{did}: whether to retry"), &error.retry(), &Retry::Never)
}

fn long() -> String {
    "x".repeat(MAX_ID_BYTES + 1)
}

/// Returns metadata with one text value of this many bytes.
fn metadata(bytes: usize) -> Metadata {
    Metadata::default().with("k", Json::from("x".repeat(bytes).as_str()))
}

async fn bad_chats_are_not_created(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let chat = |user: &str, chat: &str| NewChat::new(fixture.other(user, chat).chat, fixture.at());
    let tries = [
        ("an empty user", chat("", "c"), None),
        ("an empty chat", chat("u", ""), None),
        ("a long user", chat(&long(), "c"), Some(MAX_ID_BYTES)),
        ("a long chat", chat("u", &long()), Some(MAX_ID_BYTES)),
        (
            "a long title",
            NewChat { title: Some("t".repeat(MAX_TITLE_BYTES + 1)), ..chat("u", "c") },
            Some(MAX_TITLE_BYTES),
        ),
        (
            "large metadata",
            NewChat { metadata: metadata(MAX_METADATA_BYTES), ..chat("u", "c") },
            Some(MAX_METADATA_BYTES),
        ),
    ];
    for (label, new, expected) in tries {
        let at = new.chat.clone();
        let error = refused(
            format!("creating a chat with {label}"),
            fixture.history().create_chat(new).await,
            ErrorKind::Invalid,
        )?;
        limit(label, &error, expected)?;
        same(format!("the chat with {label}"), &fixture.history().chat(&at).await?, &None)?;
    }
    Ok(())
}

async fn commits_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    let new = || fixture.extend("a", ["x"]);
    let ids: Vec<_> = (0..=MAX_COMMIT_ITEMS).map(|i| format!("i{i}")).collect();
    let large = raw("a", vec![b'x'; MAX_BODY_BYTES + 1]);
    let keyed = |key: &str| Commit { key: Some(key.into()), ..new() };
    let odd_kind = Commit { nodes: vec![kind("x", &"k".repeat(256))], ..fixture.extend("a", []) };
    let tries = [
        ("an empty id", fixture.extend("a", ["x", ""]), None),
        ("a long id", fixture.extend("a", ["x", &long()]), Some(MAX_ID_BYTES)),
        (
            "a long expected head",
            Commit { nodes: new().nodes, ..fixture.extend(&long(), []) },
            Some(MAX_ID_BYTES),
        ),
        ("an empty branch", fixture.extend_on("", "a", ["x"]), None),
        ("a long branch", fixture.fork(&long(), "a", ["x"]), Some(MAX_ID_BYTES)),
        ("a long base of a version", fixture.next_version(&long(), "a"), Some(MAX_ID_BYTES)),
        // Such a branch could never be named again.
        (
            "a version whose name grows too long",
            fixture.next_version(&"x".repeat(MAX_ID_BYTES), "a"),
            Some(MAX_ID_BYTES),
        ),
        ("an empty key", keyed(""), None),
        ("a long key", keyed(&long()), Some(MAX_ID_BYTES)),
        (
            "a large body",
            Commit { nodes: vec![raw("x", large.body().bytes().to_vec())], ..new() },
            Some(MAX_BODY_BYTES),
        ),
        (
            "a large amendment",
            Commit { amendments: vec![large.clone()], ..new() },
            Some(MAX_BODY_BYTES),
        ),
        ("a long kind", odd_kind, Some(255)),
        (
            "too many messages",
            fixture.extend("a", ids.iter().map(String::as_str)),
            Some(MAX_COMMIT_ITEMS),
        ),
        (
            "a bad fragment",
            Commit { fragments: vec![stored(&long(), "x")], ..new() },
            Some(MAX_ID_BYTES),
        ),
        (
            "a bad patch",
            Commit {
                patch: Some(ChatPatch {
                    set: metadata(MAX_METADATA_BYTES),
                    ..ChatPatch::default()
                }),
                ..new()
            },
            Some(MAX_METADATA_BYTES),
        ),
    ];
    for (label, commit, expected) in tries {
        let error = refused(
            format!("a commit with {label}"),
            fixture.history().commit(commit).await,
            ErrorKind::Invalid,
        )?;
        limit(label, &error, expected)?;
        same(
            format!("the chat after a commit with {label}"),
            &VisibleChat::of(&fixture).await?,
            &before,
        )?;
    }
    Ok(())
}

fn kind(id: &str, kind: &str) -> std::sync::Arc<context_core::Node> {
    let plain = message(id);
    let body = Encoded::new(kind, 1, &b"x"[..]);
    std::sync::Arc::new(context_core::Node::from_encoded(
        plain.id.clone(),
        plain.kind,
        plain.created_at,
        body,
    ))
}

async fn patches_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let half = ChatPatch { set: metadata(MAX_METADATA_BYTES / 2), ..ChatPatch::default() };
    fixture.history().update_chat(&fixture.chat, &half, fixture.at()).await?;
    let before = VisibleChat::of(&fixture).await?;
    let more =
        Metadata::default().with("other", Json::from("x".repeat(MAX_METADATA_BYTES / 2).as_str()));
    let patches = [
        (
            "a long title",
            ChatPatch {
                title: TitleChange::Set("t".repeat(MAX_TITLE_BYTES + 1)),
                ..ChatPatch::default()
            },
            MAX_TITLE_BYTES,
        ),
        (
            "a large value",
            ChatPatch { set: metadata(MAX_METADATA_BYTES), ..ChatPatch::default() },
            MAX_METADATA_BYTES,
        ),
        (
            "what makes the whole too large",
            ChatPatch { set: more, ..ChatPatch::default() },
            MAX_METADATA_BYTES,
        ),
    ];
    for (label, patch, expected) in patches {
        let result = fixture.history().update_chat(&fixture.chat, &patch, fixture.at()).await;
        limit(
            label,
            &refused(format!("update_chat with {label}"), result, ErrorKind::Invalid)?,
            Some(expected),
        )?;
        let mut commit = fixture.extend("", ["x"]);
        commit.patch = Some(patch);
        let result = fixture.history().commit(commit).await;
        limit(
            label,
            &refused(format!("a commit with {label}"), result, ErrorKind::Invalid)?,
            Some(expected),
        )?;
        same(format!("the chat after {label}"), &VisibleChat::of(&fixture).await?, &before)?;
    }
    Ok(())
}

async fn fragments_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let body = |kind: &str, size: usize| StoredFragment {
        body: Encoded::new(kind, 1, vec![0; size]),
        ..stored("f", "")
    };
    let tries = [
        ("an empty id", StoredFragment { id: Some("".into()), ..stored("f", "x") }, None),
        ("a long id", stored(&long(), "x"), Some(MAX_ID_BYTES)),
        ("an empty kind", body("", 1), None),
        ("a large body", body("x", MAX_BODY_BYTES + 1), Some(MAX_BODY_BYTES)),
        (
            "large metadata",
            StoredFragment { metadata: metadata(MAX_METADATA_BYTES), ..stored("f", "x") },
            Some(MAX_METADATA_BYTES),
        ),
    ];
    for (label, fragment, expected) in tries {
        let all = [stored("good", "x"), fragment];
        let result = fixture.fragments().put_fragments(&fixture.chat, &all, fixture.at()).await;
        limit(
            label,
            &refused(format!("put_fragments with {label}"), result, ErrorKind::Invalid)?,
            expected,
        )?;
        same("the fragments", &fixture.fragments().fragments(&fixture.chat).await?, &Vec::new())?;
    }
    Ok(())
}

async fn checkpoints_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    for (name, expected) in [(String::new(), None), (long(), Some(MAX_ID_BYTES))] {
        let result = fixture
            .history()
            .set_checkpoint(&fixture.chat, &name.into(), &"a".into(), fixture.at())
            .await;
        limit(
            "a checkpoint",
            &refused("a checkpoint of a bad name", result, ErrorKind::Invalid)?,
            expected,
        )?;
    }
    same("the checkpoints", &fixture.history().checkpoints(&fixture.chat).await?, &Vec::new())
}

async fn pages_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for size in [0, MAX_PAGE + 1, usize::MAX] {
        let query = ChatQuery { limit: size, ..ChatQuery::new("ada") };
        let error = refused(
            format!("list_chats of {size}"),
            fixture.history().list_chats(&query).await,
            ErrorKind::Invalid,
        )?;
        limit("list_chats", &error, Some(MAX_PAGE))?;
        let result = fixture.history().all_messages(&fixture.chat, size, None).await;
        limit(
            "all_messages",
            &refused(format!("all_messages of {size}"), result, ErrorKind::Invalid)?,
            Some(MAX_PAGE),
        )?;
    }
    let result = fixture.history().list_chats(&ChatQuery::new("")).await;
    refused("list_chats of nobody", result, ErrorKind::Invalid).map(drop)
}

async fn the_largest_is_accepted(case: &CaseContext) -> Check {
    let long = "x".repeat(MAX_ID_BYTES);
    let fixture = ChatFixture::new(case.open("largest").await?, &long, &long);
    let new = NewChat {
        title: Some("t".repeat(MAX_TITLE_BYTES)),
        metadata: metadata(MAX_METADATA_BYTES - 16),
        ..NewChat::new(fixture.chat.clone(), fixture.at())
    };
    let _ = fixture.history().create_chat(new).await?;
    let ids: Vec<_> = (0..MAX_COMMIT_ITEMS).map(|i| format!("i{i}")).collect();
    fixture.applied(fixture.extend("", ids.iter().map(String::as_str))).await?;
    let keyed = Commit { key: Some(long.as_str().into()), ..fixture.fork(&long, "i0", []) };
    fixture.applied(keyed).await?;
    let large = vec![raw(&long, vec![b'x'; MAX_BODY_BYTES])];
    let committed =
        fixture.applied(Commit { nodes: large, ..fixture.extend_on(&long, "i0", []) }).await?;
    same("the head", &committed.head, &id(&long))?;
    let chain = fixture.whole(&long).await?;
    same("the body", &chain.last().map(|node| node.body().bytes().len()), &Some(MAX_BODY_BYTES))
}
