//! The part of the migration to checksums that SQL cannot do: every value gets its checksum, a few
//! rows at a time, in the transaction of the migration. Rows that cannot be read stay as they are,
//! and reading them later returns an error.

use context_core::base::{BlobId, StreamId};
use context_core::store::{Checkpoint, KeyOrder};
use context_core::trajectory::AgentRef;
use context_core::{ChatRef, MessageId, Timestamp};
use context_store_kit::pack;
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Row};

use crate::error::Result;
use crate::rounds::read::number;
use crate::sql::rounds;
use crate::values::rows::{optional_text, text};
use crate::{checksums, streams};

/// The number of rows read at once.
const BATCH: i64 = 64;

/// A table whose values get a checksum. Its rows are ordered by two numbers that identify them.
struct SealedColumn<'a> {
    table: &'a str,
    column: &'static str,
    /// A column, and an expression, which may be constant.
    key: [&'static str; 2],
    /// The columns read after the key, and the tables they come from.
    select: &'a str,
    from: &'a str,
    value: &'a (dyn Fn(&PgRow) -> Result<Vec<u8>> + Sync),
}

const TABLES: [SealedColumn<'static>; 12] = [
    SealedColumn {
        table: "run",
        column: "data",
        key: ["pos", "0::bigint"],
        select: "t.data",
        from: "run t",
        value: &|row| Ok(pack::upgrade(row.try_get(2)?)?),
    },
    SealedColumn {
        table: "revision",
        column: "record",
        key: ["no", "0::bigint"],
        select: "t.record, t.id, t.replaced_at",
        from: "revision t",
        value: &|row| {
            let replaced_at = Timestamp::from_micros(row.try_get(4)?);
            let record = pack::upgrade(row.try_get(2)?)?;
            Ok(checksums::revision(&MessageId::from(text(row, 3)?), replaced_at).seal(record))
        },
    },
    SealedColumn {
        table: "chat",
        column: "metadata",
        key: ["no", "0::bigint"],
        select: "t.metadata, t.user_id, t.id, t.title, t.created_at",
        from: "chat t",
        value: &|row| {
            let chat = ChatRef::new(text(row, 3)?, text(row, 4)?);
            let created_at = Timestamp::from_micros(row.try_get(6)?);
            Ok(checksums::chat(&chat, optional_text(row, 5)?, created_at).seal(row.try_get(2)?))
        },
    },
    SealedColumn {
        table: "chat",
        column: "active_sum",
        key: ["no", "0::bigint"],
        select: "t.user_id, t.id, t.active",
        from: "chat t",
        value: &|row| {
            Ok(checksums::active(&ChatRef::new(text(row, 2)?, text(row, 3)?), text(row, 4)?))
        },
    },
    SealedColumn {
        table: "branch",
        column: "sum",
        key: ["no", "0::bigint"],
        select: "t.chat, t.name, t.parent, t.base, t.created_at",
        from: "branch t",
        value: &|row| {
            let (fork, created_at) =
                ((row.try_get(4)?, row.try_get(5)?), Timestamp::from_micros(row.try_get(6)?));
            Ok(checksums::branch(row.try_get(2)?, optional_text(row, 3)?, fork, created_at))
        },
    },
    SealedColumn {
        table: "fragment",
        column: "body",
        key: ["no", "0::bigint"],
        select: "t.body, t.id, t.kind, t.version, t.metadata",
        from: "fragment t",
        value: &|row| {
            let id = optional_text(row, 3)?;
            let seal = checksums::fragment(id, text(row, 4)?, row.try_get(5)?, row.try_get(6)?);
            Ok(seal.seal(row.try_get(2)?))
        },
    },
    SealedColumn {
        table: "blob_piece",
        column: "data",
        key: ["blob", "t.n"],
        select: "t.data, b.hash",
        from: "blob_piece t JOIN blob b ON b.no = t.blob",
        value: &|row| {
            let blob: BlobId = crate::blobs::id_of(row.try_get(3)?)?;
            Ok(checksums::piece(&blob, row.try_get(1)?).seal(row.try_get(2)?))
        },
    },
    SealedColumn {
        table: "stream_chunk",
        column: "data",
        key: ["stream", "t.n"],
        select: "t.data, s.id",
        from: "stream_chunk t JOIN stream s ON s.no = t.stream",
        value: &|row| {
            Ok(checksums::chunk(&StreamId::from(text(row, 3)?), row.try_get(1)?)
                .seal(row.try_get(2)?))
        },
    },
    SealedColumn {
        table: "stream",
        column: "sum",
        key: ["no", "0::bigint"],
        select:
            "t.id, t.state, t.run, t.writer, t.chunks, t.bytes, t.error, t.created_at, t.started_at,
            t.cancel_requested_at, t.finished_at, t.updated_at",
        from: "stream t",
        value: &|row| Ok(checksums::stream(&streams::unchecked(row, 2)?)),
    },
    SealedColumn {
        table: "blob_ref",
        column: "sum",
        key: ["chat", "t.blob"],
        select: "t.hash, t.media_type, t.created_at",
        from: "blob_ref t",
        value: &|row| {
            let blob = crate::blobs::id_of(row.try_get(2)?)?;
            let created_at = Timestamp::from_micros(row.try_get(4)?);
            Ok(checksums::reference(row.try_get(0)?, &blob, optional_text(row, 3)?, created_at))
        },
    },
    SealedColumn {
        table: "memory_vector",
        column: "data",
        key: ["place", "0::bigint"],
        select: "t.data, t.model",
        from: "memory_vector t",
        value: &|row| Ok(checksums::vector(row.try_get(0)?, text(row, 3)?).seal(row.try_get(2)?)),
    },
    SealedColumn {
        table: "memory",
        column: "body",
        key: ["place", "0::bigint"],
        select: "t.body, t.version",
        from: "memory t",
        value: &|row| Ok(checksums::memory(row.try_get(0)?, row.try_get(3)?).seal(row.try_get(2)?)),
    },
];

/// Adds checksums to all rows of the schema in the search path.
pub(crate) async fn seal_all(connection: &mut PgConnection) -> Result<()> {
    for table in &TABLES {
        table.seal(connection).await?;
    }
    for (row_kind, end) in rounds::TABLES.iter() {
        trajectories(connection, *row_kind, end).await?;
    }
    checkpoints(connection).await
}

/// Adds checksums to the rows of trajectories of one kind.
async fn trajectories(connection: &mut PgConnection, row_kind: i16, end: &str) -> Result<()> {
    const PROBLEM: &str = "a round cannot be read";
    let key = match row_kind {
        rounds::HEAD => ["no", "0::bigint"],
        rounds::EDGE => ["round", "t.position"],
        rounds::VERSION => ["round", "((t.ordinal << 32) + t.number)"],
        rounds::MESSAGE => ["round", "((t.ordinal << 32) + t.position)"],
        _ => ["round", "t.ordinal"],
    };
    let (table, columns) = (format!("trajectory_{end}"), rounds::columns(row_kind));
    let round = if row_kind == rounds::HEAD { "no" } else { "round" };
    let sealed = SealedColumn {
        table: &table,
        column: "sum",
        key,
        select: &format!("{columns}, r.user_id, r.session, r.agent::bigint, r.round::bigint"),
        from: &format!("{table} t JOIN trajectory_round r ON r.no = t.{round}"),
        value: &|row| {
            let agent = AgentRef::new(text(row, 16)?, text(row, 17)?, number(row, 18, PROBLEM)?);
            checksums::rounds::of_row(row_kind, &agent.round(number(row, 19, PROBLEM)?), row)
        },
    };
    sealed.seal(connection).await
}

impl SealedColumn<'_> {
    async fn seal(&self, connection: &mut PgConnection) -> Result<()> {
        let Self { table, column, key: [first, second], select, from, .. } = *self;
        // Only constants of this file are inserted.
        let read = format!(
            "SELECT t.{first}, {second}, {select} FROM {from}
             WHERE t.{first} >= $1 AND (t.{first}, {second}) > ($1, $2) ORDER BY 1, 2 LIMIT {BATCH}"
        );
        let write = format!(
            "UPDATE {table} t SET {column} = i.value FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) i (one, two, value)
             WHERE t.{first} = i.one AND {second} = i.two"
        );
        let mut order = KeyOrder::new("open", "row");
        let mut after = (i64::MIN, i64::MIN);
        loop {
            let rows = sqlx::query(AssertSqlSafe(read.clone()))
                .persistent(false)
                .bind(after.0)
                .bind(after.1);
            let rows = rows.fetch_all(&mut *connection).await?;
            if rows.is_empty() {
                return Ok(());
            }
            let (mut ones, mut twos, mut values) = (Vec::new(), Vec::new(), Vec::new());
            for row in &rows {
                after = (row.try_get(0)?, row.try_get(1)?);
                order.next(after).map_err(|error| error.with("table", table))?;
                if let Ok(value) = (self.value)(row) {
                    ones.push(after.0);
                    twos.push(after.1);
                    values.push(value);
                }
            }
            let write = sqlx::query(AssertSqlSafe(write.clone()))
                .persistent(false)
                .bind(ones)
                .bind(twos)
                .bind(values);
            write.execute(&mut *connection).await?;
        }
    }
}

/// Adds checksums to checkpoints, which are few and have a column for it.
async fn checkpoints(connection: &mut PgConnection) -> Result<()> {
    let read = "SELECT chat, name, message, created_at FROM checkpoint";
    let (mut chats, mut names, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for row in sqlx::query(read).persistent(false).fetch_all(&mut *connection).await? {
        let (Ok(name), Ok(message)) = (text(&row, 1), text(&row, 2)) else { continue };
        let created_at = Timestamp::from_micros(row.try_get(3)?);
        sums.push(checksums::checkpoint(&Checkpoint::new(name.into(), message.into(), created_at)));
        chats.push(row.try_get::<i64, _>(0)?);
        names.push(row.try_get::<Vec<u8>, _>(1)?);
    }
    let write = "UPDATE checkpoint c SET sum = i.sum FROM unnest($1::bigint[], $2::bytea[], $3::bigint[]) i (chat, name, sum)
        WHERE c.chat = i.chat AND c.name = i.name";
    sqlx::query(write)
        .persistent(false)
        .bind(chats)
        .bind(names)
        .bind(sums)
        .execute(connection)
        .await?;
    Ok(())
}
