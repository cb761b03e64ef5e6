//! Help texts, which are wrapped once: at the width of the terminal, and not before by the source.

use clap::Command;

/// Returns a command whose help texts, and those of its subcommands, are wrapped at the terminal's
/// width only.
pub(crate) fn reflowed(command: Command) -> Command {
    let reflow =
        |text: Option<&clap::builder::StyledStr>| text.map(|text| reflow(&text.ansi().to_string()));
    let (before, after) = (reflow(command.get_after_help()), reflow(command.get_long_about()));
    let command = match before {
        Some(text) => command.after_help(text),
        None => command,
    };
    let command = match after {
        Some(text) => command.long_about(text),
        None => command,
    };
    command.mut_subcommands(reflowed)
}

/// Joins the lines of paragraphs. Lines that are indented, such as examples, stay lines, and so
/// does a heading before them.
fn reflow(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    for line in text.lines() {
        let before = all.lines().next_back().unwrap_or_default();
        let is_text = |line: &str| !line.is_empty() && !line.starts_with(' ');
        let continues = is_text(line)
            && is_text(before)
            && !all.ends_with("\n\n")
            && !before.ends_with(':')
            && !line.starts_with("* ");
        if continues {
            all.truncate(all.trim_end().len());
            all.push(' ');
        }
        all.push_str(line);
        all.push('\n');
    }
    all.truncate(all.trim_end().len());
    all
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::reflow;
    use crate::cli::Cli;

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let text = "One\ntwo.\n\nThree\nfour:\n  a   b\n  c   d\nFive\nsix.\n* one\n* two\nand";
        let joined = "One two.\n\nThree four:\n  a   b\n  c   d\nFive six.\n* one\n* two and";
        assert_eq!(reflow(text), joined);
        assert_eq!(reflow(joined), joined);
    }

    /// Help was once wrapped by its source and again by the terminal, with every second line short.
    #[test]
    fn help_is_wrapped_once() {
        let mut command = super::reflowed(Cli::command().term_width(80));
        command.build();
        let mut all: Vec<_> = command.get_subcommands().cloned().collect();
        let mut lines = Vec::new();
        while let Some(mut command) = all.pop() {
            all.extend(command.get_subcommands().cloned());
            let name = command.get_name().to_owned();
            for line in command.render_long_help().to_string().lines() {
                let line = line.trim_end();
                // The parser does not wrap the synopsis.
                let is_synopsis = line.starts_with("Usage:");
                assert!(is_synopsis || line.chars().count() <= 80, "{name}: {line}");
                lines.push((name.clone(), line.to_owned()));
            }
        }
        // Text that goes on in the next line is as long as the next word permits.
        for pair in lines.windows(2) {
            let ((name, line), (_, next)) = (&pair[0], &pair[1]);
            let is_text = |line: &str| line.starts_with(|c: char| c.is_alphanumeric() || c == '-');
            let ends = line.ends_with(['.', ':']);
            if is_text(line) && is_text(next) && !ends && !line.starts_with("Usage") {
                let word = next.split(' ').next().unwrap_or_default();
                let fits = line.chars().count() + 1 + word.chars().count() <= 80;
                assert!(!fits, "{name}: {line:?} ends before {word:?}");
            }
        }
    }
}
