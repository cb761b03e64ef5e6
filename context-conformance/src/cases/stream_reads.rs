//! Cases about reading streams: from any chunk on, page by page, byte for byte, and refused reads.

use bytes::Bytes;
use context_core::base::limits::{
    MAX_CHUNK_BYTES, MAX_ID_BYTES, MAX_PAGE, MAX_STREAM_BYTES, MAX_STREAM_PAGE_BYTES,
    MAX_TITLE_BYTES,
};
use context_core::store::{StreamAppend, StreamClaim, StreamEnd};
use context_core::{ErrorKind, Retry};

use crate::blob_fixture::noise;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, refused, same};
use crate::stream_fixture::{said, written};
use crate::verdict::Check;
use crate::visible_chat::VisibleChat;

cases!("stream_reads":
    read_from_any_offset if Streams,
    pages_are_bounded_in_bytes if Streams,
    chunks_come_back_byte_for_byte if Streams,
    what_is_too_large_is_refused if Streams,
    listed_page_by_page if Streams,
    absent_chats_and_streams if Streams,
    bad_calls_are_refused if Streams,
    any_names_come_back if Streams,
    the_chat_does_not_change if Streams,
    debug_and_errors_show_no_chunks if Streams,
);

async fn read_from_any_offset(case: &CaseContext) -> Check {
    const CHUNKS: u64 = 57;
    let fixture = case.fixture().await?;
    let empty = fixture.begin("s", "w").await?;
    for offset in [0, 1, u64::MAX] {
        let part = fixture.part("s", offset, 10).await?;
        let seen = (part.is_last(), part.stream, part.chunks.len());
        same("a part of a stream without chunks", &seen, &(false, empty.clone(), 0))?;
    }
    let chunk = |i: u64| format!("chunk {i}");
    let mut written_so_far = 0;
    for size in [1, 2, 20, 30, 4] {
        let chunks = (written_so_far..written_so_far + size).map(chunk);
        let append = StreamAppend::new("w", written_so_far, chunks, fixture.at());
        written("adding", fixture.append("s", append).await?)?;
        written_so_far += size;
    }
    let stream = fixture.known("s").await?;
    for offset in (0..CHUNKS + 2).chain([u64::MAX - 1, u64::MAX]) {
        for limit in [1, 7, 56, 57, MAX_PAGE] {
            let part = fixture.part("s", offset, limit).await?;
            let end = offset.saturating_add(limit as u64).min(CHUNKS);
            let expected: Vec<_> = (offset..end).map(chunk).collect();
            let did = format!("{limit} chunks from {offset} on");
            same(&did, &part.chunks, &expected.into_iter().map(Into::into).collect())?;
            same(format!("the stream beside {did}"), &part.stream, &stream)?;
        }
        let rest: Vec<_> = (offset..CHUNKS).map(chunk).map(Into::into).collect();
        same(format!("all from {offset} on"), &fixture.read_on("s", offset, 10).await?, &rest)?;
    }
    Ok(())
}

async fn pages_are_bounded_in_bytes(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let large = |seed| noise(MAX_CHUNK_BYTES, seed);
    let mut all = Vec::new();
    for seed in 0..3 {
        let mut chunks = vec![large(2 * seed), large(2 * seed + 1)];
        chunks.extend((0..3).map(|_| noise(10, seed)));
        let append = StreamAppend::new("w", all.len() as u64, chunks.clone(), fixture.at());
        written("adding large chunks", fixture.append("s", append).await?)?;
        all.extend(chunks);
    }
    for offset in 0..all.len() {
        let part = fixture.part("s", offset as u64, MAX_PAGE).await?;
        let bytes: usize = part.chunks.iter().map(Bytes::len).sum();
        let bounded = part.chunks.len() == 1 || bytes <= MAX_STREAM_PAGE_BYTES;
        ensure(bounded && !part.chunks.is_empty(), || {
            format!("a part from {offset} on: saw {} chunks of {bytes} bytes", part.chunks.len())
        })?;
        let agrees = all[offset..].starts_with(&part.chunks);
        ensure(agrees, || format!("a part from {offset} on: saw other chunks"))?;
    }
    let agrees = fixture.read_on("s", 0, MAX_PAGE).await? == all;
    ensure(agrees, || "all parts, one behind the other: saw other chunks".to_owned())
}

async fn chunks_come_back_byte_for_byte(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let large = noise(MAX_CHUNK_BYTES, 3);
    let odd: [&[u8]; 8] = [
        b"",
        b"\0",
        &[0, 159, 146, 150, 255, 0],
        "שלום \u{0} 👩‍👩‍👧".as_bytes(),
        b"'; DROP TABLE stream; --",
        &large,
        b"\\x00",
        b"",
    ];
    let chunks: Vec<_> = odd.iter().map(|chunk| Bytes::copy_from_slice(chunk)).collect();
    let together = StreamAppend::new("w", 0, chunks.clone(), fixture.at());
    written("odd chunks together", fixture.append("s", together.clone()).await?)?;
    for (offset, chunk) in (chunks.len() as u64..).zip(&chunks) {
        let one = StreamAppend::new("w", offset, [chunk.clone()], fixture.at());
        written("an odd chunk alone", fixture.append("s", one).await?)?;
    }
    same("the same again", &said(&fixture.append("s", together).await?), &"replayed")?;
    let mut expected = chunks.clone();
    expected.extend(chunks);
    let agrees = fixture.read_on("s", 0, MAX_PAGE).await? == expected;
    ensure(agrees, || "odd chunks: others came back".to_owned())?;
    let last = fixture.part("s", expected.len() as u64 - 1, 1).await?.chunks;
    same("an empty chunk at the end", &last, &vec![Bytes::new()])?;
    let many: Vec<_> = (0..MAX_PAGE).map(|i| i.to_string()).collect();
    let append = StreamAppend::new("w", expected.len() as u64, many.clone(), fixture.at());
    let stream = written("as many as an append may have", fixture.append("s", append).await?)?;
    same("how many there are", &stream.chunks, &((expected.len() + MAX_PAGE) as u64))?;
    let read = fixture.part("s", expected.len() as u64, MAX_PAGE).await?.chunks;
    same("the last ones", &read, &many.into_iter().map(Into::into).collect())
}

async fn what_is_too_large_is_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let before = fixture.add("s", "w", 0, &["a"]).await?;
    let refuses = async |label: &str, append: StreamAppend, limit: String| -> Check {
        let result = fixture.streams()?.append_stream(&fixture.chat, &"s".into(), append).await;
        let error = refused(label, result, ErrorKind::Invalid)?;
        let seen = (error.get("limit"), error.retry());
        same(
            format!("{label}: the limit it names, and whether to retry"),
            &seen,
            &(Some(&*limit), Retry::Never),
        )
    };
    let many = |n: usize, bytes: usize| vec![Bytes::from(vec![b'x'; bytes]); n];
    let append = |offset, chunks| StreamAppend::new("w", offset, chunks, fixture.at());
    let (chunk, page) = (MAX_CHUNK_BYTES.to_string(), MAX_PAGE.to_string());
    refuses("a large chunk", append(1, many(1, MAX_CHUNK_BYTES + 1)), chunk.clone()).await?;
    let mut last = many(2, 1);
    last.extend(many(1, MAX_CHUNK_BYTES + 1));
    refuses("a large chunk behind others", append(1, last), chunk).await?;
    refuses("many chunks", append(1, many(MAX_PAGE + 1, 1)), page).await?;
    let error = StreamEnd::Failed("x".repeat(MAX_TITLE_BYTES + 1));
    refuses("a long error", append(1, many(1, 1)).end(error), MAX_TITLE_BYTES.to_string()).await?;
    same("the stream after that", &fixture.known("s").await?, &before)?;
    // Fill the stream to one byte less than allowed, four chunks at a time.
    let mut next = 1;
    let fill = (MAX_STREAM_BYTES as usize / MAX_CHUNK_BYTES - 1) as u64;
    while next <= fill {
        let count = (fill + 1 - next).min(4);
        written(
            "filling",
            fixture.append("s", append(next, many(count as usize, MAX_CHUNK_BYTES))).await?,
        )?;
        next += count;
    }
    let before = fixture.known("s").await?;
    let limit = MAX_STREAM_BYTES.to_string();
    refuses("more than a stream may have", append(next, many(1, MAX_CHUNK_BYTES)), limit).await?;
    same("the stream after that", &fixture.known("s").await?, &before)?;
    let last = fixture.append("s", append(next, many(1, MAX_CHUNK_BYTES - 1))).await?;
    same("as much as it may have", &written("the last bytes", last)?.bytes, &MAX_STREAM_BYTES)?;
    fixture.finish("s", "w", next + 1, StreamEnd::Completed).await
}

async fn listed_page_by_page(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    same("the streams of a new chat", &fixture.all_streams(1).await?, &Vec::new())?;
    let mut expected = Vec::new();
    for i in 0..23 {
        let id = format!("stream {}", (i * 7) % 23);
        let stream =
            if i % 2 == 0 { fixture.queue(&id).await? } else { fixture.begin(&id, "w").await? };
        expected.push(stream);
    }
    expected.sort_by(|a, b| a.id.cmp(&b.id));
    for limit in [1, 7, 22, 23, 24, MAX_PAGE] {
        same(
            format!("all streams, {limit} a page"),
            &fixture.all_streams(limit).await?,
            &expected,
        )?;
    }
    // Removals between two pages leave no gap.
    let page = fixture.streams()?.streams(&fixture.chat, 10, None).await?;
    for stream in &expected[..10] {
        let removed = fixture.streams()?.remove_stream(&fixture.chat, &stream.id).await?;
        same("removing one", &removed, &true)?;
    }
    let rest = fixture.streams()?.streams(&fixture.chat, MAX_PAGE, page.next.as_ref()).await?;
    same("the rest after the first page was removed", &rest.items, &expected[10..].to_vec())
}

/// Makes every call on a chat and a stream, and expects this kind of error.
async fn all_are(
    fixture: &ChatFixture,
    label: &str,
    kind: ErrorKind,
    changes_alone: bool,
) -> Check {
    let (streams, chat, id) = (fixture.streams()?, &fixture.chat, &"absent".into());
    let claim = StreamClaim::new("w", fixture.at());
    let of = |call: &str| format!("{call} of {label}");
    refused(of("claim_stream"), streams.claim_stream(chat, id, &claim).await, kind)?;
    refused(
        of("append_stream"),
        streams.append_stream(chat, id, fixture.chunks("w", 0, &["a"])).await,
        kind,
    )?;
    refused(of("cancel_stream"), streams.cancel_stream(chat, id, fixture.at()).await, kind)?;
    refused(of("reopen_stream"), streams.reopen_stream(chat, id, 0, fixture.at()).await, kind)?;
    if !changes_alone {
        refused(of("create_stream"), streams.create_stream(chat, id, fixture.at()).await, kind)?;
        refused(of("stream"), streams.stream(chat, id).await, kind)?;
        refused(of("read_stream"), streams.read_stream(chat, id, 0, 10).await, kind)?;
        refused(of("streams"), streams.streams(chat, 10, None).await, kind)?;
        refused(of("remove_stream"), streams.remove_stream(chat, id).await, kind)?;
    }
    Ok(())
}

async fn absent_chats_and_streams(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("absent in other chats", "w").await?;
    all_are(&fixture, "an absent stream", ErrorKind::NotFound, true).await?;
    let (streams, id) = (fixture.streams()?, "absent".into());
    same("an absent stream", &streams.stream(&fixture.chat, &id).await?, &None)?;
    same("a part of it", &streams.read_stream(&fixture.chat, &id, 0, 10).await?, &None)?;
    same("removing it", &streams.remove_stream(&fixture.chat, &id).await?, &false)?;
    all_are(&fixture.other("ada", "absent"), "an absent chat", ErrorKind::NotFound, false).await?;
    // To another user, Ada's chat looks like one that does not exist.
    let mallory = fixture.other("mallory", "chat");
    all_are(&mallory, "another user's chat", ErrorKind::NotFound, false).await?;
    mallory.create().await?;
    let id = "absent in other chats".into();
    same("a stream of another user", &streams.stream(&mallory.chat, &id).await?, &None)?;
    mallory.begin("absent in other chats", "theirs").await?;
    mallory.add("absent in other chats", "theirs", 0, &["x"]).await?;
    fixture
        .expect_stream("another user wrote one of the same name", "absent in other chats", &[])
        .await
}

async fn bad_calls_are_refused(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let streams = fixture.streams()?;
    for limit in [0, MAX_PAGE + 1, usize::MAX] {
        for error in [
            refused(
                format!("a page of {limit}"),
                streams.streams(&fixture.chat, limit, None).await,
                ErrorKind::Invalid,
            )?,
            refused(
                format!("{limit} chunks"),
                streams.read_stream(&fixture.chat, &"s".into(), 0, limit).await,
                ErrorKind::Invalid,
            )?,
        ] {
            same("the limit it names", &error.get("limit"), &Some(MAX_PAGE.to_string().as_str()))?;
        }
    }
    for name in [String::new(), "x".repeat(MAX_ID_BYTES + 1)] {
        let did = |call: &str| format!("{call} with a name of {} bytes", name.len());
        let created =
            streams.create_stream(&fixture.chat, &name.as_str().into(), fixture.at()).await;
        refused(did("create_stream"), created, ErrorKind::Invalid)?;
        let claim = StreamClaim::new(name.as_str(), fixture.at());
        let claimed = streams.claim_stream(&fixture.chat, &"s".into(), &claim).await;
        refused(did("claim_stream"), claimed, ErrorKind::Invalid)?;
        let append = fixture.chunks(&name, 0, &["x"]);
        let appended = streams.append_stream(&fixture.chat, &"s".into(), append).await;
        refused(did("append_stream"), appended, ErrorKind::Invalid)?;
    }
    fixture.expect_stream("what was refused", "s", &[]).await
}

async fn any_names_come_back(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let long = "é".repeat(MAX_ID_BYTES / 2);
    let mut names = vec![
        " ",
        "'; DROP TABLE stream; --",
        "a\u{0}b\nc\r\t",
        "../../etc",
        "A",
        "a",
        "a{b}:c",
        "👩‍👩‍👧\u{202e}",
        &long,
    ];
    for name in &names {
        fixture.begin(name, name).await?;
        fixture.add(name, name, 0, &["x"]).await?;
        same(
            "the writer of an odd name",
            &fixture.known(name).await?.writer,
            &Some((*name).into()),
        )?;
        same("claiming it again", &said(&fixture.claim(name, name).await?), &"replayed")?;
    }
    names.sort_unstable();
    fixture.expect_streams("creating odd ones", &names).await?;
    same("the same, one a page", &fixture.all_streams(1).await?.len(), &names.len())
}

/// Checks that streams are not chat content: a chat with writes to a stream only was not active.
async fn the_chat_does_not_change(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.applied(fixture.extend("", ["a"])).await?;
    let before = VisibleChat::of(&fixture).await?;
    fixture.begin("s", "w").await?;
    fixture.add("s", "w", 0, &["x"]).await?;
    fixture.finish("s", "w", 1, StreamEnd::Completed).await?;
    same("the chat after a stream", &VisibleChat::of(&fixture).await?, &before)?;
    fixture.streams()?.remove_stream(&fixture.chat, &"s".into()).await?;
    same("and after its removal", &VisibleChat::of(&fixture).await?, &before)
}

async fn debug_and_errors_show_no_chunks(case: &CaseContext) -> Check {
    const SECRET: &str = "hunter2-do-not-show";
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let append = fixture.chunks("w", 0, &[SECRET]);
    let result =
        fixture.streams()?.append_stream(&fixture.chat, &"absent".into(), append.clone()).await;
    let error = refused("append_stream to an absent stream", result, ErrorKind::NotFound)?;
    let outcome = fixture.append("s", append.clone()).await?;
    let again = fixture.append("s", fixture.chunks("w", 5, &[SECRET])).await?;
    let texts = [
        format!("{append:?} {outcome:?} {again:?}"),
        format!("{error} {error:?}"),
        format!("{:?}", fixture.store),
    ];
    for text in texts {
        ensure(!text.contains(SECRET), || format!("shows chunks: {text}"))?;
    }
    Ok(())
}
