//! Cases about streams: answers in flight, with one writer at a time, chunk by chunk, from
//! beginning to end.

use context_core::Timestamp;
use context_core::store::{StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamState};

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::expect::{ensure, same};
use crate::stream_fixture::{replayed, turned_down, written};
use crate::verdict::Check;

cases!("streams":
    created_once if Streams,
    claimed_by_one_writer if Streams,
    an_idle_writer_is_taken_over_and_fenced if Streams,
    chunks_follow_each_other_without_a_gap if Streams,
    a_repeated_append_is_known if Streams,
    ends_as_it_was_said if Streams,
    an_empty_append_is_a_sign_of_life if Streams,
    cancelled_while_it_waits_runs_and_after_it_ended if Streams,
    begun_anew_once if Streams,
);

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

async fn created_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let created = fixture.streams()?.create_stream(&fixture.chat, &"s".into(), at(5)).await?;
    let stream = written("creating a stream", created)?;
    same("a stream that was created", &stream, &StoredStream::new("s", at(5)))?;
    same("what is known of it", &fixture.known("s").await?, &stream)?;
    let again = fixture.streams()?.create_stream(&fixture.chat, &"s".into(), at(6)).await?;
    replayed("creating it again", &again, &stream)?;
    written("claiming it", fixture.claim("s", "w").await?)?;
    let stream = fixture.add("s", "w", 0, &["a"]).await?;
    let again = fixture.streams()?.create_stream(&fixture.chat, &"s".into(), at(7)).await?;
    replayed("creating it while it runs", &again, &stream)?;
    fixture.expect_stream("creating it again", "s", &["a"]).await
}

async fn claimed_by_one_writer(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut expected = fixture.queue("s").await?;
    let claim =
        |writer: &str, micros: i64| StreamClaim::new(writer, at(2_000_000_000_000_000 + micros));
    let claims = async |claim: StreamClaim| -> Check<_> {
        Ok(fixture.streams()?.claim_stream(&fixture.chat, &"s".into(), &claim).await?)
    };
    let now = claim("w", 1).at;
    let seen = written("claiming it", claims(claim("w", 1)).await?)?;
    (expected.state, expected.writer) = (StreamState::Running, Some("w".into()));
    (expected.started_at, expected.updated_at) = (Some(now), now);
    same("a stream that was claimed", &seen, &expected)?;
    replayed("claiming it again under the same name", &claims(claim("w", 2)).await?, &expected)?;
    turned_down("claiming it under another", &claims(claim("v", 3)).await?, &expected)?;
    same("what is known of it", &fixture.known("s").await?, &expected)?;
    fixture.finish("s", "w", 0, StreamEnd::Completed).await?;
    let ended = fixture.known("s").await?;
    for writer in ["w", "v"] {
        let claim = claim(writer, 4).take_over(claim(writer, 4).at);
        turned_down("claiming what has ended", &claims(claim).await?, &ended)?;
    }
    Ok(())
}

async fn an_idle_writer_is_taken_over_and_fenced(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let claimed = fixture.begin("s", "old").await?;
    let before = fixture.add("s", "old", 0, &["a"]).await?;
    let heard = before.updated_at.as_micros();
    let takes = async |since: i64| -> Check<_> {
        let claim = StreamClaim::new("new", at(heard + 100)).take_over(at(since));
        Ok(fixture.streams()?.claim_stream(&fixture.chat, &"s".into(), &claim).await?)
    };
    turned_down("taking over from a writer who was heard of", &takes(heard - 1).await?, &before)?;
    let taken = written("taking over from one who was not", takes(heard).await?)?;
    let seen = (taken.writer.clone(), taken.started_at, taken.updated_at, taken.chunks, taken.run);
    let expected = (Some("new".into()), claimed.started_at, at(heard + 100), 1, 0);
    same("a stream that was taken over", &seen, &expected)?;
    replayed("taking it over again", &takes(heard).await?, &taken)?;
    for (label, append) in [
        ("what the old writer adds", fixture.chunks("old", 1, &["x"])),
        ("what it had added", fixture.chunks("old", 0, &["a"])),
        ("an end it makes", fixture.chunks("old", 1, &[]).end(StreamEnd::Completed)),
        ("a sign of it", fixture.chunks("old", 1, &[])),
    ] {
        turned_down(label, &fixture.append("s", append).await?, &taken)?;
    }
    turned_down("the old writer's claim", &fixture.claim("s", "old").await?, &taken)?;
    fixture.add("s", "new", 1, &["b"]).await?;
    fixture.expect_stream("a new writer went on", "s", &["a", "b"]).await
}

async fn chunks_follow_each_other_without_a_gap(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let queued = fixture.queue("s").await?;
    let early = fixture.append("s", fixture.chunks("w", 0, &["x"])).await?;
    turned_down("adding to what nobody has claimed", &early, &queued)?;
    written("claiming it", fixture.claim("s", "w").await?)?;
    let append = fixture.chunks("w", 0, &["a", "bc"]);
    let now = append.at;
    let stream = written("adding", fixture.append("s", append).await?)?;
    same("counts and time", &(stream.chunks, stream.bytes, stream.updated_at), &(2, 3, now))?;
    let stream = fixture.add("s", "w", 2, &["d"]).await?;
    for (label, offset) in [("behind a gap", 4), ("far behind a gap", u64::MAX)] {
        let outcome = fixture.append("s", fixture.chunks("w", offset, &["x"])).await?;
        turned_down(&format!("adding {label}"), &outcome, &stream)?;
    }
    let stranger = fixture.append("s", fixture.chunks("v", 3, &["x"])).await?;
    turned_down("adding under another name", &stranger, &stream)?;
    same("what is known of it", &fixture.known("s").await?, &stream)?;
    fixture.expect_stream("adding three", "s", &["a", "bc", "d"]).await
}

async fn a_repeated_append_is_known(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    fixture.add("s", "w", 0, &["a", "b"]).await?;
    let last = fixture.chunks("w", 2, &["c", "d"]).end(StreamEnd::Failed("boom".into()));
    let before = fixture.add("s", "w", 2, &[]).await?;
    for (offset, chunks) in [(0, &["a", "b"][..]), (0, &["a"]), (1, &["b"]), (1, &[])] {
        let outcome = fixture.append("s", fixture.chunks("w", offset, chunks)).await?;
        replayed(&format!("adding {chunks:?} at {offset} again"), &outcome, &before)?;
    }
    for (offset, chunks) in
        [(0, &["a", "x"][..]), (0, &["b"]), (1, &["a"]), (1, &["b", "c"]), (0, &["ab"])]
    {
        let outcome = fixture.append("s", fixture.chunks("w", offset, chunks)).await?;
        turned_down(&format!("adding {chunks:?} at {offset}"), &outcome, &before)?;
    }
    let ended = written("the last ones", fixture.append("s", last.clone()).await?)?;
    let mut again = last;
    again.at = fixture.at();
    replayed(
        "the last ones again, with the end",
        &fixture.append("s", again.clone()).await?,
        &ended,
    )?;
    let first = fixture.append("s", fixture.chunks("w", 0, &["a", "b"])).await?;
    replayed("the first ones again, after the end", &first, &ended)?;
    let other = again.clone().end(StreamEnd::Failed("bang".into()));
    turned_down("the last ones, with another error", &fixture.append("s", other).await?, &ended)?;
    let other = again.end(StreamEnd::Completed);
    turned_down("the last ones, with another end", &fixture.append("s", other).await?, &ended)?;
    let changed = fixture.chunks("w", 2, &["c", "x"]).end(StreamEnd::Failed("boom".into()));
    turned_down("others with the same end", &fixture.append("s", changed).await?, &ended)?;
    same("what is known of it", &fixture.known("s").await?, &ended)?;
    fixture.expect_stream("repeating", "s", &["a", "b", "c", "d"]).await
}

async fn ends_as_it_was_said(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for (id, end) in [
        ("completed", StreamEnd::Completed),
        ("failed", StreamEnd::Failed("the model is gone: \u{0} é 👩‍👩‍👧".into())),
        ("cancelled", StreamEnd::Cancelled),
    ] {
        fixture.begin(id, "w").await?;
        fixture.add(id, "w", 0, &["a"]).await?;
        let last = fixture.chunks("w", 1, &["b", "c"]).end(end.clone());
        let now = last.at;
        let ended = written(format!("an end: {id}"), fixture.append(id, last).await?)?;
        let error = if let StreamEnd::Failed(error) = &end { Some(error.clone()) } else { None };
        let seen =
            (ended.state, ended.error.clone(), ended.finished_at, ended.updated_at, ended.chunks);
        same(format!("a stream that is {id}"), &seen, &(end.state(), error, Some(now), now, 3))?;
        for append in [
            fixture.chunks("w", 3, &["late"]),
            fixture.chunks("w", 3, &["late"]).end(end),
            fixture.chunks("w", 3, &[]).end(StreamEnd::Failed("a second one".into())),
            fixture.chunks("v", 3, &["late"]),
        ] {
            let did = format!("{append:?} after the end");
            turned_down(&did, &fixture.append(id, append).await?, &ended)?;
        }
        let part = fixture.part(id, 0, 10).await?;
        same(
            "whether a part that reaches the end is the last",
            &(part.is_last(), part.next()),
            &(true, 3),
        )?;
        same("the stream in it", &part.stream, &ended)?;
        fixture.expect_stream("it ended", id, &["a", "b", "c"]).await?;
    }
    Ok(())
}

async fn an_empty_append_is_a_sign_of_life(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let heard = fixture.add("s", "w", 0, &["a"]).await?.updated_at.as_micros();
    for (when, expected) in
        [(heard + 50, heard + 50), (heard + 20, heard + 50), (heard + 60, heard + 60)]
    {
        let none: [&'static [u8]; 0] = [];
        let sign = StreamAppend::new("w", 1, none, at(when));
        let stream = written("an append without chunks", fixture.append("s", sign).await?)?;
        let seen = (stream.updated_at, stream.chunks, stream.bytes);
        same("when the writer was heard of, and the counts", &seen, &(at(expected), 1, 1))?;
        same("what is known of it", &fixture.known("s").await?, &stream)?;
    }
    Ok(())
}

async fn cancelled_while_it_waits_runs_and_after_it_ended(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let cancel = async |id: &str, now| -> Check<StoredStream> {
        Ok(fixture.streams()?.cancel_stream(&fixture.chat, &id.into(), now).await?)
    };
    let now = fixture.at();
    let mut expected = fixture.queue("waiting").await?;
    let later = fixture.at();
    (expected.state, expected.updated_at) = (StreamState::Cancelled, later);
    (expected.cancel_requested_at, expected.finished_at) = (Some(later), Some(later));
    same("cancelling one that waits", &cancel("waiting", later).await?, &expected)?;
    same("cancelling it again", &cancel("waiting", fixture.at()).await?, &expected)?;
    turned_down("claiming it then", &fixture.claim("waiting", "w").await?, &expected)?;

    fixture.begin("running", "w").await?;
    let mut expected = fixture.add("running", "w", 0, &["a"]).await?;
    // The caller is not the writer, so its clock does not count as activity of the stream.
    expected.cancel_requested_at = Some(now);
    same("cancelling one that runs", &cancel("running", now).await?, &expected)?;
    same("cancelling it again", &cancel("running", fixture.at()).await?, &expected)?;
    let told = fixture.add("running", "w", 1, &["b"]).await?;
    same("what its writer is told", &told.cancel_requested_at, &Some(now))?;
    fixture.finish("running", "w", 2, StreamEnd::Cancelled).await?;
    let ended = fixture.known("running").await?;
    let seen = (ended.state, ended.cancel_requested_at, ended.chunks);
    same("how it ended", &seen, &(StreamState::Cancelled, Some(now), 2))?;

    fixture.begin("ended", "w").await?;
    fixture.finish("ended", "w", 0, StreamEnd::Completed).await?;
    let ended = fixture.known("ended").await?;
    same("cancelling one that has ended", &cancel("ended", fixture.at()).await?, &ended)?;
    same("what is known of it", &fixture.known("ended").await?, &ended)
}

async fn begun_anew_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let reopen = async |run: u32| -> Check<_> {
        Ok(fixture.streams()?.reopen_stream(&fixture.chat, &"s".into(), run, fixture.at()).await?)
    };
    let queued = fixture.queue("s").await?;
    turned_down("beginning anew what waits", &reopen(0).await?, &queued)?;
    written("claiming it", fixture.claim("s", "w").await?)?;
    fixture.streams()?.cancel_stream(&fixture.chat, &"s".into(), fixture.at()).await?;
    let running = fixture.add("s", "w", 0, &["first", "run"]).await?;
    turned_down("beginning anew what runs", &reopen(0).await?, &running)?;
    fixture.finish("s", "w", 2, StreamEnd::Failed("boom".into())).await?;
    let ended = fixture.known("s").await?;
    for run in [1, 7, u32::MAX] {
        turned_down(
            &format!("beginning run {run} anew, which is not there"),
            &reopen(run).await?,
            &ended,
        )?;
    }
    fixture.expect_stream("what was refused", "s", &["first", "run"]).await?;
    let anew = written("beginning it anew", reopen(0).await?)?;
    let mut expected = StoredStream::new("s", queued.created_at);
    (expected.run, expected.updated_at) = (1, anew.updated_at);
    same("a stream that was begun anew", &anew, &expected)?;
    ensure(anew.updated_at > ended.updated_at, || "beginning anew is no sign of life".to_owned())?;
    replayed("beginning it anew again", &reopen(0).await?, &anew)?;
    turned_down("beginning the new run anew", &reopen(1).await?, &anew)?;
    fixture.expect_stream("it was begun anew", "s", &[]).await?;
    let late = fixture.append("s", fixture.chunks("w", 2, &["late"])).await?;
    turned_down("what the writer of the first run adds", &late, &anew)?;
    written("claiming the second run", fixture.claim("s", "v").await?)?;
    fixture.add("s", "v", 0, &["second"]).await?;
    fixture.finish("s", "v", 1, StreamEnd::Completed).await?;
    let ended = fixture.known("s").await?;
    turned_down("beginning the first run anew once more", &reopen(0).await?, &ended)?;
    same(
        "state, run and error",
        &(ended.state, ended.run, ended.error),
        &(StreamState::Completed, 1, None),
    )?;
    fixture.expect_stream("a second run", "s", &["second"]).await?;
    same("the run after that", &written("beginning anew again", reopen(1).await?)?.run, &2)
}
