//! The pager: on a terminal, text that is longer than the screen is read in `less`, as with git.

use std::env;
use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use unicode_width::UnicodeWidthStr;

use super::settings::Screen;

/// Returns the number of rows that a text takes on a screen. Stops counting at `enough`.
fn rows(text: &str, columns: usize, enough: usize) -> usize {
    let mut rows = 0;
    for line in text.lines() {
        rows += line.width().div_ceil(columns.max(1)).max(1);
        if rows >= enough {
            break;
        }
    }
    rows
}

/// Returns whether a text is longer than the screen, on which the prompt takes a row as well.
pub(super) fn is_needed(text: &[u8], screen: Screen) -> bool {
    let Some(height) = screen.rows else { return false };
    let columns = screen.columns.unwrap_or(80);
    rows(&String::from_utf8_lossy(text), columns, height) >= height
}

/// Starts a pager. As with git, a pager that does not say otherwise shows colours, wraps nothing
/// away, and leaves the text on the screen.
fn start(pager: &str) -> io::Result<Child> {
    // A pager may have options, and what quotes them is up to the shell.
    let mut command = match cfg!(windows) {
        true => Command::new("cmd"),
        false => Command::new("sh"),
    };
    command.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(pager);
    for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    command.stdin(Stdio::piped()).spawn()
}

/// Shows a text in a pager and waits for its end. Returns whether it was shown; if the pager cannot
/// be started, it was not.
pub(super) fn show(pager: &str, text: &[u8]) -> bool {
    let Ok(mut child) = start(pager) else { return false };
    if let Some(mut to) = child.stdin.take() {
        // A reader that quits early has seen enough.
        let _ = to.write_all(text);
    }
    // 127 is the shell's word for a program that does not exist.
    child.wait().is_ok_and(|status| status.code() != Some(127))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_fits_the_screen_needs_no_pager() {
        let screen = Screen { columns: Some(10), rows: Some(4) };
        assert!(!is_needed(b"a\nb\nc\n", screen));
        assert!(is_needed(b"a\nb\nc\nd\n", screen));
        // A line of 21 columns takes three rows.
        assert!(!is_needed("日本語日本\nb\n".as_bytes(), screen));
        assert!(is_needed(b"123456789012345678901\nb\n", screen));
        assert!(!is_needed(b"a\nb\nc\nd\n", Screen { rows: None, ..screen }));
    }

    #[cfg(unix)]
    #[test]
    fn a_pager_that_does_not_exist_has_shown_nothing() {
        assert!(!show("no-pager-of-this-name", b"a\n"));
        assert!(show("cat >/dev/null", b"a\n"));
        assert!(show("true", &vec![b'a'; 1 << 20]));
    }
}
