//! A full disk: acknowledged writes are there, failed commands report errors, and the store is
//! sound once there is space again.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::Result;

use crate::command::{LIMIT, run_as_child, run_in_process, store_args};
use crate::scene::Scene;
use crate::settings::TortureSettings;
use crate::tally::Tally;

/// The size of the filesystem, in MiB.
const SIZE: u32 = 4;
/// The space that is freed, in bytes.
const BALLAST: usize = 1 << 20;

/// A separate filesystem, which is unmounted on drop.
struct MountedFilesystem<'a>(&'a Path);

impl Drop for MountedFilesystem<'_> {
    fn drop(&mut self) {
        // If unmounting fails, the remaining folder shows it.
        let _ = Command::new("umount").arg("-l").arg(self.0).stderr(Stdio::null()).status();
    }
}

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = Tally::default();
    for round in 0..settings.checks([1, 3, 30]) {
        let (folder, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
        let scene = Scene::new(folder.path())?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={SIZE}m"), "tmpfs"]).arg(place.path());
        if !mount.stderr(Stdio::null()).status().is_ok_and(|status| status.success()) {
            tally.skip("disk: no small filesystem can be mounted (it needs root)");
            return Ok(tally);
        }
        let small = MountedFilesystem(place.path());
        filled(&mut tally, place.path(), &scene, round)?;
        drop(small);
    }
    Ok(tally)
}

fn filled(tally: &mut Tally, place: &Path, scene: &Scene, round: u64) -> Result<()> {
    let store = place.join("full.db");
    fs::write(place.join("ballast"), vec![1; BALLAST + (round as usize) * 1_000])?;
    let file = scene.store.with_file_name("trip.json").display().to_string();
    let mut kept = Vec::new();
    let mut refused = 0;
    for number in 0..1_000 {
        let chat = format!("chat{number}");
        let output = run_as_child(
            &store_args(&store, &["import", "--trajectory", "--chat", &chat, &file]),
            place,
            LIMIT,
        );
        tally.count(format_args!("import {number} into round {round}"), output.sound());
        if output.succeeded {
            kept.push(chat);
        } else {
            refused += 1;
            let said =
                if output.err().trim().is_empty() { Err("no word".to_owned()) } else { Ok(()) };
            tally.count("a refusal says why", said);
        }
        if refused == 5 {
            break;
        }
    }
    let full =
        if refused == 5 { Ok(()) } else { Err(format!("it never was full: {} chats", kept.len())) };
    tally.count(format_args!("the disk of round {round} is full"), full);
    fs::remove_file(place.join("ballast"))?;
    let verified = run_in_process(store_args(&store, &["verify"]));
    tally.count(
        format_args!("verify when there is space, round {round}"),
        if verified.succeeded { Ok(()) } else { Err(verified.err()) },
    );
    for chat in &kept {
        let output = run_in_process(store_args(&store, &["export", chat, "--to", "openai"]));
        let there = if output.succeeded { Ok(()) } else { Err(format!("lost: {}", output.err())) };
        tally.count(format_args!("{chat} of round {round}"), there);
    }
    let output = run_in_process(store_args(&store, &["import", "--chat", "after", &file]));
    tally.count("writing goes on", if output.succeeded { Ok(()) } else { Err(output.err()) });
    Ok(())
}
