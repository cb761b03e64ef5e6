//! Rows that other programs have changed: reading fails, and the check finds each. Stores without
//! checksums get them by an upgrade.

use std::time::Duration;

use context_core::base::{BlobId, CheckpointName, FragmentId, StreamId};
use context_core::memory::{MemoryRecord, MemoryScope, MemoryVector};
use context_core::store::{
    ChainEnd, ChatQuery, Commit, LeaseClaim, MemoryFind, MemoryWrite, NewBlob, NewChat,
    RoundCommit, RoundQuery, StoredFragment, StreamAppend, StreamClaim, Target, Window,
};
use context_core::trajectory::{AgentRef, Changes, NodeId, TrajectoryNodeKind};
use context_core::{CancelSignal, ChatRef, Encoded, ErrorKind, Metadata, Result, Store, Timestamp};

use crate::fixture::{StoreFixture, T, append, nothing_is_wrong, says};
use crate::round_tables::filled;

const CHAT: (&str, &str) = ("ada", "chat");

fn chat() -> ChatRef {
    ChatRef::new(CHAT.0, CHAT.1)
}

fn scope() -> MemoryScope {
    MemoryScope::new(CHAT.0)
}

/// Fills a store with data of every kind.
pub(crate) async fn fill(store: &dyn Store) {
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
    let earlier = StoredFragment { body: Encoded::new("text", 1, "pay 200"), ..fragment.clone() };
    store.fragments().put_fragments(&chat(), &[earlier], T).await.unwrap();
    store.fragments().put_fragments(&chat(), &[fragment], T).await.unwrap();
    let _done =
        store.blobs().unwrap().put_blob(&chat(), NewBlob::new(&b"pay 100"[..], T)).await.unwrap();
    let streams = store.streams().unwrap();
    let id = StreamId::from("answer");
    let _done = streams.create_stream(&chat(), &id, T).await.unwrap();
    let _done = streams.claim_stream(&chat(), &id, &StreamClaim::new("w", T)).await.unwrap();
    let chunk = StreamAppend::new("w", 0, vec!["pay 100"], T);
    let _done = streams.append_stream(&chat(), &id, chunk).await.unwrap();
    // Ended at once, so that what follows needs no number.
    let claim = LeaseClaim::new("worker", Timestamp::from_micros(0), Duration::from_micros(1));
    let _done = store.leases().unwrap().take_lease(&chat(), &claim).await.unwrap();
    let record = MemoryRecord::new(scope(), "m", "fact", T, "pay 100");
    let write = MemoryWrite::new(record, "pay 100").vector(MemoryVector::new("v", vec![1.0, 0.5]));
    let _done = store.memories().unwrap().write_memories(&[write]).await.unwrap();
    fill_round(store).await;
}

fn agent() -> AgentRef {
    AgentRef::main(CHAT.0, CHAT.1)
}

/// A round with a node that its columns cannot show in full, and a node of which columns were
/// changed.
async fn fill_round(store: &dyn Store) {
    let rounds = store.trajectories().unwrap();
    let (mut round, first) = filled(&agent());
    let _done = rounds.record_round(&first).await.unwrap();
    let changes = Changes::new().set("output", "pay 100").describe("what was paid");
    let changes = round.change(NodeId::new(0, 1), &changes, None, T).unwrap();
    round.committed();
    let _done =
        rounds.record_round(&RoundCommit::new("second", changes, round.head())).await.unwrap();
    assert_eq!(rounds.load_rounds(&agent(), 0..=0).await.unwrap(), [round.to_record()]);
}

async fn read_rounds(store: &dyn Store) -> Result<()> {
    let rounds = store.trajectories().unwrap();
    rounds.rounds(&RoundQuery::of_user(CHAT.0)).await?;
    rounds.load_rounds(&agent(), 0..=9).await?;
    Ok(())
}

/// Reads everything.
async fn read(store: &dyn Store) -> Result<()> {
    let history = store.history();
    history.list_chats(&ChatQuery::new(CHAT.0)).await?;
    history.chat(&chat()).await?;
    history.chain(&chat(), &ChainEnd::Branch("main".into()), &Window::Whole).await?;
    history.revisions(&chat(), &"b".into()).await?;
    history.checkpoints(&chat()).await?;
    store.fragments().fragments(&chat()).await?;
    store.fragment_log().unwrap().fragment_log(&chat()).await?;
    store.ref_log().unwrap().ref_log(&chat()).await?;
    store.leases().unwrap().lease(&chat()).await?;
    let blobs = store.blobs().unwrap();
    // Damage is detected even if only a part is read.
    blobs.read_blob(&chat(), &BlobId::of(b"pay 100"), 2..5, None).await?;
    store.streams().unwrap().read_stream(&chat(), &"answer".into(), 0, 5).await?;
    history.branches(&chat()).await?;
    blobs.blobs(&chat(), 9, None).await?;
    let memories = store.memories().unwrap();
    memories.memories(&scope(), &["m".into()]).await?;
    let mut near = MemoryFind::new(vec![scope()], vec![], 9);
    near.vector = Some(MemoryVector::new("v", vec![1.0, 0.5]));
    memories.find_memories(&near).await?;
    read_rounds(store).await
}

pub(crate) async fn a_change_in_any_table_is_an_error_when_it_is_read_and_a_finding_of_the_check() {
    const FLIP: &str = "set_byte(@, octet_length(@) - 6, get_byte(@, octet_length(@) - 6) # 1)";
    let flipped = |table: &str, column: &str| {
        format!("UPDATE @store.{table} SET {column} = {}", FLIP.replace('@', column))
    };
    let changes = [
        flipped("run", "data"),
        flipped("revision", "record"),
        "UPDATE @store.revision SET replaced_at = replaced_at + 1".to_owned(),
        flipped("chat", "metadata"),
        "UPDATE @store.chat SET title = convert_to('pay 900', 'UTF8')".to_owned(),
        "UPDATE @store.chat SET created_at = created_at - 1".to_owned(),
        flipped("chat", "lease"),
        "UPDATE @store.chat SET lease_until = lease_until + 1".to_owned(),
        flipped("fragment", "body"),
        "UPDATE @store.fragment SET kind = convert_to('code', 'UTF8')".to_owned(),
        flipped("fragment_version", "body"),
        "UPDATE @store.fragment_version SET at = at + 1".to_owned(),
        flipped("ref_change", "change"),
        "UPDATE @store.ref_change SET at = at + 1".to_owned(),
        flipped("blob_piece", "data"),
        "UPDATE @store.blob_ref SET media_type = convert_to('text/html', 'UTF8')".to_owned(),
        "UPDATE @store.blob_ref SET created_at = created_at + 1".to_owned(),
        flipped("stream_chunk", "data"),
        "UPDATE @store.stream SET state = 'completed', finished_at = updated_at".to_owned(),
        "UPDATE @store.stream SET error = convert_to('pay 900', 'UTF8')".to_owned(),
        "UPDATE @store.stream SET writer = convert_to('x', 'UTF8')".to_owned(),
        "UPDATE @store.stream SET run = run + 1".to_owned(),
        "UPDATE @store.stream SET started_at = started_at + 1".to_owned(),
        flipped("memory", "body"),
        "UPDATE @store.memory SET version = version + 1".to_owned(),
        "UPDATE @store.checkpoint SET message = convert_to('a', 'UTF8')".to_owned(),
        "UPDATE @store.checkpoint SET created_at = created_at + 1".to_owned(),
        "UPDATE @store.chat SET updated_at = updated_at + 1".to_owned(),
        "UPDATE @store.chat SET active = convert_to('side', 'UTF8')".to_owned(),
        "UPDATE @store.branch SET created_at = created_at + 1".to_owned(),
        "UPDATE @store.stream SET updated_at = updated_at + 1".to_owned(),
        "UPDATE @store.blob_ref SET used_at = used_at + 1".to_owned(),
        flipped("memory_vector", "data"),
        "DELETE FROM @store.trajectory_action".to_owned(),
        "DELETE FROM @store.trajectory_edge WHERE source = 0".to_owned(),
        "DELETE FROM @store.trajectory_version".to_owned(),
        "DELETE FROM @store.trajectory_message".to_owned(),
    ];
    for change in changes {
        let fixture = StoreFixture::new();
        let store = fixture.open().await;
        fill(&store).await;
        read(&store).await.unwrap();
        nothing_is_wrong(&store).await;
        fixture.run(&mut fixture.connection().await, &change).await;
        let error = read(&store).await.expect_err(&change);
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{change}: {error}");
        assert!(!format!("{error:?}").contains("900"), "{error:?}");
        let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
        assert_ne!(report.findings, [], "{change}");
        fixture.drop().await;
    }
}

/// Returns a change of a column, by its type.
fn changed(table: &str, column: &str, form: &str) -> String {
    let value = match form {
        "text" => format!("coalesce({column}, '') || '9'"),
        "bytea" => format!("coalesce({column}, '') || '9'::bytea"),
        "json" => "'{\"pay\":900}'".to_owned(),
        "boolean" => format!("NOT {column}"),
        "bigint" | "integer" => format!("{column} + 9"),
        other => panic!("{table}.{column} is {other}: say here how to change it"),
    };
    format!("UPDATE @store.{table} SET {column} = {value}")
}

/// Columns of a round or a link that repeat other data or name the user. Only the check compares
/// them.
const COMPARED: [&str; 11] = [
    "trajectory_round.user_id",
    "trajectory_round.session",
    "trajectory_round.agent",
    "trajectory_round.round",
    "trajectory_round.revision",
    "trajectory_round.state",
    "trajectory_round.title",
    "trajectory_round.nodes",
    "trajectory_round.created_at",
    "trajectory_round.updated_at",
    "trajectory_message.user_id",
];

pub(crate) async fn a_change_in_any_column_of_a_round_is_an_error_and_a_finding() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    let mut connection = fixture.connection().await;
    // Key columns are left out, because a unique constraint could reject the change.
    let columns = "SELECT table_name::text, '\"' || column_name || '\"', data_type::text
        FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
        WHERE table_schema = $1 AND table_name LIKE 'trajectory%' AND table_type = 'BASE TABLE'
          AND NOT (column_name = 'no' OR column_name = 'round' AND table_name <> 'trajectory_round')
        ORDER BY 1, ordinal_position";
    let columns: Vec<(String, String, String)> =
        sqlx::query_as(columns).bind(&fixture.schema).fetch_all(&mut connection).await.unwrap();
    let mut planted_in = std::collections::BTreeSet::new();
    for (table, column, form) in columns {
        fill_round(&store).await;
        read_rounds(&store).await.unwrap();
        let change = changed(&table, &column, &form);
        let changed = sqlx::raw_sql(sqlx::AssertSqlSafe(change.replace("@store", &fixture.schema)));
        if changed.execute(&mut connection).await.unwrap().rows_affected() > 0 {
            let error = read_rounds(&store).await.err();
            let place = format!("{table}.{}", column.trim_matches('"'));
            assert!(error.is_some() || COMPARED.contains(&&*place), "{change} was read");
            if let Some(error) = error {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{change}: {error}");
                assert!(!format!("{error:?}").contains("900"), "{error:?}");
            }
            let report = store.maintenance().unwrap().check(&CancelSignal::never()).await.unwrap();
            let about: Vec<_> =
                report.findings.iter().map(|finding| finding.about.as_str()).collect();
            let round = agent().round(0).to_string();
            let moved =
                ["user_id", "session", "agent", "round"].contains(&column.trim_matches('"'));
            assert!(
                about.iter().any(|about| moved || *about == round),
                "{change}: {:?}",
                report.findings
            );
            planted_in.insert(table);
        }
        fixture.run(&mut connection, "DELETE FROM @store.trajectory_round").await;
    }
    let kinds = [
        TrajectoryNodeKind::Query,
        TrajectoryNodeKind::Action,
        TrajectoryNodeKind::File,
        TrajectoryNodeKind::State,
    ]
    .map(TrajectoryNodeKind::lower);
    let tables = kinds.into_iter().chain(["round", "edge", "version", "message"]);
    assert_eq!(planted_in, tables.map(|table| format!("trajectory_{table}")).collect());
    fixture.drop().await;
}

pub(crate) async fn a_store_of_the_version_before_gets_its_checksums() {
    let fixture = StoreFixture::new();
    let store = fixture.open().await;
    fill(&store).await;
    store.close().await.unwrap();
    // Every run has one message, so its checksum is in front.
    let older = "UPDATE @store.run SET data = substring(data FROM 5);
        UPDATE @store.revision SET record = substring(record FROM 5 FOR octet_length(record) - 8);
        UPDATE @store.chat SET metadata = substring(metadata FOR octet_length(metadata) - 4);
        UPDATE @store.fragment SET body = substring(body FOR octet_length(body) - 4);
        UPDATE @store.blob_piece SET data = substring(data FOR octet_length(data) - 4);
        UPDATE @store.stream_chunk SET data = substring(data FOR octet_length(data) - 4);
        UPDATE @store.memory SET body = substring(body FOR octet_length(body) - 4);
        UPDATE @store.memory_vector SET data = substring(data FOR octet_length(data) - 4);
        ALTER TABLE @store.memory_scope DROP COLUMN marks;
        ALTER TABLE @store.memory_mark DROP COLUMN sum;
        ALTER TABLE @store.checkpoint DROP COLUMN sum;
        DELETE FROM @store.stream_chunk WHERE n = -1;
        ALTER TABLE @store.stream DROP COLUMN sum, DROP COLUMN time_sum;
        ALTER TABLE @store.blob DROP COLUMN refs;
        ALTER TABLE @store.chat DROP COLUMN active_sum, DROP COLUMN time_sum, DROP COLUMN beside,
          DROP COLUMN lease_until, DROP COLUMN lease;
        DROP TABLE @store.fragment_version, @store.ref_change;
        ALTER TABLE @store.branch DROP COLUMN sum;
        ALTER TABLE @store.applied DROP COLUMN sum;
        ALTER TABLE @store.blob_ref DROP COLUMN sum, DROP COLUMN time_sum;
        DELETE FROM @store.context_migrations WHERE version >= 14";
    let mut connection = fixture.connection().await;
    fixture.run(&mut connection, older).await;
    let kinds = TrajectoryNodeKind::ALL.into_iter().map(TrajectoryNodeKind::lower);
    fixture.run(&mut connection, "ALTER TABLE @store.trajectory_round DROP COLUMN beside").await;
    for table in kinds.chain(["round", "edge", "version", "message"]) {
        let older = format!("ALTER TABLE @store.trajectory_{table} DROP COLUMN sum");
        fixture.run(&mut connection, &older).await;
    }
    let store = fixture.open().await;
    read(&store).await.unwrap();
    nothing_is_wrong(&store).await;
    fixture.drop().await;
}
