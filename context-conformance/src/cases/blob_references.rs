//! Cases about references to blobs: chats of one user share a blob, users do not, and the blob is
//! removed with its last reference.

use std::path::Path;

use context_core::base::BlobId;
use context_core::store::{BlobPrune, BlobsPruned, NewBlob, NewChat};
use context_core::{CancelSignal, ErrorKind, Timestamp};

use super::concurrency::race;
use crate::blob_fixture::noise;
use crate::case::cases;
use crate::case_context::CaseContext;
use crate::chat_fixture::ChatFixture;
use crate::expect::{ensure, refused, same};
use crate::polls::polled;
use crate::verdict::{Check, Stop};

cases!("blob_references":
    users_are_apart if Blobs,
    chats_share_bytes_and_not_reading if Blobs,
    the_last_reference_takes_the_bytes if Blobs,
    pruned_by_when_they_were_used if Blobs,
    pruned_of_one_chat if Blobs,
    a_deleted_chat_drops_its_references if Blobs,
    an_erased_user_leaves_none if Blobs,
    the_check_looks_at_them if Blobs,
    a_backup_has_them if Blobs,
    same_bytes_put_at_once if Blobs,
    put_and_removed_at_once if Blobs,
    dropped_calls_are_whole_or_absent if Blobs,
    there_after_opening_again if Durable,
    seen_through_another_handle if SecondHandle,
);

/// Creates another chat of the same store.
async fn another(fixture: &ChatFixture, user: &str, chat: &str) -> Check<ChatFixture> {
    let other = fixture.other(user, chat);
    other.create().await?;
    Ok(other)
}

async fn references(fixture: &ChatFixture, id: &BlobId) -> Check<Option<u64>> {
    Ok(fixture.find(id).await?.map(|blob| blob.references))
}

fn counts(pruned: BlobsPruned) -> (u64, u64, u64) {
    (pruned.references, pruned.blobs, pruned.bytes)
}

/// Returns the findings of a maintenance check, or none for a store without maintenance.
pub(super) async fn problems(fixture: &ChatFixture) -> Check<Vec<context_core::store::Finding>> {
    match fixture.store.maintenance() {
        Some(maintenance) => Ok(maintenance.check(&CancelSignal::never()).await?.findings),
        None => Ok(Vec::new()),
    }
}

async fn users_are_apart(case: &CaseContext) -> Check {
    let ada = case.fixture().await?;
    let mallory = ada.other("mallory", "chat");
    let id = ada.put("abc").await?.id;
    let theirs = mallory.blobs()?;
    // To another user, Ada's chat looks like one that does not exist.
    refused("another user's blob", theirs.blob(&mallory.chat, &id).await, ErrorKind::NotFound)?;
    let read = theirs.read_blob(&mallory.chat, &id, 0..9, Some(ada.at())).await;
    refused("reading another user's blob", read, ErrorKind::NotFound)?;
    mallory.create().await?;
    same("the same bytes under another user", &mallory.find(&id).await?, &None)?;
    same("reading them", &mallory.bytes(&id).await?, &None)?;
    let removed = theirs.remove_blob(&mallory.chat, &id).await?;
    same("removing another user's blob", &counts(removed), &(0, 0, 0))?;
    // A user who puts bytes that another user has stored is not told so.
    let put = mallory.put("abc").await?;
    same("references of the same bytes of two users", &put.references, &1)?;
    same("the other's", &references(&ada, &id).await?, &Some(1))?;
    let pruned = theirs.prune_blobs(&BlobPrune::new("mallory", ada.at())).await?;
    same("pruning all of a user", &counts(pruned), &(1, 1, 3))?;
    ada.expect_blobs("another user removed the same bytes", &[b"abc"]).await
}

async fn chats_share_bytes_and_not_reading(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = another(&fixture, "ada", "other").await?;
    let at = fixture.at();
    let id = fixture.blobs()?.put_blob(&fixture.chat, NewBlob::new("abc", at)).await?.id;
    same("a blob the chat does not refer to", &other.find(&id).await?, &None)?;
    same("its bytes", &other.bytes(&id).await?, &None)?;
    let used = other.blobs()?.read_blob(&other.chat, &id, 0..9, Some(fixture.at())).await?;
    same("its bytes, with a time", &used, &None)?;
    let removed = other.blobs()?.remove_blob(&other.chat, &id).await?;
    same("removing what it does not refer to", &removed, &BlobsPruned::default())?;
    other.expect_blobs("putting into another chat", &[]).await?;
    let put = other.put("abc").await?;
    same("references when it is put there", &put.references, &2)?;
    let seen =
        fixture.find(&id).await?.map(|blob| (blob.references, blob.created_at, blob.used_at));
    same("what the first chat knows", &seen, &Some((2, at, at)))?;
    other.expect_blobs("putting it there", &[b"abc"]).await
}

async fn the_last_reference_takes_the_bytes(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let (second, third) =
        (another(&fixture, "ada", "second").await?, another(&fixture, "ada", "third").await?);
    let bytes = noise(600_000, 4);
    let mut id = BlobId::of(b"");
    for chat in [&fixture, &second, &third, &second] {
        id = chat.put(bytes.clone()).await?.id;
    }
    same(
        "references of three chats, one of which put twice",
        &references(&fixture, &id).await?,
        &Some(3),
    )?;
    let blobs = fixture.blobs()?;
    for (chat, left, expected) in [
        (&second, Some(2), (1, 0, 0)),
        (&fixture, None, (1, 0, 0)),
        (&third, None, (1, 1, 600_000)),
    ] {
        let removed = blobs.remove_blob(&chat.chat, &id).await?;
        same(format!("removing from {}", chat.chat.chat), &counts(removed), &expected)?;
        same(
            "references left, as the first chat sees them",
            &references(&fixture, &id).await?,
            &left,
        )?;
        same("the bytes of the chat", &chat.bytes(&id).await?, &None)?;
    }
    same("what check() found", &problems(&fixture).await?, &Vec::new())?;
    let again = third.put(bytes).await?;
    same("references when it is put again", &again.references, &1)?;
    third.expect_blobs("putting it again", &[&noise(600_000, 4)]).await
}

async fn put_at(fixture: &ChatFixture, text: &'static str, at: i64) -> Check<BlobId> {
    let new = NewBlob::new(text, Timestamp::from_micros(at));
    Ok(fixture.blobs()?.put_blob(&fixture.chat, new).await?.id)
}

async fn pruned_by_when_they_were_used(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = another(&fixture, "ada", "other").await?;
    let bob = another(&fixture, "bob", "chat").await?;
    let read = put_at(&fixture, "old, but read", 100).await?;
    put_at(&fixture, "old, but put again", 100).await?;
    put_at(&fixture, "old here, new there", 100).await?;
    for (fixture, text, at) in [
        (&fixture, "old", 100),
        (&fixture, "used just then", 200),
        (&fixture, "new", 201),
        (&fixture, "old, but put again", 300),
        (&other, "old here, new there", 300),
        (&other, "old", 100),
        (&bob, "old", 100),
    ] {
        put_at(fixture, text, at).await?;
    }
    fixture
        .blobs()?
        .read_blob(&fixture.chat, &read, 0..1, Some(Timestamp::from_micros(300)))
        .await?;
    let prune = BlobPrune::new("ada", Timestamp::from_micros(200));
    let pruned = fixture.blobs()?.prune_blobs(&prune).await?;
    // Removed: "old" of both chats, "used just then", and a reference to the blob that the other
    // chat uses.
    same("references, blobs and bytes pruned", &counts(pruned), &(4, 2, 17))?;
    fixture.expect_blobs("pruning", &[b"old, but read", b"old, but put again", b"new"]).await?;
    other.expect_blobs("pruning", &[b"old here, new there"]).await?;
    bob.expect_blobs("pruning another user's", &[b"old"]).await?;
    let again = fixture.blobs()?.prune_blobs(&prune).await?;
    same("pruning again", &counts(again), &(0, 0, 0))?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn pruned_of_one_chat(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = another(&fixture, "ada", "other").await?;
    for text in ["mine", "ours"] {
        put_at(&fixture, text, 100).await?;
    }
    for text in ["theirs", "ours"] {
        put_at(&other, text, 100).await?;
    }
    let prune = BlobPrune::new("ada", Timestamp::from_micros(500)).of_chat("chat");
    same("pruning one chat", &counts(fixture.blobs()?.prune_blobs(&prune).await?), &(2, 1, 4))?;
    fixture.expect_blobs("pruning it", &[]).await?;
    other.expect_blobs("pruning the other one", &[b"theirs", b"ours"]).await?;
    same("references left", &references(&other, &BlobId::of(b"ours")).await?, &Some(1))
}

async fn a_deleted_chat_drops_its_references(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let other = another(&fixture, "ada", "other").await?;
    let shared = fixture.put("shared").await?.id;
    fixture.put("own").await?;
    other.put("shared").await?;
    same("deleting", &fixture.history().delete_chat(&fixture.chat, None).await?, &true)?;
    refused(
        "blobs of a deleted chat",
        fixture.blobs()?.blobs(&fixture.chat, 10, None).await,
        ErrorKind::NotFound,
    )?;
    same("references left", &references(&other, &shared).await?, &Some(1))?;
    other.expect_blobs("deleting a chat that shared them", &[b"shared"]).await?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())?;
    let _ = fixture.history().create_chat(NewChat::new(fixture.chat.clone(), fixture.at())).await?;
    fixture.expect_blobs("a chat of the same name was created", &[]).await?;
    same("references when it is put anew", &fixture.put("own").await?.references, &1)
}

async fn an_erased_user_leaves_none(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let (second, bob) =
        (another(&fixture, "ada", "second").await?, another(&fixture, "bob", "chat").await?);
    for chat in [&fixture, &second, &bob] {
        chat.put("shared").await?;
        chat.put(noise(300_000, 5)).await?;
    }
    fixture.put("own").await?;
    let erased = maintenance.erase_user(&"ada".into(), &CancelSignal::never()).await?;
    let seen = (erased.chats, erased.blobs, erased.remaining);
    same("chats and blobs erased, records remaining", &seen, &(2, 3, 0))?;
    bob.expect_blobs("erasing another user", &[b"shared", &noise(300_000, 5)]).await?;
    fixture.create().await?;
    fixture.expect_blobs("the user came again", &[]).await?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn the_check_looks_at_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let other = another(&fixture, "ada", "other").await?;
    for length in [0, 1, 300_000] {
        fixture.put(noise(length, 6)).await?;
        other.put(noise(length, 6)).await?;
    }
    let report = maintenance.check(&CancelSignal::never()).await?;
    same("what check() found", &report.findings, &Vec::new())?;
    same("how many blobs it looked at", &report.blobs, &3)
}

async fn a_backup_has_them(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let Some(maintenance) = fixture.store.maintenance() else {
        return Err(Stop::Skip("no maintenance".into()));
    };
    let bytes = noise(700_000, 7);
    fixture.put(bytes.clone()).await?;
    let location = case.location("backup")?;
    match maintenance.backup(Path::new(&location)).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            return Err(Stop::Skip(error.to_string()));
        }
        result => result?,
    }
    fixture.put("later").await?;
    let copy = fixture.through(crate::child::open(case.subject(), &location).await?);
    copy.expect_blobs("a backup", &[&bytes]).await?;
    same("what check() found in it", &problems(&copy).await?, &Vec::new())
}

const RACERS: usize = 16;
const CHATS: usize = 4;
/// The maximum number of polls after which a call is dropped.
const MOST_POLLS: usize = 60;

async fn same_bytes_put_at_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let mut chats = Vec::new();
    for i in 0..CHATS {
        chats.push(another(&fixture, "ada", &format!("chat-{i}")).await?);
    }
    let bytes = noise(400_000, 8);
    let put = race(RACERS, |i| {
        let (chat, bytes) = (chats[i % CHATS].clone(), bytes.clone());
        async move { chat.put(bytes).await }
    })
    .await?;
    for blob in put {
        same("the name of each", &blob.id, &BlobId::of(&bytes))?;
    }
    for chat in &chats {
        same(
            "references in the end",
            &references(chat, &BlobId::of(&bytes)).await?,
            &Some(CHATS as u64),
        )?;
        chat.expect_blobs("16 puts at once", &[&bytes]).await?;
    }
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

/// Checks that a concurrent reader sees all bytes or none.
async fn put_and_removed_at_once(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let bytes = noise(300_000, 9);
    let id = BlobId::of(&bytes);
    race(6, |i| {
        let (fixture, bytes) = (fixture.clone(), bytes.clone());
        async move {
            for _ in 0..20 {
                match i % 3 {
                    0 => drop(fixture.put(bytes.clone()).await?),
                    1 => drop(fixture.blobs()?.remove_blob(&fixture.chat, &id).await?),
                    _ => {
                        let read = fixture.bytes(&id).await?;
                        ensure(read.as_ref().is_none_or(|read| *read == bytes), || {
                            format!(
                                "reading beside writers: saw {:?} bytes",
                                read.map(|read| read.len())
                            )
                        })?;
                    }
                }
            }
            Ok(())
        }
    })
    .await?;
    same("what check() found", &problems(&fixture).await?, &Vec::new())?;
    let put = fixture.put(bytes.clone()).await?;
    same("references in the end", &put.references, &1)?;
    fixture.expect_blobs("120 calls at once", &[&bytes]).await
}

async fn dropped_calls_are_whole_or_absent(case: &CaseContext) -> Check {
    let fixture = case.fixture().await?;
    let bytes = noise(300_000, 10);
    let id = BlobId::of(&bytes);
    let later = Timestamp::from_micros(1_900_000_000_000_000);
    for polls in 0..MOST_POLLS {
        let chat = another(&fixture, "ada", &format!("chat-{polls}")).await?;
        let new = NewBlob::new(bytes.clone(), chat.at());
        let put = polled(chat.blobs()?.put_blob(&chat.chat, new), polls).await.transpose()?;
        let seen = chat.bytes(&id).await?;
        let whole = seen.as_ref().is_none_or(|seen| *seen == bytes);
        ensure(whole && (put.is_none() || seen.is_some()), || {
            format!(
                "a put dropped after {polls} polls: saw {:?} bytes",
                seen.map(|seen| seen.len())
            )
        })?;
        chat.put(bytes.clone()).await?;
        chat.expect_blobs("a dropped put was repeated", &[&bytes]).await?;
        let read =
            polled(chat.blobs()?.read_blob(&chat.chat, &id, 0..10, Some(later)), polls).await;
        chat.expect_blobs("a read was dropped", &[&bytes]).await?;
        let removed = polled(chat.blobs()?.remove_blob(&chat.chat, &id), polls).await;
        let prune = BlobPrune::new("ada", later).of_chat(chat.chat.chat.clone());
        let pruned = polled(chat.blobs()?.prune_blobs(&prune), polls).await;
        let left = chat.bytes(&id).await?;
        let whole = left.as_ref().is_none_or(|left| *left == bytes);
        ensure(whole, || format!("a removal dropped after {polls} polls: saw {left:?}"))?;
        chat.blobs()?.remove_blob(&chat.chat, &id).await?;
        chat.expect_blobs("a dropped removal was repeated", &[]).await?;
        if put.is_some() && read.is_some() && removed.is_some() && pruned.is_some() {
            break;
        }
    }
    same("what check() found", &problems(&fixture).await?, &Vec::new())
}

async fn there_after_opening_again(case: &CaseContext) -> Check {
    let fixture = case.fixture_in("durable").await?;
    fixture.blobs()?;
    let other = another(&fixture, "ada", "other").await?;
    let large = noise(1 << 20, 11);
    for chat in [&fixture, &other] {
        chat.put(large.clone()).await?;
    }
    fixture.put("small").await?;
    let before = fixture.all_blobs(10).await?;
    let (chat, user) = (fixture.chat.chat.clone(), fixture.chat.user.clone());
    drop((fixture, other));
    let fixture = ChatFixture::new(case.reopen("durable").await?, user.as_str(), chat.as_str());
    same("the blobs after opening again", &fixture.all_blobs(10).await?, &before)?;
    fixture.expect_blobs("opening again", &[&large, b"small"]).await
}

async fn seen_through_another_handle(case: &CaseContext) -> Check {
    let one = case.fixture_in("two").await?;
    let two = one.through(case.second_handle("two").await?);
    one.blobs()?;
    for i in 0..10u8 {
        let (writer, reader) = if i % 2 == 0 { (&one, &two) } else { (&two, &one) };
        let id = writer.put(noise(5_000, i)).await?.id;
        same("the other handle's view", &reader.bytes(&id).await?, &Some(noise(5_000, i)))?;
        writer.blobs()?.remove_blob(&writer.chat, &id).await?;
        same("and after it was removed", &reader.bytes(&id).await?, &None)?;
    }
    Ok(())
}
