//! Files that are not ours: every look leaves each byte as it was and makes no file; commands that write do so too.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::command::{Ran, inside, on};
use crate::scene::{Scene, looks};
use crate::settings::Settings;
use crate::tally::Tally;

/// Commands that write, and must not here.
const WRITERS: [&str; 9] = [
    "vacuum",
    "delete trip --yes",
    "erase local --yes",
    "retain --older-than 1d",
    "checkpoint trip x",
    "rewind trip m1",
    "redact trip m1",
    "memory add text",
    "spill prune --older-than 1d",
];
/// More commands that look.
const MORE: [&str; 5] = [
    "verify",
    "spill list trip",
    "streams list trip",
    "diff trip main main",
    "retain --older-than 1d --dry-run",
];

pub(super) fn run(settings: &Settings) -> Result<Tally> {
    let mut tally = Tally::default();
    let folder = tempfile::tempdir()?;
    let scene = Scene::new(folder.path())?;
    let split = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut commands: Vec<_> = looks().into_iter().chain(MORE.into_iter().map(split)).collect();
    commands.extend(WRITERS.into_iter().map(split));
    if settings.checks([1, 2, 2]) == 1 {
        commands
            .retain(|args| matches!(args[0].as_str(), "chats" | "verify" | "vacuum" | "export" | "memory"));
    }
    for (name, make) in FILES {
        for args in &commands {
            // What writes makes a store where there is none.
            if name == "no file" && args.starts_with(&["memory".to_owned(), "add".to_owned()]) {
                continue;
            }
            let place = tempfile::tempdir()?;
            let path = place.path().join("other.db");
            make(&path, &scene).with_context(|| format!("{name} cannot be made"))?;
            let before = bytes(place.path())?;
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let ran = inside(on(&path, &args));
            let result = judged(&ran, &before, &bytes(place.path())?);
            tally.count(format_args!("{} of {name}", args.join(" ")), result);
        }
    }
    Ok(tally)
}

fn judged(
    ran: &Ran,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
) -> Result<(), String> {
    ran.sound()?;
    if before != after {
        let names: Vec<_> = after.keys().filter(|name| before.get(*name) != after.get(*name)).collect();
        return Err(format!("changed or made {names:?}"));
    }
    if ran.succeeded { Err("exit 0".to_owned()) } else { Ok(()) }
}

/// What is in a folder.
fn bytes(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let entries = fs::read_dir(folder)?;
    entries
        .map(|entry| {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path)? };
            Ok((name, bytes))
        })
        .collect()
}

type Make = fn(&Path, &Scene) -> Result<()>;

/// Files of others.
const FILES: [(&str, Make); 9] = [
    ("no file", |_, _| Ok(())),
    ("an empty file", |path, _| Ok(fs::write(path, b"")?)),
    ("a text", |path, _| Ok(fs::write(path, "Ines pays 100.\n".repeat(400))?)),
    ("zeros", |path, _| Ok(fs::write(path, vec![0; 8192])?)),
    ("a folder", |path, _| Ok(fs::create_dir(path)?)),
    ("a database of somebody else", |path, _| database(path, "DELETE")),
    ("a database of somebody else that keeps a log", |path, _| database(path, "WAL")),
    ("a store of ours cut in half", |path, scene| {
        let bytes = fs::read(&scene.store)?;
        Ok(fs::write(path, &bytes[..bytes.len() / 2])?)
    }),
    ("a store whose application id is another", |path, scene| {
        let mut bytes = fs::read(&scene.store)?;
        bytes.get_mut(68..72).context("a database has a head")?.copy_from_slice(b"else");
        Ok(fs::write(path, bytes)?)
    }),
];

fn database(path: &Path, journal: &str) -> Result<()> {
    let other = Connection::open(path)?;
    let _: String = other.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |row| row.get(0))?;
    other.execute_batch(
        "CREATE TABLE bills (id INTEGER PRIMARY KEY, who TEXT, pays INTEGER);
         INSERT INTO bills (who, pays) VALUES ('Ines', 100), ('Bob', 200);
         CREATE INDEX of_whom ON bills (who);",
    )?;
    Ok(())
}
