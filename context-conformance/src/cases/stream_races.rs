//! Cases about concurrent tasks and handles on streams: one writer wins, nothing is written twice,
//! no reader sees a gap, even if replies are lost.

use std::sync::Arc;

use bytes::Bytes;
use context_core::Timestamp;
use context_core::store::{
    StoredStream, StreamAppend, StreamClaim, StreamEnd, StreamOutcome, StreamState,
};

use super::concurrency::race;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, fail, same};
use crate::polls::polled;
use crate::stream_fixture::{said, written};
use crate::verdict::Check;
use context_simulator::faults::{Fault, FaultPlan, FaultStore, Operation};

cases!("stream_races":
    one_of_many_claims_wins if Streams,
    one_of_many_claims_wins_through_two_handles if SecondHandle,
    one_of_many_takes_over if Streams,
    created_and_begun_anew_once if Streams,
    one_of_many_appends_at_an_offset_is_written if Streams,
    the_same_append_at_once_is_written_once if Streams,
    appends_through_two_handles_leave_no_gap if SecondHandle,
    readers_see_neither_gaps_nor_an_early_end if Streams,
    readers_of_another_handle_see_neither if SecondHandle,
    cancelled_while_it_ends if Streams,
    a_lost_reply_is_found_out_by_the_same_call if Streams,
    dropped_calls_are_whole_or_absent if Streams,
);

const RACERS: usize = 16;
/// The maximum number of polls after which a call is dropped.
const MOST_POLLS: usize = 60;

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn counted(outcomes: &[StreamOutcome]) -> (usize, usize, usize) {
    let count = |label: &str| outcomes.iter().filter(|outcome| said(outcome) == label).count();
    (count("applied"), count("replayed"), count("refused"))
}

async fn two_handles(case: &CaseContext) -> Check<[ChatFixture; 2]> {
    let fixture = case.fixture_in("two").await?;
    fixture.streams()?;
    let second = fixture.through(case.second_handle("two").await?);
    Ok([fixture, second])
}

async fn race_for_claims(fixtures: &[ChatFixture]) -> Check {
    for round in 0..6 {
        let id = format!("s{round}");
        fixtures[0].queue(&id).await?;
        let outcomes = race(RACERS, |i| {
            let (fixture, id) = (fixtures[i % fixtures.len()].clone(), id.clone());
            async move { fixture.claim(&id, &format!("w{i}")).await }
        })
        .await?;
        same(
            "16 claims at once: applied, replayed, refused",
            &counted(&outcomes),
            &(1, 0, RACERS - 1),
        )?;
        let known = fixtures[0].known(&id).await?;
        for outcome in &outcomes {
            same("what each was told", outcome.stream(), &known)?;
        }
        let winner = known.writer.map(|writer| writer.to_string()).unwrap_or_default();
        fixtures[0].add(&id, &winner, 0, &["won"]).await?;
    }
    Ok(())
}

async fn one_of_many_claims_wins(case: &CaseContext) -> Check {
    race_for_claims(&[case.fixture().await?]).await
}

async fn one_of_many_claims_wins_through_two_handles(case: &CaseContext) -> Check {
    race_for_claims(&two_handles(case).await?).await
}

async fn one_of_many_takes_over(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let heard = fixture.begin("s", "old").await?.updated_at;
    let outcomes = race(RACERS, |i| {
        let fixture = fixture.clone();
        async move {
            let claim =
                StreamClaim::new(format!("w{i}"), at(heard.as_micros() + 1)).take_over(heard);
            Ok(fixture.streams()?.claim_stream(&fixture.chat, &"s".into(), &claim).await?)
        }
    })
    .await?;
    same(
        "16 taking over at once: applied, replayed, refused",
        &counted(&outcomes),
        &(1, 0, RACERS - 1),
    )
}

async fn created_and_begun_anew_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let created = race(RACERS, |i| {
        let fixture = fixture.clone();
        async move {
            Ok(fixture.streams()?.create_stream(&fixture.chat, &"s".into(), at(i as i64)).await?)
        }
    })
    .await?;
    same(
        "16 creating it at once: applied, replayed, refused",
        &counted(&created),
        &(1, RACERS - 1, 0),
    )?;
    let known = fixture.known("s").await?;
    for outcome in &created {
        same("what each was told", outcome.stream(), &known)?;
    }
    for run in 0..3 {
        written("claiming it", fixture.claim("s", "w").await?)?;
        fixture.add("s", "w", 0, &["a", "b"]).await?;
        fixture.finish("s", "w", 2, StreamEnd::Completed).await?;
        let anew = race(RACERS, |_| {
            let fixture = fixture.clone();
            async move {
                Ok(fixture
                    .streams()?
                    .reopen_stream(&fixture.chat, &"s".into(), run, fixture.at())
                    .await?)
            }
        })
        .await?;
        same(
            "16 beginning it anew: applied, replayed, refused",
            &counted(&anew),
            &(1, RACERS - 1, 0),
        )?;
        same("the run", &fixture.known("s").await?.run, &(run + 1))?;
        fixture.expect_stream("it was begun anew", "s", &[]).await?;
    }
    Ok(())
}

async fn one_of_many_appends_at_an_offset_is_written(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    for round in 0..6u64 {
        let outcomes = race(RACERS, |i| {
            let fixture = fixture.clone();
            async move {
                let append = StreamAppend::new("w", round, [format!("{round}-{i}")], fixture.at());
                fixture.append("s", append).await
            }
        })
        .await?;
        same(
            "16 other appends at once: applied, replayed, refused",
            &counted(&outcomes),
            &(1, 0, RACERS - 1),
        )?;
        same("how many chunks there are", &fixture.known("s").await?.chunks, &(round + 1))?;
    }
    same("how many are read", &fixture.read_on("s", 0, 100).await?.len(), &6)
}

async fn the_same_append_at_once_is_written_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let append = fixture.chunks("w", 0, &["a", "", "bc"]).end(StreamEnd::Failed("boom".into()));
    let outcomes = race(RACERS, |_| {
        let (fixture, append) = (fixture.clone(), append.clone());
        async move { fixture.append("s", append).await }
    })
    .await?;
    same(
        "16 times the same: applied, replayed, refused",
        &counted(&outcomes),
        &(1, RACERS - 1, 0),
    )?;
    fixture.expect_stream("16 times the same append", "s", &["a", "", "bc"]).await
}

/// Checks a single writer that calls through several handles and continues at the current offset.
async fn appends_through_two_handles_leave_no_gap(case: &CaseContext) -> Check {
    let fixtures = two_handles(case).await?;
    fixtures[0].begin("s", "w").await?;
    race(4, |task| {
        let fixture = fixtures[task % 2].clone();
        async move {
            let (mut offset, mut left) = (0, 20);
            while left > 0 {
                let append =
                    StreamAppend::new("w", offset, [format!("{task}-{left}")], fixture.at());
                let outcome = fixture.append("s", append).await?;
                left -= u32::from(said(&outcome) == "applied");
                offset = outcome.stream().chunks;
            }
            Ok(())
        }
    })
    .await?;
    let mut seen = fixtures[1].read_on("s", 0, 7).await?;
    let mut expected: Vec<_> = (0..4)
        .flat_map(|task| (1..=20).map(move |left| Bytes::from(format!("{task}-{left}"))))
        .collect();
    seen.sort();
    expected.sort();
    same("the chunks of four tasks", &seen, &expected)
}

/// Checks a concurrent reader. Each append has three chunks, and the last one ends the stream: the
/// reader must see consecutive numbers, multiples of three, and no end before it has seen all
/// chunks.
async fn read_beside_a_writer(writer: &ChatFixture, reader: &ChatFixture) -> Check {
    const APPENDS: u64 = 40;
    for round in 0..3 {
        let id = format!("s{round}");
        writer.begin(&id, "w").await?;
        race(4, |task| {
            let (writer, reader, id) = (writer.clone(), reader.clone(), id.clone());
            async move {
                if task == 0 {
                    write_threes(&writer, &id, APPENDS).await
                } else {
                    follow(&reader, &id).await
                }
            }
        })
        .await?;
        let known = reader.known(&id).await?;
        same("how it ended", &(known.state, known.chunks), &(StreamState::Completed, APPENDS * 3))?;
    }
    Ok(())
}

async fn write_threes(fixture: &ChatFixture, id: &str, appends: u64) -> Check {
    for n in 0..appends {
        let chunks = (n * 3..n * 3 + 3).map(|i| i.to_string());
        let mut append = StreamAppend::new("w", n * 3, chunks, fixture.at());
        if n + 1 == appends {
            append = append.end(StreamEnd::Completed);
        }
        written("the writer's append", fixture.append(id, append).await?)?;
    }
    Ok(())
}

async fn follow(fixture: &ChatFixture, id: &str) -> Check {
    let mut next = 0;
    loop {
        let part = fixture.part(id, next, 1000).await?;
        for (i, chunk) in (next..).zip(&part.chunks) {
            same("the next chunk", chunk, &Bytes::from(i.to_string()))?;
        }
        let StoredStream { chunks, state, .. } = part.stream;
        same("chunks beside a writer of three at a time, modulo three", &(chunks % 3), &0)?;
        same("how many a whole part reaches", &part.next(), &chunks)?;
        next = part.next();
        if state.is_final() {
            return same("chunks when it had ended", &next, &120);
        }
        tokio::task::yield_now().await;
    }
}

async fn readers_see_neither_gaps_nor_an_early_end(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    read_beside_a_writer(&fixture, &fixture).await
}

async fn readers_of_another_handle_see_neither(case: &CaseContext) -> Check {
    let [writer, reader] = two_handles(case).await?;
    read_beside_a_writer(&writer, &reader).await
}

async fn cancelled_while_it_ends(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for round in 0..10 {
        let id = format!("s{round}");
        fixture.begin(&id, "w").await?;
        race(4, |task| {
            let (fixture, id) = (fixture.clone(), id.clone());
            async move {
                if task == 0 {
                    fixture.finish(&id, "w", 0, StreamEnd::Completed).await
                } else {
                    fixture
                        .streams()?
                        .cancel_stream(&fixture.chat, &id.as_str().into(), fixture.at())
                        .await?;
                    Ok(())
                }
            }
        })
        .await?;
        let known = fixture.known(&id).await?;
        same("how it ended", &known.state, &StreamState::Completed)?;
    }
    Ok(())
}

/// Checks calls that take effect but whose replies are lost, and that are then repeated unchanged.
async fn a_lost_reply_is_found_out_by_the_same_call(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut plan = FaultPlan::default();
    for operation in [
        Operation::CreateStream,
        Operation::ClaimStream,
        Operation::AppendStream,
        Operation::ReopenStream,
    ] {
        plan = plan.with(operation, 0, Fault::AfterApply);
    }
    let fixture = fixture.through(Arc::new(FaultStore::new(Arc::clone(&fixture.store), plan)));
    let (streams, id, chat) = (fixture.streams()?, "s".into(), &fixture.chat);
    let append = fixture.chunks("w", 0, &["a", "b"]).end(StreamEnd::Completed);
    let claim = StreamClaim::new("w", fixture.at());
    for (label, lost, again) in [
        (
            "create_stream",
            streams.create_stream(chat, &id, at(1)).await,
            streams.create_stream(chat, &id, at(1)).await,
        ),
        (
            "claim_stream",
            streams.claim_stream(chat, &id, &claim).await,
            streams.claim_stream(chat, &id, &claim).await,
        ),
        (
            "append_stream",
            streams.append_stream(chat, &id, append.clone()).await,
            streams.append_stream(chat, &id, append).await,
        ),
        (
            "reopen_stream",
            streams.reopen_stream(chat, &id, 0, fixture.at()).await,
            streams.reopen_stream(chat, &id, 0, fixture.at()).await,
        ),
    ] {
        ensure(lost.is_err(), || format!("{label}: the reply was not lost"))?;
        same(format!("{label} again"), &said(&again?), &"replayed")?;
    }
    same("the run", &fixture.known("s").await?.run, &1)
}

/// Checks a creation, a claim, an append and a reopening that are dropped after each number of
/// polls and then repeated.
async fn dropped_calls_are_whole_or_absent(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for polls in 0..MOST_POLLS {
        let id = format!("s{polls}");
        let name = id.as_str().into();
        let (streams, chat) = (fixture.streams()?, &fixture.chat);
        let mut ended = Vec::new();

        let create = || streams.create_stream(chat, &name, at(1));
        ended.push(polled(create(), polls).await.transpose()?.is_some());
        done("creating", create().await?)?;

        let claim = StreamClaim::new("w", at(2));
        let claims = || streams.claim_stream(chat, &name, &claim);
        ended.push(polled(claims(), polls).await.transpose()?.is_some());
        done("claiming", claims().await?)?;

        let append = fixture.chunks("w", 0, &["a", "b", "c"]).end(StreamEnd::Completed);
        let appends = || streams.append_stream(chat, &name, append.clone());
        ended.push(polled(appends(), polls).await.transpose()?.is_some());
        let part = fixture.part(&id, 0, 10).await?;
        let seen = (part.chunks.len(), part.stream.chunks, part.stream.state);
        let whole = [(0, 0, StreamState::Running), (3, 3, StreamState::Completed)].contains(&seen);
        ensure(whole, || format!("an append dropped after {polls} polls: saw {seen:?}"))?;
        done("adding", appends().await?)?;
        fixture.expect_stream("a dropped append was repeated", &id, &["a", "b", "c"]).await?;

        let reopens = || streams.reopen_stream(chat, &name, 0, at(5));
        ended.push(polled(reopens(), polls).await.transpose()?.is_some());
        done("beginning anew", reopens().await?)?;
        fixture.expect_stream("it was begun anew", &id, &[]).await?;

        ended.push(polled(streams.remove_stream(chat, &name), polls).await.transpose()?.is_some());
        streams.remove_stream(chat, &name).await?;
        same("a stream that was removed", &streams.stream(chat, &name).await?, &None)?;
        if ended.into_iter().all(|ended| ended) {
            break;
        }
    }
    fixture.expect_streams("removing all", &[]).await
}

fn done(did: &str, outcome: StreamOutcome) -> Check {
    if outcome.is_done() {
        Ok(())
    } else {
        fail(format!("{did} after a dropped call: saw {outcome:?}"))
    }
}
