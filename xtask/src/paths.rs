//! The paths on the pages for contributors: each names a file or folder that exists.

use crate::source::SourceFile;
use crate::tidy::Finding;

/// The pages whose paths are checked.
const PAGES: [&str; 3] = ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/plugins.md"];

/// Beginnings of the paths of this workspace.
const STARTS: [&str; 4] = ["context-", "examples/", "xtask/", "docs/"];

/// Returns the paths on the pages that lead nowhere.
pub(crate) fn check(files: &[SourceFile]) -> Vec<Finding> {
    let pages = files.iter().filter(|file| PAGES.contains(&file.path.as_str()));
    let mut found = Vec::new();
    for page in pages {
        for (n, line) in page.text.lines().enumerate() {
            let spans = line.split('`').skip(1).step_by(2);
            let paths = spans.filter(|span| is_path(span)).flat_map(expand);
            for path in paths.filter(|path| !exists(files, path)) {
                let message = format!("there is no `{path}`");
                found.push(Finding { path: page.path.clone(), line: n + 1, message });
            }
        }
    }
    found
}

/// Whether a code span is a path of this workspace. One with a placeholder is an example.
fn is_path(span: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./{},*".contains(c);
    span.contains('/')
        && span.chars().all(plain)
        && STARTS.iter().any(|start| span.starts_with(start))
}

/// Returns the paths that the braces of a path stand for.
fn expand(span: &str) -> Vec<String> {
    let Some((before, rest)) = span.split_once('{') else { return vec![span.to_owned()] };
    let Some((choices, after)) = rest.split_once('}') else { return vec![span.to_owned()] };
    let each = |choice: &str| expand(&format!("{before}{choice}{after}"));
    choices.split(',').flat_map(each).collect()
}

/// Whether a file or folder exists. A star stands for the rest of a name.
fn exists(files: &[SourceFile], path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    files.iter().any(|file| {
        let mut names = file.path.split('/');
        parts.iter().all(|part| names.next().is_some_and(|name| fits(name, part)))
    })
}

fn fits(name: &str, part: &str) -> bool {
    match part.split_once('*') {
        Some((before, after)) => {
            name.strip_prefix(before).is_some_and(|rest| rest.ends_with(after.trim_matches('*')))
        }
        None => name == part,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_files_or_folders() {
        let page = "| `context-a/src/store` | `context-{a,b}/src/lib.rs` |\n`context-*/src` and \
                    `context-a/src/fold*`, `context-<name>/src`, `context-a::b`, `context-a/gone.rs`\n";
        let files = [
            SourceFile::new("ARCHITECTURE.md", page),
            SourceFile::new("context-a/src/lib.rs", ""),
            SourceFile::new("context-a/src/store/a.rs", ""),
            SourceFile::new("context-a/src/folder.rs", ""),
        ];
        let found: Vec<_> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md:1: there is no `context-b/src/lib.rs`",
                "ARCHITECTURE.md:2: there is no `context-a/gone.rs`",
            ]
        );
    }
}
