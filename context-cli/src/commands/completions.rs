//! `completions`: prints a shell completion script.

use clap::Command;
use clap_complete::Shell;
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::error::Failure;

/// Print a script that completes this command in a shell.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context completions bash >~/.local/share/bash-completion/completions/context
  context completions zsh >\"${fpath[1]}/_context\"
  context completions fish >~/.config/fish/completions/context.fish")]
pub(crate) struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// JSON record of `completions`: the script.
#[derive(Serialize)]
struct CompletionsRecord<'a> {
    v: u32,
    shell: String,
    text: &'a str,
}

pub(crate) fn run(args: Args, command: &mut Command, app: &mut App) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, command, "context", &mut script);
    let text = String::from_utf8_lossy(&script);
    if app.out.is_json() {
        app.out.record(&CompletionsRecord { v: 1, shell: args.shell.to_string(), text: &text })?;
    } else {
        app.out.text(&text)?;
    }
    Ok(Outcome::Success)
}
