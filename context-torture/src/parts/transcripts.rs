//! Imports of damaged transcripts: the store stays sound, whatever is imported. Endless input is
//! refused.

use std::io::Write;
use std::ops::Range;
use std::process::Stdio;
use std::{fs, thread};

use anyhow::Result;

use crate::command::{LIMIT, child_command, run_as_child, run_in_process, store_args, wait};
use crate::damage::text;
use crate::random::SeededRandom;
use crate::scene::Scene;
use crate::settings::TortureSettings;
use crate::tally::Tally;
use crate::worker;

/// The formats in which a chat is exported and imported again.
const FORMS: [&str; 6] =
    ["source", "openai", "openai-responses", "anthropic", "gemini", "uimessage"];
/// The number of imports into one store.
const TOGETHER: u64 = 16;
/// The maximum length of the endless line, in bytes.
const ENDLESS: usize = 512 << 20;

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = worker::share("transcripts", settings, settings.checks([32, 1_000, 20_000]));
    let folder = tempfile::tempdir()?;
    let store = folder.path().join("endless.db");
    for command in ["import", "prepare --provider openai", "memory add --from", "trajectory import"]
    {
        let line: Vec<&str> = command.split(' ').chain(["/dev/zero"]).collect();
        let output = run_as_child(&store_args(&store, &line), folder.path(), LIMIT);
        let refused = if output.succeeded { Err("exit 0".to_owned()) } else { Ok(()) };
        tally.count(format_args!("{command} /dev/zero"), output.sound().and(refused));
    }
    tally.count("import of a line without end", endless(&store));
    Ok(tally)
}

/// Writes an endless line to the command until it stops reading.
fn endless(store: &std::path::Path) -> Result<(), String> {
    let mut command =
        child_command(&store_args(store, &["import", "-"])).map_err(|error| error.to_string())?;
    let (reader, mut writer) = std::io::pipe().map_err(|error| error.to_string())?;
    command.stdin(reader).stdout(Stdio::piped()).stderr(Stdio::piped());
    let feeder = thread::spawn(move || {
        let chunk = vec![b'a'; 1 << 20];
        let mut sent = 0;
        while sent < ENDLESS && writer.write_all(&chunk).is_ok() {
            sent += chunk.len();
        }
        sent
    });
    let output = wait(command, LIMIT).map_err(|error| error.to_string())?;
    output.sound()?;
    let sent = feeder.join().map_err(|_| "the writer fell over".to_owned())?;
    if output.succeeded || sent >= ENDLESS {
        return Err(format!("read {sent} bytes of a line without end"));
    }
    Ok(())
}

pub(super) fn work(seed: u64, range: Range<u64>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let scene = Scene::new(folder.path())?;
    let mut documents: Vec<Vec<u8>> = FORMS
        .iter()
        .map(|form| run_in_process(store_args(&scene.store, &["export", "trip", "--to", form])).out)
        .filter(|document| !document.is_empty())
        .collect();
    documents.push(scene.lines.clone());
    Ok(worker::work(range, |number| {
        let mut random = SeededRandom::of(seed, number);
        let mut document = random.pick(&documents).clone();
        let how: Vec<String> =
            (0..=random.below(3)).map(|_| text(&mut document, &mut random)).collect();
        let file = folder.path().join("damaged.json");
        let store = folder.path().join(format!("imported{}.db", number / TOGETHER));
        fs::write(&file, &document).map_err(|error| error.to_string())?;
        let chat = format!("chat{number}");
        let output = run_in_process(store_args(
            &store,
            &["import", "--trajectory", "--chat", &chat, &file.display().to_string()],
        ));
        output.sound().map_err(|why| format!("{how:?}: {why}"))?;
        if !output.succeeded && output.err.is_empty() {
            return Err(format!("{how:?}: failed without a word"));
        }
        if !store.exists() {
            return Ok(());
        }
        let verified = run_in_process(store_args(&store, &["verify"]));
        verified.sound()?;
        if verified.succeeded {
            return Ok(());
        }
        // The next check begins with a new store.
        let _ = fs::remove_file(&store);
        Err(format!("{how:?}: an unsound store: {}", String::from_utf8_lossy(&verified.out)))
    })?)
}
