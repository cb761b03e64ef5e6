//! Damages copies of a sound store, and of its export. Every read command must print the same
//! output as before, or fail with an error. `verify` must say where the damage is. `repair` must
//! save what is sound into a store that is sound, and leave the damaged one as it is.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::command::{CommandOutput, LIMIT, run_as_child, run_in_process, store_args};
use crate::damage::{pages, text};
use crate::random::SeededRandom;
use crate::scene::{EXPORT, Scene, read_commands, run_read_command};
use crate::settings::TortureSettings;
use crate::tally::Tally;
use crate::worker;

/// One in this many damaged files is read by one child process.
const PROCESSES: u64 = 50;
/// One in this many stores is read by all commands. The others are read by those that read all
/// content.
const THOROUGH: u64 = 10;
/// The number of commands that read all content.
const READERS: usize = 8;
/// One check in this many damages an export instead of a store, and another one files of rounds.
const EXPORTS: u64 = 10;

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    Ok(worker::share("damage", settings, settings.checks([20, 1_000, 10_000])))
}

pub(super) fn work(seed: u64, range: Range<u64>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let scene = Scene::new(folder.path())?;
    let sound: Vec<(Vec<String>, CommandOutput)> = read_commands()
        .into_iter()
        .map(|args| (args.clone(), run_read_command(&scene.store, &args)))
        .collect();
    for (args, output) in &sound {
        ensure!(output.succeeded, "a look at a sound store: {args:?}: {}", output.err());
    }
    let bytes = fs::read(&scene.store)?;
    let runs = folder.path().join("runs");
    let output = run_read_command(
        &scene.store,
        &words(&format!("trajectory export trip --format peer --output {}", runs.display())),
    );
    ensure!(output.succeeded, "files of rounds: {}", output.err());
    Ok(worker::work(range, |number| {
        let mut random = SeededRandom::of(seed, number);
        if number % EXPORTS == EXPORTS - 1 {
            return export(folder.path(), &scene, &mut random);
        }
        if number % EXPORTS == EXPORTS - 2 {
            return rounds(folder.path(), &runs, &mut random);
        }
        let mut copy = bytes.clone();
        let how = pages(&mut copy, &mut random);
        if copy == bytes {
            return Ok(());
        }
        let path = folder.path().join("damaged.db");
        let ready = clear(&path).and_then(|()| fs::write(&path, &copy));
        ready.map_err(|error| error.to_string())?;
        check(&path, &sound, number, folder.path()).map_err(|why| format!("{how}: {why}"))
    })?)
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

/// Removes a database and the files next to it.
fn clear(path: &Path) -> std::io::Result<()> {
    for end in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(format!("{}{end}", path.display())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Runs read commands on a damaged store.
fn check(
    path: &Path,
    sound: &[(Vec<String>, CommandOutput)],
    number: u64,
    folder: &Path,
) -> Result<(), String> {
    let count = if number.is_multiple_of(THOROUGH) { sound.len() } else { READERS };
    let mut differs = None;
    for (args, before) in &sound[..count] {
        let output = run_read_command(path, args);
        output.sound().map_err(|why| format!("{}: {why}", args.join(" ")))?;
        if output.succeeded && output.out != before.out {
            return Err(format!(
                "ALTERED, exit 0: {}{}",
                args.join(" "),
                first_difference(&before.out, &output.out)
            ));
        }
        if !output.succeeded {
            if output.err.is_empty() {
                return Err(format!("failed without a word: {}", args.join(" ")));
            }
            differs = Some(args.join(" "));
        }
    }
    let verified = run_in_process(store_args(path, &["verify"]));
    verified.sound().map_err(|why| format!("verify: {why}"))?;
    if let (Some(args), true) = (differs, verified.succeeded) {
        return Err(format!("`verify` calls it sound, and `{args}` fails"));
    }
    let said = String::from_utf8_lossy(&verified.out);
    if !verified.succeeded && !said.contains("broken  ") && verified.err.is_empty() {
        return Err("`verify` fails and says nowhere what is broken".to_owned());
    }
    repair(path, sound, folder)?;
    if number.is_multiple_of(PROCESSES) {
        run_as_child(&store_args(path, &EXPORT.split(' ').collect::<Vec<_>>()), folder, LIMIT)
            .sound()?;
    }
    Ok(())
}

/// Saves what is sound of a damaged store. The new store must be sound, and if nothing is lost, it
/// must have the same chats.
fn repair(
    path: &Path,
    sound: &[(Vec<String>, CommandOutput)],
    folder: &Path,
) -> Result<(), String> {
    let read = || fs::read(path).map_err(|error| error.to_string());
    let before = read()?;
    let new = folder.join("repaired.db");
    clear(&new).map_err(|error| error.to_string())?;
    let (damaged, saved) = (path.display().to_string(), new.display().to_string());
    let repaired = run_in_process(store_args(path, &["repair", &damaged, &saved]));
    repaired.sound().map_err(|why| format!("repair: {why}"))?;
    if read()? != before {
        return Err("`repair` changed the damaged store".to_owned());
    }
    // An empty file holds nothing to save.
    if before.is_empty() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&repaired.out);
    if !said.contains("saved: ") || repaired.succeeded == said.contains("lost  ") {
        return Err(format!("`repair` says {said} {}", repaired.err()));
    }
    let verified = run_in_process(store_args(&new, &["verify"]));
    if !verified.succeeded {
        let found = String::from_utf8_lossy(&verified.out);
        return Err(format!("the repaired store is unsound: {found} {}", verified.err()));
    }
    let whole = sound.iter().find(|(args, _)| args.join(" ") == EXPORT);
    if let (true, Some((args, before))) = (repaired.succeeded, whole) {
        let after = run_read_command(&new, args);
        if after.out != before.out {
            let difference = first_difference(&before.out, &after.out);
            return Err(format!("`repair` says that nothing is lost: {difference}"));
        }
    }
    Ok(())
}

fn first_difference(before: &[u8], after: &[u8]) -> String {
    let at = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let cut = |bytes: &[u8]| {
        let end = (at + 30).min(bytes.len());
        String::from_utf8_lossy(&bytes[at.saturating_sub(20).min(end)..end]).into_owned()
    };
    format!(" at byte {at}: {:?} became {:?}", cut(before), cut(after))
}

/// Imports a damaged export into a new store, which must be sound whether or not the import
/// succeeds.
fn export(folder: &Path, scene: &Scene, random: &mut SeededRandom) -> Result<(), String> {
    let mut lines = scene.lines.clone();
    let how = text(&mut lines, random);
    let (file, store) = (folder.join("damaged.jsonl"), folder.join("imported.db"));
    let ready = clear(&store).and_then(|()| fs::write(&file, &lines));
    ready.map_err(|error| error.to_string())?;
    taken(&store, &["import", "--from", "jsonl", &file.display().to_string()])
        .map_err(|why| format!("export, {how}: {why}"))
}

/// Imports files of rounds, one of which is damaged, into a new store, which must be sound whether
/// or not the import succeeds.
fn rounds(folder: &Path, runs: &Path, random: &mut SeededRandom) -> Result<(), String> {
    let (copy, store) = (folder.join("damaged-runs"), folder.join("imported.db"));
    let how = damaged_copy(runs, &copy, random).and_then(|how| clear(&store).map(|()| how));
    let how = how.map_err(|error| error.to_string())?;
    taken(&store, &["trajectory", "import", &copy.display().to_string(), "--session", "trip"])
        .map_err(|why| format!("rounds, {how}: {why}"))
}

/// Copies a folder and damages one file. Returns a description of the damage.
fn damaged_copy(from: &Path, to: &Path, random: &mut SeededRandom) -> std::io::Result<String> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir(to)?;
    let mut names = fs::read_dir(from)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<std::io::Result<Vec<_>>>()?;
    names.sort();
    for name in &names {
        let _ = fs::copy(from.join(name), to.join(name))?;
    }
    if names.is_empty() {
        return Err(std::io::Error::other("there are no files of rounds"));
    }
    let name = random.pick(&names);
    let mut bytes = fs::read(from.join(name))?;
    let how = text(&mut bytes, random);
    fs::write(to.join(name), bytes)?;
    Ok(format!("{}: {how}", name.display()))
}

/// Imports into a new store, which must be sound whether or not the import succeeds.
fn taken(store: &Path, args: &[&str]) -> Result<(), String> {
    let output = run_in_process(store_args(store, args));
    output.sound()?;
    if !output.succeeded && output.err.is_empty() {
        return Err("failed without a word".to_owned());
    }
    if !store.exists() {
        return Ok(());
    }
    let verified = run_in_process(store_args(store, &["verify"]));
    verified.sound()?;
    let said = || String::from_utf8_lossy(&verified.out).into_owned() + &verified.err();
    if verified.succeeded { Ok(()) } else { Err(format!("an unsound store: {}", said())) }
}
