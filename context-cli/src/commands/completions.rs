//! `completions`: prints the script with which a shell completes this command.

use clap_complete::Shell;
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::completion;
use crate::error::Failure;

/// Print a script that completes this command in a shell.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context completions bash >~/.local/share/bash-completion/completions/context
  context completions zsh >\"${fpath[1]}/_context\"
  context completions fish >~/.config/fish/completions/context.fish
  context completions elvish >>~/.config/elvish/rc.elv
  context completions powershell >>$PROFILE

The script makes the shell ask `context` at each Tab, so that names of chats, branches, messages and
the like are completed from the store on the line, or else from that of CONTEXT_STORE. The store is
only read, and a server that does not answer at once is not waited for. Write the script anew after an
upgrade, or let the shell do it when it starts, with a line in ~/.bashrc or ~/.zshrc such as

  source <(COMPLETE=bash context)")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// JSON record of `completions`: the script.
#[derive(Serialize, JsonSchema)]
pub(super) struct CompletionsRecord<'a> {
    v: u32,
    shell: String,
    text: &'a str,
}

pub(crate) fn run(args: Args, app: &mut App) -> Result<Outcome, Failure> {
    let shell = args.shell.to_string();
    let text = completion::script(&shell).unwrap_or_default();
    if app.out.is_json() {
        app.out.record(&CompletionsRecord { v: 1, shell, text: &text })?;
    } else {
        app.out.text(&text)?;
    }
    Ok(Outcome::Success)
}
