//! Hostile names through every command: no line is forged, no sequence reaches a terminal, no secret place is written.

use anyhow::Result;

use crate::command::{Ran, inside, on};
use crate::scene::Scene;
use crate::settings::Settings;
use crate::tally::Tally;

/// Names that lie.
const NAMES: [&str; 18] = [
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

/// Commands that are given a name and show it. `{}` is the name.
const COMMANDS: &[&[&str]] = &[
    &["import", "--chat", "{}", "FILE"],
    &["chats"],
    &["chats", "--json"],
    &["log", "{}"],
    &["log", "{}", "--json"],
    &["show", "{}", "m1"],
    &["show", "trip", "{}"],
    &["prompt", "{}"],
    &["graph", "{}"],
    &["branches", "{}"],
    &["fork", "trip", "{}"],
    &["branches", "trip"],
    &["diff", "trip", "main", "{}"],
    &["checkpoint", "trip", "{}"],
    &["checkpoint", "trip"],
    &["restore", "trip", "{}"],
    &["restore", "{}", "before"],
    &["rewind", "trip", "{}"],
    &["search", "{}"],
    &["memory", "add", "--", "{}"],
    &["memory", "list"],
    &["memory", "list", "--project", "{}"],
    &["memory", "recall", "--", "{}"],
    &["spill", "list", "{}"],
    &["spill", "read", "trip", "{}"],
    &["streams", "show", "trip", "{}"],
    &["trajectory", "show", "{}"],
    &["trajectory", "list"],
    &["tokens", "{}"],
    &["prepare", "{}", "--provider", "openai"],
    &["copy", "trip", "{}"],
    &["export", "{}", "--to", "openai"],
    &["delete", "{}", "--yes"],
    &["import", "{}"],
];

pub(super) fn run(settings: &Settings) -> Result<Tally> {
    let mut tally = Tally::default();
    let few = settings.checks([1, 2, 2]) == 1;
    for (n, name) in NAMES.iter().enumerate().filter(|(n, _)| !few || n % 6 == 0) {
        let folder = tempfile::tempdir()?;
        let scene = Scene::new(folder.path())?;
        let file = folder.path().join("bill.json").display().to_string();
        for line in COMMANDS {
            let args: Vec<&str> = line
                .iter()
                .map(|arg| match *arg {
                    "{}" => *name,
                    "FILE" => file.as_str(),
                    arg => arg,
                })
                .collect();
            let ran = inside(on(&scene.store, &args));
            tally.count(
                format_args!("{} with name {n} ({name:?})", line.join(" ")),
                judged(&ran, name, line.contains(&"--json")),
            );
        }
        let verified = inside(on(&scene.store, &["verify"]));
        let sound = if verified.succeeded { Ok(()) } else { Err(verified.err()) };
        tally.count(format_args!("verify after name {n} ({name:?})"), sound);
    }
    Ok(tally)
}

/// JSON that goes to a program and not to a terminal may hold any letter; control characters it escapes.
fn judged(ran: &Ran, name: &str, is_json: bool) -> Result<(), String> {
    ran.sound()?;
    let said = ran.err() + &String::from_utf8_lossy(&ran.out);
    let raw = |c: char| {
        c.is_ascii_control() && !matches!(c, '\n' | '\t')
            || !is_json && c.is_control() && !matches!(c, '\n' | '\t')
            || !is_json && matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if let Some(found) = said.chars().find(|c| raw(*c)) {
        return Err(format!("prints U+{:04X} raw", u32::from(found)));
    }
    if name.contains('\n') && said.contains(name) {
        return Err("prints a line that the name forged".to_owned());
    }
    Ok(())
}
