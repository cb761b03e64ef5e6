//! Writers that are killed at any moment: the store is sound, acknowledged writes are there, and
//! the next writer can write.

use std::process::Stdio;
use std::time::Duration;
use std::{fs, thread};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::command::{child_command, run_in_process, store_args};
use crate::random::SeededRandom;
use crate::scene::Scene;
use crate::settings::TortureSettings;
use crate::tally::Tally;

/// The maximum lifetime of a writer in microseconds: about twice the duration of an import.
const LONGEST: usize = 400_000;
/// The number of kills after which the store is verified.
const VERIFIED: u64 = 5;

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = Tally::default();
    let folder = tempfile::tempdir()?;
    let scene = Scene::new(folder.path())?;
    let mut acknowledged = vec!["trip".to_owned(), "bill".to_owned()];
    let file = folder.path().join("trip.json").display().to_string();
    for number in 0..settings.checks([5, 200, 3_000]) {
        let mut random = SeededRandom::of(settings.seed, number);
        let chat = format!("killed{number}");
        let line: Vec<&str> = match random.below(4) {
            0 => vec!["memory", "add", &chat],
            1 => vec!["rewind", "trip", "m2"],
            2 => vec!["vacuum"],
            _ => vec!["import", "--trajectory", "--chat", &chat, &file],
        };
        let mut command = child_command(&store_args(&scene.store, &line))?;
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        thread::sleep(Duration::from_micros(random.below(LONGEST) as u64));
        let ended = child.try_wait()?;
        // A process that has exited cannot be killed.
        let _ = child.kill();
        let said = child.wait_with_output()?.stderr;
        let done = ended.is_some_and(|status| status.success());
        if ended.is_some() {
            let sound =
                if done { Ok(()) } else { Err(String::from_utf8_lossy(&said).into_owned()) };
            tally.count(
                format_args!("{} of writer {number} (seed {})", line[0], settings.seed),
                sound,
            );
        }
        if done && line[0] == "import" {
            acknowledged.push(chat.clone());
        }
        if number % VERIFIED == VERIFIED - 1 {
            let verified = run_in_process(store_args(&scene.store, &["verify"]));
            let sound = if verified.succeeded { Ok(()) } else { Err(verified.err()) };
            tally.count(format_args!("verify after kill {number} (seed {})", settings.seed), sound);
            tally.count(
                format_args!("chats after kill {number} (seed {})", settings.seed),
                kept(&scene, &acknowledged),
            );
        }
    }
    ensure!(fs::metadata(&scene.store).is_ok(), "the store is gone");
    Ok(tally)
}

/// Checks that all these chats are there.
fn kept(scene: &Scene, chats: &[String]) -> Result<(), String> {
    let output = run_in_process(store_args(&scene.store, &["chats", "--json", "-n", "100000"]));
    output.sound()?;
    if !output.succeeded {
        return Err(output.err());
    }
    let out = String::from_utf8_lossy(&output.out).into_owned();
    let there: Vec<Value> =
        out.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let is_there = |chat: &String| there.iter().any(|record| record["chat"] == **chat);
    match chats.iter().find(|chat| !is_there(chat)) {
        Some(lost) => Err(format!("{lost} was acknowledged and is lost")),
        None => Ok(()),
    }
}
