//! Hostile names through every command: no forged lines, no control sequences on a terminal, no
//! writes outside the folder.

use std::fs;

use anyhow::Result;

use crate::command::{CommandOutput, run_in_process, store_args};
use crate::scene::Scene;
use crate::settings::TortureSettings;
use crate::table::{COMMANDS, filled};
use crate::tally::Tally;

/// Hostile names. The first one combines all kinds.
const NAMES: [&str; 19] = [
    "a\nerror: all is lost \u{1b}[31m\u{9b}2J\u{202e}x\u{2066}y",
    "a\nerror: all is lost",
    "a\r\nb",
    "\u{1b}[31mred",
    "\u{1b}]0;title\u{7}",
    "\u{9b}31mred",
    "gnp.\u{202e}exe",
    "\u{2066}hidden\u{2069}",
    "\u{200b}",
    "\u{feff}x",
    "\u{7f}\u{8}\u{8}",
    "tab\there",
    "../../outside",
    "/etc/passwd",
    "-rf",
    "--help",
    " ",
    "%00%0a",
    "'; DROP TABLE chats; --",
];

/// The chat in the lines of the table.
const CHAT: &str = "notes";
/// Other names of chats, users or memories in the lines of the table.
const NAMED: [&str; 14] = [
    "main", "trunk", "other", "here", "m1", "m2", "tickets", "words", "answer", "3f2a91c0", "runs",
    "local", "user", "copy",
];

pub(super) fn run(settings: &TortureSettings) -> Result<Tally> {
    let mut tally = Tally::default();
    let few = settings.checks([1, 2, 2]) == 1;
    for (n, name) in NAMES.iter().enumerate().take(if few { 1 } else { NAMES.len() }) {
        let folder = tempfile::tempdir()?;
        let scene = Scene::new(folder.path())?;
        let elsewhere = folder.path().join("elsewhere");
        fs::create_dir(&elsewhere)?;
        let file = folder.path().join("bill.json").display().to_string();
        let store = format!("sqlite:{}", scene.store.display());
        let made = [
            vec!["import", "--trajectory", "--chat", name, &file],
            vec!["fork", name, "--name", name],
            vec!["checkpoint", name, name],
            vec!["memory", "add", "--", name],
        ];
        for args in made {
            let output = run_in_process(store_args(&scene.store, &args));
            tally.count(format_args!("{args:?}"), judged(&output, name, false));
        }
        // First the chat has the name. Then the contents of an existing chat have it.
        for (command, _, line) in COMMANDS {
            for is_chat in [true, false] {
                let named = |(at, word): (usize, String)| match word.as_str() {
                    _ if at < command.split(' ').count() => word,
                    CHAT if is_chat => (*name).to_owned(),
                    CHAT => "trip".to_owned(),
                    word if !is_chat && NAMED.contains(&word) => (*name).to_owned(),
                    _ => word,
                };
                let words = filled(line, &store, &file, &elsewhere);
                let mut args: Vec<String> = words.into_iter().enumerate().map(named).collect();
                for is_json in [false, true].into_iter().take(if few { 1 } else { 2 }) {
                    args.extend(is_json.then(|| "--json".to_owned()));
                    let words: Vec<&str> = args.iter().map(String::as_str).collect();
                    let output = run_in_process(store_args(&scene.store, &words));
                    let label = format_args!("{args:?} with name {n}").to_string();
                    tally.count(label, judged(&output, name, is_json || CONTENT.contains(command)));
                }
            }
        }
        let verified = run_in_process(store_args(&scene.store, &["verify"]));
        let is_sound = if verified.succeeded { Ok(()) } else { Err(verified.err()) };
        tally.count(format_args!("verify after name {n} ({name:?})"), is_sound);
    }
    Ok(tally)
}

/// Commands that print content unchanged, byte for byte, if standard output is not a terminal.
const CONTENT: [&str; 5] = ["export", "render", "prepare", "spill read", "trajectory export"];

/// Checks the output of a command. Errors and notes are for people, wherever they go. JSON and
/// other content for programs may contain any character. Control characters below U+0020 are
/// escaped there too, as JSON requires.
fn judged(output: &CommandOutput, name: &str, is_content: bool) -> Result<(), String> {
    output.sound()?;
    let out = String::from_utf8_lossy(&output.out);
    for (said, is_content) in [(output.err().as_str(), false), (&*out, is_content)] {
        let is_raw = |c: char| {
            c < ' ' && !matches!(c, '\n' | '\t')
                || !is_content && c.is_control() && !matches!(c, '\n' | '\t')
                || !is_content && matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        };
        if let Some(found) = said.chars().find(|c| is_raw(*c)) {
            return Err(format!("prints U+{:04X} raw", u32::from(found)));
        }
        if said.lines().any(|line| line.starts_with("error: all is lost")) {
            return Err("prints a line that the name forged".to_owned());
        }
        if name.contains('\n') && said.contains(name) {
            return Err("prints a name with its line feed".to_owned());
        }
    }
    Ok(())
}
