//! Fragments, blobs and streams of a chat in a damaged file.

use bytes::BytesMut;
use context_core::base::BlobId;
use context_core::store::{NewBlob, StoredFragment};
use context_core::{ChatRef, Encoded, Timestamp};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink, SalvagedPiece};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use crate::error::{Fault, Result};
use crate::sql::{self, run};
use crate::streams::stream_of;
use crate::values::rows::{blob, metadata_from};

/// The number of places reserved for the pieces of one blob and the chunks of one stream, as bits.
const BLOB_BITS: u32 = 16;
const STREAM_BITS: u32 = 24;

pub(super) async fn fragments(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const FRAGMENTS: &str =
        "SELECT no, id, kind, version, metadata, body FROM fragment WHERE chat = ?1 ORDER BY no";
    for row in run(connection, sqlx::query(FRAGMENTS).bind(no)).await? {
        let number: i64 = row.try_get(0)?;
        let id = row.try_get::<Option<String>, _>(1)?;
        let shown = id.clone().unwrap_or(format!("number {number}"));
        let (kind, version): (String, i64) = (row.try_get(2)?, row.try_get(3)?);
        match (metadata_from(row.try_get(4)?), u16::try_from(version)) {
            (Ok(metadata), Ok(version)) => {
                let body = Encoded::new(kind, version, blob(row, 5)?);
                let fragment = StoredFragment { id: id.map(Into::into), metadata, body };
                sink.take(SalvagedPiece::Fragment(fragment)).await?;
            }
            _ => {
                let why = "its metadata cannot be read";
                sink.lose(Loss::new(LostKind::Fragment, shown, why).of_chat(chat));
            }
        }
    }
    Ok(())
}

pub(super) async fn blobs(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const REFERENCES: &str = "SELECT hash, blob, media_type, created_at, used_at FROM blob_ref
        WHERE chat = ?1 ORDER BY created_at, hash";
    const PIECES: &str = "SELECT data FROM blob_piece WHERE pos BETWEEN ?1 << ?2 AND ((?1 + 1) << ?2) - 1 ORDER BY pos";
    for row in run(connection, sqlx::query(REFERENCES).bind(no)).await? {
        let Ok(hash) = <[u8; 32]>::try_from(row.try_get::<&[u8], _>(0)?) else { continue };
        let number: i64 = row.try_get(1)?;
        let mut bytes = BytesMut::new();
        for row in run(connection, sqlx::query(PIECES).bind(number).bind(BLOB_BITS)).await? {
            bytes.extend_from_slice(row.try_get(0)?);
        }
        let id = BlobId::of(&bytes);
        if *id.as_bytes() != hash {
            let shown: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            let why = "its bytes are damaged";
            sink.lose(Loss::new(LostKind::Blob, shown, why).of_chat(chat));
            continue;
        }
        let created_at = Timestamp::from_micros(row.try_get(3)?);
        let mut new = NewBlob::new(bytes.freeze(), created_at);
        new.media_type = row.try_get(2)?;
        let used_at = Timestamp::from_micros(row.try_get(4)?);
        sink.take(SalvagedPiece::Blob(new, used_at)).await?;
    }
    Ok(())
}

/// Reads the streams. A stream with a lost chunk ends in front of it.
pub(super) async fn streams(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const CHUNKS: &str = "SELECT pos & ((1 << ?2) - 1), data FROM stream_chunk
        WHERE pos BETWEEN ?1 << ?2 AND ((?1 + 1) << ?2) - 1 ORDER BY pos";
    let text = sql::STREAMS.replace("s.id > ?2 ", "?2 = '' ").replace("LIMIT ?3", "LIMIT -1");
    let rows = run(connection, sqlx::query(AssertSqlSafe(text)).bind(no).bind("")).await?;
    for row in rows {
        let stream = match stream_of(&row) {
            Ok(stream) => stream,
            Err(Fault::Corrupt(why, _)) => {
                let name: Option<String> = row.try_get(1)?;
                let loss = Loss::new(LostKind::Stream, name.unwrap_or_default(), why);
                sink.lose(loss.of_chat(chat));
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let number: i64 = row.try_get(0)?;
        let mut chunks = Vec::new();
        for row in run(connection, sqlx::query(CHUNKS).bind(number).bind(STREAM_BITS)).await? {
            if row.try_get::<i64, _>(0)? != chunks.len() as i64 {
                break;
            }
            chunks.push(blob(row, 1)?);
        }
        if (chunks.len() as u64) < stream.chunks {
            let why =
                format!("its chunks from number {} of {} on are lost", chunks.len(), stream.chunks);
            sink.lose(Loss::new(LostKind::Stream, &stream.id, why).of_chat(chat));
        }
        sink.take(SalvagedPiece::Stream(stream, chunks)).await?;
    }
    Ok(())
}
