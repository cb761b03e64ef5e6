//! Near names: a name that does not exist is answered with those that were probably meant. A
//! command that removes something is never proposed.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use context_runtime::limits;
use context_runtime::store::{ChatQuery, OpenMode};

use crate::app::App;
use crate::error::Failure;

/// The commands that remove content.
const REMOVING: [&str; 5] = ["delete", "erase", "redact", "retain", "vacuum"];
/// Words of other programs for those.
const REMOVING_WORDS: [&str; 12] = [
    "clean", "clear", "del", "destroy", "drop", "forget", "prune", "purge", "remove", "rm",
    "trash", "wipe",
];
/// Words of other programs, and what is the same here.
const USUAL_WORDS: [(&str, &[&str]); 25] = [
    ("chats", &["list", "ls", "dir", "sessions", "conversations", "threads", "chat"]),
    ("ui", &["web", "browse", "open", "gui", "inspect", "inspector", "dashboard", "view"]),
    ("log", &["history", "messages", "tail"]),
    ("show", &["cat", "print", "get", "read", "message"]),
    ("search", &["find", "grep", "query"]),
    ("graph", &["tree", "draw", "plot", "visualize"]),
    ("branches", &["branch", "checkout", "switch"]),
    ("checkpoint", &["tag", "snapshot", "checkpoints", "save"]),
    ("rewind", &["undo", "reset", "revert", "back"]),
    ("import", &["load", "add", "ingest", "read-in"]),
    ("export", &["dump", "download"]),
    ("copy", &["cp", "clone", "mv", "push", "pull", "sync"]),
    ("compact", &["compress", "summarise", "summarize", "shorten"]),
    ("tokens", &["count", "cost", "costs", "price", "usage"]),
    ("tokens --models", &["models", "prices"]),
    ("prompt", &["system", "resolve"]),
    ("trajectory list", &["runs", "traces", "rounds", "trace"]),
    ("memory list", &["memories", "remember"]),
    ("verify", &["check", "fsck", "validate"]),
    ("repair", &["recover", "salvage", "rescue", "fix"]),
    ("doctor", &["status", "info", "stats", "diagnose"]),
    ("upgrade", &["migrate", "update"]),
    ("serve", &["server", "http", "api", "start", "run"]),
    ("config", &["settings", "set", "configure", "setup", "init"]),
    ("--version", &["version"]),
];

/// Returns whether two words are so near that one may have been meant by the other. A letter that
/// is missing, wrong, or in the wrong place counts one; long words may have two of them.
fn are_near(typed: &str, name: &str) -> bool {
    let (typed, name) = (typed.to_lowercase(), name.to_lowercase());
    let length = typed.chars().count();
    let most = match length {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(&typed, &name) <= most
        || (length >= 3 && (name.starts_with(&typed) || typed.starts_with(&name) && name.len() > 3))
}

/// Returns the names that are near to a text, nearest first, three at most.
pub(crate) fn near<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut near: Vec<_> = names.into_iter().filter(|name| are_near(text, name)).collect();
    near.sort_by_key(|name| strsim::damerau_levenshtein(text, name));
    near.dedup();
    near.truncate(3);
    near
}

/// Returns an error of the parser with the commands that were probably meant.
pub(crate) fn of_commands(mut error: clap::Error, command: &mut Command) -> clap::Error {
    if error.kind() != ErrorKind::InvalidSubcommand {
        // An option is not looked for in commands that remove something.
        let removes = |value: &ContextValue| {
            let text = value.to_string();
            REMOVING.iter().any(|name| text.split(['\'', ' ', '`']).any(|word| word == *name))
        };
        for kind in [ContextKind::Suggested, ContextKind::SuggestedSubcommand] {
            if error.get(kind).is_some_and(removes) {
                error.remove(kind);
            }
        }
        return error;
    }
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let typed = typed.clone();
    // The parser tells the command in which the word was used by the usage that it prints.
    let is_of_main = error
        .get(ContextKind::Usage)
        .is_none_or(|usage| usage.to_string().contains("context [OPTIONS] <COMMAND>"));
    if !is_of_main {
        return error;
    }
    let lower = typed.to_lowercase();
    let usual = USUAL_WORDS.iter().find(|(_, words)| words.contains(&&*lower));
    let names: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let allowed = names.iter().map(String::as_str).filter(|name| !REMOVING.contains(name));
    let mut meant: Vec<&str> = usual.iter().map(|(name, _)| *name).collect();
    meant.extend(
        near(&lower, allowed).into_iter().filter(|name| !meant.contains(name)).collect::<Vec<_>>(),
    );
    let advice = if REMOVING_WORDS.contains(&&*lower) {
        "`context --help` lists the commands that remove something".to_owned()
    } else if meant.is_empty() {
        "`context --help` lists all commands".to_owned()
    } else {
        let meant: Vec<_> = meant.iter().map(|name| format!("`context {name}`")).collect();
        format!("did you mean {}?", meant.join(" or "))
    };
    let message = format!("there is no command `{typed}`: {advice}");
    command.error(ErrorKind::InvalidSubcommand, message)
}

/// Returns a failure for a chat, a branch or a checkpoint that does not exist, with the names of
/// those that were probably meant. `chat` is the one that the command is about.
pub(crate) async fn of_failure(failure: Failure, app: &App, chat: Option<&str>) -> Failure {
    let Failure::Store(error) = &failure else { return failure };
    if !error.is_not_found() || error.operation() == "open" {
        return failure;
    }
    let missing = ["branch", "checkpoint", "chat"]
        .into_iter()
        .find_map(|kind| Some((kind, error.get(kind)?.to_owned())));
    let Some((kind, name)) = missing else { return failure };
    // That there are none is no reason to fail differently.
    let names = names(app, kind, chat).await.unwrap_or_default();
    let near = near(&name, names.iter().map(String::as_str)).join(", ");
    match failure {
        Failure::Store(mut error) => {
            let place = chat.filter(|_| kind != "chat" && error.get(IN_CHAT).is_none());
            if let Some(chat) = place {
                error = error.with(IN_CHAT, chat);
            }
            Failure::Store(if near.is_empty() { error } else { error.with(NEAR, near) })
        }
        failure => failure,
    }
}

/// The detail of an error that names the chat in which something was looked for.
const IN_CHAT: &str = "in chat";
/// The detail of an error that lists near names.
pub(crate) const NEAR: &str = "near";

/// Returns the names of chats, or of the branches or checkpoints of a chat.
async fn names(app: &App, kind: &str, chat: Option<&str>) -> Result<Vec<String>, Failure> {
    let store = app.store_in(OpenMode::Read).await?;
    let history = store.history();
    if kind == "chat" {
        let query = ChatQuery { limit: limits::MAX_PAGE, ..ChatQuery::new(app.user.clone()) };
        let page = history.list_chats(&query).await?;
        return Ok(page.items.iter().map(|chat| chat.chat.chat.chat.to_string()).collect());
    }
    let Some(chat) = chat else { return Ok(Vec::new()) };
    let chat = app.chat(chat);
    Ok(match kind {
        "branch" => history.branches(&chat).await?.iter().map(|b| b.name.to_string()).collect(),
        _ => history.checkpoints(&chat).await?.iter().map(|c| c.name.to_string()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::Cli;

    fn answer(word: &str) -> String {
        Cli::read(["context", word]).expect_err("no command").to_string()
    }

    #[test]
    fn usual_words_are_answered_with_the_right_command() {
        for (word, command) in [
            ("list", "chats"),
            ("ls", "chats"),
            ("web", "ui"),
            ("lgo", "log"),
            ("serch", "search"),
            ("server", "serve"),
            ("Chat", "chats"),
            ("import-file", "import"),
        ] {
            assert!(answer(word).contains(&format!("did you mean `context {command}`")), "{word}");
        }
        assert!(answer("zzz").contains("lists all commands"));
        let names: Vec<_> =
            Cli::command().get_subcommands().map(|c| c.get_name().to_owned()).collect();
        for (name, words) in USUAL_WORDS {
            let first = name.split(' ').next().unwrap_or_default();
            assert!(first.starts_with('-') || names.iter().any(|known| known == first), "{name}");
            assert!(words.iter().all(|word| !names.iter().any(|known| known == word)), "{name}");
        }
    }

    /// `serve` was once answered with `erase`.
    #[test]
    fn no_command_that_removes_something_is_proposed() {
        let words =
            ["ease", "eras", "delet", "dele", "vacum", "redat", "retian", "rm", "remove", "purge"];
        for word in words {
            let answer = answer(word);
            let meant = answer.split("did you mean").nth(1).unwrap_or_default();
            let meant = meant.lines().next().unwrap_or_default();
            assert!(REMOVING.iter().all(|name| !meant.contains(name)), "{word}: {answer}");
        }
        assert!(answer("rm").contains("lists the commands that remove something"));
        let unknown = Cli::read(["context", "--yes"]).expect_err("unknown").to_string();
        assert!(REMOVING.iter().all(|name| !unknown.contains(name)), "{unknown}");
    }

    #[test]
    fn near_names_are_few_and_near() {
        let names = ["support-7", "support-8", "notes", "n", "main-v2"];
        assert_eq!(near("suport-7", names), ["support-7", "support-8"]);
        assert_eq!(near("support", names), ["support-7", "support-8"]);
        assert_eq!(near("note", names), ["notes"]);
        assert_eq!(near("tickets", names), [""; 0]);
        assert_eq!(near("main-v3", names), ["main-v2"]);
    }
}
