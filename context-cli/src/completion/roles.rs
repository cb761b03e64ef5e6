//! The meaning of the arguments. An argument of one name means the same in every command, so they
//! are listed here once instead of at each command.

use std::ffi::OsStr;
use std::sync::{Arc, OnceLock};

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};

use super::candidates;
use super::typed::Typed;

/// The candidates of an argument, for the word at the cursor.
type Candidates = fn(&Typed, &OsStr) -> Vec<CompletionCandidate>;

/// Returns where the candidates of an argument come from. `None` for a value that only its user
/// knows, and for those that the parser lists.
fn candidates_of(command: &str, arg: &str) -> Option<Candidates> {
    Some(match (command, arg) {
        // The names of new things.
        ("import" | "serve", "chat") | ("fork", "name") => return None,
        (_, "store") | ("copy", "to" | "other") | ("repair", "damaged" | "new") => {
            candidates::stores
        }
        ("copy", "from") => candidates::chats_and_stores,
        ("ui", "what") | (_, "source") => candidates::chats_and_files,
        (_, "chat" | "chats") => candidates::chats,
        (_, "user" | "new_token") | ("erase", "name") => candidates::users,
        (_, "branch" | "onto")
        | ("branches", "switch" | "rename" | "delete")
        | ("diff", "left" | "right") => candidates::branches,
        (_, "checkpoint") | ("checkpoint", "name") => candidates::checkpoints,
        ("show" | "rewind", "message")
        | ("fork" | "checkpoint", "at")
        | (_, "messages" | "as_of") => candidates::messages,
        ("streams show", "stream") => candidates::streams,
        ("spill read", "blob") => candidates::blobs,
        ("tokens" | "compact" | "prepare", "model") => candidates::models,
        (_, "policy") => candidates::policies,
        ("memory forget" | "memory quarantine" | "memory uses", "id") => candidates::memories,
        ("man" | "schema", "command") => candidates::commands,
        ("config get" | "config set" | "config unset", "key") => candidates::settings,
        (_, "project") => candidates::projects,
        ("trajectory import", "session") => return None,
        (command, "agent") if command.starts_with("memory") => candidates::agents,
        (command, "session") if command.starts_with("trajectory") => candidates::sessions,
        (_, "session" | "from_session" | "in_session") => candidates::memory_sessions,
        _ => return None,
    })
}

/// Gives the arguments of a command, and of all below it, their candidates. `path` is the name of
/// the command, empty for the root.
pub(super) fn attach(command: Command, path: &str, typed: &Arc<OnceLock<Typed>>) -> Command {
    let command = command.mut_args(|arg| match candidates_of(path, arg.get_id().as_str()) {
        Some(candidates) => {
            let typed = Arc::clone(typed);
            arg.add(ArgValueCompleter::new(move |current: &OsStr| {
                typed.get().map(|typed| candidates(typed, current)).unwrap_or_default()
            }))
        }
        None => arg,
    });
    command.mut_subcommands(|below| {
        let path = format!("{path} {}", below.get_name());
        attach(below, path.trim_start(), typed)
    })
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, ValueHint};

    use super::candidates_of;
    use crate::cli::Cli;

    /// The names of values that only their user knows.
    const FREE: &[&str] = &[
        "FIELDS",
        "IP",
        "MIB",
        "N",
        "TOKENS",
        "TIME",
        "SIZE",
        "SECONDS",
        "TEXT",
        "CURSOR",
        "KIND",
        "START..END",
        "ROUND|NODE",
        "CLASS",
        "SUBJECT",
    ];
    /// Names of new things, and names that no store lists.
    const NEW: &[&str] = &[
        "import --chat",
        "watch --prefix",
        "fork --name",
        "export --file",
        "serve --host",
        "config set --value",
        "trajectory graph --around",
        "trajectory export --around",
        "memory forget --message",
        "memory quarantine --message",
        "trajectory import --session",
        "memory add --speaker",
        "memory add --message",
        "memory add --block",
        "memory quarantine --speaker",
        "memory release --id",
    ];

    fn check(command: &clap::Command, path: &str, missing: &mut Vec<String>) {
        for arg in command.get_arguments() {
            let takes_value = arg.get_num_args().is_some_and(|range| range.takes_values());
            let name = format!("{path} --{}", arg.get_id().as_str().replace('_', "-"));
            let value = arg.get_value_names().into_iter().flatten().next();
            let is_known = !takes_value
                || candidates_of(path, arg.get_id().as_str()).is_some()
                || !arg.get_possible_values().is_empty()
                || arg.get_value_hint() != ValueHint::Unknown
                || value.is_some_and(|value| FREE.contains(&value.as_str()))
                || NEW.contains(&name.as_str());
            missing.extend((!is_known).then_some(name));
        }
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            check(below, format!("{path} {}", below.get_name()).trim_start(), missing);
        }
    }

    #[test]
    fn every_argument_has_candidates_or_a_reason_for_none() {
        let mut command = Cli::command();
        command.build();
        let mut missing = Vec::new();
        check(&command, "", &mut missing);
        assert_eq!(missing, [""; 0], "where do their candidates come from?");
    }
}
