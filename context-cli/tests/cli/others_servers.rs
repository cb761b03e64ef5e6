//! For every command: foreign databases, schemas and keys are left alone, and reading changes
//! nothing.

use crate::command_table::Use;
use crate::others_data::uses_a_store;
use crate::server_fixture::{OwnRedis, Postgres, RefusalFixture, ServerFixture, on_store};

/// Checks that every command is refused and changes nothing.
#[track_caller]
fn all_leave_it_alone(
    refusals: &RefusalFixture,
    fixture: &dyn ServerFixture,
    url: &str,
    name: &str,
) {
    let before = fixture.everything();
    for (_, _, line) in uses_a_store() {
        let message = refusals.is_refused(line, url, "unsupported");
        assert!(message.contains("of another program"), "{line} on {name}: {message}");
        assert!(fixture.everything() == before, "`{line}` changed {name}");
    }
    let said = refusals.0.run(&on_store("chats", url)).err;
    assert!(!said.contains("upgrade"), "neither the program nor the store is too old: {said}");
}

/// Checks that only commands that add data create the store, and all others report that there is
/// none.
#[track_caller]
fn only_some_make_it(
    refusals: &RefusalFixture,
    fixture: &dyn ServerFixture,
    url: &str,
    name: &str,
) {
    let before = fixture.everything();
    for (_, usage, line) in uses_a_store() {
        if *usage == Use::Makes {
            continue;
        }
        refusals.is_refused(line, url, "not_found");
        assert!(fixture.everything() == before, "`{line}` made something of {name}");
    }
    let said = refusals.0.run(&on_store("chats", url)).err;
    assert!(said.contains("context import` creates one"), "{said}");
}

/// Checks that reading changes nothing at all, and that creating a store keeps existing data.
#[track_caller]
fn looking_changes_nothing(refusals: &RefusalFixture, fixture: &dyn ServerFixture) {
    let url = fixture.url();
    let others = fixture.everything();
    // The test server does not persist data, and the command says so.
    let imported = refusals.0.run(&on_store("import notes.json", &url));
    assert_eq!(imported.status, 0, "{imported:?}");
    let still_there = |now: &[String]| others.iter().all(|line| now.contains(line));
    for (_, usage, line) in uses_a_store() {
        let before = fixture.everything();
        let ran = refusals.0.run(&on_store(line, &url));
        assert!(matches!(ran.status, 0 | 1), "{line}: {ran:?}");
        let now = fixture.everything();
        assert!(still_there(&now), "`{line}` changed what is not the store's");
        if *usage == Use::Looks {
            assert!(now == before, "`{line}` only looks");
        }
    }
}

#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn every_command_leaves_databases_and_schemas_of_others_as_they_are() {
    let fixture = Postgres::new("others");
    let refusals = RefusalFixture::new();
    let schemas = [
        ("chats", "CREATE TABLE chats.chat (no int); INSERT INTO chats.chat VALUES (7)"),
        ("views", "CREATE VIEW views.answers AS SELECT 42 AS answer"),
        (
            "records",
            "CREATE TABLE records.context_migrations (version bigint, checksum bytea);
             INSERT INTO records.context_migrations VALUES (14, '')",
        ),
    ];
    for (schema, sql) in schemas {
        fixture.run(&format!("CREATE SCHEMA {schema}; {sql}"));
    }
    for (schema, _) in schemas {
        all_leave_it_alone(&refusals, &fixture, &fixture.url_of(&fixture.database, schema), schema);
    }
    fixture.drop();
}

#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn a_database_or_schema_is_made_only_to_put_something_into_it() {
    let fixture = Postgres::new("mistyped");
    let refusals = RefusalFixture::new();
    fixture.run(
        "CREATE SCHEMA empty; CREATE TABLE public.invoice (total numeric); INSERT INTO invoice VALUES (1.5)",
    );
    let mistyped = format!("{}_mistyped", fixture.database);
    for (name, url) in [
        ("a database that is not there", fixture.url_of(&mistyped, "shop")),
        ("a schema that is not there", fixture.url()),
        ("an empty schema", fixture.url_of(&fixture.database, "empty")),
    ] {
        only_some_make_it(&refusals, &fixture, &url, name);
    }
    looking_changes_nothing(&refusals, &fixture);
    fixture.drop();
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn every_command_leaves_keys_of_others_as_they_are() {
    let fixture = OwnRedis::new();
    let refusals = RefusalFixture::new();
    for (prefix, command) in [
        ("chats:", "SET chats:{user}:chats 7"),
        ("layouts:", "RPUSH layouts:{store}:layout 2"),
        ("words:", "SET words:{store}:layout blue"),
    ] {
        fixture.run(command);
        let url = fixture.url().replace("shop:", prefix);
        all_leave_it_alone(&refusals, &fixture, &url, prefix);
    }
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn a_prefix_is_used_only_to_put_something_into_it() {
    let fixture = OwnRedis::new();
    let refusals = RefusalFixture::new();
    only_some_make_it(&refusals, &fixture, &fixture.url(), "an empty server");
    for command in ["SET shopping 7", "HSET shop:cart apples 3", "SET {store}:layout blue"] {
        fixture.run(command);
    }
    only_some_make_it(&refusals, &fixture, &fixture.url(), "a server with other keys");
    looking_changes_nothing(&refusals, &fixture);
}
