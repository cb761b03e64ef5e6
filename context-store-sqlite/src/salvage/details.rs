//! The names and numbers of what is lost, as indexes and counts of the file state them.

use context_core::trajectory::AgentRef;
use context_core::{ChatRef, UserId};
use context_store_kit::salvage::{Loss, LostKind, SalvageSink};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::chats::GONE;
use crate::error::Result;
use crate::sql::run;

/// Reports the chats that have branches, and neither a row nor an entry in the index.
pub(super) async fn unnamed_chats(
    connection: &mut SqliteConnection,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const UNNAMED: &str =
        "SELECT chat, count(*) FROM branch WHERE chat NOT IN (SELECT no FROM chat)
        GROUP BY chat ORDER BY chat";
    for row in run(connection, sqlx::query(UNNAMED)).await? {
        let (no, branches): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
        let loss = match no {
            // Set where neither the row of a branch nor the index says the chat.
            ..0 => {
                let why =
                    format!("the rows of {branches} branches are damaged: their chat is lost");
                Loss::new(LostKind::Branch, "", why)
            }
            _ => {
                let why = format!("its names are lost, so its {branches} branches are nobody's");
                Loss::new(LostKind::Chat, format!("number {no}"), why)
            }
        };
        sink.lose(loss);
    }
    Ok(())
}

/// Compares the numbers of rows of a chat with those that the file states.
pub(super) async fn compare_counts(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    checkpoints: usize,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const COUNTS: &str = "SELECT a, b, d, (SELECT count(*) FROM branch WHERE chat = ?1),
          (SELECT count(*) FROM blob_ref WHERE chat = ?1)
        FROM was_row WHERE kind = 'tally' AND no = ?1";
    for row in run(connection, sqlx::query(COUNTS).bind(no)).await? {
        let counted = [row.try_get::<i64, _>(3)?, checkpoints as i64, row.try_get::<i64, _>(4)?];
        let kinds = [LostKind::Branch, LostKind::Checkpoint, LostKind::Blob];
        for ((kind, counted), at) in kinds.into_iter().zip(counted).zip(0..) {
            let stated = row.try_get::<i64, _>(at).unwrap_or(counted);
            if stated > counted && stated - counted < i64::from(u32::MAX) {
                let why = format!("{} are lost with their names", stated - counted);
                sink.lose(Loss::new(kind, "", why).of_chat(chat));
            }
        }
    }
    for (kind, table, lost) in
        [("fragment", "fragment", LostKind::Fragment), ("stream", "stream", LostKind::Stream)]
    {
        let text = format!(
            "SELECT w.no, w.b FROM was_row w WHERE w.kind = '{kind}' AND w.a = ?1
               AND w.no NOT IN (SELECT no FROM {table}) ORDER BY w.no"
        );
        let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(no);
        for row in run(connection, query).await? {
            let number = format!("number {}", row.try_get::<i64, _>(0)?);
            let name = row.try_get::<Option<String>, _>(1).ok().flatten();
            sink.lose(Loss::new(lost, name.unwrap_or(number), GONE).of_chat(chat));
        }
    }
    Ok(())
}

/// Reports the revisions of messages whose rows are lost.
pub(super) async fn compare_revisions(
    connection: &mut SqliteConnection,
    no: i64,
    chat: &ChatRef,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const LOST: &str = "SELECT b, count(*) FROM was_row WHERE kind = 'revision' AND a = ?1
          AND typeof(b) = 'text' AND no NOT IN (SELECT no FROM revision) GROUP BY b ORDER BY b";
    for row in run(connection, sqlx::query(LOST).bind(no)).await? {
        let (id, lost): (&str, i64) = (row.try_get(0)?, row.try_get(1)?);
        let why = format!("{lost} earlier revisions are lost");
        sink.lose(Loss::new(LostKind::Revision, id, why).of_chat(chat));
    }
    Ok(())
}

/// Reports the rounds whose heads are lost.
pub(super) async fn lost_rounds(
    connection: &mut SqliteConnection,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const LOST: &str = "SELECT a, b, c, d FROM was_row WHERE kind = 'trajectory_round'
          AND typeof(a) = 'text' AND typeof(b) = 'text' AND typeof(c) = 'integer'
          AND typeof(d) = 'integer' AND no NOT IN (SELECT no FROM trajectory_round)
        ORDER BY a, b, c, d";
    for row in run(connection, sqlx::query(LOST)).await? {
        let numbers: (i64, i64) = (row.try_get(2)?, row.try_get(3)?);
        let (Ok(agent), Ok(round)) = (u32::try_from(numbers.0), u32::try_from(numbers.1)) else {
            continue;
        };
        let agent = AgentRef::new(row.try_get::<&str, _>(0)?, row.try_get::<&str, _>(1)?, agent);
        let loss = Loss::new(LostKind::Round, agent.clone().round(round), GONE);
        sink.lose(loss.of_user(&agent.user));
    }
    Ok(())
}

/// Reports the memory records whose rows are lost.
pub(super) async fn lost_memories(
    connection: &mut SqliteConnection,
    sink: &mut dyn SalvageSink,
) -> Result<()> {
    const LOST: &str = "SELECT s.user, w.b FROM was_row w LEFT JOIN memory_scope s ON s.no = w.a
        WHERE w.kind = 'memory' AND typeof(w.b) = 'text'
          AND w.no NOT IN (SELECT place FROM memory) ORDER BY w.no";
    for row in run(connection, sqlx::query(LOST)).await? {
        let loss = Loss::new(LostKind::Memory, row.try_get::<&str, _>(1)?, GONE);
        let user: Option<&str> = row.try_get(0)?;
        sink.lose(match user {
            Some(user) => loss.of_user(&UserId::from(user)),
            None => loss,
        });
    }
    Ok(())
}
