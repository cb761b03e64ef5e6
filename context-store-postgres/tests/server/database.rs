//! The database is created when a store is opened for the first time, if the role may create one.

use context_core::{ErrorKind, Retry, Store};
use context_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::task::JoinSet;

use crate::fixture::{StoreFixture, chat, nothing_is_wrong};

fn config(options: &PgConnectOptions) -> PostgresConfig {
    let url = options.to_url_lossy().to_string();
    PostgresConfig::from_url(url.split('?').next().unwrap()).unwrap().connections(1)
}

pub(crate) async fn it_is_made_by_the_first_of_those_that_open_it() {
    let fixture = StoreFixture::new();
    let name = format!("{} \"made\"", fixture.schema);
    let options = fixture.url.parse::<PgConnectOptions>().unwrap().database(&name);
    let error = PostgresStore::open(config(&options).create_database(false)).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ErrorKind::NotFound, "the database does not exist")
    );
    let error = PostgresStore::open(config(&options).create(false)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let mut opening = JoinSet::new();
    for _ in 0..4 {
        opening.spawn(PostgresStore::open(config(&options)));
    }
    for store in opening.join_all().await {
        let store = store.unwrap();
        chat(&store, "ada").await;
        nothing_is_wrong(&store).await;
        assert!(store.trajectories().is_some());
        store.close().await.unwrap();
    }
    let mut connection = fixture.connection().await;
    fixture.run(&mut connection, &format!("DROP DATABASE \"{}\"", name.replace('"', "\"\""))).await;
    fixture.drop().await;
}

pub(crate) async fn a_role_that_may_not_make_it_is_told_what_to_do() {
    let fixture = StoreFixture::new();
    let mut connection = fixture.connection().await;
    let role = format!("{}_poor", fixture.schema);
    fixture.run(&mut connection, &format!("CREATE ROLE {role} LOGIN PASSWORD 'hunter2'")).await;
    let options =
        fixture.url.parse::<PgConnectOptions>().unwrap().username(&role).password("hunter2");
    let error = PostgresStore::open(config(&options.database("not there"))).await.unwrap_err();
    assert_eq!((error.kind(), error.get("database")), (ErrorKind::Unavailable, Some("not there")));
    assert_eq!(error.retry(), Retry::Never, "the role gets no attribute by waiting");
    let message = error.to_string();
    assert!(
        message.contains("give the role the attribute CREATEDB") && !message.contains("hunter2"),
        "{message}"
    );
    fixture.run(&mut connection, &format!("DROP ROLE {role}")).await;
    fixture.drop().await;
}
