//! The tools of this agent: two that read a folder of notes, and one with far too much output.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use context_runtime::{FunctionTool, ToolCall, ToolResult, spilled_output_tool};
use serde::Deserialize;
use serde_json::json;

/// The folder of the notes.
const NOTES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/notes");

/// Returns the tools that the model may call. The last one reads spilled output, a part at a time.
pub fn offered() -> [FunctionTool; 4] {
    let named =
        json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    let days = json!({"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]});
    [
        FunctionTool::new("read_note", named.clone()).description("Reads a note of the user."),
        FunctionTool::new("count_words", named).description("Counts the words of a note."),
        FunctionTool::new("timetable", days).description("Prints the ferries of so many days."),
        spilled_output_tool(),
    ]
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
struct Days {
    days: usize,
}

/// Runs a tool. An error is a result too, which the model reads and can correct.
pub fn run(call: &ToolCall) -> ToolResult {
    let answered = match &*call.name {
        "read_note" => call.input.parse().map_err(|error| error.to_string()).and_then(note),
        "count_words" => {
            call.input.parse().map_err(|error| error.to_string()).and_then(note).map(count)
        }
        "timetable" => call.input.parse().map_err(|error| error.to_string()).map(timetable),
        other => Err(format!("there is no tool {other}")),
    };
    match answered {
        Ok(text) => call.result(text),
        Err(why) => call.error(why),
    }
}

fn note(Named { name }: Named) -> Result<String, String> {
    // The model chooses the name, so it must not lead outside the folder.
    let known = ["budget.md", "trip.md"];
    if !known.contains(&&*name) {
        return Err(format!("there is no note {name}; there are {}", known.join(" and ")));
    }
    fs::read_to_string(Path::new(NOTES).join(name)).map_err(|error| error.to_string())
}

fn count(note: String) -> String {
    format!("{} words", note.split_whitespace().count())
}

fn timetable(Days { days }: Days) -> String {
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
