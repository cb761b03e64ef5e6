//! The page on environment variables: it must list every variable of this workspace that code,
//! scripts or manifests name, and no variable that nothing reads.
//!
//! The page also lists variables of other programs (`HOME`, `PGHOST`, `NO_PROXY`). They are not
//! checked, since the code that reads them is not here.

use std::collections::BTreeMap;

use crate::source::SourceFile;
use crate::tidy::Finding;

/// The path of the page.
const FILE: &str = "docs/environment.md";

/// The prefix of the variables of this workspace.
const PREFIX: &str = "CONTEXT_";

/// Returns the variables that the page lacks or lists needlessly. Returns nothing if the page is
/// missing.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let Some(page) = files.iter().find(|file| file.path == FILE) else { return Vec::new() };
    let listed = named(std::iter::once(page));
    let read = named(files.iter().filter(|file| !file.path.ends_with(".md")));
    let absent = read.iter().filter(|(name, _)| !listed.contains_key(*name));
    let unread = listed.iter().filter(|(name, _)| !read.contains_key(*name));
    let finding = |(path, line): &(String, usize), message| Finding {
        path: path.clone(),
        line: *line,
        message,
    };
    let absent =
        absent.map(|(name, place)| finding(place, format!("`{name}` does not stand in {FILE}")));
    let unread = unread.map(|(name, place)| finding(place, format!("nobody reads `{name}`")));
    absent.chain(unread).collect()
}

/// Returns the variables that files name, each with its first position.
fn named<'f>(files: impl Iterator<Item = &'f SourceFile>) -> BTreeMap<String, (String, usize)> {
    let mut found = BTreeMap::new();
    for file in files {
        for (n, line) in file.text.lines().enumerate() {
            for name in variables(line) {
                found.entry(name.to_owned()).or_insert_with(|| (file.path.clone(), n + 1));
            }
        }
    }
    found
}

/// Returns the variables in a line. `CONTEXT_TEST_` before a star is not a variable, nor is the end
/// of a longer name.
fn variables(line: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    line.match_indices(PREFIX).filter_map(move |(at, _)| {
        let in_word =
            line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_');
        let end = line[at..].find(|c: char| !part(c)).map_or(line.len(), |length| at + length);
        let name = &line[at..end];
        (!in_word && !name.ends_with('_')).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds the name at run time, so that this file does not name a variable.
    fn name(end: &str) -> String {
        format!("{PREFIX}{end}")
    }

    #[test]
    fn every_variable_of_ours_stands_on_the_page_and_no_other() {
        let (known, new, gone) = (name("KNOWN"), name("NEW_1"), name("GONE"));
        let page = format!("# Environment\n\n| `{known}` | x |\n| `{gone}` | y |\n");
        let code =
            format!("//! A.\nread(\"{known}\");\nread(\"{new}\"); // {PREFIX}* and MY_{new}_TOO\n");
        let files = [SourceFile::new(FILE, page), SourceFile::new("a/src/a.rs", code)];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        let absent = format!("a/src/a.rs:3: `{new}` does not stand in {FILE}");
        assert_eq!(found, [absent, format!("{FILE}:4: nobody reads `{gone}`")]);
    }

    #[test]
    fn without_the_page_nothing_is_asked() {
        assert_eq!(check(&[SourceFile::new("a/src/a.rs", name("NEW"))]), []);
    }
}
