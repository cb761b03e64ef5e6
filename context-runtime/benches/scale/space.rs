//! The bytes and the upkeep of a schema, as the server counts them.

use std::time::Instant;

use tokio_postgres::Client;

/// Bytes of the relations of a schema.
#[derive(Clone, Copy)]
pub(crate) struct Space {
    pub(crate) tables: f64,
    pub(crate) indexes: f64,
    /// Values that are too large for a row of a table, with their index.
    pub(crate) beside: f64,
}

const SPACE: &str =
    "SELECT sum(pg_relation_size(c.oid))::float8, sum(pg_indexes_size(c.oid))::float8,
    sum(coalesce(pg_total_relation_size(nullif(c.reltoastrelid, 0)), 0))::float8
    FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r'";

const TABLES: &str =
    "SELECT relname::text FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relkind = 'r'";

impl Space {
    pub(crate) async fn of(client: &Client, schema: &str) -> Self {
        let row = client.query_one(SPACE, &[&schema]).await.unwrap();
        Self { tables: row.get(0), indexes: row.get(1), beside: row.get(2) }
    }

    pub(crate) fn total(self) -> f64 {
        self.tables + self.indexes + self.beside
    }
}

/// Vacuums and analyses each table of a schema. Returns the seconds of all of them and of the one
/// that took longest.
pub(crate) async fn vacuum(client: &Client, schema: &str) -> (f64, f64) {
    let (mut all, mut longest) = (0.0_f64, 0.0_f64);
    for row in client.query(TABLES, &[&schema]).await.unwrap() {
        let (table, begun): (String, _) = (row.get(0), Instant::now());
        let statement = format!("VACUUM (ANALYZE) \"{schema}\".\"{table}\"");
        client.batch_execute(&statement).await.unwrap();
        let seconds = begun.elapsed().as_secs_f64();
        (all, longest) = (all + seconds, longest.max(seconds));
    }
    (all, longest)
}
