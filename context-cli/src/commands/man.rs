//! `man`: writes the pages of the manual, from the definitions of the help texts.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::error::Failure;
use crate::text::{clean, count};

/// Write the pages of the manual.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context man | man -l -
  context man --output ~/.local/share/man/man1    then: man context-log

A folder gets one page for each command. Pages of the same name in it are replaced.")]
pub(crate) struct Args {
    /// Write all pages into this folder [default: the page of `context`, to standard output]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// JSON record of `man`: a page, as text or as a file.
#[derive(Serialize)]
struct PageRecord<'a> {
    v: u32,
    /// The name of the page, `context-log.1`.
    page: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl<'a> PageRecord<'a> {
    fn new(page: &'a str, text: Option<&'a str>, file: Option<String>) -> Self {
        Self { v: 1, page, text, file }
    }
}

/// A page of the manual.
struct Page {
    name: String,
    text: String,
}

pub(crate) fn run(args: Args, command: Command, app: &mut App) -> Result<Outcome, Failure> {
    let pages = pages(command).map_err(Failure::Write)?;
    let Some(folder) = args.output else {
        if let Some(Page { name, text }) = pages.first() {
            match app.out.is_json() {
                true => app.out.record(&PageRecord::new(name, Some(text), None))?,
                false => app.out.text(text)?,
            }
        }
        return Ok(Outcome::Success);
    };
    let cannot_write =
        |path: &Path, source| Failure::WriteFile { file: path.display().to_string(), source };
    fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, error))?;
    for Page { name, text } in &pages {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| cannot_write(&path, error))?;
        if app.out.is_json() {
            let file = Some(path.display().to_string());
            app.out.record(&PageRecord::new(name, None, file))?;
        }
    }
    if !app.out.is_json() {
        let folder = folder.display().to_string();
        app.out.line(format_args!("{} in {}", count(pages.len(), "page"), clean(&folder)))?;
    }
    Ok(Outcome::Success)
}

/// Returns the pages of a command and of all commands below it; its own comes first.
fn pages(command: Command) -> io::Result<Vec<Page>> {
    let mut root = command.disable_help_subcommand(true);
    root.build();
    let source = format!("context {}", env!("CARGO_PKG_VERSION"));
    let mut pages = Vec::new();
    let mut waiting = vec![root];
    while let Some(command) = waiting.pop() {
        waiting.extend(command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned());
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let has_subcommands = command.has_subcommands();
        let man = Man::new(command).source(source.as_str()).manual("Chats of LLM agents");
        let mut text = Vec::new();
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        man.render_synopsis_section(&mut text)?;
        man.render_description_section(&mut text)?;
        man.render_options_section(&mut text)?;
        if has_subcommands {
            man.render_subcommands_section(&mut text)?;
        }
        examples_section(&examples).to_writer(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        pages.push(Page { name: man.get_filename(), text });
    }
    Ok(pages)
}

/// Returns the section with the end of a help text. Indented lines are command lines, which stay as
/// they are; the rest is prose.
fn examples_section(text: &str) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["EXAMPLES"]);
    let mut verbatim = false;
    for line in text.strip_prefix("Examples:\n").unwrap_or(text).lines() {
        if line.starts_with(' ') != verbatim {
            verbatim = !verbatim;
            roff.control(if verbatim { "nf" } else { "fi" }, []);
        }
        roff.text([roman(line)]);
    }
    roff
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::pages;
    use crate::cli::Cli;

    /// Checks that the page of a command, and those of the commands below it, name every option.
    fn check(command: &clap::Command, name: &str, pages: &[super::Page]) -> usize {
        let page = pages.iter().find(|page| page.name == format!("{name}.1"));
        let page = page.unwrap_or_else(|| panic!("no page of {name}"));
        let text = page.text.replace('\\', "");
        for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
            let takes_value = arg.get_num_args().is_some_and(|range| range.takes_values());
            let names = arg.get_value_names().into_iter().flatten().filter(|_| takes_value);
            let names = names.map(ToString::to_string);
            for word in arg.get_long().map(|long| format!("--{long}")).into_iter().chain(names) {
                assert!(text.contains(&word), "{word} in the page of {name}");
            }
        }
        assert!(text.contains("EXAMPLES"), "an example in the page of {name}");
        let below = command.get_subcommands().filter(|command| command.get_name() != "help");
        1 + below
            .map(|command| check(command, &format!("{name}-{}", command.get_name()), pages))
            .sum::<usize>()
    }

    #[test]
    fn each_command_has_a_page_with_all_its_options() {
        let pages = pages(Cli::command()).expect("nothing is written to a file");
        let mut command = Cli::command();
        command.build();
        assert_eq!(check(&command, "context", &pages), pages.len());
        assert_eq!(pages[0].name, "context.1");
    }
}
