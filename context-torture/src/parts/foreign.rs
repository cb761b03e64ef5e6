//! Files of other programs: every command leaves them unchanged, creates no file and fails.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::command::{CommandOutput, run_in_process, store_args};
use crate::scene::Scene;
use crate::settings::TortureSettings;
use crate::table::{COMMANDS, Use, filled};
use crate::tally::Tally;

/// A few commands of each kind, for a run of seconds.
const FEW: [&str; 6] = ["chats", "verify", "vacuum", "export", "memory add", "import"];

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = Tally::default();
    let folder = tempfile::tempdir()?;
    let scene = Scene::new(folder.path())?;
    let file = folder.path().join("trip.json").display().to_string();
    let few = settings.checks([1, 2, 2]) == 1;
    for (name, create) in FILES {
        for (command, usage, line) in COMMANDS {
            // A command that creates a store may do so where there is no file.
            if few && !FEW.contains(command) || name == "no file" && *usage == Use::Makes {
                continue;
            }
            let (place, elsewhere) = (tempfile::tempdir()?, tempfile::tempdir()?);
            let path = place.path().join("other.db");
            create(&path, &scene).with_context(|| format!("{name} cannot be made"))?;
            let before = bytes(place.path())?;
            let store = format!("sqlite:{}", path.display());
            let args = filled(line, &store, &file, elsewhere.path());
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let output = run_in_process(store_args(&path, &args));
            tally.count(
                format_args!("{line} of {name}"),
                judged(&output, *usage, &before, &bytes(place.path())?),
            );
        }
    }
    Ok(tally)
}

fn judged(
    output: &CommandOutput,
    usage: Use,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
) -> Result<(), String> {
    output.sound()?;
    if before != after {
        let names: Vec<_> =
            after.keys().filter(|name| before.get(*name) != after.get(*name)).collect();
        return Err(format!("changed or made {names:?}"));
    }
    // A command that opens no store has nothing to refuse.
    if output.succeeded && usage != Use::None { Err("exit 0".to_owned()) } else { Ok(()) }
}

/// Returns the contents of a folder.
fn bytes(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let entries = fs::read_dir(folder)?;
    entries
        .map(|entry| {
            let path = entry?.path();
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            let bytes = if path.is_dir() { Vec::new() } else { fs::read(&path)? };
            Ok((name, bytes))
        })
        .collect()
}

type CreateFile = fn(&Path, &Scene) -> Result<()>;

/// Files of other programs.
const FILES: [(&str, CreateFile); 9] = [
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
    let _: String =
        other.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |row| row.get(0))?;
    other.execute_batch(
        "CREATE TABLE bills (id INTEGER PRIMARY KEY, who TEXT, pays INTEGER);
         INSERT INTO bills (who, pays) VALUES ('Ines', 100), ('Bob', 200);
         CREATE INDEX of_whom ON bills (who);",
    )?;
    Ok(())
}
