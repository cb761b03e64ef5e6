//! The tools of this agent: two that read a folder of notes, and one with far too much output.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use context_runtime::{ToolFunction, tools};
use schemars::JsonSchema;
use serde::Deserialize;

/// The folder of the notes.
const NOTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/notes");

/// Returns the tools that the model may call.
pub fn all() -> [ToolFunction; 3] {
    tools![read_note, count_words, timetable]
}

/// Reads a note of the user.
#[derive(Deserialize, JsonSchema)]
struct ReadNote {
    name: String,
}

/// Counts the words of a note.
#[derive(Deserialize, JsonSchema)]
struct CountWords {
    name: String,
}

/// Prints the ferries of so many days.
#[derive(Deserialize, JsonSchema)]
struct Timetable {
    days: usize,
}

// An error is a result too, which the model reads and can correct.
async fn read_note(ReadNote { name }: ReadNote) -> Result<String, String> {
    // The model chooses the name, so it must not lead outside the folder.
    let known = ["budget.md", "trip.md"];
    if !known.contains(&&*name) {
        return Err(format!("there is no note {name}; there are {}", known.join(" and ")));
    }
    fs::read_to_string(Path::new(NOTES).join(name)).map_err(|error| error.to_string())
}

async fn count_words(CountWords { name }: CountWords) -> Result<String, String> {
    let note = read_note(ReadNote { name }).await?;
    Ok(format!("{} words", note.split_whitespace().count()))
}

async fn timetable(Timetable { days }: Timetable) -> String {
    const WEEK: [&str; 7] =
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
    let mut printed = String::new();
    for day in 0..days.min(366) {
        for ferry in 0..12 {
            let (hour, minute) = (7 + ferry / 3, 20 * (ferry % 3));
            let weekday = WEEK[day % 7];
            let _ = writeln!(
                printed,
                "day {}, {weekday}, {hour:02}:{minute:02}: pier {}",
                day + 1,
                1 + ferry % 4
            );
        }
    }
    printed
}
