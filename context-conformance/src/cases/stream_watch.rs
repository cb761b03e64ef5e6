//! Cases about watches of streams: whatever changes a stream wakes its readers, here and through
//! another handle, and no change between a read and a wait is lost. A store that cannot watch skips
//! them.

use std::future::Future;
use std::time::Duration;

use context_core::CancelSignal;
use context_core::store::{StreamEnd, StreamPrune, StreamWatch};
use tokio::time::timeout;

use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{fail, same};
use crate::polls::polled;
use crate::stream_fixture::written;
use crate::verdict::{Check, Stop};

cases!("stream_watch":
    every_change_wakes if Streams,
    every_change_through_another_handle_wakes if SecondHandle,
    no_change_before_a_wait_is_lost if Streams,
    no_change_of_another_handle_is_lost if SecondHandle,
    a_dropped_wait_loses_no_change if Streams,
    removal_with_the_chat_or_the_user_wakes if Streams,
);

/// The time after which a wait is considered endless.
const LONGEST: Duration = Duration::from_secs(20);
/// The number of chunks that a writer adds while a reader follows.
const CHUNKS: u64 = 200;
/// The number of polls after which a wait is dropped.
const POLLS: usize = 1;

async fn watch(fixture: &ChatFixture, id: &str) -> Check<Box<dyn StreamWatch>> {
    let watch = fixture.streams()?.watch_stream(&fixture.chat, &id.into()).await?;
    watch.ok_or_else(|| Stop::Skip("streams cannot be watched".to_owned()))
}

/// Expects a wait to end.
async fn woken(did: &str, watch: &mut Box<dyn StreamWatch>) -> Check {
    match timeout(LONGEST, watch.changed()).await {
        Ok(changed) => Ok(changed?),
        Err(_) => fail(format!("{did}: expected it to wake who watches, saw nothing")),
    }
}

/// Expects a change to end a wait of a new watch.
async fn wakes(reader: &ChatFixture, did: &str, change: impl Future<Output = Check>) -> Check {
    let mut watch = watch(reader, "s").await?;
    change.await?;
    woken(did, &mut watch).await
}

async fn two_handles(case: &CaseContext) -> Check<(ChatFixture, ChatFixture)> {
    let writer = case.fixture_in("two").await?;
    writer.streams()?;
    let reader = writer.through(case.second_handle("two").await?);
    Ok((writer, reader))
}

async fn every_change_wakes(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    each_wakes(&fixture, &fixture).await
}

async fn every_change_through_another_handle_wakes(case: &CaseContext) -> Check {
    let (writer, reader) = two_handles(case).await?;
    each_wakes(&writer, &reader).await
}

async fn each_wakes(writer: &ChatFixture, reader: &ChatFixture) -> Check {
    let (streams, chat, id) = (writer.streams()?, &writer.chat, &"s".into());
    let queue = async { writer.queue("s").await.map(drop) };
    wakes(reader, "creating it", queue).await?;
    let claim = async { written("claiming it", writer.claim("s", "w").await?).map(drop) };
    wakes(reader, "claiming it", claim).await?;
    let add = async { writer.add("s", "w", 0, &["a"]).await.map(drop) };
    wakes(reader, "adding to it", add).await?;
    let cancel = async { Ok(streams.cancel_stream(chat, id, writer.at()).await.map(drop)?) };
    wakes(reader, "asking to cancel it", cancel).await?;
    let finish = writer.finish("s", "w", 1, StreamEnd::Cancelled);
    wakes(reader, "ending it", finish).await?;
    let reopen = async {
        written("beginning it anew", streams.reopen_stream(chat, id, 0, writer.at()).await?)
            .map(drop)
    };
    wakes(reader, "beginning it anew", reopen).await?;
    let remove =
        async { same("whether it was removed", &streams.remove_stream(chat, id).await?, &true) };
    wakes(reader, "removing it", remove).await?;
    writer.begin("s", "w").await?;
    writer.finish("s", "w", 0, StreamEnd::Completed).await?;
    let prune = async {
        let at = writer.known("s").await?.updated_at;
        let prune = StreamPrune::new(chat.user.clone(), at);
        same("how many were pruned", &streams.prune_streams(&prune).await?.streams, &1)
    };
    wakes(reader, "pruning it", prune).await
}

async fn no_change_before_a_wait_is_lost(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    follow(&fixture, &fixture).await
}

async fn no_change_of_another_handle_is_lost(case: &CaseContext) -> Check {
    let (writer, reader) = two_handles(case).await?;
    follow(&writer, &reader).await
}

/// Follows a stream that is being written with nothing but a watch.
async fn follow(writer: &ChatFixture, reader: &ChatFixture) -> Check {
    writer.begin("s", "w").await?;
    let write = async {
        for n in 0..CHUNKS {
            writer.add("s", "w", n, &["x"]).await?;
            // Bursts and pauses: a reader waits now and then.
            if n % 7 == 0 {
                tokio::task::yield_now().await;
            }
        }
        writer.finish("s", "w", CHUNKS, StreamEnd::Completed).await
    };
    let read = async {
        let mut watch = watch(reader, "s").await?;
        let mut next = 0;
        loop {
            let part = reader.part("s", next, 1000).await?;
            next = part.next();
            if part.is_last() {
                return same("how many chunks were seen", &next, &CHUNKS);
            }
            woken("adding to it while it is read", &mut watch).await?;
        }
    };
    let (written, read) = tokio::join!(write, read);
    written.and(read)
}

async fn a_dropped_wait_loses_no_change(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let mut watch = watch(&fixture, "s").await?;
    for n in 0..20 {
        // A wait that ended was for an earlier change, or for none.
        while polled(watch.changed(), POLLS).await.transpose()?.is_some() {}
        fixture.add("s", "w", n, &["x"]).await?;
        woken("adding to it after a wait was dropped", &mut watch).await?;
    }
    Ok(())
}

async fn removal_with_the_chat_or_the_user_wakes(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    fixture.begin("s", "w").await?;
    let delete = async {
        let deleted = fixture.history().delete_chat(&fixture.chat, None).await?;
        same("whether the chat was deleted", &deleted, &true)
    };
    wakes(&fixture, "deleting its chat", delete).await?;
    let Some(maintenance) = fixture.store.maintenance() else { return Ok(()) };
    fixture.create().await?;
    fixture.begin("s", "w").await?;
    let erase = async {
        let signal = CancelSignal::never();
        Ok(maintenance.erase_user(&fixture.chat.user, &signal).await.map(drop)?)
    };
    wakes(&fixture, "erasing its user", erase).await
}
