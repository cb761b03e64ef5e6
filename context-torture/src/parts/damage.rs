//! Copies of a sound store, and of its export, are damaged: every look says what it said before, or fails and says so.

use std::fs;
use std::ops::Range;
use std::path::Path;

use anyhow::{Result, ensure};

use crate::command::{LIMIT, Ran, inside, on, outside};
use crate::damage::{pages, text};
use crate::random::Random;
use crate::scene::{EXPORT, Scene, look, looks};
use crate::settings::Settings;
use crate::tally::Tally;
use crate::worker;

/// One look in so many damaged files is a process of its own.
const PROCESSES: u64 = 50;
/// All looks are taken of one in so many; of the others those that read all content.
const THOROUGH: u64 = 10;
/// How many looks read all content.
const READERS: usize = 8;
/// One check in so many damages an export in place of a store.
const EXPORTS: u64 = 10;

pub(super) fn run(settings: &Settings) -> Result<Tally> {
    Ok(worker::share("damage", settings, settings.checks([20, 1_000, 10_000])))
}

pub(super) fn work(seed: u64, range: Range<u64>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let scene = Scene::new(folder.path())?;
    let sound: Vec<(Vec<String>, Ran)> =
        looks().into_iter().map(|args| (args.clone(), look(&scene.store, &args))).collect();
    for (args, ran) in &sound {
        ensure!(ran.succeeded, "a look at a sound store: {args:?}: {}", ran.err());
    }
    let bytes = fs::read(&scene.store)?;
    Ok(worker::work(range, |number| {
        let mut random = Random::of(seed, number);
        if number % EXPORTS == EXPORTS - 1 {
            return export(folder.path(), &scene, &mut random);
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

/// Removes a database and what stands beside it.
fn clear(path: &Path) -> std::io::Result<()> {
    for end in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(format!("{}{end}", path.display())) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Takes looks at a damaged store.
fn check(path: &Path, sound: &[(Vec<String>, Ran)], number: u64, folder: &Path) -> Result<(), String> {
    let count = if number.is_multiple_of(THOROUGH) { sound.len() } else { READERS };
    let mut differs = None;
    for (args, before) in &sound[..count] {
        let ran = look(path, args);
        ran.sound().map_err(|why| format!("{}: {why}", args.join(" ")))?;
        if ran.succeeded && ran.out != before.out {
            return Err(format!(
                "ALTERED, exit 0: {}{}",
                args.join(" "),
                first_difference(&before.out, &ran.out)
            ));
        }
        if !ran.succeeded {
            if ran.err.is_empty() {
                return Err(format!("failed without a word: {}", args.join(" ")));
            }
            differs = Some(args.join(" "));
        }
    }
    let verified = inside(on(path, &["verify"]));
    verified.sound().map_err(|why| format!("verify: {why}"))?;
    if let (Some(args), true) = (differs, verified.succeeded) {
        return Err(format!("`verify` calls it sound, and `{args}` fails"));
    }
    if number.is_multiple_of(PROCESSES) {
        outside(&on(path, &EXPORT.split(' ').collect::<Vec<_>>()), folder, LIMIT).sound()?;
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

/// A damaged export is read into a new store, which is sound whatever came of it.
fn export(folder: &Path, scene: &Scene, random: &mut Random) -> Result<(), String> {
    let mut lines = scene.lines.clone();
    let how = text(&mut lines, random);
    let (file, store) = (folder.join("damaged.jsonl"), folder.join("imported.db"));
    let ready = clear(&store).and_then(|()| fs::write(&file, &lines));
    ready.map_err(|error| error.to_string())?;
    let ran = inside(on(&store, &["import", "--from", "jsonl", &file.display().to_string()]));
    ran.sound().map_err(|why| format!("export, {how}: {why}"))?;
    if !store.exists() {
        return Ok(());
    }
    let verified = inside(on(&store, &["verify"]));
    verified.sound()?;
    let said = || String::from_utf8_lossy(&verified.out).into_owned() + &verified.err();
    if verified.succeeded { Ok(()) } else { Err(format!("export, {how}: an unsound store: {}", said())) }
}
