//! `man`: writes the pages of the manual, from the definitions of the help texts.
//!
//! The lines of a help text are as wide as a terminal. In a page its prose is filled anew, and only
//! indented lines, which are command lines, stay as they are.

use std::path::{Path, PathBuf};
use std::{fs, io};

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use schemars::JsonSchema;
use serde::Serialize;

use crate::app::{App, Outcome};
use crate::cli::GROUPS;
use crate::error::Failure;
use crate::text::{clean, count};

/// Write the pages of the manual.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  context man | man -l -
  context man memory forget | man -l -
  context man --output ~/.local/share/man/man1    then: man context-log

A folder gets one page for each command. Pages of the same name in it are replaced.")]
pub(crate) struct Args {
    /// The command whose page is printed [default: `context` itself]
    #[arg(value_name = "COMMAND", conflicts_with = "output")]
    command: Vec<String>,
    /// Write all pages into this folder
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

/// JSON record of `man`: a page, as text or as a file.
#[derive(Serialize, JsonSchema)]
pub(super) struct PageRecord<'a> {
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
        let words = [&["context".to_owned()], args.command.as_slice()].concat();
        let wanted = format!("{}.1", words.join("-"));
        let Some(Page { name, text }) = pages.iter().find(|page| page.name == wanted) else {
            let command = clean(&args.command.join(" ")).into_owned();
            return Err(Failure::Usage(format!("there is no command `{command}` with a page")));
        };
        match app.out.is_json() {
            true => app.out.record(&PageRecord::new(name, Some(text), None))?,
            false => app.out.text(text)?,
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
    let mut waiting = vec![(root, String::new())];
    while let Some((command, above)) = waiting.pop() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let (prose, mut examples) = parts(&help);
        if examples.is_empty() {
            // Those of the command above that are of this one.
            let begin = format!("  {} ", command.get_bin_name().unwrap_or_default());
            let is_own = |line: &&str| format!("{line} ").starts_with(&begin);
            examples = parts(&above).1.into_iter().filter(is_own).collect();
        }
        let below = command.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned();
        waiting.extend(below.map(|below| (below, help.clone())));
        let (synopsis, related) = (synopsis(&command), related(&command));
        let commands = commands(&command);
        let variables = variables(&command);
        let man = Man::new(command).source(source.as_str()).manual("Chats of LLM agents");
        let mut text = Vec::new();
        man.render_title(&mut text)?;
        man.render_name_section(&mut text)?;
        synopsis.to_writer(&mut text)?;
        man.render_description_section(&mut text)?;
        lines(None, &prose).to_writer(&mut text)?;
        man.render_options_section(&mut text)?;
        commands.to_writer(&mut text)?;
        variables.to_writer(&mut text)?;
        lines(Some("EXAMPLES"), &examples).to_writer(&mut text)?;
        related.to_writer(&mut text)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        pages.push(Page { name: man.get_filename(), text });
    }
    Ok(pages)
}

/// Divides the end of a help text into prose and examples.
fn parts(help: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut prose, mut examples) = (Vec::new(), Vec::new());
    let mut is_example = false;
    for paragraph in help.split("\n\n") {
        let begins = paragraph.starts_with("Example");
        // A paragraph of command lines only goes on where the one before it is.
        is_example = begins || is_example && paragraph.lines().all(|line| line.starts_with(' '));
        if is_example {
            examples.extend(examples.last().map(|_| ""));
            examples.extend(paragraph.lines().skip(usize::from(begins)));
        } else {
            prose.push("");
            prose.extend(paragraph.lines());
        }
    }
    (prose, examples)
}

/// Returns lines under a heading. Indented lines stay as they are; the others are filled, and an
/// empty one begins a paragraph.
fn lines(heading: Option<&str>, lines: &[&str]) -> Roff {
    let mut roff = Roff::new();
    if lines.iter().all(|line| line.is_empty()) {
        return roff;
    }
    if let Some(heading) = heading {
        roff.control("SH", [heading]);
    }
    let mut verbatim = false;
    for line in lines {
        let is_indented = line.starts_with(' ') || verbatim && line.is_empty();
        if is_indented != verbatim {
            verbatim = is_indented;
            roff.control(if verbatim { "nf" } else { "fi" }, []);
        }
        match line.is_empty() && !verbatim {
            true => roff.control("PP", []),
            false => roff.text([roman(*line)]),
        };
    }
    if verbatim {
        roff.control("fi", []);
    }
    roff
}

/// Returns the line that the help begins with, such as `context log [OPTIONS] <CHAT>`.
fn synopsis(command: &Command) -> Roff {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let name = command.get_bin_name().unwrap_or_default();
    let rest = usage.strip_prefix(name).unwrap_or(usage);
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([bold(name), roman(rest)]);
    roff
}

/// Lists the commands below this one, those of `context` itself in the groups of its help.
fn commands(command: &Command) -> Roff {
    let mut roff = Roff::new();
    if !command.has_subcommands() {
        return roff;
    }
    roff.control("SH", ["COMMANDS"]);
    let entry = |roff: &mut Roff, below: &Command| {
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        let page = below.get_display_name().unwrap_or_default();
        roff.control("TP", []);
        roff.text([bold(page), roman("(1)")]);
        roff.text([roman(about)]);
    };
    let is_root = command.get_name() == "context";
    for (group, names) in GROUPS.iter().filter(|_| is_root) {
        roff.control("SS", [*group]);
        let below = names.iter().filter_map(|name| command.find_subcommand(name));
        below.for_each(|below| entry(&mut roff, below));
    }
    if !is_root {
        command.get_subcommands().for_each(|below| entry(&mut roff, below));
    }
    roff
}

/// Lists the environment variables in place of options.
fn variables(command: &Command) -> Roff {
    let mut roff = Roff::new();
    for arg in command.get_arguments() {
        let (Some(variable), Some(option)) = (arg.get_env(), arg.get_long()) else { continue };
        if roff == Roff::new() {
            roff.control("SH", ["ENVIRONMENT"]);
        }
        roff.control("TP", []);
        roff.text([bold(variable.to_string_lossy())]);
        roff.text([roman("The value without "), bold(format!("--{option}"))]);
    }
    roff
}

/// Refers to the pages above this one.
fn related(command: &Command) -> Roff {
    let name = command.get_display_name().unwrap_or_default();
    let ends = name.match_indices('-').map(|(at, _)| &name[..at]);
    // The hyphen of `cherry-pick` is in the name of a command.
    let above: Vec<_> = ends.filter(|above| !above.ends_with("cherry")).collect();
    let mut roff = Roff::new();
    if !above.is_empty() {
        roff.control("SH", ["SEE ALSO"]);
        let pages: Vec<_> = above.iter().map(|above| format!("{above}(1)")).collect();
        roff.text([roman(pages.join(", "))]);
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
        let has_help = command.get_after_help().is_some();
        assert!(text.contains("EXAMPLES") || !has_help, "an example in the page of {name}");
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
