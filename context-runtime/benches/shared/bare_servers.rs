//! Connections to servers without the library, and the removal of what a benchmark wrote to them.

use redis::AsyncCommands;
use redis::aio::MultiplexedConnection;
use tokio_postgres::{Client, NoTls};

pub(crate) async fn postgres(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(async move { connection.await.unwrap() });
    client
}

/// Drops the schemas with this prefix.
pub(crate) async fn clear_postgres(url: &str, prefix: &str) {
    let client = postgres(url).await;
    let sql = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, $1)";
    for row in client.query(sql, &[&prefix]).await.unwrap() {
        let schema: String = row.get(0);
        client.batch_execute(&format!("DROP SCHEMA \"{schema}\" CASCADE")).await.unwrap();
    }
}

pub(crate) async fn redis(url: &str) -> MultiplexedConnection {
    redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap()
}

/// Removes the keys with this prefix, some at a time: no single command takes long, also after a
/// run that wrote gigabytes.
pub(crate) async fn clear_redis(url: &str, prefix: &str) {
    let (mut connection, mut cursor) = (redis(url).await, 0_u64);
    loop {
        let mut scan = redis::cmd("SCAN");
        scan.arg(cursor).arg("MATCH").arg(format!("{prefix}*")).arg("COUNT").arg(1_000);
        let (next, keys): (u64, Vec<Vec<u8>>) = scan.query_async(&mut connection).await.unwrap();
        if !keys.is_empty() {
            let _removed: u64 = connection.unlink(keys).await.unwrap();
        }
        if next == 0 {
            return;
        }
        cursor = next;
    }
}
