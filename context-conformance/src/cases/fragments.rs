//! Cases about context fragments: storing, replacing, reading and removing them.

use context_core::store::StoredFragment;
use context_core::{Encoded, ErrorKind, Metadata};
use serde_json::json;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::{ChatFixture, stored};
use crate::expect::{refused, same};
use crate::verdict::Check;

cases!("fragments":
    kept_in_order,
    same_id_replaces_in_place,
    same_content_without_id_is_kept_once,
    replaced_within_one_call,
    removed_by_id,
    bytes_and_metadata_are_exact,
    commits_put_them_alike,
    belong_to_a_chat,
);

async fn put(fixture: &ChatFixture, fragments: &[StoredFragment]) -> Check {
    Ok(fixture.fragments().put_fragments(&fixture.chat, fragments, fixture.at()).await?)
}

async fn expect(fixture: &ChatFixture, did: &str, expected: Vec<StoredFragment>) -> Check {
    same(
        format!("fragments after {did}"),
        &fixture.fragments().fragments(&fixture.chat).await?,
        &expected,
    )
}

async fn kept_in_order(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    expect(&fixture, "nothing", Vec::new()).await?;
    let all: Vec<_> =
        (0..40).map(|i| stored(&format!("f{}", 39 - i), &format!("text {i}"))).collect();
    put(&fixture, &all[..25]).await?;
    put(&fixture, &[]).await?;
    put(&fixture, &all[25..]).await?;
    expect(&fixture, "putting 40", all).await
}

async fn same_id_replaces_in_place(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1"), stored("b", "1"), stored("c", "1")]).await?;
    put(&fixture, &[stored("b", "2"), stored("d", "1")]).await?;
    let expected = vec![stored("a", "1"), stored("b", "2"), stored("c", "1"), stored("d", "1")];
    expect(&fixture, "replacing b", expected.clone()).await?;
    put(&fixture, &[stored("b", "2")]).await?;
    expect(&fixture, "replacing b by itself", expected).await
}

async fn same_content_without_id_is_kept_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other_kind =
        StoredFragment { body: Encoded::new("x-other", 1, &b"one"[..]), ..stored("", "one") };
    let other_version =
        StoredFragment { body: Encoded::new("x-note", 2, &b"one"[..]), ..stored("", "one") };
    put(&fixture, &[stored("", "one"), stored("", "two")]).await?;
    let marked = StoredFragment { metadata: Metadata::default().with("n", 1), ..stored("", "one") };
    put(&fixture, &[marked.clone(), stored("", "two"), other_kind.clone(), other_version.clone()])
        .await?;
    // The same content with an id is a different fragment.
    put(&fixture, &[stored("id", "one")]).await?;
    let expected = vec![marked, stored("", "two"), other_kind, other_version, stored("id", "one")];
    expect(&fixture, "putting the same content again", expected).await
}

async fn replaced_within_one_call(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(
        &fixture,
        &[stored("a", "1"), stored("", "x"), stored("a", "2"), stored("", "x"), stored("b", "1")],
    )
    .await?;
    let expected = vec![stored("a", "2"), stored("", "x"), stored("b", "1")];
    expect(&fixture, "putting some of them twice in one call", expected).await
}

async fn removed_by_id(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1"), stored("b", "1"), stored("", "1")]).await?;
    for expected in [true, false] {
        let (chat, at) = (&fixture.chat, fixture.at());
        let removed = fixture.fragments().remove_fragment(chat, &"a".into(), at).await?;
        same("remove_fragment", &removed, &expected)?;
    }
    expect(&fixture, "removing a", vec![stored("b", "1"), stored("", "1")]).await?;
    put(&fixture, &[stored("a", "2")]).await?;
    let expected = vec![stored("b", "1"), stored("", "1"), stored("a", "2")];
    expect(&fixture, "putting a again", expected).await
}

async fn bytes_and_metadata_are_exact(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let metadata = Metadata::default()
        .with("z", json!([1.5, null]))
        .with("a", "é\u{0}")
        .with("m", json!({"b": 1}));
    let fragment = |id: &str, kind: &str, version, bytes: &[u8]| StoredFragment {
        id: Some(id.into()),
        metadata: metadata.clone(),
        body: Encoded::new(kind, version, bytes.to_vec()),
    };
    let all = vec![
        fragment("empty", "nobody-knows/🦀", 0, b""),
        fragment("binary", "x", u16::MAX, &[0, 159, 146, 150, 255, 0]),
        fragment("text", "x'y\"z", 7, "שלום \u{0} 👩‍👩‍👧".as_bytes()),
        fragment("large", "x", 1, &vec![7; 1 << 20]),
    ];
    put(&fixture, &all).await?;
    for (seen, expected) in fixture.fragments().fragments(&fixture.chat).await?.iter().zip(&all) {
        same(format!("fragment {:?}", expected.id), seen, expected)?;
        let keys = |fragment: &StoredFragment| -> Vec<String> {
            fragment.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect()
        };
        same("the order of its metadata", &keys(seen), &keys(expected))?;
    }
    expect(&fixture, "putting odd ones", all).await
}

async fn commits_put_them_alike(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    put(&fixture, &[stored("a", "1"), stored("", "x")]).await?;
    let mut commit = fixture.extend("", ["m"]);
    commit.fragments = vec![stored("b", "1"), stored("", "x"), stored("a", "2")];
    fixture.applied(commit).await?;
    expect(&fixture, "a commit", vec![stored("a", "2"), stored("", "x"), stored("b", "1")]).await
}

async fn belong_to_a_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = fixture.other("ada", "other");
    other.create().await?;
    put(&fixture, &[stored("a", "1")]).await?;
    put(&other, &[stored("a", "2"), stored("", "1")]).await?;
    same(
        "removing it there",
        &other.fragments().remove_fragment(&other.chat, &"a".into(), other.at()).await?,
        &true,
    )?;
    expect(&fixture, "writing to another chat", vec![stored("a", "1")]).await?;
    let absent = fixture.other("ada", "absent");
    let result =
        absent.fragments().put_fragments(&absent.chat, &[stored("a", "1")], fixture.at()).await;
    refused("put_fragments in an absent chat", result, ErrorKind::NotFound).map(drop)
}
