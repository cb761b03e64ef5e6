//! Wrong URLs of stores: a clear error without the secrets of the URL, and no file.

use std::ffi::OsString;
use std::fs;

use anyhow::Result;

use crate::command::{LIMIT, run_as_child};
use crate::settings::TortureSettings;
use crate::tally::Tally;

const SECRET: &str = "hunter2secret";

/// URLs without a store. `PASSWORD` stands for the secret.
const WRONG: [&str; 26] = [
    "",
    "x",
    "sqlite",
    "sqlite:",
    "sqlite://",
    "sqlite:no-folder/at/all.db",
    "sqlite:x.db?mode=PASSWORD",
    "sqlite:x.db?key=PASSWORD",
    "sqlite://u:PASSWORD@host/x.db",
    "sqlite:u:PASSWORD@x.db?cache=odd",
    "sqlite:x\u{0}.db",
    "mem:PASSWORD",
    "mem:?key=PASSWORD",
    "file:x.db?key=PASSWORD",
    "mysql://u:PASSWORD@host/db",
    "postgres://u:PASSWORD@",
    "postgres://u:PASSWORD@127.0.0.1:1/db",
    "postgres://u:PASSWORD@127.0.0.1:1/db?schema=",
    "postgres://u:PASSWORD@127.0.0.1:99999/db",
    "postgres://u:PASSWORD@127.0.0.1:1/db?unknown=PASSWORD",
    "redis://:PASSWORD@127.0.0.1:1/0",
    "redis://:PASSWORD@127.0.0.1:1/0?unknown=PASSWORD",
    "redis://:PASSWORD@127.0.0.1:1/x",
    "rediss://u:PASSWORD@127.0.0.1:1/0?prefix=",
    "redis+cluster://:PASSWORD@127.0.0.1:1",
    "redis+cluster://:PASSWORD@/0?x=PASSWORD",
];

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = Tally::default();
    let commands: &[&str] = match settings.checks([1, 3, 3]) {
        1 => &["chats"],
        _ => &["chats", "verify", "memory list"],
    };
    for url in WRONG {
        let url = url.replace("PASSWORD", SECRET);
        if url.contains('\0') {
            // No argument of a process can contain NUL.
            continue;
        }
        for command in commands {
            let folder = tempfile::tempdir()?;
            let args = ["context", "--store", &url].into_iter().chain(command.split(' '));
            let args: Vec<OsString> = args.map(OsString::from).collect();
            let output = run_as_child(&args, folder.path(), LIMIT);
            let files: Vec<_> =
                fs::read_dir(folder.path())?.flatten().map(|entry| entry.file_name()).collect();
            let result = output.sound().and_then(|()| {
                let said = output.err() + &String::from_utf8_lossy(&output.out);
                if output.succeeded {
                    Err("exit 0".to_owned())
                } else if said.contains(SECRET) {
                    Err("the secret is repeated".to_owned())
                } else if said.trim().is_empty() {
                    Err("no word".to_owned())
                } else if !files.is_empty() {
                    Err(format!("made {files:?}"))
                } else {
                    Ok(())
                }
            });
            tally.count(format_args!("{command} of {}", url.replace(SECRET, "PASSWORD")), result);
        }
    }
    Ok(tally)
}
