//! Rows that were changed behind the store's back: reading says so, and the check finds each. Stores without checksums get them.

use context_core::{
    BlobId, CancelSignal, ChainEnd, ChatQuery, ChatRef, CheckpointName, Commit, Encoded, ErrorKind,
    FragmentId, MemoryRecord, MemoryScope, MemoryWrite, Metadata, NewBlob, NewChat, Result, Store,
    StoredFragment, StreamAppend, StreamClaim, StreamId, Target, Window,
};

use crate::lab::{Lab, T, append, nothing_is_wrong, says};

const CHAT: (&str, &str) = ("ada", "chat");

fn chat() -> ChatRef {
    ChatRef::new(CHAT.0, CHAT.1)
}

fn scope() -> MemoryScope {
    MemoryScope::new(CHAT.0)
}

/// A store with something of every kind.
async fn fill(store: &dyn Store) {
    let history = store.history();
    let metadata = Metadata::default().with("place", "lisbon");
    let new = NewChat { title: Some("pay 100".into()), metadata, ..NewChat::new(chat(), T) };
    let _created = history.create_chat(new).await.unwrap();
    append(store, &chat(), "", &["a", "b", "c"]).await;
    let mut amend = Commit::new(chat(), Target::Stay, T);
    amend.amendments = vec![says("b", "other words")];
    let _applied = history.commit(amend).await.unwrap();
    history.set_checkpoint(&chat(), &CheckpointName::from("mark"), &"b".into(), T).await.unwrap();
    let fragment = StoredFragment {
        id: Some(FragmentId::from("rule")),
        metadata: Metadata::default(),
        body: Encoded::new("text", 1, "pay 100"),
    };
    store.fragments().put_fragments(&chat(), &[fragment], T).await.unwrap();
    let _done = store.blobs().unwrap().put_blob(&chat(), NewBlob::new(&b"pay 100"[..], T)).await.unwrap();
    let streams = store.streams().unwrap();
    let id = StreamId::from("answer");
    let _done = streams.create_stream(&chat(), &id, T).await.unwrap();
    let _done = streams.claim_stream(&chat(), &id, &StreamClaim::new("w", T)).await.unwrap();
    let chunk = StreamAppend::new("w", 0, vec!["pay 100"], T);
    let _done = streams.append_stream(&chat(), &id, chunk).await.unwrap();
    let record = MemoryRecord::new(scope(), "m", "fact", T, "pay 100");
    let write = MemoryWrite::new(record, "pay 100");
    let _done = store.memories().unwrap().write_memories(&[write]).await.unwrap();
}

/// Reads all of it.
async fn read(store: &dyn Store) -> Result<()> {
    let history = store.history();
    history.list_chats(&ChatQuery::new(CHAT.0)).await?;
    history.chat(&chat()).await?;
    history.chain(&chat(), &ChainEnd::Branch("main".into()), &Window::Whole).await?;
    history.revisions(&chat(), &"b".into()).await?;
    history.checkpoints(&chat()).await?;
    store.fragments().fragments(&chat()).await?;
    let blobs = store.blobs().unwrap();
    // Of a part it is known as well.
    blobs.read_blob(&chat(), &BlobId::of(b"pay 100"), 2..5, None).await?;
    store.streams().unwrap().read_stream(&chat(), &"answer".into(), 0, 5).await?;
    store.memories().unwrap().memories(&scope(), &["m".into()]).await?;
    Ok(())
}

#[tokio::test]
async fn a_change_in_any_table_is_an_error_when_it_is_read_and_a_finding_of_the_check() {
    const FLIP: &str = "set_byte(@, octet_length(@) - 6, get_byte(@, octet_length(@) - 6) # 1)";
    let flipped = |table: &str, column: &str| {
        format!("UPDATE @store.{table} SET {column} = {}", FLIP.replace('@', column))
    };
    let plants = [
        flipped("run", "data"),
        flipped("revision", "record"),
        "UPDATE @store.revision SET replaced_at = replaced_at + 1".to_owned(),
        flipped("chat", "metadata"),
        "UPDATE @store.chat SET title = convert_to('pay 900', 'UTF8')".to_owned(),
        "UPDATE @store.chat SET created_at = created_at - 1".to_owned(),
        flipped("fragment", "body"),
        "UPDATE @store.fragment SET kind = convert_to('code', 'UTF8')".to_owned(),
        flipped("blob_piece", "data"),
        flipped("stream_chunk", "data"),
        flipped("memory", "body"),
        "UPDATE @store.memory SET version = version + 1".to_owned(),
        "UPDATE @store.checkpoint SET message = convert_to('a', 'UTF8')".to_owned(),
        "UPDATE @store.checkpoint SET created_at = created_at + 1".to_owned(),
    ];
    for plant in plants {
        let Some(lab) = Lab::new() else { return };
        let store = lab.open().await;
        fill(&store).await;
        read(&store).await.unwrap();
        nothing_is_wrong(&store).await;
        lab.run(&mut lab.connection().await, &plant).await;
        let error = read(&store).await.expect_err(&plant);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{plant}: {error}");
        assert!(!format!("{error:?}").contains("900"), "{error:?}");
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_ne!(report.findings, [], "{plant}");
        lab.drop().await;
    }
}

#[tokio::test]
async fn a_store_of_the_version_before_gets_its_checksums() {
    let Some(lab) = Lab::new() else { return };
    let store = lab.open().await;
    fill(&store).await;
    store.close().await.unwrap();
    // Runs of one message each, so the checksum of each is in front.
    let older = "UPDATE @store.run SET data = substring(data FROM 5);
        UPDATE @store.revision SET record = substring(record FROM 5 FOR octet_length(record) - 8);
        UPDATE @store.chat SET metadata = substring(metadata FOR octet_length(metadata) - 4);
        UPDATE @store.fragment SET body = substring(body FOR octet_length(body) - 4);
        UPDATE @store.blob_piece SET data = substring(data FOR octet_length(data) - 4);
        UPDATE @store.stream_chunk SET data = substring(data FOR octet_length(data) - 4);
        UPDATE @store.memory SET body = substring(body FOR octet_length(body) - 4);
        ALTER TABLE @store.checkpoint DROP COLUMN sum;
        DELETE FROM @store.context_migrations WHERE version = 14";
    lab.run(&mut lab.connection().await, older).await;
    let store = lab.open().await;
    read(&store).await.unwrap();
    nothing_is_wrong(&store).await;
    lab.drop().await;
}
