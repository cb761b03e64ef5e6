//! Patterns for file names that the shell has left as they are: because they are quoted, or because
//! the shell does not expand patterns.

use std::io;
use std::path::{Component, Path, PathBuf};

use glob::{MatchOptions, Pattern};

use crate::error::Failure;

/// The files and folders that a pattern matches.
pub(super) struct Matches {
    /// In the order of their names.
    pub(super) paths: Vec<PathBuf>,
    pub(super) unreadable: Vec<(PathBuf, io::Error)>,
    /// Whether the pattern names the ending of the files.
    pub(super) names_ending: bool,
}

/// Returns whether a text has wildcards.
pub(super) fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Returns the folder before the first wildcard.
pub(super) fn root(pattern: &str) -> PathBuf {
    let is_plain = |part: &Component<'_>| !is_pattern(&part.as_os_str().to_string_lossy());
    let pattern = at_home(pattern);
    pattern.components().take_while(is_plain).collect()
}

/// Returns the files and folders that a pattern matches. Hidden ones are matched only if a
/// wildcard follows a dot. It is an error if there are none.
pub(super) fn expand(pattern: &str) -> Result<Matches, Failure> {
    let none = |problem: String| Failure::NoMatch { pattern: pattern.to_owned(), problem };
    let mut full = at_home(pattern);
    if full.ends_with("**") {
        // Alone, it matches folders only.
        full.push("*");
    }
    // If hidden names have to be matched by a dot, `glob` does not match them by `.*` either.
    let is_hidden = |part: Component<'_>| {
        let part = part.as_os_str().to_string_lossy();
        part.starts_with('.') && is_pattern(&part)
    };
    let mut options = MatchOptions::new();
    options.require_literal_leading_dot = !full.components().any(is_hidden);
    let full = full.to_string_lossy();
    let found = glob::glob_with(&full, options)
        .map_err(|error| none(format!(": it is no pattern, {} at {}", error.msg, error.pos)))?;
    let (mut paths, mut unreadable) = (Vec::new(), Vec::new());
    for entry in found {
        match entry {
            Ok(path) => paths.push(path),
            Err(error) => unreadable.push((error.path().to_owned(), error.into())),
        }
    }
    if paths.is_empty() && unreadable.is_empty() {
        return Err(none(String::new()));
    }
    let ending = Path::new(pattern).extension().map(|ending| ending.to_string_lossy());
    let names_ending = ending.is_some_and(|ending| !is_pattern(&ending));
    Ok(Matches { paths, unreadable, names_ending })
}

/// Replaces the home folder of the user, which the shell leaves as it is as well.
fn at_home(pattern: &str) -> PathBuf {
    match (pattern.strip_prefix("~/"), std::env::home_dir()) {
        (Some(inside), Some(home)) => {
            Path::new(&Pattern::escape(&home.to_string_lossy())).join(inside)
        }
        _ => PathBuf::from(pattern),
    }
}
