//! Stores of the previous version on servers: how they are reported, and that `context upgrade`
//! upgrades them.

use crate::command_table::Use;
use crate::others_data::uses_a_store;
use crate::server_fixture::{OwnRedis, Postgres, RefusalFixture, ServerFixture, on_store};

/// Removes the checksum in front of each packed message: four bytes, followed by the length and the
/// message.
fn without_checksums(run: &[u8]) -> Vec<u8> {
    let (mut older, mut at) = (Vec::new(), 0);
    while at < run.len() {
        let length = u32::from_le_bytes(run[at + 4..at + 8].try_into().expect("four bytes"));
        let end = at + 8 + usize::try_from(length).expect("in memory");
        older.extend(&run[at + 4..end]);
        at = end;
    }
    older
}

fn cut(sealed: &[u8]) -> Vec<u8> {
    sealed[..sealed.len() - 4].to_vec()
}

/// Nothing changes before the upgrade, which every reading command recommends.
#[track_caller]
fn is_looked_at_after_an_upgrade(
    refusals: &RefusalFixture,
    fixture: &dyn ServerFixture,
    (from, to): (&str, &str),
) {
    let url = fixture.url();
    let older = fixture.everything();
    for (_, usage, line) in uses_a_store() {
        if *usage == Use::Looks {
            let message = refusals.is_refused(line, &url, "unsupported");
            assert!(message.contains("context upgrade"), "{line}: {message}");
        }
    }
    let said = refusals.0.run(&on_store("chats", &url)).err;
    assert!(
        said.contains("nothing was changed · `context upgrade` brings the store up to date"),
        "{said}"
    );
    assert!(fixture.everything() == older);
    let record = |line: &str| {
        let ran = refusals.0.run(&format!("--json {}", on_store(line, &url)));
        assert_eq!(ran.status, 0, "{line}: {ran:?}");
        crate::harness::values(&ran.out).remove(0)
    };
    let upgraded = record("upgrade");
    let expected = ["upgraded", from, to].map(serde_json::Value::from);
    assert_eq!(["status", "from", "to"].map(|key| upgraded[key].clone()), expected);
    assert_eq!(record("chats")["chat"], "notes");
    assert_eq!(record("verify")["findings"], serde_json::json!([]));
    assert_eq!(record("upgrade")["status"], "unchanged");
}

fn import(refusals: &RefusalFixture, url: &str) {
    let imported = refusals.0.run(&on_store("import notes.json", url));
    assert_eq!(imported.status, 0, "{imported:?}");
}

#[test]
#[ignore = "needs PostgreSQL; `cargo xtask test` runs it"]
fn a_schema_of_an_older_version_is_looked_at_after_an_upgrade() {
    let fixture = Postgres::new("older");
    let refusals = RefusalFixture::new();
    import(&refusals, &fixture.url());
    fixture.with(&fixture.database, async |client| {
        for row in client.query("SELECT pos, data FROM shop.run", &[]).await.expect("runs") {
            let (pos, data): (i64, Vec<u8>) = (row.get(0), row.get(1));
            let update = "UPDATE shop.run SET data = $2 WHERE pos = $1";
            client.execute(update, &[&pos, &without_checksums(&data)]).await.expect("a run");
        }
        let older =
            "UPDATE shop.chat SET metadata = substring(metadata FOR octet_length(metadata) - 4);
            ALTER TABLE shop.chat DROP COLUMN lease_until, DROP COLUMN lease;
            DROP TABLE shop.fragment_version, shop.ref_change;
            DELETE FROM shop.context_migrations WHERE version >= 14";
        client.batch_execute(older).await.expect("an older schema");
        let columns = "SELECT table_name::text, column_name::text FROM information_schema.columns
            WHERE table_schema = 'shop'
              AND column_name IN ('sum', 'active_sum', 'time_sum', 'beside', 'refs', 'marks')";
        for row in client.query(columns, &[]).await.expect("columns") {
            let (table, column): (String, String) = (row.get(0), row.get(1));
            let drop = format!("ALTER TABLE shop.{table} DROP COLUMN {column}");
            client.batch_execute(&drop).await.expect("a column less");
        }
    });
    is_looked_at_after_an_upgrade(&refusals, &fixture, ("13", "19"));
    fixture.drop();
}

#[test]
#[ignore = "needs Redis; `cargo xtask test` runs it"]
fn keys_of_an_older_layout_are_looked_at_after_an_upgrade() {
    let fixture = OwnRedis::new();
    let refusals = RefusalFixture::new();
    import(&refusals, &fixture.url());
    let mut server = fixture.connection(0);
    let keys: Vec<String> = redis::cmd("KEYS").arg("*:chat2").query(&mut server).expect("keys");
    for key in keys {
        let fields: Vec<(String, Vec<u8>)> =
            redis::cmd("HGETALL").arg(&key).query(&mut server).expect("a chat");
        let mut records = 0;
        for (field, value) in &fields {
            let older = match (field.as_bytes()[0], field.len()) {
                (b'm' | b's' | b'x' | b'z', 1) => cut(value),
                // After eight letters and a space.
                (b'v' | b'o', 1) => value[9..].to_vec(),
                (b'n', _) => {
                    records += usize::from(value[0]);
                    [&value[..1], &without_checksums(&value[1..])].concat()
                }
                _ => continue,
            };
            let _set: u8 = redis::cmd("HSET")
                .arg(&key)
                .arg(field)
                .arg(older)
                .query(&mut server)
                .expect("a field");
        }
        // The byte count of the chat did not include checksums.
        let counts: String =
            redis::cmd("HGET").arg(&key).arg("a").query(&mut server).expect("counts");
        let mut counts: Vec<String> = counts[9..].split(' ').map(str::to_owned).collect();
        counts[1] = (counts[1].parse::<usize>().expect("a count") - 4 * records).to_string();
        let _set: u8 = redis::cmd("HSET")
            .arg(&key)
            .arg("a")
            .arg(counts.join(" "))
            .query(&mut server)
            .expect("counts");
        fixture.run(&format!("RENAME {key} {}", key.replace(":chat2", ":chat")));
    }
    fixture.run("DEL shop:{store}:layout");
    fixture.run("SET shop:{store}:handles 7");
    is_looked_at_after_an_upgrade(&refusals, &fixture, ("1", "3"));
}
