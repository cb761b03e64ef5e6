//! Tests of PostgreSQL.

use context_servers::{Postgres, PostgresOptions};
use tokio_postgres::{Client, NoTls};

use crate::exists;

fn start(durable: bool) -> Postgres {
    Postgres::start(PostgresOptions::new().durable(durable)).unwrap()
}

async fn client(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn setting(client: &Client, name: &str) -> String {
    client.query_one(&format!("SHOW {name}"), &[]).await.unwrap().get(0)
}

#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn what_was_committed_outlives_kill_minus_nine() {
    let mut server = start(true);
    let url = server.url("postgres");
    let before = server.id().unwrap();
    let connected = client(&url).await;
    assert_eq!(setting(&connected, "fsync").await, "on");
    assert_eq!(setting(&connected, "synchronous_commit").await, "on");
    connected.batch_execute("CREATE TABLE kept (n INT PRIMARY KEY)").await.unwrap();
    for n in 0..100 {
        connected.execute("INSERT INTO kept VALUES ($1)", &[&n]).await.unwrap();
    }
    connected.batch_execute("BEGIN; INSERT INTO kept VALUES (1000)").await.unwrap();
    let backend: i32 = connected.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);

    server.kill().unwrap();
    assert!(!exists(before), "the server is gone, and waited for");
    assert!(tokio_postgres::connect(&url, NoTls).await.is_err());
    server.restart().unwrap();

    assert_ne!(server.id(), Some(before));
    assert_eq!(server.url("postgres"), url, "the same address");
    let back = client(&url).await;
    let kept = back.query_one("SELECT count(*), max(n) FROM kept", &[]).await.unwrap();
    assert_eq!(
        (kept.get::<_, i64>(0), kept.get::<_, i32>(1)),
        (100, 99),
        "all that was committed, and no more"
    );
    assert!(
        connected.simple_query("SELECT 1").await.is_err(),
        "process {backend} did not outlive its server"
    );
}

#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn a_server_that_was_stopped_comes_back_and_one_that_runs_is_restarted() {
    let mut server = start(false);
    server.create_database("odd \"name\" ä").unwrap();
    let url = server.url("odd \"name\" ä");
    client(&url).await.batch_execute("CREATE TABLE kept (n INT)").await.unwrap();
    server.stop().unwrap();
    assert_eq!(server.id(), None);
    server.stop().unwrap();
    server.restart().unwrap();
    server.restart().unwrap();
    assert_eq!(setting(&client(&url).await, "fsync").await, "off");
    client(&url).await.batch_execute("INSERT INTO kept VALUES (1)").await.unwrap();
    let again = server.create_database("postgres").unwrap_err();
    assert_eq!(
        again.to_string(),
        "PostgreSQL refused a statement: database \"postgres\" already exists"
    );
}

#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn two_servers_do_not_meet_and_each_takes_its_folder_along() {
    let starting = [std::thread::spawn(|| start(false)), std::thread::spawn(|| start(false))];
    let [one, two] = starting.map(|thread| thread.join().unwrap());
    client(&one.url("postgres")).await.batch_execute("CREATE TABLE mine (n INT)").await.unwrap();
    client(&two.url("postgres")).await.batch_execute("CREATE TABLE mine (n INT)").await.unwrap();
    let (folder, other) = (one.folder().to_path_buf(), two.folder().to_path_buf());
    let id = one.id().unwrap();
    assert!(folder.exists());
    drop(one);
    assert!(!folder.exists() && !exists(id));
    assert!(other.exists());
    client(&two.url("postgres")).await.batch_execute("INSERT INTO mine VALUES (1)").await.unwrap();
}

#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn a_killed_server_takes_its_folder_along() {
    let mut server = start(false);
    server.kill().unwrap();
    let folder = server.folder().to_path_buf();
    drop(server);
    assert!(!folder.exists());
}

#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn the_socket_leads_to_the_same_server() {
    let server = start(false);
    let socket = server.socket_url("postgres");
    client(&server.url("postgres")).await.batch_execute("CREATE TABLE mine (n INT)").await.unwrap();
    // The driver of this test does not support `host` in the query of a URL.
    let (_, folder) = socket.split_once("?host=").unwrap();
    let port = server.address().port();
    let config =
        format!("host={} port={port} user=ctx dbname=postgres", folder.replace("%2F", "/"));
    client(&config).await.batch_execute("INSERT INTO mine VALUES (1)").await.unwrap();
}

#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn a_server_that_does_not_start_says_why() {
    let options = PostgresOptions::new().setting("max_connections", "many");
    let error = Postgres::start(options).unwrap_err().to_string();
    assert!(error.starts_with("PostgreSQL ended while it started"), "{error}");
    assert!(error.contains("invalid value for parameter \"max_connections\": \"many\""), "{error}");
}

#[tokio::test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
async fn a_synchronous_standby_has_what_was_acknowledged_and_takes_over() {
    let options = PostgresOptions::new().setting("synchronous_commit", "on");
    let mut primary = Postgres::start(options).unwrap();
    let standby = primary.synchronous_standby().unwrap();
    let connected = client(&primary.url("postgres")).await;
    connected.batch_execute("CREATE TABLE kept (n INT PRIMARY KEY)").await.unwrap();
    for n in 0..100 {
        connected.execute("INSERT INTO kept VALUES ($1)", &[&n]).await.unwrap();
    }
    let other = client(&standby.url("postgres")).await;
    assert!(other.execute("INSERT INTO kept VALUES (1000)", &[]).await.is_err(), "it only reads");
    primary.kill().unwrap();
    standby.promote().unwrap();
    let kept = other.query_one("SELECT count(*) FROM kept", &[]).await.unwrap();
    assert_eq!(kept.get::<_, i64>(0), 100);
    other.execute("INSERT INTO kept VALUES (1000)", &[]).await.unwrap();
    // The new primary takes a standby of its own.
    let next = standby.synchronous_standby().unwrap();
    other.execute("INSERT INTO kept VALUES (1001)", &[]).await.unwrap();
    drop((standby, next));
}
