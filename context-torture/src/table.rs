//! Every subcommand, from the table that the command's own tests compare with the parser.

use std::path::Path;

#[path = "../../context-cli/tests/cli/command_table.rs"]
mod command_table;

pub(crate) use command_table::{COMMANDS, Use};

/// Returns the words of a line of the table, with the store and the file of messages replaced by
/// the given ones. Other output files go into the folder `elsewhere`.
pub(crate) fn filled(line: &str, store: &str, file: &str, elsewhere: &Path) -> Vec<String> {
    let new = elsewhere.join("new.db").display().to_string();
    let word = |word: &str| match word {
        "sqlite:context.db" => store.to_owned(),
        "sqlite:other.db" => format!("sqlite:{new}"),
        "elsewhere/new.db" => new.clone(),
        "notes.json" | "runs.json" | "fragments.json" => file.to_owned(),
        word => word.to_owned(),
    };
    let mut all: Vec<_> = line.split(' ').map(word).collect();
    // There is no one to answer a question.
    if line.starts_with("delete ") {
        all.push("--yes".to_owned());
    }
    all
}
