//! Returns the ability for persisted context fragments.

use context_core::store::StoredFragment;
use context_core::{Encoded, ErrorKind, Metadata};
use serde_json::json;

use crate::case::cases;
use crate::checked::Checked;
use crate::desk::{Desk, stored};
use crate::expect::{refused, same};
use crate::lab::Lab;

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

async fn put(desk: &Desk, fragments: &[StoredFragment]) -> Checked {
    Ok(desk.fragments().put_fragments(&desk.chat, fragments, desk.at()).await?)
}

async fn expect(desk: &Desk, did: &str, expected: Vec<StoredFragment>) -> Checked {
    same(
        format!("fragments after {did}"),
        &desk.fragments().fragments(&desk.chat).await?,
        &expected,
    )
}

async fn kept_in_order(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    expect(&desk, "nothing", Vec::new()).await?;
    let all: Vec<_> =
        (0..40).map(|i| stored(&format!("f{}", 39 - i), &format!("text {i}"))).collect();
    put(&desk, &all[..25]).await?;
    put(&desk, &[]).await?;
    put(&desk, &all[25..]).await?;
    expect(&desk, "putting 40", all).await
}

async fn same_id_replaces_in_place(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    put(&desk, &[stored("a", "1"), stored("b", "1"), stored("c", "1")]).await?;
    put(&desk, &[stored("b", "2"), stored("d", "1")]).await?;
    let expected = vec![stored("a", "1"), stored("b", "2"), stored("c", "1"), stored("d", "1")];
    expect(&desk, "replacing b", expected.clone()).await?;
    put(&desk, &[stored("b", "2")]).await?;
    expect(&desk, "replacing b by itself", expected).await
}

async fn same_content_without_id_is_kept_once(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let other_kind =
        StoredFragment { body: Encoded::new("x-other", 1, &b"one"[..]), ..stored("", "one") };
    let other_version =
        StoredFragment { body: Encoded::new("x-note", 2, &b"one"[..]), ..stored("", "one") };
    put(&desk, &[stored("", "one"), stored("", "two")]).await?;
    let marked = StoredFragment { metadata: Metadata::default().with("n", 1), ..stored("", "one") };
    put(&desk, &[marked.clone(), stored("", "two"), other_kind.clone(), other_version.clone()])
        .await?;
    // The same content with an id is a different fragment.
    put(&desk, &[stored("id", "one")]).await?;
    let expected = vec![marked, stored("", "two"), other_kind, other_version, stored("id", "one")];
    expect(&desk, "putting the same content again", expected).await
}

async fn replaced_within_one_call(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    put(
        &desk,
        &[stored("a", "1"), stored("", "x"), stored("a", "2"), stored("", "x"), stored("b", "1")],
    )
    .await?;
    let expected = vec![stored("a", "2"), stored("", "x"), stored("b", "1")];
    expect(&desk, "putting some of them twice in one call", expected).await
}

async fn removed_by_id(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    put(&desk, &[stored("a", "1"), stored("b", "1"), stored("", "1")]).await?;
    for expected in [true, false] {
        let removed = desk.fragments().remove_fragment(&desk.chat, &"a".into()).await?;
        same("remove_fragment", &removed, &expected)?;
    }
    expect(&desk, "removing a", vec![stored("b", "1"), stored("", "1")]).await?;
    put(&desk, &[stored("a", "2")]).await?;
    let expected = vec![stored("b", "1"), stored("", "1"), stored("a", "2")];
    expect(&desk, "putting a again", expected).await
}

async fn bytes_and_metadata_are_exact(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
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
    put(&desk, &all).await?;
    for (seen, expected) in desk.fragments().fragments(&desk.chat).await?.iter().zip(&all) {
        same(format!("fragment {:?}", expected.id), seen, expected)?;
        let keys = |fragment: &StoredFragment| -> Vec<String> {
            fragment.metadata.iter().map(|(key, value)| format!("{key}={value}")).collect()
        };
        same("the order of its metadata", &keys(seen), &keys(expected))?;
    }
    expect(&desk, "putting odd ones", all).await
}

async fn commits_put_them_alike(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    put(&desk, &[stored("a", "1"), stored("", "x")]).await?;
    let mut commit = desk.extend("", ["m"]);
    commit.fragments = vec![stored("b", "1"), stored("", "x"), stored("a", "2")];
    desk.applied(commit).await?;
    expect(&desk, "a commit", vec![stored("a", "2"), stored("", "x"), stored("b", "1")]).await
}

async fn belong_to_a_chat(lab: &Lab) -> Checked {
    let desk = lab.desk().await?;
    let other = desk.other("ada", "other");
    other.create().await?;
    put(&desk, &[stored("a", "1")]).await?;
    put(&other, &[stored("a", "2"), stored("", "1")]).await?;
    same(
        "removing it there",
        &other.fragments().remove_fragment(&other.chat, &"a".into()).await?,
        &true,
    )?;
    expect(&desk, "writing to another chat", vec![stored("a", "1")]).await?;
    let absent = desk.other("ada", "absent");
    let result =
        absent.fragments().put_fragments(&absent.chat, &[stored("a", "1")], desk.at()).await;
    refused("put_fragments in an absent chat", result, ErrorKind::NotFound).map(drop)
}
