//! The complete command line: global options, the list of commands, and the help text.
//!
//! The arguments of a command are in its own module.

use std::ffi::OsString;
use std::fmt::Write as _;

use clap::builder::Styles;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueHint};

use crate::app::{App, Outcome};
use crate::commands::{
    backup, branches, chats, checkpoint, cherry_pick, compact, completions, config, copy, delete,
    diff, doctor, erase, export, fork, graph, import, log, man, mcp, memory, pin, prepare, prompt,
    redact, render, repair, restore, retain, rewind, schema, search, serve, show, spill, streams,
    tokens, trajectory, ui, upgrade, vacuum, verify, watch,
};
use crate::error::Failure;
use crate::output::ColorWhen;
use crate::settings::{Given, Origin};
use crate::store_keys::KeySettings;
use crate::{help, near_names};

/// The variable that names the store.
const STORE: &str = "CONTEXT_STORE";
/// The variable that names the user.
const USER: &str = "CONTEXT_USER";
/// The variables that say where the keys of the store are from.
const KEY_FILE: &str = "CONTEXT_KEY_FILE";
const KEY_COMMAND: &str = "CONTEXT_KEY_COMMAND";
const USER_KEYS: &str = "CONTEXT_USER_KEYS";

const EXAMPLES: &str = "\
Examples:
  context import conversations.json          read transcripts into the store
  context watch ~/.claude/projects           follow the sessions of a coding agent
  context ui                                 look at the chats in a browser
  context chats                              list the chats
  context log support-7                      one line per message
  context search lisbon tickets              find messages, best match first
  context rewind support-7 m4                go back, on a new branch
  context graph support-7                    draw the branches
  context trajectory show support-7          the steps of a run
  context memory recall 'which tickets?'     search the memories of earlier chats
  context export --all --to source           the imported files again
  context prepare support-7 --provider gemini   the body of a request, repaired
  context retain --older-than 90d --dry-run  show what would be removed

A store is a file or a URL: sqlite:PATH, mem: (gone with the process),
postgres://ROLE@HOST/DATABASE?schema=NAME, redis://HOST/NUMBER?prefix=TEXT
(rediss: with TLS) or redis+cluster://HOST,HOST. CONTEXT_STORE keeps one with a
password out of the process list, and `context config set store` keeps one for
all commands.

With --json every command writes one JSON record per line, and errors as JSON to
standard error. Long text is shown in a pager on a terminal: CONTEXT_PAGER, else
PAGER, else less.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted; writes
are complete or not made.";

/// The commands in groups, as the help lists them.
pub(crate) const GROUPS: [(&str, &[&str]); 10] = [
    (
        "Look at chats",
        &["ui", "chats", "log", "show", "prompt", "search", "graph", "spill", "streams"],
    ),
    ("Look at runs", &["trajectory"]),
    ("Remember", &["memory"]),
    ("Bring in and take out", &["import", "watch", "export", "copy", "render"]),
    ("To a model", &["prepare", "tokens", "compact", "pin"]),
    ("Branch", &["branches", "fork", "rewind", "checkpoint", "restore", "diff", "cherry-pick"]),
    ("Remove", &["redact", "delete", "retain", "erase"]),
    ("Look after the store", &["doctor", "verify", "repair", "vacuum", "backup", "upgrade"]),
    ("For other programs", &["serve", "mcp"]),
    ("Other", &["config", "schema", "completions", "man", "help"]),
];

/// Inspects and changes a store of agent conversations.
#[derive(Debug, Parser)]
#[command(name = "context", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The name of the command, such as `memory list`.
    #[arg(skip)]
    pub(crate) name: String,
    /// The chat that the command is about, if it is about one.
    #[arg(skip)]
    pub(crate) chat: Option<String>,
}

/// The options of every command.
#[derive(Args, Debug)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The store: a file, or sqlite:PATH, mem:, postgres://…, redis://… [default:
    /// sqlite:context.db]
    #[arg(long, global = true, value_name = "URL", env = STORE, hide_env_values = true)]
    store: Option<String>,
    /// The user whose chats are used [default: local]
    #[arg(long, global = true, value_name = "NAME", env = USER, hide_env_values = true)]
    user: Vec<String>,
    /// The file with the keys of an encrypted store: lines of a name and 64 hexadecimal digits or
    /// Base64, the key that encrypts first
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    key_file: Option<String>,
    /// The command that prints them instead
    #[arg(long, global = true, value_name = "COMMAND", value_hint = ValueHint::CommandString)]
    key_command: Option<String>,
    /// A file with a key for each user, which those keys encrypt
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    user_keys: Option<String>,
    /// Write JSON, one record per line; only these fields if some are named: --json=chat,title
    #[arg(long, global = true, value_name = "FIELDS", value_delimiter = ',')]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "")]
    json: Option<Vec<String>>,
    /// Use colours: auto, always or never
    #[arg(long, global = true, value_name = "WHEN", value_enum, hide_possible_values = true)]
    color: Option<ColorWhen>,
    /// Show times in full
    #[arg(long, global = true)]
    full_time: bool,
    /// Show long text at once
    #[arg(long, global = true)]
    no_pager: bool,
    /// Whether the store is from the environment.
    #[arg(skip)]
    store_of_environment: bool,
    /// Whether the user is from the environment.
    #[arg(skip)]
    user_of_environment: bool,
}

impl Global {
    /// Returns what was given, for [`Settings`](crate::settings::Settings).
    pub(crate) fn given(self) -> Given {
        let origin = |of_environment| match of_environment {
            true => Origin::Environment,
            false => Origin::Option,
        };
        let users = Some(self.user).filter(|users| !users.is_empty());
        let option = |value: Option<String>| value.map(|value| (value, Origin::Option));
        let variable = |name| Some((std::env::var(name).ok()?, Origin::Environment));
        let keys = KeySettings {
            file: option(self.key_file),
            command: option(self.key_command),
            users: option(self.user_keys),
        };
        let of_environment = KeySettings {
            file: variable(KEY_FILE),
            command: variable(KEY_COMMAND),
            users: variable(USER_KEYS),
        };
        Given {
            store: self.store.map(|store| (store, origin(self.store_of_environment))),
            users: users.map(|users| (users, origin(self.user_of_environment))),
            keys: keys.or(of_environment),
            color: self.color,
            no_pager: self.no_pager,
            json: self
                .json
                .map(|fields| fields.into_iter().filter(|field| !field.is_empty()).collect()),
            full_time: self.full_time,
        }
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read transcripts into chats
    Import(import::Args),
    /// Follow the session files of coding agents as they grow
    Watch(watch::Args),
    /// Look at chats in a browser
    Ui(ui::Args),
    /// Serve chats to programs over HTTP
    Serve(serve::Args),
    /// Give agents tools to search, read and change chats
    Mcp(mcp::Args),
    /// List the chats
    Chats(chats::Args),
    /// List the messages of a branch
    Log(log::Args),
    /// Show one message in full
    Show(show::Args),
    /// Find messages by words, best match first
    Search(search::Args),
    /// List, switch, rename and delete the branches of a chat
    Branches(branches::Args),
    /// Start a new branch
    Fork(fork::Args),
    /// Go back to a message, on a new branch
    Rewind(rewind::Args),
    /// Pin messages, so that no compaction takes them
    Pin(pin::Args),
    /// Set, list and delete checkpoints
    Checkpoint(checkpoint::Args),
    /// Go back to a checkpoint, on a new branch
    Restore(restore::Args),
    /// Compare two branches: the last common message, and the later ones
    Diff(diff::Args),
    /// Copy messages to the end of another branch
    CherryPick(cherry_pick::Args),
    /// Render fragments as prompt text
    Render(render::Args),
    /// Show what a model would get: system prompt and messages
    Prompt(prompt::Args),
    /// Print the body of a request to a provider
    Prepare(prepare::Args),
    /// Count tokens and their cost
    Tokens(tokens::Args),
    /// Shorten the history that a model is shown
    Compact(compact::Args),
    /// Draw the message graph of a chat
    Graph(graph::Args),
    /// List, read and remove blobs with spilled tool results
    Spill(spill::Args),
    /// List, read and remove answer streams
    Streams(streams::Args),
    /// Inspect the recorded runs of agents
    Trajectory(trajectory::Args),
    /// Search, list, add and forget memories
    Memory(memory::Args),
    /// Write chats as transcripts
    Export(export::Args),
    /// Copy a chat, or all chats to another store
    Copy(copy::Args),
    /// Remove the content of messages for good
    Redact(redact::Args),
    /// Delete chats
    Delete(delete::Args),
    /// Remove old or surplus chats and branches
    Retain(retain::Args),
    /// Erase everything of a user
    Erase(erase::Args),
    /// Check what is used, and whether it is well
    Doctor(doctor::Args),
    /// Check every invariant of the store
    Verify(verify::Args),
    Repair(repair::Args),
    /// Release unused space and clear deleted data from it
    Vacuum(vacuum::Args),
    /// Write the whole store to a new file
    Backup(backup::Args),
    /// Bring a store of an older version up to date
    Upgrade(upgrade::Args),
    /// Show and change the defaults of the command line
    Config(config::Args),
    /// Print the JSON Schema of what a command writes with --json
    Schema(schema::Args),
    /// Print a script that completes this command in a shell
    Completions(completions::Args),
    /// Write the pages of the manual
    Man(man::Args),
}

impl Cli {
    /// Returns when colours are used, as far as the command line says.
    pub(crate) fn color(&self) -> ColorWhen {
        self.global.color.unwrap_or_default()
    }

    /// Parses a command line that starts with the program name.
    pub(crate) fn read<T: Into<OsString> + Clone>(
        args: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        let mut command = Self::command();
        command.build();
        let template = template(&command);
        let mut command = help::reflowed(command.help_template(template));
        let matches = match command.try_get_matches_from_mut(&args) {
            Ok(matches) => matches,
            Err(error) => {
                return Err(match chat_like_a_flag(&args) {
                    Some(name) => command.error(
                        ErrorKind::UnknownArgument,
                        format!("{name} is read as flags: a chat with such a name follows `--`"),
                    ),
                    None => near_names::of_commands(error, &mut command),
                });
            }
        };
        let mut cli = Self::from_arg_matches(&matches)?;
        (cli.name, cli.chat) = subject_of(&matches);
        let of_environment = |id| matches.value_source(id) == Some(ValueSource::EnvVariable);
        cli.global.store_of_environment = of_environment("store");
        cli.global.user_of_environment = of_environment("user");
        match empty(&cli.global) {
            None => Ok(cli),
            Some((name, example)) => {
                let message =
                    format!("{name} is empty: give a value such as {example}, or leave it out");
                Err(command.error(ErrorKind::InvalidValue, message))
            }
        }
    }
}

/// Returns the name of the command that was read, with that of its own command, and the chat that
/// it is about.
fn subject_of(matches: &ArgMatches) -> (String, Option<String>) {
    let (mut name, mut matches) = (Vec::new(), matches);
    while let Some((next, inner)) = matches.subcommand() {
        name.push(next);
        matches = inner;
    }
    let chat = matches.try_get_one::<String>("chat").ok().flatten().cloned();
    (name.join(" "), chat)
}

/// Returns an argument that was read as short flags, and is the name of a chat: those of Claude
/// Code have the name of a folder, which begins with a hyphen for a slash.
fn chat_like_a_flag(args: &[OsString]) -> Option<&str> {
    let flags = args.iter().filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--");
    let mut names =
        flags.filter(|arg| arg.starts_with('-') && !arg.starts_with("--") && arg.contains('/'));
    names.next()
}

/// Returns the option or variable that is set to an empty value, with an example of a valid value.
fn empty(global: &Global) -> Option<(&'static str, &'static str)> {
    let named = |of_environment, variable, option| if of_environment { variable } else { option };
    if global.store.as_ref().is_some_and(String::is_empty) {
        let name = named(global.store_of_environment, STORE, "--store");
        return Some((name, "a file, or a URL such as sqlite:context.db"));
    }
    let is_empty = global.user.iter().any(String::is_empty);
    is_empty.then(|| (named(global.user_of_environment, USER, "--user"), "a name"))
}

/// Returns the help template with the commands in groups.
fn template(command: &clap::Command) -> String {
    let styles = Styles::styled();
    let (heading, name) = (styles.get_header(), styles.get_literal());
    let width =
        command.get_subcommands().map(|command| command.get_name().len()).max().unwrap_or(0);
    let mut text = "{about-section}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        let _ = write!(text, "\n{heading}{group}:{heading:#}\n");
        for command in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {name}{:width$}{name:#}  {about}", command.get_name());
        }
    }
    let _ = write!(text, "\n{heading}Options:{heading:#}\n{{options}}{{after-help}}");
    text
}

impl Command {
    /// Returns whether the command writes text that a person reads, so that a pager may show it.
    pub(crate) fn is_read_at_leisure(&self) -> bool {
        match self {
            Self::Chats(_) | Self::Log(_) | Self::Show(_) | Self::Search(_) | Self::Prompt(_) => {
                true
            }
            Self::Graph(_) | Self::Diff(_) | Self::Tokens(_) => true,
            Self::Trajectory(args) => args.only_looks(),
            Self::Memory(args) => args.only_looks(),
            _ => false,
        }
    }

    /// Returns whether the command helps with a configuration that cannot be read.
    pub(crate) fn works_without_settings(&self) -> bool {
        matches!(self, Self::Config(_) | Self::Doctor(_) | Self::Completions(_) | Self::Man(_))
    }

    pub(crate) async fn run(self, app: &mut App) -> Result<Outcome, Failure> {
        if !matches!(self, Self::Copy(_)) {
            app.one_user()?;
        }
        match self {
            Self::Import(args) => import::run(args, app).await,
            Self::Watch(args) => watch::run(args, app).await,
            Self::Ui(args) => ui::run(args, app).await,
            Self::Serve(args) => serve::run(args, app).await,
            Self::Mcp(args) => mcp::run(args, app).await,
            Self::Chats(args) => chats::run(args, app).await,
            Self::Log(args) => log::run(args, app).await,
            Self::Show(args) => show::run(args, app).await,
            Self::Search(args) => search::run(args, app).await,
            Self::Branches(args) => branches::run(args, app).await,
            Self::Fork(args) => fork::run(args, app).await,
            Self::Rewind(args) => rewind::run(args, app).await,
            Self::Pin(args) => pin::run(args, app).await,
            Self::Checkpoint(args) => checkpoint::run(args, app).await,
            Self::Restore(args) => restore::run(args, app).await,
            Self::Diff(args) => diff::run(args, app).await,
            Self::CherryPick(args) => cherry_pick::run(args, app).await,
            Self::Render(args) => render::run(args, app),
            Self::Prompt(args) => prompt::run(args, app).await,
            Self::Prepare(args) => prepare::run(args, app).await,
            Self::Tokens(args) => tokens::run(args, app).await,
            Self::Compact(args) => compact::run(args, app).await,
            Self::Graph(args) => graph::run(args, app).await,
            Self::Spill(args) => spill::run(args, app).await,
            Self::Streams(args) => streams::run(args, app).await,
            Self::Trajectory(args) => trajectory::run(args, app).await,
            Self::Memory(args) => memory::run(args, app).await,
            Self::Export(args) => export::run(args, app).await,
            Self::Copy(args) => copy::run(args, app).await,
            Self::Redact(args) => redact::run(args, app).await,
            Self::Delete(args) => delete::run(args, app).await,
            Self::Retain(args) => retain::run(args, app).await,
            Self::Erase(args) => erase::run(args, app).await,
            Self::Doctor(args) => doctor::run(args, app).await,
            Self::Verify(args) => verify::run(args, app).await,
            Self::Repair(args) => repair::run(args, app).await,
            Self::Vacuum(args) => vacuum::run(args, app).await,
            Self::Backup(args) => backup::run(args, app).await,
            Self::Upgrade(args) => upgrade::run(args, app).await,
            Self::Schema(args) => schema::run(&args, app),
            Self::Config(args) => config::run(args, app),
            Self::Completions(args) => completions::run(args, app),
            Self::Man(args) => man::run(args, Cli::command(), app),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::{Cli, GROUPS};
    use crate::command_table::{COMMANDS, Use};

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_is_in_one_group_and_teaches_by_example() {
        let mut command = Cli::command();
        command.build();
        let mut all: Vec<_> = command.get_subcommands().map(|command| command.get_name()).collect();
        let mut grouped: Vec<_> =
            GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(all, grouped);
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let help = command.clone().render_long_help().to_string();
            assert!(help.contains("Example"), "{}", command.get_name());
        }
    }

    /// Collects the names of all commands without subcommands, and whether they have `--dry-run`.
    fn leaves(command: &clap::Command, before: &str, all: &mut Vec<(String, bool)>) {
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = format!("{before} {}", command.get_name()).trim().to_owned();
            if command.has_subcommands() {
                leaves(command, &name, all);
            } else {
                let dry_run = command.get_arguments().any(|arg| arg.get_long() == Some("dry-run"));
                all.push((name, dry_run));
            }
        }
    }

    /// If this test fails, there is a new command: add it to `tests/cli/command_table.rs`, so that
    /// it is also tested on foreign data.
    #[test]
    fn every_command_is_filed_under_looks_or_writes() {
        let mut command = Cli::command();
        command.build();
        let mut all = Vec::new();
        leaves(&command, "", &mut all);
        for (name, dry_run) in &all {
            let lines = || COMMANDS.iter().filter(|(filed, ..)| filed == name);
            assert!(lines().count() > 0, "`{name}` is in no table");
            let dry = |(_, usage, line): &(_, Use, &str)| {
                *usage == Use::Looks && line.contains("--dry-run")
            };
            assert_eq!(lines().any(dry), *dry_run, "`{name}` with --dry-run only looks");
        }
        for (name, _, line) in COMMANDS {
            assert!(all.iter().any(|(known, _)| known == name), "there is no command `{name}`");
            assert!(line.starts_with(name), "{line}");
            let args = ["context"].into_iter().chain(line.split(' '));
            assert!(Cli::read(args).is_ok(), "{line}");
        }
    }
}
