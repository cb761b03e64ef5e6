//! Records the sample transcript `examples/data/notes-agent.json`.
//!
//! The tools are real: they list, read and search files in a scratch folder, and their answers,
//! including errors, are recorded. The model's side is scripted, and the transcript says so. The
//! output is always byte-identical, which the test in this file checks.
//!
//! ```sh
//! cargo run -p context-layer-cli --example record_transcript > examples/data/notes-agent.json
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

/// The notes that the agent reads.
const NOTES: [(&str, &str); 4] = [
    (
        "README.md",
        "# Offsite notes\n\nOne file per meeting under meetings/. Old material is in archive/.\n",
    ),
    (
        "meetings/2026-02-09.md",
        "# 9 February\n\n- Two offers for the venue: Lindenhof (40 people), Hafenhalle (120 people).\n\
         - Ines asks both for a date in June.\n",
    ),
    (
        "meetings/2026-03-02.md",
        "# 2 March\n\n- Decision: the venue is Lindenhof, 11 and 12 June.\n\
         - Open: the deposit for the venue, 30 % of 4,200 EUR, due on 20 March. Ines pays.\n\
         - Open: who books the train.\n",
    ),
    ("archive/budget.csv", "item,eur\nvenue,4200\ntrain,1860\ncatering,2300\n"),
];

/// One step of the script.
enum Step {
    System(&'static str),
    User(&'static str),
    /// An answer of the model with text, tool calls, or both. The tools then run.
    Assistant(Option<&'static str>, Vec<(&'static str, Value)>),
}

fn script() -> Vec<Step> {
    use Step::{Assistant, System, User};
    let read = |path: &str| ("read_file", json!({ "path": path }));
    let list = |path: &str| ("list_directory", json!({ "path": path }));
    let search = |text: &str| ("search_files", json!({ "text": text }));
    vec![
        System(
            "You answer questions about a folder of notes. Look before you answer, and name the file.",
        ),
        User("What did we decide about the venue, and what is still open?"),
        Assistant(None, vec![list(".")]),
        Assistant(
            Some("I look at the meetings and at every mention."),
            vec![list("meetings"), search("venue")],
        ),
        Assistant(None, vec![read("meetings/2026-03-02.md"), read("budget.csv")]),
        Assistant(
            Some("The budget is not there; the README says old material is archived."),
            vec![read("archive/budget.csv")],
        ),
        Assistant(
            Some(
                "The venue is Lindenhof, on 11 and 12 June (meetings/2026-03-02.md). Still open: the deposit, \
                 and who books the train. The budget has 4,200 EUR for the venue (archive/budget.csv).",
            ),
            vec![],
        ),
        User("Who pays the deposit, how much is it, and by when?"),
        Assistant(None, vec![search("deposit")]),
        Assistant(
            Some(
                "Ines pays 30 % of 4,200 EUR, which is 1,260 EUR, by 20 March (meetings/2026-03-02.md).",
            ),
            vec![],
        ),
    ]
}

/// The output: an object with `messages` and notes about their origin.
#[derive(Serialize)]
struct Transcript {
    title: &'static str,
    recorded_by: &'static str,
    model: &'static str,
    tools: &'static str,
    messages: Vec<Message>,
}

/// A message in Chat Completions form.
#[derive(Serialize)]
struct Message {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    content: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    id: String,
    r#type: &'static str,
    function: Function,
}

#[derive(Serialize)]
struct Function {
    name: &'static str,
    arguments: String,
}

impl Message {
    fn said(role: &'static str, content: Option<&str>) -> Self {
        Self {
            role,
            tool_call_id: None,
            content: content.map(str::to_owned),
            tool_calls: Vec::new(),
        }
    }
}

/// Runs the script in a folder of notes.
fn record(folder: &Path) -> Transcript {
    let mut messages = Vec::new();
    let mut calls = 0;
    for step in script() {
        match step {
            Step::System(text) => messages.push(Message::said("system", Some(text))),
            Step::User(text) => messages.push(Message::said("user", Some(text))),
            Step::Assistant(text, wanted) => {
                let mut said = Message::said("assistant", text);
                let mut answers = Vec::new();
                for (name, arguments) in wanted {
                    calls += 1;
                    let id = format!("call_{calls:02}");
                    let answer = run(folder, name, &arguments)
                        .unwrap_or_else(|error| format!("error: {error}"));
                    let mut result = Message::said("tool", Some(&answer));
                    result.tool_call_id = Some(id.clone());
                    answers.push(result);
                    let function = Function { name, arguments: arguments.to_string() };
                    said.tool_calls.push(Call { id, r#type: "function", function });
                }
                messages.push(said);
                messages.extend(answers);
            }
        }
    }
    Transcript {
        title: "An agent answers questions about a folder of notes",
        recorded_by: "context-cli/examples/record_transcript.rs",
        model: "none: the assistant's side is a script",
        tools: "real: each answer is what the tool gave when it was run",
        messages,
    }
}

/// Runs a tool.
fn run(folder: &Path, name: &str, arguments: &Value) -> io::Result<String> {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default();
    match name {
        "list_directory" => list_directory(&inside(folder, text("path"))?),
        "read_file" => fs::read_to_string(inside(folder, text("path"))?),
        "search_files" => search_files(folder, text("text")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "no such tool")),
    }
    .map_err(|error| io::Error::new(error.kind(), in_our_words(&error)))
}

/// Returns a portable error text, since system messages differ between systems and a recording must
/// not.
fn in_our_words(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or folder",
        io::ErrorKind::PermissionDenied => "outside of the notes",
        io::ErrorKind::InvalidInput => "no such tool",
        _ => "cannot be read",
    }
}

/// Returns a path inside the folder. Paths that lead out of it are refused.
fn inside(folder: &Path, path: &str) -> io::Result<PathBuf> {
    let stays = Path::new(path)
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if stays { Ok(folder.join(path)) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn list_directory(path: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let end = if entry.file_type()?.is_dir() { "/" } else { "" };
        names.push(format!("{}{end}", entry.file_name().to_string_lossy()));
    }
    names.sort();
    Ok(names.join("\n"))
}

/// Returns every line that contains the text, as `file:line: text`.
fn search_files(folder: &Path, text: &str) -> io::Result<String> {
    let (mut folders, mut files) = (vec![folder.to_path_buf()], Vec::new());
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    let mut found = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(folder)
            .map_err(io::Error::other)?
            .to_string_lossy()
            .replace('\\', "/");
        for (i, line) in fs::read_to_string(&file)?.lines().enumerate() {
            if line.contains(text) {
                found.push(format!("{name}:{}: {line}", i + 1));
            }
        }
    }
    Ok(found.join("\n"))
}

/// Creates the notes, runs the script on them, and returns the transcript file.
fn transcript() -> io::Result<String> {
    let folder = tempfile::tempdir()?;
    for (name, text) in NOTES {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        fs::write(path, text)?;
    }
    Ok(serde_json::to_string_pretty(&record(folder.path()))? + "\n")
}

fn main() -> io::Result<()> {
    io::stdout().write_all(transcript()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recording_again_gives_the_same_bytes() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/data/notes-agent.json");
        let kept = fs::read_to_string(file).unwrap().replace("\r\n", "\n");
        assert_eq!(transcript().unwrap(), kept);
    }

    #[test]
    fn no_tool_leaves_the_folder() {
        for path in ["/etc/passwd", "../notes", "meetings/../../x"] {
            assert_eq!(
                inside(Path::new("notes"), path).unwrap_err().kind(),
                io::ErrorKind::PermissionDenied
            );
        }
    }
}
