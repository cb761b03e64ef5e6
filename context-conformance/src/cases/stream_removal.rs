//! Cases about removal of streams: directly, by pruning, with their chat and with their user, and
//! what must stay.

use std::path::Path;

use context_core::store::{NewChat, StreamEnd, StreamPrune, StreamsPruned};
use context_core::{CancelSignal, ErrorKind, Timestamp};

use super::concurrency::race;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{refused, same};
use crate::verdict::{Check, Stop};

cases!("stream_removal":
    removed_with_its_chunks if Streams,
    pruned_by_when_they_ended if Streams,
    pruned_when_they_were_abandoned if Streams,
    pruned_of_one_chat if Streams,
    a_deleted_chat_takes_them if Streams,
    an_erased_user_leaves_none if Streams,
    the_check_looks_at_them if Streams,
    a_backup_has_them if Streams,
    removed_while_it_is_written if Streams,
    there_after_opening_again if Durable,
    seen_through_another_handle if SecondHandle,
);

fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

fn counts(pruned: StreamsPruned) -> (u64, u64, u64) {
    (pruned.streams, pruned.chunks, pruned.bytes)
}

async fn another(fixture: &ChatFixture, user: &str, chat: &str) -> Check<ChatFixture> {
    let other = fixture.other(user, chat);
    other.create().await?;
    Ok(other)
}

/// Returns the findings of a maintenance check, or none for a store without maintenance.
async fn problems(fixture: &ChatFixture) -> Check<Vec<context_core::store::Finding>> {
    match fixture.store.maintenance() {
        Some(maintenance) => Ok(maintenance.check(&CancelSignal::never()).await?.findings),
        None => Ok(Vec::new()),
    }
}

/// Creates a stream of two chunks and three bytes that was last written, and ended if `end` is
/// given, at `micros`.
async fn old(fixture: &ChatFixture, id: &str, micros: i64, end: Option<StreamEnd>) -> Check {
    let (streams, name) = (fixture.streams()?, id.into());
    let _ = streams.create_stream(&fixture.chat, &name, at(micros)).await?;
    let claim = context_core::store::StreamClaim::new("w", at(micros));
    let _ = streams.claim_stream(&fixture.chat, &name, &claim).await?;
    let mut append = fixture.chunks("w", 0, &["a", "bc"]);
    (append.at, append.end) = (at(micros), end);
    crate::stream_fixture::written(format!("writing {id}"), fixture.append(id, append).await?)
        .map(drop)
}

async fn removed_with_its_chunks(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    old(&fixture, "other", 1, None).await?;
    for end in [None, Some(StreamEnd::Completed)] {
        old(&fixture, "s", 1, end).await?;
        same(
            "removing it",
            &fixture.streams()?.remove_stream(&fixture.chat, &"s".into()).await?,
            &true,
        )?;
        same(
            "removing it again",
            &fixture.streams()?.remove_stream(&fixture.chat, &"s".into()).await?,
            &false,
        )?;
        same(
            "what is known",
            &fixture.streams()?.stream(&fixture.chat, &"s".into()).await?,
            &None,
        )?;
        let late = fixture
            .streams()?
            .append_stream(&fixture.chat, &"s".into(), fixture.chunks("w", 2, &["d"]))
            .await;
        refused("adding to what was removed", late, ErrorKind::NotFound)?;
        fixture.expect_streams("removing one", &["other"]).await?;
    }
    same("its run when it is created anew", &fixture.queue("s").await?.run, &0)?;
    fixture.expect_stream("it was removed and created", "s", &[]).await?;
    fixture.expect_stream("another was removed", "other", &["a", "bc"]).await?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn pruned_by_when_they_ended(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let (other, bob) =
        (another(&fixture, "ada", "other").await?, another(&fixture, "bob", "chat").await?);
    for (fixture, id, micros, end) in [
        (&fixture, "completed", 100, Some(StreamEnd::Completed)),
        (&fixture, "failed", 150, Some(StreamEnd::Failed("boom".into()))),
        (&fixture, "just then", 200, Some(StreamEnd::Cancelled)),
        (&fixture, "later", 201, Some(StreamEnd::Completed)),
        (&fixture, "running", 100, None),
        (&other, "completed", 100, Some(StreamEnd::Completed)),
        (&other, "running", 100, None),
        (&bob, "completed", 100, Some(StreamEnd::Completed)),
    ] {
        old(fixture, id, micros, end).await?;
    }
    let prune = StreamPrune::new("ada", at(200));
    let pruned = fixture.streams()?.prune_streams(&prune).await?;
    same("streams, chunks and bytes pruned", &counts(pruned), &(4, 8, 12))?;
    fixture.expect_streams("pruning", &["later", "running"]).await?;
    other.expect_streams("pruning", &["running"]).await?;
    bob.expect_stream("pruning another user's", "completed", &["a", "bc"]).await?;
    same("pruning again", &counts(fixture.streams()?.prune_streams(&prune).await?), &(0, 0, 0))?;
    let nobody = StreamPrune::new("nobody", at(500));
    same(
        "pruning a user without chats",
        &counts(fixture.streams()?.prune_streams(&nobody).await?),
        &(0, 0, 0),
    )?;
    for prune in [StreamPrune::new("", at(1)), StreamPrune::new("ada", at(1)).of_chat("")] {
        refused(
            format!("{prune:?}"),
            fixture.streams()?.prune_streams(&prune).await,
            ErrorKind::Invalid,
        )?;
    }
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn pruned_when_they_were_abandoned(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    for (id, micros, end) in [
        ("ended", 100, Some(StreamEnd::Completed)),
        ("left", 100, None),
        ("left just then", 200, None),
        ("written to later", 201, None),
    ] {
        old(&fixture, id, micros, end).await?;
    }
    for (id, micros) in [("waiting", 200), ("waiting later", 201)] {
        let _ = fixture.streams()?.create_stream(&fixture.chat, &id.into(), at(micros)).await?;
    }
    let prune = StreamPrune::new("ada", at(50)).abandoned(at(200));
    let pruned = fixture.streams()?.prune_streams(&prune).await?;
    same("streams, chunks and bytes pruned", &counts(pruned), &(3, 4, 6))?;
    fixture.expect_streams("pruning", &["ended", "waiting later", "written to later"]).await
}

async fn pruned_of_one_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = another(&fixture, "ada", "other").await?;
    for fixture in [&fixture, &other] {
        old(fixture, "s", 100, Some(StreamEnd::Completed)).await?;
        old(fixture, "t", 100, None).await?;
    }
    let prune = StreamPrune::new("ada", at(500)).of_chat("chat");
    same("pruning one chat", &counts(fixture.streams()?.prune_streams(&prune).await?), &(1, 2, 3))?;
    fixture.expect_streams("pruning it", &["t"]).await?;
    other.expect_streams("pruning the other one", &["s", "t"]).await?;
    let absent = StreamPrune::new("ada", at(500)).of_chat("absent");
    refused(
        "pruning an absent chat",
        fixture.streams()?.prune_streams(&absent).await,
        ErrorKind::NotFound,
    )?;
    let theirs = StreamPrune::new("mallory", at(500)).of_chat("chat");
    refused(
        "pruning another user's chat",
        fixture.streams()?.prune_streams(&theirs).await,
        ErrorKind::NotFound,
    )
    .map(drop)
}

async fn a_deleted_chat_takes_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = another(&fixture, "ada", "other").await?;
    for fixture in [&fixture, &other] {
        old(fixture, "s", 100, None).await?;
    }
    same("deleting", &fixture.history().delete_chat(&fixture.chat, None).await?, &true)?;
    let listed = fixture.streams()?.streams(&fixture.chat, 10, None).await;
    refused("streams of a deleted chat", listed, ErrorKind::NotFound)?;
    let late = fixture
        .streams()?
        .append_stream(&fixture.chat, &"s".into(), fixture.chunks("w", 2, &["d"]))
        .await;
    refused("adding to one of a deleted chat", late, ErrorKind::NotFound)?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())?;
    let _ = fixture.history().create_chat(NewChat::new(fixture.chat.clone(), fixture.at())).await?;
    fixture.expect_streams("a chat of the same name was created", &[]).await?;
    fixture.queue("s").await?;
    fixture.expect_stream("it was created anew", "s", &[]).await?;
    other.expect_stream("another chat was deleted", "s", &["a", "bc"]).await
}

async fn an_erased_user_leaves_none(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let (second, bob) =
        (another(&fixture, "ada", "second").await?, another(&fixture, "bob", "chat").await?);
    for fixture in [&fixture, &second, &bob] {
        old(fixture, "running", 100, None).await?;
        old(fixture, "ended", 100, Some(StreamEnd::Completed)).await?;
    }
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    let seen = (erased.chats, erased.streams, erased.remaining);
    same("chats and streams erased, records remaining", &seen, &(2, 4, 0))?;
    bob.expect_streams("erasing another user", &["ended", "running"]).await?;
    bob.expect_stream("erasing another user", "running", &["a", "bc"]).await?;
    fixture.create().await?;
    fixture.expect_streams("the user came again", &[]).await?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn the_check_looks_at_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    fixture.queue("waiting").await?;
    old(&fixture, "running", 100, None).await?;
    old(
        &another(&fixture, "bob", "chat").await?,
        "ended",
        100,
        Some(StreamEnd::Failed("boom".into())),
    )
    .await?;
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    same("how many streams it looked at", &report.streams, &3)
}

async fn a_backup_has_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    old(&fixture, "s", 100, None).await?;
    // An in-process store has no location, and no backups.
    let location = case.location("backup")?;
    match maintenance.backup(Path::new(&location)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Stop::Skip(error.to_string()));
        }
        result => result?,
    }
    fixture.add("s", "w", 2, &["later"]).await?;
    let copy = fixture.through(crate::child::open(case.subject(), &location).await?);
    copy.expect_stream("a backup", "s", &["a", "bc"]).await?;
    same("what check() found in it", &problems(&copy).await?, &Vec::new())
}

/// Checks that writing to a removed stream is refused, and that a reader sees whole parts or
/// nothing.
async fn removed_while_it_is_written(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    race(4, |task| {
        let fixture = fixture.clone();
        async move {
            let (streams, chat, id) = (fixture.streams()?, &fixture.chat, &"s".into());
            for _ in 0..25 {
                let result = match task {
                    0 => streams.remove_stream(chat, id).await.map(drop),
                    1 => streams.create_stream(chat, id, fixture.at()).await.map(drop),
                    2 => {
                        let claim = context_core::store::StreamClaim::new("w", fixture.at());
                        let claimed = streams.claim_stream(chat, id, &claim).await;
                        claimed
                            .map(drop)
                            .and(
                                streams
                                    .append_stream(chat, id, fixture.chunks("w", 0, &["a", "b"]))
                                    .await,
                            )
                            .map(drop)
                    }
                    _ => {
                        let part = streams.read_stream(chat, id, 0, 10).await?;
                        let seen = part.map_or(0, |part| part.chunks.len());
                        same("whether a part is whole", &[0, 2].contains(&seen), &true)?;
                        Ok(())
                    }
                };
                match result {
                    Err(error) if !error.is_not_found() => return Err(error.into()),
                    _ => {}
                }
            }
            Ok(())
        }
    })
    .await?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn there_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    fixture.streams()?;
    fixture.queue("waiting").await?;
    old(&fixture, "running", 100, None).await?;
    old(&fixture, "ended", 100, Some(StreamEnd::Failed("boom".into()))).await?;
    fixture.streams()?.cancel_stream(&fixture.chat, &"running".into(), fixture.at()).await?;
    let before = fixture.all_streams(10).await?;
    let (chat, user) = (fixture.chat.chat.clone(), fixture.chat.user.clone());
    drop(fixture);
    let fixture = ChatFixture::new(case.reopen("durable").await?, user.as_str(), chat.as_str());
    same("the streams after opening again", &fixture.all_streams(10).await?, &before)?;
    fixture.expect_stream("opening again", "ended", &["a", "bc"]).await?;
    fixture.add("running", "w", 2, &["d"]).await?;
    fixture.expect_stream("going on after that", "running", &["a", "bc", "d"]).await
}

async fn seen_through_another_handle(case: &CaseContext) -> Check {
    let one = case.fixture_in("two").await?;
    one.streams()?;
    let two = one.through(case.second_handle("two").await?);
    one.begin("s", "w").await?;
    for i in 0..20u64 {
        let (writer, reader) = if i % 2 == 0 { (&one, &two) } else { (&two, &one) };
        writer.add("s", "w", i, &["x"]).await?;
        same("the other handle's view", &reader.part("s", i, 10).await?.chunks.len(), &1)?;
    }
    two.streams()?.cancel_stream(&two.chat, &"s".into(), two.at()).await?;
    let told = one.add("s", "w", 20, &["y"]).await?;
    same("what the writer is told", &told.cancel_requested_at.is_some(), &true)?;
    same("removing it", &two.streams()?.remove_stream(&two.chat, &"s".into()).await?, &true)?;
    same("and after that", &one.streams()?.stream(&one.chat, &"s".into()).await?, &None)
}
