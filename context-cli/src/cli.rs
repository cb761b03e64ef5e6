//! The command line as a whole: global options, the list of commands, and the help that teaches.
//!
//! The arguments of a command are in its own module.

use clap::{Args, Parser, Subcommand};

use crate::app::{App, Done};
use crate::commands::{
    branches, chats, checkpoint, delete, export, fork, graph, import, log, prompt, render, restore, rewind,
    show, verify,
};
use crate::error::Failure;

const EXAMPLES: &str = "\
Examples:
  context import conversations.json          read transcripts into the store
  context chats                              what is there
  context log support-7                      one line per message
  context rewind support-7 m4                go back: a new branch, nothing is lost
  context graph support-7                    draw the branches
  context export --all --to source           the file again, as it came in
  context render fragments.json              fragments to prompt text

A store is a URL: sqlite:PATH or mem: (gone with the process). With --json every
command writes one JSON record per line, and errors as JSON to standard error.
Exit status: 0 done, 1 failed, 2 wrong usage.";

/// Looks into a store of agent conversations and changes it.
#[derive(Debug, Parser)]
#[command(name = "context", version, after_help = EXAMPLES, max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Args, Debug)]
pub(crate) struct Global {
    /// The store: sqlite:PATH or mem:
    #[arg(long, global = true, value_name = "URL", env = "CONTEXT_STORE", hide_env_values = true)]
    #[arg(default_value = "sqlite:context.db", help_heading = "Global options")]
    pub(crate) store: String,
    /// Whose chats
    #[arg(long, global = true, value_name = "NAME", env = "CONTEXT_USER", hide_env_values = true)]
    #[arg(default_value = "local", help_heading = "Global options")]
    pub(crate) user: String,
    /// Write JSON, one record per line
    #[arg(long, global = true, help_heading = "Global options")]
    pub(crate) json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Read transcripts into chats
    Import(import::Args),
    /// List the chats
    Chats(chats::Args),
    /// List the messages of a branch
    Log(log::Args),
    /// Show one message in full
    Show(show::Args),
    /// List the branches of a chat, or go to another one
    Branches(branches::Args),
    /// Start a new branch
    Fork(fork::Args),
    /// Go back to a message, on a new branch
    Rewind(rewind::Args),
    /// Set, list and delete checkpoints
    Checkpoint(checkpoint::Args),
    /// Go back to a checkpoint, on a new branch
    Restore(restore::Args),
    /// Turn fragments into prompt text
    Render(render::Args),
    /// Show what a model would get: system prompt and messages
    Prompt(prompt::Args),
    /// Draw the message graph of a chat
    Graph(graph::Args),
    /// Write chats as transcripts
    Export(export::Args),
    /// Check every invariant of the store
    Verify(verify::Args),
    /// Delete chats
    Delete(delete::Args),
}

impl Command {
    pub(crate) async fn run(self, app: &mut App) -> Result<Done, Failure> {
        match self {
            Self::Import(args) => import::run(args, app).await,
            Self::Chats(args) => chats::run(args, app).await,
            Self::Log(args) => log::run(args, app).await,
            Self::Show(args) => show::run(args, app).await,
            Self::Branches(args) => branches::run(args, app).await,
            Self::Fork(args) => fork::run(args, app).await,
            Self::Rewind(args) => rewind::run(args, app).await,
            Self::Checkpoint(args) => checkpoint::run(args, app).await,
            Self::Restore(args) => restore::run(args, app).await,
            Self::Render(args) => render::run(args, app),
            Self::Prompt(args) => prompt::run(args, app).await,
            Self::Graph(args) => graph::run(args, app).await,
            Self::Export(args) => export::run(args, app).await,
            Self::Verify(args) => verify::run(args, app).await,
            Self::Delete(args) => delete::run(args, app).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}
