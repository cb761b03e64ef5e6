//! Names that try to control a terminal, in every command.

use std::path::Path;

use clap::{ArgAction, CommandFactory, builder::ValueRange};
use serde_json::{Value, json};

use super::Scene;
use crate::cli::Cli;
use crate::output::{failure_json, failure_text};
use crate::text::is_hidden;

/// Contains line breaks, colours, titles, clear screen, text direction and hidden characters.
const NAME: &str = "a\nFORGED \u{1b}[31m\u{1b}]0;t\u{7}\u{9b}2J\u{202e}x\u{2066}y\u{2028}FORGED\r\u{200b}\u{e0041}z";

/// A chat in which every name is hostile, with branches, a checkpoint, calls, a title, rounds and
/// memories.
fn scene(folder: &Path) -> Scene {
    let scene = Scene::new();
    let said = NAME.replace("FORGED", "SAID");
    let call =
        json!({"id": NAME, "type": "function", "function": {"name": NAME, "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": said},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": NAME, "content": said},
        {"role": "assistant", "content": said},
    ]);
    let file = folder.join(NAME);
    std::fs::write(&file, messages.to_string()).expect("the folder can be written to");
    let file = file.display().to_string();
    for args in [
        vec!["import", "--chat", NAME, "--trajectory", &file],
        vec!["checkpoint", NAME, NAME],
        vec!["fork", NAME, "--at", "m1", "--name", NAME],
        vec!["memory", "add", &said],
    ] {
        let (result, out, beside) = scene.run(&args, false);
        assert!(result.is_ok(), "{args:?}: {:?}", result.err());
        check(&args.join(" "), &(out + &beside), false);
    }
    scene
}

/// Checks terminal output: nothing is hidden, and no line starts with a name, nor with content
/// unless the command shows content as it is.
#[track_caller]
fn check(command: &str, shown: &str, shows_content: bool) {
    let hidden: Vec<_> = shown.chars().filter(|c| !"\n\t".contains(*c) && is_hidden(*c)).collect();
    assert!(hidden.is_empty(), "{command} writes {hidden:?}: {shown}");
    let begins = |line: &&str, with: &str| line.trim_start().starts_with(with);
    let forged =
        shown.lines().find(|line| begins(line, "FORGED") || !shows_content && begins(line, "SAID"));
    assert!(forged.is_none(), "{command} writes a line that a name forged: {shown}");
}

/// The commands that show several lines of content, in which line feeds are kept.
const SHOWS_CONTENT: [&str; 7] =
    ["show", "prompt", "render", "trajectory show", "export", "memory recall", "trajectory export"];

/// The commands that are asked with each global option. It does the same in all others.
const ASKED_GLOBALLY: [&str; 2] = ["chats", "import"];

/// Returns the command lines of a command: with a value for each positional and each option that
/// takes one.
fn lines(command: &clap::Command, path: &[String], folder: &Path) -> Vec<Vec<String>> {
    let value = |arg: &clap::Arg, name: &str| -> String {
        let possible = arg.get_possible_values();
        match arg.get_id().as_str() {
            _ if !possible.is_empty() => possible[0].get_name().to_owned(),
            "output" | "file" | "files" | "folder" | "damaged" | "new" => {
                folder.join(format!("none-{name}")).display().to_string()
            }
            _ => name.to_owned(),
        }
    };
    let missing = format!("{NAME}-missing");
    let globally = ASKED_GLOBALLY.contains(&path.join(" ").as_str());
    let has_provider = command.get_arguments().any(|arg| arg.get_long() == Some("provider"));
    let mut all = Vec::new();
    for names in [NAME, &missing, "m1", "1"] {
        let mut line = path.to_vec();
        // The first argument is usually the chat, and the later ones belong to it.
        for (at, arg) in command.get_positionals().enumerate() {
            let name = if at == 0 && names != missing { NAME } else { names };
            line.push(value(arg, name));
        }
        // There is no one to answer a question.
        if command.get_arguments().any(|arg| arg.get_long() == Some("yes")) {
            line.push("--yes".to_owned());
        }
        all.push(line.clone());
        let options = command.get_arguments().filter(|arg| !arg.is_positional());
        for arg in options.filter(|arg| globally || !arg.is_global_set()) {
            let Some(long) = arg.get_long() else { continue };
            let takes = arg.get_num_args().unwrap_or_else(|| ValueRange::new(0)).takes_values()
                && matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
            let mut with = line.clone();
            with.push(format!("--{long}"));
            if takes {
                with.push(value(arg, names));
            }
            all.push(with.clone());
            if has_provider {
                with.extend(["--provider".to_owned(), "openai".to_owned()]);
                all.push(with);
            }
        }
    }
    all
}

fn walk(
    command: &clap::Command,
    path: &[String],
    each: &mut impl FnMut(&clap::Command, &[String]),
) {
    if command.get_subcommands().next().is_none() {
        return each(command, path);
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let path: Vec<_> = path.iter().cloned().chain([sub.get_name().to_owned()]).collect();
        walk(sub, &path, each);
    }
}

#[test]
fn no_command_shows_a_name_that_forges_a_line_or_sends_a_sequence() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut scene = scene(folder.path());
    let mut command = Cli::command();
    command.build();
    let mut ran = 0;
    walk(&command, &[], &mut |command, path| {
        for line in lines(command, path, folder.path()) {
            let named = path.join(" ");
            // A page of a chat that is there is served without end, as the API is; `mcp` is for
            // programs, which its own tests are.
            let ends = line.iter().any(|arg| arg == "--new-token" || arg == "--describe");
            if named == "ui" && line.iter().any(|arg| arg == NAME)
                || named == "serve" && !ends
                || named == "mcp"
            {
                continue;
            }
            // These would wait for standard input.
            if line.iter().any(|arg| arg == "-")
                || (path.len() == line.len() && reads_input(command))
            {
                continue;
            }
            for json in [false, true] {
                let mut args = vec!["context".to_owned(), "--user".to_owned(), "local".to_owned()];
                args.extend(line.iter().cloned());
                let cli = match Cli::read(&args) {
                    Ok(cli) => cli,
                    Err(error) => {
                        // The error quotes the command line on separate lines.
                        let said =
                            crate::text::clean_lines(&error.to_string()).replace("\nFORGED", "");
                        check(&named, &said, false);
                        continue;
                    }
                };
                let (result, out, beside) =
                    scene.run_read(cli, json, |output| output.on_a_terminal());
                ran += 1;
                let failed = match &result {
                    Err(failure) if json => failure_json(failure),
                    Err(failure) => failure_text(failure),
                    Ok(_) => String::new(),
                };
                let shows_content = SHOWS_CONTENT.contains(&named.as_str()) && !json;
                check(&format!("{line:?}"), &out, shows_content);
                check(&format!("{line:?}"), &beside, false);
                check(&format!("{line:?}"), &failed, false);
                if json {
                    // A schema is one value on several lines.
                    let mut values = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
                    assert!(values.all(|value| value.is_ok()), "{line:?}: {out}");
                }
                if matches!(named.as_str(), "delete" | "erase" | "redact" | "retain")
                    || named.contains("prune")
                {
                    scene = self::scene(folder.path());
                }
            }
        }
    });
    assert!(ran > 200, "{ran} command lines ran: the test reaches too few");
}

/// Returns whether a command without arguments reads standard input.
fn reads_input(command: &clap::Command) -> bool {
    command.get_positionals().any(|arg| arg.get_default_values().iter().any(|value| value == "-"))
}
