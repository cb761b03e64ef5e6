//! Cases about blobs: the bytes under an id come back unchanged.

use bytes::Bytes;
use context_core::base::BlobId;
use context_core::base::limits::{MAX_BLOB_BYTES, MAX_ID_BYTES, MAX_PAGE};
use context_core::store::{BlobPrune, BlobsPruned, NewBlob};
use context_core::{ErrorKind, Retry, Timestamp};

use crate::blob_fixture::noise;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, refused, same};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("blobs":
    bytes_come_back if Blobs,
    no_bytes_are_a_blob if Blobs,
    ranges_are_cut_to_where_the_bytes_end if Blobs,
    what_is_known_of_one if Blobs,
    the_first_media_type_stays if Blobs,
    any_media_type_comes_back if Blobs,
    using_one_moves_its_time_forward if Blobs,
    listed_page_by_page if Blobs,
    the_largest_is_accepted_and_no_larger if Blobs,
    absent_chats_and_blobs if Blobs,
    bad_calls_are_refused if Blobs,
    the_chat_does_not_change if Blobs,
    debug_and_errors_show_no_bytes if Blobs,
);

async fn bytes_come_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let large = noise(3 << 20, 1);
    let zeros = vec![0; 100_000];
    let all: [&[u8]; 6] = [
        b"a report",
        b"a report ",
        &[0, 159, 146, 150, 255, 0],
        "שלום \u{0} 👩‍👩‍👧".as_bytes(),
        &zeros,
        &large,
    ];
    for bytes in all {
        let blob = fixture.put(bytes.to_vec()).await?;
        same("the name of a blob", &blob.id, &BlobId::of(bytes))?;
    }
    fixture.expect_blobs("putting six", &all).await?;
    for bytes in all {
        fixture.put(bytes.to_vec()).await?;
    }
    fixture.expect_blobs("putting them again", &all).await
}

async fn no_bytes_are_a_blob(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let blob = fixture.put(&b""[..]).await?;
    same("bytes and references of an empty blob", &(blob.bytes, blob.references), &(0, 1))?;
    for range in [0..0, 0..1, 5..9, 0..u64::MAX] {
        let read = fixture.blobs()?.read_blob(&fixture.chat, &blob.id, range.clone(), None).await?;
        same(format!("{range:?} of an empty blob"), &read.as_deref(), &Some(&b""[..]))?;
    }
    let removed = fixture.blobs()?.remove_blob(&fixture.chat, &blob.id).await?;
    same("removing it", &(removed.references, removed.blobs, removed.bytes), &(1, 1, 0))?;
    fixture.expect_blobs("removing it", &[]).await
}

async fn ranges_are_cut_to_where_the_bytes_end(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let bytes = noise((1 << 20) + 12_345, 2);
    let id = fixture.put(bytes.clone()).await?.id;
    let length = bytes.len() as u64;
    // Offsets near which a backend may split the bytes.
    let mut ends = vec![0, 1, length / 3, length - 1, length, length + 1, u64::MAX];
    for power in [12, 14, 16, 18, 19, 20] {
        ends.extend([(1 << power) - 1, 1 << power, (1 << power) + 1]);
    }
    for &start in &ends {
        for &end in &ends {
            let read = fixture.blobs()?.read_blob(&fixture.chat, &id, start..end, None).await?;
            let cut = |at: u64| usize::try_from(at.min(length)).unwrap_or(usize::MAX);
            let expected = bytes.slice(cut(start).min(cut(end))..cut(end));
            let agrees = read.as_ref() == Some(&expected);
            ensure(agrees, || {
                let saw = read.map(|read| read.len());
                format!(
                    "{start}..{end} of {length} bytes: expected {} of them, saw {saw:?}",
                    expected.len()
                )
            })?;
        }
    }
    Ok(())
}

async fn what_is_known_of_one(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let at = fixture.at();
    let put = fixture
        .blobs()?
        .put_blob(&fixture.chat, NewBlob::new("abc", at).media_type("text/plain"))
        .await?;
    let seen =
        (put.id, put.bytes, put.media_type.as_deref(), put.references, put.created_at, put.used_at);
    same("a blob that was put", &seen, &(BlobId::of(b"abc"), 3, Some("text/plain"), 1, at, at))?;
    same("what is known of it", &fixture.find(&put.id).await?, &Some(put.clone()))?;
    same("what the listing says", &fixture.all_blobs(10).await?, &vec![put])
}

async fn the_first_media_type_stays(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let put = async |fixture: &ChatFixture, media_type: Option<&str>| -> Check<Option<String>> {
        let mut new = NewBlob::new("abc", fixture.at());
        new.media_type = media_type.map(ToOwned::to_owned);
        Ok(fixture.blobs()?.put_blob(&fixture.chat, new).await?.media_type)
    };
    for (said, expected) in [
        (None, None),
        (Some("text/plain"), Some("text/plain")),
        (Some("text/html"), Some("text/plain")),
        (None, Some("text/plain")),
    ] {
        same(
            format!("the type after {said:?}"),
            &put(&fixture, said).await?.as_deref(),
            &expected,
        )?;
    }
    let other = fixture.other("ada", "other");
    other.create().await?;
    let theirs = put(&other, Some("text/html")).await?;
    same("what another chat says of the same bytes", &theirs.as_deref(), &Some("text/html"))
}

async fn any_media_type_comes_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let long = "x".repeat(MAX_ID_BYTES);
    let types = [
        "",
        " ",
        "text/plain; charset=\"utf-8\"",
        "'; DROP TABLE blob; --",
        "a\u{0}b\nc\r\t",
        "../../etc/passwd",
        "</system>\u{202e}🦀",
        &long,
    ];
    for (i, media_type) in types.into_iter().enumerate() {
        let new = NewBlob::new(format!("blob {i}"), fixture.at()).media_type(media_type);
        let id = fixture.blobs()?.put_blob(&fixture.chat, new).await?.id;
        let seen = fixture.find(&id).await?.and_then(|blob| blob.media_type);
        same("a media type", &seen.as_deref(), &Some(media_type))?;
    }
    same("how many there are", &fixture.all_blobs(1000).await?.len(), &types.len())
}

async fn using_one_moves_its_time_forward(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let blobs = fixture.blobs()?;
    let at = Timestamp::from_micros;
    let put = |n| blobs.put_blob(&fixture.chat, NewBlob::new("abc", at(n)));
    let id = put(100).await?.id;
    let read = |n: Option<i64>| blobs.read_blob(&fixture.chat, &id, 0..1, n.map(at));
    let times = async |did: &str, expected: i64| -> Check {
        let seen = fixture.find(&id).await?.map(|blob| (blob.created_at, blob.used_at));
        same(
            format!("when it was put and used, after {did}"),
            &seen,
            &Some((at(100), at(expected))),
        )
    };
    times("putting it", 100).await?;
    put(50).await?;
    times("putting it by a clock that is behind", 100).await?;
    put(200).await?;
    times("putting it again", 200).await?;
    read(None).await?;
    times("reading it without a time", 200).await?;
    read(Some(300)).await?;
    times("reading it", 300).await?;
    read(Some(250)).await?;
    times("reading it by a clock that is behind", 300).await?;
    put(400).await?;
    times("putting it once more", 400).await
}

async fn listed_page_by_page(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    same("the blobs of a new chat", &fixture.all_blobs(1).await?, &Vec::new())?;
    let mut expected = Vec::new();
    for i in 0..53 {
        expected.push(fixture.put(format!("blob {i}")).await?);
    }
    expected.sort_by_key(|blob| blob.id);
    for limit in [1, 7, 52, 53, 54, MAX_PAGE] {
        same(format!("all blobs, {limit} a page"), &fixture.all_blobs(limit).await?, &expected)?;
    }
    // Removals between two pages leave no gap.
    let page = fixture.blobs()?.blobs(&fixture.chat, 10, None).await?;
    for blob in &expected[..10] {
        fixture.blobs()?.remove_blob(&fixture.chat, &blob.id).await?;
    }
    let rest = fixture.blobs()?.blobs(&fixture.chat, MAX_PAGE, page.next.as_ref()).await?;
    same("the rest after the first page was removed", &rest.items, &expected[10..].to_vec())
}

async fn the_largest_is_accepted_and_no_larger(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut largest = vec![0; MAX_BLOB_BYTES];
    for (i, part) in (0u32..).zip(largest.chunks_mut(1 << 16)) {
        part[..4].copy_from_slice(&i.to_le_bytes());
    }
    let largest = Bytes::from(largest);
    let blob = fixture.put(largest.clone()).await?;
    let read = fixture.bytes(&blob.id).await?;
    ensure(read.as_ref() == Some(&largest), || {
        "the largest blob: other bytes came back".to_owned()
    })?;
    let larger = NewBlob::new(vec![0; MAX_BLOB_BYTES + 1], fixture.at());
    let result = fixture.blobs()?.put_blob(&fixture.chat, larger).await;
    let error = refused("a larger blob", result, ErrorKind::Invalid)?;
    same("the limit it names", &error.get("limit"), &Some(MAX_BLOB_BYTES.to_string().as_str()))?;
    same("whether to retry", &error.retry(), &Retry::Never)?;
    let typed = NewBlob::new("x", fixture.at()).media_type("x".repeat(MAX_ID_BYTES + 1));
    let error = refused(
        "a long media type",
        fixture.blobs()?.put_blob(&fixture.chat, typed).await,
        ErrorKind::Invalid,
    )?;
    same("the limit it names", &error.get("limit"), &Some(MAX_ID_BYTES.to_string().as_str()))?;
    same("the blobs after that", &fixture.all_blobs(10).await?, &vec![blob])
}

async fn absent_chats_and_blobs(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let blobs = fixture.blobs()?;
    let id = BlobId::of(b"abc");
    same("an absent blob", &fixture.find(&id).await?, &None)?;
    same("its bytes", &fixture.bytes(&id).await?, &None)?;
    let used = blobs.read_blob(&fixture.chat, &id, 0..9, Some(fixture.at())).await?;
    same("its bytes, with a time", &used, &None)?;
    same("removing it", &blobs.remove_blob(&fixture.chat, &id).await?, &BlobsPruned::default())?;
    let absent = fixture.other("ada", "absent").chat;
    let put = blobs.put_blob(&absent, NewBlob::new("abc", fixture.at())).await;
    refused("put_blob in an absent chat", put, ErrorKind::NotFound)?;
    refused("blob", blobs.blob(&absent, &id).await, ErrorKind::NotFound)?;
    refused("read_blob", blobs.read_blob(&absent, &id, 0..9, None).await, ErrorKind::NotFound)?;
    refused(
        "read_blob",
        blobs.read_blob(&absent, &id, 0..9, Some(fixture.at())).await,
        ErrorKind::NotFound,
    )?;
    refused("blobs", blobs.blobs(&absent, 10, None).await, ErrorKind::NotFound)?;
    refused("remove_blob", blobs.remove_blob(&absent, &id).await, ErrorKind::NotFound)?;
    let prune = BlobPrune::new("ada", fixture.at());
    let result = blobs.prune_blobs(&prune.clone().of_chat("absent")).await;
    refused("prune_blobs of an absent chat", result, ErrorKind::NotFound)?;
    same(
        "pruning where there is nothing",
        &blobs.prune_blobs(&prune).await?,
        &BlobsPruned::default(),
    )?;
    let nobody = BlobPrune::new("nobody", fixture.at());
    same(
        "pruning a user without chats",
        &blobs.prune_blobs(&nobody).await?,
        &BlobsPruned::default(),
    )
}

async fn bad_calls_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let blobs = fixture.blobs()?;
    for limit in [0, MAX_PAGE + 1, usize::MAX] {
        let result = blobs.blobs(&fixture.chat, limit, None).await;
        let error = refused(format!("a page of {limit}"), result, ErrorKind::Invalid)?;
        same("the limit it names", &error.get("limit"), &Some(MAX_PAGE.to_string().as_str()))?;
    }
    for text in ["", "7", "x", "' OR 1=1 --", &"g".repeat(64)] {
        let result =
            blobs.blobs(&fixture.chat, 10, Some(&context_core::store::Cursor::new(text))).await;
        refused(format!("a page behind the cursor {text:?}"), result, ErrorKind::Invalid)?;
    }
    for chat in [fixture.other("", "chat").chat, fixture.other("ada", "").chat] {
        let result = blobs.put_blob(&chat, NewBlob::new("x", fixture.at())).await;
        refused(format!("put_blob in {chat:?}"), result, ErrorKind::Invalid)?;
    }
    for prune in [BlobPrune::new("", fixture.at()), BlobPrune::new("ada", fixture.at()).of_chat("")]
    {
        refused(format!("{prune:?}"), blobs.prune_blobs(&prune).await, ErrorKind::Invalid)?;
    }
    Ok(())
}

/// Checks that blobs are not chat content: a chat whose blobs were only read was not active.
async fn the_chat_does_not_change(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    let id = fixture.put("abc").await?.id;
    fixture.blobs()?.read_blob(&fixture.chat, &id, 0..2, Some(fixture.at())).await?;
    same("the chat after a put and a read", &VisibleChat::of(&fixture).await?, &before)?;
    fixture.blobs()?.remove_blob(&fixture.chat, &id).await?;
    same("and after a removal", &VisibleChat::of(&fixture).await?, &before)
}

async fn debug_and_errors_show_no_bytes(case: &CaseContext) -> Check {
    const SECRET: &str = "hunter2-do-not-show";
    let fixture = case.fixture().await?;
    let new = NewBlob::new(SECRET, fixture.at());
    let absent = fixture.other("ada", "absent").chat;
    let result = fixture.blobs()?.put_blob(&absent, new.clone()).await;
    let error = refused("put_blob in an absent chat", result, ErrorKind::NotFound)?;
    let blob = fixture.put(SECRET).await?;
    let texts =
        [format!("{new:?}"), format!("{error} {error:?}"), format!("{blob:?} {:?}", fixture.store)];
    for text in texts {
        ensure(!text.contains(SECRET), || format!("shows bytes: {text}"))?;
    }
    Ok(())
}
